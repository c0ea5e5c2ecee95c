/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attempts of peers with STags that grant them nothing: how many are allowed, to whom they count,
 * and who is not affected.
 */
#include "tests/bench/host.h"

static uint8_t words[64];
static struct fw_ut ut;
static uint32_t pd, stag;
static struct fw_cq *cq;

static void begin(void)
{
	fw_ut_begin(&ut);
	pd = host_pd(ut.nic, 0);
	cq = host_cq(ut.nic, 0, 64, HW_EQ_NONE);
	stag =
	    host_reg(ut.nic, 0, pd, words, sizeof(words),
		     HW_ACCESS_LOCAL_WRITE | HW_ACCESS_REMOTE_WRITE | HW_ACCESS_REMOTE_READ, false);
	fw_now(ut.nic, ut.now_ns);
}

static enum hw_vendor_err ask(struct fw_qp *qp, uint32_t peer, uint32_t name, uint64_t offset)
{
	const struct rdmap_seg pkt = {.src_ip = peer, .stag = name};
	struct fw_mem mem;

	return guess_mem_check(ut.nic, qp, &pkt, name, (uintptr_t)words + offset, 8,
			       HW_ACCESS_REMOTE_WRITE, &mem);
}

static void guess(struct fw_qp *qp, uint32_t peer, uint32_t tries)
{
	uint32_t i;

	for (i = 1; i <= tries; i++)
		CU_ASSERT_EQUAL(ask(qp, peer, stag ^ i << 8, 0), HW_VENDOR_ERR_LKEY);
}

static uint64_t refused(void)
{
	return ut.nic->counters.bad_stags_refused;
}

/* The peer is granted nothing for the rest of the second, even with a correct name. */
static void one_peer_has_so_many(void)
{
	struct fw_qp *qp;

	begin();
	qp = host_qp(ut.nic, 0, HW_QPT_RD, pd, cq, HW_SRQ_NONE);
	guess(qp, 1, GUESS_LIMIT - 1);
	CU_ASSERT_EQUAL(ask(qp, 1, stag, 0), HW_VENDOR_ERR_NONE);
	/* A correct name with a wrong address is an attempt, too. */
	CU_ASSERT_EQUAL(ask(qp, 1, stag, sizeof(words)), HW_VENDOR_ERR_BOUNDS);
	CU_ASSERT_EQUAL(refused(), 0);
	CU_ASSERT_EQUAL(ask(qp, 1, stag, 0), HW_VENDOR_ERR_LKEY);
	CU_ASSERT_EQUAL(refused(), 1);
	CU_ASSERT_EQUAL(ut.nic->counters.bad_stags, GUESS_LIMIT);
	fw_now(ut.nic, ut.now_ns += GUESS_SPAN_NS);
	CU_ASSERT_EQUAL(ask(qp, 1, stag, 0), HW_VENDOR_ERR_NONE);
	guess(qp, 1, GUESS_LIMIT);
	CU_ASSERT_EQUAL(ask(qp, 1, stag, 0), HW_VENDOR_ERR_LKEY);
	fw_ut_end(&ut);
}

static void others_do_not_pay(void)
{
	struct fw_qp *qp, *other;
	uint32_t i;

	begin();
	qp = host_qp(ut.nic, 0, HW_QPT_RD, pd, cq, HW_SRQ_NONE);
	other = host_qp(ut.nic, 0, HW_QPT_RD, pd, cq, HW_SRQ_NONE);
	guess(qp, 1, GUESS_LIMIT);
	CU_ASSERT_EQUAL(ask(qp, 1, stag, 0), HW_VENDOR_ERR_LKEY);
	for (i = 2; i < 10; i++)
		CU_ASSERT_EQUAL(ask(qp, i, stag, 0), HW_VENDOR_ERR_NONE);
	CU_ASSERT_EQUAL(ask(other, 1, stag, 0), HW_VENDOR_ERR_NONE);
	fw_ut_end(&ut);
}

/* Invalidating an STag is limited in the same way. */
static void invalidates_count(void)
{
	struct rdmap_seg pkt = {.src_ip = 1};
	struct fw_qp *qp;
	uint32_t i;

	begin();
	qp = host_qp(ut.nic, 0, HW_QPT_RD, pd, cq, HW_SRQ_NONE);
	for (i = 1; i <= GUESS_LIMIT; i++) {
		pkt.stag = stag ^ i << 8;
		CU_ASSERT_FALSE(guess_mem_invalidate(ut.nic, qp, &pkt, pd));
	}
	pkt.stag = stag;
	CU_ASSERT_FALSE(guess_mem_invalidate(ut.nic, qp, &pkt, pd));
	CU_ASSERT_EQUAL(ask(qp, 1, stag, 0), HW_VENDOR_ERR_LKEY);
	pkt.src_ip = 2;
	CU_ASSERT_TRUE(guess_mem_invalidate(ut.nic, qp, &pkt, pd));
	fw_ut_end(&ut);
}

/* Datagrams can be sent by anybody in a peer's name: the peer is not blocked. */
static void unreliable_datagrams_are_counted_alone(void)
{
	struct fw_qp *qp;

	begin();
	qp = host_qp(ut.nic, 0, HW_QPT_UD, pd, cq, HW_SRQ_NONE);
	guess(qp, 1, GUESS_LIMIT + 1);
	CU_ASSERT_EQUAL(ut.nic->counters.bad_stags, GUESS_LIMIT + 1);
	CU_ASSERT_EQUAL(ask(qp, 1, stag, 0), HW_VENDOR_ERR_NONE);
	fw_ut_end(&ut);
}

UT_MAIN("nic_fw/host/guess", UT(one_peer_has_so_many), UT(others_do_not_pay), UT(invalidates_count),
	UT(unreliable_datagrams_are_counted_alone))
