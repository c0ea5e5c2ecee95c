/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ESP streams among peers that restart, die, lie or are late: SYNs of the past, floods,
 * unreachables, silence, closing while full; hostile header fields; bursts and jumbo frames as
 * configured. esp_loss_ut.c covers the loss of packets.
 */
#include <stdlib.h>

#include "tests/pair/esp_pair.h"

static struct ep ep;

static enum bench_verdict copy_all(struct ep *e, const struct ep_info *info)
{
	(void)e;
	(void)info;
	return BENCH_COPY;
}

static struct esp_stream *stream(uint32_t e)
{
	return ep.end[e].stream;
}

/* The least MTU is one that a stream opens with. */
static void the_least_mtu(void)
{
	memset(&ep, 0, sizeof(ep));
	ep.mtu[0] = ep.mtu[1] = HW_MIN_MTU;
	ep_begin_with(&ep);
	ep_opened(&ep);
	CU_ASSERT_PTR_NOT_NULL(stream(1));
	ep_send(&ep, 0, 2);
	ep_run(&ep, EP_MS);
	CU_ASSERT_EQUAL(ep.end[0].sent_ok, 1);
	ep_end(&ep);
}

/* ---- time ----------------------------------------------------------------------------------- */

/* Silence while nothing is awaited is no sign of death. */
static void an_idle_stream_stays(void)
{
	uint32_t i;

	ep_begin(&ep);
	ep_opened(&ep);
	for (i = 0; i < 3; i++) {
		ep_send(&ep, 0, 2);
		ep_run(&ep, 3600 * EP_S);
		CU_ASSERT_EQUAL(ep.end[0].sent_ok, i + 1);
		CU_ASSERT_EQUAL(ep.end[0].ends, 0);
	}
	/* No packet was requested again meanwhile. */
	CU_ASSERT_EQUAL(EP_CNT(&ep, 0, esp_rrq_tx), 0);
	ep_end(&ep);
}

/* The stream fails after twelve repetitions and at least a second, not before. */
static void a_dead_peer_is_lost(void)
{
	ep_begin(&ep);
	ep_opened(&ep);
	ep_run(&ep, 10 * EP_S);
	ep.end[1].port.dead = true;
	ep_send(&ep, 0, 2);
	ep_run(&ep, EP_S - EP_MS);
	CU_ASSERT_EQUAL(ep.end[0].ends, 0);
	ep_run(&ep, EP_S);
	CU_ASSERT_EQUAL(ep.end[0].ends, 1);
	CU_ASSERT_EQUAL(ep.end[0].why, ESP_END_LOST);
	CU_ASSERT_EQUAL(ep.end[0].sent_not, 1);
	ep_end(&ep);
}

static void a_watched_peer_that_dies(void)
{
	ep_begin(&ep);
	ep_opened(&ep);
	ep_run(&ep, 10 * EP_S);
	esp_watch(ep.end[0].nic, stream(0));
	ep_run(&ep, 10 * EP_S);
	CU_ASSERT_EQUAL(ep.end[0].ends, 0);
	ep.end[1].port.dead = true;
	ep_run(&ep, 3 * EP_S);
	CU_ASSERT_EQUAL(ep.end[0].why, ESP_END_LOST);
	CU_ASSERT_EQUAL(ep.end[0].ends, 1);
	ep_end(&ep);
}

/*
 * A full receiver holds its packets and requests none. The sender may wait for room as long as the
 * receiver answers.
 */
static void a_full_peer_that_dies(void)
{
	ep_begin(&ep);
	ep.end[1].room = 0;
	ep_opened(&ep);
	ep_send(&ep, 0, 100);
	ep_run(&ep, 10 * EP_S);
	CU_ASSERT_EQUAL(ep.end[0].ends, 0);
	CU_ASSERT_EQUAL(ep.end[1].read, 0);
	CU_ASSERT_TRUE(ep.end[1].fulls > 0);
	ep.end[1].port.dead = true;
	ep_run(&ep, 5 * EP_S);
	CU_ASSERT_EQUAL(ep.end[0].ends, 1);
	ep_end(&ep);
}

/* Data queued before the handshake leave as soon as it is complete, not by a timer. */
static void queued_before_it_opens(void)
{
	ep_begin(&ep);
	ep_open(&ep, 0);
	ep_send(&ep, 0, 3);
	ep_run(&ep, 6 * EP_LATENCY_NS);
	CU_ASSERT_EQUAL(ep.end[0].stream->state, ESP_OPEN);
	CU_ASSERT_EQUAL(ep.end[1].read, 3);
	ep_end(&ep);
}

/* ---- SYNs ----------------------------------------------------------------------------------- */

static void syns_of_the_past(void)
{
	uint32_t i, num;

	ep_begin(&ep);
	ep_mark(&ep, copy_all, 0);
	ep_opened(&ep);
	ep_abort(&ep, 0);
	ep_run(&ep, EP_MS);
	CU_ASSERT_EQUAL(ep.end[1].ends, 1);
	ep_mark(&ep, NULL, 0);
	num = ep.wire.num_kept;
	/* Without a stream: no layer above is notified, and the context is freed at once. */
	for (i = 0; i < num; i++) {
		bench_wire_deliver(&ep.wire, i);
		ep_run(&ep, EP_MS);
	}
	CU_ASSERT_EQUAL(ep.end[1].accepts, 1);
	ep_check_empty(&ep);
	/* With a newer stream of the same key: that one continues. */
	ep.end[1].ends = 0;
	ep_opened(&ep);
	for (i = 0; i < num; i++) {
		bench_wire_deliver(&ep.wire, i);
		ep_send(&ep, i % 2, 3);
		ep_run(&ep, EP_MS);
	}
	CU_ASSERT_EQUAL(ep.end[0].ends + ep.end[1].ends, 0);
	CU_ASSERT_EQUAL(ep.end[0].sent_not + ep.end[1].sent_not, 0);
	CU_ASSERT_TRUE(EP_CNT(&ep, 1, esp_syn_foreign) >= 1);
	ep_end(&ep);
}

static void a_peer_that_restarts(void)
{
	ep_begin(&ep);
	ep_opened(&ep);
	ep_send(&ep, 0, 3);
	ep_run(&ep, EP_MS);
	ep_restart(&ep, 0);
	ep_open(&ep, 0);
	/*
	 * The SYN meets the old stream; end 1 asks, receives the answer, and accepts the next SYN.
	 */
	ep.end[1].read = 0;
	ep_send(&ep, 0, 2);
	ep_run(&ep, 100 * EP_MS);
	CU_ASSERT_EQUAL(ep.end[1].ends, 1);
	CU_ASSERT_EQUAL(ep.end[1].why, ESP_END_RESET);
	CU_ASSERT_EQUAL(ep.end[1].accepts, 2);
	CU_ASSERT_EQUAL(ep.end[1].read, 2);
	CU_ASSERT_EQUAL(ep.end[0].sent_ok, 1);
	ep_end(&ep);
}

static enum bench_verdict first_syn_only(struct ep *e, const struct ep_info *info)
{
	(void)e;
	return info->number || info->from ? BENCH_DROP : BENCH_PASS;
}

/*
 * An unexpected SYN leaves nothing. An expected one followed by silence is dropped after a second.
 */
static void floods(void)
{
	ep_begin(&ep);
	ep.end[1].refuses = true;
	ep_open(&ep, 0);
	ep_run(&ep, 2 * EP_S);
	CU_ASSERT_EQUAL(fw_ids_used(&ep.end[1].nic->esp.ids), 0);
	CU_ASSERT_EQUAL(ep.end[1].nic->esp.ids.high, 0);
	CU_ASSERT_TRUE(EP_CNT(&ep, 1, esp_syn_early) > 5);
	/* The packet is late, but in time. */
	ep.end[1].refuses = false;
	ep_run(&ep, EP_S);
	CU_ASSERT_EQUAL(stream(0)->state, ESP_OPEN);
	ep_anew(&ep);

	ep_mark(&ep, first_syn_only, 0);
	ep_open(&ep, 0);
	ep_run(&ep, 10 * EP_LATENCY_NS);
	CU_ASSERT_EQUAL(fw_ids_used(&ep.end[1].nic->esp.ids), 1);
	ep_run(&ep, EP_S + 200 * EP_MS);
	CU_ASSERT_EQUAL(fw_ids_used(&ep.end[1].nic->esp.ids), 0);
	CU_ASSERT_EQUAL(ep.end[1].accepts + ep.end[1].ends, 0);
	/* The peer does not answer; the end is reported after ten seconds. */
	ep_run(&ep, 10 * EP_S);
	CU_ASSERT_EQUAL(ep.end[0].why, ESP_END_UNREACHABLE);
	ep_end(&ep);
}

/* The layer above no longer wants the stream when the handshake is complete. */
static void refused_at_last(void)
{
	ep_begin(&ep);
	ep.end[1].refuses_late = true;
	ep_open(&ep, 0);
	ep_run(&ep, EP_MS);
	CU_ASSERT_EQUAL(ep.end[0].ends, 1);
	CU_ASSERT_EQUAL(ep.end[0].why, ESP_END_RESET);
	ep_check_empty(&ep);
	ep_end(&ep);
}

/* ---- close ---------------------------------------------------------------------------------- */

static enum bench_verdict no_data_of_1(struct ep *e, const struct ep_info *info)
{
	return e->bits && info->from && info->numbered ? BENCH_DROP : BENCH_PASS;
}

/* Data in flight when the peer's FIN arrives is given back; its packets continue empty. */
static void fin_while_sending(void)
{
	ep_begin(&ep);
	ep_opened(&ep);
	ep_mark(&ep, no_data_of_1, 1);
	ep_send(&ep, 1, 20);
	ep_settle(&ep);
	ep_close(&ep, 0);
	ep_run(&ep, EP_MS);
	CU_ASSERT_EQUAL(ep.end[1].sent_not, 1);
	CU_ASSERT_EQUAL(ep.end[1].ends, 1);
	ep.bits = 0;
	CU_ASSERT_TRUE(ep_idle(&ep, 20 * EP_S));
	CU_ASSERT_TRUE(ep.end[0].empty > 0 && ep.end[0].empty == ep.end[0].read);
	CU_ASSERT_EQUAL(ep.end[0].why, ESP_END_CLOSED);
	CU_ASSERT_EQUAL(ep.end[1].why, ESP_END_CLOSED);
	ep_check_empty(&ep);
	ep_end(&ep);
}

static void closed_while_full(void)
{
	ep_begin(&ep);
	ep_opened(&ep);
	ep.end[1].room = 3;
	ep_send(&ep, 0, 10);
	ep_run(&ep, EP_MS);
	CU_ASSERT_TRUE(stream(1)->blocked);
	/* A closing receiver takes the rest, as if it had not been full. */
	ep.end[1].room = UINT32_MAX;
	ep_close(&ep, 1);
	CU_ASSERT_TRUE(ep_idle(&ep, 20 * EP_S));
	CU_ASSERT_EQUAL(ep.end[1].read, 10);
	ep_check_empty(&ep);
	ep_end(&ep);
}

/* ---- lies ----------------------------------------------------------------------------------- */

/* Each field of a quoted header must match the stream, and so must the station. */
static void forged_unreachables(void)
{
	struct wire_edp *edp;
	struct wire_eth *eth;
	struct bench_frame f;
	uint32_t i;

	ep_begin(&ep);
	ep_opened(&ep);
	for (i = 0; i < 5; i++) {
		struct bench_frame q = ep_forge(&ep, 0, WIRE_ESP_ACK, false, 0, NULL, 0);

		f = ep_forge(&ep, 1, 0, false, 0, "        ", 8);
		eth = (void *)f.b;
		edp = (void *)(eth + 1);
		edp->ver_type = WIRE_EDP_VERSION << 4 | WIRE_EDP_UNREACHABLE;
		memcpy(edp + 1, q.b + sizeof(*eth), sizeof(*edp) + sizeof(struct wire_esp));
		free(q.b);
		/* Offsets: quoted dst_port, src_inc, dst_inc; the sender's address. */
		if (i == 0)
			f.b[22 + 5] ^= 1;
		else if (i == 1)
			f.b[30 + 15] ^= 2;
		else if (i == 2)
			f.b[30 + 19] ^= 2;
		else if (i == 3)
			f.b[6 + 5] ^= 8;
		ep_send_forged(&ep, f);
		CU_ASSERT_EQUAL(ep.end[0].ends, i == 4);
	}
	CU_ASSERT_EQUAL(ep.end[0].why, ESP_END_RESET);
	ep_end(&ep);
}

/* Any header fields with the right incarnations: no packet is acknowledged that was not sent. */
static void hostile_fields(void)
{
	uint32_t i, k;

	ep_begin(&ep);
	srand(7);
	for (i = 0; i < 300; i++) {
		ep_anew(&ep);
		ep_opened(&ep);
		ep.end[0].room = ep.end[1].room = 0;
		ep_send(&ep, 0, 40);
		ep_run(&ep, EP_MS);
		for (k = 0; k < 30 && stream(0) && stream(1); k++) {
			struct bench_frame f = ep_forge(
			    &ep, 1, (uint8_t)(rand() & ~(WIRE_ESP_RST | WIRE_ESP_SYN)), rand() % 2,
			    stream(0)->rcv_next + (uint32_t)(rand() % 80) - 8, "    ", 4);
			struct wire_esp *esp = ep_info_of(&ep, &f, 1).esp;
			uint32_t next = stream(0)->snd_next;

			esp->ack = be32_put(next + (uint32_t)(rand() % 200) - 100);
			esp->received = be64_put((uint64_t)rand() << 33 ^ (uint64_t)rand());
			esp->rrq_count = be32_put(rand() % 2 ? 0xffffffffu : (uint32_t)rand());
			esp->window = be16_put((uint16_t)rand());
			ep_send_forged(&ep, f);
			if (stream(0))
				CU_ASSERT_FALSE(seq_lt(stream(0)->snd_next, stream(0)->snd_una));
			if (stream(0))
				CU_ASSERT_TRUE(stream(0)->snd_next - stream(0)->snd_una <=
					       WIRE_ESP_WINDOW);
		}
		CU_ASSERT_TRUE(ep.end[0].nic->esp.held.used <= WIRE_ESP_WINDOW);
	}
	ep_end(&ep);
}

static void group_addresses(void)
{
	uint32_t i, seen;

	ep_begin(&ep);
	for (i = 0; i < 2; i++) {
		struct bench_frame f = ep_forge(&ep, 1, WIRE_ESP_ACK, false, 0, NULL, 0);
		struct wire_eth *eth = (void *)f.b;

		if (i)
			memset(eth->src, 0xff, 6);
		else
			memset(eth->dst, 0xff, 6);
		seen = ep.wire.frames;
		ep_send_forged(&ep, f);
		CU_ASSERT_EQUAL(ep.wire.frames, seen);
	}
	CU_ASSERT_EQUAL(EP_CNT(&ep, 0, drop_esp_malformed), 2);
	ep_end(&ep);
}

/* ---- settings ------------------------------------------------------------------------------- */

static uint32_t most_in_flight;

static enum bench_verdict measure(struct ep *e, const struct ep_info *info)
{
	const struct esp_stream *s = e->end[0].stream;

	if (!info->from && info->numbered && s && s->snd_next - s->snd_una > most_in_flight)
		most_in_flight = s->snd_next - s->snd_una;
	return BENCH_PASS;
}

static void bursts_and_jumbo_frames(void)
{
	static const struct {
		uint8_t burst, initial;
		uint32_t mtu[2], payload;
	} cases[] = {
	    {1, 1, {1500, 1500}, 1456},
	    {63, 63, {9000, 9000}, 8956},
	    {4, 16, {9000, 1500}, 1456},
	    {63, 1, {1500, 9000}, 1456},
	};
	uint32_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memset(&ep, 0, sizeof(ep));
		ep.burst = cases[i].burst;
		ep.initial_burst = cases[i].initial;
		ep.mtu[0] = cases[i].mtu[0];
		ep.mtu[1] = cases[i].mtu[1];
		ep_begin_with(&ep);
		ep.payload_bytes = 8956;
		ep_opened(&ep);
		CU_ASSERT_EQUAL(esp_payload_bytes(stream(0)), cases[i].payload);
		CU_ASSERT_EQUAL(esp_payload_bytes(stream(1)), cases[i].payload);
		most_in_flight = 0;
		ep_mark(&ep, measure, 0);
		ep_send(&ep, 0, 300);
		ep_run(&ep, 100 * EP_MS);
		CU_ASSERT_EQUAL(ep.end[1].read, 300);
		CU_ASSERT_TRUE(most_in_flight <= cases[i].burst);
		CU_ASSERT_TRUE(most_in_flight * 2 > cases[i].burst);
		ep_end(&ep);
	}
}

UT_MAIN("pair/esp_conn", UT(the_least_mtu), UT(queued_before_it_opens), UT(an_idle_stream_stays),
	UT(a_dead_peer_is_lost), UT(a_watched_peer_that_dies), UT(a_full_peer_that_dies),
	UT(syns_of_the_past), UT(a_peer_that_restarts), UT(floods), UT(refused_at_last),
	UT(fin_while_sending), UT(closed_while_full), UT(forged_unreachables), UT(hostile_fields),
	UT(group_addresses), UT(bursts_and_jumbo_frames))
