/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPA on an ordinary socket; see mpa_wire.h. No markers: siw refuses them too. Calls the C library
 * and nic_fw/base/crc32c.c.
 */
#include "tests/interop/mpa_wire.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nic_fw/base/crc32c.h"

#define CRC_INIT 0xffffffffu

int mpa_stream_init(struct mpa_stream *s, int fd)
{
	*s = (struct mpa_stream){.fd = fd, .ulpdu_bytes = 1442, .msn_send = 1, .msn_read = 1};
	s->tx = malloc(MPA_TX_BYTES);
	s->rx = malloc(MPA_RX_BYTES);
	return s->tx && s->rx ? 0 : -1;
}

void mpa_stream_free(struct mpa_stream *s)
{
	free(s->tx);
	free(s->rx);
}

/* ---- set-up */

static int send_all(int fd, const void *data, size_t bytes)
{
	const uint8_t *p = data;

	while (bytes) {
		ssize_t n = send(fd, p, bytes, MSG_NOSIGNAL);

		if (n <= 0)
			return -1;
		p += n;
		bytes -= (size_t)n;
	}
	return 0;
}

int mpa_setup_send(int fd, const char *key, const struct mpa_setup *setup)
{
	struct wire_mpa_setup head = {.revision = setup->revision};
	struct wire_mpa_enhanced enhanced;
	uint8_t frame[sizeof(head) + sizeof(enhanced) + WIRE_MPA_MAX_PRIVATE];
	size_t at = sizeof(head);
	uint32_t ird = setup->ird, ord = setup->ord;

	memcpy(head.key, key, sizeof(head.key));
	head.flags = (uint8_t)((setup->crc ? WIRE_MPA_F_CRC : 0) |
			       (setup->markers ? WIRE_MPA_F_MARKERS : 0) |
			       (setup->reject ? WIRE_MPA_F_REJECT : 0));
	if (setup->revision == WIRE_MPA_REVISION_2) {
		head.flags |= WIRE_MPA_F_ENHANCED;
		ird |= (setup->peer_to_peer ? WIRE_MPA_IRD_PEER_TO_PEER : 0u) |
		       (setup->rtr & WIRE_MPA_RTR_SEND ? WIRE_MPA_IRD_RTR_SEND : 0u);
		ord |= (setup->rtr & WIRE_MPA_RTR_WRITE ? WIRE_MPA_ORD_RTR_WRITE : 0u) |
		       (setup->rtr & WIRE_MPA_RTR_READ ? WIRE_MPA_ORD_RTR_READ : 0u);
		enhanced.ird = be16_put((uint16_t)ird);
		enhanced.ord = be16_put((uint16_t)ord);
		memcpy(frame + at, &enhanced, sizeof(enhanced));
		at += sizeof(enhanced);
	}
	memcpy(frame + at, setup->data, setup->data_bytes);
	at += setup->data_bytes;
	head.private_bytes = be16_put((uint16_t)(at - sizeof(head)));
	memcpy(frame, &head, sizeof(head));
	return send_all(fd, frame, at);
}

static int receive_all(int fd, void *data, size_t bytes)
{
	uint8_t *p = data;

	while (bytes) {
		ssize_t n = recv(fd, p, bytes, 0);

		if (n <= 0) {
			if (!n)
				errno = ECONNRESET;
			return -1;
		}
		p += n;
		bytes -= (size_t)n;
	}
	return 0;
}

int mpa_setup_receive(int fd, const char *key, struct mpa_setup *setup)
{
	struct wire_mpa_setup head;
	struct wire_mpa_enhanced enhanced;
	uint32_t ird, ord;

	*setup = (struct mpa_setup){0};
	if (receive_all(fd, &head, sizeof(head)))
		return -1;
	setup->revision = head.revision;
	setup->crc = head.flags & WIRE_MPA_F_CRC;
	setup->markers = head.flags & WIRE_MPA_F_MARKERS;
	setup->reject = head.flags & WIRE_MPA_F_REJECT;
	setup->data_bytes = be16_get(head.private_bytes);
	errno = EPROTO;
	if (memcmp(head.key, key, sizeof(head.key)) || setup->data_bytes > sizeof(setup->data))
		return -1;
	if (head.flags & WIRE_MPA_F_ENHANCED) {
		if (setup->data_bytes < sizeof(enhanced) ||
		    receive_all(fd, &enhanced, sizeof(enhanced)))
			return -1;
		setup->data_bytes -= (uint32_t)sizeof(enhanced);
		ird = be16_get(enhanced.ird);
		ord = be16_get(enhanced.ord);
		setup->peer_to_peer = ird & WIRE_MPA_IRD_PEER_TO_PEER;
		setup->rtr = (uint8_t)((ird & WIRE_MPA_IRD_RTR_SEND ? WIRE_MPA_RTR_SEND : 0) |
				       (ord & WIRE_MPA_ORD_RTR_WRITE ? WIRE_MPA_RTR_WRITE : 0) |
				       (ord & WIRE_MPA_ORD_RTR_READ ? WIRE_MPA_RTR_READ : 0));
		setup->ird = ird & WIRE_MPA_DEPTH_MASK;
		setup->ord = ord & WIRE_MPA_DEPTH_MASK;
	}
	return receive_all(fd, setup->data, setup->data_bytes);
}

/* ---- sending */

bool mpa_has_room(const struct mpa_stream *s, size_t bytes)
{
	/* Headers, pad and CRC take at most 28 bytes of each segment. */
	size_t needs = bytes + (bytes / (s->ulpdu_bytes - 18) + 1) * 32;

	return needs <= MPA_TX_BYTES - s->tx_to || needs <= MPA_TX_BYTES - (s->tx_to - s->tx_from);
}

void mpa_put(struct mpa_stream *s, const void *head, uint32_t head_bytes, const void *data,
	     uint32_t bytes)
{
	struct be16 length = be16_put((uint16_t)(head_bytes + bytes));
	uint32_t whole = (2 + head_bytes + bytes + 3) / 4 * 4;
	struct be32 crc = be32_put(0);
	uint8_t *at;

	if (whole + sizeof(crc) > MPA_TX_BYTES - s->tx_to) {
		memmove(s->tx, s->tx + s->tx_from, s->tx_to - s->tx_from);
		s->tx_to -= s->tx_from;
		s->tx_from = 0;
	}
	if (whole + sizeof(crc) > MPA_TX_BYTES - s->tx_to) {
		fprintf(stderr, "mpa_put: no room\n");
		abort();
	}
	at = s->tx + s->tx_to;
	memset(at + whole - 4, 0, 4);
	memcpy(at, &length, 2);
	if (head_bytes)
		memcpy(at + 2, head, head_bytes);
	if (bytes)
		memcpy(at + 2 + head_bytes, data, bytes);
	if (s->crc)
		crc = fw_crc32c_wire(fw_crc32c(CRC_INIT, at, whole));
	memcpy(at + whole, &crc, sizeof(crc));
	s->tx_to += whole + sizeof(crc);
}

void mpa_send(struct mpa_stream *s, enum wire_rdmap_opcode opcode, const void *data, uint32_t bytes)
{
	uint32_t room = s->ulpdu_bytes - (uint32_t)sizeof(struct wire_ddp_untagged);
	const uint8_t *p = data;
	uint32_t at = 0;

	do {
		uint32_t n = bytes - at < room ? bytes - at : room;
		struct wire_ddp_untagged head = {
		    .ddp_ctrl = (uint8_t)(WIRE_DDP_VERSION | (at + n == bytes ? WIRE_DDP_LAST : 0)),
		    .rdmap_ctrl = (uint8_t)(WIRE_RDMAP_VERSION | opcode),
		    .qn = be32_put(WIRE_QN_SEND),
		    .msn = be32_put(s->msn_send),
		    .mo = be32_put(at),
		};

		mpa_put(s, &head, sizeof(head), p + at, n);
		at += n;
	} while (at < bytes);
	s->msn_send++;
}

void mpa_tagged(struct mpa_stream *s, enum wire_rdmap_opcode opcode, uint32_t stag, uint64_t to,
		const void *data, uint32_t bytes)
{
	uint32_t room = s->ulpdu_bytes - (uint32_t)sizeof(struct wire_ddp_tagged);
	const uint8_t *p = data;
	uint32_t at = 0;

	do {
		uint32_t n = bytes - at < room ? bytes - at : room;
		struct wire_ddp_tagged head = {
		    .ddp_ctrl = (uint8_t)(WIRE_DDP_TAGGED | WIRE_DDP_VERSION |
					  (at + n == bytes ? WIRE_DDP_LAST : 0)),
		    .rdmap_ctrl = (uint8_t)(WIRE_RDMAP_VERSION | opcode),
		    .stag = be32_put(stag),
		    .to = be64_put(to + at),
		};

		mpa_put(s, &head, sizeof(head), p + at, n);
		at += n;
	} while (at < bytes);
}

void mpa_read_request(struct mpa_stream *s, uint32_t sink_stag, uint64_t sink_to, uint32_t bytes,
		      uint32_t stag, uint64_t to)
{
	struct wire_ddp_untagged head = {
	    .ddp_ctrl = WIRE_DDP_VERSION | WIRE_DDP_LAST,
	    .rdmap_ctrl = WIRE_RDMAP_VERSION | WIRE_RDMAP_READ_REQUEST,
	    .qn = be32_put(WIRE_QN_READ_REQUEST),
	    .msn = be32_put(s->msn_read++),
	};
	struct wire_read_request request = {
	    .sink_stag = be32_put(sink_stag),
	    .sink_to = be64_put(sink_to),
	    .bytes = be32_put(bytes),
	    .src_stag = be32_put(stag),
	    .src_to = be64_put(to),
	};

	mpa_put(s, &head, sizeof(head), &request, sizeof(request));
}

bool mpa_flush(struct mpa_stream *s)
{
	while (s->tx_from < s->tx_to) {
		ssize_t n = send(s->fd, s->tx + s->tx_from, s->tx_to - s->tx_from, MSG_NOSIGNAL);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return true;
		if (n <= 0) {
			s->reset = true;
			return false;
		}
		s->tx_from += (size_t)n;
	}
	s->tx_from = s->tx_to = 0;
	return true;
}

/* ---- receiving */

bool mpa_fill(struct mpa_stream *s, size_t most)
{
	ssize_t n;

	memmove(s->rx, s->rx + s->rx_from, s->rx_to - s->rx_from);
	s->rx_to -= s->rx_from;
	s->rx_from = 0;
	if (s->rx_to == MPA_RX_BYTES)
		return true;
	if (most > MPA_RX_BYTES - s->rx_to)
		most = MPA_RX_BYTES - s->rx_to;
	n = recv(s->fd, s->rx + s->rx_to, most, 0);
	if (n > 0) {
		s->rx_to += (size_t)n;
		return true;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n)
		s->reset = true;
	s->peer_closed = true;
	return false;
}

const uint8_t *mpa_next(struct mpa_stream *s, uint32_t *bytes)
{
	const uint8_t *at = s->rx + s->rx_from;
	size_t have = s->rx_to - s->rx_from;
	struct be32 crc;
	uint32_t whole;

	if (have < 2)
		return NULL;
	*bytes = (uint32_t)at[0] << 8 | at[1];
	whole = (2 + *bytes + 3) / 4 * 4;
	if (have < whole + sizeof(crc))
		return NULL;
	if (s->crc) {
		crc = fw_crc32c_wire(fw_crc32c(CRC_INIT, at, whole));
		if (memcmp(&crc, at + whole, sizeof(crc)))
			s->bad_crc++;
	}
	s->rx_from += whole + sizeof(crc);
	return at + 2;
}
