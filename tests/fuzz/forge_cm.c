/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of the connection manager from a forger who may know the names of endpoints; see
 * forge.h. Formats: shared_defs/wire_cm.h. Reads the endpoints of the receiving NIC.
 */
#include "tests/fuzz/cm.h"
#include "tests/fuzz/forge.h"

static const struct cm_ep *endpoint(const struct fw_nic *nic, uint32_t i)
{
	return nic->cm.ids.high ? &nic->cm.eps[i % nic->cm.ids.high] : NULL;
}

/*
 * r->b: type (4 bits), endpoint; r->c: flags (2 bits), reason (4), bit 6 another sender, bit 7 no
 * receiver; r->x: bytes of data (8 bits), QPN; y: name of a stranger; z: shard, port.
 */
void forge_cm(struct frame *f, const struct rec *r)
{
	const struct cm_ep *ep = endpoint(w->nic[f->to].fw, r->b >> 4);
	const struct wire_dgram dgram = {.ver_type = WIRE_DGRAM_VERSION << 4 | WIRE_DGRAM_CM};
	const uint32_t crc = 0;
	struct wire_cm msg = {
	    .type = r->b & 15,
	    .flags = r->c & WIRE_CM_F_ALL,
	    .private_bytes = (uint8_t)r->x,
	    .qp_type = HW_QPT_RC,
	    .reason = be16_put(r->c >> 2 & 15 ? r->c >> 2 & 15 : HW_CM_REJ_REDIRECT),
	    .arg = be16_put(r->z & 7),
	    .src_id = be64_put(ep && !(r->c & 0x40) ? ep->peer_id : r->y),
	    .dst_id = be64_put(ep && !(r->c & 0x80) ? ep->local_id : 0),
	    .mtu = be16_put(W_MTU),
	    .qpn = be32_put(r->x >> 8),
	    .retry_count = 7,
	    .responder_resources = 1,
	    .initiator_depth = 1,
	};

	if (msg.type == WIRE_CM_REQ || msg.type == WIRE_CM_SIDR_REQ) {
		msg.dst_id = be64_put(0);
		msg.src_id = be64_put(r->y);
		msg.space = be16_put(msg.type == WIRE_CM_REQ ? HW_CM_TCP : HW_CM_UDP);
		msg.src_port = be16_put((uint16_t)(r->z >> 16));
		msg.dst_port = be16_put(r->z & 0x8000 ? (uint16_t)r->z : CM_PORT);
	}
	forge_add_dgram(f, &dgram, 0);
	frame_add(f, &msg, sizeof(msg));
	frame_fill(f, 0x5a, msg.private_bytes);
	frame_add(f, &crc, sizeof(crc));
}
