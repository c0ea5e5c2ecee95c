/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two queue pairs over MPA, joined by a stream that the test controls.
 */
#ifndef WEFT_TESTS_MPA_PAIR_H
#define WEFT_TESTS_MPA_PAIR_H

#include "nic_fw/base/crc32c.h"
#include "nic_fw/mpa/mpa_fpdu.h"
#include "tests/pair/rd_pair.h"

enum {
	MP_HDRS = 66, /* Ethernet, IPv4, TCP with timestamps */
	MP_MSS = 1448,
	MP_STREAM = 1 << 20,
	MP_SINK = 64 * 1024, /* in the memory of either: target of reads */
	MP_DST = 256 * 1024, /* target of Writes */
};

struct mp_side {
	struct tcp_flow flow; /* only ctx is used */
	struct mpa_conn *conn;
	struct fw_qp *qp;
	uint32_t e;
	uint8_t *wire;        /* the stream that this side sent */
	uint32_t wrote, read; /* bytes written, and bytes that the peer consumed */
	struct {
		struct tcp_seg *seg;
		uint32_t end;
	} seg[4096];
	uint32_t made, acked;
	bool push, closed, aborted, resumed, first;
	bool hold_acks;
};

struct mp {
	struct mp_side side[2];
	uint32_t mss;
	uint32_t cut;   /* receives pieces of so many bytes; 0: as they were sent */
	uint32_t frame; /* pieces of a received frame; 0: one */
	uint32_t head;  /* its first piece, more than MP_HDRS; 0: FW_RX_HDR_BYTES */
	uint32_t rx_flags;
	uint32_t random;
	void (*change)(struct mp_side *from, uint8_t *fpdu, uint32_t bytes);
	/* Inspects each ULPDU. NULL, or a result of true: RDMAP gets it. */
	bool (*see)(struct mpa_conn *conn, const uint8_t *ulpdu, uint32_t bytes);
	/* Takes the timer of a connection. NULL, or a result of false: the firmware gets it. */
	bool (*fire)(struct fw_timer *timer);
};
extern struct mp mp;

extern struct rp rp;

struct fw_nic *mp_nic(const struct mp_side *side);
uint32_t mp_random(uint32_t below);
void mp_begin(const struct mpa_params *param);
/* Asserts that nothing is left. */
void mp_end(void);
/* Puts bytes [from, from + bytes) of a segment into out; negative: an errno. */
int mp_fill(struct mp_side *side, const struct tcp_seg *seg, uint32_t from, uint32_t bytes,
	    uint8_t *out);
/* Makes all segments that are ready; returns their number. */
uint32_t mp_make(struct mp_side *side);
/* Gives bytes to a side as one frame; returns how many it consumed. */
uint32_t mp_receive(struct mp_side *to, const uint8_t *data, uint32_t bytes);
/* Delivers the data that a side has sent, and acknowledges it; returns the bytes. */
uint32_t mp_deliver(struct mp_side *from);
/* Runs both sides until nothing happens. */
void mp_run(void);
/*
 * Asserts that the last FPDU of a side, without markers, is this Terminate, byte for byte (RFC 5040
 * 4.8). fault: the FPDU that it quotes, as far as hdrct says.
 */
bool mp_expect_terminate(const struct mp_side *side, uint8_t layer_etype, uint8_t code,
			 uint8_t hdrct, const uint8_t *fault);
void mp_req(uint32_t e, uint8_t opcode, uint64_t wr_id, uint32_t bytes, uint32_t imm);

#define MP_MEM(e) (rp.end[e].mem)

#endif /* WEFT_TESTS_MPA_PAIR_H */
