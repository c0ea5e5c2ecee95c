/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets the best setting of a run; see apply.h. Calls result.c for it, and the target, which is
 * opened, set and closed without being restored.
 */
#include "tools/weft-tune/apply.h"
#include "tools/weft-tune/result.h"

#include <string.h>

void tune_by_hand(const char *target, const char *name, const struct tune_setting *setting,
		  uint32_t params, char *text, size_t chars)
{
	int name_chars = (int)strcspn(name, "@");
	char words[TUNE_SETTING_CHARS];

	tune_setting_text(setting, params, words);
	if (!strcmp(target, "netdev"))
		snprintf(text, chars, "ethtool -C %.*s %s", name_chars, name, words);
	else if (!strcmp(target, "device"))
		snprintf(text, chars, "weftctl coalesce %.*s set %s", name_chars, name, words);
	else
		snprintf(text, chars, "weftctl coalesce weft0 set %s", words);
}

static int failed(const char *error)
{
	fprintf(stderr, "weft-tune: %s\n", error);
	return EXIT_FAILED;
}

/* The setting on top of what is set: what the run did not vary stays as it is. */
static void merge(struct tune_setting *now, const struct tune_setting *best, uint32_t params)
{
	for (unsigned int i = 0; i < TUNE_P; i++)
		if (params & (UINT32_C(1) << i))
			now->param[i] = best->param[i];
}

/* What cannot be set here; false with a line in error. */
static bool can_set(const struct tune_setting *best, uint32_t *params, uint32_t have,
		    const uint32_t highest[TUNE_P], char *error)
{
	for (unsigned int i = 0; i < TUNE_P; i++) {
		if (!(*params & (UINT32_C(1) << i)))
			continue;
		if (!(have & (UINT32_C(1) << i)) && best->param[i]) {
			snprintf(error, TUNE_ERROR_CHARS,
				 "%s cannot be set there; the run was made with it at %u",
				 tune_param_word(i), best->param[i]);
			return false;
		}
		if (have & (UINT32_C(1) << i) && best->param[i] > highest[i]) {
			snprintf(error, TUNE_ERROR_CHARS, "%s is at most %u there, the best is %u",
				 tune_param_word(i), highest[i], best->param[i]);
			return false;
		}
	}
	*params &= have;
	return true;
}

int tune_apply(const struct tune_opts *o, const struct tune_target_ops *ops, FILE *out)
{
	char error[TUNE_ERROR_CHARS] = "", text[TUNE_TEXT_CHARS];
	uint32_t params, highest[TUNE_P];
	struct tune_setting best, now;
	struct tune_target *target;
	int rc = result_best(o->path, o->objective, &best, &params, error);

	if (rc)
		return failed(error);
	if (o->dry_run) {
		tune_by_hand(o->plan.target, o->plan.name, &best, params, text, sizeof(text));
		fprintf(out, "would set: %s\n", text);
		return EXIT_DONE;
	}
	target = ops->open(*o->plan.name ? o->plan.name : NULL, error);
	if (!target)
		return failed(error);
	ops->initial(target, &now);
	if (can_set(&best, &params, ops->params(target, highest), highest, error)) {
		merge(&now, &best, params);
		rc = ops->apply(target, &now, error);
	} else {
		rc = -1;
	}
	ops->close(target);
	if (rc)
		return failed(error);
	tune_setting_text(&now, params, text);
	fprintf(out, "%.*s: %s\n", (int)strcspn(o->plan.name, "@"), o->plan.name, text);
	return EXIT_DONE;
}
