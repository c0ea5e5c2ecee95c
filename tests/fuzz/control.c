/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target: input to weftd's socket. Packets of any length with any descriptors attached
 * (dpdk_app/client/client.c, client_cmd.c, hostmem.c), connections that come and go.
 *
 * The processes are ends of this process's sockets. The functions below replace weftd's msg.c and
 * the cores; they answer when the input says so, with the input's content. At the end every process
 * is gone: no descriptor, mapping, message or connection may be left, and a process that stayed to
 * the end must have one answer for each packet. The input is a program of 16-byte records. Built
 * only with DPDK: its ring is in a header.
 */
#include "tests/fuzz/fuzz.h"

#if __has_include(<rte_ring.h>)

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <rte_ring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "dpdk_app/control/capture.h"
#include "dpdk_app/control/change.h"
#include "dpdk_app/client/client.h"
#include "dpdk_app/client/fd_drop.h"
#include "dpdk_app/client/hostmem.h"
#include "dpdk_app/client/msg.h"

enum step {
	STEP_CONNECT,
	STEP_SEND,
	STEP_SEND_RAW,
	STEP_RUN,
	STEP_CORE,
	STEP_READ,
	STEP_CLOSE,
	STEP_TIME,
	STEP_DEAD,
	STEPS
};

enum {
	PROCS = 4,
	MSGS = 256,
	FDS = 20, /* kinds of descriptors to send */
	RING = 1024,
	RECS = 192,
	END_ROUNDS = 2000,
	MEM_BYTES = 64 << 10,
};

struct rec {
	uint8_t op;
	uint8_t a, b, c;
	uint32_t x, y, z;
};

static struct app app;
static struct nic *nic;
static struct core core;
static int epoll_fd, send_fd[FDS];
static uint64_t clock_ns;
static struct sockaddr_un address;
static socklen_t address_bytes;

static struct proc {
	int fd; /* -1: not connected */
	uint32_t sent, answered;
	bool left;    /* the other side closed it */
	uint64_t key; /* descriptor of memory that it has, or had */
} proc[PROCS];

/* Commands on their way to the core, in order. */
static struct msg *msgs[MSGS];
static uint32_t num_msgs;
static bool core_is_full;

/* Mappings of the firmware, with the client that registered them. */
static struct mapping {
	struct client *c;
	void *start;
} mappings[MSGS];
static uint32_t num_mappings;

/* ---- functions of weftd's other files ---- */

uint64_t app_clock_ns(void)
{
	return clock_ns;
}

/* Stands for helper threads, of which there are none. */
void app_wake_control(struct app *of)
{
	(void)of;
}

struct msg *msg_new(enum msg_kind kind, struct shard *shard, struct client *client)
{
	struct msg *msg = calloc(1, sizeof(*msg));

	fuzz_check(msg != NULL, "no memory");
	msg->kind = kind;
	msg->shard = shard;
	msg->client = client;
	msg->event_fd = msg->old_fd = -1;
	return msg;
}

void msg_free(struct msg *msg)
{
	if (msg)
		free(msg->code);
	free(msg);
}

int msg_send(struct msg *msg)
{
	if (core_is_full || num_msgs == MSGS)
		return -ENOBUFS;
	msgs[num_msgs++] = msg;
	return 0;
}

void fd_drop_of(int fd, uid_t uid)
{
	(void)uid;
	close(fd);
}

bool fd_drop_owed(uid_t uid)
{
	(void)uid;
	return false;
}

int capture_start(struct nic *of, int *fd)
{
	int ends[2];

	(void)of;
	if (core_is_full || pipe2(ends, O_CLOEXEC))
		return -EBUSY;
	close(ends[1]);
	*fd = ends[0];
	return 0;
}

/* In place of client_upgrade.c: no core runs here whose firmware could change. */
void client_upgrade(struct client *c, const struct hw_cmd *cmd, int fd)
{
	(void)fd;
	client_answer(c, cmd->op, cmd->tag, &(struct hw_cmd_resp){.status = ENOEXEC}, NULL, 0);
}

/* In place of change.c, which would change a weftd. */
int change_run(struct nic *of, char **kept, bool owner, const struct hw_cmd *cmd,
	       struct hw_resp_change *resp)
{
	(void)of;
	if (cmd->u.change.kind != HW_CHANGE_SHOW && !owner)
		return EPERM;
	free(*kept);
	*kept = strdup("fault = weft0 off\n");
	if (!*kept)
		return ENOMEM;
	resp->total = resp->bytes = (uint32_t)strlen(*kept);
	memcpy(resp->text, *kept, resp->bytes);
	return 0;
}

/* ---- the core ---------------------------------------------------------------------------- */

static void unmap_one(struct client *c, uint32_t skip)
{
	uint32_t i;

	for (i = 0; i < num_mappings; i++) {
		if (mappings[i].c != c || (skip && skip--))
			continue;
		fuzz_check(!rte_ring_mp_enqueue(c->shard->unmap, mappings[i].start),
			   "the ring is full");
		mappings[i] = mappings[--num_mappings];
		return;
	}
}

/* Does as fw_cmd() and cmd_finish() of msg.c, without the firmware's work. */
static void command(struct msg *msg, uint32_t eq)
{
	struct client *c = msg->client;

	switch (msg->cmd.op) {
	case HW_CMD_REG_MR:
		if (!msg->aux.mapping)
			break;
		/* Checks that its bytes can be read. */
		fuzz_check(((volatile uint8_t *)msg->aux.mapping)[msg->aux.map_bytes - 1] == 0,
			   "mapping");
		mappings[num_mappings++] = (struct mapping){c, msg->aux.handle};
		break;
	case HW_CMD_DEREG_MR:
		unmap_one(c, msg->cmd.u.obj.handle % 4);
		break;
	case HW_CMD_CREATE_EQ:
		eq = 1 + eq % (HW_MAX_EQ_PER_CLIENT - 1);
		if (c->eq_fd[eq] >= 0) {
			msg->resp.status = ENOSPC;
			break;
		}
		c->eq_fd[eq] = msg->event_fd;
		msg->resp.u.create_eq.eq = eq;
		break;
	case HW_CMD_DESTROY_EQ:
		eq = 1 + eq % (HW_MAX_EQ_PER_CLIENT - 1);
		msg->old_fd = c->eq_fd[eq];
		c->eq_fd[eq] = -1;
		break;
	default:
		break;
	}
}

static void core_answers(uint32_t i, uint32_t status, uint32_t eq)
{
	struct msg *msg = msgs[i];

	memmove(msgs + i, msgs + i + 1, (--num_msgs - i) * sizeof(msgs[0]));
	msg->resp.op = msg->cmd.op;
	msg->resp.status = (int32_t)status;
	if (msg->kind == MSG_DETACH)
		while (msg->client->num_attached == 1 && num_mappings) {
			uint32_t before = num_mappings;

			unmap_one(msg->client, 0);
			if (before == num_mappings)
				break;
		}
	else if (msg->kind == MSG_CMD && !status)
		command(msg, eq);
	client_msg_back(msg);
}

/* Answers to one client come in the order of its commands, except for those that wait. */
static void step_core(const struct rec *r)
{
	uint32_t i = 0, k;

	if (r->c & 1)
		core_is_full = r->c & 2;
	if (!num_msgs)
		return;
	i = r->b % num_msgs;
	/* A core attaches, and detaches, before it handles later commands. */
	for (k = 0; k < i; k++)
		if (msgs[k]->client == msgs[i]->client)
			i = k;
	core_answers(i, msgs[i]->kind == MSG_DETACH ? 0 : r->x % 4 ? 0 : r->x % 200, r->y);
}

/* ---- processes --------------------------------------------------------------------------- */

static void run_control(void)
{
	struct epoll_event ev[16];
	int n = epoll_wait(epoll_fd, ev, 16, 0), i;

	for (i = 0; i < n; i++) {
		struct control_source *source = ev[i].data.ptr;

		if (source->kind == CONTROL_LISTEN)
			client_accept(source->object, epoll_fd);
		else if (source->kind == CONTROL_SOCKET)
			client_socket_event(source->object, ev[i].events);
		else
			client_doom(source->object);
	}
	client_drain_unmap(&nic->shard[0]);
	client_drain_unmap(&nic->shard[1]);
	client_sweep(clock_ns);
	client_reap();
}

static void step_connect(struct proc *p)
{
	if (p->fd >= 0)
		return;
	*p = (struct proc){.fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
	fuzz_check(p->fd >= 0, "no socket");
	if (connect(p->fd, (struct sockaddr *)&address, address_bytes)) {
		close(p->fd);
		p->fd = -1;
	}
	run_control();
}

static void send_packet(struct proc *p, const void *data, size_t bytes, const struct rec *r)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(7 * sizeof(int))];
	} control = {0};
	struct iovec iov = {(void *)(uintptr_t)data, bytes};
	struct msghdr mh = {.msg_iov = &iov, .msg_iovlen = 1};
	uint32_t n = r->c & 7, i;
	int fd[7];

	if (p->fd < 0)
		return;
	for (i = 0; i < n; i++)
		fd[i] = send_fd[((r->c >> 3) + i) % FDS];
	if (n) {
		struct cmsghdr *cm = &control.align;

		mh.msg_control = control.bytes;
		mh.msg_controllen = CMSG_SPACE(n * sizeof(int));
		cm->cmsg_level = SOL_SOCKET;
		cm->cmsg_type = SCM_RIGHTS;
		cm->cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(cm), fd, n * sizeof(int));
	}
	if (sendmsg(p->fd, &mh, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		p->sent++;
	else if (errno != EAGAIN)
		p->left = true;
	/* weftd cannot detect an empty packet: the end of a connection looks the same. */
	if (!bytes)
		p->left = true;
}

/* Picks pieces of memory that the process has, whole pages and not. Returns their bytes. */
static size_t add_pieces(const struct proc *p, const struct hw_cmd_reg_mr *reg, uint8_t *to,
			 const struct rec *r)
{
	struct hw_mem_piece piece[2] = {{p->key, r->x & 0xff, reg->bytes}, {p->key, 0, 0}};
	uint32_t n = reg->num_pieces;

	if (!(reg->flags & HW_REG_F_MAPPED) || !n || n > 2)
		return 0;
	if (n == 2) {
		piece[0] = (struct hw_mem_piece){p->key, r->x & 0x1000, 0x1000};
		piece[1] = (struct hw_mem_piece){p->key, r->x & 0x7000, reg->bytes - 0x1000};
	}
	memcpy(to, piece, n * sizeof(piece[0]));
	return n * sizeof(piece[0]);
}

/* r->b: the operation; x: its arguments; y: a word to change, at z; z >> 24: its length. */
static void step_send(struct proc *p, const struct rec *r)
{
	struct hw_cmd cmd = {.op = r->b % (HW_CMD_OPS + 1), .tag = r->x};
	size_t bytes = r->z >> 24 ? r->z >> 24 : sizeof(cmd);
	uint8_t packet[256] = {0};

	if (cmd.op == HW_CMD_ATTACH) {
		cmd.u.attach.version = HW_CMD_VERSION;
		cmd.u.attach.flags = r->x >> 8 & HW_ATTACH_F_ALL;
		memcpy(cmd.u.attach.name, &r->y, sizeof(r->y));
	} else if (cmd.op == HW_CMD_REG_MR) {
		cmd.u.reg_mr.bytes = 1 + (r->x >> 8 & 0x1ffff);
		cmd.u.reg_mr.flags = r->b & 0x80 ? HW_REG_F_MAPPED : 0;
		cmd.u.reg_mr.num_pieces = r->b & 0x80 ? 1 + (r->b >> 6 & 1) : 0;
	} else if (cmd.op == HW_CMD_COALESCE) {
		cmd.u.coalesce.vector = r->x & 7;
		cmd.u.coalesce.set = r->x >> 8 & 0xff;
	} else {
		cmd.u.obj.handle = r->x;
		cmd.u.obj.shard = r->x >> 8 & 3;
	}
	if (r->z & 0x80 && cmd.op != HW_CMD_ALLOC_MEM)
		memcpy((uint8_t *)&cmd + (r->z >> 8) % (sizeof(cmd) - 3), &r->y, sizeof(r->y));
	memcpy(packet, &cmd, sizeof(cmd));
	if (!(r->z >> 24) && cmd.op == HW_CMD_REG_MR)
		bytes += add_pieces(p, &cmd.u.reg_mr, packet + sizeof(cmd), r);
	send_packet(p, packet, bytes, r);
	if (cmd.op == HW_CMD_ATTACH && !(r->a & 0x40)) {
		struct hw_cmd start = {.op = HW_CMD_START, .tag = r->x};

		send_packet(p, &start, sizeof(start), &(struct rec){0});
	}
}

/*
 * The following records are the packet; returns how many were used. Sends it as often as x says, so
 * that a process which does not read gets more answers than its socket holds.
 */
static uint32_t step_send_raw(struct proc *p, const struct rec *r, uint32_t left)
{
	uint32_t n = r->b % 9 < left ? r->b % 9u : left, times;

	for (times = 1 + r->x % 64; times; times--) {
		send_packet(p, r + 1, n * sizeof(*r), r);
		if (r->x & 64)
			run_control();
	}
	return n;
}

static bool read_answer(struct proc *p)
{
	static const uint8_t pages[MEM_BYTES];
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(CLIENT_FDS_MAX * sizeof(int))];
	} control;
	struct hw_cmd_resp resp;
	struct iovec iov = {&resp, sizeof(resp)};
	struct msghdr mh = {.msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control.bytes,
			    .msg_controllen = sizeof(control.bytes)};
	ssize_t n = recvmsg(p->fd, &mh, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *cm;

	if (n < 0 && errno == EAGAIN)
		return false;
	if (n <= 0) {
		p->left = true;
		return false;
	}
	fuzz_check(n == sizeof(resp) && !(mh.msg_flags & (MSG_TRUNC | MSG_CTRUNC)),
		   "an answer's length");
	p->answered++;
	for (cm = CMSG_FIRSTHDR(&mh); cm; cm = CMSG_NXTHDR(&mh, cm)) {
		size_t k, fds = (cm->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		int fd;

		fuzz_check(!resp.status, "descriptors beside a refusal");
		for (k = 0; k < fds; k++) {
			memcpy(&fd, CMSG_DATA(cm) + k * sizeof(fd), sizeof(fd));
			if (resp.op == HW_CMD_ALLOC_MEM) {
				p->key = resp.u.alloc_mem.key;
				/* Touches the pages, or weftd would not map them. */
				(void)!pwrite(fd, pages, sizeof(pages), 0);
			}
			close(fd);
		}
	}
	return true;
}

static void step_close(struct proc *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}

/* Makes some client's memory fail. */
static void step_dead(uint32_t n)
{
	if (num_msgs && msgs[n % num_msgs]->client)
		atomic_store(&msgs[n % num_msgs]->client->dead, true);
	else if (num_mappings)
		atomic_store(&mappings[n % num_mappings].c->dead, true);
}

static uint32_t run_step(const struct rec *r, uint32_t left)
{
	struct proc *p = &proc[r->a % PROCS];

	switch ((enum step)(r->op % STEPS)) {
	case STEP_CONNECT:
		step_connect(p);
		break;
	case STEP_SEND:
		step_send(p, r);
		if (r->a & 0x80)
			break;
		run_control();
		break;
	case STEP_SEND_RAW:
		return step_send_raw(p, r, left);
	case STEP_RUN:
		run_control();
		break;
	case STEP_CORE:
		step_core(r);
		break;
	case STEP_READ:
		if (p->fd >= 0)
			(void)read_answer(p);
		break;
	case STEP_CLOSE:
		step_close(p);
		break;
	case STEP_TIME:
		clock_ns += (uint64_t)r->x % 64 * UINT64_C(100000000);
		break;
	case STEP_DEAD:
		step_dead(r->b);
		break;
	case STEPS:
		break;
	}
	return 0;
}

/* ---- the end ----------------------------------------------------------------------------- */

static uint32_t open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	uint32_t n = 0;

	fuzz_check(dir != NULL, "no /proc");
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* Answers and reads everything, until nothing happens any more. */
static void settle(void)
{
	uint32_t round, i;

	core_is_full = false;
	for (round = 0; round < END_ROUNDS; round++) {
		bool busy = num_msgs != 0;

		while (num_msgs)
			core_answers(0, 0, round);
		run_control();
		for (i = 0; i < PROCS; i++)
			while (proc[i].fd >= 0 && read_answer(&proc[i]))
				busy = true;
		if (!busy && !num_msgs && round > 2)
			return;
	}
	fuzz_check(0, "weftd comes to no end");
}

static void finish(void)
{
	uint32_t i;

	settle();
	for (i = 0; i < PROCS; i++)
		fuzz_check(proc[i].fd < 0 || proc[i].left || proc[i].sent == proc[i].answered,
			   "a command without an answer, or with two");
	for (i = 0; i < PROCS; i++)
		step_close(&proc[i]);
	settle();
	fuzz_check(!nic->num_clients, "a connection is left");
	fuzz_check(!num_mappings && !nic->shard[0].num_mappings && !nic->shard[1].num_mappings,
		   "a mapping is left");
}

static struct rte_ring *new_ring(void)
{
	size_t bytes = (sizeof(struct rte_ring) + RING * sizeof(void *) + 127) / 128 * 128;
	struct rte_ring *ring = aligned_alloc(128, bytes);

	fuzz_check(ring != NULL, "no memory");
	memset(ring, 0, bytes);
	ring->size = RING;
	ring->mask = RING - 1;
	ring->capacity = RING - 1;
	return ring;
}

/* Makes a descriptor of the same file with other rights: O_RDONLY, O_PATH and so on. */
static int again(int fd, int flags)
{
	char path[40];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, flags | O_CLOEXEC);
}

/*
 * Descriptors that no library sends: kinds of files that a check could take for memory, or for an
 * event.
 */
static void new_strangers(void)
{
	int ends[2];

	send_fd[5] = again(send_fd[0], O_RDONLY);
	send_fd[6] = again(send_fd[0], O_PATH);
	send_fd[7] = memfd_create("not written", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	fuzz_check(!ftruncate(send_fd[7], MEM_BYTES) &&
		       !fcntl(send_fd[7], F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE),
		   "no seals");
	fuzz_check(!pipe2(ends, O_CLOEXEC | O_NONBLOCK), "no pipe");
	send_fd[8] = ends[0];
	send_fd[9] = ends[1];
	/* The other end stays open, too. */
	fuzz_check(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), "no sockets");
	send_fd[10] = ends[0];
	send_fd[11] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	send_fd[12] = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	send_fd[13] = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	send_fd[14] = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	send_fd[15] = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	send_fd[16] = epoll_create1(EPOLL_CLOEXEC);
	send_fd[17] = eventfd(1, EFD_SEMAPHORE | EFD_CLOEXEC);
	send_fd[18] = open("/dev/null", O_WRONLY | O_CLOEXEC);
	/* Sums of its length and an offset leave 63 bits. */
	send_fd[19] = memfd_create("huge", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	fuzz_check(!ftruncate(send_fd[19], INT64_MAX) &&
		       !fcntl(send_fd[19], F_ADD_SEALS, F_SEAL_SHRINK),
		   "no seals");
}

static void new_files(void)
{
	static const uint8_t zero[16];
	uint32_t i;

	send_fd[0] = memfd_create("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	send_fd[1] = memfd_create("open", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	send_fd[2] = open("/dev/zero", O_RDWR | O_CLOEXEC);
	send_fd[3] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	send_fd[4] = memfd_create("empty", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	for (i = 0; i < 2; i++)
		fuzz_check(!ftruncate(send_fd[i], MEM_BYTES) &&
			       pwrite(send_fd[i], zero, sizeof(zero), 0) > 0,
			   "no memory");
	fuzz_check(!fcntl(send_fd[0], F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) &&
		       !fcntl(send_fd[4], F_ADD_SEALS, F_SEAL_SHRINK),
		   "no seals");
	new_strangers();
	for (i = 0; i < FDS; i++)
		fuzz_check(send_fd[i] >= 0, "no descriptor");
}

void fuzz_control_begin(void)
{
	/* All processes share the descriptors of this one: half of them must suffice. */
	const struct user_tables tables = {64, 8192, UINT64_C(1) << 40, .mappings = 65536,
					   .memory = UINT64_C(1) << 40};
	static struct control_source listen_source;
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = &listen_source};
	uint32_t i;

	nic = &app.nic[0];
	app.num_nics = 1;
	nic->app = &app;
	nic->num_shards = 2;
	core.app = &app;
	for (i = 0; i < 2; i++) {
		nic->shard[i].nic = nic;
		nic->shard[i].core = &core;
		nic->shard[i].number = i;
		nic->shard[i].unmap = new_ring();
	}
	for (i = 0; i < PROCS; i++)
		proc[i].fd = -1;
	new_files();
	address.sun_family = AF_UNIX;
	/* A name of the abstract kind leaves no file behind. */
	address_bytes =
	    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			(size_t)snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1,
					 "weft-fuzz-%d", (int)getpid()));
	nic->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	user_init(&(struct hw_share_limits){0}, &tables);
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	listen_source = (struct control_source){CONTROL_LISTEN, nic};
	fuzz_check(nic->listen_fd >= 0 && epoll_fd >= 0 && !hostmem_init(epoll_fd) &&
		       !bind(nic->listen_fd, (struct sockaddr *)&address, address_bytes) &&
		       !listen(nic->listen_fd, 16) &&
		       !epoll_ctl(epoll_fd, EPOLL_CTL_ADD, nic->listen_fd, &ev),
		   "no socket");
	snprintf(nic->name, sizeof(nic->name), "weft0");
	/* No other connection waits: weftd uses its reserved descriptor. */
	client_accept(nic, epoll_fd);
}

void fuzz_control(const uint8_t *data, size_t bytes)
{
	static struct rec program[RECS];
	uint32_t n = (uint32_t)(bytes / sizeof(program[0])), i, before = open_files();

	if (n > RECS)
		n = RECS;
	memcpy(program, data, n * sizeof(program[0]));
	clock_ns = UINT64_C(1000000000);
	nic->next_shard = nic->next_coll = 0;
	for (i = 0; i < n; i++)
		i += run_step(&program[i], n - 1 - i);
	finish();
	fuzz_check(open_files() == before, "a descriptor is left");
}

#endif /* DPDK */
