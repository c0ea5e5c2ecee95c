/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Forged envelopes of tagged messages, and writes and reads of what they name; see forge.h.
 *
 * Reads the tables of both NICs, so that a forgery can name an open send or an announced receive
 * that lives. docs/tagged.md, shared_defs/wire_tag.h.
 */
#include "tests/fuzz/forge.h"

/* r->c, besides WIRE_TAG_F_* */
enum {
	STALE = 0x08,       /* a handle near that of the living one */
	STRANGER = 0x10,    /* from a queue pair that does not exist */
	OTHER_CLASS = 0x20, /* requests as responses and vice versa */
	WRONG_LENGTH = 0x40,
	STATUS = 0x80,
};

/* r->b & 7 */
enum kind {
	BEGIN, /* of an eager message */
	REST,  /* likewise, behind its beginning */
	RTS,
	DONE,
	RTR,
	PUT,
	NACK,
	DATA, /* write to an announced receive, read of an open send */
};

/* An open send of a NIC, by number; NULL: there is none. */
static const struct tag_send *send_of(uint32_t nic, uint32_t number)
{
	struct fw_nic *fw = w->nic[nic].fw;
	uint32_t n = fw->tag.sends.high, i;

	for (i = 0; i < n; i++) {
		const struct tag_send *send = fw_pool_at(&fw->tag.sends, (number + i) % n);

		if (send->used)
			return send;
	}
	return NULL;
}

static uint32_t handle_of(uint32_t nic, uint32_t number)
{
	const struct tag_send *send = send_of(nic, number);

	return send ? tag_send_handle(w->nic[nic].fw, send) : STAG_SINK_FLAG | number;
}

static uint32_t secret_of(uint32_t nic, uint32_t number)
{
	const struct tag_send *send = send_of(nic, number);

	return send ? send->secret : STAG_SINK_FLAG;
}

/* The sink of an announced receive, as tag_rtr.c names it. */
static uint32_t sink_of(uint32_t nic, uint32_t number)
{
	struct fw_nic *fw = w->nic[nic].fw;
	uint32_t n = fw->tag.posteds.high, i;

	for (i = 0; i < n; i++) {
		uint32_t index = (number + i) % n;
		const struct tag_posted *posted = fw_pool_at(&fw->tag.posteds, index);

		if (posted->announced)
			return STAG_SINK_FLAG | (uint32_t)posted->generation << TAG_POSTED_BITS |
			       index;
	}
	return STAG_SINK_FLAG | number;
}

static uint32_t sent_ssn(const struct fw_qp *qp)
{
	const struct fw_list *pos;

	if (!qp->tag || fw_list_empty(&qp->tag->peers))
		return 0;
	pos = qp->tag->peers.next;
	return FW_CONTAINER(pos, struct tag_peer, ep_node)->sent_ssn;
}

static uint32_t stale(const struct rec *r, uint32_t handle)
{
	return r->c & STALE ? (handle ^ (r->z >> 16)) + (r->y >> 24) : handle;
}

/* x: bytes (14 bits); y: number of the handle (from bit 8 on); z: tag (3 bits), data. */
static struct wire_tag envelope(const struct rec *r, uint32_t to, const struct fw_qp *dst)
{
	static const uint8_t kinds[] = {WIRE_TAG_EAGER, WIRE_TAG_EAGER, WIRE_TAG_RTS,
					WIRE_TAG_DONE,  WIRE_TAG_RTR,   WIRE_TAG_PUT,
					WIRE_TAG_NACK,  WIRE_TAG_KINDS};
	uint32_t number = r->y >> 8, handle = 0, stag = 0;
	struct wire_tag env = {
	    .kind = kinds[r->b & 7],
	    .flags = r->c & WIRE_TAG_F_ALL,
	    .status = r->c & STATUS ? (uint8_t)(1 + (r->z >> 8) % 4) : 0,
	    .bytes = be32_put(r->x & 0x3fff),
	    .tag = be64_put(r->z & 7),
	    .data = be64_put(r->z >> 3),
	};

	switch ((enum kind)(r->b & 7)) {
	case BEGIN:
	case REST:
		handle = env.flags & WIRE_TAG_F_SYNC ? stale(r, handle_of(!to, number)) : 0;
		stag = secret_of(!to, number);
		break;
	case RTS:
		env.flags &= (uint8_t)~WIRE_TAG_F_SYNC;
		handle = stale(r, handle_of(!to, number));
		stag = secret_of(!to, number);
		break;
	case DONE:
		handle = stale(r, handle_of(to, number));
		stag = secret_of(to, number);
		break;
	case RTR:
		env.status &= 1;
		stag = stale(r, sink_of(!to, number));
		handle = sent_ssn(dst) + (r->z >> 30);
		break;
	case PUT:
	case NACK:
		stag = stale(r, sink_of(to, number));
		break;
	case DATA:
		break;
	}
	env.handle = be32_put(handle);
	env.stag = be32_put(stag);
	return env;
}

/* A write to an announced receive; a read of an open send. */
static void add_data(struct frame *f, const struct rec *r)
{
	uint32_t number = r->y >> 8;

	if (r->x >> 31) {
		struct wire_read_request req = {
		    .sink_stag = be32_put(STAG_SINK_FLAG | r->z),
		    .bytes = be32_put(r->x & 0xffff),
		    .src_stag = be32_put(stale(r, handle_of(f->to, number))),
		    .src_to = be64_put(secret_of(f->to, number) + (r->x >> 16 & 1)),
		};

		frame_untagged(f, WIRE_RDMAP_READ_REQUEST, true, r->y & 0x7f, 0);
		frame_add(f, &req, sizeof(req));
		return;
	}
	frame_tagged(f, WIRE_RDMAP_WRITE, true, stale(r, sink_of(f->to, number)),
		     r->x >> 16 & 0x3fff);
	frame_fill(f, 0x5a, r->x & 0x3ff);
}

/*
 * An eager message's bytes up to what fits into a packet; y: how far the number of the message is
 * from the sender's last (7 bits), then whether it is early; x: from bit 14 on, the place of the
 * rest in 64 bytes.
 */
static void add_send(struct frame *f, const struct rec *r, const struct wire_tag *env)
{
	uint32_t bytes = be32_get(env->bytes), mo = 0, n = 0;

	if (env->kind == WIRE_TAG_EAGER) {
		if ((r->b & 7) == REST)
			mo = (uint32_t)sizeof(*env) + (r->x >> 14 & 0x3f) * 64;
		n = mo ? bytes + (uint32_t)sizeof(*env) - mo : bytes;
		if (mo > bytes + sizeof(*env))
			n = 0;
		if (n > 1280)
			n = 1280;
	}
	frame_untagged(f, r->x >> 30 & 1 ? WIRE_RDMAP_SEND_SE : WIRE_RDMAP_SEND,
		       mo ? mo + n == bytes + sizeof(*env)
			  : env->kind != WIRE_TAG_EAGER || n == bytes,
		       r->y & 0x7f, mo);
	if (!mo)
		frame_add(f, env, sizeof(*env));
	frame_fill(f, 0x5a, n);
}

void forge_tag(struct frame *f, const struct rec *r, const struct fw_qp *dst,
	       const struct fw_qp *src)
{
	struct wire_dgram dgram = {.ver_type = WIRE_DGRAM_VERSION << 4 | WIRE_DGRAM_RD};
	struct wire_tag env = envelope(r, f->to, dst);
	bool eager = env.kind == WIRE_TAG_EAGER;
	bool response = env.kind == WIRE_TAG_DONE || (env.kind == WIRE_TAG_RTR && !env.status);
	uint32_t msg_bytes = (uint32_t)sizeof(env) + (eager ? be32_get(env.bytes) : 0), crc = 0;
	bool early = r->y & 0x80;
	struct wire_rd rd = {.flow_distance = be16_put(early)};

	if ((r->b & 7) == DATA)
		msg_bytes = r->x >> 31 ? sizeof(struct wire_read_request) : r->x & 0x3ff;
	if (r->c & WRONG_LENGTH)
		msg_bytes += (r->z >> 12 & 0xf) - 8;
	if (response != !!(r->c & OTHER_CLASS))
		dgram.flags = WIRE_DGRAM_F_RESPONSE;
	dgram.dst_qpn = be32_put(dst->qpn);
	dgram.src_qpn = be32_put(src && !(r->c & STRANGER) ? src->qpn : 0x80000u | r->z % 64);
	dgram.qkey = be32_put(dst->qkey);
	dgram.msg_bytes = be32_put(msg_bytes);
	dgram.ssn = be32_put((src ? src->ssn : 0) + (r->y & 0x7f));
	forge_add_dgram(f, &dgram, 0);
	frame_add(f, &rd, sizeof(rd));
	if ((r->b & 7) == DATA)
		add_data(f, r);
	else
		add_send(f, r, &env);
	frame_add(f, &crc, sizeof(crc));
	/* An early packet awaits the one before it. */
	forge_fit(f, FORGE_EPOCH | FORGE_PSN | FORGE_ACK | FORGE_ECHO, early);
}
