/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ethernet, sending: frames are staged and go to the port in bursts.
 *
 * fw_poll() flushes at the end of the turn. Frames that the port does not take stay staged, in
 * order, and are offered again. Pieces of a staged frame point into memory of clients, hence
 * eth_tx_forget(). Calls port->tx_burst().
 */
#include "nic_fw/fw_nic.h"

/* So many frames remain staged: counts their packets anew. */
static void keep_staged(struct fw_nic *nic, uint32_t count)
{
	uint32_t i;

	nic->net.tx_count = count;
	nic->net.tx_more = 0;
	for (i = 0; i < count; i++)
		nic->net.tx_more += nic->net.tx[i].run - 1u;
}

/*
 * Offers all staged frames. Returns how many the port took; the rest has moved to the front.
 * *status gets the status of the last staged frame when the port took it.
 */
static uint32_t burst(struct fw_nic *nic, int32_t *status)
{
	uint32_t count = nic->net.tx_count, taken, sent = 0, i;
	uint64_t bytes = 0;
	uint8_t stage;

	if (!count)
		return 0;
	stage = fw_stage_enter(nic, FW_STAGE_PORT_TX);
	taken = nic->port.tx_burst(nic->port.ctx, nic->net.tx, count);
	(void)fw_stage_enter(nic, FW_STAGE_ETH_TX);
	assert(taken <= count);
	for (i = 0; i < taken; i++) {
		if (nic->net.tx[i].status < 0) {
			/*
			 * A frame whose memory is busy is lost, as on a wire: its sender sends it
			 * again.
			 */
			if (nic->net.tx[i].status == -FW_EBUSY) {
				FW_COUNT(nic, host_busy);
				FW_ADD(nic, tx_busy, nic->net.tx[i].run);
			} else {
				FW_COUNT(nic, host_faults);
			}
			continue;
		}
		bytes += fw_tx_packet_bytes(&nic->net.tx[i]);
		sent += nic->net.tx[i].run;
	}
	if (sent) {
		FW_ADD(nic, tx_frames, sent);
		FW_ADD(nic, tx_bytes, bytes);
		fw_trace(nic, TRACE_ETH_TX, 0, bytes, sent);
	}
	if (taken == count && status)
		*status = nic->net.tx[count - 1].status;
	if (taken < count) {
		FW_COUNT(nic, tx_backpressure);
		if (taken)
			memmove(&nic->net.tx[0], &nic->net.tx[taken],
				(count - taken) * sizeof(nic->net.tx[0]));
	}
	keep_staged(nic, count - taken);
	(void)fw_stage_enter(nic, stage);
	return taken;
}

void eth_tx_flush(struct fw_nic *nic)
{
	burst(nic, NULL);
}

/*
 * Counts the packets of a run beyond the first, for which its sender has found room, and the
 * CRC32Cs of those that were not counted: each packet has a place for one.
 */
static void commit_run(struct fw_nic *nic, struct fw_tx_frame *frame, uint32_t crcs)
{
	uint32_t more = frame->run - 1u;

	assert(more <= nic->net.tx_allow);
	frame->bytes += (frame->run - crcs) * WIRE_DGRAM_CRC_BYTES;
	nic->net.tx_more += more;
	nic->net.tx_allow -= more;
}

void eth_tx_commit(struct fw_nic *nic, struct fw_tx_frame *frame)
{
	const struct fw_tx_seg *seg = frame->seg, *end = seg + frame->num_seg;
	uint32_t bytes = 0, crcs = 0;

	assert(frame == &nic->net.tx[nic->net.tx_count] && nic->net.tx_count < FW_TX_STAGE);
	assert(frame->num_seg && frame->num_seg <= FW_TX_SEGS_MAX);
	do {
		bytes += seg->bytes;
		crcs += seg->flags & FW_TX_F_CRC_END;
		if (__builtin_expect(seg->kind == FW_TX_HOST, 0)) {
			FW_COUNT(nic, host_reads);
			FW_ADD(nic, host_read_bytes, seg->bytes);
			fw_dear_copy(nic, seg->bytes);
		}
	} while (++seg != end);
	crcs /= FW_TX_F_CRC_END;
	bytes += crcs * WIRE_DGRAM_CRC_BYTES;
	eth_tx_staged(nic, frame, bytes);
	if (__builtin_expect(frame->run > 1, 0))
		commit_run(nic, frame, crcs);
}

int eth_tx_commit_now(struct fw_nic *nic, struct fw_tx_frame *frame)
{
	int32_t status = 0;

	eth_tx_commit(nic, frame);
	burst(nic, &status);
	return status;
}

int eth_tx_try_now(struct fw_nic *nic, struct fw_tx_frame *frame)
{
	int32_t status = 0;

	eth_tx_commit(nic, frame);
	burst(nic, &status);
	if (nic->net.tx_count) {
		/* The port takes frames in order: the last staged frame is this one. */
		nic->net.tx_count--;
		return -FW_EAGAIN;
	}
	return status;
}

static bool is_of_client(const struct fw_tx_frame *frame, uint32_t client)
{
	uint32_t i;

	for (i = 0; i < frame->num_seg; i++)
		if (frame->seg[i].kind != FW_TX_HDR && frame->seg[i].client == client)
			return true;
	return false;
}

void eth_tx_settle(struct fw_nic *nic)
{
	eth_tx_flush(nic);
	if (nic->port.tx_settle)
		nic->port.tx_settle(nic->port.ctx);
}

void eth_tx_settle_mem(struct fw_nic *nic, const void *mem, uint64_t bytes)
{
	eth_tx_forget_mem(nic, mem, bytes);
	if (nic->port.tx_settle_mem)
		nic->port.tx_settle_mem(nic->port.ctx, mem, bytes);
}

void eth_tx_forget(struct fw_nic *nic, uint32_t client)
{
	uint32_t i, kept = 0;

	eth_tx_settle(nic);
	for (i = 0; i < nic->net.tx_count; i++) {
		if (is_of_client(&nic->net.tx[i], client))
			continue;
		if (kept != i)
			nic->net.tx[kept] = nic->net.tx[i];
		kept++;
	}
	keep_staged(nic, kept);
}

static bool points_into(const struct fw_tx_frame *frame, const uint8_t *mem, uint64_t bytes)
{
	uint32_t i;

	for (i = 0; i < frame->num_seg; i++)
		if (frame->seg[i].kind == FW_TX_MEM &&
		    (uintptr_t)frame->seg[i].mem - (uintptr_t)mem < bytes)
			return true;
	return false;
}

void eth_tx_forget_mem(struct fw_nic *nic, const void *mem, uint64_t bytes)
{
	uint32_t i, kept = 0;

	for (i = 0; i < nic->net.tx_count && !points_into(&nic->net.tx[i], mem, bytes); i++)
		;
	if (i == nic->net.tx_count)
		return;
	eth_tx_flush(nic);
	for (i = 0; i < nic->net.tx_count; i++) {
		if (points_into(&nic->net.tx[i], mem, bytes))
			continue;
		if (kept != i)
			nic->net.tx[kept] = nic->net.tx[i];
		kept++;
	}
	keep_staged(nic, kept);
}
