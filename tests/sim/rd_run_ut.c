/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs of RD packets: they arrive as one frame where nothing is in the way (sim_run.c), as their
 * packets where something is, and both are the packets that would have been sent one by one.
 */
#include <string.h>

#include "host_driver/weft_tag.h"
#include "nic_fw/fw_nic.h"
#include "shared_defs/wire_dgram.h"
#include "shared_defs/wire_eth.h"
#include "shared_defs/wire_ip.h"
#include "tests/sim/sim_fix.h"
#include "tests/ut.h"

enum {
	BYTES = 60001, /* the last packet is short */
	SINK = 100000,
	MTU = 1500,
	CREDITS_IDLE = 8, /* RD_CREDIT_IDLE */
	FRAMES = 128,
	HDR_BYTES = 100, /* of a frame that are compared */
	DGRAM_AT = 14 + 20 + 8,
	TIMES_AT = DGRAM_AT + sizeof(struct wire_dgram) + offsetof(struct wire_rd, timestamp),
	TIMES_BYTES = 8, /* timestamp and its echo */
};

static const struct pair_attr lending = {.borrow = true, .no_crc = true, .mtu = MTU};
static const struct pair_attr checking = {.borrow = true, .mtu = MTU};
static const struct pair_attr plain = {.mtu = MTU};
static const struct pair_attr wrapping = {
    .borrow = true, .no_crc = true, .mtu = MTU, .wrap_soon = true};
static const struct pair_attr sharded = {.borrow = true, .no_crc = true, .mtu = MTU, .shards = 2};

/* The packets of data that a NIC has sent. */
struct sent {
	struct sim_nic *from;
	uint32_t count;
	uint32_t drop; /* this one, counted from 1, once */
	bool drop_all; /* or each packet of data with its PSN */
	struct be32 drop_psn;
	uint8_t hdr[FRAMES][HDR_BYTES];
};

static bool is_data(const uint8_t *frame, size_t bytes)
{
	return bytes > 1000 && frame[DGRAM_AT - 19] == WIRE_IPPROTO_UDP &&
	       (frame[DGRAM_AT] & 0x0f) == WIRE_DGRAM_RD;
}

static enum sim_verdict note(void *ctx, struct sim_nic *from, uint8_t *frame, size_t bytes)
{
	struct sent *sent = ctx;
	const struct wire_rd *rd = (const void *)(frame + DGRAM_AT + sizeof(struct wire_dgram));

	if (from != sent->from || !is_data(frame, bytes))
		return SIM_PASS;
	if (sent->drop && sent->drop_all && sent->count >= sent->drop &&
	    memcmp(&rd->psn, &sent->drop_psn, sizeof(rd->psn)) == 0)
		return SIM_DROP;
	if (sent->count < FRAMES) {
		memcpy(sent->hdr[sent->count], frame, HDR_BYTES);
		memset(sent->hdr[sent->count] + TIMES_AT, 0, TIMES_BYTES);
	}
	sent->count++;
	if (sent->count == sent->drop)
		sent->drop_psn = rd->psn;
	return sent->count == sent->drop ? SIM_DROP : SIM_PASS;
}

/* Opens a pair whose session is open; notes what a sends from now on. */
static void begin(struct pair *p, const struct pair_attr *attr, struct sent *sent)
{
	const struct post first = {.opcode = WEFT_WR_WRITE, .wr_id = 99, .bytes = 20000};

	pair_open(p, 1, attr);
	FIX_REQUIRE(p, post(&p->a, p->ab, &p->b, &first) == 0);
	expect(p, &p->a, 99, WEFT_WC_SUCCESS);
	memset(sent, 0, sizeof(*sent));
	sent->from = p->na;
	sim_set_filter(p->sim, note, sent);
	fill(p, 7, p->a.buf, BYTES);
}

static uint64_t runs(const struct sim_nic *nic)
{
	uint64_t packets;

	return sim_nic_runs(nic, &packets);
}

/*
 * Posts a request, whose packets wait for their receiver until all have come: the lines of a
 * simulation, other than the switch, bring them one by one.
 */
static void post_one(struct pair *p, const struct post *request)
{
	FIX_REQUIRE(p, post(&p->a, p->ab, &p->b, request) == 0);
	sim_run_for(p->sim, 2000);
	sim_nic_pause(request->opcode == WEFT_WR_READ ? p->na : p->nb, FIX_MS / 20);
}

static void receive(struct pair *p, uint64_t wr_id)
{
	struct weft_sge sge = sim_end_sge(&p->b, SINK, BYTES);
	struct weft_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1};

	FIX_REQUIRE(p, weft_post_recv(p->b.qp, &wr, NULL) == 0);
}

/* The packets are those that leave one by one, in the same order. */
static void same_packets(void)
{
	static struct sent sent[2];
	uint64_t counted[2][3];

	for (int lend = 0; lend < 2; lend++) {
		const struct post request = {.opcode = WEFT_WR_WRITE_IMM,
					     .wr_id = 1,
					     .bytes = BYTES,
					     .imm = 0x01020304,
					     .remote_offset = SINK};
		struct pair p;

		begin(&p, lend ? &checking : &plain, &sent[lend]);
		receive(&p, 2);
		post_one(&p, &request);
		expect(&p, &p.a, 1, WEFT_WC_SUCCESS);
		FIX_CHECK(&p, expect(&p, &p.b, 2, WEFT_WC_SUCCESS).imm == request.imm);
		FIX_CHECK(&p, filled(&p, 7, p.b.buf + SINK, BYTES));
		FIX_CHECK(&p, (runs(p.nb) > 0) == lend);
		FIX_CHECK(&p, sim_nic_stat(p.nb, "rx_frames") == sim_nic_stat(p.na, "tx_frames"));
		counted[lend][1] = sim_nic_stat(p.na, "tx_bytes");
		counted[lend][2] = sim_nic_stat(p.nb, "rx_bytes");
		counted[lend][0] = sim_nic_stat(p.nb, "rd_rx_packets");
		pair_close(&p);
	}
	CU_ASSERT_EQUAL(memcmp(counted[0], counted[1], sizeof(counted[0])), 0);
	CU_ASSERT_EQUAL(sent[0].count, sent[1].count);
	for (uint32_t i = 0; i < sent[0].count && i < FRAMES; i++)
		CU_ASSERT_EQUAL(memcmp(sent[0].hdr[i], sent[1].hdr[i], HDR_BYTES), 0);
}

/* Each kind of message, and those that a NIC sends to itself, with CRC32C and without. */
static void every_kind(void)
{
	static const enum weft_wr_opcode kinds[] = {WEFT_WR_SEND, WEFT_WR_WRITE, WEFT_WR_WRITE_IMM,
						    WEFT_WR_READ};
	static struct sent sent;

	for (uint32_t i = 0; i < 2 * sizeof(kinds) / sizeof(kinds[0]); i++) {
		enum weft_wr_opcode kind = kinds[i / 2];
		struct post request = {.opcode = kind, .wr_id = 1, .bytes = BYTES};
		struct pair p;

		begin(&p, i % 2 ? &checking : &lending, &sent);
		fill(&p, 8, p.b.buf + SINK, kind == WEFT_WR_READ ? BYTES : 0);
		request.remote_offset = SINK;
		receive(&p, 2);
		post_one(&p, &request);
		expect(&p, &p.a, 1, WEFT_WC_SUCCESS);
		if (kind == WEFT_WR_READ) {
			FIX_CHECK(&p, filled(&p, 8, p.a.buf, BYTES));
			FIX_CHECK(&p, runs(p.na) > 0);
		} else {
			FIX_CHECK(&p, filled(&p, 7, p.b.buf + SINK, BYTES));
			FIX_CHECK(&p, runs(p.nb) > 0);
		}
		if (kind == WEFT_WR_SEND || kind == WEFT_WR_WRITE_IMM)
			expect(&p, &p.b, 2, WEFT_WC_SUCCESS);
		FIX_CHECK(&p, !sim_nic_stat(p.nb, "drop_dgram_crc"));
		FIX_CHECK(&p, !sim_nic_stat(p.na, "rd_tx_retransmits"));
		pair_close(&p);
	}
}

/* One packet of a run is lost: the others come, and it alone is sent again. */
static void a_packet_lost(void)
{
	static struct sent sent;

	for (uint32_t lost = 1; lost <= 20; lost++) {
		struct post request = {.opcode = lost % 2 ? WEFT_WR_SEND : WEFT_WR_WRITE,
				       .wr_id = 1,
				       .bytes = BYTES,
				       .remote_offset = SINK};
		struct pair p;

		begin(&p, &lending, &sent);
		sent.drop = lost;
		receive(&p, 2);
		post_one(&p, &request);
		expect(&p, &p.a, 1, WEFT_WC_SUCCESS);
		FIX_CHECK(&p, filled(&p, 7, p.b.buf + SINK, BYTES));
		FIX_CHECK(&p, sim_nic_stat(p.na, "rd_tx_retransmits") == 1);
		FIX_CHECK(&p, !sim_nic_stat(p.nb, "rd_rx_duplicates"));
		pair_close(&p);
	}
}

/* Nothing is received of a Send without a receive; all of it comes when there is one. */
static void without_a_receive(void)
{
	const struct post request = {.opcode = WEFT_WR_SEND, .wr_id = 1, .bytes = BYTES};
	static struct sent sent;
	struct pair p;

	begin(&p, &lending, &sent);
	post_one(&p, &request);
	sim_run_for(p.sim, FIX_MS / 10);
	FIX_CHECK(&p, sim_nic_stat(p.nb, "rd_rx_refused") >= 2);
	receive(&p, 2);
	expect(&p, &p.a, 1, WEFT_WC_SUCCESS);
	expect(&p, &p.b, 2, WEFT_WC_SUCCESS);
	FIX_CHECK(&p, filled(&p, 7, p.b.buf + SINK, BYTES));
	pair_close(&p);
}

/* A receive that is too short, and memory that ends in the middle of a run: as packet by packet. */
static void at_fault(void)
{
	static struct sent sent;

	for (int write = 0; write < 2; write++) {
		struct post request = {
		    .opcode = write ? WEFT_WR_WRITE : WEFT_WR_SEND, .wr_id = 1, .bytes = BYTES};
		struct weft_sge sge;
		struct weft_recv_wr wr = {.wr_id = 2, .sg_list = &sge, .num_sge = 1};
		struct weft_mr *mr;
		struct pair p;

		begin(&p, &lending, &sent);
		mr = weft_reg_mr(p.b.pd, p.b.buf + SINK, 5000,
				 WEFT_ACCESS_REMOTE_WRITE | WEFT_ACCESS_LOCAL_WRITE);
		FIX_REQUIRE(&p, mr);
		request.rkey = mr->rkey;
		request.remote_offset = SINK;
		sge = sim_end_sge(&p.b, SINK, 5000);
		if (!write)
			FIX_REQUIRE(&p, weft_post_recv(p.b.qp, &wr, NULL) == 0);
		post_one(&p, &request);
		expect(&p, &p.a, 1, write ? WEFT_WC_REM_ACCESS_ERR : WEFT_WC_REM_INV_REQ_ERR);
		if (write)
			FIX_CHECK(&p, filled(&p, 7, p.b.buf + SINK, 1400));
		else
			expect(&p, &p.b, 2, WEFT_WC_LOC_LEN_ERR);
		FIX_CHECK(&p, all_bytes(p.b.buf + SINK + 5000, 0, 1000));
		FIX_CHECK(&p, weft_dereg_mr(mr) == 0);
		pair_close(&p);
	}
}

static bool has_sent(void *ctx)
{
	const struct sent *sent = ctx;

	return sent->count >= 8;
}

/* With CRC32C: a process that writes to what it sends loses those packets, and no more. */
static void changed_under_way(void)
{
	const struct post request = {
	    .opcode = WEFT_WR_WRITE, .wr_id = 1, .bytes = BYTES, .remote_offset = SINK};
	static struct sent sent;
	struct pair p;

	begin(&p, &checking, &sent);
	post_one(&p, &request);
	FIX_REQUIRE(&p, sim_run_until(p.sim, has_sent, &sent, FIX_LIMIT_NS));
	fill(&p, 9, p.a.buf, BYTES);
	expect(&p, &p.a, 1, WEFT_WC_SUCCESS);
	FIX_CHECK(&p, sim_nic_stat(p.nb, "drop_dgram_crc") >= 1);
	FIX_CHECK(&p, filled(&p, 9, p.b.buf + SINK, BYTES));
	pair_close(&p);
}

/* Pieces of memory and packets end at different places. */
static void many_pieces(void)
{
	struct weft_sge from[5], to[4];
	const struct post request = {.opcode = WEFT_WR_SEND, .wr_id = 1, .sge = from, .num_sge = 5};
	struct weft_recv_wr wr = {.wr_id = 2, .sg_list = to, .num_sge = 4};
	uint32_t i, at;
	static struct sent sent;
	struct pair p;

	begin(&p, &lending, &sent);
	for (i = at = 0; i < 5; at += from[i++].bytes)
		from[i] = sim_end_sge(&p.a, at, i < 4 ? 1 + i * 3333 : BYTES - at);
	for (i = at = 0; i < 4; at += to[i++].bytes)
		to[i] = sim_end_sge(&p.b, SINK + at, i < 3 ? 5000 + i : BYTES - at);
	FIX_REQUIRE(&p, weft_post_recv(p.b.qp, &wr, NULL) == 0);
	post_one(&p, &request);
	expect(&p, &p.a, 1, WEFT_WC_SUCCESS);
	expect(&p, &p.b, 2, WEFT_WC_SUCCESS);
	FIX_CHECK(&p, filled(&p, 7, p.b.buf + SINK, BYTES));
	FIX_CHECK(&p, runs(p.nb) > 0);
	pair_close(&p);
}

/* A session that was idle has few credits left, and a window to begin with: a run keeps to both. */
static void after_a_pause(void)
{
	const struct post request = {
	    .opcode = WEFT_WR_WRITE, .wr_id = 1, .bytes = BYTES, .remote_offset = SINK};
	static struct sent sent;
	struct pair p;

	begin(&p, &lending, &sent);
	for (int round = 0; round < 12; round++) {
		for (int i = 0; i < 10; i++) {
			FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &request) == 0);
			expect(&p, &p.a, 1, WEFT_WC_SUCCESS);
		}
		sim_run_for(p.sim, 10 * FIX_MS);
		sent.count = 0;
		FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &request) == 0);
		sim_run_for(p.sim, 2000);
		FIX_CHECK(&p, sent.count > 0 && sent.count <= CREDITS_IDLE);
		expect(&p, &p.a, 1, WEFT_WC_SUCCESS);
	}
	FIX_CHECK(&p, sim_nic_stat(p.nb, "drop_rd_ungranted") == 0);
	FIX_CHECK(&p, sim_nic_stat(p.na, "rd_tx_retransmits") == 0);
	pair_close(&p);
}

/* The only session of a NIC. */
static struct rd_session *session_of(struct sim_nic *nic, struct sim_nic *peer)
{
	return rd_session_find(sim_nic_fw(nic, 0), sim_nic_ip(peer), 0);
}

/* Messages of whole packets, and of a byte more and less; of one packet, of whole runs. */
static void exact_lengths(void)
{
	static const uint32_t packets[] = {1, 2, 15, 16, 17, 32};
	static struct sent sent;
	struct pair p;

	begin(&p, &lending, &sent);
	for (uint32_t i = 0; i < 3 * sizeof(packets) / sizeof(packets[0]); i++) {
		uint32_t segment = session_of(p.na, p.nb)->segment_bytes;
		uint32_t bytes = packets[i / 3] * segment + i % 3 - 1;
		const struct post request = {.opcode = WEFT_WR_SEND, .wr_id = 1, .bytes = bytes};
		uint64_t before = sim_nic_stat(p.na, "rd_tx_packets");

		memset(p.b.buf + SINK, 0, BYTES);
		receive(&p, 2);
		post_one(&p, &request);
		expect(&p, &p.a, 1, WEFT_WC_SUCCESS);
		FIX_CHECK(&p, expect(&p, &p.b, 2, WEFT_WC_SUCCESS).bytes == bytes);
		FIX_CHECK(&p, memcmp(p.a.buf, p.b.buf + SINK, bytes) == 0);
		FIX_CHECK(&p, p.b.buf[SINK + bytes] == 0);
		FIX_CHECK(&p, sim_nic_stat(p.na, "rd_tx_packets") - before ==
				  (bytes + segment - 1) / segment);
		/* Its credits are not those of a session that was idle. */
		sim_run_for(p.sim, FIX_MS / 10);
	}
	FIX_CHECK(&p, runs(p.nb) > 0);
	FIX_CHECK(&p, sim_nic_stat(p.na, "rd_tx_retransmits") == 0);
	pair_close(&p);
}

/* PSNs pass 2^32, and counts of credits pass 256 many times. */
static void counts_wrap(void)
{
	const struct post request = {
	    .opcode = WEFT_WR_WRITE, .wr_id = 1, .bytes = BYTES, .remote_offset = SINK};
	const struct post first = {.opcode = WEFT_WR_WRITE, .wr_id = 99, .bytes = 8};
	uint32_t psn, wraps = 0;
	struct pair p;

	pair_open(&p, 1, &wrapping);
	FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &first) == 0);
	expect(&p, &p.a, 99, WEFT_WC_SUCCESS);
	psn = session_of(p.na, p.nb)->tx_psn;
	for (uint32_t round = 0; round < 60; round++) {
		fill(&p, round, p.a.buf, BYTES);
		FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &request) == 0);
		sim_run_for(p.sim, 2000 + 50 * round);
		sim_nic_pause(p.nb, FIX_MS / 20);
		expect(&p, &p.a, 1, WEFT_WC_SUCCESS);
		FIX_CHECK(&p, filled(&p, round, p.b.buf + SINK, BYTES));
		wraps += session_of(p.na, p.nb)->tx_psn < psn;
		psn = session_of(p.na, p.nb)->tx_psn;
	}
	FIX_CHECK(&p, wraps == 1);
	FIX_CHECK(&p, runs(p.nb) > 60);
	FIX_CHECK(&p, sim_nic_stat(p.nb, "drop_rd_ungranted") == 0);
	FIX_CHECK(&p, sim_nic_stat(p.nb, "drop_rd_window") == 0);
	FIX_CHECK(&p, sim_nic_stat(p.na, "rd_tx_retransmits") == 0);
	pair_close(&p);
}

/* A window below one packet: packets leave one by one, each at its time. */
static void below_one_packet(void)
{
	const struct post request = {
	    .opcode = WEFT_WR_WRITE, .wr_id = 1, .bytes = BYTES, .remote_offset = SINK};
	static struct sent sent;
	struct rd_session *s;
	struct pair p;

	begin(&p, &lending, &sent);
	s = session_of(p.na, p.nb);
	s->slow_start = false;
	s->cwnd_fp = 64; /* a quarter of a packet */
	s->cwnd = 1;
	FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &request) == 0);
	sim_run_for(p.sim, FIX_MS / 20);
	FIX_CHECK(&p, sent.count == 1);
	FIX_CHECK(&p, s->sent <= 1);
	sim_run_for(p.sim, FIX_MS / 2);
	FIX_CHECK(&p, sent.count > 1 && sent.count <= 6);
	expect(&p, &p.a, 1, WEFT_WC_SUCCESS);
	FIX_CHECK(&p, filled(&p, 7, p.b.buf + SINK, BYTES));
	FIX_CHECK(&p, sim_nic_stat(p.na, "rd_tx_retransmits") == 0);
	pair_close(&p);
}

/* A packet of a run that never comes is withdrawn; what is behind it goes under new PSNs. */
static void withdrawn(void)
{
	const struct post request = {
	    .opcode = WEFT_WR_SEND, .wr_id = 1, .bytes = BYTES, .remote_offset = SINK};
	static struct sent sent;

	for (uint32_t lost = 1; lost <= 16; lost += 5) {
		struct pair p;

		begin(&p, &lending, &sent);
		sent.drop = lost;
		sent.drop_all = true;
		receive(&p, 2);
		post_one(&p, &request);
		expect(&p, &p.a, 1, WEFT_WC_SUCCESS);
		expect(&p, &p.b, 2, WEFT_WC_SUCCESS);
		FIX_CHECK(&p, filled(&p, 7, p.b.buf + SINK, BYTES));
		FIX_CHECK(&p, sim_nic_stat(p.na, "rd_tx_voids") > 0);
		FIX_CHECK(&p, sim_nic_stat(p.nb, "drop_rd_ungranted") == 0);
		pair_close(&p);
	}
}

/* The sender's, then the receiver's QP ends while runs are under way, and the session itself. */
static void ends_in_the_middle(void)
{
	const struct post request = {
	    .opcode = WEFT_WR_WRITE, .wr_id = 1, .bytes = BYTES, .remote_offset = SINK};
	const struct weft_qp_attr error = {.state = WEFT_QPS_ERR};
	static struct sent sent;

	for (int end = 0; end < 3; end++) {
		struct weft_wc wc;
		struct pair p;

		begin(&p, &lending, &sent);
		post_one(&p, &request);
		if (end == 2)
			rd_session_renew(sim_nic_fw(p.nb, 0), session_of(p.nb, p.na));
		else
			FIX_REQUIRE(
			    &p, weft_modify_qp(end ? p.b.qp : p.a.qp, &error, WEFT_QP_STATE) == 0);
		FIX_REQUIRE(&p, sim_end_wait(&p.a, &wc, 1, FIX_LIMIT_NS) == 1);
		FIX_CHECK(&p, wc.wr_id == 1 && wc.status != WEFT_WC_SUCCESS);
		FIX_CHECK(&p, all_bytes(p.b.buf + SINK + BYTES, 0, 1000));
		pair_close(&p);
	}
}

/* NIC of two shards: each session lies in one of each, and runs find it. */
static void several_shards(void)
{
	const struct post request = {.opcode = WEFT_WR_SEND, .wr_id = 1, .bytes = BYTES};
	static struct sent sent;
	struct pair p;

	begin(&p, &sharded, &sent);
	receive(&p, 2);
	post_one(&p, &request);
	expect(&p, &p.a, 1, WEFT_WC_SUCCESS);
	expect(&p, &p.b, 2, WEFT_WC_SUCCESS);
	FIX_CHECK(&p, filled(&p, 7, p.b.buf + SINK, BYTES));
	FIX_CHECK(&p, runs(p.nb) > 0);
	pair_close(&p);
}

UT_MAIN("sim/rd_run", UT(same_packets), UT(every_kind), UT(a_packet_lost), UT(without_a_receive),
	UT(at_fault), UT(changed_under_way), UT(many_pieces), UT(after_a_pause), UT(exact_lengths),
	UT(counts_wrap), UT(below_one_packet), UT(withdrawn), UT(ends_in_the_middle),
	UT(several_shards))
