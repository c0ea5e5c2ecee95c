/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs of TCP segments that can go to the kernel as one frame (gso.h): which, and as what.
 *
 * A flow begins with single frames, and returns to them for a while whenever it repeats something:
 * a receiver may take no frames beyond the MTU (another's AF_XDP program, a packet socket), or lose
 * long bursts.
 *
 * Called by wire_runs.c on the owner's core, and by gso.c.
 */
#ifndef WEFT_APP_GSO_RUN_H
#define WEFT_APP_GSO_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "shared_defs/wire_eth.h"
#include "shared_defs/wire_ip.h"

struct iovec;
struct rte_mbuf;

enum {
	GSO_LEAST = 2,    /* frames of a run, */
	GSO_RUN_MAX = 64, /* at most */
	GSO_FLOWS = 256,  /* remembered: those sent on last, by their hash */
	GSO_TCP_AT = sizeof(struct wire_eth) + sizeof(struct wire_ip),
	GSO_HDR_MAX = GSO_TCP_AT + 60,
};

/* What is known of a flow. */
struct gso_flow {
	uint32_t dst_ip, ports; /* as in the frame */
	uint32_t next_seq;      /* behind all that was sent */
	uint32_t alone;         /* frames that still go singly */
	uint32_t penalty;       /* how many do at the next repetition; 0: no flow */
	uint32_t good;          /* frames in runs since the last one */
};

/* Zero at first. */
struct gso_flows {
	struct gso_flow flow[GSO_FLOWS];
};

/*
 * How many of the first n >= 1 frames, each in one piece, go as one: segments of one TCP flow, one
 * behind the other, whose checksum was left away (csum.h). 1: the first goes by itself. They count
 * as sent; those that are not after all are given back by gso_unsent().
 */
uint32_t gso_run(struct gso_flows *flows, struct rte_mbuf *const *frames, uint32_t n);
void gso_unsent(struct gso_flows *flows, struct rte_mbuf *const *frames, uint32_t n);

/* Whether a run could go on with a further segment. */
bool gso_may_go_on(struct rte_mbuf *const *frames, uint32_t n);

/*
 * The frame that a run of n >= GSO_LEAST makes: headers into hdr, GSO_HDR_MAX bytes, whose length
 * is returned; the payload of frame i is at payload[i]. *each: bytes of it in a segment.
 */
uint32_t gso_join(struct rte_mbuf *const *frames, uint32_t n, uint8_t *hdr, struct iovec *payload,
		  uint16_t *each);

#endif /* WEFT_APP_GSO_RUN_H */
