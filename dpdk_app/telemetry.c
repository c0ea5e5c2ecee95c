/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Telemetry. DPDK calls the handlers on a thread of its own, so counters come from the
 * cores by message; a core that does not answer in time is left out.
 *
 * Called by DPDK's telemetry thread; calls msg.c. dpdk-telemetry.py -f PREFIX asks.
 */
#include "dpdk_app/telemetry.h"

#include <arpa/inet.h>
#include <errno.h>
#include <rte_telemetry.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dpdk_app/msg.h"
#include "dpdk_app/stats.h"
#include "dpdk_app/wire.h"

enum {
	TELEMETRY_WAIT_S = 1,
};

static struct app *telemetry_app;

/* What the handler and the control thread have in common; the last of the two frees it. */
struct telemetry_wait {
	sem_t answered;
	_Atomic(int) users;
	struct msg *msg;
};

static void wait_put(struct telemetry_wait *wait)
{
	if (atomic_fetch_sub(&wait->users, 1) != 1)
		return;
	msg_free(wait->msg);
	sem_destroy(&wait->answered);
	free(wait);
}

static void telemetry_answered(struct msg *msg, void *arg)
{
	struct telemetry_wait *wait = arg;

	(void)msg;
	sem_post(&wait->answered);
	wait_put(wait);
}

/* Counters of one shard; NULL: no answer. The caller gives it back with wait_put(). */
static struct telemetry_wait *ask(struct shard *shard)
{
	struct telemetry_wait *wait = calloc(1, sizeof(*wait));
	struct msg *msg = msg_new(MSG_STATS, shard, NULL);
	struct timespec until;

	if (msg)
		msg->stats = calloc(1, sizeof(*msg->stats) + STATS_MAX * sizeof(struct hw_stat));
	if (!wait || !msg || !msg->stats) {
		free(wait);
		msg_free(msg);
		return NULL;
	}
	sem_init(&wait->answered, 0, 0);
	wait->users = 2;
	wait->msg = msg;
	msg->stats->max = STATS_MAX;
	msg->answered = telemetry_answered;
	msg->arg = wait;
	if (msg_send(msg)) {
		wait_put(wait);
		wait_put(wait);
		return NULL;
	}
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += TELEMETRY_WAIT_S;
	while (sem_timedwait(&wait->answered, &until)) {
		if (errno == EINTR)
			continue;
		wait_put(wait);
		return NULL;
	}
	return wait;
}

static int on_list(const char *cmd, const char *params, struct rte_tel_data *data)
{
	(void)cmd;
	(void)params;
	rte_tel_data_start_array(data, RTE_TEL_STRING_VAL);
	for (uint32_t i = 0; i < telemetry_app->num_nics; i++) {
		const struct nic *nic = &telemetry_app->nic[i];
		char ip[INET_ADDRSTRLEN];
		char line[RTE_TEL_MAX_STRING_LEN];

		inet_ntop(AF_INET, &nic->conf->ip, ip, sizeof(ip));
		snprintf(line, sizeof(line), "%s %s/%u mtu %u, %s", nic->name, ip,
			 nic->conf->ip_prefix, nic->mtu, nic->wire->how);
		rte_tel_data_add_array_string(data, line);
	}
	return 0;
}

/* Sums over the shards of a NIC; what belongs to a core or wire stands once. */
static int on_stats(const char *cmd, const char *params, struct rte_tel_data *data)
{
	struct nic *nic = NULL;

	(void)cmd;
	for (uint32_t i = 0; params && i < telemetry_app->num_nics; i++) {
		if (!strcmp(telemetry_app->nic[i].name, params))
			nic = &telemetry_app->nic[i];
	}
	if (!nic)
		return -EINVAL;
	rte_tel_data_start_dict(data);
	for (uint32_t s = 0; s < nic->num_shards; s++) {
		struct telemetry_wait *wait = ask(&nic->shard[s]);

		if (!wait)
			continue;
		for (uint32_t i = 0; i < wait->msg->stats->count; i++) {
			const struct hw_stat *stat = &wait->msg->stats->stat[i];
			char name[RTE_TEL_MAX_STRING_LEN];

			if (nic->num_shards == 1)
				snprintf(name, sizeof(name), "%s", stat->name);
			else
				snprintf(name, sizeof(name), "shard%u_%s", s, stat->name);
			rte_tel_data_add_dict_u64(data, name, stat->value);
		}
		wait_put(wait);
	}
	return 0;
}

int telemetry_init(struct app *app)
{
	int err;

	telemetry_app = app;
	err = rte_telemetry_register_cmd("/weft/list", on_list,
					 "NICs of this weftd. Takes no parameters");
	if (!err)
		err = rte_telemetry_register_cmd("/weft/stats", on_stats,
						 "Counters of a NIC. Parameters: its name");
	return err;
}
