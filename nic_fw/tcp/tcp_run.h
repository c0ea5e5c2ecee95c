/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs of segments (tcp_run.c), and the steps of single ones that they share.
 */
#ifndef WEFT_FW_TCP_RUN_H
#define WEFT_FW_TCP_RUN_H

#include "nic_fw/tcp/tcp_flow.h"

/* Sends the next new segments as a run. False: nothing was sent, they go one by one. */
bool tcp_run_send(struct fw_nic *nic, struct tcp_flow *flow);
/* Takes a run whose first segment is in, or declines it. */
void tcp_run_rx(struct fw_nic *nic, struct tcp_in *in);

/* ---- tcp_rx.c */

/* RFC 7323 5.3: true when the segment is older than one that was received. */
bool tcp_rx_is_old(const struct fw_nic *nic, const struct tcp_flow *flow, const struct tcp_in *in);
/* Keeps the timestamp to echo. */
void tcp_rx_note_timestamp(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_in *in);
/* Decides when data in order, which was taken, is acknowledged: see tcp_tx.c. */
void tcp_rx_owe_ack(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_in *in);

/* ---- tcp_tx.c, tcp_txhdr.c */

/* True if the state lets new data go. */
static inline bool tcp_may_send_data(const struct tcp_flow *flow)
{
	return flow->state == TCP_ESTABLISHED || flow->state == TCP_CLOSE_WAIT;
}
/* A segment of data was sent, and its ACK with it. sack: with all SACK blocks. */
void tcp_tx_data_said(const struct fw_nic *nic, struct tcp_flow *flow, bool sack);
/* Bytes of a segment were sent. */
void tcp_tx_sent(struct fw_nic *nic, struct tcp_flow *flow, struct tcp_seg *seg, uint32_t bytes);
/* Appends a new segment of the layer above, at snd_nxt. */
void tcp_tx_append(struct tcp_flow *flow, struct tcp_seg *seg, uint32_t seq);
/* Length of the headers of a segment without SACK blocks. */
uint32_t tcp_tx_hdr_bytes(const struct tcp_flow *flow);

/* Begins the checksum of a segment of so many bytes. RFC 9293 3.1 */
static inline uint32_t tcp_pseudo_sum(struct be32 src, struct be32 dst, uint32_t bytes)
{
	const struct wire_tcp_pseudo pseudo = {
	    .src = src,
	    .dst = dst,
	    .proto = WIRE_IPPROTO_TCP,
	    .bytes = be16_put((uint16_t)bytes),
	};

	return wire_sum_add(0, &pseudo, sizeof(pseudo));
}

#endif /* WEFT_FW_TCP_RUN_H */
