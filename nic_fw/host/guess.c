/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts peers' requests that name STags without a grant. See guess.h; calls mem.c. RFC 5042 6.2.1.
 *
 * The source of a UD datagram can be forged: a limit by source would let a stranger take a peer's
 * access away. Such tries are counted without a limit.
 */
#include "nic_fw/fw_nic.h"

#define KIND_GUESS UINT64_C(0x6775657373) /* distinguishes the hash from its other uses */

static bool is_limited(const struct fw_qp *qp)
{
	return qp->type == HW_QPT_RD || qp->type == HW_QPT_UC;
}

static struct guess *guess_place_of(struct fw_nic *nic, const struct fw_qp *qp,
				    const struct rdmap_seg *pkt)
{
	/* A connection has one peer, whatever shard its packets name. */
	uint32_t shard = qp->type == HW_QPT_RD ? pkt->src_shard : 0;
	uint64_t hash = fw_keyed(nic, (uint64_t)pkt->src_ip << 32 | qp->qpn, shard, KIND_GUESS);

	return &nic->host.guesses[hash % GUESS_PLACES];
}

/* Computes the hash only for queue pairs with recent failed tries. */
static bool is_refused(struct fw_nic *nic, const struct fw_qp *qp, const struct rdmap_seg *pkt)
{
	const struct guess *guess;

	if (!qp->guessed_ns || nic->now_ns - qp->guessed_ns >= GUESS_SPAN_NS || !is_limited(qp))
		return false;
	guess = guess_place_of(nic, qp, pkt);
	if (guess->tries < GUESS_LIMIT || nic->now_ns - guess->since_ns >= GUESS_SPAN_NS)
		return false;
	FW_COUNT(nic, bad_stags_refused);
	return true;
}

static void guess_count(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt)
{
	struct guess *guess;

	FW_COUNT(nic, bad_stags);
	if (!is_limited(qp))
		return;
	guess = guess_place_of(nic, qp, pkt);
	if (!guess->tries || nic->now_ns - guess->since_ns >= GUESS_SPAN_NS) {
		guess->tries = 0;
		guess->since_ns = nic->now_ns;
	}
	guess->tries++;
	qp->guessed_ns = nic->now_ns;
}

enum hw_vendor_err guess_mem_check(struct fw_nic *nic, struct fw_qp *qp,
				   const struct rdmap_seg *pkt, uint32_t stag, uint64_t to,
				   uint64_t bytes, uint32_t need, struct fw_mem *mem)
{
	enum hw_vendor_err err;

	if (is_refused(nic, qp, pkt))
		return HW_VENDOR_ERR_LKEY;
	err = mem_check(nic, xrc_pd(nic, qp, pkt->qkey), qp->qpn, stag, to, bytes, need, mem);
	if (err != HW_VENDOR_ERR_NONE)
		guess_count(nic, qp, pkt);
	return err;
}

bool guess_mem_invalidate(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt,
			  uint32_t pd)
{
	if (is_refused(nic, qp, pkt))
		return false;
	if (mem_invalidate(nic, pd, qp->qpn, pkt->stag))
		return true;
	guess_count(nic, qp, pkt);
	return false;
}
