/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs of segments of RC over TCP: they arrive as one frame where nothing is in the way
 * (sim_run.c), as their segments where something is, and both are the frames that would have been
 * sent one by one, byte for byte.
 */
#include <string.h>

#include "nic_fw/fw_nic.h"
#include "tests/sim/rc_tcp_fix.h"
#include "tests/ut.h"

enum {
	SINK = 300000,
	MTU = 1500,
	/* One turn sends all of it, in runs and one by one: 11 full segments, the rest is short. */
	EVEN_BYTES = 11 * 1424 + 400,
	ODD_BYTES = 11 * 1424 + 401, /* the last one has padding, and goes alone */
	LONG_BYTES = 200000,
	FRAMES = 300,
	FRAME_BYTES = 1514,
	DATA_BYTES = 400, /* frames of data are longer */
};

/* Frames of data that a NIC has sent. */
struct sent {
	struct sim_nic *from;
	uint32_t count;
	uint32_t drop; /* this one, counted from 1, once */
	size_t bytes[FRAMES];
	uint8_t frame[FRAMES][FRAME_BYTES];
};

static enum sim_verdict note(void *ctx, struct sim_nic *from, uint8_t *frame, size_t bytes)
{
	struct sent *sent = ctx;

	if (from != sent->from || bytes < DATA_BYTES)
		return SIM_PASS;
	if (sent->count < FRAMES) {
		sent->bytes[sent->count] = bytes;
		memcpy(sent->frame[sent->count], frame, bytes);
	}
	sent->count++;
	return sent->count == sent->drop ? SIM_DROP : SIM_PASS;
}

static uint64_t runs(const struct sim_nic *nic)
{
	uint64_t packets;

	return sim_nic_runs(nic, &packets);
}

/* Opens a pair with open congestion windows; notes what the ends send from now on. */
static void begin(struct pair *p, bool borrow, bool no_crc, struct sent *sent)
{
	const struct pair_attr attr = {.borrow = borrow,
				       .no_crc = no_crc,
				       .mtu = MTU,
				       .wrap_soon = true,
				       .a = {.type = WEFT_QPT_RC, .inactive = true},
				       .same = true};

	rc_tcp_open(p, 1, &attr);
	rc_tcp_warm(p);
	memset(sent, 0, sizeof(*sent));
	fill(p, 7, p->a.buf, LONG_BYTES);
	fill(p, 8, p->b.buf, LONG_BYTES);
}

/*
 * Sends a message, whose segments wait for their receiver until all have come: the lines of a
 * simulation, other than the switch, bring them one by one.
 */
static void send_one(struct pair *p, enum weft_wr_opcode opcode, uint32_t bytes, struct sent *sent)
{
	const bool read = opcode == WEFT_WR_READ;
	const struct post request = {.opcode = opcode,
				     .wr_id = 1,
				     .bytes = bytes,
				     .offset = read ? SINK : 0,
				     .remote_offset = read ? 0 : SINK};
	struct weft_sge sge = sim_end_sge(&p->b, SINK, bytes);
	struct weft_recv_wr wr = {.wr_id = 2, .sg_list = &sge, .num_sge = 1};
	const uint8_t *sink = (read ? p->a.buf : p->b.buf) + SINK;

	sent->from = read ? p->nb : p->na;
	sim_set_filter(p->sim, note, sent);
	if (opcode == WEFT_WR_SEND || opcode == WEFT_WR_WRITE_IMM)
		FIX_REQUIRE(p, weft_post_recv(p->b.qp, &wr, NULL) == 0);
	FIX_REQUIRE(p, post(&p->a, NULL, &p->b, &request) == 0);
	sim_run_for(p->sim, 2000);
	sim_nic_pause(read ? p->na : p->nb, FIX_MS / 20);
	expect(p, &p->a, 1, WEFT_WC_SUCCESS);
	if (opcode == WEFT_WR_SEND || opcode == WEFT_WR_WRITE_IMM)
		expect(p, &p->b, 2, WEFT_WC_SUCCESS);
	FIX_CHECK(p, filled(p, read ? 8 : 7, sink, bytes));
	sim_set_filter(p->sim, NULL, NULL);
}

/* The frames are those that leave one by one, in the same order. */
static void same_frames(void)
{
	static const enum weft_wr_opcode opcodes[] = {WEFT_WR_WRITE, WEFT_WR_WRITE_IMM,
						      WEFT_WR_SEND, WEFT_WR_READ};
	static struct sent sent[2];

	for (uint32_t i = 0; i < 16; i++) {
		const enum weft_wr_opcode opcode = opcodes[i / 4];
		struct pair p;

		rc_tcp.options = i & 2 ? HW_MPA_GIVEN : 0;
		for (int whole = 0; whole < 2; whole++) {
			uint64_t before;

			begin(&p, true, false, &sent[whole]);
			if (!whole) {
				sim_nic_fw(p.na, 0)->port.tx_run = NULL;
				sim_nic_fw(p.nb, 0)->port.tx_run = NULL;
			}
			before = runs(p.na) + runs(p.nb);
			send_one(&p, opcode, i & 1 ? ODD_BYTES : EVEN_BYTES, &sent[whole]);
			FIX_CHECK(&p, (runs(p.na) + runs(p.nb) > before) == whole);
			rc_tcp_close(&p);
		}
		rc_tcp.options = 0;
		CU_ASSERT_EQUAL(sent[0].count, 12);
		CU_ASSERT_EQUAL(sent[1].count, 12);
		for (uint32_t k = 0; k < 12; k++) {
			CU_ASSERT_EQUAL(sent[0].bytes[k], sent[1].bytes[k]);
			CU_ASSERT(memcmp(sent[0].frame[k], sent[1].frame[k], sent[0].bytes[k]) ==
				  0);
		}
	}
}

/* A segment within a run is lost: the others are taken, and it alone is sent again. */
static void one_lost(void)
{
	static struct sent sent;
	struct pair p;

	for (uint32_t drop = 1; drop <= 12; drop++) {
		uint64_t before;

		begin(&p, true, true, &sent);
		before = sim_nic_stat(p.na, "tcp_tx_retransmits");
		sent.drop = drop;
		send_one(&p, WEFT_WR_WRITE, EVEN_BYTES, &sent);
		FIX_CHECK(&p, sim_nic_stat(p.na, "tcp_tx_retransmits") == before + 1);
		FIX_CHECK(&p, sent.count == 13);
		rc_tcp_close(&p);
	}
}

/* Long messages move in runs, and the receiver gets most segments so. */
static void mostly_runs(void)
{
	static const enum weft_wr_opcode opcodes[] = {WEFT_WR_WRITE, WEFT_WR_SEND, WEFT_WR_READ};
	static struct sent sent;

	for (uint32_t i = 0; i < 6; i++) {
		uint64_t packets[2], total;
		struct sim_nic *to;
		struct pair p;

		begin(&p, true, i & 1, &sent);
		to = opcodes[i / 2] == WEFT_WR_READ ? p.na : p.nb;
		(void)sim_nic_runs(to, &packets[0]);
		send_one(&p, opcodes[i / 2], LONG_BYTES, &sent);
		(void)sim_nic_runs(to, &packets[1]);
		total = LONG_BYTES / 1424;
		FIX_CHECK(&p, packets[1] - packets[0] > total / 2);
		rc_tcp_close(&p);
	}
}

UT_MAIN("sim/tcp_run", UT(same_frames), UT(one_lost), UT(mostly_runs))
