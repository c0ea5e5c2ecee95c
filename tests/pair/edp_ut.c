/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * EDP: ports, echo, unreachable, and frames that are short, padded or damaged.
 *
 * Runs nic_fw/stream/edp.c below two ends of esp_pair.c. The frames of tests/golden/wire_esp.hex
 * are what a connection must look like on the wire, byte for byte; docs/wire-esp.md has the rules.
 */
#include <stdlib.h>

#include "tests/golden.h"
#include "tests/pair/esp_pair.h"

enum {
	EDP_AT = sizeof(struct wire_eth),
	ESP_AT = EDP_AT + sizeof(struct wire_edp),
	MAX_FRAME = 2048,
};

static struct ep ep;

static enum bench_verdict copy_all(struct ep *e, const struct ep_info *info)
{
	(void)e;
	(void)info;
	return BENCH_COPY;
}

static struct bench_frame golden(const char *name, uint32_t to)
{
	struct bench_frame f = {.to = to};

	f.b = calloc(1, MAX_FRAME);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f.b);
	f.n = (uint32_t)golden_load("wire_esp.hex", name, f.b, MAX_FRAME);
	return f;
}

static void expect_kept(uint32_t i, const char *name)
{
	struct bench_frame want = golden(name, 0);

	CU_ASSERT_FATAL(i < ep.wire.num_kept);
	if (ep.wire.kept[i].n != want.n || memcmp(ep.wire.kept[i].b, want.b, want.n))
		printf("\nframe %u is not %s\n", i, name);
	CU_ASSERT_EQUAL(ep.wire.kept[i].n, want.n);
	CU_ASSERT_EQUAL(memcmp(ep.wire.kept[i].b, want.b, want.n), 0);
	free(want.b);
}

/* Any EDP packet of end 1, to end 0; sealed by ep_send_forged(). */
static struct bench_frame packet(uint8_t type, uint16_t dst_port, uint16_t src_port, uint32_t bytes)
{
	struct bench_frame f = ep_forge(&ep, 1, 0, false, 0, NULL, 0);
	struct wire_edp *edp;

	f.n = ESP_AT + bytes + WIRE_EDP_CRC_BYTES;
	f.b = realloc(f.b, f.n);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f.b);
	memset(f.b + ESP_AT, 0x5a, bytes);
	edp = (void *)(f.b + EDP_AT);
	edp->ver_type = (uint8_t)(WIRE_EDP_VERSION << 4 | type);
	edp->bytes = be16_put((uint16_t)(sizeof(*edp) + bytes));
	edp->dst_port = be16_put(dst_port);
	edp->src_port = be16_put(src_port);
	return f;
}

/* ---- the wire ------------------------------------------------------------------------------ */

static void a_connection_byte_for_byte(void)
{
	static const char *const names[] = {"syn",      "syn_ack", "ack",     "data",
					    "data_ack", "fin",     "fin_ack", "last_ack"};
	uint32_t i;

	ep_begin(&ep);
	ep.payload_bytes = 4;
	ep.randoms = 0;
	ep_mark(&ep, copy_all, 0);
	ep_opened(&ep);
	ep_send(&ep, 0, 1);
	ep_run(&ep, EP_MS);
	ep_close(&ep, 0);
	CU_ASSERT_TRUE(ep_idle(&ep, EP_S));
	CU_ASSERT_EQUAL(ep.wire.num_kept, 8);
	for (i = 0; i < 8; i++)
		expect_kept(i, names[i]);
	ep_end(&ep);
}

static void ports_of_each_shard(void)
{
	uint32_t a, i;
	bool all;

	for (a = 0; a < WIRE_EDP_SHARDS; a++) {
		memset(&ep, 0, sizeof(ep));
		ep.shard[0] = (uint8_t)a;
		ep.shard[1] = (uint8_t)(7 - a);
		ep_begin_with(&ep);
		ep_mark(&ep, copy_all, 0);
		ep_opened(&ep);
		ep_send(&ep, 0, 3);
		ep_send(&ep, 1, 3);
		ep_run(&ep, EP_MS);
		CU_ASSERT_EQUAL(ep.end[0].stream->local_port, 0x4000 + 0x1000 * a + 1);
		CU_ASSERT_EQUAL(ep.end[1].stream->local_port, 0x4000 + 0x1000 * (7 - a) + 1);
		CU_ASSERT_TRUE(ep.wire.num_kept >= 9);
		/* The SYN goes to the master port; every frame is its shard's by its port alone. */
		CU_ASSERT_EQUAL(ep.wire.kept[0].b[EDP_AT + 4] << 8 | ep.wire.kept[0].b[EDP_AT + 5],
				0x4000 + 0x1000 * (7 - a));
		for (i = 0; i < ep.wire.num_kept; i++)
			CU_ASSERT_EQUAL(fw_steer(ep.wire.kept[i].b, ep.wire.kept[i].n,
						 WIRE_EDP_SHARDS, NULL, &all),
					ep.shard[ep.wire.kept[i].to]);
		ep_end(&ep);
	}
}

/* ---- echo ---------------------------------------------------------------------------------- */

static void echo_byte_for_byte(void)
{
	struct bench_frame f;

	ep_begin(&ep);
	ep_mark(&ep, copy_all, 0);
	f = golden("echo", 0);
	bench_wire_inject(&ep.wire, 0, f.b, f.n);
	ep_settle(&ep);
	CU_ASSERT_EQUAL(ep.wire.num_kept, 1);
	expect_kept(0, "echo_reply");
	CU_ASSERT_EQUAL(EP_CNT(&ep, 0, edp_echo_rx), 1);
	/* Ethernet has padded the frame: the reply has no padding and the same data. */
	memset(f.b + f.n, 0xee, 60 - f.n);
	bench_wire_inject(&ep.wire, 0, f.b, 60);
	ep_settle(&ep);
	expect_kept(1, "echo_reply");
	free(f.b);
	ep_end(&ep);
}

static void echo_limits(void)
{
	static const uint32_t sizes[] = {0, 1, 1023, 1024};
	static const uint16_t ports[] = {0, 1, 0x4000, 0x4001, 0xbfff, 0xffff};
	uint32_t i, k, want = 0;

	ep_begin(&ep);
	ep_mark(&ep, copy_all, 0);
	for (i = 0; i < 4; i++) {
		for (k = 0; k < 6; k++) {
			struct bench_frame f =
			    packet(WIRE_EDP_ECHO, ports[k], (uint16_t)~ports[k], sizes[i]);
			uint8_t *copy = malloc(f.n);
			const struct wire_edp *edp;

			CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
			memcpy(copy, f.b, f.n);
			ep_send_forged(&ep, f);
			CU_ASSERT_EQUAL_FATAL(ep.wire.num_kept, ++want);
			f = ep.wire.kept[want - 1];
			edp = (void *)(f.b + EDP_AT);
			CU_ASSERT_EQUAL(f.n, ESP_AT + sizes[i] + WIRE_EDP_CRC_BYTES);
			CU_ASSERT_EQUAL(edp->ver_type, WIRE_EDP_VERSION << 4 | WIRE_EDP_ECHO_REPLY);
			CU_ASSERT_EQUAL(be16_get(edp->src_port), ports[k]);
			CU_ASSERT_EQUAL(be16_get(edp->dst_port), (uint16_t)~ports[k]);
			CU_ASSERT_EQUAL(memcmp(f.b + ESP_AT, copy + ESP_AT, sizes[i]), 0);
			free(copy);
		}
	}
	/* One byte too many, and a reply: neither is answered. */
	ep_send_forged(&ep, packet(WIRE_EDP_ECHO, 0x4000, 7, 1025));
	ep_send_forged(&ep, packet(WIRE_EDP_ECHO_REPLY, 0x4000, 7, 3));
	CU_ASSERT_EQUAL(EP_CNT(&ep, 0, drop_esp_malformed), 2);
	CU_ASSERT_EQUAL(ep.wire.num_kept, want);
	CU_ASSERT_EQUAL(EP_CNT(&ep, 0, edp_echo_rx), want);
	/* The port has no room: no reply, and nothing stays behind. */
	ep_tx_room(&ep, 0);
	ep_send_forged(&ep, packet(WIRE_EDP_ECHO, 0x4000, 7, 100));
	ep_tx_room(&ep, UINT32_MAX);
	ep_run(&ep, EP_MS);
	CU_ASSERT_EQUAL(ep.wire.num_kept, want);
	ep_end(&ep);
}

/* ---- unreachable ---------------------------------------------------------------------------- */

static void unreachable_byte_for_byte(void)
{
	struct bench_frame f;

	ep_begin(&ep);
	ep_mark(&ep, copy_all, 0);
	f = golden("stray", 0);
	bench_wire_inject(&ep.wire, 0, f.b, f.n);
	ep_settle(&ep);
	CU_ASSERT_EQUAL(ep.wire.num_kept, 1);
	expect_kept(0, "unreachable");
	free(f.b);
	/* End 1 has no stream at that port: it ignores the packet and sends nothing. */
	CU_ASSERT_EQUAL(ep.wire.frames, 1);
	ep_run(&ep, EP_MS);
	CU_ASSERT_EQUAL(ep.wire.frames, 1);
	CU_ASSERT_EQUAL(EP_CNT(&ep, 1, edp_unreachable_rx), 0);
	CU_ASSERT_EQUAL(EP_CNT(&ep, 1, drop_esp_incarnation), 1);
	ep_end(&ep);
}

static void what_is_answered(void)
{
	struct bench_frame f;
	struct wire_edp *edp;
	uint32_t i;

	ep_begin(&ep);
	ep_opened(&ep);
	ep_mark(&ep, NULL, 0);
	/*
	 * No answer to an RST, a cut SYN, a packet without SYN to the master port, or another
	 * answer.
	 */
	f = ep_forge(&ep, 1, WIRE_ESP_RST | WIRE_ESP_ACK, false, 0, NULL, 0);
	edp = (void *)(f.b + EDP_AT);
	edp->dst_port = be16_put(0x4123);
	ep_send_forged(&ep, f);
	for (i = 0; i < 2; i++) {
		f = ep_forge(&ep, 1, i ? WIRE_ESP_ACK : WIRE_ESP_SYN, false, 0, "cut", 3);
		edp = (void *)(f.b + EDP_AT);
		edp->dst_port = be16_put(0x4000);
		ep_send_forged(&ep, f);
	}
	ep_send_forged(&ep, packet(WIRE_EDP_UNREACHABLE, 0x4001, 0x4001, 39));
	CU_ASSERT_EQUAL(ep.wire.frames, 0);
	CU_ASSERT_EQUAL(EP_CNT(&ep, 0, edp_unreachable_tx), 0);
	CU_ASSERT_EQUAL(EP_CNT(&ep, 0, drop_esp_malformed), 3);
	/* Answered: another station, another incarnation, a port past the last stream. */
	f = ep_forge(&ep, 1, WIRE_ESP_ACK, true, 0, "data", 4);
	f.b[6 + 5] ^= 0x10;
	ep_send_forged(&ep, f);
	f = ep_forge(&ep, 1, WIRE_ESP_ACK, true, 0, "data", 4);
	f.b[ESP_AT + 19] ^= 0x10;
	ep_send_forged(&ep, f);
	f = ep_forge(&ep, 1, WIRE_ESP_ACK, true, 0, "data", 4);
	edp = (void *)(f.b + EDP_AT);
	edp->dst_port = be16_put(0x4fff);
	ep_send_forged(&ep, f);
	CU_ASSERT_EQUAL(ep.wire.frames, 3);
	CU_ASSERT_EQUAL(EP_CNT(&ep, 0, edp_unreachable_tx), 3);
	/* Dropped without an answer: the sender's incarnation or port is not that of the stream. */
	f = ep_forge(&ep, 1, WIRE_ESP_ACK, true, 0, "data", 4);
	f.b[ESP_AT + 15] ^= 0x10;
	ep_send_forged(&ep, f);
	f = ep_forge(&ep, 1, WIRE_ESP_ACK, true, 0, "data", 4);
	f.b[EDP_AT + 7] ^= 0x10;
	ep_send_forged(&ep, f);
	CU_ASSERT_EQUAL(ep.wire.frames, 3);
	CU_ASSERT_EQUAL(EP_CNT(&ep, 0, drop_esp_incarnation), 3);
	CU_ASSERT_EQUAL(ep.end[0].read, 0);
	ep_end(&ep);
}

/* The answers to frames for unknown ports are limited. */
static void a_limit_of_answers(void)
{
	struct bench_frame f;
	uint32_t i;

	ep_begin(&ep);
	f = golden("stray", 0);
	for (i = 0; i < 200; i++)
		bench_wire_inject(&ep.wire, 0, f.b, f.n);
	fw_poll(ep.end[0].nic, ep.wire.now_ns, 1000);
	CU_ASSERT_TRUE(EP_CNT(&ep, 0, edp_unreachable_tx) <= 64);
	ep_settle(&ep);
	CU_ASSERT_EQUAL(EP_CNT(&ep, 0, drop_esp_no_stream), 200);
	free(f.b);
	ep_end(&ep);
}

/* An unreachable ends an attempt to open and an open stream, once. */
static void what_is_believed(void)
{
	struct bench_frame syn, f;

	ep_begin(&ep);
	ep.end[1].port.dead = true;
	ep_mark(&ep, copy_all, 0);
	ep_open(&ep, 0);
	ep_settle(&ep);
	CU_ASSERT_EQUAL_FATAL(ep.wire.num_kept, 1);
	syn = ep.wire.kept[0];
	f = packet(WIRE_EDP_UNREACHABLE, 0x4001, 0x4000, 40);
	memcpy(f.b + ESP_AT, syn.b + EDP_AT, 40);
	/* A quote that is cut by one byte is no evidence. */
	((struct wire_edp *)(f.b + EDP_AT))->bytes = be16_put(47);
	ep_reseal(&f);
	f.n--;
	ep_reseal(&f);
	bench_wire_inject(&ep.wire, 0, f.b, f.n);
	ep_settle(&ep);
	CU_ASSERT_EQUAL(ep.end[0].ends, 0);
	CU_ASSERT_EQUAL(EP_CNT(&ep, 0, drop_esp_malformed), 1);
	free(f.b);
	/* A whole quote counts; bytes after it are ignored. */
	f = packet(WIRE_EDP_UNREACHABLE, 0x4001, 0x4000, 44);
	memcpy(f.b + ESP_AT, syn.b + EDP_AT, 40);
	ep_send_forged(&ep, f);
	CU_ASSERT_EQUAL(ep.end[0].ends, 1);
	CU_ASSERT_EQUAL(ep.end[0].why, ESP_END_UNREACHABLE);
	CU_ASSERT_EQUAL(EP_CNT(&ep, 0, edp_unreachable_rx), 1);
	ep_end(&ep);
}

/* ---- frames ---------------------------------------------------------------------------------- */

/*
 * The frame lies in memory of exactly its length, so that the sanitizer reports any byte read
 * beyond.
 */
static void short_frames(void)
{
	static const char *const names[] = {"syn", "data", "echo", "unreachable", "stray"};
	uint32_t i, n;

	ep_begin(&ep);
	ep_mark(&ep, NULL, 0);
	for (i = 0; i < 5; i++) {
		struct bench_frame f = golden(names[i], 0);

		memcpy(f.b, ep_mac(0), 6);
		memcpy(f.b + 6, ep_mac(1), 6);
		for (n = EDP_AT; n < f.n; n++) {
			bench_wire_inject(&ep.wire, 0, f.b, n);
			ep_settle(&ep);
		}
		free(f.b);
	}
	CU_ASSERT_EQUAL(ep.wire.frames, 0);
	CU_ASSERT_EQUAL(EP_CNT(&ep, 0, drop_esp_malformed),
			EP_CNT(&ep, 0, rx_frames)); /* none got further */
	ep_check_empty(&ep);
	ep_end(&ep);
}

/*
 * `bytes` gives the end of the packet, which may precede the end of the frame, but not follow it.
 */
static void padded_frames(void)
{
	uint32_t pad, i;

	ep_begin(&ep);
	ep_opened(&ep);
	for (pad = 0; pad < 40; pad++) {
		struct be32 number = be32_put(pad);
		struct bench_frame f =
		    ep_forge(&ep, 1, WIRE_ESP_ACK, true, ep.end[0].stream->rcv_next, &number,
			     sizeof(number));

		f.b = realloc(f.b, f.n + pad);
		CU_ASSERT_PTR_NOT_NULL_FATAL(f.b);
		memset(f.b + f.n, 0xcc, pad);
		bench_wire_inject(&ep.wire, 0, f.b, f.n + pad);
		ep_settle(&ep);
		CU_ASSERT_EQUAL(ep.end[0].read, pad + 1);
		free(f.b);
	}
	for (i = 1; i < 4; i++) {
		struct bench_frame f =
		    ep_forge(&ep, 1, WIRE_ESP_ACK, true, ep.end[0].stream->rcv_next, "data", 4);
		struct wire_edp *edp = (void *)(f.b + EDP_AT);

		/* One byte too many, the largest value, and less than EDP's header. */
		edp->bytes = be16_put(i == 1   ? (uint16_t)(be16_get(edp->bytes) + 1)
				      : i == 2 ? UINT16_MAX
					       : 7);
		ep_send_forged(&ep, f);
		CU_ASSERT_EQUAL(EP_CNT(&ep, 0, drop_esp_malformed), i);
	}
	CU_ASSERT_EQUAL(ep.end[0].read, 40);
	ep_end(&ep);
}

static struct fw_tx_frame *frame_of(uint8_t kind, const void *data)
{
	struct fw_tx_frame *frame =
	    edp_tx_begin(ep.end[0].nic, ep_mac(1), 5, 6, WIRE_EDP_ECHO_REPLY);

	CU_ASSERT_PTR_NOT_NULL_FATAL(frame);
	eth_tx_hdr(frame, EDP_AT, sizeof(struct wire_edp), 0);
	frame->seg[frame->num_seg++] =
	    (struct fw_tx_seg){.mem = data, .addr = (uintptr_t)data, .bytes = 8, .kind = kind};
	return frame;
}

/* Memory that is read when the frame leaves may be gone: its sender learns that at once. */
static void memory_that_is_not_mapped(void)
{
	static const uint8_t data[8] = {1, 2, 3};

	ep_begin(&ep);
	CU_ASSERT_TRUE(edp_tx_end(ep.end[0].nic, frame_of(FW_TX_MEM, data), false));
	CU_ASSERT_EQUAL(ep.end[0].nic->net.tx_count, 1);
	CU_ASSERT_TRUE(edp_tx_end(ep.end[0].nic, frame_of(FW_TX_HOST, data), false));
	CU_ASSERT_EQUAL(ep.end[0].nic->net.tx_count, 0);
	ep.end[0].port.host_fault = true;
	CU_ASSERT_FALSE(edp_tx_end(ep.end[0].nic, frame_of(FW_TX_HOST, data), false));
	ep.end[0].port.host_fault = false;
	ep_end(&ep);
}

/* Each flipped bit after the Ethernet header is detected. */
static void each_bit_turned(void)
{
	uint32_t bit, seen;

	ep_begin(&ep);
	ep_opened(&ep);
	ep_mark(&ep, NULL, 0);
	for (bit = EDP_AT * 8;; bit++) {
		struct bench_frame f =
		    ep_forge(&ep, 1, WIRE_ESP_ACK, true, ep.end[0].stream->rcv_next, "data", 4);
		bool past = bit >= f.n * 8;

		if (!past) {
			f.b[bit / 8] ^= (uint8_t)(1 << bit % 8);
			bench_wire_inject(&ep.wire, 0, f.b, f.n);
			ep_settle(&ep);
		}
		free(f.b);
		if (past)
			break;
	}
	seen = bit - EDP_AT * 8;
	CU_ASSERT_EQUAL(EP_CNT(&ep, 0, drop_esp_crc) + EP_CNT(&ep, 0, drop_esp_malformed), seen);
	CU_ASSERT_TRUE(EP_CNT(&ep, 0, drop_esp_crc) > seen * 8 / 10);
	CU_ASSERT_EQUAL(ep.end[0].read, 0);
	CU_ASSERT_EQUAL(ep.wire.frames, 0);
	ep_end(&ep);
}

static void unknown_headers(void)
{
	struct bench_frame f;
	uint32_t i, want = 0;

	ep_begin(&ep);
	ep_opened(&ep);
	ep_mark(&ep, NULL, 0);
	for (i = WIRE_EDP_TYPES; i < 16; i++, want++)
		ep_send_forged(&ep, packet((uint8_t)i, 0x4001, 0x4001, 40));
	for (i = 0; i < 16; i++) {
		f = packet(WIRE_EDP_ECHO, 1, 2, 3);
		f.b[EDP_AT] = (uint8_t)(i << 4 | WIRE_EDP_ECHO);
		if (i == WIRE_EDP_VERSION)
			f.b[EDP_AT + 1] = 0x80;
		ep_send_forged(&ep, f);
		want++;
	}
	/* ESP: too short for its header; `numbered` beyond its last value. */
	ep_send_forged(&ep, packet(WIRE_EDP_ESP, 0x4001, 0x4001, 31));
	f = ep_forge(&ep, 1, WIRE_ESP_ACK, true, ep.end[0].stream->rcv_next, "data", 4);
	f.b[ESP_AT + 9] = WIRE_ESP_BEHIND + 1;
	ep_send_forged(&ep, f);
	CU_ASSERT_EQUAL(EP_CNT(&ep, 0, drop_esp_malformed), want + 2);
	CU_ASSERT_EQUAL(ep.wire.frames, 0);
	CU_ASSERT_EQUAL(ep.end[0].read, 0);
	ep_end(&ep);
}

UT_MAIN("pair/edp", UT(a_connection_byte_for_byte), UT(ports_of_each_shard), UT(echo_byte_for_byte),
	UT(echo_limits), UT(unreachable_byte_for_byte), UT(what_is_answered),
	UT(a_limit_of_answers), UT(what_is_believed), UT(short_frames), UT(padded_frames),
	UT(memory_that_is_not_mapped), UT(each_bit_turned), UT(unknown_headers))
