/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Findings: collected, printed worst first. See doctor.h. Calls json_text.c.
 */
#include "lib/doctor.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json_text.h"

static const char *const level_words[DOCTOR_LEVELS] = {
    [DOCTOR_OK] = "ok", [DOCTOR_NOTE] = "note", [DOCTOR_WARN] = "WARN", [DOCTOR_FAIL] = "FAIL"};

void doctor_add(struct doctor *d, enum doctor_level level, const char *subject, const char *cure,
		const char *fmt, ...)
{
	size_t bytes = (d->num_findings + 1) * sizeof(*d->findings);
	struct doctor_finding *all = realloc(d->findings, bytes), *one;
	char finding[512];
	va_list ap;

	if (level > d->worst)
		d->worst = level;
	if (!all)
		return;
	va_start(ap, fmt);
	vsnprintf(finding, sizeof(finding), fmt, ap);
	va_end(ap);
	d->findings = all;
	one = &all[d->num_findings++];
	one->level = level;
	one->subject = strdup(subject);
	one->finding = strdup(finding);
	one->cure = cure ? strdup(cure) : NULL;
}

bool doctor_line(const struct doctor *d, char *text, size_t bytes, const char *fmt, ...)
{
	char path[512];
	size_t at = (size_t)snprintf(path, sizeof(path), "%s", d->root);
	va_list ap;
	FILE *file;
	bool ok;

	text[0] = '\0';
	if (at >= sizeof(path))
		return false;
	va_start(ap, fmt);
	vsnprintf(path + at, sizeof(path) - at, fmt, ap);
	va_end(ap);
	file = fopen(path, "re");
	if (!file)
		return false;
	ok = fgets(text, (int)bytes, file) != NULL;
	fclose(file);
	text[strcspn(text, "\n")] = '\0';
	return ok;
}

bool doctor_in_list(const char *list, unsigned long number)
{
	char *end;

	while (*list >= '0' && *list <= '9') {
		unsigned long low = strtoul(list, &end, 10), high = low;

		if (*end == '-')
			high = strtoul(end + 1, &end, 10);
		if (number >= low && number <= high)
			return true;
		list = *end == ',' ? end + 1 : end;
	}
	return false;
}

static void print_json(const struct doctor *d, FILE *f)
{
	fputc('[', f);
	for (uint32_t i = 0; i < d->num_findings; i++) {
		const struct doctor_finding *one = &d->findings[i];

		fprintf(f, "%s\n  {\"level\": \"%s\", \"subject\": ", i ? "," : "",
			level_words[one->level]);
		json_text_string(f, one->subject);
		fputs(", \"finding\": ", f);
		json_text_string(f, one->finding);
		fputs(", \"cure\": ", f);
		json_text_string(f, one->cure);
		fputc('}', f);
	}
	fputs("\n]\n", f);
}

void doctor_print(const struct doctor *d, bool json, FILE *f)
{
	if (json) {
		print_json(d, f);
		return;
	}
	for (int level = DOCTOR_LEVELS - 1; level >= 0; level--) {
		for (uint32_t i = 0; i < d->num_findings; i++) {
			const struct doctor_finding *one = &d->findings[i];

			if ((int)one->level != level)
				continue;
			fprintf(f, "%-4s  %s: %s\n", level_words[level], one->subject,
				one->finding);
			if (one->cure)
				fprintf(f, "      do: %s\n", one->cure);
		}
	}
}

void doctor_free(struct doctor *d)
{
	for (uint32_t i = 0; i < d->num_findings; i++) {
		free(d->findings[i].subject);
		free(d->findings[i].finding);
		free(d->findings[i].cure);
	}
	free(d->findings);
	d->findings = NULL;
	d->num_findings = 0;
}
