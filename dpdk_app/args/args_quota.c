/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Limits of processes and users: see args_quota.h. shared_defs/hw_share.h defines the words. Calls
 * args_value.c.
 */
#include "dpdk_app/args/args_quota.h"

#include <stdio.h>
#include <string.h>

#include "dpdk_app/args/args.h"
#include "dpdk_app/args/args_value.h"
#include "nic_fw/fw.h"

/* Limits of the kinds that belong to weftd as a whole come from the kernel and are unknown here. */
#define QUOTA_MAX (UINT64_C(1) << 50)

static const char *const words[HW_SHARES] = {
#define WORD(kind, word, name) [HW_SHARE_##kind] = word,
    HW_SHARES_OF_SHARD(WORD) HW_SHARES_OF_WEFTD(WORD)
#undef WORD
};

const char *quota_word(enum hw_share kind)
{
	return words[kind];
}

/* Parses a number, with suffix K, M, G or T for kinds measured in bytes. */
static bool parse_number(enum hw_share kind, const char *text, uint64_t max, uint64_t *value)
{
	static const char units[] = "KMGT";
	char digits[24];
	size_t chars = strlen(text);
	const char *unit = NULL;
	uint32_t shift = 0;

	if (!chars || chars >= sizeof(digits))
		return false;
	memcpy(digits, text, chars + 1);
	if (kind == HW_SHARE_BYTES || kind == HW_SHARE_MEMORY || kind == HW_SHARE_GOAL)
		unit = strchr(units, digits[chars - 1]);
	if (unit) {
		shift = 10 * (uint32_t)(unit - units + 1);
		digits[chars - 1] = '\0';
	}
	if (!value_u64(digits, 1, max >> shift, value))
		return false;
	*value <<= shift;
	return true;
}

bool quota_parse(struct hw_share_limits *quota, const char *text, char *error)
{
	static const char prefix[] = "user:";
	const char *rest = text;
	size_t used = 0;

	if (!strncmp(text, prefix, sizeof(prefix) - 1))
		rest += sizeof(prefix) - 1;
	for (uint32_t kind = 0; kind < HW_SHARES; kind++) {
		uint64_t *limit = rest == text ? &quota->process[kind] : &quota->user[kind];
		uint64_t max = fw_share_max((enum hw_share)kind);
		size_t chars = strlen(words[kind]);

		if (strncmp(rest, words[kind], chars) || rest[chars] != '=')
			continue;
		max = max ? max : QUOTA_MAX;
		if (parse_number((enum hw_share)kind, rest + chars + 1, max, limit))
			return true;
		snprintf(error, CONF_ERROR_CHARS, "--quota %.40s: N is a number from 1 to %llu",
			 text, (unsigned long long)max);
		return false;
	}
	used = (size_t)snprintf(error, CONF_ERROR_CHARS,
				"--quota takes KIND=N or user:KIND=N, not \"%.40s\"; KIND:", text);
	for (uint32_t kind = 0; kind < HW_SHARES && used < CONF_ERROR_CHARS; kind++)
		used += (size_t)snprintf(error + used, CONF_ERROR_CHARS - used, " %s", words[kind]);
	return false;
}
