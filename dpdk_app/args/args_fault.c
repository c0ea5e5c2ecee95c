/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --fault: faults of NICs, in the words of weftctl fault: "loss 1%", "weft0 delay 50us rate 10G".
 * A later line of a NIC replaces an earlier one.
 *
 * Calls args_nic.c, lib/fault_words.h. docs/faults.md.
 */
#include "dpdk_app/args/args_fault.h"

#include <stdio.h>
#include <string.h>

#include "dpdk_app/args/args_nic.h"
#include "lib/fault.h"

/* Removes the lines that a new one replaces, so that changes do not fill the list. */
static void forget(struct conf *conf, const char *nic)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < conf->num_faults; i++) {
		if (*nic && strcmp(conf->faults[i].nic, nic) != 0)
			conf->faults[kept++] = conf->faults[i];
	}
	conf->num_faults = kept;
}

bool conf_fault_add(struct conf *conf, const char *text, char *error)
{
	char reason[FAULT_WORDS_ERROR_CHARS] = "";
	struct fault_line line;

	if (!fault_words_parse_line(text, &line, reason, sizeof(reason))) {
		snprintf(error, CONF_ERROR_CHARS, "--fault: %s", reason);
		return false;
	}
	forget(conf, line.nic);
	if (conf->num_faults == CONF_MAX_FAULTS) {
		snprintf(error, CONF_ERROR_CHARS, "--fault may be given for at most %d NICs",
			 CONF_MAX_FAULTS);
		return false;
	}
	conf->faults[conf->num_faults++] = line;
	return true;
}

bool conf_fault_check(const struct conf *conf, char *error)
{
	for (uint32_t i = 0; i < conf->num_faults; i++) {
		if (!conf_nic_check(conf, "fault", conf->faults[i].nic, error))
			return false;
	}
	return true;
}

void conf_fault_of(const struct conf *conf, uint32_t index, struct hw_fault *fault)
{
	*fault = (struct hw_fault){0};
	if (conf->nic[index].wire == CONF_WIRE_SWITCH)
		*fault = conf->fault;
	for (uint32_t i = 0; i < conf->num_faults; i++) {
		const struct fault_line *line = &conf->faults[i];

		if (!*line->nic || conf_nic_is(conf, index, line->nic))
			*fault = line->fault;
	}
}

bool conf_faulty(const struct conf *conf)
{
	struct hw_fault fault;

	for (uint32_t i = 0; i < conf->num_switch_nics; i++) {
		conf_fault_of(conf, i, &fault);
		if (fault_wanted(&fault))
			return true;
	}
	return false;
}
