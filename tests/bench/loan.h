/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Borrowed frames without CRC32C, as between NICs of weftd's built-in switch.
 *
 * A frame of a port that lends (bench_port.lends) arrives as known to be right, with its CRC32Cs
 * and checksum spoilt. If the firmware marked it FW_TX_F_BORROW, its payload stays in the sender's
 * memory until the receiver reads it, or until tx_settle() copies it into the frame. What the wire
 * doubles, delays or keeps is a copy with all its sums. A filter that changes frames needs ports
 * that do not lend. Contract: nic_fw/fw_port.h.
 */
#ifndef WEFT_TESTS_BENCH_LOAN_H
#define WEFT_TESTS_BENCH_LOAN_H

#include "tests/bench/port.h"

/* Notes what the frame, assembled already, borrows, and where its sums are. */
void bench_loan_take(struct bench_port *port, const struct fw_tx_frame *tx,
		     struct bench_frame *frame);
/* Copies what the port has lent into its frames under way. */
void bench_loan_settle(struct bench_port *port);
/* True if a frame under way reads the port's memory there. */
bool bench_loan_reaches(const struct bench_port *port, const void *mem, size_t bytes);
/* Makes the frame one that is received: its flags say that it is right, and its sums are wrong. */
void bench_loan_spoil(struct bench_frame *frame);
/* Fills in the segments of a frame with a loan; the first and the one behind the loan are copies.
 */
void bench_loan_pieces(const struct bench_frame *frame, struct fw_rx_frame *rx);

#endif /* WEFT_TESTS_BENCH_LOAN_H */
