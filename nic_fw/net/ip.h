/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * IPv4 (ip.c), ICMP echo (icmp.c), UDP (udp.c), and the next hop's address (neigh.c).
 *
 * In: eth_rx.c -> ip_rx() -> icmp_rx(), or udp_rx() -> net_up.dgram(). Out: ud_tx.c and rd_*.c ->
 * udp_tx_header(). No fragments either way. RFC 791, 792, 768, 826.
 */
#ifndef WEFT_FW_IP_H
#define WEFT_FW_IP_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/fw_port.h"
#include "nic_fw/base/timer.h"
#include "shared_defs/wire_dgram.h"
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
	struct mcast_group *group; /* of dst_ip, if QPs are attached to it; or NULL */
	uint32_t payload_offset;   /* in the frame */
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

enum {
	/* Bytes of a packet before and after its DDP segment (wire_dgram.h). */
	DGRAM_UD_OVERHEAD = sizeof(struct wire_ip) + sizeof(struct wire_udp) +
			    sizeof(struct wire_dgram) + WIRE_DGRAM_CRC_BYTES,
	DGRAM_RD_OVERHEAD = DGRAM_UD_OVERHEAD + sizeof(struct wire_rd),
};

/* Writes Ethernet and IPv4 headers at the front of frame->hdr. payload_bytes: after IPv4. */
void ip_tx_header(struct fw_nic *nic, struct fw_tx_frame *frame, uint32_t dst_ip,
		  const uint8_t *dst_mac, uint8_t proto, uint8_t tos, uint32_t payload_bytes);
/* Sets another time to live: a group's is the sender's choice (RFC 1112 6.1). */
void ip_tx_ttl(struct fw_tx_frame *frame, uint8_t ttl);
/*
 * As ip_tx_header(), with UDP from this shard's port to the port of dst_shard. payload_bytes: after
 * UDP. udp_tx_header() marks the packet ECT(0) unless congestion control is off: for RD, which
 * reacts to marks. udp_tx_header_not_ect() is for UD, which cannot (RFC 8085 3.1.7).
 */
void udp_tx_header(struct fw_nic *nic, struct fw_tx_frame *frame, uint32_t dst_ip,
		   const uint8_t *dst_mac, uint8_t dst_shard, uint32_t payload_bytes);
void udp_tx_header_not_ect(struct fw_nic *nic, struct fw_tx_frame *frame, uint32_t dst_ip,
			   const uint8_t *dst_mac, uint8_t dst_shard, uint32_t payload_bytes);

enum neigh_state {
	NEIGH_FREE = 0,
	NEIGH_INCOMPLETE, /* requested, no answer yet */
	NEIGH_REACHABLE,
	NEIGH_FAILED, /* no answer; requested again when wanted */
};

enum {
	NEIGH_TRIES = 4,
	NEIGH_STRANGERS = 256, /* requests under way for strangers */
	NEIGH_RATES = 64,      /* classes of MACs whose requests are counted */
};
#define NEIGH_RETRY_NS   UINT64_C(250000000)
#define NEIGH_CONFIRM_NS UINT64_C(30000000000) /* confirmed again while in use */
#define NEIGH_HOLD_NS    UINT64_C(1000000000)  /* a failure is remembered for so long */
/* Gap between requests that verify the known address, and the wait for their answer. */
#define NEIGH_CONFLICT_NS UINT64_C(1000000000)
#define NEIGH_VERIFY_NS   UINT64_C(50000000)
/* Gap between requests while frames of the station arrive. */
#define NEIGH_REASK_NS UINT64_C(1000000)
#define NEIGH_RATE_NS  UINT64_C(1000000000)

struct neigh {
	uint32_t ip; /* network byte order; 0: free */
	uint8_t mac[WIRE_MAC_BYTES];
	uint8_t state;
	uint8_t tries;
	bool doubted;  /* another MAC was announced: the known one is being verified */
	bool stranger; /* requested for a stranger only */
	uint16_t turn; /* of a stranger's entry: index in fw_nic.net.neigh_strangers */
	uint32_t hash_next;
	uint64_t used_ns;      /* last lookup; 0: none */
	uint64_t confirmed_ns; /* FAILED: when it failed; INCOMPLETE: when it was last requested */
	uint64_t verified_ns;  /* last verification since another MAC was announced; 0: never */
	struct fw_timer timer;
};

/* Number of requests made for a class of senders. */
struct neigh_rate {
	uint64_t since_ns;
	uint32_t spent;
};

/* Results of neigh_source(). */
enum neigh_source {
	NEIGH_SOURCE_RIGHT,
	NEIGH_SOURCE_WRONG,   /* the next hop has another MAC, or there is no way there */
	NEIGH_SOURCE_UNKNOWN, /* not known yet; requested */
};

/* Results of neigh_lookup(). */
enum neigh_result {
	NEIGH_OK,
	NEIGH_WAIT,        /* a request is under way */
	NEIGH_UNREACHABLE, /* no answer, or no route */
};

/*
 * Returns the address to resolve by ARP to reach dst_ip: itself on-link, else the gateway; 0: no
 * route.
 */
uint32_t neigh_next_hop(const struct fw_nic *nic, uint32_t dst_ip);
/*
 * Stores the MAC of the next hop to dst_ip; requests it when it is not known. May stage a frame: do
 * not call between eth_tx_begin() and its commit.
 */
enum neigh_result neigh_lookup(struct fw_nic *nic, uint32_t dst_ip, uint8_t mac[WIRE_MAC_BYTES]);
/*
 * Checks that a frame from src_ip came from the MAC of its next hop. The check is on behalf of the
 * sender: it marks no entry as used, and its requests are limited. May stage a frame.
 */
enum neigh_source neigh_source(struct fw_nic *nic, uint32_t src_ip,
			       const uint8_t mac[WIRE_MAC_BYTES]);
/*
 * Stores the MAC for an answer to src_ip whose packet came from src_mac: that of its next hop.
 * While that is not known, it is src_mac, and the answer must hold only data that the sender knows.
 */
void neigh_answer(struct fw_nic *nic, uint32_t src_ip, const uint8_t src_mac[WIRE_MAC_BYTES],
		  uint8_t mac[WIRE_MAC_BYTES]);
/*
 * A peer beyond dst_ip's next hop does not answer: requests the address by broadcast, unless a
 * request is under way. A learned address may be wrong (ARP has no checksum) or may have changed.
 */
void neigh_doubt(struct fw_nic *nic, uint32_t dst_ip);
void neigh_rx_arp(struct fw_nic *nic, const struct fw_rx_frame *frame);
/*
 * Notifies the users (neigh_users of net_up.h) that the next hop ip became known, has another MAC
 * now, or failed.
 */
void neigh_resolved(struct fw_nic *nic, uint32_t ip, bool ok);

struct fw_list;

/* ---- neigh_wait.c: waiters, by the thousand */

enum neigh_wait_kind {
	NEIGH_WAIT_CM,  /* cm_ep.wait_node */
	NEIGH_WAIT_RD,  /* rd_session.wait_node */
	NEIGH_WAIT_TCP, /* tcp_flow.wait_node */
	NEIGH_WAIT_KINDS
};

void neigh_wait_init(struct fw_nic *nic);
/*
 * An address became known or failed: all waiters of the list look it up again, in slices. A waiter
 * that still has to wait joins the list again.
 */
void neigh_wait_over(struct fw_nic *nic, enum neigh_wait_kind kind, struct fw_list *waiting);
/* Serves the due waiters. */
void neigh_wait_run(struct fw_nic *nic);
bool neigh_wait_pending(const struct fw_nic *nic);

/* Timers: up/timer_fires.c. */
void neigh_fire(struct fw_nic *nic, struct fw_timer *timer);

#endif /* WEFT_FW_IP_H */
