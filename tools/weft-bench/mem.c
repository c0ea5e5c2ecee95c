/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that idle objects cost: the resident set of weftd (/proc/PID/smaps_rollup) before and
 * after N queue pairs were made, N connections over TCP (both ends of each), or one message was
 * exchanged with each of N peers.
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

#include "nic_fw/mpa/mpa.h"
#include "tools/weft-bench/ep.h"
#include "tools/weft-bench/report.h"

enum {
	MEM_FIRST = 8,          /* made before the first measurement */
	MEM_SETTLE_US = 300000, /* time for queues to empty and timers to run */
	MEM_PEER_QPN = 1,       /* port of messages to peers */
	MEM_PEERS_AT_ONCE = 32,
	MEM_QP_WR = 16, /* requests and receives that each queue pair can hold */
};

/* Resident bytes of a process, shared pages included. -1 after an error message. */
static int64_t rss_bytes(pid_t pid)
{
	long long kib = -1;
	char path[64], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
	f = fopen(path, "r");
	if (!f)
		return fail("%s: %s; --pid takes the pid of a running weftd", path,
			    strerror(errno));
	while (kib < 0 && fgets(line, sizeof(line), f))
		if (sscanf(line, "Rss: %lld kB", &kib) != 1)
			kib = -1;
	fclose(f);
	return kib < 0 ? fail("%s: no Rss in it", path) : kib * 1024;
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

static int make_qps(struct ep *ep, uint32_t num)
{
	uint32_t i;

	for (i = 0; i < num; i++) {
		struct weft_qp *qp = make_qp(ep);
		int rc = qp ? weft_activate_qp(qp, BENCH_QKEY, 0) : 0;

		if (!qp)
			return -1;
		if (rc)
			return fail("queue pair %u of %u: %s", i + 1, num, strerror(-rc));
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

static void report(const struct ep *ep, uint32_t num, int64_t weftd_bytes, int64_t own_bytes)
{
	const char *what = ep_is_tcp(ep->o) ? "connection" : ep->o->qps ? "queue pair" : "peer";
	json_t *more;

	if (!ep->o->json) {
		printf("%u idle %ss on %s: %.1f bytes of weftd each (RSS grew by %lld KiB)\n", num,
		       what, ep->end.context->name, (double)weftd_bytes / num,
		       (long long)weftd_bytes / 1024);
		printf(" and %.1f bytes of this process each\n", (double)own_bytes / num);
		return;
	}
	more = json_pack("{s:s, s:I, s:I, s:f, s:f}", "what", what, "count", (json_int_t)num,
			 "rss_difference", (json_int_t)weftd_bytes, "bytes_each",
			 (double)weftd_bytes / num, "own_bytes_each", (double)own_bytes / num);
	report_more(ep->o, ep->end.context->name, more);
}

int mem_run(struct opts *o)
{
	uint32_t num = o->qps ? o->qps : o->peers;
	int64_t before, after, own_before, own_after;
	struct ep ep, other = {.end.context = NULL};
	int rc = -1;

	o->op = BENCH_SEND;
	if (ep_open(&ep, o, o->device) || (ep_is_tcp(o) && ep_open(&other, o, o->device2)) ||
	    make(&ep, &other, 0, MEM_FIRST))
		goto out;
	before = rss_bytes(o->pid);
	own_before = rss_bytes(getpid());
	if (before < 0 || own_before < 0 || make(&ep, &other, MEM_FIRST, num))
		goto out;
	after = rss_bytes(o->pid);
	own_after = rss_bytes(getpid());
	if (after < 0 || own_after < 0)
		goto out;
	report(&ep, num, after - before, own_after - own_before);
	rc = 0;
out:
	ep_close(&other);
	ep_close(&ep);
	return rc ? BENCH_FAILED : BENCH_OK;
}
