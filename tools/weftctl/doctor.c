/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Findings of doctor: collected, printed worst first. See doctor.h. Calls doctor_machine.c and
 * doctor_nic.c.
 */
#include "tools/weftctl/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const level_words[DOCTOR_LEVELS] = {
    [DOCTOR_OK] = "ok", [DOCTOR_NOTE] = "note", [DOCTOR_WARN] = "WARN", [DOCTOR_FAIL] = "FAIL"};

void doctor_add(struct doctor *d, enum doctor_level level, const char *subject, const char *cure,
		const char *fmt, ...)
{
	char finding[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(finding, sizeof(finding), fmt, ap);
	va_end(ap);
	json_array_append_new(d->findings,
			      json_pack("{s:s, s:s, s:s, s:s?}", "level", level_words[level],
					"subject", subject, "finding", finding, "cure", cure));
	if (level > d->worst)
		d->worst = level;
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

static void print_text(const json_t *findings)
{
	const json_t *row;
	size_t i;

	for (int level = DOCTOR_LEVELS - 1; level >= 0; level--) {
		json_array_foreach (findings, i, row) {
			const json_t *cure = json_object_get(row, "cure");

			if (strcmp(json_string_value(json_object_get(row, "level")),
				   level_words[level]))
				continue;
			printf("%-4s  %s: %s\n", level_words[level],
			       json_string_value(json_object_get(row, "subject")),
			       json_string_value(json_object_get(row, "finding")));
			if (json_is_string(cure))
				printf("      do: %s\n", json_string_value(cure));
		}
	}
}

int run_doctor(const struct ctl *ctl)
{
	struct doctor d = {
	    .ctl = ctl, .root = ctl->root ? ctl->root : "", .findings = json_array()};
	int rc;

	doctor_machine(&d);
	rc = doctor_nics(&d);
	if (ctl->json)
		return out_json(d.findings) == CTL_OK && d.worst < DOCTOR_FAIL ? rc : CTL_FAILED;
	print_text(d.findings);
	json_decref(d.findings);
	return d.worst < DOCTOR_FAIL ? rc : CTL_FAILED;
}
