/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unreliable datagrams: received messages are whole and right, lost ones are counted, and no
 * stranger's error stops a queue pair.
 */
#include "tests/sim/sim_fix.h"

#include <arpa/inet.h>

#include "shared_defs/wire_dgram.h"
#include "shared_defs/wire_eth.h"
#include "shared_defs/wire_ip.h"

enum {
	SINK = 512 * 1024,
	GRH = 40,
	LONG_MAX = 65536,
	DGRAM_AT = sizeof(struct wire_eth) + sizeof(struct wire_ip) + sizeof(struct wire_udp),
};

static const struct pair_attr ud = {.a = {.type = WEFT_QPT_UD}, .same = true};
static const struct pair_attr ud_long = {.a = {.type = WEFT_QPT_UD, .qp_flags = WEFT_QP_F_UD_LONG},
					 .same = true};

static uint32_t max_bytes(struct pair *p, bool is_long)
{
	struct weft_device_attr attr;

	FIX_REQUIRE(p, weft_query_device(p->a.context, &attr) == 0);
	return is_long ? attr.max_ud_long_bytes : attr.max_ud_bytes;
}

/* Sizes up to the MTU; the GRH names the sender; no byte is written past the message. */
static void sizes_and_grh(void)
{
	struct pair p;
	uint64_t seed;
	uint32_t i, max;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		pair_open(&p, seed, &ud);
		max = max_bytes(&p, false);
		FIX_CHECK(&p, max > 3900 && max <= 4096);
		for (i = 0; i <= max; i = i == max       ? max + 1
					  : i < 64       ? i + 1
					  : i + 97 < max ? i + 97
							 : max) {
			struct post request = {.opcode = i % 2 ? WEFT_WR_SEND : WEFT_WR_SEND_IMM,
					       .wr_id = i,
					       .bytes = i,
					       .imm = i * 3};
			struct wire_ip ip;
			struct weft_wc wc;
			uint32_t src;

			fill(&p, i, p.a.buf, i);
			memset(p.b.buf + SINK, 0xee, 8192);
			FIX_REQUIRE(&p, sim_end_recv(&p.b, i, SINK, i + GRH + 8) == 0);
			FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &request) == 0);
			wc = expect(&p, &p.b, i, WEFT_WC_SUCCESS);
			FIX_CHECK(&p, wc.bytes == i + GRH && (wc.flags & WEFT_WC_F_GRH));
			FIX_CHECK(&p, wc.opcode == WEFT_WC_RECV && wc.src_qpn == p.a.qp->qpn);
			FIX_CHECK(&p, !(wc.flags & WEFT_WC_F_IMM) == (i % 2 == 1));
			if (wc.flags & WEFT_WC_F_IMM)
				FIX_CHECK(&p, wc.imm == i * 3);
			memcpy(&ip, p.b.buf + SINK + GRH - sizeof(ip), sizeof(ip));
			memcpy(&src, &ip.src, sizeof(src));
			FIX_CHECK(&p, ip.version_ihl == WIRE_IP_VERSION_IHL &&
					  src == sim_nic_ip(p.na) && wc.src_ip == src);
			FIX_CHECK(&p, filled(&p, i, p.b.buf + SINK + GRH, i));
			FIX_CHECK(&p, all_bytes(p.b.buf + SINK + GRH + i, 0xee, 1000));
			wc = expect(&p, &p.a, i, WEFT_WC_SUCCESS);
			FIX_CHECK(&p, wc.opcode == WEFT_WC_SEND);
		}
		pair_close(&p);
	}
}

/* One byte more than the limit never leaves; the next message does. */
static void over_the_limit(void)
{
	struct weft_qp_attr attr = {.state = WEFT_QPS_RTS};
	struct pair p;
	int is_long;

	for (is_long = 0; is_long < 2; is_long++) {
		struct post request = {.wr_id = 1};
		uint64_t sent;
		int rc;

		pair_open(&p, 1, is_long ? &ud_long : &ud);
		sim_run_for(p.sim, FIX_MS); /* ARP is over */
		request.bytes = max_bytes(&p, is_long) + 1;
		sent = sim_nic_stat(p.na, "tx_frames");
		rc = post(&p.a, p.ab, &p.b, &request);
		if (!rc)
			expect(&p, &p.a, 1, WEFT_WC_LOC_LEN_ERR);
		else
			FIX_CHECK(&p, rc == -EINVAL);
		FIX_CHECK(&p, sim_nic_stat(p.na, "tx_frames") == sent);
		if (!rc) /* a local error stops the send queue; verbs bring it back from SQE */
			FIX_REQUIRE(&p, weft_modify_qp(p.a.qp, &attr, WEFT_QP_STATE) == 0);
		request.bytes--;
		FIX_REQUIRE(&p, sim_end_recv(&p.b, 2, SINK, LONG_MAX + GRH) == 0);
		FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &request) == 0);
		expect(&p, &p.b, 2, WEFT_WC_SUCCESS);
		expect(&p, &p.a, 1, WEFT_WC_SUCCESS);
		pair_close(&p);
	}
}

static void no_receive(void)
{
	struct pair p;
	uint32_t i;
	int is_long;

	for (is_long = 0; is_long < 2; is_long++) {
		struct post request = {.bytes = is_long ? 30000 : 1000};

		pair_open(&p, 1, is_long ? &ud_long : &ud);
		for (i = 1; i <= 5; i++) {
			request.wr_id = i;
			FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &request) == 0);
			expect(&p, &p.a, i, WEFT_WC_SUCCESS);
		}
		FIX_CHECK(&p, silent(&p, &p.b, FIX_MS));
		FIX_CHECK(&p, sim_nic_stat(p.nb, "drop_ud_no_receive") == 5);
		fill(&p, 1, p.a.buf, request.bytes);
		FIX_REQUIRE(&p, sim_end_recv(&p.b, 6, SINK, LONG_MAX) == 0);
		FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &request) == 0);
		expect(&p, &p.b, 6, WEFT_WC_SUCCESS);
		FIX_CHECK(&p, filled(&p, 1, p.b.buf + SINK + (is_long ? 0 : GRH), request.bytes));
		pair_close(&p);
	}
}

/* LOC_LEN_ERR consumes the receive, writes nothing past it, and the QP goes on. */
static void receive_too_short(void)
{
	struct pair p;
	int is_long;

	for (is_long = 0; is_long < 2; is_long++) {
		uint32_t grh = is_long ? 0 : GRH;
		struct post request = {.wr_id = 1, .bytes = is_long ? 30000 : 1000};

		pair_open(&p, 1, is_long ? &ud_long : &ud);
		memset(p.b.buf + SINK, 0xee, 65536);
		FIX_REQUIRE(&p, sim_end_recv(&p.b, 7, SINK, request.bytes + grh - 1) == 0);
		FIX_REQUIRE(&p, sim_end_recv(&p.b, 8, SINK, request.bytes + grh) == 0);
		FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &request) == 0);
		expect(&p, &p.b, 7, WEFT_WC_LOC_LEN_ERR);
		FIX_CHECK(&p, all_bytes(p.b.buf + SINK + request.bytes + grh - 1, 0xee, 1000));
		expect(&p, &p.a, 1, WEFT_WC_SUCCESS);
		fill(&p, 1, p.a.buf, request.bytes);
		FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &request) == 0);
		expect(&p, &p.b, 8, WEFT_WC_SUCCESS);
		FIX_CHECK(&p, filled(&p, 1, p.b.buf + SINK + grh, request.bytes));
		FIX_CHECK(&p, sim_nic_stat(p.nb, "drop_ud_too_long") == 1);
		pair_close(&p);
	}
}

static void wrong_qkey(void)
{
	struct weft_sge sge;
	struct weft_send_wr wr = {.wr_id = 1,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = WEFT_WR_SEND,
				  .flags = WEFT_SEND_SIGNALED,
				  .qkey = SIM_END_QKEY + 1};
	struct pair p;

	pair_open(&p, 1, &ud);
	sge = sim_end_sge(&p.a, 0, 10);
	wr.ah = p.ab;
	wr.dst_qpn = p.b.qp->qpn;
	FIX_REQUIRE(&p, sim_end_recv(&p.b, 2, SINK, 100) == 0);
	FIX_REQUIRE(&p, weft_post_send(p.a.qp, &wr, NULL) == 0);
	expect(&p, &p.a, 1, WEFT_WC_SUCCESS);
	FIX_CHECK(&p, silent(&p, &p.b, FIX_MS));
	FIX_CHECK(&p, sim_nic_stat(p.nb, "drop_qkey") == 1);
	wr.qkey = 0x80000000; /* the QP's own */
	FIX_REQUIRE(&p, weft_post_send(p.a.qp, &wr, NULL) == 0);
	expect(&p, &p.b, 2, WEFT_WC_SUCCESS);
	pair_close(&p);
}

/*
 * Long messages over a lossy link: each arrives whole and right or not at all, and consumes a
 * receive only when it arrives.
 */
static void long_with_faults(void)
{
	enum {
		COUNT = 200
	};
	struct pair p;
	uint64_t seed;
	uint32_t i, posted, got, n, id;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		struct weft_wc wc;

		pair_open(&p, seed, &ud_long);
		pair_faults(&p, FIX_FAULTS);
		for (i = 0; i < 4; i++)
			FIX_REQUIRE(&p, sim_end_recv(&p.b, i, SINK + i * LONG_MAX, LONG_MAX) == 0);
		for (posted = got = 0; posted < COUNT; posted++) {
			struct post request = {.opcode = WEFT_WR_SEND_IMM,
					       .wr_id = posted,
					       .imm = posted,
					       .bytes = 1 + posted * 331 % LONG_MAX};

			fill(&p, posted, p.a.buf, request.bytes);
			FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &request) == 0);
			expect(&p, &p.a, posted, WEFT_WC_SUCCESS);
			for (n = 1; n; got += n) {
				n = sim_end_wait(&p.b, &wc, 1, 100000);
				if (!n)
					break;
				FIX_REQUIRE(&p, wc.status == WEFT_WC_SUCCESS);
				FIX_CHECK(&p, wc.bytes == 1 + wc.imm * 331 % LONG_MAX);
				FIX_CHECK(&p,
					  filled(&p, wc.imm, p.b.buf + SINK + wc.wr_id * LONG_MAX,
						 wc.bytes));
				id = (uint32_t)wc.wr_id;
				FIX_REQUIRE(&p, sim_end_recv(&p.b, id, SINK + id * LONG_MAX,
							     LONG_MAX) == 0);
			}
		}
		/*
		 * About 9 frames a message: nine in ten arrive. A duplicated one may arrive twice.
		 */
		FIX_CHECK(&p, got > COUNT * 3 / 4 && got < COUNT + COUNT / 10);
		sim_run_for(p.sim, 300 * FIX_MS);
		FIX_CHECK(&p, sim_nic_stat(p.nb, "ud_reassembly_timeouts") > 0);
		FIX_CHECK(&p, sim_nic_stat(p.nb, "drop_ud_no_receive") == 0);
		pair_close(&p);
	}
}

static struct post record_of(uint32_t bytes)
{
	return (struct post){.opcode = WEFT_WR_WRITE_RECORD,
			     .wr_id = bytes,
			     .bytes = bytes,
			     .remote_offset = SINK + 1024};
}

static void record_complete(void)
{
	struct pair p;
	uint64_t seed;
	uint32_t size;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		pair_open(&p, seed, &ud_long);
		for (size = 1; size <= LONG_MAX; size = size * 3 + 1) {
			struct post request = record_of(size);
			uint32_t pieces;
			struct weft_wc wc;

			fill(&p, size, p.a.buf, size);
			memset(p.b.buf + SINK, 0xee, LONG_MAX + 2048);
			FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &request) == 0);
			FIX_REQUIRE(&p, sim_end_wait(&p.b, &wc, 1, FIX_LIMIT_NS) == 1);
			FIX_CHECK(&p, wc.status == WEFT_WC_SUCCESS &&
					  wc.opcode == WEFT_WC_RECV_WRITE_RECORD);
			FIX_CHECK(&p, wc.bytes == size && !(wc.flags & WEFT_WC_F_PARTIAL));
			FIX_CHECK(&p, wc.record_stag == p.b.mr->rkey && wc.src_qpn == p.a.qp->qpn);
			FIX_CHECK(&p, wc.record_to == (uintptr_t)p.b.buf + SINK + 1024);
			FIX_REQUIRE(&p, wc.record_piece_bytes > 0);
			pieces = (size + wc.record_piece_bytes - 1) / wc.record_piece_bytes;
			FIX_CHECK(&p,
				  wc.record_map ==
				      (pieces == 64 ? UINT64_MAX : (UINT64_C(1) << pieces) - 1));
			FIX_CHECK(&p, filled(&p, size, p.b.buf + SINK + 1024, size));
			FIX_CHECK(&p, all_bytes(p.b.buf + SINK, 0xee, 1024));
			FIX_CHECK(&p, all_bytes(p.b.buf + SINK + 1024 + size, 0xee, 1024));
			expect(&p, &p.a, size, WEFT_WC_SUCCESS);
		}
		pair_close(&p);
	}
}

/* Drops datagrams whose sequence number has its bit set. */
struct picker {
	uint64_t drop;
	uint32_t n;
};

static enum sim_verdict pick(void *ctx, struct sim_nic *from, uint8_t *frame, size_t bytes)
{
	struct picker *pick = ctx;

	if (sim_nic_index(from) || bytes < 100 || frame[12] != 8 || frame[13] != 0)
		return SIM_PASS;
	return pick->drop >> pick->n++ & 1 ? SIM_DROP : SIM_PASS;
}

/* With pieces missing, a timer completes the record; the map and the memory agree. */
static void record_partial(void)
{
	enum {
		SIZE = 40000
	};
	struct pair p;
	uint64_t seed;
	uint32_t i;

	for (seed = 1; seed <= 20; seed++) {
		struct post request = record_of(SIZE);
		struct picker picker = {0};
		static uint8_t want[SIZE];
		struct weft_wc wc;

		pair_open(&p, seed, &ud_long);
		sim_set_filter(p.sim, pick, &picker);
		/* A record is never complete. */
		picker.drop = sim_prng_next(&p.prng) & 0x3ff;
		if (!picker.drop || picker.drop == 0x3ff)
			picker.drop = 1;
		fill(&p, 1, p.a.buf, SIZE);
		fill(&p, 1, want, SIZE);
		memset(p.b.buf + SINK, 0xee, SIZE + 2048);
		FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &request) == 0);
		expect(&p, &p.a, SIZE, WEFT_WC_SUCCESS);
		FIX_REQUIRE(&p, sim_end_wait(&p.b, &wc, 1, FIX_LIMIT_NS) == 1);
		FIX_CHECK(&p, wc.status == WEFT_WC_SUCCESS && wc.bytes == SIZE);
		FIX_CHECK(&p, wc.flags & WEFT_WC_F_PARTIAL);
		FIX_REQUIRE(&p, wc.record_piece_bytes > 0);
		for (i = 0; i * wc.record_piece_bytes < SIZE; i++) {
			uint32_t at = i * wc.record_piece_bytes;
			uint32_t n =
			    SIZE - at < wc.record_piece_bytes ? SIZE - at : wc.record_piece_bytes;

			if (wc.record_map >> i & 1)
				FIX_CHECK(&p, !memcmp(p.b.buf + SINK + 1024 + at, want + at, n));
			else
				FIX_CHECK(&p, all_bytes(p.b.buf + SINK + 1024 + at, 0xee, n));
		}
		/* No more is missing than was dropped. */
		FIX_CHECK(&p, (uint32_t)__builtin_popcountll(wc.record_map) +
				      (uint32_t)__builtin_popcountll(picker.drop) >=
				  picker.n);
		FIX_CHECK(&p, sim_nic_stat(p.nb, "ud_rx_records_partial") == 1);
		sim_set_filter(p.sim, NULL, NULL);
		pair_close(&p);
	}
}

/* A record to memory that may not be written: nothing changes, the sender's QP gets an event. */
static void record_refused(void)
{
	struct weft_async_event event;
	struct pair p;
	int i;

	for (i = 0; i < 3; i++) {
		struct post request = record_of(5000);
		struct weft_mr *mr;

		pair_open(&p, 1, &ud_long);
		mr = weft_reg_mr(p.b.pd, p.b.buf + SINK, 4096,
				 i == 0 ? WEFT_ACCESS_LOCAL_WRITE | WEFT_ACCESS_REMOTE_READ
					: WEFT_ACCESS_LOCAL_WRITE | WEFT_ACCESS_REMOTE_WRITE);
		FIX_REQUIRE(&p, mr != NULL);
		request.rkey = i == 1 ? mr->rkey ^ 0x81 : mr->rkey;
		request.remote_offset = i == 2 ? SINK + 4000 : SINK;
		request.bytes = 1000;
		memset(p.b.buf, 0x55, p.b.bytes);
		FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &request) == 0);
		expect(&p, &p.a, 5000, WEFT_WC_SUCCESS);
		FIX_CHECK(&p, silent(&p, &p.b, 200 * FIX_MS));
		FIX_CHECK(&p, all_bytes(p.b.buf, 0x55, p.b.bytes));
		FIX_CHECK(&p, sim_nic_stat(p.nb, "drop_ud_protection") == 1);
		FIX_REQUIRE(&p, weft_get_async_event(p.a.context, &event) == 0);
		FIX_CHECK(&p, event.type == WEFT_EVENT_PEER_ERROR && event.qp == p.a.qp);
		FIX_CHECK(&p, event.peer_ip == sim_nic_ip(p.nb));
		weft_ack_async_event(&event);
		/* Both QPs work still. */
		FIX_REQUIRE(&p, sim_end_recv(&p.b, 2, SINK, 100) == 0);
		request = (struct post){.wr_id = 3, .bytes = 100};
		FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &request) == 0);
		expect(&p, &p.b, 2, WEFT_WC_SUCCESS);
		pair_close(&p);
	}
}

/* To the NIC's own address the same engines are used. */
static void loopback(void)
{
	struct post request = {.wr_id = 1, .bytes = 2000};
	struct sim_end other;
	struct weft_ah *self;
	struct pair p;

	pair_open(&p, 1, &ud);
	FIX_REQUIRE(&p, sim_end_open(&other, p.na, &ud.a) == 0);
	self = sim_end_ah(&p.a, p.na);
	FIX_REQUIRE(&p, self != NULL);
	fill(&p, 1, p.a.buf, 2000);
	FIX_REQUIRE(&p, sim_end_recv(&other, 2, SINK, 4096) == 0);
	FIX_REQUIRE(&p, post(&p.a, self, &other, &request) == 0);
	expect(&p, &other, 2, WEFT_WC_SUCCESS);
	FIX_CHECK(&p, filled(&p, 1, other.buf + SINK + GRH, 2000));
	FIX_CHECK(&p, sim_nic_counts(p.na)->loop_frames == 1);
	sim_end_close(&other);
	pair_close(&p);
}

UT_MAIN("sim/ud", UT(sizes_and_grh), UT(over_the_limit), UT(no_receive), UT(receive_too_short),
	UT(wrong_qkey), UT(long_with_faults), UT(record_complete), UT(record_partial),
	UT(record_refused), UT(loopback))
