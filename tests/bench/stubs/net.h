/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A shard with nothing above its lower layers: stubs for the tests of eth, ip, udp, neigh, dgram
 * and ud.
 *
 * The layers under test are the real ones. Everything above them (QPs, receives, completions,
 * memory, RD, TCP) is a recorder in net.c, so that no other object of the firmware is linked. The
 * Makefile links net.c into each test that includes this header, ahead of the firmware. Frames of a
 * peer are right unless a test changes them: begun by net_put_*, completed by net_seal().
 */
#ifndef WEFT_TESTS_BENCH_STUBS_NET_H
#define WEFT_TESTS_BENCH_STUBS_NET_H

#include <stdlib.h>

#include "nic_fw/base/crc32c.h"
#include "nic_fw/fw_nic.h"
#include "tests/bench/frame.h"
#include "tests/bench/port.h"
#include "tests/ut.h"

enum {
	NET_MTU = 1500,
	NET_CAPTURE = 160,
	NET_QPN = 0x000001,
	NET_PEER_QPN = 0x000107,
	NET_QKEY = 0x11111111,
	NET_STAG = 0x00000142,
	NET_CLIENT = 3,
	NET_TIMERS = 8192,
	NET_GROUPS = 512,
	NET_CQES = 128,
	NET_BUF_BYTES = 70000,
};
#define NET_TO UINT64_C(0x7f0000001000) /* tagged offset of byte 0 of the region */

struct net_neigh_done {
	uint32_t calls;
	uint32_t ip;
	bool ok;
};

struct net {
	struct fw_nic *nic;
	struct bench_port port;
	struct frame *sent; /* NET_CAPTURE */
	uint32_t num_sent;
	/* recorders */
	struct fw_qp qp;
	struct fw_cq cq;
	struct hw_cqe cqe[NET_CQES];
	uint32_t num_cqe;
	bool cq_full;
	struct hw_eqe eqe;
	uint32_t num_eqe, eqe_client, eqe_eq;
	struct fw_account user;
	uint32_t qp_errors;
	enum rq_result rq_result;
	uint64_t recv_bytes;
	uint32_t recvs_taken;
	enum hw_vendor_err place_err;
	uint8_t recv_buf[NET_BUF_BYTES];
	uint8_t region[NET_BUF_BYTES];
	uint64_t region_bytes;
	enum hw_vendor_err mem_err;
	bool mem_fault;
	uint8_t payload[NET_BUF_BYTES]; /* of requests to send */
	bool payload_host;
	uint32_t edp_copy_bytes; /* by each frame of EDP; 0: none */
	enum hw_vendor_err gather_err;
	uint32_t completed;
	enum hw_status status;
	enum hw_vendor_err vendor_err;
	uint32_t rd_calls, hello_calls, uc_calls, cm_calls;
	struct rdmap_seg rd_pkt;
	struct dgram_hdr rd_dgram;
	struct wire_rd rd_hdr;
	struct wire_rd_hello hello;
	struct net_neigh_done ah_done, session_done, cm_done;
	uint32_t tcp_calls, tcp_src_ip, tcp_icmp_calls, tcp_icmp_bytes;
	uint16_t tcp_icmp_mtu;
	uint8_t tcp_icmp_type, tcp_icmp_code;
};

extern struct net net;

extern const uint8_t net_mac[6], net_peer_mac[6], net_broadcast[6];

#define CNT(name) (net.nic->counters.name)

/* An address in network byte order. */
static inline uint32_t net_ip(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	struct be32 v = be32_put(a << 24 | b << 16 | c << 8 | d);
	uint32_t ip;

	memcpy(&ip, &v, sizeof(ip));
	return ip;
}
#define NET_IP      net_ip(10, 77, 0, 1)
#define NET_PEER_IP net_ip(10, 77, 0, 2)
#define NET_GATEWAY net_ip(10, 77, 0, 254)

/* ---- setting up ---------------------------------------------------------------------- */

/* One shard of a NIC of eight at NET_IP, MTU 1500, with one queue pair, NET_QPN. */
void net_init(uint8_t shard);
void net_end(void);
void *net_alloc(size_t bytes);
/* Fills memory with the pattern of a seed. */
void net_fill(uint8_t *p, uint32_t bytes, uint32_t seed);
/* Lets time pass and fires due timers. */
void net_advance(uint64_t ns);
void net_flush(void);
/* The sum of all drop counters: a frame that is not used is counted in exactly one. */
uint64_t net_drops(void);

/* ---- frames of the peer -------------------------------------------------------------- */

static inline struct wire_eth *net_eth(struct frame *f)
{
	return (struct wire_eth *)f->b;
}

static inline struct wire_ip *net_iph(struct frame *f)
{
	return (struct wire_ip *)(f->b + sizeof(struct wire_eth));
}

static inline struct wire_udp *net_udph(struct frame *f)
{
	return (struct wire_udp *)(f->b + sizeof(struct wire_eth) + sizeof(struct wire_ip));
}

static inline struct wire_dgram *net_dgramh(struct frame *f)
{
	return (struct wire_dgram *)(f->b + UDP_TX_HDR_BYTES);
}

/* The frame is zero after its end: a test may lengthen it by n alone. */
void net_put_eth(struct frame *f, const uint8_t *dst, uint16_t type);
void net_put_ip(struct frame *f, uint8_t proto);
void net_put_udp(struct frame *f);
/* A datagram up to its weft header. */
struct wire_dgram *net_put_dgram(struct frame *f, uint8_t type);
/* A segment [mo, mo + bytes) of a Send of msg_bytes, not sealed. */
struct wire_ddp_untagged *net_put_send(struct frame *f, const uint8_t *data, uint32_t mo,
				       uint32_t bytes, uint32_t msg_bytes);
/* A segment of a Write-Record at to, not sealed. */
struct wire_ddp_tagged *net_put_record(struct frame *f, const uint8_t *data, uint64_t to,
				       uint32_t mo, uint32_t bytes, uint32_t msg_bytes);
/* An ARP packet to us, or to all. */
void net_put_arp(struct frame *f, uint16_t op, uint32_t sender_ip, const uint8_t *sender_mac,
		 uint32_t target_ip);
/* Queues a frame, in segments as bench_port.piece says. */
void net_queue(const struct frame *f, uint32_t piece);
/* Receives this frame alone. */
void net_rx_pieces(const struct frame *f, uint32_t piece);
void net_rx(const struct frame *f);
/* The peer replies to our ARP request; without a request no frame is left. */
void net_learn_peer(void);

#endif /* WEFT_TESTS_BENCH_STUBS_NET_H */
