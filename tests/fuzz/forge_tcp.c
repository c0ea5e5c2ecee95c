/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TCP segments from a forger who may know the numbers of a connection, with FPDUs, set-up frames of
 * MPA or garbage in them; see forge.h. RFC 9293, RFC 5044. Reads the connections of the receiving
 * NIC.
 */
#include "nic_fw/base/crc32c.h"
#include "nic_fw/tcp/tcp_rest.h"
#include "tests/fuzz/cm.h"
#include "tests/fuzz/forge.h"

enum {
	LENGTH_BYTES = 2, /* bytes of the ULPDU header before it */
	CRC_BYTES = 4,
};

enum what {
	AN_FPDU,
	AN_ACK,
	A_RESET,
	A_SYN,
	A_FIN,
	RUBBISH,
	A_SETUP,
	AN_URGENT,
};

/* All that a forger knows of a connection that rests, NULL: there is none. */
static const struct tcp_flow *resting_one(const struct fw_nic *nic)
{
	static struct tcp_flow copy;

	for (uint32_t k = 0; k < TCP_HASH_SIZE; k++) {
		const struct tcp_rest *rest;

		if (!nic->tcp.rest_hash[k])
			continue;
		rest = fw_pool_at(&nic->tcp.rests, nic->tcp.rest_hash[k] - 1);
		copy = (struct tcp_flow){.peer_ip = rest->peer_ip,
					 .peer_port = rest->peer_port,
					 .local_port = rest->local_port,
					 .rcv_nxt = rest->rcv_nxt,
					 .snd_una = rest->snd_nxt,
					 .snd_nxt = rest->snd_nxt,
					 .ts_recent = rest->ts_recent,
					 .flags = rest->flags};
		return &copy;
	}
	return NULL;
}

/* The i-th connection of the table, or one that rests; NULL: there is none. */
static const struct tcp_flow *flow_of(const struct fw_nic *nic, uint32_t i)
{
	const struct tcp_flow *found = NULL;

	for (uint32_t k = 0; k < TCP_HASH_SIZE; k++)
		for (uint32_t at = nic->tcp.hash[k]; at;) {
			found = fw_pool_at(&nic->tcp.flows, at - 1);
			if (!i--)
				return found;
			at = found->hash_next;
		}
	return found ? found : resting_one(nic);
}

/* Offset from the right number: mostly 0. */
static uint32_t off(uint32_t i)
{
	static const uint32_t by[8] = {0, 0, 0, 1, UINT32_MAX, 1000, -1448u, 1u << 31};

	return by[i & 7];
}

static uint8_t flags_of(enum what what)
{
	switch (what) {
	case A_RESET:
		return WIRE_TCP_RST | WIRE_TCP_ACK;
	case A_SYN:
		return WIRE_TCP_SYN;
	case A_FIN:
		return WIRE_TCP_FIN | WIRE_TCP_ACK;
	case AN_URGENT:
		return WIRE_TCP_URG | WIRE_TCP_ACK | WIRE_TCP_ECE | WIRE_TCP_CWR;
	case AN_FPDU:
	case AN_ACK:
	case RUBBISH:
	case A_SETUP:
		break;
	}
	return WIRE_TCP_ACK | WIRE_TCP_PSH;
}

static uint32_t options(const struct tcp_flow *flow, const struct rec *r, uint8_t *opt)
{
	uint32_t n = 0;

	if (flow && flow->flags & TCP_F_TS)
		n += tcp_opt_ts(opt, flow->ts_recent + (r->b & 0x40 ? r->z : 0), 0);
	/* A SACK option, or one that is malformed. */
	if (r->b & 0x20 && flow) {
		const struct tcp_block block = {flow->snd_una + (r->y & 0xffff),
						flow->snd_una + (r->z & 0xffff)};

		n += tcp_opt_sack(opt + n, &block, 1);
	} else if (r->b & 0x80) {
		memcpy(opt + n, &r->z, sizeof(r->z));
		n += (uint32_t)sizeof(r->z);
	}
	return n;
}

static void add_setup(struct frame *f, const struct rec *r)
{
	struct wire_mpa_setup setup = {
	    .flags = (uint8_t)r->y,
	    .revision = (uint8_t)(r->y >> 8 & 3),
	    .private_bytes = be16_put((uint16_t)(r->z & 0x3ff)),
	};

	memcpy(setup.key, r->c & 1 ? WIRE_MPA_KEY_REP : WIRE_MPA_KEY_REQ, sizeof(setup.key));
	frame_add(f, &setup, sizeof(setup));
	frame_add(f, &r->x, sizeof(r->x));
	frame_fill(f, 0x5a, r->x & 0x1ff);
}

/* forge_seal() corrects its CRC. */
static void add_fpdu(struct frame *f, const struct rec *r, uint32_t stag, uint64_t to)
{
	const uint8_t room[3 + CRC_BYTES] = {0};
	uint32_t at = f->n, ulpdu_bytes;
	struct be16 length = {{0}};

	frame_add(f, &length, LENGTH_BYTES);
	forge_ddp(f, r, stag, to);
	ulpdu_bytes = f->n - at - LENGTH_BYTES;
	length = be16_put((uint16_t)ulpdu_bytes);
	memcpy(f->b + at, &length, LENGTH_BYTES);
	frame_add(f, room, (0u - LENGTH_BYTES - ulpdu_bytes) % 4 + CRC_BYTES);
}

/*
 * r->a: from bit 1 the offset of seq, from bit 4 that of ack from the expected number; r->b: enum
 * what (3 bits), the connection (2), options; the rest as forge_ddp() takes it.
 */
void forge_tcp(struct frame *f, const struct rec *r, uint32_t stag, uint64_t to)
{
	const struct tcp_flow *flow = flow_of(w->nic[f->to].fw, r->b >> 3 & 3);
	enum what what = (enum what)(r->b & 7);
	uint8_t opt[40];
	uint32_t opt_bytes = options(flow, r, opt);
	struct wire_tcp *tcp;

	forge_add_ip(f, WIRE_IPPROTO_TCP);
	tcp = frame_tcp(f, flow ? flow->peer_port : (uint16_t)r->x,
			flow ? flow->local_port : CM_PORT, flags_of(what), opt, opt_bytes);
	tcp->seq = be32_put((flow ? flow->rcv_nxt : r->y) + off(r->a >> 1));
	tcp->ack = be32_put((flow ? flow->snd_nxt : r->z) + off(r->a >> 4));
	tcp->window = be16_put((uint16_t)(r->b & 0x40 ? r->z : 0xffff));
	switch (what) {
	case AN_FPDU:
	case A_FIN:
	case AN_URGENT:
		add_fpdu(f, r, stag, to);
		break;
	case RUBBISH:
		frame_add(f, &r->x, 3 * sizeof(r->x));
		frame_fill(f, 0x5a, r->x & 0x3ff);
		break;
	case A_SETUP:
		add_setup(f, r);
		break;
	case AN_ACK:
	case A_RESET:
	case A_SYN:
		break;
	}
}

void forge_seal_fpdu(struct frame *f)
{
	const struct frame_view v = frame_read(f->b, f->n);
	uint32_t n, at;
	struct be16 length;
	struct be32 crc;

	if (!v.tcp)
		return;
	at = (uint32_t)(v.tcp_data - f->b);
	if (at + LENGTH_BYTES > f->n)
		return;
	memcpy(&length, f->b + at, sizeof(length));
	n = (LENGTH_BYTES + be16_get(length) + 3u) & ~3u;
	if (at + n + CRC_BYTES > f->n)
		return;
	crc = fw_crc32c_wire(fw_crc32c(FW_CRC32C_INIT, f->b + at, n));
	memcpy(f->b + at + n, &crc, sizeof(crc));
}
