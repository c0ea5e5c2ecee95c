/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages between the control thread and the cores.
 *
 * The control thread creates a message, sends it to the core of a shard, and receives it back
 * through app->done after execution. Messages to one core are executed in order; a command that the
 * firmware leaves pending comes back later.
 */
#ifndef WEFT_APP_MSG_H
#define WEFT_APP_MSG_H

#include <stdbool.h>
#include <stdint.h>

#include "dpdk_app/app.h"
#include "dpdk_app/client/extent.h"
#include "dpdk_app/client/populate.h"
#include "shared_defs/hw_cmd.h"

enum {
	/* Every client has at most CLIENT_OUTSTANDING commands and one detach in progress. */
	MSG_CORE_RING = 32768,
	MSG_DONE_RING = 65536,
};

enum msg_kind {
	MSG_ATTACH,   /* params in; resp and client->fw_client out */
	MSG_CMD,      /* cmd, aux, event_fd in; resp, old_fd out */
	MSG_COALESCE, /* cmd.u.coalesce in; resp out. client may be NULL, also for the next */
	MSG_VECTOR,   /* cmd.u.obj.handle in */
	MSG_DETACH,   /* comes back when the client is released completely, possibly turns later */
	MSG_STATS,    /* all counters of the shard into stats; for telemetry, without a client */
	MSG_CALL,     /* msg_call() */
	MSG_QUIT,     /* fw_shutdown() for all shards of the core, then its loop ends */
};

struct msg_stats {
	uint32_t max;
	uint32_t count;
	struct hw_stat stat[];
};

struct msg {
	enum msg_kind kind;
	struct core *core;     /* destination: shard->core, or set for MSG_QUIT */
	struct shard *shard;   /* NULL: MSG_QUIT */
	struct client *client; /* NULL: MSG_STATS, MSG_QUIT, telemetry */
	uint32_t tag;          /* the process's tag; the firmware sees another one */
	struct fw_client_params params;
	struct hw_cmd cmd;
	struct fw_cmd_aux aux;
	struct hw_cmd_resp resp;
	int event_fd; /* CREATE_EQ: the eventfd to use; -1 */
	int old_fd;   /* DESTROY_EQ: the eventfd to close; -1 */
	bool noted;   /* OPEN_XRCD: client_xrcd_opened() must follow */
	/* REG_MR of mapped memory; owned by the firmware after success. */
	struct extent_region *region;
	struct populate_job job;   /* preparation before it is sent to the core */
	struct goal_op_insn *code; /* GOAL_OP: its byte code; malloc() */
	uint64_t copy_mark;        /* client_hold.c: the copy for which the answer waits; 0: none */
	struct msg *next;          /* next held message */
	struct msg_stats *stats;
	/* Called on the control thread when it comes back, instead of client.c. */
	void (*answered)(struct msg *msg, void *arg);
	void *arg;
	void (*call)(struct shard *shard, void *arg); /* MSG_CALL */
	_Atomic(bool) called;                         /* it has returned */
};

/* Creates an empty message; NULL: out of memory. Control thread. */
struct msg *msg_new(enum msg_kind kind, struct shard *shard, struct client *client);
void msg_free(struct msg *msg);

/*
 * Sends a message and wakes the core. Returns 0, or -ENOBUFS: the caller keeps the message. Any
 * thread.
 */
int msg_send(struct msg *msg) __attribute__((warn_unused_result));

/*
 * Runs fn(shard, arg) on the core of a shard between two turns, and waits for its return: for
 * changes that an operator makes. Returns 0; -EAGAIN: the core has no room for messages. Control
 * thread.
 */
int msg_call(struct shard *shard, void (*fn)(struct shard *shard, void *arg), void *arg)
    __attribute__((warn_unused_result));

/*
 * Executes the oldest message, if any; returns 1 if it did. One per turn keeps turns short. On the
 * core.
 */
uint32_t msg_run(struct core *core);

/* Implement fw_port.cmd_done and fw_port.detached. */
void msg_cmd_done(void *ctx, uint32_t client, const struct hw_cmd_resp *resp);
void msg_detached(void *ctx, uint32_t client);

#endif /* WEFT_APP_MSG_H */
