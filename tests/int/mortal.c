/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client that uses every operation in an order drawn from a seed, and is killed by SIGKILL at a
 * time drawn from it: while it attaches, in a command, in the middle of traffic of every kind with
 * others of its kind. It may fork and exec on the way.
 *
 *	mortal BOARD SLOT SEED LIFE_US [stay]
 *
 * BOARD: a file that all of them map, where each writes its address into its SLOT; an entry may be
 * a dead client's, on purpose. LIFE_US: time from its start until a timer kills it; 0: never. stay:
 * it neither forks nor executes. Failed calls are expected and ignored; it ends by SIGKILL alone.
 * Run by kill_points.py. Uses NICs weft0 and weft1. Calls host_driver.
 */
#include "lib/clock.h"
#include "lib/prng.h"
#include "tests/int/host.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>

enum {
	SLOTS = 16, /* slots of the board */
	QPS = 6,
	MRS = 8,
	BIG_BYTES = 1 << 20,   /* bytes of the memory that others read and write */
	LOST_LIFE_US = 200000, /* life of a child, which may outlive its parent */
};

/* Address of a client. */
struct sign {
	uint32_t qpn[QPS];
	uint32_t rkey;
	uint64_t addr;
};

struct mortal {
	uint64_t seed;
	struct sign *board;
	unsigned slot;
	uint64_t dies_us; /* time of death by CLOCK_MONOTONIC; 0: none */
	bool stay;
	char **argv;
	struct host_end end;
	struct weft_comp_channel *channel;
	struct weft_cq *cq;
	struct weft_srq *srq;
	struct weft_qp *qp[QPS];
	struct weft_mr *mr[MRS];
	void *mr_mem[MRS];
	size_t mr_bytes[MRS];
	enum {
		OF_MALLOC,
		OF_MMAP,
		OF_WEFT,
		OF_STATIC
	} mr_kind[MRS];
};

static struct mortal m;

static uint32_t below(uint32_t n)
{
	return (uint32_t)(prng_next(&m.seed) % n);
}

/* Kills the process after this time, whatever it does. */
static void arm_death(uint64_t life_us)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
	struct itimerspec when = {.it_value = {.tv_sec = (time_t)(life_us / 1000000),
					       .tv_nsec = (long)(life_us % 1000000 * 1000)}};
	timer_t timer;

	host_check(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
	host_check(timer_settime(timer, 0, &when, NULL) == 0);
	m.dies_us = clock_now_ns() / 1000 + life_us;
}

/* ---- memory */

static void reg_one(void)
{
	static char of_static[65536];
	const int access = below(4) ? HOST_ACCESS_ALL : WEFT_ACCESS_LOCAL_WRITE;
	unsigned i = below(MRS);

	if (m.mr[i])
		return;
	m.mr_bytes[i] = 1 + below(below(4) ? 20000 : 2000000);
	m.mr_kind[i] = (typeof(m.mr_kind[0]))below(4);
	switch (m.mr_kind[i]) {
	case OF_MALLOC:
		m.mr_mem[i] = malloc(m.mr_bytes[i]);
		break;
	case OF_MMAP:
		m.mr_mem[i] = mmap(NULL, m.mr_bytes[i], PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		memset(m.mr_mem[i], 3, m.mr_bytes[i]);
		break;
	case OF_WEFT:
		m.mr_mem[i] = weft_alloc(m.end.ctx, m.mr_bytes[i]);
		break;
	case OF_STATIC:
		m.mr_mem[i] = of_static;
		m.mr_bytes[i] = sizeof(of_static);
		break;
	}
	m.mr[i] = weft_reg_mr(m.end.pd, m.mr_mem[i], m.mr_bytes[i], access);
}

static void give_memory(unsigned i)
{
	switch (m.mr_kind[i]) {
	case OF_MALLOC:
		free(m.mr_mem[i]);
		break;
	case OF_MMAP:
		munmap(m.mr_mem[i], m.mr_bytes[i]);
		break;
	case OF_WEFT:
		weft_free(m.mr_mem[i], m.mr_bytes[i]);
		break;
	case OF_STATIC:
		break;
	}
	m.mr[i] = NULL;
}

static void dereg_one(void)
{
	unsigned i = below(MRS);

	if (m.mr[i] && weft_dereg_mr(m.mr[i]) == 0)
		give_memory(i);
}

/* ---- queue pairs */

static void make_qp(void)
{
	unsigned i = below(QPS);
	struct weft_qp_init_attr init = {
	    .type = below(4) ? WEFT_QPT_RD : WEFT_QPT_UD,
	    .flags = below(2) ? WEFT_QP_F_UD_LONG : 0,
	    .send_cq = m.cq,
	    .recv_cq = m.cq,
	    .srq = below(2) ? m.srq : NULL,
	    .cap = {64, 64, 2, 2, 64},
	};

	if (m.qp[i])
		return;
	if (init.type == WEFT_QPT_RD)
		init.flags = 0;
	m.qp[i] = weft_create_qp(m.end.pd, &init);
	if (!m.qp[i])
		return;
	if (weft_activate_qp(m.qp[i], HOST_QKEY, init.type == WEFT_QPT_RD ? HOST_ACCESS_ALL : 0))
		return;
	m.board[m.slot].qpn[i] = m.qp[i]->qpn;
}

static void end_qp(void)
{
	unsigned i = below(QPS);

	if (m.qp[i] && weft_destroy_qp(m.qp[i]) == 0)
		m.qp[i] = NULL;
}

static void turn_qp(void)
{
	struct weft_qp_attr attr = {.state = below(2) ? WEFT_QPS_ERR : WEFT_QPS_RESET};
	struct weft_qp *qp = m.qp[below(QPS)];

	if (!qp || weft_modify_qp(qp, &attr, WEFT_QP_STATE))
		return;
	attr.state = WEFT_QPS_RESET;
	if (weft_modify_qp(qp, &attr, WEFT_QP_STATE) == 0 &&
	    weft_activate_qp(qp, HOST_QKEY, qp->type == WEFT_QPT_RD ? HOST_ACCESS_ALL : 0))
		return;
}

/* ---- traffic */

static void post_one(void)
{
	static const enum weft_wr_opcode ops[] = {
	    WEFT_WR_SEND, WEFT_WR_SEND_IMM,  WEFT_WR_SEND_INV, WEFT_WR_WRITE,  WEFT_WR_WRITE_IMM,
	    WEFT_WR_READ, WEFT_WR_FETCH_ADD, WEFT_WR_CMP_SWAP, WEFT_WR_BIND_MW};
	struct sign to = m.board[below(SLOTS)];
	struct weft_qp *qp = m.qp[below(QPS)];
	struct weft_sge sge = {(uintptr_t)m.end.mem, 0, m.end.mr->lkey};
	struct weft_send_wr wr = {.sg_list = &sge,
				  .num_sge = 1,
				  .opcode = ops[below(sizeof(ops) / sizeof(ops[0]))],
				  .flags = below(8) ? WEFT_SEND_SIGNALED : 0,
				  .ah = m.end.ah,
				  .dst_qpn = to.qpn[below(QPS)],
				  .qkey = HOST_QKEY,
				  .rkey = to.rkey,
				  .remote_addr = to.addr,
				  .inv_stag = to.rkey};
	unsigned i = below(MRS);

	if (!qp)
		return;
	sge.bytes = 1 + below(below(3) ? 5000 : BIG_BYTES);
	/* Sends from a region of its own, mapped or not. */
	if (m.mr[i] && below(2))
		sge = (struct weft_sge){(uintptr_t)m.mr_mem[i], 1 + below((uint32_t)m.mr_bytes[i]),
					m.mr[i]->lkey};
	if (wr.opcode == WEFT_WR_FETCH_ADD || wr.opcode == WEFT_WR_CMP_SWAP)
		sge.bytes = 8;
	if (wr.opcode == WEFT_WR_SEND_INV && below(20))
		wr.opcode = WEFT_WR_READ;
	if (qp->type == WEFT_QPT_UD) {
		wr.opcode = below(2) ? WEFT_WR_SEND : WEFT_WR_WRITE_RECORD;
		sge.bytes = 1 + below(qp->flags & WEFT_QP_F_UD_LONG ? 60000 : 1000);
	}
	if (weft_post_send(qp, &wr, NULL))
		return;
}

static void post_receives(void)
{
	struct weft_sge sge = {(uintptr_t)m.end.mem, BIG_BYTES, m.end.mr->lkey};
	struct weft_recv_wr wr = {.sg_list = &sge, .num_sge = 1};
	struct weft_qp *qp = m.qp[below(QPS)];

	for (int i = 0; i < 16; i++) {
		if ((m.srq && weft_post_srq_recv(m.srq, &wr, NULL)) ||
		    (qp && !qp->srq && weft_post_recv(qp, &wr, NULL)))
			return;
	}
}

static void poll_some(void)
{
	struct weft_wc wc[16];

	for (int i = 0; i < 50; i++) {
		if (weft_poll_cq(m.cq, 16, wc) < 0)
			return;
	}
}

static void take_events(void)
{
	struct weft_async_event event;
	struct weft_cq *cq;

	if (weft_req_notify_cq(m.cq, below(2)) == 0 && weft_get_cq_event(m.channel, &cq, NULL) == 0)
		weft_ack_cq_events(cq, 1);
	while (weft_get_async_event(m.end.ctx, &event) == 0)
		weft_ack_async_event(&event);
}

static void ask(void)
{
	struct weft_context *tool = weft_open_tool(below(2) ? "weft0" : "weft1");
	struct weft_stat stats[8];
	uint32_t cursor = 0;

	if (tool && weft_stats(tool, 0, &cursor, stats, 8) < 0)
		return;
	weft_close_device(tool);
}

static void other_commands(void)
{
	struct weft_av av = weft_av_qpn();
	struct weft_ah *ah = weft_create_ah(m.end.pd, &av);
	struct weft_mw *mw = weft_alloc_mw(m.end.pd, 2);

	if (below(4) == 0 && weft_resize_cq(m.cq, 256u << below(3)))
		return;
	if (weft_modify_cq(m.cq, (uint16_t)below(4), below(50)))
		return;
	/* One in four stays until the context is closed. */
	if (below(4) && ((ah && weft_destroy_ah(ah)) || (mw && weft_dealloc_mw(mw))))
		return;
}

/* ---- copies of the process */

static void live(void) __attribute__((noreturn));

static void fork_one(void)
{
	pid_t pid;

	if (m.stay || below(30))
		return;
	signal(SIGCHLD, SIG_IGN);
	pid = fork();
	if (pid != 0)
		return;
	/* The child writes to its copy and goes on as a client of its own, or does nothing. */
	m.stay = true;
	arm_death(1 + below(LOST_LIFE_US));
	memset(m.end.mem, 1, BIG_BYTES);
	while (below(2))
		pause();
	memset(m.qp, 0, sizeof(m.qp));
	memset(m.mr, 0, sizeof(m.mr));
	live();
}

static void exec_one(void)
{
	char seed[24], life[24];
	uint64_t now = clock_now_ns() / 1000;

	if (m.stay || below(60))
		return;
	snprintf(seed, sizeof(seed), "%llu", (unsigned long long)prng_next(&m.seed));
	snprintf(life, sizeof(life), "%llu",
		 (unsigned long long)(m.dies_us > now + 1 ? m.dies_us - now : 1));
	if (m.dies_us)
		execl("/proc/self/exe", m.argv[0], m.argv[1], m.argv[2], seed, life, (char *)NULL);
}

/* ---- life */

static bool start(void)
{
	struct weft_srq_attr attr = {.max_wr = 128, .max_sge = 1};
	struct weft_av av = weft_av_qpn();

	memset(&m.end, 0, sizeof(m.end));
	m.end.ctx = weft_open_device(below(2) ? "weft0" : "weft1");
	if (!m.end.ctx)
		return false;
	m.end.pd = weft_alloc_pd(m.end.ctx);
	m.end.ah = weft_create_ah(m.end.pd, &av);
	m.end.mem = weft_alloc(m.end.ctx, BIG_BYTES);
	m.end.mr = weft_reg_mr(m.end.pd, m.end.mem, BIG_BYTES, HOST_ACCESS_ALL);
	m.channel = weft_create_comp_channel(m.end.ctx, 0);
	host_check(m.end.ah && m.end.mr && m.channel);
	m.cq = weft_create_cq(m.end.ctx, 512, m.channel, NULL);
	m.srq = weft_create_srq(m.end.pd, &attr);
	host_check(m.cq && m.srq);
	host_check(fcntl(m.channel->fd, F_SETFL, O_NONBLOCK) == 0);
	host_check(fcntl(m.end.ctx->async_fd, F_SETFL, O_NONBLOCK) == 0);
	m.board[m.slot].rkey = m.end.mr->rkey;
	m.board[m.slot].addr = (uintptr_t)m.end.mem;
	return true;
}

static void live(void)
{
	static void (*const deed[])(void) = {
	    post_one, post_one,       post_one,  post_one,      post_one,  post_one,
	    post_one, make_qp,        make_qp,   make_qp,       end_qp,    turn_qp,
	    reg_one,  reg_one,        dereg_one, post_receives, poll_some, take_events,
	    ask,      other_commands, fork_one,  exec_one};

	for (;;) {
		if (!start())
			continue;
		for (uint32_t i = 20 + below(2000); i; i--)
			deed[below(sizeof(deed) / sizeof(deed[0]))]();
		/* Closing the context frees everything. */
		weft_close_device(m.end.ctx);
		weft_free(m.end.mem, BIG_BYTES);
		memset(m.qp, 0, sizeof(m.qp));
		for (unsigned i = 0; i < MRS; i++) {
			if (m.mr[i])
				give_memory(i);
		}
	}
}

int main(int argc, char **argv)
{
	uint64_t life_us;
	int fd;

	if (argc < 5 || strtoul(argv[2], NULL, 10) >= SLOTS) {
		fprintf(stderr, "usage: mortal BOARD SLOT SEED LIFE_US [stay]\n");
		return 2;
	}
	life_us = strtoull(argv[4], NULL, 10);
	if (life_us)
		arm_death(life_us);
	m.argv = argv;
	m.slot = (unsigned)strtoul(argv[2], NULL, 10);
	m.seed = strtoull(argv[3], NULL, 10);
	m.stay = argc > 5;
	fd = open(argv[1], O_RDWR | O_CLOEXEC);
	host_check(fd >= 0 && ftruncate(fd, sizeof(struct sign) * SLOTS) == 0);
	m.board =
	    mmap(NULL, sizeof(struct sign) * SLOTS, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	host_check(m.board != MAP_FAILED);
	live();
}
