/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The BAR of a process and the descriptors that go with it: doorbells and event queue 0. They count
 * in the process's share before they are made.
 *
 * A process has a doorbell for each runner of its core (runner.h). Control thread. Calls hostmem.c,
 * user.c and client_answer.c.
 */
#include "dpdk_app/client/client.h"

#include <errno.h>
#include <sys/eventfd.h>

#include "dpdk_app/client/hostmem.h"
#include "dpdk_app/client/user.h"

static uint32_t num_doorbells(const struct client *c)
{
	uint32_t n = c->shard->core->num_runners;

	return n > 1 ? n - 1 : 1;
}

int client_take_bar(struct client *c, struct hw_resp_quota *quota)
{
	/*
	 * Twice: weftd keeps one set of descriptors, and the answer carries another to the process.
	 */
	int err = client_take_fds(c, 2 * (CLIENT_FDS_OTHERS + num_doorbells(c)), quota);

	if (!err)
		err = user_take(c->account, HW_SHARE_BYTES, CLIENT_BAR_FIRST_BYTES, quota);
	if (!err)
		c->bar_taken_bytes = CLIENT_BAR_FIRST_BYTES;
	return err;
}

int client_make_bar(struct client *c, struct hw_resp_quota *quota)
{
	int err = user_take(c->account, HW_SHARE_MAPPING, 1, quota);

	if (err)
		return -err;
	err = hostmem_create("weft-bar", CLIENT_BAR_BYTES, &c->bar_fd);
	if (!err)
		err = hostmem_map(c->bar_fd, CLIENT_BAR_BYTES, &c->bar_map);
	if (err) {
		user_give(c->account, HW_SHARE_MAPPING, 1);
		return err;
	}
	c->bar = hostmem_start(c->bar_map);
	c->bar_bytes = CLIENT_BAR_BYTES;
	c->num_doorbells = num_doorbells(c);
	for (uint32_t i = 0; i < c->num_doorbells; i++) {
		c->doorbell_fd[i] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		if (c->doorbell_fd[i] < 0)
			return -errno;
	}
	c->eq_fd[0] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	return c->eq_fd[0] < 0 ? -errno : 0;
}

void client_offer_bar(struct client *c, const struct hw_cmd *cmd)
{
	int fd[CLIENT_FDS_MAX] = {c->bar_fd, c->doorbell_fd[0], c->eq_fd[0]};
	struct hw_cmd_resp resp = {.u.attach = {.bar_bytes = c->bar_bytes}};

	resp.u.attach.num_doorbells = c->num_doorbells;
	for (uint32_t i = 0; i < c->num_doorbells; i++) {
		resp.u.attach.doorbell_cpu[i] =
		    (uint16_t)core_doorbell_runner(c->shard->core, i)->cpu;
		if (i)
			fd[CLIENT_FDS_OTHERS + i] = c->doorbell_fd[i];
	}
	client_set_state(c, CLIENT_OFFERED);
	client_answer(c, cmd->op, cmd->tag, &resp, fd, CLIENT_FDS_OTHERS + c->num_doorbells);
}
