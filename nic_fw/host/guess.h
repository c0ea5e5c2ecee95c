/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Peers that name STags which grant them nothing: how many tries each has.
 *
 * An STag is drawn, so a peer that has not been told one must try (RFC 5042 6.2.1). A wrong one
 * ends a connection; a queue pair for many peers goes on. There a peer that has tried too often is
 * granted nothing more for a while, right or wrong, so that no answer tells which. Tries are
 * counted for each pair of peer and queue pair: neither another peer of that queue pair, nor
 * another queue pair that the same NIC talks to, pays for them.
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

/* Tries of the pairs of peer and queue pair that fall on this place (a keyed hash). */
struct guess {
	uint64_t since_ns;
	uint32_t tries;
};

/* mem_check() of an access that the packet's peer asks for. */
enum hw_vendor_err guess_mem_check(struct fw_nic *nic, struct fw_qp *qp,
				   const struct rdmap_seg *pkt, uint32_t stag, uint64_t to,
				   uint64_t bytes, uint32_t need, struct fw_mem *mem);

/* mem_invalidate() of what the packet's peer names. */
bool guess_mem_invalidate(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt,
			  uint32_t pd);

#endif /* WEFT_FW_GUESS_H */
