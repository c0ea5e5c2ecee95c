/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --coalesce: initial interrupt moderation of NICs, in the words of ethtool -C: "rx-usecs 5
 * rx-frames 16", "weft0 vector 2 adaptive on". Later lines modify the result of earlier ones, like
 * weftctl coalesce at run time.
 *
 * Calls args_nic.c, lib/coalesce_words.h and libc. docs/tuning.md.
 */
#include "dpdk_app/args/args_coalesce.h"

#include <stdio.h>
#include <string.h>

#include "dpdk_app/args/args_nic.h"

bool coalesce_add(struct conf *conf, const char *text, char *error)
{
	char reason[COALESCE_ERROR_CHARS] = "";

	if (conf->num_coalesce == CONF_MAX_COALESCE) {
		snprintf(error, CONF_ERROR_CHARS, "--coalesce may be given at most %d times",
			 CONF_MAX_COALESCE);
		return false;
	}
	if (coalesce_parse_line(text, &conf->coalesce[conf->num_coalesce], reason,
				sizeof(reason))) {
		conf->num_coalesce++;
		return true;
	}
	snprintf(error, CONF_ERROR_CHARS, "--coalesce: %s", reason);
	return false;
}

bool coalesce_check(const struct conf *conf, char *error)
{
	for (uint32_t i = 0; i < conf->num_coalesce; i++) {
		if (!conf_nic_check(conf, "coalesce", conf->coalesce[i].nic, error))
			return false;
	}
	return true;
}

static void set(struct hw_coalesce *vector, const struct hw_cmd_coalesce *cmd)
{
	for (uint32_t i = 0; i < HW_COALESCE_NUM_PARAMS; i++) {
		if (cmd->set & UINT32_C(1) << i)
			vector->param[i] = cmd->coalesce.param[i];
	}
	if (cmd->set & HW_COALESCE_SET_MODE) {
		vector->mode = cmd->coalesce.mode;
		vector->target_percentile = cmd->coalesce.target_percentile;
		vector->target_ns = cmd->coalesce.target_ns;
	}
}

void coalesce_of_nic(const struct conf *conf, uint32_t index,
		     struct hw_coalesce vectors[HW_NUM_VECTORS])
{
	memset(vectors, 0, HW_NUM_VECTORS * sizeof(vectors[0]));
	for (uint32_t i = 0; i < conf->num_coalesce; i++) {
		const struct coalesce_line *line = &conf->coalesce[i];

		if (*line->nic && !conf_nic_is(conf, index, line->nic))
			continue;
		for (uint32_t v = 0; v < HW_NUM_VECTORS; v++) {
			if (line->cmd.vector == v || line->cmd.vector == HW_COALESCE_ALL_VECTORS)
				set(&vectors[v], &line->cmd);
		}
	}
}
