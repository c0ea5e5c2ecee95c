/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that idle objects cost: the resident set of weftd (/proc/PID/smaps_rollup) before and
 * after N queue pairs were made, N connections over TCP (both ends of each), or one message was
 * exchanged with each of N peers. A message passes each queue pair and connection: its queues have
 * been used once. All in all is the sum of weftd's and this process's proportional sets, in which
 * a page that both have counts once. Pages of files are left out of it: how many others have
 * those of libc changes meanwhile.
 *
 * A few objects are made before the first measurement, so that pages which the first one commits
 * for all are not charged to it. Peers must exist and answer (tools/bench/peers.py plays any number
 * of them).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/clock.h"
#include "nic_fw/mpa/mpa.h"
#include "tools/weft-bench/ep.h"
#include "tools/weft-bench/report.h"

enum {
	MEM_FIRST = 8,          /* made before the first measurement */
	MEM_SETTLE_US = 300000, /* time for queues to empty and timers to run */
	MEM_PEER_QPN = 1,       /* port of messages to peers */
	MEM_PEERS_AT_ONCE = 32,
	MEM_QP_WR = 16, /* requests and receives that each queue pair can hold */
	MEM_ROOM = 64,  /* bytes of a receive: a UD message has 40 before it */
	MEM_USE_S = 10,
};

/* Bytes of memory: Rss includes shared pages, Pss divides them among those who share them. */
struct use {
	int64_t rss, pss;
};

/* Returns 0, or -1 after an error message. */
static int read_use(pid_t pid, struct use *use)
{
	long long rss = -1, pss = -1, anon = -1, shmem = -1;
	char path[64], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
	f = fopen(path, "r");
	if (!f)
		return fail("%s: %s; --pid takes the pid of a running weftd", path,
			    strerror(errno));
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "Rss: %lld kB", &rss) != 1 &&
		    sscanf(line, "Pss: %lld kB", &pss) != 1 &&
		    sscanf(line, "Pss_Anon: %lld kB", &anon) != 1)
			(void)sscanf(line, "Pss_Shmem: %lld kB", &shmem);
	}
	fclose(f);
	/* An old kernel has the whole alone. */
	if (anon >= 0 && shmem >= 0)
		pss = anon + shmem;
	*use = (struct use){rss * 1024, pss * 1024};
	return rss < 0 || pss < 0 ? fail("%s: no Rss or Pss in it", path) : 0;
}

static struct weft_qp *make_qp(struct ep *ep)
{
	struct weft_qp_init_attr init = {
	    .type = ep->o->qp,
	    .send_cq = ep->end.cq,
	    .recv_cq = ep->end.cq,
	    .cap = {.max_send_wr = MEM_QP_WR,
		    .max_recv_wr = MEM_QP_WR,
		    .max_send_sge = 1,
		    .max_recv_sge = 1},
	};
	struct weft_qp *qp = weft_create_qp(ep->end.pd, &init);

	if (!qp)
		fail("a queue pair on %s: %s", ep->end.context->name, strerror(errno));
	return qp;
}

/* Polls until num requests have completed on a queue. */
static int await(struct ep *ep, int num)
{
	double end_s = clock_now_s() + MEM_USE_S;

	while (num) {
		struct weft_wc wc;
		int n = weft_poll_cq(ep->end.cq, 1, &wc);

		if (n < 0 || (n && wc.status != WEFT_WC_SUCCESS))
			return fail("a message: %s",
				    n < 0 ? strerror(-n) : weft_wc_status_str(wc.status));
		num -= n;
		if (!n && clock_now_s() > end_s)
			return fail("a message did not arrive in %d s", MEM_USE_S);
	}
	return 0;
}

/* A message from one queue pair to another, or to itself. */
static int use_once(struct ep *from, struct weft_qp *a, struct weft_ah *ah, struct ep *to,
		    struct weft_qp *b)
{
	struct weft_sge in = {(uintptr_t)to->mem.p, MEM_ROOM, to->mem.mr->lkey};
	struct weft_sge out = {(uintptr_t)from->mem.p, 1, from->mem.mr->lkey};
	struct weft_recv_wr recv = {.sg_list = &in, .num_sge = 1};
	struct weft_send_wr send = {.sg_list = &out,
				    .num_sge = 1,
				    .opcode = WEFT_WR_SEND,
				    .flags = WEFT_SEND_SIGNALED,
				    .ah = ah,
				    .dst_qpn = b->qpn,
				    .qkey = BENCH_QKEY};
	int rc = weft_post_recv(b, &recv, NULL);

	if (!rc)
		rc = weft_post_send(a, &send, NULL);
	if (rc)
		return fail("a message of queue pair %#x: %s", a->qpn, strerror(-rc));
	if (from == to)
		return await(from, 2);
	return await(from, 1) || await(to, 1) ? -1 : 0;
}

static int make_qps(struct ep *ep, uint32_t num)
{
	const struct weft_av av = {.dst_ip = ep->local.ip, .by_ip = 1};
	struct weft_ah *ah = weft_create_ah(ep->end.pd, &av);
	uint32_t i;

	if (!ah)
		return fail("an address handle: %s", strerror(errno));
	for (i = 0; i < num; i++) {
		struct weft_qp *qp = make_qp(ep);
		int rc = qp ? weft_activate_qp(qp, BENCH_QKEY, 0) : 0;

		if (!qp)
			return -1;
		if (rc)
			return fail("queue pair %u of %u: %s", i + 1, num, strerror(-rc));
		if (use_once(ep, qp, ah, ep, qp))
			return -1;
	}
	return 0;
}

/* Makes connections from one end to the other; closing the contexts ends all. */
static int make_connections(struct ep *from, struct ep *to, uint32_t first, uint32_t num)
{
	const uint32_t access = WEFT_ACCESS_LOCAL_WRITE;
	uint32_t i;

	for (i = 0; i < num; i++) {
		struct weft_qp *a = make_qp(from), *b = make_qp(to);
		struct link l;

		if (!a || !b || link_open(&l, from->o, from->end.context, &from->link) ||
		    link_call(&l, a, to->local.ip, to->local.port, 1) ||
		    link_answer(&to->link, b, access, 1) || link_finish(&l, a, access, 1))
			return fail("with %u connections made, %u of them before the first look; "
				    "a shard of a NIC has %u at most",
				    first + i, (uint32_t)MEM_FIRST, (uint32_t)MPA_MAX_CONNS);
		if (use_once(from, a, NULL, to, b))
			return -1;
	}
	return 0;
}

/* One message to each of num peers from number first on, answered by all. */
static int meet_peers(struct ep *ep, uint32_t first, uint32_t num)
{
	struct ep_idle idle = {.o = ep->o, .ep = {ep}, .fd = -1};
	uint32_t i;
	int n;

	for (i = 0; i < num || ep->done < ep->posted;) {
		if (i < num && ep->posted - ep->done < MEM_PEERS_AT_ONCE) {
			struct ep_addr remote = {.ip = htonl(ep->o->peer_ip + first + i),
						 .qpn = MEM_PEER_QPN};

			if (ep_connect(ep, &remote) || ep_queue(ep, i, ep->o->size) || ep_flush(ep))
				return -1;
			i++;
		}
		n = ep_poll(ep);
		if (n < 0 || (!n && ep_idle(&idle, NULL)))
			return -1;
		if (n)
			ep_busy(&idle);
	}
	return 0;
}

static int make(struct ep *ep, struct ep *other, uint32_t first, uint32_t num)
{
	int rc = ep_is_tcp(ep->o) ? make_connections(ep, other, first, num)
		 : ep->o->qps     ? make_qps(ep, num)
				  : meet_peers(ep, first, num);

	usleep(MEM_SETTLE_US);
	return rc;
}

static void report(const struct ep *ep, uint32_t num, const struct use *weftd,
		   const struct use *own)
{
	int64_t weftd_bytes = weftd->rss, own_bytes = own->rss, all_bytes = weftd->pss + own->pss;
	const char *what = ep_is_tcp(ep->o) ? "connection" : ep->o->qps ? "queue pair" : "peer";
	/* Both ends of a connection are on NICs of this weftd. */
	const uint32_t ends = ep_is_tcp(ep->o) ? 2 : 1;
	json_t *more;

	if (!ep->o->json) {
		printf("%u idle %ss on %s: %.1f bytes of weftd each (RSS grew by %lld KiB)\n", num,
		       what, ep->end.context->name, (double)weftd_bytes / num,
		       (long long)weftd_bytes / 1024);
		printf(" and %.1f bytes of this process each; all in all %.1f\n",
		       (double)own_bytes / num, (double)all_bytes / num);
		if (ends > 1)
			printf(" of it %.1f for each end\n", (double)all_bytes / num / ends);
		return;
	}
	more = json_pack("{s:s, s:I, s:I, s:f, s:f, s:f, s:f}", "what", what, "count",
			 (json_int_t)num, "rss_difference", (json_int_t)weftd_bytes, "bytes_each",
			 (double)weftd_bytes / num, "own_bytes_each", (double)own_bytes / num,
			 "all_bytes_each", (double)all_bytes / num, "end_bytes_each",
			 (double)all_bytes / num / ends);
	report_more(ep->o, ep->end.context->name, more);
}

int mem_run(struct opts *o)
{
	uint32_t num = o->qps ? o->qps : o->peers;
	struct use before, after, own_before, own_after;
	struct ep ep, other = {.end.context = NULL};
	int rc = -1;

	o->op = BENCH_SEND;
	if (ep_open(&ep, o, o->device) || (ep_is_tcp(o) && ep_open(&other, o, o->device2)) ||
	    make(&ep, &other, 0, MEM_FIRST))
		goto out;
	if (read_use(o->pid, &before) || read_use(getpid(), &own_before) ||
	    make(&ep, &other, MEM_FIRST, num) || read_use(o->pid, &after) ||
	    read_use(getpid(), &own_after))
		goto out;
	report(&ep, num, &(struct use){after.rss - before.rss, after.pss - before.pss},
	       &(struct use){own_after.rss - own_before.rss, own_after.pss - own_before.pss});
	rc = 0;
out:
	ep_close(&other);
	ep_close(&ep);
	return rc ? BENCH_FAILED : BENCH_OK;
}
