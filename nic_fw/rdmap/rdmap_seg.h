/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One arrived segment, parsed: the fields of DDP and RDMAP, and those of the transport's own
 * header. Datagrams (dgram.c, rd_rx.c), ESP (esp_rdmap_rx.c) and MPA (mpa_ddp.c) fill it in.
 *
 * RFC 5041 4, RFC 5040 4; shared_defs/wire_dgram.h.
 */
#ifndef WEFT_FW_RDMAP_SEG_H
#define WEFT_FW_RDMAP_SEG_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/base/list.h"

enum {
	RDMAP_HELD_BYTES = 52, /* payload of a request held until its turn: an atomic's */
};

struct dgram_hdr;
struct fw_rx_frame;

/* A peer of RD: receives that its unfinished messages have taken. */
struct recv_peer {
	struct fw_list recvs; /* recv_msg.peer_node */
	uint32_t life;        /* number of ends of its session so far: recv_msg.life */
	uint32_t ip;          /* network byte order */
	uint8_t shard;
};

/*
 * True if a message of that peer has taken a receive and is incomplete. Only RD counts: a connected
 * QP belongs to its peer, and its receives end with it.
 */
static inline bool recv_is_open(const struct recv_peer *peer)
{
	return !fw_list_empty(&peer->recvs);
}

/* Every field is in host byte order but src_ip and imm. */
struct rdmap_seg {
	const struct fw_rx_frame *frame;
	const struct dgram_hdr *hdr; /* of its datagram; NULL for a stream */
	uint32_t src_ip;             /* network byte order */
	uint8_t src_shard;
	uint8_t flags;          /* WIRE_DGRAM_F_* */
	uint8_t station;        /* class of the station that sent it; a stream's is its peer's */
	struct recv_peer *peer; /* RD: peer whose session brought it; otherwise NULL */
	bool stream;            /* arrived in order on a stream (esp_rdmap_rx.c, mpa_ddp.c) */
	uint16_t incarnation;
	uint32_t dst_qpn;
	uint32_t src_qpn;
	uint32_t qkey;
	uint32_t imm; /* as on the wire */
	uint32_t msg_bytes;
	uint32_t ssn;
	/* DDP and RDMAP; valid after ddp_parse() returned RDMAP_OK. */
	bool tagged_mo; /* the transport's header has mo of a tagged segment */
	bool tagged;
	bool last;
	bool checked;   /* the QP accepts it: rdmap_rx_place() checked that in its turn */
	uint8_t opcode; /* wire_rdmap_opcode */
	uint32_t stag;  /* tagged: STag; untagged: STag to invalidate */
	uint64_t to;    /* tagged */
	uint32_t qn;    /* untagged */
	uint32_t msn;
	uint32_t mo;
	uint32_t data_offset; /* in the frame */
	uint32_t data_bytes;
	uint32_t recv_serial; /* of the recv_msg that the payload was placed in (recv.c) */
	/* Set by MPA: the complete segment, for a Terminate to quote. */
	uint32_t ddp_offset; /* in the frame */
	uint16_t ulpdu_bytes;
};

#endif /* WEFT_FW_RDMAP_SEG_H */
