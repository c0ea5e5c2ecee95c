/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages: the core executes them with fw_cmd() and related functions, so that only the core that
 * polls a firmware instance calls it.
 *
 * Calls nic_fw/fw.h and stats.c.
 */
#include "dpdk_app/client/msg.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "dpdk_app/client/client.h"
#include "dpdk_app/sleep.h"
#include "dpdk_app/log.h"
#include "dpdk_app/control/stats.h"
#include "dpdk_app/rings.h"

enum {
	MSG_CALL_LOOK_US = 20,
};

struct msg *msg_new(enum msg_kind kind, struct shard *shard, struct client *client)
{
	struct msg *msg = calloc(1, sizeof(*msg));

	if (!msg)
		return NULL;
	msg->kind = kind;
	msg->shard = shard;
	msg->core = shard ? shard->core : NULL;
	msg->client = client;
	msg->event_fd = -1;
	msg->old_fd = -1;
	return msg;
}

void msg_free(struct msg *msg)
{
	if (msg)
		free(msg->stats);
	if (msg)
		free(msg->code);
	free(msg);
}

int msg_send(struct msg *msg)
{
	atomic_fetch_add(&msg->core->app->awaited, 1);
	if (!rings_put(msg->core->msgs, msg)) {
		atomic_fetch_sub(&msg->core->app->awaited, 1);
		return -ENOBUFS;
	}
	core_wake(msg->core);
	return 0;
}

int msg_call(struct shard *shard, void (*fn)(struct shard *shard, void *arg), void *arg)
{
	struct msg msg = {
	    .kind = MSG_CALL, .shard = shard, .core = shard->core, .call = fn, .arg = arg};

	if (msg_send(&msg))
		return -EAGAIN;
	/* A core takes a message each turn; one that never does is the watchdog's matter. */
	while (!atomic_load_explicit(&msg.called, memory_order_acquire))
		usleep(MSG_CALL_LOOK_US);
	atomic_fetch_sub(&shard->core->app->awaited, 1);
	return 0;
}

/* Returns a message to the control thread. */
static void msg_done(struct core *core, struct msg *msg)
{
	/* MSG_DONE_RING exceeds the number of all messages. */
	if (!rings_put(core->app->done, msg))
		log_error("an answer to a command was lost: restart weftd");
	/* Pairs with control_linger(): it stops polling before it checks a last time. */
	atomic_thread_fence(memory_order_seq_cst);
	if (!atomic_load_explicit(&core->app->control_looks, memory_order_relaxed))
		app_wake_control(core->app);
}

static void do_attach(struct core *core, struct msg *msg)
{
	struct shard *shard = msg->shard;
	struct client *c = msg->client;
	uint32_t number = 0;
	int err;

	shard->ops->now(shard->fw, core->now_ns);
	shard->attaching = c;
	err = shard->ops->client_attach(shard->fw, &msg->params, &number, &msg->resp.u.attach);
	shard->attaching = NULL;
	msg->resp.status = err;
	if (err == EDQUOT)
		msg->resp.u.quota = shard->ops->quota(shard->fw);
	if (err)
		return;
	shard->client[number] = c;
	c->fw_client[shard->number] = number;
	sleep_watch_doorbell(core, c);
}

static void pending_cancel(struct core *core, struct shard *shard, const struct client *c)
{
	for (uint32_t i = 0; i < APP_MAX_PENDING; i++) {
		struct msg *msg = shard->pending[i].msg;

		if (!msg || msg->client != c)
			continue;
		shard->pending[i].msg = NULL;
		shard->num_pending--;
		msg->resp.status = ECANCELED;
		msg_done(core, msg);
	}
}

/* The firmware has released the client: its BAR and descriptors may be freed. */
static void detach_over(struct core *core, struct shard *shard, struct client *c)
{
	/* Sends the signals of the last events while the descriptors are still open. */
	shard->stats.irq_submits += irq_flush(&core->irqs);
	irq_forget_all(&core->irqs, &c->irqs);
	shard->client[c->fw_client[shard->number]] = NULL;
}

/* Returns true when finished, false if the firmware has more to free than fits a turn. */
static bool do_detach(struct core *core, struct msg *msg)
{
	struct shard *shard = msg->shard;
	struct client *c = msg->client;
	uint32_t number = c->fw_client[shard->number];

	shard->ops->now(shard->fw, core->now_ns);
	sleep_unwatch_doorbell(core, c);
	if (shard->ops->client_detach(shard->fw, number) == FW_DETACH_DONE)
		detach_over(core, shard, c);
	else
		shard->detaching[number] = msg;
	pending_cancel(core, shard, c);
	return !shard->detaching[number];
}

void msg_detached(void *ctx, uint32_t client)
{
	struct shard *shard = ctx;
	struct msg *msg = shard->detaching[client];

	shard->detaching[client] = NULL;
	detach_over(shard->core, shard, msg->client);
	msg_done(shard->core, msg);
}

/* Performs the port's part of a command that succeeded. */
static void cmd_finish(struct shard *shard, struct msg *msg)
{
	struct client *c = msg->client;
	uint32_t eq;

	if (msg->resp.status)
		return;
	if (msg->cmd.op == HW_CMD_CREATE_EQ) {
		eq = msg->resp.u.create_eq.eq;
		if (eq < HW_MAX_EQ_PER_CLIENT)
			c->eq_fd[eq] = msg->event_fd;
	} else if (msg->cmd.op == HW_CMD_DESTROY_EQ) {
		eq = msg->cmd.u.obj.handle;
		if (eq < HW_MAX_EQ_PER_CLIENT) {
			shard->stats.irq_submits += irq_flush(&shard->core->irqs);
			irq_forget(&shard->core->irqs, &c->irqs, eq);
			msg->old_fd = c->eq_fd[eq];
			c->eq_fd[eq] = -1;
		}
	}
}

/*
 * Returns true if the client's user may have another pending command; some slots are reserved for
 * other users.
 */
static bool may_pend(const struct shard *shard, const struct client *c)
{
	const uint32_t max = APP_MAX_PENDING / 4 * 3;
	uint32_t held = 0;

	if (shard->num_pending < max)
		return shard->num_pending < APP_MAX_PENDING;
	for (uint32_t i = 0; i < APP_MAX_PENDING; i++) {
		const struct msg *msg = shard->pending[i].msg;

		held += msg && user_uid(msg->client->account) == user_uid(c->account);
	}
	return held < max && shard->num_pending < APP_MAX_PENDING;
}

/* Returns true if the answer is ready, false if the firmware answers later. */
static bool do_cmd(struct msg *msg)
{
	struct shard *shard = msg->shard;
	uint32_t number = msg->client->fw_client[shard->number];
	const struct fw_cmd_aux *aux = msg->aux.mapping || msg->aux.code ? &msg->aux : NULL;
	uint32_t slot = 0;

	msg->resp.op = msg->cmd.op;
	if (msg->cmd.op == HW_CMD_STATS) {
		stats_answer(shard, msg->cmd.u.obj.cursor, &msg->resp.u.stats);
		return true;
	}
	if (!may_pend(shard, msg->client)) {
		msg->resp.status = EBUSY;
		return true;
	}
	while (shard->pending[slot].msg)
		slot++;
	msg->cmd.tag = slot;
	/* Stored before the call, because the answer may arrive within it. */
	shard->pending[slot].msg = msg;
	shard->num_pending++;
	shard->ops->now(shard->fw, shard->core->now_ns);
	if (shard->ops->cmd(shard->fw, number, &msg->cmd, aux, &msg->resp) == FW_CMD_PENDING)
		return false;
	shard->pending[slot].msg = NULL;
	shard->num_pending--;
	cmd_finish(shard, msg);
	return true;
}

/* Interrupt moderation does not concern one client's objects, so no client number is used. */
static void do_moder(struct msg *msg)
{
	struct shard *shard = msg->shard;
	struct hw_cmd_resp *resp = &msg->resp;

	shard->ops->now(shard->fw, shard->core->now_ns);
	if (msg->kind == MSG_COALESCE)
		resp->status =
		    shard->ops->coalesce(shard->fw, &msg->cmd.u.coalesce, &resp->u.coalesce);
	else
		resp->status =
		    shard->ops->vector(shard->fw, msg->cmd.u.obj.handle, &resp->u.vector);
	if (resp->status)
		memset(&resp->u, 0, sizeof(resp->u));
}

void msg_cmd_done(void *ctx, uint32_t client, const struct hw_cmd_resp *resp)
{
	struct shard *shard = ctx;
	struct msg *msg = resp->tag < APP_MAX_PENDING ? shard->pending[resp->tag].msg : NULL;

	if (!msg || msg->client->fw_client[shard->number] != client)
		return; /* its process has ended */
	shard->pending[resp->tag].msg = NULL;
	shard->num_pending--;
	msg->resp = *resp;
	cmd_finish(shard, msg);
	msg_done(shard->core, msg);
}

static void do_quit(struct core *core)
{
	for (uint32_t i = 0; i < core->num_shards; i++)
		core->shard[i]->ops->shutdown(core->shard[i]->fw);
	irq_flush(&core->irqs);
	core->quit = true;
}

static bool carry_out(struct core *core, struct msg *msg)
{
	switch (msg->kind) {
	case MSG_ATTACH:
		turns_note(&core->turns, TURN_ATTACH);
		do_attach(core, msg);
		return true;
	case MSG_CMD:
		turns_note_command(&core->turns, msg->cmd.op);
		return do_cmd(msg);
	case MSG_COALESCE:
	case MSG_VECTOR:
		turns_note(&core->turns, TURN_QUERY);
		do_moder(msg);
		return true;
	case MSG_DETACH:
		turns_note(&core->turns, TURN_DETACH);
		return do_detach(core, msg);
	case MSG_STATS:
		turns_note(&core->turns, TURN_QUERY);
		msg->stats->count = stats_some(msg->shard, 0, msg->stats->stat, msg->stats->max);
		return true;
	case MSG_CALL:
		turns_note(&core->turns, TURN_QUERY);
		msg->call(msg->shard, msg->arg);
		/* Its memory is the caller's again. */
		atomic_store_explicit(&msg->called, true, memory_order_release);
		return false;
	case MSG_QUIT:
		do_quit(core);
		return true;
	}
	return true;
}

uint32_t msg_run(struct core *core)
{
	struct msg *msg = rings_take(core->msgs);

	if (!msg)
		return 0;
	if (carry_out(core, msg))
		msg_done(core, msg);
	return 1;
}
