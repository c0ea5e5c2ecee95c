/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fixture of the tests of tagged endpoints, included by weft_tag*_ut.c: an endpoint before a NIC
 * that the test plays.
 */
#ifndef WEFT_TESTS_WEFT_TAG_FIX_H
#define WEFT_TESTS_WEFT_TAG_FIX_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host_driver/weft_tag_priv.h"
#include "tests/host_driver/fake_nic.h"
#include "tests/ut.h"

enum {
	SEND_WR = 4,
	RECV_WR = 4,
	POOL_BYTES = 100000,
};

struct fix {
	struct fake_nic *nic;
	struct weft_context *context;
	struct weft_pd *pd;
	struct weft_cq *cq;
	struct weft_ah *ah;
	struct weft_tag_ep *ep;
	struct fake_qp *hw;
};

static inline struct weft_tag_attr attr_of(const struct fix *f)
{
	return (struct weft_tag_attr){
	    .send_cq = f->cq,
	    .recv_cq = f->cq,
	    .cap = {.max_send_wr = SEND_WR,
		    .max_recv_wr = RECV_WR,
		    .max_send_sge = 2,
		    .max_recv_sge = 3,
		    .max_inline_bytes = 64},
	    .access = WEFT_ACCESS_REMOTE_READ,
	    .qkey = 0x77,
	    .pool_bytes = POOL_BYTES,
	    .pool_low_bytes = 5000,
	};
}

static inline void open_nic(struct fix *f)
{
	struct weft_av av = weft_av_qpn();

	memset(f, 0, sizeof(*f));
	f->context = fake_open(&f->nic, 0);
	f->pd = weft_alloc_pd(f->context);
	f->cq = weft_create_cq(f->context, 64, NULL, NULL);
	f->ah = weft_create_ah(f->pd, &av);
}

static inline void setup(struct fix *f)
{
	struct weft_tag_attr attr;

	open_nic(f);
	attr = attr_of(f);
	f->ep = weft_open_tag_ep(f->pd, &attr);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f->ep);
	f->hw = fake_qp(f->nic, f->ep->qp);
}

static inline void teardown(struct fix *f)
{
	weft_close_tag_ep(f->ep);
	CU_ASSERT_EQUAL(weft_destroy_cq(f->cq), 0);
	CU_ASSERT_EQUAL(weft_destroy_ah(f->ah), 0);
	CU_ASSERT_EQUAL(weft_dealloc_pd(f->pd), 0);
	fake_close(f->context, f->nic);
}

static const struct hw_tag_rq_wqe *op_at(const struct fix *f, uint32_t index)
{
	return (const void *)(f->hw->rq +
			      (size_t)(index & (f->hw->rq_entries - 1)) * f->hw->rq_stride_bytes);
}

/* The NIC has taken all operations out of the ring, and all envelopes are acknowledged. */
static inline void take_all(struct fix *f)
{
	while (fake_doorbell(f->nic))
		;
	__atomic_store_n(&f->hw->record->rq_cons, f->hw->record->rq_prod, __ATOMIC_RELEASE);
	__atomic_store_n(&f->hw->record->sq_cons, f->hw->record->sq_prod, __ATOMIC_RELEASE);
}

static inline int send(struct fix *f, uint64_t wr_id, uint32_t flags)
{
	struct weft_sge sge = {0x1000, 8, 7};
	const struct weft_tag_send_wr wr = {
	    .wr_id = wr_id,
	    .sg_list = &sge,
	    .num_sge = flags & WEFT_TAG_INLINE ? 0 : 1,
	    .flags = flags,
	    .ah = f->ah,
	    .dst_qpn = 99,
	    .tag = 0xa1a2a3a4a5a6a7a8,
	    .data = 0xd1d2,
	};

	return weft_tag_send(f->ep, &wr);
}

static inline int receive(struct fix *f, uint64_t wr_id, uint32_t flags, uint32_t *number)
{
	const struct weft_tag_recv_wr wr = {.wr_id = wr_id, .flags = flags};

	return weft_tag_recv(f->ep, &wr, number);
}

static inline void complete(struct fix *f, struct hw_cqe cqe)
{
	cqe.qpn = f->ep->qp->qpn;
	fake_cqe(f->nic, f->cq, cqe);
}

/* Polls exactly one completion. */
static inline struct weft_wc poll_one(const struct fix *f)
{
	struct weft_wc wc[2];

	memset(wc, 0xee, sizeof(wc));
	CU_ASSERT_EQUAL(weft_poll_cq(f->cq, 2, wc), 1);
	return wc[0];
}

#endif /* WEFT_TESTS_WEFT_TAG_FIX_H */
