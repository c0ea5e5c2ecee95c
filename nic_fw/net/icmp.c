/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ICMP: answers echo requests, so that ping shows whether a NIC is up.
 *
 * Calls eth_tx. Shard 0 answers for the NIC. Other ICMP messages change no state, except for
 * unreachable messages in tcp_icmp.c: ICMP is easily forged. RFC 792, RFC 1122 3.2.2.6.
 */
#include "nic_fw/fw_nic.h"

enum {
	ORIGINAL_BYTES = 60 + 8, /* the longest IPv4 header and the least that follows it */
};

/* A packet of ours was not deliverable: TCP checks whether it sent it. */
static void icmp_rx_unreachable(struct fw_nic *nic, const struct fw_rx_frame *frame,
				const struct ip_rx_info *info)
{
	struct wire_icmp_unreach unreach;
	uint8_t original[ORIGINAL_BYTES];
	struct eth_cursor cursor;
	uint32_t n = info->payload_bytes - (uint32_t)sizeof(unreach);

	if (n > sizeof(original))
		n = sizeof(original);
	eth_cursor_init(&cursor, frame, info->payload_offset, (uint32_t)sizeof(unreach) + n);
	eth_cursor_copy(&cursor, &unreach, sizeof(unreach));
	eth_cursor_copy(&cursor, original, n);
	FW_COUNT(nic, icmp_unreachable_rx);
	net_up.tcp_icmp(nic, info, unreach.type, unreach.code, be16_get(unreach.mtu), original, n);
}

void icmp_rx(struct fw_nic *nic, const struct fw_rx_frame *frame, const struct ip_rx_info *info)
{
	struct wire_icmp_echo *echo = (struct wire_icmp_echo *)nic->scratch;
	struct fw_tx_frame *tx;
	struct eth_cursor cursor;

	if (!info->group && info->payload_bytes >= sizeof(struct wire_icmp_unreach) &&
	    frame->seg[0].bytes > info->payload_offset &&
	    frame->seg[0].data[info->payload_offset] == WIRE_ICMP_UNREACHABLE &&
	    wire_sum_fold(ip_sum_frame(0, frame, info->payload_offset, info->payload_bytes)) == 0) {
		icmp_rx_unreachable(nic, frame, info);
		return;
	}
	/* An echo request to a group would be answered by all its members (RFC 1122 3.2.2.6). */
	if (nic->config.shard != 0 || info->group || info->payload_bytes < sizeof(*echo) ||
	    info->payload_bytes + sizeof(struct wire_ip) > nic->config.mtu ||
	    wire_sum_fold(ip_sum_frame(0, frame, info->payload_offset, info->payload_bytes)) != 0) {
		FW_DROP(nic, drop_icmp);
		return;
	}
	eth_cursor_init(&cursor, frame, info->payload_offset, info->payload_bytes);
	eth_cursor_copy(&cursor, nic->scratch, info->payload_bytes);
	if (echo->type != WIRE_ICMP_ECHO || echo->code != 0) {
		FW_DROP(nic, drop_icmp);
		return;
	}
	FW_COUNT(nic, icmp_echo_rx);
	echo->type = WIRE_ICMP_ECHO_REPLY;
	echo->checksum = be16_put(0);
	echo->checksum =
	    be16_put(wire_sum_fold(wire_sum_add(0, nic->scratch, info->payload_bytes)));
	tx = eth_tx_begin(nic);
	if (!tx)
		return;
	/* The reply goes back on the way the request came: to the sender or its router. */
	ip_tx_header(nic, tx, info->src_ip, info->eth->src, WIRE_IPPROTO_ICMP, 0,
		     info->payload_bytes);
	eth_tx_hdr(tx, 0, IP_TX_HDR_BYTES, 0);
	tx->seg[tx->num_seg++] = (struct fw_tx_seg){
	    .mem = nic->scratch, .bytes = info->payload_bytes, .kind = FW_TX_MEM};
	/*
	 * The next stage reuses the scratch memory. Without room the reply is dropped; ping
	 * repeats.
	 */
	(void)eth_tx_try_now(nic, tx);
}
