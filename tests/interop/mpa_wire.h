/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPA on an ordinary socket: set-up frames and FPDUs, written from RFC 5044, 6581, 5041 and 5040,
 * and sharing only the CRC32C with nic_fw. Used by mpa_sock.c.
 */
#ifndef WEFT_TESTS_INTEROP_MPA_WIRE_H
#define WEFT_TESTS_INTEROP_MPA_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared_defs/wire_iwarp.h"
#include "shared_defs/wire_mpa.h"

enum {
	MPA_TX_BYTES = 4 << 20,
	MPA_RX_BYTES = 1 << 18,
};

/* Content of a request or a reply, to send or received. */
struct mpa_setup {
	uint8_t revision;
	bool crc, markers, reject, peer_to_peer;
	uint8_t rtr; /* WIRE_MPA_RTR_* */
	uint16_t ird, ord;
	uint8_t data[WIRE_MPA_MAX_PRIVATE];
	uint32_t data_bytes;
};

struct mpa_stream {
	int fd; /* does not block */
	bool crc;
	uint32_t ulpdu_bytes; /* most bytes of a segment */
	uint8_t *tx;
	size_t tx_from, tx_to;
	uint8_t *rx;
	size_t rx_from, rx_to;
	uint32_t msn_send, msn_read;
	bool peer_closed, reset;
	uint32_t bad_crc;
};

/* 0 or -1. */
int mpa_stream_init(struct mpa_stream *s, int fd);
void mpa_stream_free(struct mpa_stream *s);

/* Set-up: blocks, up to the socket's time limit. Key: WIRE_MPA_KEY_REQ or _REP. 0 or -1. */
int mpa_setup_send(int fd, const char *key, const struct mpa_setup *setup);
int mpa_setup_receive(int fd, const char *key, struct mpa_setup *setup);

/* Makes room in the send buffer for messages of that many bytes. */
bool mpa_has_room(const struct mpa_stream *s, size_t bytes);
/* Appends one FPDU. */
void mpa_put(struct mpa_stream *s, const void *head, uint32_t head_bytes, const void *data,
	     uint32_t bytes);
/* Appends whole messages, cut into segments. */
void mpa_send(struct mpa_stream *s, enum wire_rdmap_opcode opcode, const void *data,
	      uint32_t bytes);
void mpa_tagged(struct mpa_stream *s, enum wire_rdmap_opcode opcode, uint32_t stag, uint64_t to,
		const void *data, uint32_t bytes);
void mpa_read_request(struct mpa_stream *s, uint32_t sink_stag, uint64_t sink_to, uint32_t bytes,
		      uint32_t stag, uint64_t to);

/* Writes as much as the kernel takes. False: the connection is gone. */
bool mpa_flush(struct mpa_stream *s);
/* Reads once, at most that many bytes. False: the stream has ended. */
bool mpa_fill(struct mpa_stream *s, size_t most);
/* The next complete ULPDU, or NULL; valid until mpa_fill(). */
const uint8_t *mpa_next(struct mpa_stream *s, uint32_t *bytes);

#endif /* WEFT_TESTS_INTEROP_MPA_WIRE_H */
