/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests to a tagged endpoint that is not set up, which no endpoint of its number will carry out.
 *
 * A peer tries a request to such an endpoint again until it is set up. Requests that answer an
 * earlier endpoint would wait as long as the next one of its number is in RESET or INIT, and with
 * them the peer's operation: reads of its open sends, Writes and PUTs to its announced receives,
 * NACKs, RTRs that are withdrawn. A context waits in INIT for ever, so no request to it ever has a
 * turn. docs/tagged.md, "Failure".
 */
#include "nic_fw/fw_nic.h"

/* Copies the payload. False: it has another length, or lies in no frame, but was held. */
static bool tag_late_copy(const struct rdmap_seg *pkt, void *to, uint32_t bytes)
{
	struct eth_cursor cursor;

	if (pkt->data_bytes != bytes || !pkt->frame)
		return false;
	eth_cursor_init(&cursor, pkt->frame, pkt->data_offset, bytes);
	eth_cursor_copy(&cursor, to, bytes);
	return true;
}

static bool reads_open_send(const struct rdmap_seg *pkt)
{
	struct wire_read_request req;

	return tag_late_copy(pkt, &req, sizeof(req)) && be32_get(req.src_stag) & STAG_SINK_FLAG;
}

/* True if the Send is an envelope that answers one of the endpoint's. */
static bool answers(const struct rdmap_seg *pkt)
{
	struct wire_tag env;

	return !pkt->mo && tag_late_copy(pkt, &env, sizeof(env)) &&
	       (env.kind == WIRE_TAG_PUT || env.kind == WIRE_TAG_NACK || env.kind == WIRE_TAG_RTR);
}

bool tag_late_is(const struct fw_qp *qp, const struct rdmap_seg *pkt)
{
	if (qp->tag && tag_ep_is_context(qp->tag))
		return true;
	if (pkt->opcode == WIRE_RDMAP_READ_REQUEST)
		return reads_open_send(pkt);
	if (pkt->opcode == WIRE_RDMAP_WRITE)
		return pkt->stag & STAG_SINK_FLAG;
	return pkt->opcode == WIRE_RDMAP_SEND && qp->flags & HW_QP_F_TAGGED && answers(pkt);
}
