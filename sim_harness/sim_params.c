/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parameters of workloads ("incast:senders=32,buffer=131072"), and their results.
 *
 * See struct sim_param in wl/sim_workload.h.
 */
#include "sim_harness/wl/sim_workload.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sim_params_default(const struct sim_workload *workload, uint64_t param[SIM_PARAMS_MAX])
{
	uint32_t i;

	memset(param, 0, SIM_PARAMS_MAX * sizeof(param[0]));
	for (i = 0; workload->params && workload->params[i].name; i++) {
		assert(i < SIM_PARAMS_MAX);
		param[i] = workload->params[i].value;
	}
}

/* Parses one "name=value" of length bytes. Returns false with a message. */
static bool parse_one(const struct sim_workload *workload, const char *text, size_t length,
		      uint64_t *param, char *message, size_t message_bytes)
{
	const char *equals = memchr(text, '=', length);
	size_t name_length = equals ? (size_t)(equals - text) : length;
	const struct sim_param *p = workload->params;
	uint64_t value;
	char *end;
	uint32_t i;

	for (i = 0; p && p[i].name; i++) {
		if (strlen(p[i].name) != name_length || strncmp(p[i].name, text, name_length))
			continue;
		errno = 0;
		value = equals ? strtoull(equals + 1, &end, 0) : 0;
		if (!equals || end == equals + 1 || end != text + length || equals[1] == '-' ||
		    errno || value < p[i].min || value > p[i].max) {
			snprintf(message, message_bytes,
				 "%s of workload %s: give a number from %" PRIu64 " to %" PRIu64,
				 p[i].name, workload->name, p[i].min, p[i].max);
			return false;
		}
		param[i] = value;
		return true;
	}
	snprintf(message, message_bytes, "workload %s has no parameter '%.*s'", workload->name,
		 (int)name_length, text);
	return false;
}

const struct sim_workload *sim_workload_parse(const char *text, uint64_t param[SIM_PARAMS_MAX],
					      char *message, size_t message_bytes)
{
	size_t length = strcspn(text, ":");
	const struct sim_workload *workload;
	char name[32];

	snprintf(name, sizeof(name), "%.*s", (int)length, text);
	workload = sim_workload_find(name);
	if (!workload) {
		snprintf(message, message_bytes, "there is no workload called '%.*s'", (int)length,
			 text);
		return NULL;
	}
	sim_params_default(workload, param);
	for (text += length; *text; text += length) {
		text++;
		length = strcspn(text, ",");
		if (!parse_one(workload, text, length, param, message, message_bytes))
			return NULL;
	}
	return workload;
}

void sim_run_figure(struct sim_run *run, const char *name, double value)
{
	assert(run->num_figures < SIM_FIGURES_MAX);
	run->figure[run->num_figures++] = (struct sim_figure){name, value};
}

double sim_run_figure_of(const struct sim_run *run, const char *name)
{
	uint32_t i;

	for (i = 0; i < run->num_figures; i++) {
		if (!strcmp(run->figure[i].name, name))
			return run->figure[i].value;
	}
	return -1;
}
