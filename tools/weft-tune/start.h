/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the first climb of hill climbing begins, as --start and run.json name it: "initial" (the
 * setting that the target has, the default), "off", "random", or values of some parameters on top
 * of the initial setting, as "rx-usecs=5,rx-frames=16". espgoal 6.2.
 */
#ifndef WEFT_TUNE_START_H
#define WEFT_TUNE_START_H

#include "tools/weft-tune/space.h"

enum tune_start_kind {
	TUNE_START_INITIAL,
	TUNE_START_OFF,
	TUNE_START_RANDOM,
	TUNE_START_GIVEN,
};

enum {
	TUNE_START_CHARS = 160, /* of the text, with its end */
};

struct tune_start {
	enum tune_start_kind kind;
	uint32_t params;        /* TUNE_START_GIVEN: the parameters with a value, by bit */
	uint32_t value[TUNE_P]; /* of these */
};

/* The text of a start; returns text. */
char *tune_start_text(const struct tune_start *start, char text[TUNE_START_CHARS]);

/* Reads such a text. False: it is none; *start is then undefined. */
bool tune_start_parse(const char *text, struct tune_start *start);

/* The setting that it names in a space. TUNE_START_RANDOM draws one. */
void tune_start_setting(const struct tune_start *start, const struct tune_space *space,
			struct sim_prng *prng, struct tune_setting *setting);

#endif /* WEFT_TUNE_START_H */
