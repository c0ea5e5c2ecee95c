/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --capture: "weft0 /var/log/weft/weft0.pcapng", "weft0 FILE 10G". Two NICs cannot have one file.
 *
 * Calls args_nic.c.
 */
#include "dpdk_app/args/args_capture.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dpdk_app/args/args_nic.h"

enum {
	CAPTURE_LIMIT_BYTES = 100 << 20, /* unless the line has one */
	CAPTURE_LEAST_BYTES = 64 << 10,  /* a block of pcapng fits */
	CAPTURE_UNIT_BITS = 10,
};

/* "100M": K, M and G are powers of 1024. */
static bool take_bytes(const char *text, uint64_t *bytes)
{
	static const char units[] = "KMG";
	const char *unit;
	uint32_t bits = 0;
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	*bytes = strtoull(text, &end, 10);
	if (errno)
		return false;
	if (*end) {
		unit = strchr(units, *end);
		if (!unit || end[1])
			return false;
		bits = (uint32_t)(unit - units + 1) * CAPTURE_UNIT_BITS;
	}
	if (*bytes > (uint64_t)INT64_MAX >> bits)
		return false;
	*bytes <<= bits;
	return *bytes >= CAPTURE_LEAST_BYTES;
}

static bool refuse(char *error, const char *text, const char *why)
{
	snprintf(error, CONF_ERROR_CHARS, "--capture \"%.80s\": %s", text, why);
	return false;
}

static void remove_line(struct conf *conf, const char *nic)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < conf->num_captures; i++) {
		if (strcmp(conf->captures[i].nic, nic) != 0)
			conf->captures[kept++] = conf->captures[i];
	}
	conf->num_captures = kept;
}

bool conf_capture_add(struct conf *conf, const char *text, char *error)
{
	struct conf_capture line = {.limit_bytes = CAPTURE_LIMIT_BYTES};
	char nic[sizeof(line.nic) + 1], file[sizeof(line.file) + 1], limit[32], rest[2];
	int words = sscanf(text, "%15s %160s %31s %1s", nic, file, limit, rest);

	_Static_assert(sizeof(nic) == 16 && sizeof(file) == 161, "the widths above");
	if (words < 2 || words > 3 || *file != '/')
		return refuse(error, text,
			      "it takes NIC FILE [BYTES], the file with its whole path: \"weft0 "
			      "/var/log/weft/weft0.pcapng 100M\"");
	if (strlen(nic) >= sizeof(line.nic) || strlen(file) >= sizeof(line.file))
		return refuse(error, text, "the name is too long");
	if (words == 3 && !take_bytes(limit, &line.limit_bytes))
		return refuse(error, text, "BYTES are a number from 64K on: 500K, 100M, 10G");
	memcpy(line.nic, nic, strlen(nic));
	memcpy(line.file, file, strlen(file));
	remove_line(conf, line.nic);
	for (uint32_t i = 0; i < conf->num_captures; i++) {
		if (!strcmp(conf->captures[i].file, line.file))
			return refuse(error, text, "another NIC has this file");
	}
	if (conf->num_captures == CONF_MAX_NICS)
		return refuse(error, text, "there are more lines than NICs");
	conf_capture_put(conf, &line);
	return true;
}

bool conf_capture_check(const struct conf *conf, char *error)
{
	for (uint32_t i = 0; i < conf->num_captures; i++) {
		if (!conf_nic_check(conf, "capture", conf->captures[i].nic, error))
			return false;
	}
	return true;
}

const struct conf_capture *conf_capture_of(const struct conf *conf, uint32_t index)
{
	for (uint32_t i = 0; i < conf->num_captures; i++) {
		if (conf_nic_is(conf, index, conf->captures[i].nic))
			return &conf->captures[i];
	}
	return NULL;
}

void conf_capture_put(struct conf *conf, const struct conf_capture *line)
{
	conf->captures[conf->num_captures++] = *line;
}

void conf_capture_remove(struct conf *conf, uint32_t index)
{
	const struct conf_capture *line = conf_capture_of(conf, index);

	if (line)
		remove_line(conf, line->nic);
}
