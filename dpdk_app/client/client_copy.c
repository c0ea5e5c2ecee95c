/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Worker threads that copy unmapped memory, counted in the shares of their processes.
 *
 * A worker that waits for a page outlives its connection, since the page's server may be the
 * process that ended. Its resources, including the connection, stay in its user's share until it
 * finishes. Otherwise a process that reconnects repeatedly could fill weftd with threads.
 *
 * Calls hostcopy.c and user.c. Control thread only. docs/security.md, "Shares".
 */
#include <errno.h>
#include <stdlib.h>

#include "dpdk_app/client/client.h"
#include "dpdk_app/client/hostcopy.h"

enum {
	COPY_FDS = 1,      /* the worker's own descriptor of the process's memory */
	COPY_MAPPINGS = 2, /* its stack and the guard page */
};

struct client_copy {
	struct client_copy *next; /* list of workers without a connection */
	struct hostcopy *hostcopy;
	struct user_process *account;
};

static struct client_copy *copies_left;

static int take_shares(struct user_process *account, struct hw_resp_quota *quota)
{
	int err = user_take(account, HW_SHARE_DESCRIPTOR, COPY_FDS, quota);

	if (err)
		return err;
	err = user_take(account, HW_SHARE_MAPPING, COPY_MAPPINGS, quota);
	if (!err) {
		err = user_take(account, HW_SHARE_BYTES, hostcopy_bytes(), quota);
		if (err)
			user_give(account, HW_SHARE_MAPPING, COPY_MAPPINGS);
	}
	if (err)
		user_give(account, HW_SHARE_DESCRIPTOR, COPY_FDS);
	return err;
}

static void give_shares(struct user_process *account)
{
	user_give(account, HW_SHARE_DESCRIPTOR, COPY_FDS);
	user_give(account, HW_SHARE_MAPPING, COPY_MAPPINGS);
	user_give(account, HW_SHARE_BYTES, hostcopy_bytes());
}

int client_copy_start(struct client *c, struct hw_resp_quota *quota)
{
	struct client_copy *worker;
	int err;

	if (c->worker)
		return 0;
	worker = calloc(1, sizeof(*worker));
	if (!worker)
		return ENOMEM;
	err = take_shares(c->account, quota);
	if (!err) {
		err = -hostcopy_start(&worker->hostcopy, c->mem_fd, c->shard->core->cpu,
				      c->nic->app->control_fd);
		if (err)
			give_shares(c->account);
	}
	if (err) {
		free(worker);
		return err;
	}
	worker->account = user_hold(c->account);
	c->worker = worker;
	c->copy = worker->hostcopy;
	return 0;
}

void client_copy_end(struct client *c)
{
	struct client_copy *worker = c->worker;

	hostcopy_end(worker->hostcopy);
	worker->next = copies_left;
	copies_left = worker;
	c->worker = NULL;
	c->copy = NULL;
}

void client_copy_reap(void)
{
	struct client_copy **link = &copies_left, *worker;

	while ((worker = *link) != NULL) {
		if (!hostcopy_over(worker->hostcopy)) {
			link = &worker->next;
			continue;
		}
		*link = worker->next;
		hostcopy_free(worker->hostcopy);
		give_shares(worker->account);
		user_give(worker->account, HW_SHARE_CONNECTION, 1);
		user_leave(worker->account);
		free(worker);
	}
}
