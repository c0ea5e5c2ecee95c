/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Filters of the wire that several tests of a pair use: frames of one kind are kept for later,
 * copied or dropped.
 */
#include "tests/pair/rd_pair.h"

static enum bench_verdict if_rd(const struct rp_info *info, uint32_t from,
				enum bench_verdict verdict)
{
	bool data = info->type == WIRE_DGRAM_RD || info->type == WIRE_DGRAM_RD_BUNDLE;

	return info->from == from && data ? verdict : BENCH_PASS;
}

static enum bench_verdict drop_opcode(const struct rp_info *info, uint8_t opcode)
{
	return info->ddp && info->opcode == opcode ? BENCH_DROP : BENCH_PASS;
}

enum bench_verdict rp_keep_data(struct rp *rp, const struct rp_info *info)
{
	(void)rp;
	return if_rd(info, 0, BENCH_KEEP);
}

enum bench_verdict rp_drop_data(struct rp *rp, const struct rp_info *info)
{
	(void)rp;
	return if_rd(info, 0, BENCH_DROP);
}

enum bench_verdict rp_copy_bundles(struct rp *rp, const struct rp_info *info)
{
	(void)rp;
	return info->from == 0 && info->type == WIRE_DGRAM_RD_BUNDLE ? BENCH_COPY : BENCH_PASS;
}

enum bench_verdict rp_keep_answers(struct rp *rp, const struct rp_info *info)
{
	(void)rp;
	return if_rd(info, 1, BENCH_KEEP);
}

enum bench_verdict rp_drop_answers(struct rp *rp, const struct rp_info *info)
{
	(void)rp;
	return if_rd(info, 1, BENCH_DROP);
}

enum bench_verdict rp_drop_read_responses(struct rp *rp, const struct rp_info *info)
{
	(void)rp;
	return drop_opcode(info, WIRE_RDMAP_READ_RESPONSE);
}

enum bench_verdict rp_drop_terminates(struct rp *rp, const struct rp_info *info)
{
	(void)rp;
	return drop_opcode(info, WIRE_RDMAP_TERMINATE);
}

enum bench_verdict rp_copy_hellos(struct rp *rp, const struct rp_info *info)
{
	(void)rp;
	return info->type == WIRE_DGRAM_RD_HELLO ? BENCH_COPY : BENCH_PASS;
}

enum bench_verdict rp_drop_all_of_1(struct rp *rp, const struct rp_info *info)
{
	(void)rp;
	return info->from == 1 ? BENCH_DROP : BENCH_PASS;
}

enum bench_verdict rp_drop_all(struct rp *rp, const struct rp_info *info)
{
	(void)rp;
	(void)info;
	return BENCH_DROP;
}

void rp_release(struct rp *rp)
{
	uint32_t i;

	rp->filter = NULL;
	for (i = 0; i < rp->wire.num_kept; i++)
		bench_wire_deliver(&rp->wire, i);
	bench_wire_forget(&rp->wire);
	rp_quiet(rp);
}
