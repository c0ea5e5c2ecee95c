/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A hostile peer: traffic of every kind, while copies of its packets arrive again with changed
 * fields and correct checksums. The traffic must end; the sanitizer checks memory, guards check
 * memory that must not be written, and no context is lost.
 */
#include <stdlib.h>

#include "lib/prng.h"
#include "tests/pair/rd_pair.h"

enum {
	SEEDS = 60,
	STEPS = 300,
	RING = 128,    /* frames kept for forgeries */
	USED = 262144, /* bytes of each end's memory that are registered */
};

static struct rp rp;
static struct fw_qp *rc[2];
static uint64_t state;
static uint32_t next_kept;

#define A (&rp.end[0])
#define B (&rp.end[1])

static uint64_t rnd(uint64_t below)
{
	return prng_below(&state, below);
}

/* Keeps the last RING frames; drops and doubles frames besides. */
static enum bench_verdict remember(struct rp *r, const struct rp_info *info)
{
	struct bench_frame *slot;

	if (info->type != 0xff) {
		slot = &r->wire.kept[next_kept++ % RING];
		if (r->wire.num_kept < RING)
			r->wire.num_kept++;
		else
			free(slot->b);
		*slot = *info->frame;
		slot->b = malloc(slot->n);
		CU_ASSERT_PTR_NOT_NULL_FATAL(slot->b);
		memcpy(slot->b, info->frame->b, slot->n);
	}
	switch (rnd(20)) {
	case 0:
		return BENCH_DROP;
	case 1:
		return BENCH_TWICE;
	default:
		return BENCH_PASS;
	}
}

static uint32_t near(uint32_t value)
{
	return rnd(3) ? value + (uint32_t)rnd(300) - 150 : (uint32_t)rnd(UINT64_C(1) << 32);
}

static void lie_in_dgram(struct wire_dgram *d)
{
	switch (rnd(7)) {
	case 0:
		d->flags ^= (uint8_t)(1u << rnd(7));
		break;
	case 1:
		d->dst_qpn = be32_put(rnd(2) ? (uint32_t)rnd(8) | (uint32_t)rnd(2) << 19 : 0);
		break;
	case 2:
		d->src_qpn = be32_put((uint32_t)rnd(8) | (uint32_t)rnd(32) << 16);
		break;
	case 3:
		d->msg_bytes = be32_put(near(be32_get(d->msg_bytes)));
		break;
	case 4:
		d->ssn = be32_put(be32_get(d->ssn) + (uint32_t)rnd(5) - 2);
		break;
	case 5:
		d->imm = be32_put(be32_get(d->ssn) + (uint32_t)rnd(5) - 2);
		break;
	default:
		d->ver_type = (uint8_t)(WIRE_DGRAM_VERSION << 4 | rnd(6));
		break;
	}
}

static void lie_in_rd(const struct rp_info *info)
{
	uint32_t i;

	switch (rnd(5)) {
	case 0:
		info->rd->psn = be32_put(near(info->psn));
		break;
	case 1:
		info->rd->flow_distance = be16_put((uint16_t)rnd(rnd(2) ? 6 : 140));
		break;
	case 2:
		info->rd->ack = be32_put(near(be32_get(info->rd->ack)));
		info->dgram->flags |= WIRE_DGRAM_F_ACK;
		break;
	case 3:
		info->rd->timestamp_echo = be32_put((uint32_t)rnd(UINT64_C(1) << 32));
		break;
	default:
		if (!info->ack)
			return;
		for (i = 0; i < 4; i++)
			info->ack->refused[i] = be64_put(rnd(3) ? 0 : rnd(UINT64_MAX));
		info->ack->received[0] = be64_put(rnd(2) ? rnd(64) : rnd(UINT64_MAX));
		info->ack->rnr_timer_ns = be32_put((uint32_t)rnd(3000000));
		break;
	}
}

static void lie(void)
{
	const struct bench_frame *from;
	struct bench_frame copy;
	struct rp_info info;
	uint32_t n;

	if (!rp.wire.num_kept)
		return;
	from = &rp.wire.kept[rnd(rp.wire.num_kept)];
	copy = *from;
	copy.b = malloc(copy.n);
	CU_ASSERT_PTR_NOT_NULL_FATAL(copy.b);
	memcpy(copy.b, from->b, copy.n);
	info = rp_info_of(&copy, !copy.to);
	for (n = 1 + (uint32_t)rnd(3); n; n--) {
		if (info.hello) {
			((uint8_t *)info.hello)[rnd(sizeof(*info.hello))] = (uint8_t)rnd(256);
		} else if (info.ddp && !rnd(3)) {
			/* The headers of DDP and RDMAP, and the fields of requests after them. */
			uint32_t at = (uint32_t)(info.ddp - copy.b) + (uint32_t)rnd(46);

			if (at < copy.n - WIRE_DGRAM_CRC_BYTES)
				copy.b[at] = rnd(2) ? (uint8_t)rnd(256)
						    : (uint8_t)(copy.b[at] ^ 1u << rnd(8));
		} else if (rnd(2)) {
			lie_in_dgram(info.dgram);
		} else if (info.rd) {
			lie_in_rd(&info);
		}
	}
	rp_reseal(&copy);
	bench_wire_inject(&rp.wire, copy.to, copy.b, copy.n);
	free(copy.b);
}

static void traffic(void)
{
	static const uint8_t opcodes[] = {HW_WQE_SEND,      HW_WQE_SEND_IMM, HW_WQE_WRITE,
					  HW_WQE_WRITE_IMM, HW_WQE_READ,     HW_WQE_FETCH_ADD,
					  HW_WQE_CMP_SWAP};
	uint32_t e = (uint32_t)rnd(2), q = (uint32_t)rnd(3);
	struct fw_qp *qp = q < 2 ? rp.end[e].qp[q] : rc[e];
	struct rp_req req = {.opcode = opcodes[rnd(sizeof(opcodes))], .wr_id = rnd(1000)};

	if (rnd(2) && qp->record->rq_prod - qp->record->rq_cons < 100)
		rp_recv(&rp, e, qp, 5, (uint32_t)rnd(USED / 2), (uint32_t)rnd(8000));
	if (qp->record->sq_prod - qp->record->sq_cons > 200)
		return;
	req.dst = q < 2 ? rp.end[!e].qp[rnd(2)] : NULL;
	req.bytes = req.opcode == HW_WQE_FETCH_ADD || req.opcode == HW_WQE_CMP_SWAP
			? 8
			: (uint32_t)rnd(rnd(4) ? 200 : 9000);
	req.offset = (uint32_t)rnd(USED / 2) & ~7u;
	req.remote_offset = (uint32_t)rnd(USED / 2) & ~7u;
	req.rkey = rnd(30) ? 0 : 0x7777777;
	rp_req(&rp, e, qp, &req);
}

/* Sets up failed QPs again, as a patient process does. */
static void mend(void)
{
	struct hw_cqe cqe;
	uint32_t e, q;

	for (e = 0; e < 2; e++) {
		while (rp_scqe(&rp, e, &cqe) || rp_rcqe(&rp, e, &cqe))
			;
		for (q = 0; q < 2; q++) {
			struct fw_qp *qp = rp.end[e].qp[q];

			if (qp->state == HW_QPS_SQE)
				CU_ASSERT_EQUAL(rp_modify(&rp, e, qp, HW_QPS_RTS, 0, NULL), 0);
			if (qp->state == HW_QPS_ERR) {
				CU_ASSERT_EQUAL(rp_modify(&rp, e, qp, HW_QPS_RESET, 0, NULL), 0);
				rp_rts(&rp, e, qp);
			}
		}
	}
}

/* Memory that is not registered stays unwritten. */
static void check_guard(void)
{
	uint32_t e, i;

	for (e = 0; e < 2; e++)
		for (i = USED; i < RP_MEM_BYTES; i++)
			if (rp.end[e].mem[i]) {
				CU_FAIL("memory was written that is not registered");
				break;
			}
}

static void finish(void)
{
	uint32_t e, i;

	rp.filter = NULL;
	bench_wire_forget(&rp.wire);
	rp_run(&rp, 3000000000);
	mend();
	for (e = 0; e < 2; e++) {
		struct fw_nic *nic = rp.end[e].nic;

		fw_now(nic, rp.wire.now_ns);
		rp_detach(&rp, e);
		for (i = 0; i < nic->rd.session_ids.high; i++)
			if (nic->rd.peers[i].used)
				rd_session_fail(nic, rd_rest_wake(nic, &nic->rd.peers[i]),
						HW_STATUS_SUCCESS, HW_VENDOR_ERR_NONE);
		while (rd_ending_pending(nic)) {
			slice_allow(nic);
			rd_ending_run(nic);
		}
		rp_check_pools(&rp, e, 0);
	}
}

static void one_seed(uint64_t seed)
{
	uint32_t i, failures = CU_get_number_of_failures();

	state = seed * 77;
	next_kept = 0;
	rp_begin(&rp);
	for (i = 0; i < 2; i++) {
		/* The memory after USED is not registered. */
		CU_ASSERT_EQUAL(rp_dereg(&rp, i, rp.end[i].stag), 0);
		rp.end[i].stag = rp_reg(&rp, i, rp.end[i].mem, USED, RP_ALL_ACCESS, i == 0);
	}
	rp_rc(&rp, &rc[0], &rc[1], NULL);
	rp.filter = remember;
	for (i = 0; i < STEPS; i++) {
		uint32_t k;

		for (k = (uint32_t)rnd(6); k; k--)
			traffic();
		for (k = (uint32_t)rnd(5); k; k--)
			lie();
		rp_poll(&rp, 0);
		rp_poll(&rp, 1);
		rp.wire.now_ns += rnd(rnd(10) ? 20000 : 3000000);
		mend();
	}
	check_guard();
	finish();
	if (CU_get_number_of_failures() != failures)
		fprintf(stderr, "seed %llu failed\n", (unsigned long long)seed);
	rp_free(&rp);
}

static void liars(void)
{
	const char *given = getenv("SEED");
	uint64_t seed;

	if (given) {
		one_seed(strtoull(given, NULL, 10));
		return;
	}
	for (seed = 1; seed <= SEEDS; seed++)
		one_seed(seed);
}

UT_MAIN("pair/rd_fuzz", UT(liars))
