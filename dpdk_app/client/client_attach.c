/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ATTACH and START: chooses the shard of a process, offers it its BAR, prepares the BAR's memory
 * and attaches the process to the core. A tool attaches to every shard in turn.
 *
 * Control thread. Calls client_bar.c, populate.c and msg.c. docs/host-interface.md, "Commands".
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "dpdk_app/client/client.h"
#include "dpdk_app/client/msg.h"
#include "dpdk_app/client/populate.h"
#include "dpdk_app/log.h"

/* A tool attaches to every shard, since it queries all; a process attaches to one. */
static struct msg *attach_msg(struct client *c)
{
	struct shard *shard = c->tool ? &c->nic->shard[c->num_attached] : c->shard;
	struct msg *msg = msg_new(MSG_ATTACH, shard, c);

	if (!msg)
		return NULL;
	msg->params = client_params(c);
	return msg;
}

static int send_attach(struct client *c)
{
	struct msg *msg = attach_msg(c);

	if (!msg)
		return -ENOMEM;
	if (msg_send(msg)) {
		msg_free(msg);
		return -EAGAIN;
	}
	c->num_outstanding++;
	return 0;
}

/* Returns true if a process should rather get this shard than that one. */
static bool less_used(const struct shard *shard, const struct shard *than)
{
	if (shard->num_processes != than->num_processes)
		return shard->num_processes < than->num_processes;
	return atomic_load_explicit(&shard->load_permille, memory_order_relaxed) +
		   CLIENT_LOAD_EQUAL_PERMILLE <
	       atomic_load_explicit(&than->load_permille, memory_order_relaxed);
}

/*
 * Returns, of count shards, the one with the fewest processes; of these one whose core has
 * distinctly less to do; of these the next in turn, so that shards of equal load are used equally.
 */
static struct shard *least_used(struct shard *shard, uint32_t count, uint32_t *next)
{
	struct shard *least = &shard[*next % count];

	for (uint32_t i = 1; i < count; i++) {
		struct shard *other = &shard[(*next + i) % count];

		if (less_used(other, least))
			least = other;
	}
	*next = (uint32_t)(least - shard) + 1;
	return least;
}

/*
 * Selects the shard of a process: the one that it requests; or the least used one for collectives
 * if requested and available; or the least used of the others. NULL: there is no such shard.
 */
static struct shard *choose_shard(struct nic *nic, uint32_t flags)
{
	uint32_t num_io = nic->num_shards - nic->num_coll;
	uint32_t number = (flags & HW_ATTACH_SHARD_MASK) >> HW_ATTACH_SHARD_SHIFT;

	if (flags & HW_ATTACH_F_SHARD)
		return number < nic->num_shards ? &nic->shard[number] : NULL;
	if (flags & HW_ATTACH_F_COLL && nic->num_coll)
		return least_used(&nic->shard[num_io], nic->num_coll, &nic->next_coll);
	return least_used(&nic->shard[0], num_io, &nic->next_shard);
}

void client_attach(struct client *c, const struct hw_cmd *cmd, int fd)
{
	uint32_t flags = cmd->u.attach.flags;
	struct hw_resp_quota quota;
	int err = 0;

	if (fd >= 0 && !c->nic->app->conf.no_unmapped)
		err = client_take_memory(c, fd);
	/* The process may repeat the command without a descriptor. */
	if (err) {
		client_answer_status(c, cmd, -err);
		return;
	}

	/* Nothing was done yet: the process may repeat the command. */
	c->shard = flags & HW_ATTACH_F_TOOL ? &c->nic->shard[0] : choose_shard(c->nic, flags);
	if (!c->shard) {
		client_answer_status(c, cmd, ENXIO);
		return;
	}
	c->tool = flags & HW_ATTACH_F_TOOL;
	if (!c->tool)
		c->shard->num_processes++;
	c->use = (flags & HW_ATTACH_USE_MASK) >> HW_ATTACH_USE_SHIFT;
	memcpy(c->name, cmd->u.attach.name, sizeof(c->name));
	c->name[sizeof(c->name) - 1] = '\0';
	for (char *p = c->name; *p; p++) {
		if (*p < ' ' || *p > '~')
			*p = '?';
	}
	if (!c->tool) {
		err = client_take_bar(c, &quota);
		if (err) {
			client_refuse(c, cmd, err, &quota);
			client_doom(c);
			return;
		}
	}
	err = c->tool ? send_attach(c) : client_make_bar(c, &quota);
	if (err) {
		client_refuse(c, cmd, -err, &quota);
		client_doom(c);
		return;
	}
	if (!c->tool) {
		client_offer_bar(c, cmd);
		return;
	}
	c->attach_tag = cmd->tag;
	client_set_state(c, CLIENT_ATTACHING);
}

/*
 * A message whose memory was prepared goes to the core, or comes back as if from there. The client
 * is not freed meanwhile, because the message counts as in progress.
 */
static void prepared(struct populate_job *job, void *arg)
{
	struct msg *msg = arg;
	int err = job->status;

	if (msg->region)
		extent_region_ready(msg->region, !err);
	if (!err && msg->client->doomed)
		err = -ECANCELED;
	if (!err)
		err = msg_send(msg);
	if (!err)
		return;
	msg->resp.status = -err;
	client_msg_back(msg);
}

void client_prepare(struct client *c, struct msg *msg)
{
	msg->job.over = &c->over;
	msg->job.done = prepared;
	msg->job.arg = msg;
	c->num_outstanding++;
	populate_start(&msg->job);
}

/*
 * The process has mapped its BAR: from now on it can create no further mapping of it and no holes.
 */
void client_start(struct client *c, const struct hw_cmd *cmd)
{
	struct msg *msg = attach_msg(c);

	if (!msg) {
		client_answer_status(c, cmd, ENOMEM);
		return;
	}
	c->attach_tag = cmd->tag;
	client_set_state(c, CLIENT_ATTACHING);
	/* Sealed before the pages are populated, so that they cannot be punched out again. */
	msg->job = (struct populate_job){
	    .uid = c->uid,
	    .fd = &c->bar_fd,
	    .num_fds = 1,
	    .start = c->bar,
	    .bytes = CLIENT_BAR_MADE_BYTES,
	    .make = true,
	};
	client_prepare(c, msg);
}

void client_attach_back(struct client *c, struct msg *msg)
{
	uint32_t op = c->tool ? HW_CMD_ATTACH : HW_CMD_START;
	int err = msg->resp.status;

	if (!err) {
		c->num_attached++;
		if (c->tool && !c->doomed && c->num_attached < c->nic->num_shards) {
			err = -send_attach(c);
			if (!err)
				return;
		}
	}
	if (c->doomed)
		return; /* client.c detaches it */
	msg->resp.status = err;
	if (err) {
		if (err == EDQUOT)
			user_report(c->account, c->nic->name, c->name, &msg->resp.u.quota);
		client_answer(c, op, c->attach_tag, &msg->resp, NULL, 0);
		client_doom(c);
		return;
	}
	client_set_state(c, CLIENT_LIVE);
	client_answer(c, op, c->attach_tag, &msg->resp, NULL, 0);
	/* Mapped on both sides and sealed: the descriptor is no longer needed. */
	if (c->bar_fd >= 0) {
		close(c->bar_fd);
		client_give_fds(c, 1);
	}
	c->bar_fd = -1;
	log_at(LOG_LEVEL_DEBUG, LOG_HERE, CLIENT_SUBJECT(c), "process %d (%s) attached",
	       (int)c->pid, c->name);
}
