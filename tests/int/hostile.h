/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client of weftd without libweft: it speaks the control channel and maps the BAR itself, so that
 * it can break every rule. Shared by the programs hostile_cmd.c and hostile_bar.c, which hostile.sh
 * runs. shared_defs/hw_cmd.h, hw_bar.h; docs/host-interface.md.
 */
#ifndef WEFT_TESTS_HOSTILE_H
#define WEFT_TESTS_HOSTILE_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/prng.h"
#include "shared_defs/hw_bar.h"
#include "shared_defs/hw_cmd.h"
#include "shared_defs/hw_cqe.h"
#include "shared_defs/hw_limits.h"
#include "shared_defs/hw_wqe.h"

enum {
	NUM_QPS = 6,
	SQ_SLOTS = 64,
	CQ_ENTRIES = 128,
	MEM_BYTES = 65536,
	ANSWER_MS = 60000,
	FDS_MAX = 2 + HW_DOORBELLS_MAX,
	QKEY = 0x1234,
};

/* State of one attached process. */
struct victim {
	int sock;
	int fd[FDS_MAX]; /* BAR, doorbell 0, EQ 0, other doorbells */
	uint8_t *bar;
	uint64_t bar_bytes;
	uint64_t used_bytes; /* bytes of the BAR, up to the end of the last ring */
	uint32_t pd, cq, ah, stag;
	struct hw_resp_create_cq cq_resp;
	struct hw_resp_create_qp qp[NUM_QPS];
	uint8_t *mem;
	uint64_t key; /* bytes of mem */
};

static const char *socket_path;
static uint64_t seed;

static void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

static inline void die(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "hostile: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

static inline uint64_t rnd(void)
{
	return prng_next(&seed);
}

static inline void rnd_bytes(void *to, size_t bytes)
{
	uint8_t *p = to;
	uint64_t r;

	for (; bytes >= 8; bytes -= 8, p += 8) {
		r = rnd();
		memcpy(p, &r, 8);
	}
	r = rnd();
	memcpy(p, &r, bytes);
}

/* ---- the control channel */

static inline int connect_nic(void)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", socket_path);
	if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		die("%s: %s", socket_path, strerror(errno));
	return fd;
}

/* Sends a packet unchanged, with descriptors. False: the NIC has closed the connection. */
static inline bool send_raw(int sock, const void *data, size_t bytes, const int *fd,
			    uint32_t num_fds)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(8 * sizeof(int))];
	} control = {0};
	struct iovec iov = {(void *)(uintptr_t)data, bytes};
	struct msghdr mh = {.msg_iov = &iov, .msg_iovlen = 1};

	if (num_fds) {
		mh.msg_control = control.bytes;
		mh.msg_controllen = CMSG_SPACE(num_fds * sizeof(int));
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(num_fds * sizeof(int));
		memcpy(CMSG_DATA(&control.align), fd, num_fds * sizeof(int));
	}
	return sendmsg(sock, &mh, MSG_NOSIGNAL) == (ssize_t)bytes;
}

/*
 * Receives the next answer. False: the connection is closed. Descriptors go into fd, or are closed.
 */
static inline bool receive(int sock, struct hw_cmd_resp *resp, int *fd)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
	} control = {0};
	struct iovec iov = {resp, sizeof(*resp)};
	struct msghdr mh = {.msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control.bytes,
			    .msg_controllen = sizeof(control.bytes)};
	struct pollfd p = {.fd = sock, .events = POLLIN};
	struct cmsghdr *cm;
	ssize_t n;

	if (poll(&p, 1, ANSWER_MS) != 1)
		die("no answer in %d s", ANSWER_MS / 1000);
	n = recvmsg(sock, &mh, MSG_CMSG_CLOEXEC);
	if (n <= 0)
		return false;
	if (n != (ssize_t)sizeof(*resp))
		die("an answer of %zd bytes", n);
	cm = CMSG_FIRSTHDR(&mh);
	for (uint32_t i = 0; cm && i < (cm->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++) {
		int got;

		memcpy(&got, CMSG_DATA(cm) + i * sizeof(int), sizeof(got));
		if (fd)
			fd[i] = got;
		else
			close(got);
	}
	return true;
}

/* Sends a whole command with its pieces and receives its answer. Returns the status. */
static inline int command_fd(int sock, struct hw_cmd *cmd, struct hw_cmd_resp *resp, int give,
			     int *take)
{
	static uint32_t tag;
	size_t bytes = hw_cmd_bytes(cmd);

	cmd->tag = ++tag;
	if (!send_raw(sock, cmd, bytes ? bytes : sizeof(*cmd), &give, give >= 0))
		die("the NIC closed the connection at command %u", cmd->op);
	do {
		if (!receive(sock, resp, take))
			die("the NIC closed the connection after command %u", cmd->op);
	} while (resp->tag != tag);
	if (resp->op != cmd->op)
		die("the answer to command %u says %u", cmd->op, resp->op);
	return resp->status;
}

static inline int command(int sock, struct hw_cmd *cmd, struct hw_cmd_resp *resp)
{
	return command_fd(sock, cmd, resp, -1, NULL);
}

/* Sends a command that must succeed. */
static inline void must(struct victim *v, struct hw_cmd *cmd, struct hw_cmd_resp *resp)
{
	int status = command(v->sock, cmd, resp);

	if (status)
		die("command %u failed: %s", cmd->op, strerror(status));
}

/* Sends a command that must be refused; wanted 0: with any error. */
static inline void refused(int sock, struct hw_cmd *cmd, int wanted, const char *what)
{
	struct hw_cmd_resp resp;
	int status = command(sock, cmd, &resp);

	if (!status || (wanted && status != wanted))
		die("%s: status %d (%s)", what, status, strerror(status));
}

/* ---- a client that keeps the rules, to begin with */

/*
 * Sends ATTACH on a connection, with a descriptor of memory (-1: none), and maps the BAR. Returns
 * the status.
 */
static inline int attach_on(struct victim *v, int sock, int mem)
{
	struct hw_cmd cmd = {.op = HW_CMD_ATTACH,
			     .u.attach = {.version = HW_CMD_VERSION,
					  .flags = HW_ATTACH_F_SHARD, /* 0: handles are a shard's */
					  .name = "hostile"}};
	struct hw_cmd_resp resp;

	memset(v, 0, sizeof(*v));
	memset(v->fd, -1, sizeof(v->fd));
	v->sock = sock;
	if (mem >= 0)
		cmd.u.attach.flags |= HW_ATTACH_F_MEMORY;
	if (command_fd(v->sock, &cmd, &resp, mem, v->fd))
		return resp.status;
	v->bar_bytes = resp.u.attach.bar_bytes;
	v->bar = mmap(NULL, v->bar_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, v->fd[0], 0);
	if (v->bar == MAP_FAILED)
		die("mapping the BAR: %s", strerror(errno));
	cmd = (struct hw_cmd){.op = HW_CMD_START};
	if (command(v->sock, &cmd, &resp))
		die("START: %s", strerror(resp.status));
	return 0;
}

/* Attaches with the process's own memory; must succeed. */
static inline void attach(struct victim *v)
{
	int mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	int status = attach_on(v, connect_nic(), mem);

	if (status)
		die("ATTACH: %s", strerror(status));
	close(mem);
}

static inline void detach(struct victim *v)
{
	munmap(v->bar, v->bar_bytes);
	if (v->mem)
		munmap(v->mem, MEM_BYTES);
	for (int i = 0; i < FDS_MAX; i++)
		close(v->fd[i]);
	close(v->sock);
}

static inline void to_state(struct victim *v, uint32_t qpn, uint32_t state, uint32_t mask)
{
	struct hw_cmd cmd = {.op = HW_CMD_MODIFY_QP};
	struct hw_cmd_resp resp;

	cmd.u.modify_qp.qpn = qpn;
	cmd.u.modify_qp.mask = HW_QP_STATE | mask;
	cmd.u.modify_qp.attr =
	    (struct hw_qp_attr){.state = state,
				.qkey = QKEY,
				.port = 1,
				.access = HW_ACCESS_REMOTE_WRITE | HW_ACCESS_REMOTE_ATOMIC};
	must(v, &cmd, &resp);
}

static inline void create_qp(struct victim *v, uint32_t i)
{
	struct hw_cmd cmd = {.op = HW_CMD_CREATE_QP};
	struct hw_cmd_resp resp;

	cmd.u.create_qp = (struct hw_cmd_create_qp){
	    .pd = v->pd,
	    .type = i % 2 ? HW_QPT_UD : HW_QPT_RD,
	    .send_cq = v->cq,
	    .recv_cq = v->cq,
	    .srq = HW_SRQ_NONE,
	    .sq_slots = SQ_SLOTS,
	    .max_send_wr = 16,
	    .max_recv_wr = 16,
	    .max_send_sge = 4,
	    .max_recv_sge = 4,
	    .max_inline_bytes = 64,
	};
	must(v, &cmd, &resp);
	v->qp[i] = resp.u.create_qp;
	to_state(v, v->qp[i].qpn, HW_QPS_INIT,
		 HW_QP_PKEY_INDEX | HW_QP_PORT | HW_QP_QKEY | HW_QP_ACCESS_FLAGS);
	to_state(v, v->qp[i].qpn, HW_QPS_RTR, 0);
	to_state(v, v->qp[i].qpn, HW_QPS_RTS, HW_QP_SQ_PSN);
}

static inline int make_memfd(size_t bytes, int seals)
{
	int fd = memfd_create("hostile", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, (off_t)bytes) || (seals && fcntl(fd, F_ADD_SEALS, seals)))
		die("memfd: %s", strerror(errno));
	return fd;
}

/* Sends ALLOC_MEM, maps the memory and touches its pages. The memfd stays open. */
static inline uint8_t *alloc_mem(struct victim *v, uint64_t bytes, uint64_t slack_bytes,
				 uint64_t *key, int *fd)
{
	struct hw_cmd cmd = {.op = HW_CMD_ALLOC_MEM,
			     .u.alloc_mem = {.bytes = bytes, .slack_bytes = slack_bytes}};
	struct hw_cmd_resp resp;
	uint8_t *mem;

	if (command_fd(v->sock, &cmd, &resp, -1, fd))
		die("ALLOC_MEM: %s", strerror(resp.status));
	*key = resp.u.alloc_mem.key;
	mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, *fd, 0);
	if (mem == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	return mem;
}

/* Sends REG_MR of pieces. Returns the status, and the STag in *stag. */
static inline int reg_pieces(struct victim *v, uint64_t addr, const struct hw_mem_piece *piece,
			     uint32_t num_pieces, uint32_t *stag)
{
	struct hw_cmd_pieces packet = {.cmd.op = HW_CMD_REG_MR};
	struct hw_cmd_resp resp;
	uint64_t bytes = 0;
	int status;

	for (uint32_t i = 0; i < num_pieces; i++)
		bytes += piece[i].bytes;
	memcpy(packet.piece, piece, num_pieces * sizeof(*piece));
	packet.cmd.u.reg_mr = (struct hw_cmd_reg_mr){
	    .addr = addr,
	    .iova = addr,
	    .bytes = bytes,
	    .pd = v->pd,
	    .access = HW_ACCESS_LOCAL_WRITE | HW_ACCESS_REMOTE_WRITE | HW_ACCESS_REMOTE_READ,
	    .flags = HW_REG_F_MAPPED,
	    .num_pieces = num_pieces,
	};
	status = command(v->sock, &packet.cmd, &resp);
	*stag = resp.u.mr.stag;
	return status;
}

static inline void register_mem(struct victim *v)
{
	struct hw_mem_piece piece = {.bytes = MEM_BYTES};
	int status, fd = -1;

	v->mem = alloc_mem(v, MEM_BYTES, 0, &piece.key, &fd);
	v->key = piece.key;
	status = reg_pieces(v, (uintptr_t)v->mem, &piece, 1, &v->stag);
	if (status)
		die("REG_MR: %s", strerror(status));
	close(fd);
}

/*
 * Makes every object that an attached client can have. Its queue pairs are ready to send to NIC
 * number host of the switch, whose address is 10.77.0.host.
 */
static inline void furnish_attached(struct victim *v, uint32_t host)
{
	struct hw_cmd cmd = {.op = HW_CMD_ALLOC_PD};
	struct hw_cmd_resp resp;

	must(v, &cmd, &resp);
	v->pd = resp.u.handle;
	cmd = (struct hw_cmd){.op = HW_CMD_CREATE_CQ};
	cmd.u.create_cq.entries = CQ_ENTRIES;
	must(v, &cmd, &resp);
	v->cq = resp.u.create_cq.cq;
	v->cq_resp = resp.u.create_cq;
	cmd = (struct hw_cmd){.op = HW_CMD_CREATE_AH};
	cmd.u.create_ah.pd = v->pd;
	cmd.u.create_ah.av = (struct hw_av){
	    .dst_ip = htonl(10u << 24 | 77u << 16 | host), .flags = HW_AV_F_GRH, .hop_limit = 64};
	must(v, &cmd, &resp);
	v->ah = resp.u.handle;
	register_mem(v);
	for (uint32_t i = 0; i < NUM_QPS; i++) {
		create_qp(v, i);
		v->used_bytes =
		    v->qp[i].rq_offset + (uint64_t)v->qp[i].rq_entries * v->qp[i].rq_stride_bytes;
	}
	if (v->used_bytes > v->bar_bytes)
		die("a ring outside of the BAR");
}

/* Attaches a new client with its own memory and makes the same objects. */
static inline void furnish(struct victim *v, uint32_t host)
{
	attach(v);
	furnish_attached(v, host);
}

/* Posts one request of the first queue pair, an RD one, to itself. */
static inline void post(struct victim *v, uint8_t opcode, uint64_t addr, uint32_t bytes,
			uint32_t lkey)
{
	struct hw_qp_record *rec = (struct hw_qp_record *)(v->bar + v->qp[0].record_offset);
	struct hw_bar_header *header = (struct hw_bar_header *)v->bar;
	uint32_t *ring = (uint32_t *)(v->bar + HW_BAR_DB_RING);
	uint32_t prod = __atomic_load_n(&rec->sq_prod, __ATOMIC_RELAXED), tail;
	uint8_t *sq = v->bar + v->qp[0].sq_offset;
	struct hw_sq_wqe wqe = {
	    .opcode = opcode,
	    .flags = HW_WQE_F_SIGNALED,
	    .slots = 2,
	    .num_sge = 1,
	    .wr_id = prod,
	    .ah = v->ah,
	    .dst_qpn = v->qp[0].qpn,
	    .qkey = QKEY,
	    .remote_addr = (uintptr_t)v->mem,
	    .rkey = v->stag,
	};
	struct hw_sge sge = {addr, bytes, lkey};

	memcpy(sq + (uint64_t)(prod % SQ_SLOTS) * HW_SQ_SLOT_BYTES, &wqe, sizeof(wqe));
	memcpy(sq + (uint64_t)((prod + 1) % SQ_SLOTS) * HW_SQ_SLOT_BYTES, &sge, sizeof(sge));
	__atomic_store_n(&rec->sq_prod, prod + 2, __ATOMIC_RELEASE);
	if (!__atomic_exchange_n(&rec->rung, 1, __ATOMIC_ACQ_REL)) {
		tail = __atomic_fetch_add(&header->db_tail, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&ring[tail % HW_DB_RING_ENTRIES],
				 HW_DB_ENTRY(HW_DB_SQ, v->qp[0].qpn), __ATOMIC_RELEASE);
	}
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (eventfd_write(v->fd[1], 1))
		die("eventfd: %s", strerror(errno));
}

/* Waits for completion number i. */
static inline struct hw_cqe completion(struct victim *v, uint32_t i)
{
	const uint32_t entries = v->cq_resp.entries;
	const struct hw_cqe *cqe =
	    (const struct hw_cqe *)(v->bar + v->cq_resp.ring_offset) + i % entries;
	const uint8_t phase = !(i / entries & 1);
	struct hw_cqe got;

	for (uint32_t turn = 0; __atomic_load_n(&cqe->phase, __ATOMIC_ACQUIRE) != phase; turn++) {
		if (turn > ANSWER_MS)
			die("completion %u does not come", i);
		usleep(1000);
	}
	got = *cqe;
	__atomic_store_n((uint32_t *)(v->bar + v->cq_resp.record_offset), i + 1, __ATOMIC_RELEASE);
	return got;
}

/* Returns the completions so far; with well the first failure ends the program. */
static inline uint32_t completions(struct victim *v, uint32_t seen, bool well)
{
	const uint32_t entries = v->cq_resp.entries;

	for (;; seen++) {
		const struct hw_cqe *cqe =
		    (const struct hw_cqe *)(v->bar + v->cq_resp.ring_offset) + seen % entries;

		if (__atomic_load_n(&cqe->phase, __ATOMIC_ACQUIRE) != !(seen / entries & 1))
			break;
		if (well && cqe->status != HW_STATUS_SUCCESS)
			die("a request ended with %u", cqe->status);
	}
	__atomic_store_n((uint32_t *)(v->bar + v->cq_resp.record_offset), seen, __ATOMIC_RELEASE);
	return seen;
}

/* Parses the command line of both programs: SOCKET SEED ROUNDS. Returns the rounds. */
static inline uint32_t hostile_args(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "hostile: say SOCKET SEED ROUNDS\n");
		exit(2);
	}
	socket_path = argv[1];
	seed = strtoull(argv[2], NULL, 0);
	return (uint32_t)strtoul(argv[3], NULL, 0);
}

#endif /* WEFT_TESTS_HOSTILE_H */
