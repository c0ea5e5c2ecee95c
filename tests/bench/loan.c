/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loans of loan.h. Used by port.c and the fuzz targets' world.
 */
#include "tests/bench/loan.h"

#include <stdlib.h>
#include <string.h>

#include "shared_defs/be.h"
#include "tests/bench/wire.h"

enum {
	SPOILT = 0xb5,
};

/* Headers, then memory of processes, then at most a trailer of the firmware: the shape that ports
 * lend. */
static void note_pieces(const struct fw_tx_frame *tx, struct bench_loan *loan)
{
	uint32_t i, hdr_bytes = 0;

	for (i = 0; i < tx->num_seg; i++) {
		const struct fw_tx_seg *seg = &tx->seg[i];

		if (seg->kind == FW_TX_HDR && !loan->num)
			hdr_bytes += seg->bytes;
		else if (seg->kind == FW_TX_MEM && !(seg->flags & FW_TX_F_CRC_BEGIN))
			loan->piece[loan->num++] = (struct fw_rx_seg){seg->mem, seg->bytes};
		else if (seg->kind != FW_TX_HDR || i + 1 < tx->num_seg)
			break;
		if (seg->flags & FW_TX_F_CRC_END && i + 1 < tx->num_seg)
			break;
	}
	if (i < tx->num_seg || tx->num_seg == FW_TX_SEGS_MAX || !hdr_bytes)
		loan->num = 0;
	loan->at = hdr_bytes;
}

void bench_loan_take(struct bench_port *port, const struct fw_tx_frame *tx,
		     struct bench_frame *frame)
{
	struct bench_loan *loan = &frame->loan;
	uint32_t i, at = 0;

	loan->lender = port;
	loan->csum_at = tx->csum_start ? tx->csum_at : 0;
	for (i = 0; i < tx->num_seg; i++) {
		at += tx->seg[i].bytes;
		if (!(tx->seg[i].flags & FW_TX_F_CRC_END))
			continue;
		BENCH_CHECK(loan->num_crcs < BENCH_CRCS, "a frame with many CRC32Cs");
		loan->crc_at[loan->num_crcs++] = (uint16_t)at;
		at += (uint32_t)sizeof(struct be32);
	}
	if (tx->flags & FW_TX_F_BORROW)
		note_pieces(tx, loan);
}

static void copy_in(struct bench_frame *frame)
{
	uint32_t at = frame->loan.at, i;

	for (i = 0; i < frame->loan.num; at += frame->loan.piece[i++].bytes)
		memcpy(frame->b + at, frame->loan.piece[i].data, frame->loan.piece[i].bytes);
	frame->loan.num = 0;
}

void bench_loan_settle(struct bench_port *port)
{
	uint32_t p, i;

	for (p = 0; port->wire && p < port->wire->num_ports; p++) {
		struct bench_port *to = port->wire->port[p];

		for (i = 0; i < to->inbox_count; i++)
			if (to->inbox[i].loan.lender == port)
				copy_in(&to->inbox[i]);
	}
}

static bool reaches(const struct bench_loan *loan, const void *mem, size_t bytes)
{
	uint32_t i;

	for (i = 0; i < loan->num; i++)
		if ((uintptr_t)loan->piece[i].data - (uintptr_t)mem < bytes)
			return true;
	return false;
}

bool bench_loan_reaches(const struct bench_port *port, const void *mem, size_t bytes)
{
	uint32_t p, i;

	for (p = 0; port->wire && p < port->wire->num_ports; p++) {
		const struct bench_port *to = port->wire->port[p];

		for (i = 0; i < to->inbox_count; i++)
			if (to->inbox[i].loan.lender == port &&
			    reaches(&to->inbox[i].loan, mem, bytes))
				return true;
	}
	return false;
}

void bench_loan_spoil(struct bench_frame *frame)
{
	const struct bench_loan *loan = &frame->loan;
	uint32_t i;

	if (!loan->lender)
		return;
	frame->flags |= FW_RX_CRC_OK | FW_RX_CSUM_OK;
	for (i = 0; i < loan->num_crcs; i++)
		memset(frame->b + loan->crc_at[i], SPOILT, sizeof(struct be32));
	if (loan->csum_at)
		memset(frame->b + loan->csum_at, SPOILT, sizeof(struct be16));
}

static struct fw_rx_seg copy_of(const uint8_t *data, uint32_t bytes)
{
	uint8_t *copy = malloc(bytes);

	BENCH_CHECK(copy, "no memory");
	memcpy(copy, data, bytes);
	return (struct fw_rx_seg){copy, bytes};
}

void bench_loan_pieces(const struct bench_frame *frame, struct fw_rx_frame *rx)
{
	const struct bench_loan *loan = &frame->loan;
	uint32_t at = loan->at, i;

	rx->seg[rx->num_seg++] = copy_of(frame->b, at);
	for (i = 0; i < loan->num; at += loan->piece[i++].bytes)
		rx->seg[rx->num_seg++] = loan->piece[i];
	if (at < frame->n)
		rx->seg[rx->num_seg++] = copy_of(frame->b + at, frame->n - at);
}
