/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets of one message that arrive one by one and are taken as a run (net/eth_join.c): every
 * length of a message, orders, doubles, and packets that differ from those of a run in one field,
 * rightly sealed or not. Data and completions are the same in all cases.
 */
#include <stdlib.h>

#include "tests/pair/rd_pair.h"

enum {
	PACKETS = 6,
	SEGMENT = 1392, /* of a Write at MTU 1500 */
	LONG = PACKETS * SEGMENT - 7,
	SINK = 1 << 19,
	SEED = 77,
};

static struct rp rp;

static uint64_t joined(void)
{
	return RP_CNT(&rp, 1, rx_joined);
}

/* Begins, and keeps the packets of a request, numbered from 0 on. */
static void keep(const struct rp_req *more, uint32_t packets)
{
	struct rp_req req = *more;

	rp_begin(&rp);
	rp_open(&rp);
	rp_fill(rp.end[0].mem, RP_MEM_BYTES / 2, SEED);
	rp.filter = rp_keep_data;
	req.dst = rp.end[1].qp[0];
	req.remote_offset = SINK;
	rp_req(&rp, 0, rp.end[0].qp[0], &req);
	rp_settle(&rp);
	if (rp.wire.num_kept != packets)
		printf("kept %u of %u bytes %u\n", rp.wire.num_kept, packets, req.bytes);
	CU_ASSERT_EQUAL_FATAL(rp.wire.num_kept, packets);
}

static void keep_write(void)
{
	keep(&(struct rp_req){.opcode = HW_WQE_WRITE, .bytes = LONG, .wr_id = 1}, PACKETS);
}

static struct rp_info packet(uint32_t i)
{
	return rp_info_of(&rp.wire.kept[i], 0);
}

/* Delivers kept packets in this order, in one burst. */
static void deliver(const uint8_t *order, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		bench_wire_deliver(&rp.wire, order[i]);
	rp_poll(&rp, 1);
}

static void deliver_all(void)
{
	static const uint8_t order[] = {0, 1, 2, 3, 4, 5};

	deliver(order, PACKETS);
}

/* All arrives in the end, once. */
static void over(uint32_t bytes, bool receives)
{
	rp.filter = NULL;
	rp_quiet(&rp);
	CU_ASSERT_TRUE(rp_filled(rp.end[1].mem + SINK, bytes, SEED));
	if (receives)
		CU_ASSERT_EQUAL(rp_expect_recv(&rp, 1, 2, HW_STATUS_SUCCESS).bytes, bytes);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	rp_expect_none(&rp);
	bench_wire_forget(&rp.wire);
	rp_end(&rp);
}

/* A packet that is alone before a short one is none. */
static uint32_t in_runs(uint32_t packets)
{
	return packets == 1 ? 0 : packets;
}

/* Messages of each number of packets, the last one of several lengths, up to a whole run. */
static void every_length(void)
{
	static const uint32_t last[] = {1, 399, 400, 1000, SEGMENT - 1, SEGMENT};
	uint32_t n, i;

	for (n = 2; n <= FW_RUN_MAX; n++) {
		for (i = 0; i < sizeof(last) / sizeof(last[0]); i++) {
			uint32_t bytes = (n - 1) * SEGMENT + last[i];
			struct rp_req req = {.opcode = HW_WQE_WRITE, .bytes = bytes, .wr_id = 1};
			bool is_short = last[i] < 400; /* with its headers below the least */
			uint8_t order[FW_RUN_MAX];

			for (uint32_t k = 0; k < n; k++)
				order[k] = (uint8_t)k;
			keep(&req, n);
			deliver(order, n);
			CU_ASSERT_EQUAL(joined(), in_runs(n - is_short));
			CU_ASSERT_EQUAL(rp_session(&rp, 1)->rx_psn, packet(0).psn + n);
			over(bytes, false);
		}
	}
}

/* Sends: the immediate data and the solicited event belong to the last packet. */
static void sends(void)
{
	struct rp_req req = {.opcode = HW_WQE_SEND_IMM, .bytes = 3 * SEGMENT, .wr_id = 1};
	struct hw_cqe cqe;

	req.imm = 0x11223344;
	keep(&req, 3);
	rp_recv(&rp, 1, rp.end[1].qp[0], 2, SINK, 3 * SEGMENT);
	deliver((const uint8_t[]){0, 1, 2}, 3);
	CU_ASSERT_EQUAL(joined(), 3);
	cqe = rp_expect_recv(&rp, 1, 2, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(cqe.bytes, 3 * SEGMENT);
	CU_ASSERT_EQUAL(cqe.imm_inv, 0x11223344);
	over(3 * SEGMENT, false);
}

static void orders(void)
{
	keep_write();
	deliver((const uint8_t[]){0, 1, 3, 2, 4, 5}, PACKETS);
	CU_ASSERT_EQUAL(joined(), 4);
	CU_ASSERT_EQUAL(rp_session(&rp, 1)->rx_psn, packet(0).psn + PACKETS);
	over(LONG, false);

	/* The first is missing: a run behind it is held packet by packet. */
	keep_write();
	deliver((const uint8_t[]){1, 2, 3, 4, 5, 0}, PACKETS);
	CU_ASSERT_EQUAL(rp_session(&rp, 1)->rx_psn, packet(0).psn + PACKETS);
	over(LONG, false);

	/* Twice, as one burst and as two. */
	keep_write();
	deliver((const uint8_t[]){0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5}, 2 * PACKETS);
	deliver_all();
	CU_ASSERT_EQUAL(rp_session(&rp, 1)->rx_psn, packet(0).psn + PACKETS);
	over(LONG, false);
}

static void pad(struct bench_frame *frame)
{
	frame->b = realloc(frame->b, frame->n + 2);
	CU_ASSERT_PTR_NOT_NULL_FATAL(frame->b);
	memset(frame->b + frame->n, 0, 2);
	frame->n += 2;
}

/* A packet that is wrong is dropped alone, for its own reason. */
static void wrong_ones(void)
{
	uint32_t i;

	for (i = 0; i < PACKETS; i++) {
		keep_write();
		rp.wire.kept[i].b[200] ^= 1;
		deliver_all();
		CU_ASSERT_EQUAL(joined(), 0);
		CU_ASSERT_EQUAL(RP_CNT(&rp, 1, drop_dgram_crc), 1);
		CU_ASSERT_EQUAL(rp_session(&rp, 1)->rx_psn, packet(0).psn + i);
		over(LONG, false);

		keep_write();
		rp.wire.kept[i].b[FRAME_IP_AT + offsetof(struct wire_ip, checksum)] ^= 1;
		deliver_all();
		CU_ASSERT_EQUAL(RP_CNT(&rp, 1, drop_ip_checksum), 1);
		CU_ASSERT_EQUAL(rp_session(&rp, 1)->rx_psn, packet(0).psn + i);
		over(LONG, false);

		/* A right frame to another station. */
		keep_write();
		rp.wire.kept[i].b[5] ^= 1;
		deliver_all();
		CU_ASSERT_EQUAL(RP_CNT(&rp, 1, drop_not_our_mac), 1);
		CU_ASSERT_EQUAL(rp_session(&rp, 1)->rx_psn, packet(0).psn + i);
		over(LONG, false);

		/* Bytes behind the datagram are padding. */
		keep_write();
		pad(&rp.wire.kept[i]);
		deliver_all();
		CU_ASSERT_EQUAL(rp_session(&rp, 1)->rx_psn, packet(0).psn + PACKETS);
		over(LONG, false);
	}
}

/* Changes one field of a packet, which stays one that RD accepts. */
static void change(struct rp_info *p, uint32_t field)
{
	switch (field) {
	case 0:
		p->rd->timestamp = be32_put(be32_get(p->rd->timestamp) + 1);
		break;
	case 1:
		p->rd->timestamp_echo = be32_put(be32_get(p->rd->timestamp_echo) + 1);
		break;
	case 2:
		p->rd->limit++;
		break;
	case 3:
		p->dgram->flags ^= WIRE_DGRAM_F_ACK;
		break;
	case 4:
		p->dgram->flags ^= WIRE_DGRAM_F_RETRANSMIT;
		break;
	case 5:
		p->dgram->flags ^= WIRE_DGRAM_F_MORE;
		break;
	case 6:
		p->dgram->flags ^= WIRE_DGRAM_F_ECE;
		break;
	case 7:
		p->rd->used++;
		break;
	default:
		/* Without the packet before it in its flow: distance to the one before that. */
		p->rd->flow_distance = be16_put(2);
		break;
	}
}

/* Packets in runs where they are divided into so many, and so many, and the rest. */
static uint32_t in_groups(uint32_t a, uint32_t b)
{
	uint32_t c = PACKETS - a - b;

	return (a > 1 ? a : 0) + (b > 1 ? b : 0) + (c > 1 ? c : 0);
}

/* Packets in runs when a field of packet i is another one. */
static uint32_t in_parts(uint32_t i, uint32_t field)
{
	switch (field) {
	case 1:
	case 6:
		/* Only the CRC32C shows that the packet is not the run's. */
		return 0;
	case 5:
		/* A packet behind which nothing follows ends its run. */
		return i + 1 == PACKETS ? PACKETS : in_groups(i + 1, 0);
	case 8:
		return in_groups(i, 0);
	default:
		return in_groups(i, 1);
	}
}

/* One field of a packet is not the run's: all are taken, the others in runs where they can be. */
static void fields(void)
{
	uint32_t i, field;

	for (i = 1; i < PACKETS; i++) {
		for (field = 0; field <= 8; field++) {
			struct rp_info p;

			if (field == 8 && i == 1)
				continue;
			keep_write();
			p = packet(i);
			change(&p, field);
			rp_reseal(&rp.wire.kept[i]);
			deliver_all();
			CU_ASSERT_EQUAL(joined(), in_parts(i, field));
			CU_ASSERT_EQUAL(RP_CNT(&rp, 1, drop_dgram_crc), 0);
			CU_ASSERT_EQUAL(rp_session(&rp, 1)->rx_psn, packet(0).psn + PACKETS);
			over(LONG, false);
		}
	}
}

/* A Write beyond its region: what is inside arrives, then the error; both as without runs. */
static void beyond_the_region(void)
{
	struct rp_req req = {.opcode = HW_WQE_WRITE, .bytes = LONG, .wr_id = 1};
	struct hw_cqe cqe;

	rp_begin(&rp);
	rp_open(&rp);
	rp_fill(rp.end[0].mem, LONG, SEED);
	req.dst = rp.end[1].qp[0];
	req.remote_offset = SINK;
	req.rkey = rp_reg(&rp, 1, rp.end[1].mem + SINK, 3 * SEGMENT, RP_ALL_ACCESS, true);
	rp_req(&rp, 0, rp.end[0].qp[0], &req);
	rp_settle(&rp);
	rp_quiet(&rp);
	CU_ASSERT_TRUE(rp_filled(rp.end[1].mem + SINK, 3 * SEGMENT, SEED));
	CU_ASSERT_EQUAL(rp.end[1].mem[SINK + 3 * SEGMENT], 0);
	CU_ASSERT_TRUE_FATAL(rp_scqe(&rp, 0, &cqe));
	CU_ASSERT_EQUAL(cqe.status, HW_STATUS_REM_ACCESS_ERR);
	CU_ASSERT_EQUAL(rp_dereg(&rp, 1, req.rkey), 0);
	rp_end(&rp);
}

/* A run that is dropped as a whole counts as its first packet: each of the others has its own way.
 */
static void dropped_on_the_way(void)
{
	uint64_t drops;
	uint32_t i;

	keep_write();
	for (i = 0; i < PACKETS; i++) {
		struct rp_info p = packet(i);

		p.rd->epoch = be32_put(be32_get(p.rd->epoch) + 1);
		rp_reseal(&rp.wire.kept[i]);
	}
	drops = RP_CNT(&rp, 1, drop_rd_epoch);
	deliver_all();
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, drop_rd_epoch), drops + PACKETS);
	over(LONG, false);
}

UT_MAIN("pair/rd_join", UT(every_length), UT(sends), UT(orders), UT(wrong_ones), UT(fields),
	UT(beyond_the_region), UT(dropped_on_the_way))
