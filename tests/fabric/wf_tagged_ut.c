/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of the provider: sizes and kinds of memory, sources, truncation, cancelling, peeking and
 * claiming, multi-receive buffers, selective completion, counters.
 */
#include "tests/fabric/wf_fix.h"

/* Eager and rendezvous, received before and after, with a descriptor and without. */
static void sizes(void)
{
	static const size_t bytes[] = {0, 1, 512, 513, 9000, 16384, 16385, 500000};
	struct fi_cq_tagged_entry entry;
	struct wff f;
	size_t i;

	wff_open(&f);
	wff_endpoints(&f);
	for (i = 0; i < 4 * sizeof(bytes) / sizeof(bytes[0]); i++) {
		size_t n = bytes[i / 4];
		bool first = i % 2;
		void *d = i % 4 > 1 ? fi_mr_desc(f.b.mr) : NULL;

		wff_fill(f.a.buf, n, (uint8_t)i);
		memset(f.b.buf, 0, n + 1);
		if (first)
			CU_ASSERT_EQUAL(fi_trecv(f.b.ep, f.b.buf, n, d, f.b.peer, i, 0, &entry), 0);
		CU_ASSERT_EQUAL(fi_tsenddata(f.a.ep, f.a.buf, n, NULL, ~i, f.a.peer, i, &f), 0);
		if (!first)
			CU_ASSERT_EQUAL(
			    fi_trecv(f.b.ep, f.b.buf, n, d, FI_ADDR_UNSPEC, i, 0, &entry), 0);
		entry = wff_good(&f, &f.b);
		CU_ASSERT_EQUAL(entry.flags, FI_RECV | FI_TAGGED | FI_REMOTE_CQ_DATA);
		CU_ASSERT_EQUAL(entry.data, ~i);
		CU_ASSERT_EQUAL(entry.tag, i);
		CU_ASSERT_EQUAL(entry.len, n);
		CU_ASSERT_EQUAL(memcmp(f.a.buf, f.b.buf, n), 0);
		CU_ASSERT_EQUAL(f.b.buf[n], 0);
		entry = wff_good(&f, &f.a);
		CU_ASSERT_EQUAL(entry.flags, FI_SEND | FI_TAGGED);
		CU_ASSERT_PTR_EQUAL(entry.op_context, &f);
	}
	wff_close(&f);
}

static void source(void)
{
	struct fi_cq_tagged_entry entry[2];
	fi_addr_t from[2] = {0, 0};
	struct wff f;
	int n = 0;

	wff_open(&f);
	wff_endpoints(&f);
	/* a receive for b alone stays, although a's own message came first */
	CU_ASSERT_EQUAL(fi_recv(f.a.ep, f.a.buf, 8, NULL, f.a.peer, NULL), 0);
	CU_ASSERT_EQUAL(fi_recv(f.a.ep, f.a.buf + 8, 8, NULL, f.a.self, &f), 0);
	CU_ASSERT_EQUAL(fi_inject(f.a.ep, "to self", 8, f.a.self), 0);
	sim_run_for(f.sim, 1000000);
	CU_ASSERT_EQUAL(fi_cq_readfrom(f.a.cq, entry, 2, from), 1);
	CU_ASSERT_EQUAL(from[0], f.a.self);
	CU_ASSERT_PTR_EQUAL(entry[0].op_context, &f);
	CU_ASSERT_EQUAL(entry[0].flags, FI_RECV | FI_MSG);
	CU_ASSERT_STRING_EQUAL((char *)f.a.buf + 8, "to self");
	CU_ASSERT_EQUAL(fi_inject(f.b.ep, "from b!", 8, f.b.peer), 0);
	while (n < 1000 && fi_cq_readfrom(f.a.cq, entry, 1, from) != 1) {
		sim_run_for(f.sim, 1000000);
		n++;
	}
	CU_ASSERT_EQUAL(from[0], f.a.peer);
	CU_ASSERT_STRING_EQUAL((char *)f.a.buf, "from b!");
	wff_close(&f);
}

static void truncated(void)
{
	struct fi_cq_err_entry err;
	struct wff f;

	wff_open(&f);
	wff_endpoints(&f);
	CU_ASSERT_EQUAL(fi_trecv(f.b.ep, f.b.buf, 10, NULL, FI_ADDR_UNSPEC, 1, 0, &f), 0);
	CU_ASSERT_EQUAL(fi_tinject(f.a.ep, f.a.buf, 30, f.a.peer, 1), 0);
	err = wff_bad(&f, &f.b);
	CU_ASSERT_EQUAL(err.err, FI_ETRUNC);
	CU_ASSERT_EQUAL(err.len, 10);
	CU_ASSERT_EQUAL(err.olen, 20);
	CU_ASSERT_PTR_EQUAL(err.op_context, &f);
	wff_close(&f);
}

static void cancelled(void)
{
	struct fi_cq_err_entry err;
	struct wff f;
	int first, second;

	wff_open(&f);
	wff_endpoints(&f);
	CU_ASSERT_EQUAL(fi_cancel(&f.b.ep->fid, &first), -FI_ENOENT);
	CU_ASSERT_EQUAL(fi_trecv(f.b.ep, f.b.buf, 8, NULL, FI_ADDR_UNSPEC, 1, 0, &first), 0);
	CU_ASSERT_EQUAL(fi_trecv(f.b.ep, f.b.buf, 8, NULL, FI_ADDR_UNSPEC, 1, 0, &second), 0);
	CU_ASSERT_EQUAL(fi_cancel(&f.b.ep->fid, &first), 0);
	err = wff_bad(&f, &f.b);
	CU_ASSERT_EQUAL(err.err, FI_ECANCELED);
	CU_ASSERT_PTR_EQUAL(err.op_context, &first);
	CU_ASSERT_EQUAL(fi_cancel(&f.b.ep->fid, &first), -FI_ENOENT);
	CU_ASSERT_EQUAL(fi_tinject(f.a.ep, "message", 8, f.a.peer, 1), 0);
	CU_ASSERT_PTR_EQUAL(wff_good(&f, &f.b).op_context, &second);
	/* one that is received meanwhile is received once and not cancelled */
	CU_ASSERT_EQUAL(fi_trecv(f.b.ep, f.b.buf, 8, NULL, FI_ADDR_UNSPEC, 1, 0, &first), 0);
	CU_ASSERT_EQUAL(fi_tinject(f.a.ep, "message", 8, f.a.peer, 1), 0);
	sim_run_for(f.sim, 1000000);
	CU_ASSERT_EQUAL(fi_cancel(&f.b.ep->fid, &first), 0);
	CU_ASSERT_PTR_EQUAL(wff_good(&f, &f.b).op_context, &first);
	CU_ASSERT(wff_silent(&f, &f.b));
	wff_close(&f);
}

static ssize_t probe(struct wff_end *e, uint64_t tag, struct fi_context *context, uint64_t flags)
{
	struct iovec iov = {e->buf, 100};
	struct fi_msg_tagged msg = {.msg_iov = &iov,
				    .iov_count = 1,
				    .addr = FI_ADDR_UNSPEC,
				    .tag = tag,
				    .context = context};

	return fi_trecvmsg(e->ep, &msg, flags | FI_COMPLETION);
}

static void peeked(void)
{
	struct fi_cq_tagged_entry entry;
	struct fi_context context;
	struct wff f;

	wff_open(&f);
	wff_endpoints(&f);
	CU_ASSERT_EQUAL(probe(&f.b, 1, &context, FI_PEEK), 0);
	CU_ASSERT_EQUAL(wff_bad(&f, &f.b).err, FI_ENOMSG);
	CU_ASSERT_EQUAL(fi_tinject(f.a.ep, "claimed", 8, f.a.peer, 1), 0);
	CU_ASSERT_EQUAL(fi_tinject(f.a.ep, "dropped", 8, f.a.peer, 2), 0);
	sim_run_for(f.sim, 1000000);
	CU_ASSERT_EQUAL(probe(&f.b, 1, &context, FI_PEEK), 0);
	entry = wff_good(&f, &f.b);
	CU_ASSERT_EQUAL(entry.len, 8);
	CU_ASSERT_EQUAL(entry.tag, 1);
	CU_ASSERT_EQUAL(probe(&f.b, 1, &context, FI_PEEK | FI_CLAIM), 0);
	CU_ASSERT_EQUAL(wff_good(&f, &f.b).len, 8);
	CU_ASSERT_EQUAL(probe(&f.b, 1, NULL, FI_PEEK), 0);
	CU_ASSERT_EQUAL(wff_bad(&f, &f.b).err, FI_ENOMSG);
	CU_ASSERT_EQUAL(probe(&f.b, 1, &context, FI_CLAIM), 0);
	entry = wff_good(&f, &f.b);
	CU_ASSERT_EQUAL(entry.len, 8);
	CU_ASSERT_PTR_EQUAL(entry.op_context, &context);
	CU_ASSERT_STRING_EQUAL((char *)f.b.buf, "claimed");
	CU_ASSERT_EQUAL(probe(&f.b, 2, &context, FI_PEEK | FI_DISCARD), 0);
	(void)wff_good(&f, &f.b);
	CU_ASSERT_EQUAL(probe(&f.b, 2, &context, FI_PEEK), 0);
	CU_ASSERT_EQUAL(wff_bad(&f, &f.b).err, FI_ENOMSG);
	CU_ASSERT_EQUAL(probe(&f.b, 2, NULL, FI_CLAIM), -FI_EINVAL);
	wff_close(&f);
}

static void multi(void)
{
	struct iovec iov;
	struct fi_msg msg = {
	    .msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = &iov};
	struct fi_cq_tagged_entry entry;
	size_t min = 100, len = sizeof(min);
	struct wff f;
	int i;

	wff_open(&f);
	wff_endpoints(&f);
	iov = (struct iovec){f.b.buf, 1000};
	CU_ASSERT_EQUAL(fi_setopt(&f.b.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &min, len),
			0);
	CU_ASSERT_EQUAL(fi_recvmsg(f.b.ep, &msg, FI_MULTI_RECV), 0);
	for (i = 0; i < 4; i++) {
		uint8_t *at;

		wff_fill(f.a.buf, 240, (uint8_t)i);
		CU_ASSERT_EQUAL(fi_inject(f.a.ep, f.a.buf, 240, f.a.peer), 0);
		entry = wff_good(&f, &f.b);
		at = entry.buf;
		CU_ASSERT_EQUAL(entry.len, 240);
		CU_ASSERT_PTR_EQUAL(entry.op_context, &iov);
		CU_ASSERT(at >= f.b.buf && at + 240 <= f.b.buf + 1000);
		CU_ASSERT_EQUAL(memcmp(at, f.a.buf, 240), 0);
		CU_ASSERT_EQUAL(entry.flags & FI_MULTI_RECV, i == 3 ? FI_MULTI_RECV : 0);
	}
	CU_ASSERT(wff_silent(&f, &f.b));
	wff_close(&f);
}

/* An endpoint with selective completions and a counter of sends. */
static void selective(void)
{
	struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP};
	struct iovec iov;
	struct fi_msg msg = {.msg_iov = &iov, .iov_count = 1};
	struct fid_cntr *cntr;
	struct fid_ep *ep;
	struct wff f;
	int i;

	wff_open(&f);
	wff_endpoints(&f);
	CU_ASSERT_EQUAL_FATAL(fi_cntr_open(f.a.domain, &attr, &cntr, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(fi_endpoint(f.a.domain, f.a.info, &ep, NULL), 0);
	CU_ASSERT_EQUAL(fi_enable(ep), -FI_ENOAV);
	CU_ASSERT_EQUAL(fi_ep_bind(ep, &f.a.av->fid, 0), 0);
	CU_ASSERT_EQUAL(fi_enable(ep), -FI_ENOCQ);
	CU_ASSERT_EQUAL(
	    fi_ep_bind(ep, &f.a.cq->fid, FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION), 0);
	CU_ASSERT_EQUAL(fi_ep_bind(ep, &cntr->fid, FI_REMOTE_WRITE), -FI_ENOSYS);
	CU_ASSERT_EQUAL(fi_ep_bind(ep, &cntr->fid, FI_SEND), 0);
	CU_ASSERT_EQUAL(fi_enable(ep), 0);
	iov = (struct iovec){f.a.buf, 2000};
	msg.addr = f.a.peer;
	for (i = 0; i < 6; i++)
		CU_ASSERT_EQUAL(fi_recv(f.b.ep, f.b.buf, 4000, NULL, FI_ADDR_UNSPEC, NULL), 0);
	CU_ASSERT_EQUAL(fi_send(ep, f.a.buf, 2000, NULL, f.a.peer, NULL), 0);
	CU_ASSERT_EQUAL(fi_sendmsg(ep, &msg, 0), 0);
	CU_ASSERT_EQUAL(fi_inject(ep, f.a.buf, 20, f.a.peer), 0);
	CU_ASSERT_EQUAL(fi_sendmsg(ep, &msg, FI_DELIVERY_COMPLETE), 0);
	for (i = 0; i < 4; i++)
		(void)wff_good(&f, &f.b);
	CU_ASSERT(wff_silent(&f, &f.a));
	CU_ASSERT_EQUAL(fi_cntr_read(cntr), 4);
	CU_ASSERT_EQUAL(fi_sendmsg(ep, &msg, FI_COMPLETION), 0);
	CU_ASSERT_EQUAL(wff_good(&f, &f.a).flags, FI_SEND | FI_MSG);
	CU_ASSERT_EQUAL(fi_cntr_read(cntr), 5);
	CU_ASSERT_EQUAL(fi_cntr_readerr(cntr), 0);
	CU_ASSERT_EQUAL(fi_close(&cntr->fid), -FI_EBUSY);
	CU_ASSERT_EQUAL(fi_close(&ep->fid), 0);
	CU_ASSERT_EQUAL(fi_close(&cntr->fid), 0);
	wff_close(&f);
}

/* More receives than the queue had places for at first; closing with all of them posted. */
static void many(void)
{
	enum {
		MANY = 3000
	};
	struct wff f;
	int i, full = 0;

	wff_open(&f);
	wff_endpoints(&f);
	for (i = 0; i < MANY && full < 1000; i++) {
		ssize_t rc = fi_trecv(f.b.ep, f.b.buf, 8, fi_mr_desc(f.b.mr), FI_ADDR_UNSPEC,
				      (uint64_t)i, 0, NULL);

		/* the ring to the NIC was full */
		if (rc == -FI_EAGAIN) {
			sim_run_for(f.sim, 1000000);
			full++;
			i--;
			continue;
		}
		CU_ASSERT_EQUAL(rc, 0);
	}
	CU_ASSERT_EQUAL(i, MANY);
	CU_ASSERT(wff_silent(&f, &f.b));
	CU_ASSERT_EQUAL(fi_tinject(f.a.ep, "message", 8, f.a.peer, MANY - 1), 0);
	CU_ASSERT_EQUAL(wff_good(&f, &f.b).tag, MANY - 1);
	wff_close(&f);
}

UT_MAIN("fabric/wf_tagged", UT(sizes), UT(source), UT(truncated), UT(cancelled), UT(peeked),
	UT(multi), UT(selective), UT(many))
