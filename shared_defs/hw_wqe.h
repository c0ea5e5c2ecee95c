/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work queue entries, host to NIC.
 *
 * A send request occupies 1 to HW_SQ_MAX_SLOTS consecutive 64-byte slots of the SQ ring: the
 * control slot below, then its SGEs (16 bytes each) or its inline bytes. It may wrap around the end
 * of the ring at a slot boundary. Receive requests have a fixed stride: hw_rq_wqe and max_sge SGEs,
 * rounded up to a power of two.
 *
 * host_driver/weft_post.c writes them. nic_fw/host/wqe.c and nic_fw/host/rq.c copy them once, then
 * check the copy. Little-endian. docs/host-interface.md, "Work queues".
 */
#ifndef WEFT_HW_WQE_H
#define WEFT_HW_WQE_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "shared_defs/hw_limits.h"

enum hw_wqe_opcode {
	HW_WQE_SEND = 0,
	HW_WQE_SEND_IMM = 1,
	HW_WQE_SEND_INV = 2,
	HW_WQE_WRITE = 3,
	HW_WQE_WRITE_IMM = 4,
	HW_WQE_READ = 5,
	HW_WQE_FETCH_ADD = 6,
	HW_WQE_CMP_SWAP = 7,
	HW_WQE_LOCAL_INV = 8,
	HW_WQE_BIND_MW = 9,
	HW_WQE_WRITE_RECORD = 10, /* UD only: Write-Record */
	HW_WQE_TSEND = 11,        /* tagged endpoints only (hw_tag.h) */
	HW_WQE_ATOMIC = 12,       /* RD only: an operation of hw_atomic.h */
	HW_WQE_OPCODES
};

/* hw_sq_wqe.flags */
enum {
	HW_WQE_F_SIGNALED = 0x01,
	HW_WQE_F_SOLICITED = 0x02,
	HW_WQE_F_FENCE = 0x04,
	HW_WQE_F_INLINE = 0x08,
	HW_WQE_F_ALL = 0x0f,
};

struct hw_sge {
	uint64_t addr;
	uint32_t bytes;
	uint32_t lkey;
};
static_assert(sizeof(struct hw_sge) == 16, "");

struct hw_sq_wqe {
	uint8_t opcode;   /* hw_wqe_opcode */
	uint8_t flags;    /* HW_WQE_F_* */
	uint8_t slots;    /* including this one */
	uint8_t num_sge;  /* 0 with HW_WQE_F_INLINE */
	uint32_t imm_inv; /* immediate data in wire order, or the STag to invalidate */
	uint64_t wr_id;
	uint32_t ah;      /* UD, RD: address handle */
	uint32_t dst_qpn; /* UD, RD */
	/* UD, RD; high bit set: use the QP's own (IBA 10.2.5). XRC: srqn of the peer's SRQ */
	uint32_t qkey;
	uint32_t inline_bytes;
	uint64_t remote_addr; /* Write, Read, atomics */
	uint32_t rkey;
	/*
	 * BIND_MW: access rights; sge[0] is the range to bind. TSEND: HW_TSEND_F_*. ATOMIC:
	 * HW_ATOMIC_CODE(); the SGEs have the bytes of one element, the operands their low ones.
	 */
	uint32_t mw_access;
	uint64_t compare_add; /* CMP_SWAP, ATOMIC: compare; FETCH_ADD: addend */
	uint64_t swap;        /* CMP_SWAP: new value; ATOMIC: operand */
};
static_assert(sizeof(struct hw_sq_wqe) == HW_SQ_SLOT_BYTES, "one slot");
static_assert(offsetof(struct hw_sq_wqe, imm_inv) == 4, "");
static_assert(offsetof(struct hw_sq_wqe, wr_id) == 8, "");
static_assert(offsetof(struct hw_sq_wqe, ah) == 16, "");
static_assert(offsetof(struct hw_sq_wqe, inline_bytes) == 28, "");
static_assert(offsetof(struct hw_sq_wqe, remote_addr) == 32, "");
static_assert(offsetof(struct hw_sq_wqe, rkey) == 40, "");
static_assert(offsetof(struct hw_sq_wqe, compare_add) == 48, "");
static_assert(offsetof(struct hw_sq_wqe, swap) == 56, "");

enum {
	/* control slot plus the larger of 512 inline bytes and 16 SGEs */
	HW_SQ_MAX_SLOTS = 1 + HW_MAX_INLINE_BYTES / HW_SQ_SLOT_BYTES,
};
static_assert(HW_MAX_SGE * sizeof(struct hw_sge) <= HW_MAX_INLINE_BYTES, "");

/* Number of slots of a request with data_bytes of SGEs or inline data after its control slot. */
static inline uint32_t hw_sq_slots(uint32_t data_bytes)
{
	return 1 + (data_bytes + HW_SQ_SLOT_BYTES - 1) / HW_SQ_SLOT_BYTES;
}

struct hw_rq_wqe {
	uint64_t wr_id;
	uint32_t num_sge;
	uint32_t reserved;
	/* struct hw_sge sge[max_sge] follows */
};
static_assert(sizeof(struct hw_rq_wqe) == 16, "");

/* Stride of a receive queue whose requests have up to max_sge SGEs: a power of two. */
static inline uint32_t hw_rq_stride_bytes(uint32_t max_sge)
{
	uint32_t need =
	    (uint32_t)sizeof(struct hw_rq_wqe) + max_sge * (uint32_t)sizeof(struct hw_sge);
	uint32_t stride = 32;

	while (stride < need)
		stride <<= 1;
	return stride;
}

#endif /* WEFT_HW_WQE_H */
