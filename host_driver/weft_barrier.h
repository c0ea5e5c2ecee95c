/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory ordering between host and NIC. Each barrier has the name used in docs/host-interface.md.
 *
 * The NIC's half of every pair is in nic_fw/host (db.c, cq.c, eq.c, rq.c). The file uses the C11
 * memory model through gcc's __atomic builtins, since the words in shared memory have plain types.
 */
#ifndef WEFT_BARRIER_H
#define WEFT_BARRIER_H

#include <stdbool.h>
#include <stdint.h>

#include "shared_defs/hw_bar.h"
#include "shared_defs/hw_cmd_slot.h"
#include "shared_defs/hw_cqe.h"

/*
 * gcc warns that ThreadSanitizer does not support fences. The fence below orders two atomic words
 * against another process, which ThreadSanitizer does not observe.
 */
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wtsan"
#endif

/*
 * D1: a slot of the doorbell ring is claimed before its entry is written. NIC: acquire of
 * ring[head].
 */
static inline void weft_barrier_db_entry(uint32_t *slot, uint32_t entry)
{
	__atomic_store_n(slot, entry, __ATOMIC_RELEASE);
}

/*
 * D2, first half: SQ slots before sq_prod. NIC: acquire of sq_prod before it copies slots, with or
 * without a doorbell.
 */
static inline void weft_barrier_sq_publish(struct hw_qp_record *record, uint32_t sq_prod)
{
	__atomic_store_n(&record->sq_prod, sq_prod, __ATOMIC_RELEASE);
}

/*
 * D2, second half: the index (sq_prod, arm) before rung. Returns true if the object had no entry in
 * the ring, so that the caller must write one. NIC: exchange(rung, 0) before it reads the index.
 * One of the two exchanges is first, so either the NIC sees the index or the host sees 0.
 */
static inline bool weft_barrier_ring_needed(uint32_t *rung)
{
	return __atomic_exchange_n(rung, 1, __ATOMIC_ACQ_REL) == 0;
}

/*
 * D3: the doorbell entry before the load of sleeping. NIC: sleeping = 1 before its last check of
 * the doorbell ring (fw_sleep). Both halves need a full fence: a store followed by a load of
 * another word.
 */
static inline bool weft_barrier_nic_sleeping(const struct hw_bar_header *header)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return __atomic_load_n(&header->sleeping, __ATOMIC_RELAXED) != 0;
}

/* S1: the NIC's last read of SQ slots before sq_cons; the host may then overwrite them. */
static inline uint32_t weft_barrier_sq_cons(const struct hw_qp_record *record)
{
	return __atomic_load_n(&record->sq_cons, __ATOMIC_ACQUIRE);
}

/* R1: receive requests before rq_prod, or prod of an SRQ. NIC: acquire in rq_take(). */
static inline void weft_barrier_rq_publish(uint32_t *prod, uint32_t value)
{
	__atomic_store_n(prod, value, __ATOMIC_RELEASE);
}

/* R2: the NIC's copy of a receive request before cons; the host may then overwrite it. */
static inline uint32_t weft_barrier_rq_cons(const uint32_t *cons)
{
	return __atomic_load_n(cons, __ATOMIC_ACQUIRE);
}

/*
 * C1: the last word of a CQE, which holds the phase, is read before the rest of the CQE and before
 * the data that the NIC placed for it. NIC: release of that word (cq_post).
 */
static inline uint32_t weft_barrier_cqe_word(const struct hw_cqe *cqe)
{
	return __atomic_load_n((const uint32_t *)(const void *)&cqe->status, __ATOMIC_ACQUIRE);
}

/* C2: the arm word, followed by the exchange of D2. NIC: acquire in cq_arm(). */
static inline void weft_barrier_cq_arm(struct hw_cq_record *record, uint32_t arm)
{
	__atomic_store_n(&record->arm, arm, __ATOMIC_RELEASE);
}

/* C3: reads of CQEs before cons. NIC: acquire of cons before it overwrites them. */
static inline void weft_barrier_cq_cons(struct hw_cq_record *record, uint32_t cons)
{
	__atomic_store_n(&record->cons, cons, __ATOMIC_RELEASE);
}

/* E1: as C1, for event queue entries. */
static inline uint32_t weft_barrier_eqe_word(const struct hw_eqe *eqe)
{
	return __atomic_load_n((const uint32_t *)(const void *)&eqe->type, __ATOMIC_ACQUIRE);
}

/*
 * E2: as C3, for event queues. E3: the index before the next check of the ring. The NIC stores an
 * entry, then loads the index, and raises no interrupt for an entry that the process is about to
 * see. Both halves need a full fence: a store followed by a load of another word.
 */
static inline void weft_barrier_eq_cons(struct hw_eq_record *record, uint32_t cons)
{
	__atomic_store_n(&record->cons, cons, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/*
 * K1: the answer in a command slot before done. NIC: release (cmd_slot.c). The command before its
 * doorbell is D2, with serial as the index.
 */
static inline bool weft_barrier_slot_done(const struct hw_cmd_slot *slot, uint32_t serial)
{
	return __atomic_load_n(&slot->done, __ATOMIC_ACQUIRE) == serial;
}

#endif /* WEFT_BARRIER_H */
