/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * IPv4 (ip.c), ICMP echo (icmp.c), UDP (udp.c), and the next hop's address (neigh.c).
 *
 * In: eth_rx.c -> ip_rx() -> icmp_rx() or udp_rx() -> dgram_rx(). Out: ud_tx.c and rd_*.c ->
 * udp_tx_header(). No fragments either way. RFC 791, 792, 768, 826.
 */
#ifndef WEFT_FW_IP_H
#define WEFT_FW_IP_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/fw_port.h"
#include "nic_fw/timer.h"
#include "shared_defs/wire_eth.h"
#include "shared_defs/wire_ip.h"

struct fw_nic;
struct mcast_group;

/* A received IPv4 packet whose header was checked. */
struct ip_rx_info {
	const struct wire_eth *eth;
	const struct wire_ip *ip;
	uint32_t src_ip; /* network byte order */
	uint32_t dst_ip;
	struct mcast_group
	    *group;              /* of dst_ip, where it is one that QPs are attached to; or NULL */
	uint32_t payload_offset; /* in the frame */
	uint32_t payload_bytes;
	bool ce; /* congestion experienced */
};

void ip_rx(struct fw_nic *nic, const struct fw_rx_frame *frame);
/* Adds bytes of a frame from offset on to a running checksum (RFC 1071), across segments. */
uint32_t ip_sum_frame(uint32_t sum, const struct fw_rx_frame *frame, uint32_t offset,
		      uint32_t bytes);
void icmp_rx(struct fw_nic *nic, const struct fw_rx_frame *frame, const struct ip_rx_info *info);
void udp_rx(struct fw_nic *nic, const struct fw_rx_frame *frame, const struct ip_rx_info *info);

/* Length of the headers that udp_tx_header() and ip_tx_header() write. */
enum {
	IP_TX_HDR_BYTES = sizeof(struct wire_eth) + sizeof(struct wire_ip),
	UDP_TX_HDR_BYTES = IP_TX_HDR_BYTES + sizeof(struct wire_udp),
};

/* Writes Ethernet and IPv4 headers at the front of frame->hdr. payload_bytes: behind IPv4. */
void ip_tx_header(struct fw_nic *nic, struct fw_tx_frame *frame, uint32_t dst_ip,
		  const uint8_t *dst_mac, uint8_t proto, uint8_t tos, uint32_t payload_bytes);
/* Gives the packet another time to live: a group's is the sender's choice (RFC 1112 6.1). */
void ip_tx_ttl(struct fw_tx_frame *frame, uint8_t ttl);
/*
 * The same and UDP from this shard's port to the port of dst_shard. payload: behind UDP.
 * udp_tx_header() marks the packet ECT(0) unless congestion control is off: for RD, which
 * answers to marks. udp_tx_header_not_ect() is for UD, which cannot (RFC 8085 3.1.7).
 */
void udp_tx_header(struct fw_nic *nic, struct fw_tx_frame *frame, uint32_t dst_ip,
		   const uint8_t *dst_mac, uint8_t dst_shard, uint32_t payload_bytes);
void udp_tx_header_not_ect(struct fw_nic *nic, struct fw_tx_frame *frame, uint32_t dst_ip,
			   const uint8_t *dst_mac, uint8_t dst_shard, uint32_t payload_bytes);

enum neigh_state {
	NEIGH_FREE = 0,
	NEIGH_INCOMPLETE, /* asked, no answer yet */
	NEIGH_REACHABLE,
	NEIGH_FAILED, /* no answer; asked again when wanted */
};

enum {
	NEIGH_TRIES = 4,
};
#define NEIGH_RETRY_NS   UINT64_C(250000000)
#define NEIGH_CONFIRM_NS UINT64_C(30000000000) /* re-asked while in use */
#define NEIGH_HOLD_NS    UINT64_C(1000000000)  /* a failure is remembered for so long */

struct neigh {
	uint32_t ip; /* network byte order; 0: free */
	uint8_t mac[WIRE_MAC_BYTES];
	uint8_t state;
	uint8_t tries;
	uint32_t hash_next;
	uint64_t used_ns;      /* last lookup; 0: learnt only */
	uint64_t confirmed_ns; /* FAILED: when it failed */
	struct fw_timer timer;
};

/* What neigh_lookup() says. */
enum neigh_result {
	NEIGH_OK,
	NEIGH_WAIT,        /* a request is under way */
	NEIGH_UNREACHABLE, /* no answer, or no route */
};

/* Whom to ask ARP for to reach dst_ip: itself on-link, else the gateway; 0: no route. */
uint32_t neigh_next_hop(const struct fw_nic *nic, uint32_t dst_ip);
/*
 * The MAC of the next hop to dst_ip; asks for it when it is not known. May stage a frame:
 * not to be called between eth_tx_begin() and its commit.
 */
enum neigh_result neigh_lookup(struct fw_nic *nic, uint32_t dst_ip, uint8_t mac[WIRE_MAC_BYTES]);
/*
 * A peer beyond dst_ip's next hop does not answer: everybody is asked whose address that is,
 * unless a question is under way. What was learnt once may be wrong (ARP has no checksum) or
 * have changed.
 */
void neigh_doubt(struct fw_nic *nic, uint32_t dst_ip);
void neigh_rx_arp(struct fw_nic *nic, const struct fw_rx_frame *frame);
/*
 * Tells those who wait (ah.c, rd_session.c) that the next hop ip became known, has another
 * MAC now, or failed.
 */
void neigh_resolved(struct fw_nic *nic, uint32_t ip, bool ok);

#endif /* WEFT_FW_IP_H */
