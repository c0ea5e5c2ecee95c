/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RC over ESP: a peer whose request was refused, and that does not take the Terminate. What is left
 * of the connection counts in the share of the process here, so it must end.
 */
#include "tests/pair/rd_pair.h"

#include <stdlib.h>

enum {
	MS = 1000000,
	TALK_MS = 31000, /* longer than answers wait for a silent requester */
	BYTES = 200,
	ESP_AT = sizeof(struct wire_eth) + sizeof(struct wire_edp),
};

static struct rp rp;
static struct fw_qp *qa, *qb;
static struct bench_frame said; /* a packet of A's, which it repeats */
static bool cut_off;            /* A hears nothing, and says no more once it was refused */

#define A (&rp.end[0])
#define B (&rp.end[1])

static bool is_numbered(const struct bench_frame *frame)
{
	struct wire_eth eth;
	struct wire_esp esp;

	if (frame->n < ESP_AT + sizeof(esp) + BYTES)
		return false;
	memcpy(&eth, frame->b, sizeof(eth));
	memcpy(&esp, frame->b + ESP_AT, sizeof(esp));
	return be16_get(eth.type) == WIRE_ETHERTYPE_ESP && esp.numbered == 1;
}

static enum bench_verdict repeat_alone(struct rp *r, const struct rp_info *info)
{
	if (cut_off && (info->from || RP_CNT(r, 1, terminates_tx)))
		return BENCH_DROP;
	if (info->from || said.b || !is_numbered(info->frame))
		return BENCH_PASS;
	said = *info->frame;
	said.b = malloc(said.n);
	CU_ASSERT_PTR_NOT_NULL_FATAL(said.b);
	memcpy(said.b, info->frame->b, said.n);
	return BENCH_PASS;
}

static void write_to(uint64_t wr_id, uint32_t rkey)
{
	const struct rp_req req = {
	    .opcode = HW_WQE_WRITE, .wr_id = wr_id, .bytes = BYTES, .rkey = rkey};

	rp_req(&rp, 0, qa, &req);
}

static const struct hw_qp_attr esp_attr = {.timeout = 14,
					   .retry_cnt = 2,
					   .rnr_retry = 2,
					   .min_rnr_timer = 1,
					   .max_rd_atomic = 4,
					   .max_dest_rd_atomic = 4,
					   .transport = HW_QP_TRANSPORT_ESP};

static void begin(void)
{
	rp_begin(&rp);
	rp_rc(&rp, &qa, &qb, &esp_attr);
	cut_off = false;
	rp.filter = repeat_alone;
	write_to(1, 0);
	rp_run(&rp, 10 * MS);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	CU_ASSERT_PTR_NOT_NULL_FATAL(said.b);
	cut_off = true;
	write_to(2, 0x777);
	while (!RP_CNT(&rp, 1, terminates_tx))
		rp_run(&rp, 1000);
	rp_destroy_qp(&rp, 1, qb);
}

static void over(void)
{
	free(said.b);
	said.b = NULL;
	rp.filter = NULL;
	rp_run(&rp, UINT64_C(40000) * MS);
	rp_expect_send(&rp, 0, 2, HW_STATUS_RETRY_EXC_ERR);
	rp_destroy_qp(&rp, 0, qa);
	rp_run(&rp, UINT64_C(40000) * MS);
	rp_end(&rp);
}

/* Each of its packets shows that it lives. */
static void talks_on(void)
{
	const struct fw_account *owner;

	begin();
	owner = B->nic->host.clients[B->client].share->process;
	CU_ASSERT_EQUAL(owner->held[HW_SHARE_STREAM], 1);
	for (uint32_t ms = 0; ms < TALK_MS; ms += 100) {
		bench_wire_inject(&rp.wire, 1, said.b, said.n);
		rp_run(&rp, UINT64_C(100) * MS);
	}
	CU_ASSERT_EQUAL(owner->held[HW_SHARE_STREAM], 0);
	CU_ASSERT_EQUAL(B->nic->rdmap.esp_lasts.used, 0);
	over();
}

/* A silent one may only be away: it is waited for. */
static void is_away(void)
{
	const struct fw_account *owner;

	begin();
	owner = B->nic->host.clients[B->client].share->process;
	rp_run(&rp, UINT64_C(20000) * MS);
	CU_ASSERT_EQUAL(owner->held[HW_SHARE_STREAM], 1);
	over();
}

/*
 * A station that has its share of Terminates gets a reset in the place of one; others have theirs.
 */
static void station_has_its_share(void)
{
	struct hw_cqe cqe;
	struct fw_nic *nic;
	uint8_t station;
	uint32_t n = 0;

	rp_begin(&rp);
	nic = B->nic;
	rp_rc(&rp, &qa, &qb, &esp_attr);
	cut_off = false;
	rp.filter = NULL;
	write_to(1, 0);
	rp_run(&rp, 10 * MS);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	station = esp_station(qb->esp->in.stream);
	while (station_may(nic, station, STATION_ESP_LASTS, nic->rdmap.esp_lasts.max)) {
		station_take(nic, station, STATION_ESP_LASTS);
		n++;
	}
	CU_ASSERT(n > ESP_RDMAP_MAX_LAST / 2 && n < ESP_RDMAP_MAX_LAST / 4 * 3);
	CU_ASSERT_TRUE(station_may(nic, station ^ 1, STATION_ESP_LASTS, nic->rdmap.esp_lasts.max));
	write_to(2, 0x777);
	rp_run(&rp, 10 * MS);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, terminates_tx), 0);
	CU_ASSERT_EQUAL(nic->rdmap.esp_lasts.used, 0);
	while (n--)
		station_give(nic, station, STATION_ESP_LASTS);
	rp_run(&rp, UINT64_C(40000) * MS);
	CU_ASSERT_TRUE(rp_scqe(&rp, 0, &cqe) && cqe.status != HW_STATUS_SUCCESS);
	rp_destroy_qp(&rp, 0, qa);
	rp_destroy_qp(&rp, 1, qb);
	rp_run(&rp, UINT64_C(40000) * MS);
	rp_end(&rp);
}

UT_MAIN("pair/esp_refused", UT(talks_on), UT(is_away), UT(station_has_its_share))
