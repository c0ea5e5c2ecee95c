/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rings that a process lends to its queue pairs (HW_QP_F_LENT): docs/host-interface.md, "Lent
 * rings".
 *
 * The NIC gives such a queue pair no rings. The process puts the place of one into the record
 * (hw_qp_record) before it posts to an empty queue, from room that ALLOC_RINGS gave.
 */
#ifndef WEFT_HW_RING_H
#define WEFT_HW_RING_H

#include <stdint.h>

enum {
	HW_RING_PLACE_BYTES = 64, /* unit of hw_qp_record.sq_place, rq_place */
	HW_RING_MIN_BYTES = 512,
	HW_RING_MAX_BYTES = 16384,
	HW_RINGS_MAX = 64, /* of one ALLOC_RINGS */
};

/* ALLOC_RINGS: room for rings in one piece, the process's until it detaches. */
struct hw_cmd_alloc_rings {
	uint32_t bytes; /* of each: a power of two, HW_RING_MIN_BYTES to HW_RING_MAX_BYTES */
	uint32_t count; /* 1 to HW_RINGS_MAX */
};

struct hw_resp_rings {
	uint64_t offset;
};

#endif /* WEFT_HW_RING_H */
