/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transmission: converts gather descriptors of the firmware to mbufs. Every byte is copied here, so
 * no frame on a wire, in a delay queue or in a capture refers to a process's memory. The exceptions
 * are frames to a NIC that the same core polls, and runs to a wire that passes them on whole, which
 * borrow their payload (borrow.c).
 *
 * Runs on the shard's core; calls gather.c, borrow.c, capture.c and the wire.
 */
#include "dpdk_app/port.h"

#include <errno.h>
#include <rte_mbuf.h>
#include <string.h>

#include "dpdk_app/borrow.h"
#include "dpdk_app/control/capture.h"
#include "dpdk_app/csum.h"
#include "dpdk_app/gather.h"
#include "dpdk_app/wire/wire.h"
#include "shared_defs/wire_eth.h"

bool port_is_near(const struct nic *nic, const struct core *core)
{
	for (uint32_t i = 0; i < nic->num_shards; i++) {
		if (nic->shard[i].core != core)
			return false;
	}
	return true;
}

/* Returns true if the receiver of a frame can use its payload in place. */
static bool tx_may_borrow(const struct shard *shard, const struct fw_tx_frame *frame)
{
	const struct wire_ops *ops = shard->nic->wire->ops;

	if (!(frame->flags & FW_TX_F_BORROW) || frame->bytes < BORROW_LEAST_BYTES)
		return false;
	if (frame->flags & FW_TX_LOOP)
		return port_is_near(shard->nic, shard->core);
	/* port_tx_run() has allowed a run: a wire that takes some cuts the others. */
	return ops->near ? ops->near(shard, frame->hdr) : ops->run && frame->run > 1;
}

/* Returns true if a receiver wants the CRC32C: it is on a wire, or --crc is on. */
static bool tx_needs_crc(const struct shard *shard, const struct fw_tx_frame *frame)
{
	const struct nic *nic = shard->nic;

	return nic->app->conf.switch_crc || !(nic->wire->trusted || frame->flags & FW_TX_LOOP);
}

/*
 * Returns true if a frame may omit its checksum: the receiver needs none, or the device computes
 * it.
 */
static bool tx_may_leave_csum(const struct shard *shard, const struct fw_tx_frame *frame)
{
	const struct wire *wire = shard->nic->wire;

	return frame->csum_start && csum_may_leave(frame) &&
	       (wire->trusted || wire->tx_csum || frame->flags & FW_TX_LOOP);
}

static uint32_t packets_of(const struct fw_tx_frame *frame)
{
	return frame->run > 1 ? frame->run : 1;
}

/* Fills m. Returns false, with its status set, if the frame is not to be sent. */
static bool tx_fill(struct shard *shard, struct fw_tx_frame *frame, struct rte_mbuf *m)
{
	bool leave = tx_may_leave_csum(shard, frame);
	int bytes;

	if (tx_may_borrow(shard, frame) &&
	    borrow_frame(shard, frame, tx_needs_crc(shard, frame), m)) {
		frame->status = 0;
		shard->stats.tx_borrowed += packets_of(frame);
		shard->stats.tx_bytes += fw_tx_packet_bytes(frame);
		return true;
	}
	/* port_tx_run() reported that it could be borrowed: its sender repeats what is lost. */
	if (packets_of(frame) > 1) {
		frame->status = -EFAULT;
		shard->stats.tx_bad_frames++;
		return false;
	}
	bytes = gather_frame(frame, !leave, rte_pktmbuf_mtod(m, uint8_t *), rte_pktmbuf_tailroom(m),
			     port_host_read, shard);
	if (bytes < 0) {
		frame->status = bytes == -EBUSY ? -EBUSY : -EFAULT;
		if (bytes == -EBUSY)
			shard->stats.tx_host_busy++;
		else if (bytes == -EFAULT)
			shard->stats.tx_host_faults++;
		else
			shard->stats.tx_bad_frames++;
		return false;
	}
	frame->status = 0;
	m->data_len = (uint16_t)bytes;
	m->pkt_len = (uint32_t)bytes;
	if (leave)
		csum_left(m, frame);
	shard->stats.tx_bytes += (uint32_t)bytes;
	return true;
}

/* The receiver of a loop is this NIC: a full ring drops frames, as a full wire would. */
static void tx_loop(struct shard *shard, struct rte_mbuf **m, uint32_t n)
{
	uint32_t packets = borrow_count(m, n);
	uint32_t took = port_steer(shard->nic, shard, true, m, n);

	shard->stats.tx_loop_frames += packets;
	if (took < n) {
		uint32_t lost = borrow_count(m + took, n - took);

		shard->stats.tx_loop_frames -= lost;
		shard->stats.drop_loop_full += lost;
		rte_pktmbuf_free_bulk(m + took, n - took);
	}
}

uint32_t port_tx_flush(struct shard *shard)
{
	const struct wire_ops *ops = shard->nic->wire->ops;
	uint32_t took, kept = 0;

	if (ops->flush)
		kept = ops->flush(shard);
	if (!shard->num_backlog)
		return kept;
	took = ops->tx(shard, shard->backlog, shard->num_backlog);
	shard->num_backlog -= took;
	for (uint32_t i = 0; took && i < shard->num_backlog; i++)
		shard->backlog[i] = shard->backlog[i + took];
	return took + kept;
}

static void tx_wire(struct shard *shard, struct rte_mbuf **m, uint32_t n)
{
	uint8_t stage = shard->stages ? shard->ops->stage(shard->fw, FW_STAGE_WIRE_TX) : 0;
	uint32_t took = shard->nic->wire->ops->tx(shard, m, n);

	if (shard->stages)
		(void)shard->ops->stage(shard->fw, stage);
	/*
	 * The firmware considers the frames as sent, so those that the wire rejects are kept here.
	 */
	for (; took < n; took++)
		shard->backlog[shard->num_backlog++] = m[took];
}

uint32_t port_tx_burst(void *ctx, struct fw_tx_frame *frames, uint32_t n)
{
	struct shard *shard = ctx;
	struct nic *nic = shard->nic;
	struct capture *capture = atomic_load_explicit(&nic->capture, memory_order_acquire);
	struct rte_mbuf *m[FW_BURST], *wire[FW_BURST], *loop[FW_BURST];
	uint32_t num_wire = 0, num_loop = 0;

	if (shard->num_backlog) {
		port_tx_flush(shard);
		if (shard->num_backlog)
			return 0;
	}
	if (shard->num_borrowed)
		borrow_sweep(shard);
	if (n > FW_BURST)
		n = FW_BURST;
	if (rte_pktmbuf_alloc_bulk(nic->pool, m, n)) {
		shard->stats.tx_no_mbuf++;
		return 0;
	}
	for (uint32_t i = 0; i < n; i++) {
		if (!tx_fill(shard, &frames[i], m[i])) {
			rte_pktmbuf_free(m[i]);
			continue;
		}
		if (capture)
			capture_frame(capture, shard, CAPTURE_OUT, m[i]);
		shard->stats.tx_frames += packets_of(&frames[i]);
		/* A sent frame is read-only, so two receivers may share it. */
		if (frames[i].flags & FW_TX_F_ALSO_LOOP)
			rte_mbuf_refcnt_update(m[i], 1);
		if (frames[i].flags & (FW_TX_LOOP | FW_TX_F_ALSO_LOOP))
			loop[num_loop++] = m[i];
		if (frames[i].flags & FW_TX_LOOP)
			continue;
		wire[num_wire++] = m[i];
		line_sent(&shard->line, shard->core->now_ns, fw_tx_packet_bytes(&frames[i]));
	}
	if (num_loop)
		tx_loop(shard, loop, num_loop);
	if (num_wire)
		tx_wire(shard, wire, num_wire);
	return n;
}

void port_line(struct shard *shard)
{
	const struct nic *nic = shard->nic;
	uint32_t mbps = atomic_load_explicit(&nic->line_mbps, memory_order_relaxed);

	line_init(&shard->line, mbps, nic->mtu + (uint32_t)sizeof(struct wire_eth));
}

uint32_t port_tx_room(void *ctx)
{
	const struct shard *shard = ctx;

	return line_room(&shard->line, shard->core->now_ns);
}

/* Frames that are staged now may borrow, too, before any of them leaves. */
uint32_t port_tx_run(void *ctx, const uint8_t *mac)
{
	struct shard *shard = ctx;
	const struct nic *nic = shard->nic;
	const struct wire_ops *ops = nic->wire->ops;

	if (shard->num_borrowed + FW_BURST > APP_MAX_BORROWED)
		borrow_sweep(shard);
	if (shard->num_borrowed + FW_BURST > APP_MAX_BORROWED)
		return 1;
	if (!memcmp(mac, nic->mac, WIRE_MAC_BYTES))
		return port_is_near(nic, shard->core) ? FW_RUN_MAX : 1;
	if (ops->near)
		return ops->near(shard, mac) ? FW_RUN_MAX : 1;
	return ops->run ? ops->run(shard, mac) : 1;
}

void port_tx_settle(void *ctx)
{
	struct shard *shard = ctx;

	if (shard->num_borrowed)
		borrow_settle(shard);
}

void port_tx_settle_mem(void *ctx, const void *mem, size_t bytes)
{
	struct shard *shard = ctx;

	if (shard->num_borrowed)
		borrow_settle_mem(shard, mem, bytes);
}
