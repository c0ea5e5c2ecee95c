/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Protection domains, memory regions and windows: STags and the rights that they grant.
 *
 * mem.c is the only place that turns (STag, offset, bytes) into memory. An STag is a secret (RFC
 * 5042 6.2.1): bits 8 to 23 are its index, drawn from the free ones; bits 24 to 30 and 0 to 7 are
 * its key, drawn as well. The process may change the lower eight bits of a window. The top bit is
 * never a region's: it marks the sinks of read responses (wqe.h).
 */
#ifndef WEFT_FW_MEM_H
#define WEFT_FW_MEM_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nic_fw/base/list.h"
#include "shared_defs/hw_cqe.h"
#include "shared_defs/hw_limits.h"

struct eth_cursor;
struct fw_atomic;
struct fw_nic;
struct fw_qp;

struct fw_pd {
	bool used;
	uint32_t client;
	uint32_t refs; /* regions, windows, QPs, SRQs, AHs */
	struct fw_list node;
};

enum fw_mr_kind {
	FW_MR_FREE = 0,
	FW_MR_REGION,
	FW_MR_WINDOW, /* allocated, bound or not */
	FW_MR_DEAD,   /* invalidated region: only DEREG is allowed */
};

struct fw_mr {
	uint8_t *mapping; /* byte 0 of the region in our address space; NULL: process_vm */
	uint64_t iova;    /* tagged offset of byte 0 */
	uint64_t addr;    /* address of byte 0 in the process */
	uint64_t bytes;
	uint32_t pd;
	uint32_t access; /* HW_ACCESS_* */
	uint32_t stag;   /* that accesses name it by; mem_stag_void(): none may */
	uint16_t client;
	uint8_t kind;    /* fw_mr_kind */
	uint8_t mw_type; /* window: 1 or 2 */
	uint16_t key;    /* as in stag_key() */
	bool bound;
	uint8_t reserved;
	uint32_t qpn;     /* window of type 2: the QP it is bound to; else 0 */
	uint32_t parent;  /* window: index of its region */
	uint32_t windows; /* region: windows bound to it */
	void *map_base;   /* argument of mem_unmap() */
	struct fw_list node;
	struct fw_list qp_node; /* window of type 2: in qp->windows while bound */
};

enum {
	MEM_ATOMIC_TRIES = 64,
};

/* The next number is drawn among MR_SPREAD free ones, or all that are left. */
enum {
	MR_SPREAD = 4096,
	STAG_KEYS = 1 << 15,
};

static_assert(HW_MAX_MR <= 1 << 16, "stag_index()");
static_assert(offsetof(struct fw_mr, map_base) == 64, "an access reads the first 64 bytes");

#define STAG_SINK_FLAG 0x80000000u /* the STag names a read's sink, not a region */

static inline uint32_t stag_make(uint32_t index, uint16_t key)
{
	return (uint32_t)(key >> 8) << 24 | index << 8 | (key & 0xff);
}

static inline uint32_t stag_index(uint32_t stag)
{
	return stag >> 8 & 0xffff;
}

/* 15 bits, without the sink's flag. */
static inline uint16_t stag_key(uint32_t stag)
{
	return (uint16_t)((stag >> 16 & 0x7f00) | (stag & 0xff));
}

/* The STag of an object that no access may name: its index is another than the object's own. */
static inline uint32_t mem_stag_void(uint32_t index)
{
	return stag_make(index ^ 1, 0);
}

/* Memory that passed all checks. Valid until the region is deregistered: use at once. */
struct fw_mem {
	uint8_t *ptr;  /* mapped; NULL: process_vm at addr */
	uint64_t addr; /* in the process */
	uint32_t client;
};

/* True if the range continues after the last byte that has an address (RFC 5040: TO wrap). */
static inline bool mem_wraps(uint64_t to, uint64_t bytes)
{
	return bytes && to + (bytes - 1) < to;
}

/*
 * Checks one access: STag and key, PD, bounds in 64 bits, rights, a window's QP.
 * need: HW_ACCESS_* that must all be granted (0: local read). Returns HW_VENDOR_ERR_NONE and
 * fills *mem, or LKEY, BOUNDS, ACCESS. bytes 0 passes any STag (IBA 10.6.3 and rdma-core).
 */
enum hw_vendor_err mem_check(struct fw_nic *nic, uint32_t pd, uint32_t qpn, uint32_t stag,
			     uint64_t to, uint64_t bytes, uint32_t need, struct fw_mem *mem);

/*
 * Copies out of, or into, checked memory. False: the process's memory was not readable; or, with
 * nic->host.mem_busy, a page of it is not available yet. A busy access counts as a loss on the wire
 * if the sender repeats; a write may still be carried out later.
 */
bool mem_read(struct fw_nic *nic, const struct fw_mem *mem, uint64_t offset, void *dst,
	      uint32_t bytes);
bool mem_write(struct fw_nic *nic, const struct fw_mem *mem, uint64_t offset, const void *src,
	       uint32_t bytes);
/*
 * mem_write() of the next bytes of a frame, which must be there. Memory that is not mapped takes
 * one copy for all pieces of the frame: a copy costs as much as thousands of bytes. The pieces are
 * joined here also because they may lie in the memory of the sending process (FW_RX_CRC_OK): the
 * sender is at fault if they cannot be read, while the port's failure is one of the receiver.
 */
bool mem_write_frame(struct fw_nic *nic, const struct fw_mem *mem, uint64_t offset,
		     struct eth_cursor *cursor, uint32_t bytes);
/*
 * Likewise, of bytes and of a frame's, for payload that the firmware does not read again:
 * fw_port.place() may take it.
 */
bool mem_place(struct fw_nic *nic, const struct fw_mem *mem, uint64_t offset, const void *src,
	       uint32_t bytes);
bool mem_place_frame(struct fw_nic *nic, const struct fw_mem *mem, uint64_t offset,
		     struct eth_cursor *cursor, uint32_t bytes);

/*
 * Carries out an atomic on checked, mapped memory (mem_atomic.c). Atomic against this shard and, at
 * an address that is a multiple of the element's size, against CPUs and other shards. False:
 * nothing was written, since the memory changed under each of MEM_ATOMIC_TRIES tries: processes
 * that write there all the time do not keep a core. Sums and CSWAP of UINT64 take one instruction,
 * and succeed.
 */
bool mem_atomic(const struct fw_mem *mem, const struct fw_atomic *op, uint64_t *original);
/*
 * The same on memory that is not mapped, atomic against the process's other atomics there: the
 * results of fw_port.host_atomic() and host_atomic_over(), counted. slow_atomic.c calls it.
 */
int mem_atomic_host(struct fw_nic *nic, const struct fw_mem *mem, const struct fw_atomic *op,
		    uint64_t *original);
int mem_atomic_host_over(struct fw_nic *nic, uint32_t client, uint64_t *original);
/* fw_port.host_late(): whether an access that was given up may still change memory of a client. */
uint64_t mem_late(struct fw_nic *nic, uint32_t client, uint64_t since);

/* LOCAL_INV and Send with Invalidate (RFC 5040 5.3.2). Returns false if that is not allowed. */
bool mem_invalidate(struct fw_nic *nic, uint32_t pd, uint32_t qpn, uint32_t stag);
/*
 * BIND_MW: binds a window. Type 1: rkey is the current one and the key then counts up by one
 * (ibv_inc_rkey), 0 bytes unbind it; type 2: rkey is the new one, the window is unbound before.
 */
enum hw_vendor_err mem_bind(struct fw_nic *nic, uint32_t pd, uint32_t qpn, uint32_t rkey,
			    uint32_t mr_lkey, uint64_t addr, uint64_t bytes, uint32_t access);

/* Unbinds windows of type 2 that are bound to the QP. True: none is left. */
bool mem_unbind_step(struct fw_nic *nic, struct fw_qp *qp);
/* Unlinks a window from its region; no effect if it is not bound. */
void mem_unbind(struct fw_nic *nic, struct fw_mr *mw);

#endif /* WEFT_FW_MEM_H */
