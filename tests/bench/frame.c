/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The builder and the reader of frame.h. Calls nic_fw/base/crc32c.c.
 */
#include "tests/bench/frame.h"

#include <stddef.h>
#include <string.h>

#include "nic_fw/base/crc32c.h"

#define CRC_INIT 0xffffffffu

enum {
	TTL = 64,
};

/* ---- the builder ------------------------------------------------------------------------- */

/* Appends so many zero bytes; at the end of the buffer they overlap existing bytes. */
static void *append(struct frame *f, size_t bytes)
{
	uint8_t *at;

	if (bytes > FRAME_MAX - f->n)
		f->n = (uint32_t)(FRAME_MAX - bytes);
	at = f->b + f->n;
	memset(at, 0, bytes);
	f->n += (uint32_t)bytes;
	return at;
}

void frame_add(struct frame *f, const void *data, size_t bytes)
{
	if (bytes > FRAME_MAX - f->n)
		bytes = FRAME_MAX - f->n;
	if (bytes)
		memcpy(f->b + f->n, data, bytes);
	f->n += (uint32_t)bytes;
}

void frame_fill(struct frame *f, uint8_t value, uint32_t bytes)
{
	if (bytes > FRAME_MAX - f->n)
		bytes = FRAME_MAX - f->n;
	memset(f->b + f->n, value, bytes);
	f->n += bytes;
}

struct wire_eth *frame_eth(struct frame *f, const uint8_t *dst, const uint8_t *src, uint16_t type)
{
	struct wire_eth *eth;

	f->n = f->flags = 0;
	eth = append(f, sizeof(*eth));
	memcpy(eth->dst, dst, sizeof(eth->dst));
	memcpy(eth->src, src, sizeof(eth->src));
	eth->type = be16_put(type);
	return eth;
}

struct wire_ip *frame_ip(struct frame *f, uint8_t proto, uint32_t src, uint32_t dst)
{
	struct wire_ip *ip = append(f, sizeof(*ip));

	ip->version_ihl = WIRE_IP_VERSION_IHL;
	ip->frag = be16_put(WIRE_IP_DF);
	ip->ttl = TTL;
	ip->proto = proto;
	memcpy(&ip->src, &src, sizeof(ip->src));
	memcpy(&ip->dst, &dst, sizeof(ip->dst));
	return ip;
}

struct wire_udp *frame_udp(struct frame *f, uint16_t src_port, uint16_t dst_port)
{
	struct wire_udp *udp = append(f, sizeof(*udp));

	udp->src_port = be16_put(src_port);
	udp->dst_port = be16_put(dst_port);
	return udp;
}

struct wire_tcp *frame_tcp(struct frame *f, uint16_t src_port, uint16_t dst_port, uint8_t flags,
			   const void *opt, uint32_t opt_bytes)
{
	struct wire_tcp *tcp = append(f, sizeof(*tcp));

	tcp->src_port = be16_put(src_port);
	tcp->dst_port = be16_put(dst_port);
	tcp->data_offset = (uint8_t)((sizeof(*tcp) + opt_bytes) / 4 << 4);
	tcp->flags = flags;
	frame_add(f, opt, opt_bytes);
	return tcp;
}

struct wire_arp *frame_arp(struct frame *f, uint16_t op, const uint8_t *sender_mac,
			   uint32_t sender_ip, uint32_t target_ip)
{
	struct wire_arp *arp = append(f, sizeof(*arp));

	arp->hw_type = be16_put(WIRE_ARP_HW_ETHERNET);
	arp->proto_type = be16_put(WIRE_ETHERTYPE_IPV4);
	arp->hw_bytes = WIRE_MAC_BYTES;
	arp->proto_bytes = sizeof(arp->sender_ip);
	arp->op = be16_put(op);
	memcpy(arp->sender_mac, sender_mac, sizeof(arp->sender_mac));
	memcpy(&arp->sender_ip, &sender_ip, sizeof(arp->sender_ip));
	memcpy(&arp->target_ip, &target_ip, sizeof(arp->target_ip));
	return arp;
}

struct wire_dgram *frame_dgram(struct frame *f, uint8_t type)
{
	struct wire_dgram *dgram = append(f, sizeof(*dgram));

	dgram->ver_type = (uint8_t)(WIRE_DGRAM_VERSION << 4 | type);
	return dgram;
}

struct wire_edp *frame_edp(struct frame *f, uint8_t type, uint16_t src_port, uint16_t dst_port)
{
	struct wire_edp *edp = append(f, sizeof(*edp));

	edp->ver_type = (uint8_t)(WIRE_EDP_VERSION << 4 | type);
	edp->src_port = be16_put(src_port);
	edp->dst_port = be16_put(dst_port);
	return edp;
}

static uint32_t queue_of(uint8_t opcode)
{
	switch (opcode) {
	case WIRE_RDMAP_READ_REQUEST:
	case WIRE_RDMAP_ATOMIC_REQUEST:
		return WIRE_QN_READ_REQUEST;
	case WIRE_RDMAP_TERMINATE:
		return WIRE_QN_TERMINATE;
	case WIRE_RDMAP_ATOMIC_RESPONSE:
		return WIRE_QN_ATOMIC_RESPONSE;
	default:
		return WIRE_QN_SEND;
	}
}

struct wire_ddp_untagged *frame_untagged(struct frame *f, uint8_t opcode, bool last, uint32_t msn,
					 uint32_t mo)
{
	struct wire_ddp_untagged *ddp = append(f, sizeof(*ddp));

	ddp->ddp_ctrl = (uint8_t)(WIRE_DDP_VERSION | (last ? WIRE_DDP_LAST : 0));
	ddp->rdmap_ctrl = (uint8_t)(WIRE_RDMAP_VERSION | opcode);
	ddp->qn = be32_put(queue_of(opcode));
	ddp->msn = be32_put(msn);
	ddp->mo = be32_put(mo);
	return ddp;
}

struct wire_ddp_tagged *frame_tagged(struct frame *f, uint8_t opcode, bool last, uint32_t stag,
				     uint64_t to)
{
	struct wire_ddp_tagged *ddp = append(f, sizeof(*ddp));

	ddp->ddp_ctrl = (uint8_t)(WIRE_DDP_TAGGED | WIRE_DDP_VERSION | (last ? WIRE_DDP_LAST : 0));
	ddp->rdmap_ctrl = (uint8_t)(WIRE_RDMAP_VERSION | opcode);
	ddp->stag = be32_put(stag);
	ddp->to = be64_put(to);
	return ddp;
}

void frame_end(struct frame *f)
{
	const struct be32 crc = be32_put(0);

	frame_add(f, &crc, sizeof(crc));
	frame_seal(f->b, f->n, 0);
}

/* ---- sealing ------------------------------------------------------------------------------- */

/* Writes the CRC32C of b[from, n - 4) into the last four bytes. */
static void seal_crc(uint8_t *b, uint32_t from, uint32_t n)
{
	struct be32 crc;

	if (n < from + sizeof(crc))
		return;
	n -= (uint32_t)sizeof(crc);
	crc = fw_crc32c_wire(fw_crc32c(CRC_INIT, b + from, n - from));
	memcpy(b + n, &crc, sizeof(crc));
}

static void seal_edp(uint8_t *b, uint32_t n, uint32_t keep)
{
	struct wire_edp *edp = (void *)(b + FRAME_EDP_AT);

	if (n < FRAME_EDP_AT + sizeof(*edp) + WIRE_EDP_CRC_BYTES)
		return;
	if (!(keep & FRAME_KEEP_LENGTHS))
		edp->bytes = be16_put((uint16_t)(n - FRAME_EDP_AT - WIRE_EDP_CRC_BYTES));
	if (!(keep & FRAME_KEEP_CRC))
		seal_crc(b, FRAME_EDP_AT, n);
}

static void seal_l4(uint8_t *b, uint32_t at, uint32_t n, const struct wire_ip *ip)
{
	struct wire_tcp_pseudo pseudo = {.src = ip->src,
					 .dst = ip->dst,
					 .proto = WIRE_IPPROTO_TCP,
					 .bytes = be16_put((uint16_t)(n - at))};
	struct wire_tcp *tcp = (void *)(b + at);
	struct wire_icmp_echo *icmp = (void *)(b + at);
	uint32_t sum;

	if (ip->proto == WIRE_IPPROTO_TCP && n >= at + sizeof(*tcp)) {
		tcp->checksum = be16_put(0);
		sum = wire_sum_add(wire_sum_add(0, &pseudo, sizeof(pseudo)), tcp, n - at);
		tcp->checksum = be16_put(wire_sum_fold(sum));
	} else if (ip->proto == WIRE_IPPROTO_ICMP && n >= at + sizeof(*icmp)) {
		icmp->checksum = be16_put(0);
		icmp->checksum = be16_put(wire_sum_fold(wire_sum_add(0, icmp, n - at)));
	}
}

static void put_ip_sum(struct wire_ip *ip, uint32_t head)
{
	ip->checksum = be16_put(0);
	ip->checksum = be16_put(wire_sum_fold(wire_sum_add(0, ip, head)));
}

void frame_seal_ip(struct frame *f)
{
	struct wire_ip *ip = (void *)(f->b + FRAME_IP_AT);

	ip->total_bytes = be16_put((uint16_t)(f->n - FRAME_IP_AT));
	put_ip_sum(ip, (ip->version_ihl & 0x0fu) * 4u);
}

static void seal_ip(uint8_t *b, uint32_t n, uint32_t keep)
{
	struct wire_ip *ip = (void *)(b + FRAME_IP_AT);
	uint32_t head = (ip->version_ihl & 0x0fu) * 4u, at = FRAME_IP_AT + head;
	struct wire_udp *udp = (void *)(b + at);
	bool is_udp = ip->proto == WIRE_IPPROTO_UDP && n >= at + sizeof(*udp);

	if (head < sizeof(*ip) || n < at)
		return;
	if (!(keep & FRAME_KEEP_LENGTHS)) {
		ip->total_bytes = be16_put((uint16_t)(n - FRAME_IP_AT));
		if (is_udp)
			udp->bytes = be16_put((uint16_t)(n - at));
	}
	if (!(keep & FRAME_KEEP_SUM)) {
		put_ip_sum(ip, head);
		seal_l4(b, at, n, ip);
	}
	if (!(keep & FRAME_KEEP_CRC) && is_udp)
		seal_crc(b, at, n);
}

void frame_seal(uint8_t *b, uint32_t n, uint32_t keep)
{
	const struct wire_eth *eth = (const void *)b;

	if (n < sizeof(*eth))
		return;
	if (be16_get(eth->type) == WIRE_ETHERTYPE_ESP)
		seal_edp(b, n, keep);
	else if (be16_get(eth->type) == WIRE_ETHERTYPE_IPV4 && n >= FRAME_L4_AT)
		seal_ip(b, n, keep);
}

/* ---- the reader -------------------------------------------------------------------------- */

static void read_dgram(struct frame_view *v, uint8_t *b, uint32_t n)
{
	uint8_t *at = b + FRAME_RD_AT;

	v->dgram = (void *)(b + FRAME_DGRAM_AT);
	v->type = v->dgram->ver_type & 15;
	n -= FRAME_RD_AT;
	if (v->type == WIRE_DGRAM_RD_HELLO && n >= sizeof(*v->hello))
		v->hello = (void *)at;
	else if (v->type == WIRE_DGRAM_CM && n >= sizeof(*v->cm))
		v->cm = (void *)at;
	else if (v->type == WIRE_DGRAM_UD)
		v->ddp = at;
	else if ((v->type == WIRE_DGRAM_RD || v->type == WIRE_DGRAM_RD_ACK ||
		  v->type == WIRE_DGRAM_RD_PROBE || v->type == WIRE_DGRAM_RD_BUNDLE) &&
		 n >= sizeof(*v->rd))
		v->rd = (void *)at;
	if (v->rd && v->type == WIRE_DGRAM_RD_ACK && n >= sizeof(*v->rd) + sizeof(*v->ack))
		v->ack = (void *)(v->rd + 1);
	if (v->rd && v->type == WIRE_DGRAM_RD && be32_get(v->dgram->dst_qpn))
		v->ddp = (uint8_t *)(v->rd + 1);
}

static void read_tcp(struct frame_view *v, uint8_t *b, uint32_t n)
{
	uint32_t ip_bytes = be16_get(v->ip->total_bytes), head;

	if (n < FRAME_L4_AT + sizeof(*v->tcp))
		return;
	v->tcp = (void *)(b + FRAME_L4_AT);
	head = sizeof(*v->ip) + (v->tcp->data_offset >> 4) * 4u;
	v->tcp_data = b + FRAME_IP_AT + head;
	v->tcp_bytes = ip_bytes > head ? ip_bytes - head : 0;
}

struct frame_view frame_read(uint8_t *b, uint32_t n)
{
	struct frame_view v = {.type = 0xff};

	if (n < sizeof(*v.eth))
		return v;
	v.eth = (void *)b;
	if (be16_get(v.eth->type) == WIRE_ETHERTYPE_ESP && n >= FRAME_ESP_AT) {
		v.edp = (void *)(b + FRAME_EDP_AT);
		if ((v.edp->ver_type & 15) == WIRE_EDP_ESP && n >= FRAME_ESP_AT + sizeof(*v.esp))
			v.esp = (void *)(b + FRAME_ESP_AT);
		return v;
	}
	if (be16_get(v.eth->type) != WIRE_ETHERTYPE_IPV4 || n < FRAME_L4_AT)
		return v;
	v.ip = (void *)(b + FRAME_IP_AT);
	if (v.ip->proto == WIRE_IPPROTO_TCP)
		read_tcp(&v, b, n);
	if (v.ip->proto != WIRE_IPPROTO_UDP || n < FRAME_DGRAM_AT)
		return v;
	v.udp = (void *)(b + FRAME_L4_AT);
	if (n >= FRAME_RD_AT)
		read_dgram(&v, b, n);
	return v;
}
