/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reception: converts mbufs to frames of the firmware. Frames of the NIC to itself come first, then
 * those of the wire. An mbuf chain becomes segments; headers that are not in its first segment are
 * made contiguous.
 *
 * Runs on the shard's core; calls the wire, faults.c and capture.c.
 */
#include "dpdk_app/port.h"

#include <rte_cycles.h>
#include <rte_mbuf.h>
#include <string.h>

#include "dpdk_app/borrow.h"
#include "dpdk_app/control/capture.h"
#include "dpdk_app/csum.h"
#include "dpdk_app/wire/echo.h"
#include "dpdk_app/wire/faults.h"
#include "dpdk_app/wire/wire.h"
#include "shared_defs/wire_eth.h"

static bool rx_fill(struct shard *shard, struct rte_mbuf *m, uint32_t flags,
		    struct fw_rx_frame *frame)
{
	uint32_t contiguous = m->pkt_len < FW_RX_HDR_BYTES ? m->pkt_len : FW_RX_HDR_BYTES;
	uint32_t n = 0;

	frame->run = 1;
	if (borrow_is_borrowed(m)) {
		uint32_t segment_bytes, packets = borrow_packets(m, &segment_bytes);

		if (!packets) {
			shard->stats.tx_no_mbuf++;
			return false;
		}
		frame->run = (uint16_t)packets;
		frame->run_bytes = (uint16_t)segment_bytes;
		frame->num_seg = borrow_pieces(m, frame->seg);
		frame->bytes = m->pkt_len;
		frame->flags = flags | FW_RX_LENT;
		frame->cookie = m;
		return true;
	}
	if (m->pkt_len < sizeof(struct wire_eth)) {
		shard->stats.drop_rx_short++;
		return false;
	}
	if (m->nb_segs > 1 && (m->data_len < contiguous || m->nb_segs > FW_RX_SEGS_MAX)) {
		if (rte_pktmbuf_linearize(m)) {
			shard->stats.drop_rx_segments++;
			return false;
		}
		shard->stats.rx_linearised++;
	}
	for (struct rte_mbuf *piece = m; piece; piece = piece->next) {
		frame->seg[n].data = rte_pktmbuf_mtod(piece, const uint8_t *);
		frame->seg[n].bytes = piece->data_len;
		n++;
	}
	frame->num_seg = n;
	frame->bytes = m->pkt_len;
	frame->flags = flags;
	frame->cookie = m;
	return true;
}

/*
 * Frames from the firmware's own memory need no check unless --crc is on; for others the device's
 * or the kernel's result is used.
 */
static uint32_t rx_flags(const struct nic *nic, const struct rte_mbuf *m, bool loop)
{
	const struct wire *wire = nic->wire;
	uint32_t crc = nic->app->conf.switch_crc ? 0 : FW_RX_CRC_OK;

	if (loop)
		return crc | FW_RX_CSUM_OK | FW_RX_LOOP;
	if (__builtin_expect(faults_damaged(m), 0))
		return 0;
	if (wire->trusted)
		return crc | FW_RX_CSUM_OK;
	if (csum_device_ok(m) ||
	    (wire->partial_csum && csum_is_partial(rte_pktmbuf_mtod(m, uint8_t *), m->data_len)))
		return FW_RX_CSUM_OK;
	return 0;
}

/*
 * Takes up to n frames into m; *loop: the first of them are the NIC's own. Those that the turn
 * before has left come alone.
 */
static uint32_t rx_take(struct shard *shard, struct rte_mbuf **m, uint32_t n, uint32_t *loop)
{
	uint8_t stage;
	uint32_t got;

	if (__builtin_expect(shard->num_rest, 0)) {
		got = shard->num_rest;
		memcpy(m, shard->rest, got * sizeof(*m));
		*loop = shard->rest_loop;
		shard->num_rest = 0;
		return got;
	}
	got = *loop = lanes_take(&shard->loop, &shard->loop_next, m, n);
	if (got == n)
		return got;
	stage = shard->stages ? shard->ops->stage(shard->fw, FW_STAGE_WIRE_RX) : 0;
	if (__builtin_expect(shard->faulty, 0))
		got += faults_rx(shard, m + got, n - got);
	else
		got += shard->nic->wire->ops->rx(shard, m + got, n - got);
	if (shard->stages)
		(void)shard->ops->stage(shard->fw, stage);
	return got;
}

/* Leaves frames for the next turn: a run counts as its packets, or a turn of runs were too long. */
static void rx_leave(struct shard *shard, struct rte_mbuf **m, uint32_t n, uint32_t loop)
{
	memcpy(shard->rest, m, n * sizeof(*m));
	shard->num_rest = n;
	shard->rest_loop = loop;
}

uint32_t port_rx_burst(void *ctx, struct fw_rx_frame *frames, uint32_t n)
{
	struct shard *shard = ctx;
	struct nic *nic = shard->nic;
	struct capture *capture = atomic_load_explicit(&nic->capture, memory_order_acquire);
	struct rte_mbuf *m[FW_BURST];
	uint32_t count = 0, packets = 0;
	uint32_t loop, got;

	if (n > FW_BURST)
		n = FW_BURST;
	got = rx_take(shard, m, n, &loop);
	for (uint32_t i = 0; i < got; i++) {
		if (packets >= n) {
			rx_leave(shard, m + i, got - i, loop > i ? loop - i : 0);
			break;
		}
		if (__builtin_expect(nic->app->conf.port_echo, 0) && !borrow_is_borrowed(m[i]) &&
		    echo_answered(shard, m[i]))
			continue;

		if (capture)
			capture_frame(capture, shard, CAPTURE_IN, m[i]);
		if (!rx_fill(shard, m[i], rx_flags(nic, m[i], i < loop), &frames[count])) {
			rte_pktmbuf_free(m[i]);
			continue;
		}
		shard->stats.rx_bytes += fw_rx_packet_bytes(&frames[count]);
		packets += frames[count].run;
		if (i >= loop && frames[count].run > 1)
			shard->stats.rx_ring += frames[count].run - 1u;
		count++;
	}
	shard->stats.rx_frames += packets;
	return count;
}

void port_rx_free(void *ctx, struct fw_rx_frame *frames, uint32_t n)
{
	struct rte_mbuf *m[FW_BURST];
	uint32_t count = 0;

	(void)ctx;
	for (uint32_t i = 0; i < n; i++) {
		if (frames[i].flags & FW_RX_HELD)
			continue;
		m[count++] = frames[i].cookie;
		if (count == FW_BURST) {
			rte_pktmbuf_free_bulk(m, count);
			count = 0;
		}
	}
	if (count)
		rte_pktmbuf_free_bulk(m, count);
}

void port_rx_release(void *ctx, void *cookie)
{
	(void)ctx;
	rte_pktmbuf_free(cookie);
}

bool port_rx_copy(void *ctx, const struct fw_rx_frame *frame, struct fw_rx_frame *copy)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(((struct rte_mbuf *)frame->cookie)->pool);
	uint8_t *to;

	(void)ctx;
	if (!m || frame->bytes > rte_pktmbuf_tailroom(m)) {
		rte_pktmbuf_free(m);
		return false;
	}
	to = (uint8_t *)rte_pktmbuf_append(m, (uint16_t)frame->bytes);
	*copy = (struct fw_rx_frame){
	    .seg = {{to, frame->bytes}},
	    .num_seg = 1,
	    .bytes = frame->bytes,
	    .flags = frame->flags & ~(uint32_t)FW_RX_LENT,
	    .run = 1,
	    .cookie = m,
	};
	for (uint32_t i = 0; i < frame->num_seg; i++) {
		memcpy(to, frame->seg[i].data, frame->seg[i].bytes);
		to += frame->seg[i].bytes;
	}
	return true;
}

/*
 * Delivers a frame to every shard: each gets a reference, unless its lane is full. The last one
 * gets the caller's, so that this core touches the frame no more once all have it.
 */
static void steer_all(struct nic *nic, struct shard *from, bool loop, struct rte_mbuf *m)
{
	/* A run that was settled on its way is a chain. */
	rte_pktmbuf_refcnt_update(m, (int16_t)(nic->num_shards - 1));
	for (uint32_t i = 0; i < nic->num_shards; i++) {
		struct shard *shard = &nic->shard[i];

		if (!lanes_put(loop ? &shard->loop : &shard->in, from->core->number, &m, 1)) {
			from->stats.drop_rx_ring_full++;
			rte_pktmbuf_free(m);
		} else if (shard->core != from->core) {
			core_wake(shard->core);
		}
	}
}

uint32_t port_steer(struct nic *nic, struct shard *from, bool loop, struct rte_mbuf **frames,
		    uint32_t n)
{
	uint32_t i = 0;

	while (i < n) {
		struct shard *shard;
		uint32_t number = 0;
		uint32_t run = i;
		uint32_t took;
		bool all = false;

		/* Consecutive frames for one shard are enqueued together. */
		for (; run < n; run++) {
			struct rte_mbuf *m = frames[run];
			uint32_t to = 0;

			all = false;
			if (nic->num_shards > 1)
				to = fw_steer(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len,
					      nic->num_shards, nic->cm_ports, &all);
			if (run == i)
				number = to;
			if (all || to != number)
				break;
		}
		if (all && run == i) {
			steer_all(nic, from, loop, frames[i++]);
			continue;
		}
		shard = &nic->shard[number];
		took = lanes_put(loop ? &shard->loop : &shard->in, from->core->number, &frames[i],
				 run - i);
		if (took && shard->core != from->core)
			core_wake(shard->core);
		if (took < run - i)
			return i + took;
		i = run;
	}
	return n;
}

void port_place(void *ctx, void *dst, const struct fw_rx_seg *seg, uint32_t num_seg)
{
	struct shard *shard = ctx;
	enum place_way way = place_next(&shard->place);
	uint64_t from = rte_rdtsc(), bytes = place_copy(way, dst, seg, num_seg);

	place_note(&shard->place, way, bytes, rte_rdtsc() - from);
	shard->stats.placed_bytes += bytes;
	if (way == PLACE_STREAMED)
		shard->stats.streamed_bytes += bytes;
}
