/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Borrowed frames, and frames without CRC32C: the ports of NICs on weftd's built-in switch.
 *
 * With sim_config.borrow a frame that the firmware marked FW_TX_F_BORROW crosses the network with
 * its payload in its sender's memory. The receiving firmware reads it there. tx_settle() copies it
 * into the frame first, as dpdk_app/borrow.c does. The network copies the payload of frames that it
 * delays out of order or delivers twice: the sender may rely on the order of borrowed frames. With
 * sim_config.no_crc frames arrive as known to be right, and the bytes of their CRC32Cs and
 * checksums are spoilt. A mapping that the firmware gives back must lend to no frame.
 *
 * Used by sim_port.c, sim_link.c, sim_nic.c and sim_mem.c. Contract: nic_fw/fw_port.h.
 */
#include "sim_harness/sim_int.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "shared_defs/be.h"

enum {
	LEAST_BYTES = 1024, /* as BORROW_LEAST_BYTES in dpdk_app/borrow.h */
	SPOILT = 0xb5,
};

/* Returns the bytes of the headers before the pieces; 0: the frame has not the shape of weftd's. */
static uint32_t shape_of(const struct fw_tx_frame *frame, struct sim_loan *loan)
{
	uint32_t hdr_bytes = 0, i;

	for (i = 0; i < frame->num_seg; i++) {
		const struct fw_tx_seg *seg = &frame->seg[i];

		if (seg->kind == FW_TX_HDR && !loan->num_pieces)
			hdr_bytes += seg->bytes;
		else if (seg->kind == FW_TX_MEM && !(seg->flags & FW_TX_F_CRC_BEGIN))
			loan->piece[loan->num_pieces++] = (struct fw_rx_seg){seg->mem, seg->bytes};
		else if (seg->kind != FW_TX_HDR || i + 1 < frame->num_seg ||
			 seg->flags & FW_TX_F_CRC_BEGIN)
			return 0;
		if (seg->flags & FW_TX_F_CRC_END && i + 1 < frame->num_seg)
			return 0;
	}
	return loan->num_pieces && frame->num_seg < FW_TX_SEGS_MAX ? hdr_bytes : 0;
}

static void link_loan(struct sim_loan *loan)
{
	loan->prev = NULL;
	loan->next = loan->lender->loans;
	if (loan->next)
		loan->next->prev = loan;
	loan->lender->loans = loan;
}

void sim_loan_drop(struct sim_pkt *pkt)
{
	struct sim_loan *loan = pkt->loan;

	if (!loan)
		return;
	if (loan->prev)
		loan->prev->next = loan->next;
	else
		loan->lender->loans = loan->next;
	if (loan->next)
		loan->next->prev = loan->prev;
	free(loan);
	pkt->loan = NULL;
}

void sim_loan_take(struct sim_shard *shard, const struct fw_tx_frame *frame, struct sim_pkt *pkt)
{
	struct sim_loan *loan;

	if (!shard->nic->sim->config.borrow || !(frame->flags & FW_TX_F_BORROW) ||
	    frame->bytes < LEAST_BYTES)
		return;
	loan = calloc(1, sizeof(*loan));
	assert(loan);
	loan->at = shape_of(frame, loan);
	if (!loan->at) {
		free(loan);
		return;
	}
	loan->lender = shard;
	loan->pkt = pkt;
	pkt->loan = loan;
	link_loan(loan);
	shard->nic->lent_frames++;
}

/* The payload takes the place of what the frame had when it was sent. */
void sim_loan_copy(struct sim_pkt *pkt)
{
	const struct sim_loan *loan = pkt->loan;
	uint32_t at, i;

	if (!loan)
		return;
	for (i = 0, at = loan->at; i < loan->num_pieces; at += loan->piece[i++].bytes)
		memcpy(pkt->data + at, loan->piece[i].data, loan->piece[i].bytes);
	sim_loan_drop(pkt);
}

static bool loan_reaches(const struct sim_loan *loan, const void *mem, size_t bytes)
{
	uint32_t i;

	for (i = 0; i < loan->num_pieces; i++)
		if ((uintptr_t)loan->piece[i].data - (uintptr_t)mem < bytes)
			return true;
	return false;
}

/* Frames that a firmware reads at this moment keep their pieces; they are under way no more. */
void sim_loan_settle_mem(void *ctx, const void *mem, size_t bytes)
{
	struct sim_shard *shard = ctx;
	struct sim_loan *loan, *next;

	for (loan = shard->loans; loan; loan = next) {
		next = loan->next;
		if (loan->shown || !loan_reaches(loan, mem, bytes))
			continue;
		sim_loan_copy(loan->pkt);
		shard->nic->settled_frames++;
	}
}

void sim_loan_settle(void *ctx)
{
	sim_loan_settle_mem(ctx, NULL, SIZE_MAX);
}

bool sim_loan_reaches(const struct sim_shard *shard, const void *mapping, size_t bytes)
{
	const struct sim_loan *loan;

	for (loan = shard->loans; loan; loan = loan->next)
		if (loan_reaches(loan, mapping, bytes))
			return true;
	return false;
}

struct sim_pkt *sim_pkt_twin(struct sim *sim, const struct sim_pkt *pkt)
{
	struct sim_pkt *twin = sim_pkt_new(sim, pkt->data, pkt->bytes);

	twin->loop = pkt->loop;
	twin->trusted = pkt->trusted;
	twin->csum_at = pkt->csum_at;
	twin->num_crcs = pkt->num_crcs;
	memcpy(twin->crc_at, pkt->crc_at, sizeof(twin->crc_at));
	return twin;
}

struct sim_pkt *sim_pkt_same(struct sim *sim, const struct sim_pkt *pkt)
{
	struct sim_pkt *same = sim_pkt_twin(sim, pkt);

	same->run = pkt->run;
	same->run_at = pkt->run_at;
	if (!pkt->loan)
		return same;
	same->loan = malloc(sizeof(*same->loan));
	assert(same->loan);
	*same->loan = *pkt->loan;
	same->loan->pkt = same;
	link_loan(same->loan);
	return same;
}

void sim_pkt_crc(struct sim_pkt *pkt, uint32_t at)
{
	assert(pkt->num_crcs < SIM_PKT_CRCS);
	pkt->crc_at[pkt->num_crcs++] = (uint16_t)at;
}

void sim_pkt_trust(struct sim *sim, struct sim_pkt *pkt, uint32_t csum_at)
{
	pkt->trusted = sim->config.no_crc && !sim->doubtful;
	pkt->csum_at = (uint16_t)csum_at;
}

void sim_pkt_spoil(struct sim_pkt *pkt)
{
	uint32_t i;

	if (!pkt->trusted)
		return;
	for (i = 0; i < pkt->num_crcs; i++)
		memset(pkt->data + pkt->crc_at[i], SPOILT, sizeof(struct be32));
	if (pkt->csum_at)
		memset(pkt->data + pkt->csum_at, SPOILT, sizeof(struct be16));
}

uint32_t sim_loan_pieces(struct sim_pkt *pkt, struct fw_rx_seg *seg)
{
	struct sim_loan *loan = pkt->loan;
	uint32_t n = 0, at = loan->at, i;

	seg[n++] = (struct fw_rx_seg){pkt->data, at};
	for (i = 0; i < loan->num_pieces; i++) {
		seg[n++] = loan->piece[i];
		at += loan->piece[i].bytes;
	}
	if (at < pkt->bytes)
		seg[n++] = (struct fw_rx_seg){pkt->data + at, pkt->bytes - at};
	loan->shown = true;
	return n;
}

uint64_t sim_nic_lent(const struct sim_nic *nic, uint64_t *settled)
{
	*settled = nic->settled_frames;
	return nic->lent_frames;
}
