/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --cores: CPUs that weftd uses, and their roles. A list of CPUs and ranges, each followed by a
 * star and its number of threads unless it is 1, and by a colon and its role unless it is io: 1 or
 * 2,4-7 or 2:io,3:coll,0:ctl or 0*4.
 *
 * Calls args_value.c and libc. ARCHITECTURE.md, "Shards".
 */
#include "dpdk_app/args/args_cores.h"

#include <stdio.h>
#include <string.h>

#include "dpdk_app/args/args_value.h"

enum {
	CORES_ITEM_CHARS = 32,
};

static const char *const role_names[] = {
    [CONF_ROLE_IO] = "io",
    [CONF_ROLE_COLL] = "coll",
    [CONF_ROLE_CTL] = "ctl",
};

static bool role_of(const char *text, enum conf_role *role)
{
	for (int i = 0; i < CONF_ROLES; i++) {
		if (!strcmp(text, role_names[i])) {
			*role = (enum conf_role)i;
			return true;
		}
	}
	return false;
}

/* A CPU has as many threads of a role as the largest number, however often it is named. */
static bool add(struct conf *conf, int cpu, enum conf_role role, uint64_t threads)
{
	for (uint32_t i = 0; i < conf->num_cores; i++)
		threads -= threads && conf->core[i].cpu == cpu && conf->core[i].role == role;
	if (threads > CONF_MAX_CORES - conf->num_cores)
		return false;
	for (; threads; threads--)
		conf->core[conf->num_cores++] = (struct conf_core){cpu, role};
	return true;
}

static bool malformed(const char *text, char *error)
{
	snprintf(
	    error, CONF_ERROR_CHARS,
	    "--cores takes a list such as 1 or 2,4-7 or 2:io,3:coll,0:ctl or 0*4 (at most %d), not "
	    "\"%.80s\"",
	    CONF_MAX_CORES, text);
	return false;
}

/* Parses an item such as "4-7:coll". */
static bool add_item(struct conf *conf, char *item, const char *text, char *error)
{
	enum conf_role role = CONF_ROLE_IO;
	char *colon = strchr(item, ':'), *star;
	uint64_t threads = 1;
	int first, last;

	if (colon)
		*colon = '\0';
	star = strchr(item, '*');
	if (star)
		*star = '\0';
	if (!value_cpu_range(item, &first, &last) ||
	    (star && !value_u64(star + 1, 1, CONF_MAX_CORES, &threads)))
		return malformed(text, error);
	if (colon && !role_of(colon + 1, &role)) {
		snprintf(
		    error, CONF_ERROR_CHARS,
		    "--cores %.80s: there is no role \"%.20s\"; io polls ports and serves verbs, "
		    "coll runs collectives, ctl has the control threads",
		    text, colon + 1);
		return false;
	}
	for (int cpu = first; cpu <= last; cpu++) {
		if (!add(conf, cpu, role, role == CONF_ROLE_CTL ? 1 : threads))
			return malformed(text, error);
	}
	return true;
}

uint32_t cores_count(const struct conf *conf, enum conf_role role)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < conf->num_cores; i++)
		n += conf->core[i].role == role;
	return n;
}

bool cores_parse(struct conf *conf, const char *text, char *error)
{
	const char *at = text;

	conf->num_cores = 0;
	for (;;) {
		size_t chars = strcspn(at, ",");
		char item[CORES_ITEM_CHARS];

		if (chars >= sizeof(item))
			return malformed(text, error);
		memcpy(item, at, chars);
		item[chars] = '\0';
		if (!add_item(conf, item, text, error))
			return false;
		if (!at[chars])
			break;
		at += chars + 1;
	}
	if (cores_count(conf, CONF_ROLE_IO))
		return true;
	snprintf(
	    error, CONF_ERROR_CHARS,
	    "--cores %.80s: no core has the role io, and every port needs one: add one, such as "
	    "%d:io",
	    text, conf->core[0].cpu);
	return false;
}
