/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where hill climbing begins; see start.h. Calls space.c.
 */
#include "tools/weft-tune/start.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {
    [TUNE_START_INITIAL] = "initial",
    [TUNE_START_OFF] = "off",
    [TUNE_START_RANDOM] = "random",
};
enum {
	NUM_KINDS = sizeof(kinds) / sizeof(kinds[0]),
};

char *tune_start_text(const struct tune_start *start, char text[TUNE_START_CHARS])
{
	size_t at = 0;

	if (start->kind != TUNE_START_GIVEN) {
		snprintf(text, TUNE_START_CHARS, "%s", kinds[start->kind]);
		return text;
	}
	text[0] = '\0';
	for (unsigned int i = 0; i < TUNE_P; i++)
		if (start->params & (UINT32_C(1) << i))
			at += (size_t)snprintf(text + at, TUNE_START_CHARS - at, "%s%s=%u",
					       at ? "," : "", tune_param_word(i), start->value[i]);
	return text;
}

bool tune_start_parse(const char *text, struct tune_start *start)
{
	*start = (struct tune_start){0};
	for (int i = 0; i < NUM_KINDS; i++)
		if (!strcmp(text, kinds[i])) {
			start->kind = (enum tune_start_kind)i;
			return true;
		}
	start->kind = TUNE_START_GIVEN;
	for (const char *at = text;;) {
		size_t chars = strcspn(at, "=");
		int param = tune_param_by_word(at, chars);
		unsigned long value;
		char *end;

		if (param < 0 || at[chars] != '=')
			return false;
		at += chars + 1;
		errno = 0;
		value = strtoul(at, &end, 10);
		if (*at < '0' || *at > '9' || errno || value > UINT32_MAX || (*end && *end != ','))
			return false;
		start->params |= UINT32_C(1) << param;
		start->value[param] = (uint32_t)value;
		if (!*end)
			return true;
		at = end + 1;
	}
}

void tune_start_setting(const struct tune_start *start, const struct tune_space *space,
			struct sim_prng *prng, struct tune_setting *setting)
{
	*setting = space->base;
	if (start->kind == TUNE_START_RANDOM)
		tune_draw_uniform(space, prng, setting);
	for (unsigned int i = 0; i < TUNE_P; i++) {
		if (start->kind == TUNE_START_OFF && space->params & (UINT32_C(1) << i))
			setting->param[i] = 0;
		if (start->params & (UINT32_C(1) << i))
			setting->param[i] = start->value[i];
	}
}
