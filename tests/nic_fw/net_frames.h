/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames as a peer would send them, right unless a test makes them wrong; and their arrival.
 *
 * Included by net_ut.h, which has the shard that receives them. A frame is built from the
 * outside in (net_put_*), changed by the test, and then sealed: lengths, checksum, CRC32C.
 */
#ifndef WEFT_TESTS_NET_FRAMES_H
#define WEFT_TESTS_NET_FRAMES_H

/* ---- making frames ------------------------------------------------------------------- */

static inline struct wire_eth *net_eth(struct net_frame *f)
{
	return (struct wire_eth *)f->b;
}

static inline struct wire_ip *net_iph(struct net_frame *f)
{
	return (struct wire_ip *)(f->b + sizeof(struct wire_eth));
}

static inline struct wire_udp *net_udph(struct net_frame *f)
{
	return (struct wire_udp *)(f->b + sizeof(struct wire_eth) + sizeof(struct wire_ip));
}

static inline struct wire_dgram *net_dgramh(struct net_frame *f)
{
	return (struct wire_dgram *)(f->b + UDP_TX_HDR_BYTES);
}

static inline void net_put_eth(struct net_frame *f, const uint8_t *dst, uint16_t type)
{
	memset(f, 0, sizeof(*f));
	memcpy(net_eth(f)->dst, dst, 6);
	memcpy(net_eth(f)->src, net_peer_mac, 6);
	net_eth(f)->type = be16_put(type);
	f->n = sizeof(struct wire_eth);
}

static inline void net_add(struct net_frame *f, const void *data, uint32_t bytes)
{
	CU_ASSERT_FATAL(f->n + bytes <= sizeof(f->b));
	memcpy(f->b + f->n, data, bytes);
	f->n += bytes;
}

/* Puts length (the rest of the frame) and checksum into the IPv4 header. */
static inline void net_seal_ip(struct net_frame *f)
{
	struct wire_ip *ip = net_iph(f);
	uint32_t head = (ip->version_ihl & 0x0fu) * 4u;

	ip->total_bytes = be16_put((uint16_t)(f->n - sizeof(struct wire_eth)));
	ip->checksum = be16_put(0);
	ip->checksum = be16_put(wire_sum_fold(wire_sum_add(0, ip, head)));
}

static inline void net_put_ip(struct net_frame *f, uint8_t proto)
{
	struct wire_ip *ip;

	net_put_eth(f, net_mac, WIRE_ETHERTYPE_IPV4);
	ip = net_iph(f);
	ip->version_ihl = WIRE_IP_VERSION_IHL;
	ip->frag = be16_put(WIRE_IP_DF);
	ip->ttl = 64;
	ip->proto = proto;
	memcpy(&ip->src, &(uint32_t){NET_PEER_IP}, 4);
	memcpy(&ip->dst, &(uint32_t){NET_IP}, 4);
	f->n += (uint32_t)sizeof(*ip);
}

static inline void net_put_udp(struct net_frame *f)
{
	net_put_ip(f, WIRE_IPPROTO_UDP);
	net_udph(f)->src_port = be16_put(WIRE_DGRAM_PORT);
	net_udph(f)->dst_port = be16_put((uint16_t)(WIRE_DGRAM_PORT + net.nic->config.shard));
	f->n += (uint32_t)sizeof(struct wire_udp);
}

/* A datagram up to its weft header. */
static inline struct wire_dgram *net_put_dgram(struct net_frame *f, uint8_t type)
{
	struct wire_dgram *d;

	net_put_udp(f);
	d = net_dgramh(f);
	d->ver_type = (uint8_t)(WIRE_DGRAM_VERSION << 4 | type);
	f->n += (uint32_t)sizeof(*d);
	if (type == WIRE_DGRAM_UD || type == WIRE_DGRAM_RD) {
		d->dst_qpn = be32_put(NET_QPN);
		d->src_qpn = be32_put(NET_PEER_QPN);
		d->qkey = be32_put(NET_QKEY);
		d->ssn = be32_put(1);
	}
	return d;
}

/* Adds the CRC32C, and sets all lengths and the IPv4 checksum. */
static inline void net_seal(struct net_frame *f)
{
	uint32_t at = sizeof(struct wire_eth) + sizeof(struct wire_ip);
	struct be32 crc;

	net_udph(f)->bytes = be16_put((uint16_t)(f->n - at + WIRE_DGRAM_CRC_BYTES));
	crc = fw_crc32c_wire(fw_crc32c(FW_CRC32C_INIT, f->b + at, f->n - at));
	net_add(f, &crc, sizeof(crc));
	net_seal_ip(f);
}

/* A segment [mo, mo + bytes) of a Send of msg_bytes, not sealed. */
static inline struct wire_ddp_untagged *net_put_send(struct net_frame *f, const uint8_t *data,
						     uint32_t mo, uint32_t bytes,
						     uint32_t msg_bytes)
{
	struct wire_ddp_untagged ddp = {
	    .ddp_ctrl = WIRE_DDP_VERSION | (mo + bytes == msg_bytes ? WIRE_DDP_LAST : 0),
	    .rdmap_ctrl = WIRE_RDMAP_VERSION | WIRE_RDMAP_SEND,
	    .msn = be32_put(1),
	    .mo = be32_put(mo),
	};
	struct wire_dgram *d = net_put_dgram(f, WIRE_DGRAM_UD);
	uint32_t at = f->n;

	d->msg_bytes = be32_put(msg_bytes);
	net_add(f, &ddp, sizeof(ddp));
	if (bytes)
		net_add(f, data + mo, bytes);
	return (struct wire_ddp_untagged *)(f->b + at);
}

/* A segment of a Write-Record at to, not sealed. */
static inline struct wire_ddp_tagged *net_put_record(struct net_frame *f, const uint8_t *data,
						     uint64_t to, uint32_t mo, uint32_t bytes,
						     uint32_t msg_bytes)
{
	struct wire_ddp_tagged ddp = {
	    .ddp_ctrl =
		WIRE_DDP_TAGGED | WIRE_DDP_VERSION | (mo + bytes == msg_bytes ? WIRE_DDP_LAST : 0),
	    .rdmap_ctrl = WIRE_RDMAP_VERSION | WIRE_RDMAP_WRITE,
	    .stag = be32_put(NET_STAG),
	    .to = be64_put(to + mo),
	};
	struct wire_dgram *d = net_put_dgram(f, WIRE_DGRAM_UD);
	uint32_t at = f->n;

	d->flags = WIRE_DGRAM_F_RECORD;
	d->imm = be32_put(mo);
	d->msg_bytes = be32_put(msg_bytes);
	net_add(f, &ddp, sizeof(ddp));
	if (bytes)
		net_add(f, data + mo, bytes);
	return (struct wire_ddp_tagged *)(f->b + at);
}

/* ---- receiving them ------------------------------------------------------------------ */

/*
 * Queues a frame: its first FW_RX_HDR_BYTES in one segment, the rest in pieces of piece
 * bytes (0: one). Each segment is an allocation of its exact size, so that the sanitizer sees any
 * byte read beyond it.
 */
static inline void net_queue(const struct net_frame *f, uint32_t piece)
{
	struct fw_rx_frame *rx = &net.rx[net.rx_count++];
	uint32_t at = 0;

	CU_ASSERT_FATAL(net.rx_count <= sizeof(net.rx) / sizeof(net.rx[0]));
	memset(rx, 0, sizeof(*rx));
	rx->bytes = f->n;
	rx->flags = net.rx_flags;
	while (at < f->n || !rx->num_seg) {
		uint32_t n = f->n - at;
		uint8_t *copy;

		if (piece && at == 0 && n > FW_RX_HDR_BYTES)
			n = FW_RX_HDR_BYTES;
		else if (piece && at && n > piece && rx->num_seg < FW_RX_SEGS_MAX - 1)
			n = piece;
		copy = malloc(n ? n : 1);
		CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
		memcpy(copy, f->b + at, n);
		rx->seg[rx->num_seg].data = copy;
		rx->seg[rx->num_seg++].bytes = n;
		at += n;
	}
}

static inline void net_rx_pieces(const struct net_frame *f, uint32_t piece)
{
	net.rx_count = 0;
	net.rx_next = 0;
	net_queue(f, piece);
	CU_ASSERT_EQUAL(eth_rx_poll(net.nic, FW_BURST), 1);
}

static inline void net_rx(const struct net_frame *f)
{
	net_rx_pieces(f, 0);
}

/* An ARP packet to us, or to all. */
static inline void net_put_arp(struct net_frame *f, uint16_t op, uint32_t sender_ip,
			       const uint8_t *sender_mac, uint32_t target_ip)
{
	struct wire_arp arp = {
	    .hw_type = be16_put(WIRE_ARP_HW_ETHERNET),
	    .proto_type = be16_put(WIRE_ETHERTYPE_IPV4),
	    .hw_bytes = 6,
	    .proto_bytes = 4,
	    .op = be16_put(op),
	};

	net_put_eth(f, op == WIRE_ARP_REQUEST ? net_broadcast : net_mac, WIRE_ETHERTYPE_ARP);
	memcpy(arp.sender_mac, sender_mac, 6);
	memcpy(&arp.sender_ip, &sender_ip, 4);
	memcpy(&arp.target_ip, &target_ip, 4);
	if (op == WIRE_ARP_REPLY)
		memcpy(arp.target_mac, net_mac, 6);
	net_add(f, &arp, sizeof(arp));
}

/* The peer answers our question for its address; where nobody has asked, that leaves no frame. */
static inline void net_learn_peer(void)
{
	uint32_t staged = net.nic->net.tx_count;
	uint64_t asked = CNT(arp_tx);
	uint8_t mac[WIRE_MAC_BYTES];
	struct net_frame f;

	(void)neigh_lookup(net.nic, NET_PEER_IP, mac);
	net.nic->net.tx_count = staged;
	CNT(arp_tx) = asked;
	net_put_arp(&f, WIRE_ARP_REPLY, NET_PEER_IP, net_peer_mac, NET_IP);
	net_rx(&f);
}

#endif /* WEFT_TESTS_NET_FRAMES_H */
