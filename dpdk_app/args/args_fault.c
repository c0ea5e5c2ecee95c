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

/* The line of the list that equals line; NULL: none. */
static const struct fault_line *find_line(const struct conf *conf, const struct fault_line *line)
{
	for (uint32_t i = 0; i < conf->num_faults; i++) {
		const struct fault_line *l = &conf->faults[i];

		if (!strcmp(l->nic, line->nic) &&
		    !memcmp(&l->fault, &line->fault, sizeof(l->fault)))
			return l;
	}
	return NULL;
}

/* True if a line for all NICs was given while weftd ran: it has replaced all lines before it. */
static bool replaced_all(const struct conf *conf, const struct conf *configured)
{
	for (uint32_t i = 0; i < conf->num_faults; i++) {
		if (!*conf->faults[i].nic && !find_line(configured, &conf->faults[i]))
			return true;
	}
	return false;
}

void conf_fault_return(struct conf *conf, const struct conf *configured, uint32_t index)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < conf->num_faults; i++) {
		if (!conf_nic_is(conf, index, conf->faults[i].nic))
			conf->faults[kept++] = conf->faults[i];
	}
	conf->num_faults = kept;
	if (replaced_all(conf, configured))
		return;
	for (uint32_t i = 0; i < configured->num_faults; i++) {
		const struct fault_line *line = &configured->faults[i];

		if (conf_nic_is(conf, index, line->nic) && conf->num_faults < CONF_MAX_FAULTS)
			conf->faults[conf->num_faults++] = *line;
	}
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
