/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rules: which collectives of which size the NIC takes.
 *
 * The grammar is that of libgoal's rules: "ibcast: 8192=weft, 8/65536=previous, weft". The rules of
 * a collective are tried in order; [RANKS/]BYTES=CHOICE applies up to so many ranks and bytes, a
 * choice alone always. A file has one collective in each line, and # begins a comment. All ranks
 * must have the same rules: their hash is compared. docs/openmpi.md "Rules".
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host_driver/mpi/mc.h"

struct mc_settings mc_settings;

enum {
	MAX_RULES = 16, /* of a collective */
	MAX_LINE = 1024,
};

struct rule {
	uint64_t ranks, bytes; /* at most */
	bool take;
};

static struct list {
	struct rule rules[MAX_RULES];
	uint32_t num;
} lists[MC_COLLS][MC_FORMS];

static const char *const names[MC_COLLS] = {
#define X(name, id, goal) [MC_##id] = #name,
    MC_COLLECTIVES(X)
#undef X
};

const char *mc_coll_name(enum mc_coll coll)
{
	return names[coll];
}

/* Returns the end of the word at text. */
static char *cut(char *text, const char *ends)
{
	char *end = text + strcspn(text, ends);

	return end;
}

static bool parse_number(const char *text, uint64_t *number)
{
	char *end;

	if (!strcmp(text, "any")) {
		*number = UINT64_MAX;
		return true;
	}
	errno = 0;
	*number = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && !errno;
}

/* Parses "8/65536=weft", "8192=previous" or "weft". */
static bool parse_rule(char *text, struct rule *rule)
{
	char *choice = strchr(text, '='), *bytes = text, *slash;

	*rule = (struct rule){UINT64_MAX, UINT64_MAX, false};
	if (choice) {
		*choice++ = '\0';
		slash = strchr(text, '/');
		if (slash) {
			*slash = '\0';
			bytes = slash + 1;
			if (!parse_number(text, &rule->ranks))
				return false;
		}
		if (!parse_number(bytes, &rule->bytes))
			return false;
	} else {
		choice = text;
	}
	rule->take = !strcmp(choice, "weft");
	return rule->take || !strcmp(choice, "previous");
}

static struct list *find(const char *name)
{
	int coll;

	for (coll = 0; coll < MC_COLLS; coll++) {
		if (!strcmp(name, mc_coll_name((enum mc_coll)coll)))
			return &lists[coll][MC_BLOCKING];
		if (name[0] == 'i' && !strcmp(name + 1, mc_coll_name((enum mc_coll)coll)))
			return &lists[coll][MC_NONBLOCKING];
	}
	return NULL;
}

/* Parses a line without blanks; an empty one is valid. */
static bool parse_line(char *line)
{
	char *colon = strchr(line, ':'), *at;
	struct list *list;

	if (!*line)
		return true;
	if (!colon)
		return false;
	*colon = '\0';
	list = find(line);
	if (!list)
		return false;
	list->num = 0;
	for (at = colon + 1;; at++) {
		char *end = cut(at, ",");
		bool last = !*end;

		*end = '\0';
		if (list->num == MAX_RULES || !parse_rule(at, &list->rules[list->num++]))
			return false;
		if (last)
			return list->rules[list->num - 1].bytes == UINT64_MAX;
		at = end;
	}
}

/* Removes blanks and the comment. */
static void squeeze(char *line)
{
	char *to = line;

	line[strcspn(line, "#\n")] = '\0';
	for (; *line; line++)
		if (*line != ' ' && *line != '\t' && *line != '\r')
			*to++ = *line;
	*to = '\0';
}

static uint64_t mix(uint64_t h, const char *text)
{
	for (; text && *text; text++)
		h = (h ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
	return (h ^ h >> 29) * UINT64_C(0x9e3779b97f4a7c15);
}

static bool read_file(const char *path, uint64_t *hash)
{
	FILE *f = fopen(path, "re");
	char line[MAX_LINE];
	int number = 0;
	bool ok = true;

	if (!f) {
		fprintf(stderr, "%s: rules %s: %s; collectives stay with %s\n", mc_settings.who,
			path, strerror(errno), mc_settings.library);
		return false;
	}
	while (ok && fgets(line, sizeof(line), f)) {
		number++;
		squeeze(line);
		*hash = mix(*hash, line);
		ok = parse_line(line);
		if (!ok)
			fprintf(stderr,
				"%s: rules %s, line %d is none: \"ibcast: 8192=weft, "
				"8/65536=previous, weft\" is one; collectives stay with %s\n",
				mc_settings.who, path, number, mc_settings.library);
	}
	fclose(f);
	return ok;
}

static bool leaves_all(const struct list *list)
{
	uint32_t i;

	for (i = 0; i < list->num; i++)
		if (list->rules[i].take)
			return false;
	return true;
}

bool mc_rules_load(void)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ mc_settings.max_bytes ^
			(uint64_t)(unsigned int)mc_settings.force << 40;
	int coll, form;

	/*
	 * Without rules the NIC takes what overlaps with computation. A blocking collective ends
	 * sooner over the memory that ranks of a host share.
	 */
	for (coll = 0; coll < MC_COLLS; coll++) {
		lists[coll][MC_BLOCKING] = (struct list){{{UINT64_MAX, UINT64_MAX, false}}, 1};
		lists[coll][MC_NONBLOCKING] = (struct list){{{UINT64_MAX, UINT64_MAX, true}}, 1};
	}
	hash = mix(hash, getenv("WEFT_GOAL_COLL"));
	if (mc_settings.rules && *mc_settings.rules && !read_file(mc_settings.rules, &hash))
		return false;
	mc_settings.config = hash;
	for (coll = 0; coll < MC_COLLS; coll++)
		for (form = 0; form < MC_FORMS; form++)
			mc_settings.leaves[coll][form] = leaves_all(&lists[coll][form]);
	return true;
}

bool mc_rules_take(enum mc_coll coll, enum mc_form form, uint32_t ranks, uint64_t bytes)
{
	const struct list *list = &lists[coll][form];
	uint32_t i;

	if (mc_settings.force)
		return mc_settings.force == 1;
	for (i = 0; i < list->num; i++)
		if (ranks <= list->rules[i].ranks && bytes <= list->rules[i].bytes)
			return list->rules[i].take;
	return false;
}
