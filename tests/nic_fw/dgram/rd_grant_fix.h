/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fixture of the tests of grants: nic_fw/dgram/rd_grant.c alone, and headers of its peers.
 */
#ifndef WEFT_TESTS_RD_GRANT_FIX_H
#define WEFT_TESTS_RD_GRANT_FIX_H

#include "nic_fw/dgram/rd_grant.c"
#include "tests/ut.h"

enum {
	PEERS = 64,
	BYTES = 4000,
	HEAP = 16,
};

/* In place of up/timer_fires.c's. */
const fw_timer_fn fw_timer_fires[FW_TIMER_KINDS] = {[FW_TIMER_RD_GRANT] = rd_grant_fire};

static struct fw_nic nic;
static struct fw_timer *heap[HEAP];
static struct rd_session peer[PEERS];
static uint32_t told[PEERS]; /* the peers' timestamps */

static inline void begin(uint32_t n)
{
	uint32_t i;

	memset(&nic, 0, sizeof(nic));
	memset(peer, 0, sizeof(peer));
	nic.now_ns = 1000000000;
	nic.config.mtu = 4096;
	fw_timers_init(&nic.timers, heap, HEAP);
	fw_list_init(&nic.rd.acks);
	fw_list_init(&nic.rd.ready);
	rd_grant_init(&nic);
	for (i = 0; i < n; i++) {
		fw_list_init(&peer[i].grant_node);
		fw_list_init(&peer[i].held_node);
		fw_list_init(&peer[i].ack_node);
		fw_list_init(&peer[i].ready_node);
		fw_list_init(&peer[i].flows);
		rd_grant_open(&nic, &peer[i]);
		told[i] = 1000;
	}
}

static const struct dgram_hdr rd_data = {.type = WIRE_DGRAM_RD};
static const struct fw_rx_frame one_packet = {.run = 1};

/* A packet of a peer that has used so many credits; it left rtt_ns after our last header did. */
static inline void rx(uint32_t i, uint32_t used, bool more, uint32_t rtt_ns)
{
	const struct rdmap_seg pkt = {.frame = &one_packet,
				      .hdr = &rd_data,
				      .flags = more ? WIRE_DGRAM_F_MORE : 0,
				      .data_bytes = BYTES};
	const struct wire_rd rd = {.timestamp = be32_put(++told[i]),
				   .timestamp_echo = be32_put((uint32_t)nic.now_ns - rtt_ns),
				   .used = (uint8_t)used,
				   .limit = 2};

	rd_grant_rx(&nic, &peer[i], &pkt, &rd, 1);
	peer[i].rx_data.ns = nic.now_ns;
}

/* Peers use their credits in turn, for `packets` packets; count: those of each peer. */
static inline void run_all(uint32_t n, uint32_t packets, uint32_t rtt_ns, uint32_t *count)
{
	uint32_t i;

	while (packets) {
		for (i = 0; i < n && packets; i++) {
			if (!left(&peer[i]))
				continue;
			nic.now_ns += 3000;
			rx(i, peer[i].rx_used + 1, true, rtt_ns);
			rd_grant_taken(&peer[i], 1);
			count[i]++;
			packets--;
		}
	}
}

#endif /* WEFT_TESTS_RD_GRANT_FIX_H */
