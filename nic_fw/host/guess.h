/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Limits on guessing STags: failed tries of each peer.
 *
 * An STag is drawn at random, so a peer that was not given one must guess (RFC 5042 6.2.1). A wrong
 * one ends a connection, but a queue pair with many peers continues. There a peer with too many
 * failed tries is refused all access for a while, right or wrong, so that the answers do not reveal
 * a hit. Tries are counted for each pair of peer and queue pair: neither another peer of that queue
 * pair, nor another queue pair that the same NIC serves, is affected.
 */
#ifndef WEFT_FW_GUESS_H
#define WEFT_FW_GUESS_H

#include <stdbool.h>
#include <stdint.h>

#include "shared_defs/hw_cqe.h"

struct rdmap_seg;
struct fw_mem;
struct fw_nic;
struct fw_qp;

#define GUESS_SPAN_NS UINT64_C(1000000000)
enum {
	GUESS_LIMIT = 1000, /* tries of one peer at one queue pair in GUESS_SPAN_NS */
	GUESS_PLACES = 4096,
};

/* Failed tries of the pairs of peer and queue pair that share this slot (a keyed hash). */
struct guess {
	uint64_t since_ns;
	uint32_t tries;
};

/* As mem_check(), for an access that the packet's peer requests. */
enum hw_vendor_err guess_mem_check(struct fw_nic *nic, struct fw_qp *qp,
				   const struct rdmap_seg *pkt, uint32_t stag, uint64_t to,
				   uint64_t bytes, uint32_t need, struct fw_mem *mem);

/* As mem_invalidate(), for an STag that the packet's peer names. */
bool guess_mem_invalidate(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt,
			  uint32_t pd);

#endif /* WEFT_FW_GUESS_H */
