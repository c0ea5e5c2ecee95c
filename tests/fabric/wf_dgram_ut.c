/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datagram endpoints of the provider: sizes and kinds of memory, data for the peer's queue,
 * sources, a receive that is too small, errors that do not stop the endpoint, groups, and calls
 * that the type has not.
 */
#include <arpa/inet.h>

#include "tests/fabric/wf_fix.h"

#define GROUP "239.1.2.3"

static void open_all(struct wff *f, struct fid_eq **eq)
{
	struct fi_eq_attr attr = {.wait_obj = FI_WAIT_NONE};

	wff_open(f);
	if (eq)
		CU_ASSERT_EQUAL_FATAL(fi_eq_open(f->fabric, &attr, eq, NULL), 0);
	wff_dgram(f, eq ? *eq : NULL);
	wff_endpoints(f);
}

static void sizes(void)
{
	struct wff f;
	size_t i;

	open_all(&f, NULL);
	CU_ASSERT_EQUAL(f.a.info->ep_attr->max_msg_size, f.a.nic.device.max_ud_long_bytes);
	const size_t bytes[] = {0, 1, 512, 513, 9000, f.a.info->ep_attr->max_msg_size};

	for (i = 0; i < 2 * sizeof(bytes) / sizeof(bytes[0]); i++) {
		struct fi_cq_tagged_entry entry;
		size_t n = bytes[i / 2];
		void *d = i % 2 ? fi_mr_desc(f.b.mr) : NULL;

		wff_fill(f.a.buf, n, (uint8_t)i);
		memset(f.b.buf, 0, n + 1);
		CU_ASSERT_EQUAL(fi_recv(f.b.ep, f.b.buf, n, d, FI_ADDR_UNSPEC, &entry), 0);
		CU_ASSERT_EQUAL(fi_senddata(f.a.ep, f.a.buf, n, NULL, 0x89abcdef - i, f.a.peer, &f),
				0);
		entry = wff_good(&f, &f.b);
		CU_ASSERT_EQUAL(entry.flags, FI_RECV | FI_MSG | FI_REMOTE_CQ_DATA);
		CU_ASSERT_EQUAL(entry.data, 0x89abcdef - i);
		CU_ASSERT_EQUAL(entry.len, n);
		CU_ASSERT_EQUAL(entry.tag, 0);
		CU_ASSERT_EQUAL(memcmp(f.a.buf, f.b.buf, n), 0);
		CU_ASSERT_EQUAL(f.b.buf[n], 0);
		entry = wff_good(&f, &f.a);
		CU_ASSERT_EQUAL(entry.flags, FI_SEND | FI_MSG);
		CU_ASSERT_PTR_EQUAL(entry.op_context, &f);
	}
	CU_ASSERT_EQUAL(
	    fi_send(f.a.ep, f.a.buf, f.a.info->ep_attr->max_msg_size + 1, NULL, f.a.peer, NULL),
	    -FI_EMSGSIZE);
	CU_ASSERT_EQUAL(fi_inject(f.a.ep, f.a.buf, 513, f.a.peer), -FI_EMSGSIZE);
	CU_ASSERT_EQUAL(fi_inject(f.a.ep, f.a.buf, 512, f.a.peer), 0);
	/* nobody receives it, and inject completes silently */
	CU_ASSERT(wff_silent(&f, &f.a));
	CU_ASSERT(wff_silent(&f, &f.b));
	wff_close(&f);
}

struct sourced {
	struct fid_cq *cq;
	struct fi_cq_tagged_entry entry;
	fi_addr_t from;
};

static bool is_sourced(void *ctx)
{
	struct sourced *s = ctx;

	return fi_cq_readfrom(s->cq, &s->entry, 1, &s->from) == 1;
}

static void source(void)
{
	struct sourced s;
	struct wff f;

	open_all(&f, NULL);
	s.cq = f.b.cq;
	CU_ASSERT_EQUAL(fi_recv(f.b.ep, f.b.buf, 8, NULL, FI_ADDR_UNSPEC, NULL), 0);
	CU_ASSERT_EQUAL(fi_inject(f.a.ep, f.a.buf, 8, f.a.peer), 0);
	CU_ASSERT_FATAL(sim_run_until(f.sim, is_sourced, &s, UINT64_C(1000000000)));
	CU_ASSERT_EQUAL(s.from, f.b.peer);
	/* a sender that the vector does not have */
	CU_ASSERT_EQUAL(fi_av_remove(f.b.av, &f.b.peer, 1, 0), 0);
	CU_ASSERT_EQUAL(fi_recv(f.b.ep, f.b.buf, 8, NULL, FI_ADDR_UNSPEC, NULL), 0);
	CU_ASSERT_EQUAL(fi_inject(f.a.ep, f.a.buf, 8, f.a.peer), 0);
	CU_ASSERT_FATAL(sim_run_until(f.sim, is_sourced, &s, UINT64_C(1000000000)));
	CU_ASSERT_EQUAL(s.from, FI_ADDR_NOTAVAIL);
	wff_close(&f);
}

/* A failed request stops the NIC's queue; the endpoint goes on. */
static void errors(void)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err;
	struct fid_mr *small;
	struct wff f;

	open_all(&f, NULL);
	/* too small a receive: an error at the receiver alone */
	CU_ASSERT_EQUAL(fi_recv(f.b.ep, f.b.buf, 15, NULL, FI_ADDR_UNSPEC, &entry), 0);
	CU_ASSERT_EQUAL(fi_inject(f.a.ep, f.a.buf, 16, f.a.peer), 0);
	err = wff_bad(&f, &f.b);
	CU_ASSERT_EQUAL(err.err, FI_ETRUNC);
	CU_ASSERT_PTR_EQUAL(err.op_context, &entry);
	/* memory outside of the region: an error at the sender, and the next message goes */
	CU_ASSERT_EQUAL_FATAL(fi_mr_reg(f.a.domain, f.a.buf, 4096, FI_SEND, 0, 0, 0, &small, NULL),
			      0);
	CU_ASSERT_EQUAL(fi_recv(f.b.ep, f.b.buf, 600, NULL, FI_ADDR_UNSPEC, NULL), 0);
	CU_ASSERT_EQUAL(fi_send(f.a.ep, f.a.buf + 4000, 600, fi_mr_desc(small), f.a.peer, &small),
			0);
	err = wff_bad(&f, &f.a);
	CU_ASSERT_EQUAL(err.err, FI_EFAULT);
	CU_ASSERT_EQUAL(err.flags, FI_SEND | FI_MSG);
	CU_ASSERT_PTR_EQUAL(err.op_context, &small);
	CU_ASSERT_EQUAL(fi_send(f.a.ep, f.a.buf, 600, fi_mr_desc(small), f.a.peer, &entry), 0);
	CU_ASSERT_PTR_EQUAL(wff_good(&f, &f.a).op_context, &entry);
	CU_ASSERT_EQUAL(wff_good(&f, &f.b).len, 600);
	CU_ASSERT_EQUAL(fi_close(&small->fid), 0);
	wff_close(&f);
}

static void group(void)
{
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_addr.s_addr = inet_addr(GROUP)};
	struct fi_msg msg = {.iov_count = 1};
	struct fid_mc *sender, *receiver, *none;
	struct fi_eq_entry event;
	struct iovec iov;
	struct fid_eq *eq;
	uint32_t kind;
	struct wff f;

	open_all(&f, &eq);
	CU_ASSERT_EQUAL_FATAL(fi_join(f.b.ep, &sin, FI_RECV, &receiver, &f), 0);
	CU_ASSERT_EQUAL(fi_eq_read(eq, &kind, &event, sizeof(event), 0), sizeof(event));
	CU_ASSERT_EQUAL(kind, FI_JOIN_COMPLETE);
	CU_ASSERT_PTR_EQUAL(event.fid, &receiver->fid);
	CU_ASSERT_PTR_EQUAL(event.context, &f);
	CU_ASSERT_EQUAL_FATAL(fi_join(f.a.ep, &sin, FI_SEND, &sender, NULL), 0);
	CU_ASSERT_EQUAL(fi_recv(f.b.ep, f.b.buf, 100, NULL, FI_ADDR_UNSPEC, NULL), 0);
	iov = (struct iovec){f.a.buf, 100};
	msg.msg_iov = &iov;
	msg.addr = fi_mc_addr(sender);
	wff_fill(f.a.buf, 100, 3);
	CU_ASSERT_EQUAL(fi_sendmsg(f.a.ep, &msg, FI_MULTICAST | FI_COMPLETION), 0);
	(void)wff_good(&f, &f.a);
	CU_ASSERT_EQUAL(wff_good(&f, &f.b).len, 100);
	CU_ASSERT_EQUAL(memcmp(f.a.buf, f.b.buf, 100), 0);
	/* who joined to receive cannot send, nor can another endpoint use the address */
	msg.addr = fi_mc_addr(receiver);
	CU_ASSERT_EQUAL(fi_sendmsg(f.b.ep, &msg, FI_MULTICAST), -FI_EINVAL);
	CU_ASSERT_EQUAL(fi_sendmsg(f.a.ep, &msg, FI_MULTICAST), -FI_EINVAL);
	CU_ASSERT_EQUAL(fi_join(f.a.ep, NULL, 0, &none, NULL), -FI_EINVAL);
	sin.sin_addr.s_addr = inet_addr("10.1.2.3");
	CU_ASSERT_EQUAL(fi_join(f.a.ep, &sin, 0, &none, NULL), -FI_EADDRNOTAVAIL);
	/* an endpoint ends after its groups */
	CU_ASSERT_EQUAL(fi_close(&f.a.ep->fid), -FI_EBUSY);
	CU_ASSERT_EQUAL(fi_close(&sender->fid), 0);
	CU_ASSERT_EQUAL(fi_close(&receiver->fid), 0);
	/* the other event, of the sender */
	CU_ASSERT_EQUAL(fi_eq_read(eq, &kind, &event, sizeof(event), 0), sizeof(event));
	CU_ASSERT_EQUAL(fi_close(&f.a.ep->fid), 0);
	CU_ASSERT_EQUAL(fi_close(&f.b.ep->fid), 0);
	f.a.ep = f.b.ep = NULL;
	CU_ASSERT_EQUAL(fi_close(&eq->fid), 0);
	wff_close(&f);
}

static void not_there(void)
{
	size_t bytes = 0, len = sizeof(bytes);
	uint64_t word = 0;
	struct wff f;

	open_all(&f, NULL);
	CU_ASSERT_EQUAL(fi_tsend(f.a.ep, f.a.buf, 8, NULL, f.a.peer, 1, NULL), -FI_ENOSYS);
	CU_ASSERT_EQUAL(fi_trecv(f.a.ep, f.a.buf, 8, NULL, f.a.peer, 1, 0, NULL), -FI_ENOSYS);
	CU_ASSERT_EQUAL(fi_write(f.a.ep, f.a.buf, 8, NULL, f.a.peer, 0, 0, NULL), -FI_ENOSYS);
	CU_ASSERT_EQUAL(fi_atomic(f.a.ep, &word, 1, NULL, f.a.peer, 0, 0, FI_UINT64, FI_SUM, NULL),
			-FI_ENOSYS);
	CU_ASSERT_EQUAL(fi_cancel(&f.a.ep->fid, NULL), -FI_ENOSYS);
	CU_ASSERT_EQUAL(
	    fi_getopt(&f.a.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &bytes, &len),
	    -FI_ENOPROTOOPT);
	CU_ASSERT_EQUAL(fi_send(f.a.ep, f.a.buf, 8, NULL, 77, NULL), -FI_EINVAL);
	CU_ASSERT_EQUAL(fi_send(f.a.ep, f.a.buf, 8, NULL, FI_ADDR_UNSPEC, NULL), -FI_EINVAL);
	wff_close(&f);
}

UT_MAIN("fabric/wf_dgram", UT(sizes), UT(source), UT(errors), UT(group), UT(not_there))
