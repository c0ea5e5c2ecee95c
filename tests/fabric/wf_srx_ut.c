/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared contexts of the provider: receives that several endpoints take, each with a queue and an
 * address of its own; buffers of many messages, peeks, cancelling, directed receives, RDMA Writes
 * with data; what is refused.
 */
#include "host_driver/fabric/wf_srx.h"
#include "tests/fabric/wf_fix.h"

enum {
	EPS = 3
};

static struct wff f;
static struct fid_ep *srx, *ep[EPS];
static struct fid_stx *stx;
static struct fid_cq *cq[EPS];
/* The endpoints' addresses at a. */
static fi_addr_t to[EPS];

/* A description for endpoints with shared contexts, by the hints of a program. */
static struct fi_info *shared_info(struct wff_end *e, uint64_t caps)
{
	struct fi_info *info = wf_info_base(&e->nic), *hints = fi_allocinfo();

	hints->caps = caps;
	hints->domain_attr->mr_mode = FI_MR_BASIC;
	hints->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
	hints->ep_attr->tx_ctx_cnt = FI_SHARED_CONTEXT;
	CU_ASSERT_EQUAL_FATAL(wf_hints_apply(info, FI_VERSION(1, 17), hints), 0);
	CU_ASSERT_EQUAL(info->ep_attr->rx_ctx_cnt, FI_SHARED_CONTEXT);
	CU_ASSERT_EQUAL(info->ep_attr->tx_ctx_cnt, FI_SHARED_CONTEXT);
	fi_freeinfo(hints);
	return info;
}

/* An endpoint at b with a queue of its own, number i or that of another one. */
static void open_one(struct fi_info *info, int i, struct fid_cq *rx_cq)
{
	struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_TAGGED};

	CU_ASSERT_EQUAL_FATAL(fi_endpoint(f.b.domain, info, &ep[i], NULL), 0);
	if (rx_cq)
		cq[i] = NULL;
	else
		CU_ASSERT_EQUAL_FATAL(fi_cq_open(f.b.domain, &attr, &cq[i], NULL), 0);
	CU_ASSERT_EQUAL(fi_ep_bind(ep[i], &f.b.av->fid, 0), 0);
	CU_ASSERT_EQUAL(fi_ep_bind(ep[i], &f.b.cq->fid, FI_TRANSMIT), 0);
	CU_ASSERT_EQUAL(fi_ep_bind(ep[i], rx_cq ? &rx_cq->fid : &cq[i]->fid, FI_RECV), 0);
	CU_ASSERT_EQUAL(fi_enable(ep[i]), -FI_EOPBADSTATE);
	CU_ASSERT_EQUAL(fi_ep_bind(ep[i], &srx->fid, 0), 0);
	CU_ASSERT_EQUAL(fi_enable(ep[i]), -FI_EOPBADSTATE);
	CU_ASSERT_EQUAL(fi_ep_bind(ep[i], &stx->fid, 0), 0);
	CU_ASSERT_EQUAL_FATAL(fi_enable(ep[i]), 0);
}

static void know_one(int i)
{
	struct sockaddr_in sin;
	size_t len = sizeof(sin);

	CU_ASSERT_EQUAL_FATAL(fi_getname(&ep[i]->fid, &sin, &len), 0);
	CU_ASSERT_EQUAL_FATAL(fi_av_insert(f.a.av, &sin, 1, &to[i], 0, NULL), 1);
}

static void begin(void)
{
	struct fi_info *info;
	int i;

	wff_open(&f);
	wff_endpoints(&f);
	info = shared_info(&f.b, 0);
	CU_ASSERT_EQUAL_FATAL(fi_srx_context(f.b.domain, info->rx_attr, &srx, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(fi_stx_context(f.b.domain, info->tx_attr, &stx, NULL), 0);
	for (i = 0; i < EPS; i++) {
		open_one(info, i, NULL);
		know_one(i);
	}
	fi_freeinfo(info);
}

static void end(void)
{
	int i;

	CU_ASSERT_EQUAL(fi_close(&srx->fid), -FI_EBUSY);
	CU_ASSERT_EQUAL(fi_close(&stx->fid), -FI_EBUSY);
	for (i = 0; i < EPS; i++)
		if (ep[i])
			CU_ASSERT_EQUAL(fi_close(&ep[i]->fid), 0);
	for (i = 0; i < EPS; i++)
		if (cq[i])
			CU_ASSERT_EQUAL(fi_close(&cq[i]->fid), 0);
	CU_ASSERT_EQUAL(fi_close(&srx->fid), 0);
	CU_ASSERT_EQUAL(fi_close(&stx->fid), 0);
	wff_close(&f);
}

/* The queue of one endpoint, for the calls of the fixture. */
static struct wff_end *at(int i)
{
	static struct wff_end view;

	view.cq = cq[i];
	return &view;
}

static void receive(size_t n, bool tagged, void *context)
{
	CU_ASSERT_EQUAL(tagged ? fi_trecv(srx, f.b.buf, n, NULL, FI_ADDR_UNSPEC, 7, 0, context)
			       : fi_recv(srx, f.b.buf, n, NULL, FI_ADDR_UNSPEC, context),
			0);
}

/* Messages of all sizes, tagged or not, to each endpoint; each reports at its own. */
static void messages(void)
{
	static const size_t bytes[] = {0, 1, 513, 16384, 300000};
	struct fi_cq_tagged_entry entry;
	int i, k;

	begin();
	for (k = 0; k < 20; k++) {
		size_t n = bytes[k / 4];
		bool first = k % 2, tagged = k % 4 > 1;

		i = k % EPS;
		wff_fill(f.a.buf, n, (uint8_t)k);
		memset(f.b.buf, 0, n + 1);
		if (first)
			receive(n, tagged, &k);
		CU_ASSERT_EQUAL(tagged ? fi_tsend(f.a.ep, f.a.buf, n, NULL, to[i], 7, NULL)
				       : fi_send(f.a.ep, f.a.buf, n, NULL, to[i], NULL),
				0);
		sim_run_for(f.sim, 3000000);
		if (!first)
			receive(n, tagged, &k);
		entry = wff_good(&f, at(i));
		CU_ASSERT_EQUAL(entry.flags, FI_RECV | (tagged ? FI_TAGGED : FI_MSG));
		CU_ASSERT_EQUAL(entry.len, n);
		CU_ASSERT_PTR_EQUAL(entry.op_context, &k);
		CU_ASSERT_EQUAL(memcmp(f.a.buf, f.b.buf, n), 0);
		CU_ASSERT_EQUAL(f.b.buf[n], 0);
		(void)wff_good(&f, &f.a);
	}
	for (i = 0; i < EPS; i++)
		CU_ASSERT(wff_silent(&f, at(i)));
	/* Sends go from the endpoint, receives do not go to it. */
	CU_ASSERT_EQUAL(fi_recv(f.a.ep, f.a.buf, 8, NULL, FI_ADDR_UNSPEC, NULL), 0);
	CU_ASSERT_EQUAL(fi_send(ep[1], f.b.buf, 8, NULL, f.b.peer, &k), 0);
	CU_ASSERT_EQUAL(wff_good(&f, &f.a).flags, FI_RECV | FI_MSG);
	CU_ASSERT_PTR_EQUAL(wff_good(&f, &f.b).op_context, &k);
	CU_ASSERT_EQUAL(fi_recv(ep[1], f.b.buf, 8, NULL, FI_ADDR_UNSPEC, NULL), -FI_EOPBADSTATE);
	CU_ASSERT_EQUAL(fi_send(srx, f.b.buf, 8, NULL, f.b.peer, NULL), -FI_EOPBADSTATE);
	end();
}

/* A receive for one sender alone; sources are reported. */
static void directed(void)
{
	struct fi_cq_tagged_entry entry;
	fi_addr_t from = 0;
	int n = 0;

	begin();
	CU_ASSERT_EQUAL(fi_trecv(srx, f.b.buf, 8, NULL, f.b.self, 1, 0, NULL), 0);
	CU_ASSERT_EQUAL(fi_trecv(srx, f.b.buf + 8, 8, NULL, f.b.peer, 1, 0, &f), 0);
	CU_ASSERT_EQUAL(fi_tinject(f.a.ep, "from a!", 8, to[2], 1), 0);
	while (n++ < 1000 && fi_cq_readfrom(cq[2], &entry, 1, &from) != 1)
		sim_run_for(f.sim, 100000);
	CU_ASSERT_EQUAL(from, f.b.peer);
	CU_ASSERT_PTR_EQUAL(entry.op_context, &f);
	CU_ASSERT_STRING_EQUAL((char *)f.b.buf + 8, "from a!");
	CU_ASSERT_EQUAL(fi_trecv(srx, f.b.buf, 8, NULL, 1000, 1, 0, NULL), -FI_EINVAL);
	end();
}

/* The buffer is released by the entry that is read last, whatever the order of the queues. */
static void multi(void)
{
	struct iovec iov;
	struct fi_msg msg = {
	    .msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = &iov};
	struct fi_cq_tagged_entry entry;
	size_t min = 100;
	int i, k;

	begin();
	iov = (struct iovec){f.b.buf, 1000};
	CU_ASSERT_EQUAL(
	    fi_setopt(&srx->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &min, sizeof(min)), 0);
	for (k = 0; k < 2; k++) {
		CU_ASSERT_EQUAL(fi_recvmsg(srx, &msg, FI_MULTI_RECV), 0);
		for (i = 0; i < EPS; i++) {
			wff_fill(f.a.buf, 320, (uint8_t)(i + k));
			CU_ASSERT_EQUAL(fi_inject(f.a.ep, f.a.buf, 320, to[i]), 0);
			sim_run_for(f.sim, 1000000);
		}
		for (i = 0; i < EPS; i++) {
			int n = k ? EPS - 1 - i : i;

			entry = wff_good(&f, at(n));
			wff_fill(f.a.buf, 320, (uint8_t)(n + k));
			CU_ASSERT_PTR_EQUAL(entry.buf, f.b.buf + 320 * n);
			CU_ASSERT_EQUAL(entry.len, 320);
			CU_ASSERT_EQUAL(memcmp(entry.buf, f.a.buf, 320), 0);
			CU_ASSERT_PTR_EQUAL(entry.op_context, &iov);
			/* Taken before: by the look for the release. */
			CU_ASSERT_EQUAL(entry.flags & FI_MULTI_RECV,
					k && i == EPS - 1 ? FI_MULTI_RECV : 0);
			if (!k && i == EPS - 1) {
				entry = wff_good(&f, at(n));
				CU_ASSERT_EQUAL(entry.flags, FI_MULTI_RECV);
				CU_ASSERT_PTR_NULL(entry.buf);
				CU_ASSERT_EQUAL(entry.len, 0);
			} else {
				CU_ASSERT(wff_silent(&f, at(n)));
			}
		}
	}
	end();
}

/* Requests that end without a message, at the first endpoint. */
static void without_message(void)
{
	struct fi_msg_tagged probe = {.addr = FI_ADDR_UNSPEC, .tag = 9};
	struct fi_cq_err_entry err;
	struct fi_context context;
	int i;

	begin();
	for (i = 0; i < EPS; i++) {
		CU_ASSERT_EQUAL(fi_trecv(srx, f.b.buf, 8, NULL, FI_ADDR_UNSPEC, 1, 0, &i), 0);
		CU_ASSERT_EQUAL(fi_cancel(&srx->fid, &i), 0);
		err = wff_bad(&f, at(i));
		CU_ASSERT_EQUAL(err.err, FI_ECANCELED);
		CU_ASSERT_PTR_EQUAL(err.op_context, &i);
		CU_ASSERT_EQUAL(fi_cancel(&srx->fid, &i), -FI_ENOENT);
		probe.context = &context;
		CU_ASSERT_EQUAL(fi_trecvmsg(srx, &probe, FI_PEEK), 0);
		CU_ASSERT_EQUAL(wff_bad(&f, at(i)).err, FI_ENOMSG);
		if (i < EPS - 1) {
			CU_ASSERT_EQUAL(fi_close(&ep[i]->fid), 0);
			ep[i] = NULL;
		}
	}
	i = EPS - 1;
	CU_ASSERT_EQUAL(fi_tinject(f.a.ep, "claimed", 8, to[i], 9), 0);
	sim_run_for(f.sim, 1000000);
	CU_ASSERT_EQUAL(fi_trecvmsg(srx, &probe, FI_PEEK | FI_CLAIM), 0);
	CU_ASSERT_EQUAL(wff_good(&f, at(i)).len, 8);
	probe.msg_iov = &(struct iovec){f.b.buf, 8};
	probe.iov_count = 1;
	CU_ASSERT_EQUAL(fi_trecvmsg(srx, &probe, FI_CLAIM), 0);
	CU_ASSERT_EQUAL(wff_good(&f, at(i)).len, 8);
	CU_ASSERT_STRING_EQUAL((char *)f.b.buf, "claimed");
	end();
}

/* Endpoints come and go; queues have a place for every receive, and lose none. */
static void come_and_go(void)
{
	struct fi_info *info;
	int room[EPS], k, i;

	begin();
	info = shared_info(&f.b, 0);
	for (i = 0; i < EPS; i++)
		room[i] = container_of(cq[i], struct wf_cq, fid)->room;
	for (k = 0; k < 10; k++)
		CU_ASSERT_EQUAL(fi_trecv(srx, f.b.buf, 8, NULL, FI_ADDR_UNSPEC, 1, 0, &k), 0);
	for (i = 0; i < EPS; i++)
		CU_ASSERT_EQUAL(container_of(cq[i], struct wf_cq, fid)->room, room[i] - 10);
	/* Its completions are not read. */
	for (k = 0; k < 4; k++)
		CU_ASSERT_EQUAL(fi_tinject(f.a.ep, "dropped", 8, to[1], 1), 0);
	sim_run_for(f.sim, 1000000);
	CU_ASSERT_EQUAL(fi_close(&ep[1]->fid), 0);
	CU_ASSERT_EQUAL(container_of(cq[0], struct wf_cq, fid)->room, room[0] - 6);
	CU_ASSERT_EQUAL(fi_close(&cq[1]->fid), 0);
	open_one(info, 1, cq[0]);
	know_one(1);
	for (k = 0; k < 6; k++) {
		CU_ASSERT_EQUAL(fi_tinject(f.a.ep, "arrives", 8, to[k % EPS], 1), 0);
		(void)wff_good(&f, at(k % EPS == 1 ? 0 : k % EPS));
	}
	CU_ASSERT_EQUAL(container_of(cq[0], struct wf_cq, fid)->room, room[0]);
	CU_ASSERT_EQUAL(container_of(cq[2], struct wf_cq, fid)->room, room[2]);
	fi_freeinfo(info);
	end();
}

/* Data that comes with an RDMA Write is reported by the endpoint that the Write was to. */
static void write_data(void)
{
	struct fi_cq_tagged_entry entry;
	int i, k;

	begin();
	for (k = 0; k < 2 * WF_NOTES; k++) {
		i = k % EPS;
		CU_ASSERT_EQUAL(fi_writedata(f.a.ep, f.a.buf, 100, NULL, 1000 + (uint64_t)k, to[i],
					     (uintptr_t)f.b.buf, fi_mr_key(f.b.mr), NULL),
				0);
		entry = wff_good(&f, at(i));
		CU_ASSERT_EQUAL(entry.flags, FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA);
		CU_ASSERT_EQUAL(entry.data, 1000 + (uint64_t)k);
		CU_ASSERT_EQUAL(entry.len, 100);
		(void)wff_good(&f, &f.a);
	}
	end();
}

static void refused(void)
{
	struct fi_rx_attr rx = {.size = 1u << 30};
	struct fi_tx_attr tx = {.size = WF_TX_SIZE + 1};
	struct fi_info *info, *hints = fi_allocinfo(), *dgram;
	struct fid_ep *other, *plain;
	struct fid_av *av;
	struct fi_av_attr attr = {.type = FI_AV_TABLE};
	struct fid_stx *few;

	begin();
	CU_ASSERT_EQUAL(fi_srx_context(f.b.domain, &rx, &other, NULL), -FI_EINVAL);
	CU_ASSERT_EQUAL(fi_stx_context(f.b.domain, &tx, &few, NULL), -FI_EINVAL);
	/* Not one that shares. */
	CU_ASSERT_EQUAL_FATAL(fi_endpoint(f.b.domain, f.b.info, &plain, NULL), 0);
	CU_ASSERT_EQUAL(fi_ep_bind(plain, &srx->fid, 0), -FI_EINVAL);
	CU_ASSERT_EQUAL(fi_ep_bind(plain, &stx->fid, 0), -FI_EINVAL);
	CU_ASSERT_EQUAL(fi_close(&plain->fid), 0);
	/* Another domain; more than the context has; another address vector. */
	info = shared_info(&f.a, 0);
	CU_ASSERT_EQUAL_FATAL(fi_endpoint(f.a.domain, info, &plain, NULL), 0);
	CU_ASSERT_EQUAL(fi_ep_bind(plain, &srx->fid, 0), -FI_EDOMAIN);
	CU_ASSERT_EQUAL(fi_ep_bind(plain, &stx->fid, 0), -FI_EDOMAIN);
	CU_ASSERT_EQUAL(fi_close(&plain->fid), 0);
	tx.size = 16;
	CU_ASSERT_EQUAL_FATAL(fi_stx_context(f.b.domain, &tx, &few, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(fi_endpoint(f.b.domain, info, &plain, NULL), 0);
	CU_ASSERT_EQUAL(fi_ep_bind(plain, &few->fid, 0), -FI_EINVAL);
	CU_ASSERT_EQUAL(fi_close(&few->fid), 0);
	CU_ASSERT_EQUAL_FATAL(fi_av_open(f.b.domain, &attr, &av, NULL), 0);
	CU_ASSERT_EQUAL(fi_ep_bind(plain, &av->fid, 0), 0);
	CU_ASSERT_EQUAL(fi_ep_bind(plain, &f.b.cq->fid, FI_TRANSMIT | FI_RECV), 0);
	CU_ASSERT_EQUAL(fi_ep_bind(plain, &srx->fid, 0), 0);
	CU_ASSERT_EQUAL(fi_ep_bind(plain, &srx->fid, 0), -FI_EINVAL);
	CU_ASSERT_EQUAL(fi_ep_bind(plain, &stx->fid, 0), 0);
	CU_ASSERT_EQUAL(fi_enable(plain), -FI_EINVAL);
	CU_ASSERT_EQUAL(fi_close(&plain->fid), 0);
	CU_ASSERT_EQUAL(fi_close(&av->fid), 0);
	fi_freeinfo(info);
	/* Joins of collectives, and datagrams. */
	info = wf_info_base(&f.b.nic);
	dgram = wf_info_dgram(&f.b.nic);
	hints->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
	CU_ASSERT_EQUAL(wf_hints_apply(dgram, FI_VERSION(1, 17), hints), -FI_ENODATA);
	hints->caps = FI_TAGGED | FI_COLLECTIVE;
	CU_ASSERT_EQUAL(wf_hints_apply(info, FI_VERSION(1, 17), hints), -FI_ENODATA);
	fi_freeinfo(info);
	fi_freeinfo(dgram);
	fi_freeinfo(hints);
	end();
}

UT_MAIN("fabric/wf_srx", UT(messages), UT(directed), UT(multi), UT(without_message),
	UT(come_and_go), UT(write_data), UT(refused))
