/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Forged frames over raw Ethernet: streams, messages of communicators and of RC queue pairs, and
 * reliable groups; see forge.h. Formats: docs/wire-esp.md, docs/wire-group.md. Reads the streams
 * and spaces of the receiving NIC.
 */
#include "tests/fuzz/forge.h"

/* r->x: a message's type (3 bits), bytes (12), payload (11); y: tag, count, instance. */
static void add_goal(struct frame *f, const struct rec *r)
{
	struct wire_goal goal = {
	    .type = r->x & 7,
	    .instance = be32_put(r->y >> 16),
	    .tag = be32_put(r->y & 3),
	    .count = be32_put(r->y >> 2 & 7),
	    .bytes = be64_put(r->x >> 3 & 0xfff),
	    .offset = be64_put(0),
	    .sink = be32_put(r->z),
	    .piece_bytes = be32_put(r->x >> 15 & 0x7ff),
	};

	frame_add(f, &goal, sizeof(goal));
	frame_fill(f, 0x5a, r->x >> 15 & 0x7ff);
}

/* r->c: flags of ESP; r->b bit 3: not numbered, bits 4-6: type of EDP; bit 7: master port. */
void forge_edp(struct frame *f, const struct rec *r, uint64_t key)
{
	uint16_t master = WIRE_EDP_PORT_BASE;
	struct wire_edp edp = {
	    .ver_type = (uint8_t)(WIRE_EDP_VERSION << 4 | (r->b >> 4 & 3)),
	    .dst_port = be16_put(r->b & 0x80 ? master : (uint16_t)(master + 1 + (r->z & 7))),
	    .src_port = be16_put((uint16_t)(master + 1 + (r->z >> 3 & 7))),
	};
	struct wire_esp esp = {
	    .flags = r->c,
	    .numbered = !(r->b & 8),
	    .window = be16_put(63),
	    .seq = be32_put(r->x),
	    .src_inc = be32_put(r->y),
	};
	struct wire_esp_open open = {
	    .service = be16_put(WIRE_ESP_GOAL),
	    .mtu = be16_put(W_MTU),
	    .src_rank = be32_put(!f->to),
	    .dst_rank = be32_put(f->to),
	    .key = be64_put(key),
	    .key2 = be64_put(~key),
	};
	struct be32 crc = be32_put(0);

	forge_add_eth(f, WIRE_ETHERTYPE_ESP);
	frame_add(f, &edp, sizeof(edp));
	if ((r->b >> 4 & 3) == WIRE_EDP_UNREACHABLE)
		frame_add(f, &edp, sizeof(edp));
	if ((r->b >> 4 & 3) == WIRE_EDP_ECHO)
		frame_fill(f, 0x5a, r->x & 0x7ff);
	else
		frame_add(f, &esp, sizeof(esp));
	if (r->c & WIRE_ESP_SYN)
		frame_add(f, &open, sizeof(open));
	else if (!(r->b & 0x40) && esp.numbered)
		add_goal(f, r);
	frame_add(f, &crc, sizeof(crc));
	if (!(r->b & 0x40))
		forge_fit_esp(f, FORGE_EPOCH | FORGE_PSN | FORGE_ACK, 0);
}

/*
 * A DDP segment on the stream of an RC queue pair: r as forge_dgram() takes it; r->b: fields of the
 * stream to correct, r->z its number.
 */
void forge_rdmap(struct frame *f, const struct rec *r, uint32_t stag, uint64_t to)
{
	struct wire_edp edp = {
	    .ver_type = WIRE_EDP_VERSION << 4 | WIRE_EDP_ESP,
	    .dst_port = be16_put((uint16_t)(WIRE_EDP_PORT_BASE + 1 + (r->z >> 8 & 7))),
	};
	struct wire_esp esp = {
	    .flags = WIRE_ESP_TXS | WIRE_ESP_TXF | WIRE_ESP_TXR | WIRE_ESP_ACK,
	    .numbered = 1,
	    .window = be16_put(63),
	};
	struct wire_esp_rdmap rdmap = {
	    .flags = r->z >> 12 & WIRE_ESP_RDMAP_FLAGS,
	    .imm = be32_put(r->y & 0xffff),
	    .msg_bytes = be32_put(r->x >> 14),
	    .ssn = be32_put(r->y & 0xffff),
	};
	struct be32 crc = be32_put(0);

	forge_add_eth(f, WIRE_ETHERTYPE_ESP);
	frame_add(f, &edp, sizeof(edp));
	frame_add(f, &esp, sizeof(esp));
	frame_add(f, &rdmap, sizeof(rdmap));
	forge_ddp(f, r, stag, to);
	frame_add(f, &crc, sizeof(crc));
	forge_fit_esp(f, r->b & 0x80 ? r->b : FORGE_EPOCH | FORGE_PSN | FORGE_ACK, 0);
}

/* The member's space of that root, if there is one. */
static const struct mgrp_space *space_of(struct frame *f, uint64_t key, uint32_t root)
{
	struct fw_nic *nic = w->nic[f->to].fw;
	const struct goal_comm *comm = mgrp_first_member(nic, key, ~key);

	return comm ? mgrp_space_find(nic, comm, root) : NULL;
}

/*
 * r->b: type (3 bits), root, source and destination (a bit each that makes it wrong), epoch (a bit:
 * another); r->c: distance of the number from the next one; x: as add_goal(); y: also own and from;
 * z: missing.
 */
void forge_group(struct frame *f, const struct rec *r, uint64_t key)
{
	uint32_t root = r->b >> 3 & 1;
	const struct mgrp_space *space = space_of(f, key, root);
	uint32_t next = space ? space->next : r->y;
	struct wire_edp edp = {
	    .ver_type = WIRE_EDP_VERSION << 4 | WIRE_EDP_GROUP,
	    .dst_port = be16_put(WIRE_EDP_PORT_BASE),
	    .src_port = be16_put(WIRE_EDP_PORT_BASE),
	};
	struct wire_mgrp mgrp = {
	    .type = r->b & 7,
	    .mtu = be16_put((uint16_t)(r->y >> 16)),
	    .root = be32_put(root + (r->b >> 6 & 2)),
	    .src_rank = be32_put(!f->to ^ (r->b >> 4 & 1)),
	    .dst_rank =
		be32_put((r->b & 7) == WIRE_MGRP_DATA ? WIRE_MGRP_ALL : f->to ^ (r->b >> 5 & 1)),
	    .key = be64_put(key),
	    .key2 = be64_put(~key),
	    .epoch = be32_put(space && !(r->b & 0x40) ? space->epoch : r->y | 1),
	    .base = be32_put(space && !(r->b & 0x40) ? space->base : r->y),
	    .psn = be32_put(next + (uint32_t)(int8_t)r->c),
	    .own = be32_put(next + (uint32_t)(int8_t)r->y),
	    .from = be32_put(next + (uint32_t)(int8_t)(r->y >> 8)),
	    .missing = be64_put((uint64_t)r->z << (r->z & 31)),
	};
	struct be32 crc = be32_put(0);

	forge_add_eth(f, WIRE_ETHERTYPE_ESP);
	frame_add(f, &edp, sizeof(edp));
	frame_add(f, &mgrp, sizeof(mgrp));
	if ((r->b & 7) <= WIRE_MGRP_REPAIR)
		add_goal(f, r);
	frame_add(f, &crc, sizeof(crc));
	if ((r->b & 7) == WIRE_MGRP_DATA)
		mgrp_mac(key, ~key, f->b);
}

bool forge_is_esp(const struct frame *f)
{
	return f->n >= FORGE_MSG_AT && f->b[12] == WIRE_ETHERTYPE_ESP >> 8 &&
	       f->b[13] == (WIRE_ETHERTYPE_ESP & 0xff);
}

void forge_fit_esp(struct frame *f, uint32_t what, int32_t seq_delta)
{
	struct fw_nic *nic = w->nic[f->to].fw;
	struct wire_edp *edp = (void *)(f->b + FRAME_EDP_AT);
	struct wire_esp *esp = (void *)(f->b + FRAME_ESP_AT);
	const struct esp_stream *s;
	uint32_t i;

	if (!forge_is_esp(f) || !nic->esp.ids.high)
		return;
	i = (uint32_t)be16_get(edp->dst_port) - WIRE_EDP_PORT_BASE - 1;
	s = &nic->esp.streams[i < nic->esp.ids.high ? i : 0];
	edp->dst_port = be16_put(s->local_port);
	edp->src_port = be16_put(s->remote_port);
	if (what & FORGE_EPOCH) {
		esp->src_inc = be32_put(s->dst_inc);
		esp->dst_inc = be32_put(s->src_inc);
	}
	if (what & FORGE_PSN)
		esp->seq = be32_put(s->rcv_next + (uint32_t)seq_delta);
	if (what & FORGE_ACK) {
		esp->flags |= WIRE_ESP_ACK;
		esp->ack = be32_put((what & FORGE_PSN_LOW ? s->snd_una : s->snd_next) +
				    (uint32_t)(what & FORGE_ECHO ? seq_delta : 0));
	}
}
