/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The frames that set up an MPA connection: written, read, and checked.
 *
 * Calls nothing. mpa_setup.c judges the contents of a frame; this file refuses malformed frames.
 * Reserved bits are ignored, as is R in a request (RFC 5044 7.1.1). RFC 5044 7.1, RFC 6581 9.
 */
#include "nic_fw/fw_nic.h"

static const uint8_t keys[2][WIRE_MPA_KEY_BYTES + 1] = {WIRE_MPA_KEY_REQ, WIRE_MPA_KEY_REP};

static uint16_t mpa_frame_depth_of(uint16_t word)
{
	return word & WIRE_MPA_DEPTH_MASK;
}

uint32_t mpa_frame_write(uint8_t *dst, const struct mpa_frame *frame)
{
	struct wire_mpa_setup *wire = (void *)dst;
	uint32_t at = sizeof(*wire);

	assert(frame->data_bytes + (frame->enhanced ? sizeof(struct wire_mpa_enhanced) : 0) <=
	       WIRE_MPA_MAX_PRIVATE);
	memcpy(wire->key, keys[frame->reply], WIRE_MPA_KEY_BYTES);
	wire->flags =
	    (uint8_t)((frame->markers ? WIRE_MPA_F_MARKERS : 0) |
		      (frame->crc ? WIRE_MPA_F_CRC : 0) | (frame->reject ? WIRE_MPA_F_REJECT : 0) |
		      (frame->enhanced ? WIRE_MPA_F_ENHANCED : 0));
	wire->revision = frame->revision;
	if (frame->enhanced) {
		uint32_t ird = mpa_frame_depth_of(frame->ird), ord = mpa_frame_depth_of(frame->ord);
		struct wire_mpa_enhanced *more = (void *)(dst + at);

		ird |= (frame->peer_to_peer ? WIRE_MPA_IRD_PEER_TO_PEER : 0) |
		       (frame->rtr & WIRE_MPA_RTR_SEND ? WIRE_MPA_IRD_RTR_SEND : 0);
		ord |= (frame->rtr & WIRE_MPA_RTR_WRITE ? WIRE_MPA_ORD_RTR_WRITE : 0) |
		       (frame->rtr & WIRE_MPA_RTR_READ ? WIRE_MPA_ORD_RTR_READ : 0);
		more->ird = be16_put((uint16_t)ird);
		more->ord = be16_put((uint16_t)ord);
		at += (uint32_t)sizeof(*more);
	}
	if (frame->data_bytes)
		memcpy(dst + at, frame->data, frame->data_bytes);
	at += frame->data_bytes;
	wire->private_bytes = be16_put((uint16_t)(at - sizeof(*wire)));
	return at;
}

int mpa_frame_bytes(const uint8_t *src, uint32_t bytes, bool reply)
{
	const struct wire_mpa_setup *wire = (const void *)src;
	uint32_t known = bytes < WIRE_MPA_KEY_BYTES ? bytes : WIRE_MPA_KEY_BYTES;

	/* A peer that does not speak MPA is refused at its first wrong byte. */
	if (memcmp(src, keys[reply], known) != 0)
		return -FW_EPROTO;
	if (bytes < sizeof(*wire))
		return 0;
	if (be16_get(wire->private_bytes) > WIRE_MPA_MAX_PRIVATE)
		return -FW_EPROTO;
	return (int)sizeof(*wire) + be16_get(wire->private_bytes);
}

int mpa_frame_read(const uint8_t *src, bool reply, struct mpa_frame *frame)
{
	const struct wire_mpa_setup *wire = (const void *)src;

	*frame = (struct mpa_frame){
	    .reply = reply,
	    .reject = reply && (wire->flags & WIRE_MPA_F_REJECT),
	    .markers = (wire->flags & WIRE_MPA_F_MARKERS) != 0,
	    .crc = (wire->flags & WIRE_MPA_F_CRC) != 0,
	    .revision = wire->revision,
	    .ird = WIRE_MPA_DEPTH_NONE,
	    .ord = WIRE_MPA_DEPTH_NONE,
	    .data = src + sizeof(*wire),
	    .data_bytes = be16_get(wire->private_bytes),
	};
	if (wire->revision != WIRE_MPA_REVISION_1 && wire->revision != WIRE_MPA_REVISION_2)
		return FW_EOPNOTSUPP;
	/* The bit is reserved in revision 1. */
	if (wire->revision == WIRE_MPA_REVISION_2 && wire->flags & WIRE_MPA_F_ENHANCED) {
		const struct wire_mpa_enhanced *more = (const void *)frame->data;
		uint16_t ird, ord;

		if (frame->data_bytes < sizeof(*more))
			return FW_EPROTO;
		ird = be16_get(more->ird);
		ord = be16_get(more->ord);
		frame->enhanced = true;
		frame->peer_to_peer = (ird & WIRE_MPA_IRD_PEER_TO_PEER) != 0;
		/* Without A the other three bits have no meaning (RFC 6581 9.2). */
		if (frame->peer_to_peer)
			frame->rtr =
			    (uint8_t)((ird & WIRE_MPA_IRD_RTR_SEND ? WIRE_MPA_RTR_SEND : 0) |
				      (ord & WIRE_MPA_ORD_RTR_WRITE ? WIRE_MPA_RTR_WRITE : 0) |
				      (ord & WIRE_MPA_ORD_RTR_READ ? WIRE_MPA_RTR_READ : 0));
		frame->ird = mpa_frame_depth_of(ird);
		frame->ord = mpa_frame_depth_of(ord);
		frame->data += sizeof(*more);
		frame->data_bytes -= (uint32_t)sizeof(*more);
	}
	return 0;
}
