/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Forged frames; see forge.h. Formats: docs/wire-format.md. Reads the sessions of the receiving
 * NIC, so that a forgery can be as close to a valid frame as the input wants.
 */
#include "tests/fuzz/forge.h"

#include <arpa/inet.h>

void forge_take(struct frame *f, uint32_t back)
{
	const struct w_copy *copy;

	if (!w->history)
		return;
	copy = &w->copy[(w->history - 1 - back % W_HISTORY % w->history) % W_HISTORY];
	f->n = copy->bytes;
	f->to = !copy->from;
	memcpy(f->b, copy->b, copy->bytes);
}

/* ---- building ---------------------------------------------------------------------------- */

void forge_add_eth(struct frame *f, uint16_t type)
{
	frame_eth(f, w->nic[f->to].fw->config.mac, w->nic[!f->to].fw->config.mac, type);
}

/* peer: the last byte of the sender's address; 0: the other NIC's. */
static void add_ip(struct frame *f, uint8_t proto, uint8_t peer)
{
	frame_ip(f, proto, peer ? htonl(0x0a4d0000u | peer) : w->nic[!f->to].fw->config.ip,
		 w->nic[f->to].fw->config.ip);
}

void forge_add_ip(struct frame *f, uint8_t proto)
{
	forge_add_eth(f, WIRE_ETHERTYPE_IPV4);
	add_ip(f, proto, 0);
}

/* r->x: bytes of payload (12 bits), of the whole message (18); r->y MSN or offset. */
void forge_ddp(struct frame *f, const struct rec *r, uint32_t stag, uint64_t to)
{
	uint8_t opcode = r->c & WIRE_RDMAP_OPCODE_MASK;
	bool last = !(r->c & 0x10);
	uint32_t payload = r->x & 0x7ff;

	if (opcode == WIRE_RDMAP_WRITE || opcode == WIRE_RDMAP_READ_RESPONSE)
		frame_tagged(f, opcode, last, stag, to);
	else
		frame_untagged(f, opcode, last, r->y & 0xffff, r->y >> 16)->inv_stag =
		    be32_put(opcode & 4 ? stag : 0);
	if (opcode == WIRE_RDMAP_READ_REQUEST) {
		struct wire_read_request req = {
		    .sink_stag = be32_put(r->z),
		    .bytes = be32_put(r->x >> 14),
		    .src_stag = be32_put(stag),
		    .src_to = be64_put(to),
		};

		frame_add(f, &req, sizeof(req));
	} else if (opcode == WIRE_RDMAP_ATOMIC_REQUEST) {
		bool typed = (r->z & WIRE_ATOMIC_OPCODE_MASK) == WIRE_ATOMIC_TYPED;
		struct wire_atomic_request req = {
		    .opcode = be32_put(r->z & WIRE_ATOMIC_OPCODE_MASK),
		    .request_id = be32_put(r->z),
		    .stag = be32_put(stag),
		    .to = be64_put(to & ~UINT64_C(7)),
		    .add_swap = be64_put(r->z),
		    .add_swap_mask = be64_put(typed ? r->z >> 4 & 0x1f0f : UINT64_MAX),
		    .compare_mask = be64_put(typed ? 0 : UINT64_MAX),
		};

		frame_add(f, &req, sizeof(req));
	} else if (opcode == WIRE_RDMAP_ATOMIC_RESPONSE) {
		struct wire_atomic_response resp = {.request_id = be32_put(r->z)};

		frame_add(f, &resp, sizeof(resp));
	} else if (opcode == WIRE_RDMAP_TERMINATE) {
		struct wire_terminate term = {.layer_etype = (uint8_t)r->z,
					      .code = (uint8_t)(r->z >> 8),
					      .hdrct = (uint8_t)(r->z >> 16)};

		frame_add(f, &term, sizeof(term));
		frame_fill(f, 0x5a, payload);
	} else {
		frame_fill(f, 0x5a, payload);
	}
}

static void add_rd(struct frame *f, uint8_t type)
{
	struct wire_rd rd = {0};
	struct wire_rd_ack ack = {0};

	frame_add(f, &rd, sizeof(rd));
	if (type == WIRE_DGRAM_RD_ACK)
		frame_add(f, &ack, sizeof(ack));
}

static void add_hello(struct frame *f, const struct rec *r)
{
	struct wire_rd_hello hello = {
	    .epoch = be32_put(r->x),
	    .peer_epoch = be32_put(r->y),
	    .first_psn = be32_put(r->z),
	    .mtu = be16_put(W_MTU),
	    .flags = r->c & WIRE_RD_HELLO_ALL,
	};

	frame_add(f, &hello, sizeof(hello));
}

void forge_add_dgram(struct frame *f, const struct wire_dgram *dgram, uint8_t peer)
{
	forge_add_eth(f, WIRE_ETHERTYPE_IPV4);
	add_ip(f, WIRE_IPPROTO_UDP, peer);
	frame_udp(f, WIRE_DGRAM_PORT, WIRE_DGRAM_PORT);
	frame_add(f, dgram, sizeof(*dgram));
}

/* A message of a bundle. */
static void add_part(struct frame *f, const struct rec *r, uint32_t i, uint32_t stag, uint64_t to)
{
	struct wire_rd_part part = {
	    .flags = (uint8_t)(r->z >> 2 & 3),
	    .msg_bytes = be32_put(r->x >> 14),
	    .ssn = be32_put((r->y & 0xffff) + i),
	};
	uint32_t at = f->n;

	frame_add(f, &part, sizeof(part));
	forge_ddp(f, r, stag, to);
	part.bytes = be16_put((uint16_t)(f->n - at - sizeof(part)));
	memcpy(f->b + at, &part, sizeof(part));
}

void forge_dgram(struct frame *f, const struct rec *r, const struct fw_qp *dst,
		 const struct fw_qp *src, uint32_t stag, uint64_t to)
{
	uint8_t type = r->b & 7;
	bool data = type == WIRE_DGRAM_UD || type == WIRE_DGRAM_RD;
	uint8_t opcode = r->c & WIRE_RDMAP_OPCODE_MASK;
	bool response = opcode == WIRE_RDMAP_READ_RESPONSE ||
			opcode == WIRE_RDMAP_ATOMIC_RESPONSE || opcode == WIRE_RDMAP_TERMINATE;
	struct wire_dgram dgram = {.ver_type = (uint8_t)(WIRE_DGRAM_VERSION << 4 | type)};
	/* Mostly as many as its header says. */
	uint32_t parts = type == WIRE_DGRAM_RD && (r->b & 0xc0) == 0x40 ? 2 + r->z % 3 : 0;
	uint32_t crc = 0;

	if (data && dst) {
		dgram.incarnation = be16_put(response ? dst->incarnation_tx : dst->incarnation_rx);
		dgram.dst_qpn = be32_put(dst->qpn);
		dgram.src_qpn = be32_put(src ? src->qpn : 0x80000u | r->z % 64);
		dgram.qkey = be32_put(dst->qkey);
		dgram.msg_bytes = be32_put(r->x >> 14);
		dgram.ssn = be32_put(r->y & 0xffff);
		if (type == WIRE_DGRAM_RD && response)
			dgram.flags = WIRE_DGRAM_F_RESPONSE;
		if (type == WIRE_DGRAM_UD && opcode == WIRE_RDMAP_WRITE) {
			dgram.flags = WIRE_DGRAM_F_RECORD;
			dgram.imm = be32_put(r->y >> 16);
		}
	}
	if (parts) {
		dgram.ver_type = WIRE_DGRAM_VERSION << 4 | WIRE_DGRAM_RD_BUNDLE;
		dgram.msg_bytes = be32_put(parts + (r->z >> 4) % 16 / 15);
		dgram.ssn = be32_put(0);
	}
	forge_add_dgram(f, &dgram, r->b & 0x80 ? (uint8_t)(3 + (r->b >> 3 & 15)) : 0);
	if (type == WIRE_DGRAM_RD_HELLO)
		add_hello(f, r);
	else if (type != WIRE_DGRAM_UD)
		add_rd(f, type);
	for (uint32_t i = 0; i < parts && dst; i++)
		add_part(f, r, i, stag, to);
	if (data && dst && !parts)
		forge_ddp(f, r, stag, to);
	frame_add(f, &crc, sizeof(crc));
	forge_fit(f, FORGE_EPOCH | FORGE_PSN | FORGE_ACK | FORGE_ECHO, 0);
}

void forge_other(struct frame *f, const struct rec *r)
{
	uint8_t peer = (uint8_t)(2 + r->x % 8);

	if (r->b & 1) {
		struct wire_icmp_echo echo = {.type = r->c % 16};

		forge_add_eth(f, WIRE_ETHERTYPE_IPV4);
		add_ip(f, WIRE_IPPROTO_ICMP, peer);
		frame_add(f, &echo, sizeof(echo));
		frame_fill(f, 0x5a, r->y & 0xff);
	} else {
		const uint8_t mac[] = {2, 0x77, 0, 0, 0, (uint8_t)r->z};

		forge_add_eth(f, WIRE_ETHERTYPE_ARP);
		frame_arp(f, r->c & 1 ? WIRE_ARP_REPLY : WIRE_ARP_REQUEST, mac,
			  htonl(0x0a4d0000u | peer), htonl(0x0a4d0001u + f->to));
	}
}

/* ---- changing ---------------------------------------------------------------------------- */

static uint8_t type_of(const struct frame *f)
{
	return f->n > FRAME_DGRAM_AT ? f->b[FRAME_DGRAM_AT] & 15 : 0xff;
}

static uint32_t ddp_at(const struct frame *f)
{
	return type_of(f) == WIRE_DGRAM_UD ? (uint32_t)FRAME_RD_AT
					   : FRAME_RD_AT + (uint32_t)sizeof(struct wire_rd);
}

static uint32_t layer_at(const struct frame *f, enum forge_layer layer)
{
	if (forge_is_esp(f) && layer != FORGE_ETH && layer != FORGE_END)
		return layer == FORGE_IP    ? (uint32_t)FRAME_EDP_AT
		       : layer == FORGE_UDP ? (uint32_t)FRAME_ESP_AT
		       : layer < FORGE_DATA ? (uint32_t)FORGE_MSG_AT
					    : FORGE_MSG_AT + (uint32_t)sizeof(struct wire_goal);
	switch (layer) {
	case FORGE_ETH:
		return 0;
	case FORGE_IP:
		return FRAME_IP_AT;
	case FORGE_UDP:
		return FRAME_L4_AT;
	case FORGE_DGRAM:
		return FRAME_DGRAM_AT;
	case FORGE_RD:
		return FRAME_RD_AT;
	case FORGE_DDP:
		return ddp_at(f);
	case FORGE_DATA:
		if (ddp_at(f) < f->n && f->b[ddp_at(f)] & WIRE_DDP_TAGGED)
			return ddp_at(f) + (uint32_t)sizeof(struct wire_ddp_tagged);
		return ddp_at(f) + (uint32_t)sizeof(struct wire_ddp_untagged);
	case FORGE_END:
	case FORGE_LAYERS:
		break;
	}
	return f->n > 64 ? f->n - 64 : 0;
}

void forge_set(struct frame *f, enum forge_layer layer, uint32_t at, uint32_t bytes, uint32_t how,
	       uint64_t value)
{
	uint64_t old = 0;
	uint32_t i;

	at += layer_at(f, layer);
	if (at + bytes > f->n)
		return;
	for (i = 0; i < bytes; i++)
		old = old << 8 | f->b[at + i];
	switch (how & 3) {
	case 0:
		old = value;
		break;
	case 1:
		old += value;
		break;
	case 2:
		old ^= value;
		break;
	case 3:
		old |= value;
		break;
	}
	for (i = bytes; i; i--, old >>= 8)
		f->b[at + i - 1] = (uint8_t)old;
}

void forge_put(struct frame *f, enum forge_layer layer, uint32_t at, const void *data,
	       uint32_t bytes)
{
	at += layer_at(f, layer);
	if (at + bytes <= f->n)
		memcpy(f->b + at, data, bytes);
}

void forge_length(struct frame *f, uint32_t bytes)
{
	bytes %= sizeof(struct wire_eth) + W_MTU + 64;
	if (bytes < sizeof(struct wire_eth))
		bytes = sizeof(struct wire_eth);
	if (bytes > f->n)
		memset(f->b + f->n, 0xa5, bytes - f->n);
	f->n = bytes;
}

void forge_fit(struct frame *f, uint32_t what, int32_t psn_delta)
{
	struct fw_nic *nic = w->nic[f->to].fw;
	const struct rd_session *s;
	struct wire_rd *rd = (void *)(f->b + FRAME_RD_AT);
	uint32_t ip;

	if (f->n < FRAME_RD_AT + sizeof(*rd) || type_of(f) == WIRE_DGRAM_UD ||
	    type_of(f) >= WIRE_DGRAM_RD_HELLO + 2)
		return;
	memcpy(&ip, f->b + FRAME_IP_AT + offsetof(struct wire_ip, src), sizeof(ip));
	s = rd_session_find(nic, ip, 0);
	if (type_of(f) == WIRE_DGRAM_RD_HELLO) {
		/* Answers our HELLO, or returns our cookie. */
		struct wire_rd_hello *hello = (void *)rd;

		if (f->n < FRAME_RD_AT + sizeof(*hello))
			return;
		if (what & FORGE_EPOCH && s)
			hello->peer_epoch = be32_put(s->epoch);
		if (!hello->flags && !(be32_get(hello->first_psn) & 1))
			hello->cookie =
			    be64_put(rd_hello_cookie(nic, ip, 0, be32_get(hello->epoch)));
		return;
	}
	if (!s)
		return;
	if (what & FORGE_EPOCH)
		rd->epoch = be32_put(s->pend && what & FORGE_PSN_LOW ? s->pend_epoch : s->epoch);
	if (what & FORGE_PSN)
		rd->psn =
		    be32_put((what & FORGE_PSN_LOW ? s->rx_psn : s->rx_high) + (uint32_t)psn_delta);
	if (what & FORGE_PSN &&
	    (type_of(f) == WIRE_DGRAM_RD || type_of(f) == WIRE_DGRAM_RD_BUNDLE)) {
		/* One of its granted credits. */
		rd->timestamp = be32_put(s->heard_timestamp);
		rd->used = (uint8_t)(s->rx_used + 1);
	}
	if (what & FORGE_ACK) {
		rd->ack = be32_put(s->tx_una + (uint32_t)(psn_delta < 0 ? 0 : psn_delta));
		f->b[FRAME_DGRAM_AT + offsetof(struct wire_dgram, flags)] |= WIRE_DGRAM_F_ACK;
	}
	if (what & FORGE_ECHO)
		rd->timestamp_echo = be32_put((uint32_t)w->wire.now_ns - 1000);
}

void forge_seal(struct frame *f, uint32_t keep)
{
	if (!(keep & FORGE_KEEP_MAC) && f->n >= sizeof(struct wire_eth))
		memcpy(f->b, w->nic[f->to].fw->config.mac, WIRE_MAC_BYTES);
	if (!(keep & FRAME_KEEP_CRC))
		forge_seal_fpdu(f);
	frame_seal(f->b, f->n, keep);
}
