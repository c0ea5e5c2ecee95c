/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Telemetry. DPDK calls the handlers on its own thread, so counters are requested from the cores by
 * message. A core that does not answer in time is omitted.
 *
 * Calls msg.c. Clients use "usertools/dpdk-telemetry.py -f PREFIX".
 */
#include "dpdk_app/control/telemetry.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <rte_telemetry.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dpdk_app/args/args_value.h"
#include "dpdk_app/client/msg.h"
#include "dpdk_app/control/stats.h"
#include "dpdk_app/wire/wire.h"

enum {
	TELEMETRY_WAIT_S = 1,
};

static pthread_mutex_t telemetry_lock = PTHREAD_MUTEX_INITIALIZER;
static struct app *telemetry_app;

/* State shared by the handler and the control thread; the last of the two frees it. */
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

/*
 * Sends the message and takes ownership of it. NULL: no answer. The caller releases the result with
 * wait_put().
 */
static struct telemetry_wait *ask(struct msg *msg)
{
	struct telemetry_wait *wait = calloc(1, sizeof(*wait));
	struct timespec until;

	if (!wait || !msg) {
		free(wait);
		msg_free(msg);
		return NULL;
	}
	sem_init(&wait->answered, 0, 0);
	wait->users = 2;
	wait->msg = msg;
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

/* Requests the counters of one shard. */
static struct telemetry_wait *request_stats(struct shard *shard)
{
	struct msg *msg = msg_new(MSG_STATS, shard, NULL);

	if (msg)
		msg->stats = calloc(1, sizeof(*msg->stats) + STATS_MAX * sizeof(struct hw_stat));
	if (!msg || !msg->stats) {
		msg_free(msg);
		return NULL;
	}
	msg->stats->max = STATS_MAX;
	return ask(msg);
}

static struct nic *find_nic(const char *name)
{
	for (uint32_t i = 0; name && i < telemetry_app->num_nics; i++) {
		if (app_has_nic(telemetry_app, i) && !strcmp(telemetry_app->nic[i].name, name))
			return &telemetry_app->nic[i];
	}
	return NULL;
}

static int answer_list(const char *cmd, const char *params, struct rte_tel_data *data)
{
	(void)cmd;
	(void)params;
	rte_tel_data_start_array(data, RTE_TEL_STRING_VAL);
	for (uint32_t i = 0; i < telemetry_app->num_nics; i++) {
		const struct nic *nic = &telemetry_app->nic[i];
		char ip[INET_ADDRSTRLEN];
		char line[RTE_TEL_MAX_STRING_LEN];

		if (!nic->wire)
			continue;
		inet_ntop(AF_INET, &nic->conf->ip, ip, sizeof(ip));
		snprintf(line, sizeof(line), "%s %s/%u mtu %u, %s", nic->name, ip,
			 nic->conf->ip_prefix, nic->ip_mtu, nic->wire->how);
		rte_tel_data_add_array_string(data, line);
	}
	return 0;
}

/* Parses "weft0,xdp_" to a NIC; *rest is the text after the comma, NULL if there is none. */
static struct nic *nic_and_rest(const char *params, const char **rest)
{
	char name[sizeof(telemetry_app->nic[0].name)];
	size_t chars = params ? strcspn(params, ",") : 0;

	if (!params || chars >= sizeof(name))
		return NULL;
	memcpy(name, params, chars);
	name[chars] = '\0';
	*rest = params[chars] ? params + chars + 1 : NULL;
	return find_nic(name);
}

/* Adds counters of one shard: those that begin with prefix; for NULL, the nonzero ones. */
static void add_stats(struct rte_tel_data *data, const struct shard *shard,
		      const struct msg_stats *stats, const char *prefix, uint32_t *num)
{
	for (uint32_t i = 0; i < stats->count; i++) {
		const struct hw_stat *stat = &stats->stat[i];
		char name[RTE_TEL_MAX_STRING_LEN];

		if (prefix ? strncmp(stat->name, prefix, strlen(prefix)) != 0 : !stat->value)
			continue;
		/* A dict holds no more entries; the last one states the total. */
		if (++*num >= RTE_TEL_MAX_DICT_ENTRIES)
			continue;
		if (shard->nic->num_shards == 1)
			snprintf(name, sizeof(name), "%s", stat->name);
		else
			snprintf(name, sizeof(name), "shard%u_%s", shard->number, stat->name);
		rte_tel_data_add_dict_u64(data, name, stat->value);
	}
}

static int answer_stats(const char *cmd, const char *params, struct rte_tel_data *data)
{
	const char *prefix = NULL;
	struct nic *nic = nic_and_rest(params, &prefix);
	uint32_t num = 0;

	(void)cmd;
	if (!nic)
		return -EINVAL;
	rte_tel_data_start_dict(data);
	for (uint32_t s = 0; s < nic->num_shards; s++) {
		struct telemetry_wait *wait = request_stats(&nic->shard[s]);

		if (!wait)
			continue;
		add_stats(data, &nic->shard[s], wait->msg->stats, prefix, &num);
		wait_put(wait);
	}
	if (num >= RTE_TEL_MAX_DICT_ENTRIES)
		rte_tel_data_add_dict_u64(data, "left_out", num - RTE_TEL_MAX_DICT_ENTRIES + 1);
	return 0;
}

/* ---- interrupt moderation of one vector */

static const char *const mode_names[] = {
    [HW_COALESCE_FIXED] = "fixed",
    [HW_COALESCE_ADAPTIVE] = "adaptive",
    [HW_COALESCE_TARGET] = "target",
};

/* Parses "weft0,2" to a NIC and one of its vectors; "weft0" means vector 0. */
static struct nic *nic_and_vector(const char *params, uint32_t *vector)
{
	const char *rest = NULL;
	struct nic *nic = nic_and_rest(params, &rest);
	uint64_t number = 0;

	if (rest && !value_u64(rest, 0, HW_NUM_VECTORS - 1, &number))
		return NULL;
	*vector = (uint32_t)number;
	return nic;
}

static bool add_setting(struct rte_tel_data *data, struct nic *nic, uint32_t vector)
{
	struct msg *msg = msg_new(MSG_COALESCE, &nic->shard[0], NULL);
	const struct hw_resp_coalesce *resp;
	struct telemetry_wait *wait;

	if (msg)
		msg->cmd.u.coalesce.vector = vector;
	wait = ask(msg);
	if (!wait)
		return false;
	resp = &wait->msg->resp.u.coalesce;
	rte_tel_data_add_dict_string(
	    data, "mode",
	    resp->coalesce.mode < HW_COALESCE_MODES ? mode_names[resp->coalesce.mode] : "unknown");
	rte_tel_data_add_dict_u64(data, "target_percentile", resp->coalesce.target_percentile);
	rte_tel_data_add_dict_u64(data, "target_ns", resp->coalesce.target_ns);
#define X(field, word, highest)                                                                    \
	rte_tel_data_add_dict_u64(data, #field, resp->coalesce.param[HW_COALESCE_##field]);
	HW_COALESCE_PARAMS(X)
#undef X
	rte_tel_data_add_dict_u64(data, "now_rx_usecs", resp->now.param[HW_COALESCE_rx_usecs]);
	rte_tel_data_add_dict_u64(data, "now_rx_frames", resp->now.param[HW_COALESCE_rx_frames]);
	rte_tel_data_add_dict_u64(data, "now_tx_usecs", resp->now.param[HW_COALESCE_tx_usecs]);
	rte_tel_data_add_dict_u64(data, "now_tx_frames", resp->now.param[HW_COALESCE_tx_frames]);
	wait_put(wait);
	return true;
}

/* Sums the counters of all shards. */
static bool sum_vector(struct nic *nic, uint32_t vector, struct hw_resp_vector *sum)
{
	memset(sum, 0, sizeof(*sum));
	for (uint32_t s = 0; s < nic->num_shards; s++) {
		struct msg *msg = msg_new(MSG_VECTOR, &nic->shard[s], NULL);
		const struct hw_resp_vector *resp;
		struct telemetry_wait *wait;

		if (msg)
			msg->cmd.u.obj.handle = vector;
		wait = ask(msg);
		if (!wait)
			return false;
		resp = &wait->msg->resp.u.vector;
		for (uint32_t i = 0; i < HW_VECTOR_NUM_COUNTERS; i++)
			sum->counter[i] += resp->counter[i];
		for (uint32_t i = 0; i < HW_VECTOR_BUCKETS; i++)
			sum->wait[i] += resp->wait[i];
		sum->wait_sum_ns += resp->wait_sum_ns;
		sum->event_queues += resp->event_queues;
		wait_put(wait);
	}
	return true;
}

static int answer_vector(const char *cmd, const char *params, struct rte_tel_data *data)
{
	struct hw_resp_vector sum;
	uint32_t vector = 0;
	struct nic *nic = nic_and_vector(params, &vector);

	(void)cmd;
	if (!nic)
		return -EINVAL;
	rte_tel_data_start_dict(data);
	if (!add_setting(data, nic, vector) || !sum_vector(nic, vector, &sum))
		return -ETIMEDOUT;
	rte_tel_data_add_dict_u64(data, "event_queues", sum.event_queues);
#define X(name) rte_tel_data_add_dict_u64(data, #name, sum.counter[HW_VECTOR_##name]);
	HW_VECTOR_COUNTERS(X)
#undef X
	rte_tel_data_add_dict_u64(data, "wait_sum_ns", sum.wait_sum_ns);
	for (uint32_t i = 0; i < HW_VECTOR_BUCKETS; i++) {
		char name[RTE_TEL_MAX_STRING_LEN];

		/* The last bucket has no upper bound. */
		if (i + 1 == HW_VECTOR_BUCKETS)
			snprintf(name, sizeof(name), "wait_longer");
		else
			snprintf(name, sizeof(name), "wait_below_%" PRIu64 "_ns",
				 hw_vector_bucket_ns(i + 1));
		rte_tel_data_add_dict_u64(data, name, sum.wait[i]);
	}
	return 0;
}

/* ---- DPDK's thread; NICs stay where they are meanwhile */

#define TELEMETRY_ON(what)                                                                         \
	static int on_##what(const char *cmd, const char *params, struct rte_tel_data *data)       \
	{                                                                                          \
		int rc;                                                                            \
                                                                                                   \
		pthread_mutex_lock(&telemetry_lock);                                               \
		rc = answer_##what(cmd, params, data);                                             \
		pthread_mutex_unlock(&telemetry_lock);                                             \
		return rc;                                                                         \
	}
TELEMETRY_ON(list)
TELEMETRY_ON(stats)
TELEMETRY_ON(vector)

bool telemetry_pause(void)
{
	return !pthread_mutex_trylock(&telemetry_lock);
}

void telemetry_resume(void)
{
	pthread_mutex_unlock(&telemetry_lock);
}

int telemetry_init(struct app *app)
{
	int err;

	telemetry_app = app;
	err = rte_telemetry_register_cmd("/weft/list", on_list,
					 "NICs of this weftd. Takes no parameters");
	if (!err)
		err = rte_telemetry_register_cmd(
		    "/weft/stats", on_stats,
		    "Counters of a NIC. Parameters: its name for nonzero ones, or weft0,xdp_ for "
		    "those with that prefix");
	if (!err)
		err = rte_telemetry_register_cmd(
		    "/weft/vector", on_vector,
		    "Interrupt moderation. Parameters: a NIC's name and a vector, weft0,0");
	return err;
}
