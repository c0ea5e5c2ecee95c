/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes attached to a NIC: their sockets, their descriptors, their end.
 *
 * client.c keeps the connection, client_cmd.c carries out commands, control.c calls both on the
 * control thread. The cores see a client between MSG_ATTACH and the answer to MSG_DETACH.
 */
#ifndef WEFT_APP_CLIENT_H
#define WEFT_APP_CLIENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "dpdk_app/app.h"
#include "dpdk_app/client/user.h"
#include "shared_defs/hw_bar.h"
#include "shared_defs/hw_cmd.h"

struct client_copy;
struct hostcopy;
struct hostmem;
struct msg;

enum {
	CLIENT_OUTSTANDING = 4,   /* commands of one process under way; more wait in its socket */
	CLIENT_ANSWERS_MAX = 64,  /* answers that it has not read; it is not read meanwhile */
	CLIENT_MAX_TOTAL = 4096,  /* connections of one weftd */
	CLIENT_UNATTACHED_S = 10, /* seconds a connection may stay without ATTACH and START */
	CLIENT_FDS_MAX = 3,
	CLIENT_SOCKET_BYTES = 32768, /* of answers in its socket; the kernel takes twice that */
	/* Memory of weftd that a connection costs: its record, and answers that it has not read. */
	CLIENT_OWN_BYTES = 131072,
};

/* Address space for queues; pages of it are committed as they are touched. */
#define CLIENT_BAR_BYTES (UINT64_C(1) << 30)
/* The part of it that every process uses: the first one, and EQ 0. */
#define CLIENT_BAR_FIRST_BYTES (HW_BAR_DYNAMIC + (UINT64_C(256) << 10))
/* The beginning of that part: header, doorbells and the first page of EQ 0. A core uses it first.
 */
#define CLIENT_BAR_MADE_BYTES (HW_BAR_DYNAMIC + 2 * HW_BAR_PAGE_BYTES)

enum client_state {
	CLIENT_CONNECTED, /* ATTACH is awaited */
	CLIENT_OFFERED,   /* the process has its BAR and maps it: START is awaited */
	CLIENT_ATTACHING, /* its BAR is sealed, then a core works on it */
	CLIENT_LIVE,
	CLIENT_DETACHING, /* MSG_DETACH is on its way; nothing is answered any more */
};

/* What an epoll event of the control thread is about. */
enum control_kind {
	CONTROL_SIGNAL,
	CONTROL_WAKE,
	CONTROL_LINK,
	CONTROL_LISTEN, /* object: struct nic */
	CONTROL_MEMIF,  /* object: struct memif */
	CONTROL_SOCKET, /* object: struct client; so the next */
	CONTROL_PROCESS,
};
struct control_source {
	enum control_kind kind;
	void *object;
};

struct client_answer {
	struct client_answer *next;
	struct hw_cmd_resp resp;
	int fd[CLIENT_FDS_MAX]; /* own copies */
	uint32_t num_fds;
};

struct client {
	struct client *next, **link; /* of all clients */
	struct nic *nic;
	struct shard *shard; /* a tool's: shard 0 */
	enum client_state state;
	bool tool;
	bool doomed;     /* the socket or the process has gone; ends when nothing is under way */
	bool paused;     /* the socket is not read */
	uint32_t events; /* of epoll(7), that the socket was last watched for; 0: not set yet */
	pid_t pid;
	uid_t uid;
	uint32_t first_port; /* it may bind no lower one: port_right.h */
	struct user_process *account;
	uint64_t num_fds;    /* descriptors in its share */
	uint64_t fds_unread; /* of them, those that it may not have taken out of its socket yet */
	char name[24];
	uint64_t connected_ns;
	int sock_fd;
	int epoll_fd; /* the control thread's, which watches sock_fd */
	int pid_fd;   /* -1: the kernel has none for it */
	int mem_fd;   /* its /proc/self/mem, as it sent it; -1: only mapped memory works */
	struct client_copy *worker; /* once it has registered memory that is not mapped */
	struct hostcopy *copy;      /* the same for the core */
	struct msg *held;           /* answers that wait for a copy: client_hold.c */
	int doorbell_fd;
	int bar_fd;
	struct hostmem *bar_map;
	void *bar;
	uint64_t bar_bytes;
	struct control_source socket_source;
	struct control_source process_source;
	uint32_t num_outstanding; /* commands on a core */
	uint32_t num_attached;    /* shards; detached from the last to the first */
	uint32_t attach_tag;
	struct client_answer *answers, **answers_tail;
	uint32_t num_answers;

	/* Written by the cores while attached: */
	uint32_t fw_client[CONF_MAX_SHARDS]; /* its number in each shard */
	int eq_fd[HW_MAX_EQ_PER_CLIENT];     /* -1: no such queue */
	struct irq_owner irqs;
	_Atomic(bool) dead;                /* its memory failed: to be ended */
	_Atomic(bool) over;                /* doomed, as helper threads see it */
	_Atomic(uint64_t) bar_taken_bytes; /* of its queues, in its share */
	_Atomic(uint64_t) bar_ahead;       /* offset of pages that a core will need | how many; 0 */
};

/* ---- client.c; control thread */

void client_set_state(struct client *c, enum client_state state);

/* Takes one connection that waits at the NIC's socket; closes it where there is no room. */
void client_accept(struct nic *nic, int epoll_fd);
/* Commands can be read, answers written, or the peer has gone. */
void client_socket_event(struct client *c, uint32_t events);
/* The process, or its connection, has come to an end. */
void client_doom(struct client *c);
/* A message of this client came back from a core. */
void client_msg_back(struct msg *msg);
/*
 * Takes a copy of fd as the way to memory that is not mapped. 0; -EPERM: it is not the process's
 * own memory; another negative errno. fd stays the caller's.
 */
int client_take_memory(struct client *c, int fd) __attribute__((warn_unused_result));
/*
 * Takes so many descriptors into the client's share; client_give_fds() gives them back, or the
 * client's end. Who makes an answer takes those that go with it, which counts until the process
 * has read it. 0, EDQUOT (*quota filled) or ENOMEM.
 */
int client_take_fds(struct client *c, uint32_t n, struct hw_resp_quota *quota)
    __attribute__((warn_unused_result));
void client_give_fds(struct client *c, uint32_t n);

/* Ends what cannot go on: dead and late ones. Returns true while any waits for its ATTACH. */
bool client_sweep(uint64_t now_ns);
/* Frees clients whose end has come; no event of this round points at them any more. */
void client_reap(void);
/* weftd ends: all are freed; no core runs any more. */
void client_free_all(void);
/* Unmaps what the shard gave back. */
void client_drain_unmap(struct shard *shard);

/* ---- client_hold.c; control thread */

/* Whether an answer has to wait for a copy; then msg is kept, and comes back to client_msg_back().
 */
bool client_hold(struct client *c, struct msg *msg);
/* A copy is over: those answers that need not wait any more go on. */
void client_hold_over(struct client *c);
/* Frees the messages: no core runs any more. */
void client_hold_drop(struct client *c);

/* ---- client_copy.c; control thread */

/*
 * The client's worker, if it has none yet; its memory is there. 0, EDQUOT (*quota filled) or
 * another positive errno.
 */
int client_copy_start(struct client *c, struct hw_resp_quota *quota)
    __attribute__((warn_unused_result));
/* No core works for the client any more. Its connection stays in its share until the worker ends.
 */
void client_copy_end(struct client *c);
/* Frees those that are over. */
void client_copy_reap(void);

/* ---- client_answer.c; control thread */

/*
 * Sends an answer; descriptors, which the caller has taken into the client's share, are copied
 * where it has to wait. tag is the command's.
 */
void client_answer(struct client *c, uint32_t op, uint32_t tag, struct hw_cmd_resp *resp,
		   const int *fd, uint32_t num_fds);
/* The process can read again: sends what waits. */
void client_flush_answers(struct client *c);
/* Which events of its socket the control thread wants: none to read while much is under way. */
void client_set_events(struct client *c);
/* The process has read its answers: their descriptors leave its share. */
void client_settle_fds(struct client *c);
/* Forgets what waits; the client's end. */
void client_drop_answers(struct client *c);

/* ---- client_xrc.c; control thread */

/*
 * A process opens a domain; file_dev and file_ino are filled. 0; EXDEV: the file's domain is in
 * another shard than the process; ENOMEM. Where it is 0 client_xrcd_opened() follows.
 */
int client_xrcd_open(const struct client *c, const struct hw_cmd_open_xrcd *open)
    __attribute__((warn_unused_result));
void client_xrcd_opened(const struct client *c, const struct hw_cmd_open_xrcd *open,
			const struct hw_cmd_resp *resp);
void client_xrcd_closed(const struct client *c, uint32_t handle);
void client_xrcd_forget_all(const struct client *c);

/* ---- client_coalesce.c; control thread */

/* Carries out COALESCE or VECTOR. 0: the answer comes later; or a positive errno. */
int client_coalesce(struct client *c, const struct hw_cmd *cmd) __attribute__((warn_unused_result));
/* A message came back. True: it went on to the next shard, and comes back again. */
bool client_coalesce_next(struct client *c, struct msg *msg);

/* ---- client_cmd.c */

/*
 * Is a packet of so many bytes with so many descriptors a command that this state allows? Pieces
 * (hw_cmd_bytes()) are not looked at.
 * 0 or a positive errno. Pure.
 */
int client_check(const struct hw_cmd *cmd, size_t bytes, uint32_t num_fds, enum client_state state,
		 bool tool) __attribute__((warn_unused_result));
/* Carries out a checked command; takes fd (-1: none). */
void client_run(struct client *c, const struct hw_cmd_pieces *packet, int fd);
/* Answers what came back from a core. */
void client_cmd_back(struct client *c, struct msg *msg);
/* The next step of an attach or its end, after a core answered. */
void client_attach_back(struct client *c, struct msg *msg);

#endif /* WEFT_APP_CLIENT_H */
