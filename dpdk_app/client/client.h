/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes attached to a NIC: their sockets, their descriptors, their end.
 *
 * client.c handles the connection and client_cmd.c executes commands, both on the control thread.
 * The cores know a client from MSG_ATTACH until the answer to MSG_DETACH.
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
	CLIENT_OUTSTANDING = 4,   /* commands of one process in progress; more wait in its socket */
	CLIENT_ANSWERS_MAX = 64,  /* unread answers; beyond that its commands are not read */
	CLIENT_MAX_TOTAL = 4096,  /* connections per weftd */
	CLIENT_UNATTACHED_S = 10, /* seconds that a connection may exist without ATTACH and START */
	CLIENT_FDS_OTHERS = 2,    /* of an ATTACH beside doorbells: BAR, EQ 0 */
	CLIENT_FDS_MAX = CLIENT_FDS_OTHERS + HW_DOORBELLS_MAX,
	CLIENT_SOCKET_BYTES = 32768,      /* answers in its socket; the kernel doubles the value */
	CLIENT_LOAD_EQUAL_PERMILLE = 100, /* loads of shards that differ by less are equal */
	/* weftd's memory per connection: its record, and unread answers. */
	CLIENT_OWN_BYTES = 131072,
};

/* Address space for queues; its pages are committed on first access. */
#define CLIENT_BAR_BYTES (UINT64_C(1) << 30)
/* The part that every process uses: the header and EQ 0. */
#define CLIENT_BAR_FIRST_BYTES (HW_BAR_DYNAMIC + (UINT64_C(256) << 10))
/*
 * The beginning of that part, which a core accesses first: header, doorbells, first page of EQ 0.
 */
#define CLIENT_BAR_MADE_BYTES (HW_BAR_DYNAMIC + 2 * HW_BAR_PAGE_BYTES)

enum client_state {
	CLIENT_CONNECTED, /* waiting for ATTACH */
	CLIENT_OFFERED,   /* the process has received its BAR and maps it: waiting for START */
	CLIENT_ATTACHING, /* its BAR is being sealed, then a core attaches it */
	CLIENT_LIVE,
	CLIENT_DETACHING, /* MSG_DETACH is in progress; no more answers are sent */
};

/* Source of an epoll event of the control thread. */
enum control_kind {
	CONTROL_SIGNAL,
	CONTROL_WAKE,
	CONTROL_LINK,
	CONTROL_LISTEN, /* object: struct nic */
	CONTROL_MEMIF,  /* object: struct memif */
	CONTROL_SOCKET, /* object: struct client; also the next */
	CONTROL_PROCESS,
};
struct control_source {
	enum control_kind kind;
	void *object;
};

struct client_answer {
	struct client_answer *next;
	struct hw_cmd_resp resp;
	int fd[CLIENT_FDS_MAX]; /* private copies */
	uint32_t num_fds;
};

struct client {
	struct client *next, **link; /* list of all clients */
	struct nic *nic;
	struct shard *shard; /* for a tool: shard 0 */
	enum client_state state;
	bool tool;
	bool doomed; /* the socket or the process has ended; freed when nothing is in progress */
	bool paused; /* the socket is not being read */
	uint32_t events; /* current epoll(7) events of the socket; 0: not set yet */
	pid_t pid;
	uid_t uid;
	uint32_t first_port; /* lowest port that it may bind: port_right.h */
	struct user_process *account;
	uint64_t num_fds; /* descriptors counted in its share */
	/* Part of num_fds: descriptors that it may not have taken out of its socket yet. */
	uint64_t fds_unread;
	uint32_t use; /* hw_use */
	char name[24];
	uint64_t connected_ns;
	int sock_fd;
	int epoll_fd; /* the control thread's epoll set, which watches sock_fd */
	int pid_fd;   /* -1: not supported by the kernel */
	int mem_fd;   /* the /proc/self/mem that it sent; -1: only mapped memory works */
	struct client_copy *worker; /* worker thread, once it has registered unmapped memory */
	struct hostcopy *copy;      /* the same, for the core */
	struct msg *held;           /* answers that wait for a copy: client_hold.c */
	int doorbell_fd[HW_DOORBELLS_MAX];
	uint32_t num_doorbells;
	int bar_fd;
	struct hostmem *bar_map;
	void *bar;
	uint64_t bar_bytes;
	struct control_source socket_source;
	struct control_source process_source;
	uint32_t num_outstanding; /* commands in progress on a core */
	uint32_t num_attached;    /* attached shards; detached from the last to the first */
	uint32_t attach_tag;
	char *change; /* a tool's: text of its last HW_CMD_CHANGE */
	struct client_answer *answers, **answers_tail;
	uint32_t num_answers;

	/* Written by the cores while attached: */
	uint32_t fw_client[CONF_MAX_SHARDS]; /* its number in each shard */
	int eq_fd[HW_MAX_EQ_PER_CLIENT];     /* -1: no such queue */
	struct irq_owner irqs;
	_Atomic(bool) dead;                /* its memory failed: end it */
	_Atomic(bool) over;                /* copy of doomed for helper threads */
	_Atomic(uint64_t) bar_taken_bytes; /* bytes of its queues, counted in its share */
	/* Offset of pages that a core will need | their number; 0: none. */
	_Atomic(uint64_t) bar_ahead;
};

/* ---- client.c; control thread */

/* Subject of messages about the process c. */
#define CLIENT_SUBJECT(c)                                                                          \
	(&(struct log_subject){                                                                    \
	    .nic = (c)->nic->name, .program = (c)->name, .pid = (c)->pid, .uid = (c)->uid})

void client_set_state(struct client *c, enum client_state state);

/* Adds a new client, whose NIC is set, to the list of all. */
void client_enlist(struct client *c);
uint32_t client_count(void);
/*
 * Shuts a connection down, which is closed later. Unread packets and the descriptors in them,
 * possibly lingering sockets, are discarded with it; the process sees the end at once.
 */
void client_drop_socket(int sock);

/*
 * ATTACH of a process, in client_bar.c: counts its BAR and descriptors in its share, makes them,
 * and offers them to it. Return 0 or -errno; -EDQUOT, or EDQUOT of the first, fills in *quota.
 */
int client_take_bar(struct client *c, struct hw_resp_quota *quota)
    __attribute__((warn_unused_result));
int client_make_bar(struct client *c, struct hw_resp_quota *quota)
    __attribute__((warn_unused_result));
void client_offer_bar(struct client *c, const struct hw_cmd *cmd);
/* Handles socket events: commands to read, room for answers, or hang-up. */
void client_socket_event(struct client *c, uint32_t events);
/* Marks the process or its connection as ended. */
void client_doom(struct client *c);
/* Handles a message of this client that came back from a core. */
void client_msg_back(struct msg *msg);
/*
 * Takes a copy of fd for access to unmapped memory. Returns 0; -EPERM: it is not the process's own
 * memory; or another negative errno. The caller keeps fd.
 */
int client_take_memory(struct client *c, int fd) __attribute__((warn_unused_result));
/*
 * Counts n descriptors in the client's share. client_give_fds() or the client's end releases them.
 * The creator of an answer counts the descriptors sent with it, until the process has read it.
 * Returns 0, EDQUOT (*quota filled in) or ENOMEM.
 */
int client_take_fds(struct client *c, uint32_t n, struct hw_resp_quota *quota)
    __attribute__((warn_unused_result));
void client_give_fds(struct client *c, uint32_t n);

/* Ends clients that are dead or late. Returns true while any has not sent its ATTACH. */
bool client_sweep(uint64_t now_ns);
/* Frees ended clients. No event of this round may refer to them any more. */
void client_reap(void);
/* As what the firmware attaches it. Control thread, or a core while the control thread waits. */
struct fw_client_params client_params(const struct client *c);
/* Returns a process that is attached to the NIC, or about to, or about to be gone; NULL: none. */
const struct client *client_blocking(const struct nic *nic);

/* Ends the connections of processes to a NIC; tools: of all. */
void client_doom_all(const struct nic *nic, bool tools);
/* Frees all clients at shutdown, when no core runs. */
void client_free_all(void);
/* Unmaps the mappings that the shard has released. */
void client_drain_unmap(struct shard *shard);

/* ---- client_accept.c; control thread */

/* Accepts one pending connection of the NIC; closes it if there is no room. */
void client_accept(struct nic *nic, int epoll_fd);

/* ---- client_hold.c; control thread */

/*
 * Returns true if an answer must wait for a copy. msg is kept and later passed to
 * client_msg_back().
 */
bool client_hold(struct client *c, struct msg *msg);
/* A copy has finished: processes the answers that no longer wait. */
void client_hold_over(struct client *c);
/* Frees the messages at shutdown, when no core runs. */
void client_hold_drop(struct client *c);

/* ---- client_copy.c; control thread */

/*
 * Starts the client's worker if it has none; its memory descriptor must be set. Returns 0, EDQUOT
 * (*quota filled in) or another positive errno.
 */
int client_copy_start(struct client *c, struct hw_resp_quota *quota)
    __attribute__((warn_unused_result));
/*
 * Called when no core works for the client any more. Its connection stays in its share until the
 * worker ends.
 */
void client_copy_end(struct client *c);
/* Frees finished workers. */
void client_copy_reap(void);

/* ---- client_answer.c; control thread */

/*
 * Sends an answer. The caller has counted the descriptors in the client's share; they are copied if
 * the answer has to wait. tag is the command's.
 */
void client_answer(struct client *c, uint32_t op, uint32_t tag, struct hw_cmd_resp *resp,
		   const int *fd, uint32_t num_fds);
/* The process can read again: sends the waiting answers. */
void client_flush_answers(struct client *c);
/* Sets the events for which its socket is watched: no input while much is in progress. */
void client_set_events(struct client *c);
/* Releases the descriptors of answers that the process has read from its share. */
void client_settle_fds(struct client *c);
/* Drops the waiting answers at the client's end. */
void client_drop_answers(struct client *c);

/* ---- client_xrc.c; control thread */

/*
 * Starts to open a domain; fills in file_dev and file_ino. Returns 0; EXDEV: the file's domain is
 * in another shard than the process; ENOMEM. After 0, client_xrcd_opened() must follow.
 */
int client_xrcd_open(const struct client *c, const struct hw_cmd_open_xrcd *open)
    __attribute__((warn_unused_result));
void client_xrcd_opened(const struct client *c, const struct hw_cmd_open_xrcd *open,
			const struct hw_cmd_resp *resp);
void client_xrcd_closed(const struct client *c, uint32_t handle);
void client_xrcd_forget_all(const struct client *c);

/* ---- client_change.c; control thread */

/* Executes CHANGE and answers it. */
void client_change(struct client *c, const struct hw_cmd *cmd);

/* ---- client_coalesce.c; control thread */

/* Executes COALESCE or VECTOR. Returns 0 if the answer follows later, or a positive errno. */
int client_coalesce(struct client *c, const struct hw_cmd *cmd) __attribute__((warn_unused_result));
/*
 * Handles a returned message. Returns true if it was passed to the next shard and will come back.
 */
bool client_coalesce_next(struct client *c, struct msg *msg);

/* ---- client_upgrade.c; control thread */

/* Executes UPGRADE and answers; the caller keeps fd, the image's file. */
void client_upgrade(struct client *c, const struct hw_cmd *cmd, int fd);

/* ---- client_cmd.c */

/*
 * Checks whether a packet of this length with this number of descriptors is a command that the
 * state permits. Does not check pieces (hw_cmd_bytes()). Returns 0 or a positive errno. Pure.
 */
int client_check(const struct hw_cmd *cmd, size_t bytes, uint32_t num_fds, enum client_state state,
		 bool tool) __attribute__((warn_unused_result));
/* Executes a checked command; takes ownership of fd (-1: none). */
void client_run(struct client *c, const struct hw_cmd_pieces *packet, int fd);
/* Sends the answer for a message that came back from a core. */
void client_cmd_back(struct client *c, struct msg *msg);
/* Answers a command with a status; with the exhausted share if that is the reason. */
void client_answer_status(struct client *c, const struct hw_cmd *cmd, int status);
void client_refuse(struct client *c, const struct hw_cmd *cmd, int status,
		   const struct hw_resp_quota *quota);

/* ---- client_attach.c; control thread */

/* Execute ATTACH, which takes ownership of fd, and START. */
void client_attach(struct client *c, const struct hw_cmd *cmd, int fd);
void client_start(struct client *c, const struct hw_cmd *cmd);
/*
 * Has the pages of the message's mapping, if it has one, populated by a helper thread; then sends
 * the message to the core.
 */
void client_prepare(struct client *c, struct msg *msg);
/* Performs the next step of an attach, or ends it, after a core's answer. */
void client_attach_back(struct client *c, struct msg *msg);

#endif /* WEFT_APP_CLIENT_H */
