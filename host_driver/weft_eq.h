/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Event queues, host side (weft_eq.c).
 */
#ifndef WEFT_EQ_H
#define WEFT_EQ_H

#include "host_driver/weft_barrier.h"
#include "host_driver/weft_priv.h"

/*
 * Initialises a queue and takes ownership of event_fd (-1: none), also on failure. Returns 0 or a
 * negative errno.
 */
int weft_eq_init(struct weft_ctx *ctx, struct weft_eq *eq, uint32_t number, uint32_t entries,
		 uint64_t record_offset, uint64_t ring_offset, int event_fd);
void weft_eq_destroy(struct weft_eq *eq);

/* Returns true if there is an entry. Makes no system call. Under eq->lock. */
bool weft_eq_peek(const struct weft_eq *eq);

/* Takes the oldest entry. Returns false if there is none. Under eq->lock. */
bool weft_eq_take(struct weft_eq *eq, struct hw_eqe *out);

/* Makes the descriptor readable exactly while there is an entry. Under eq->lock. */
void weft_eq_settle(const struct weft_eq *eq);

/* Makes the descriptor readable although there is no entry. Under eq->lock. */
void weft_eq_signal(const struct weft_eq *eq);

/* Blocks until an entry may exist or the NIC is gone. Returns 0 or -EINTR. Without eq->lock. */
int weft_eq_wait(struct weft_ctx *ctx, const struct weft_eq *eq);

/* Returns false if the user has set O_NONBLOCK on the descriptor. */
bool weft_eq_may_block(const struct weft_eq *eq);

/*
 * Removes the pending entries of a destroyed object, so that the next object with its number does
 * not receive them. Takes eq->lock.
 */
void weft_eq_purge(struct weft_eq *eq, bool (*match)(const struct hw_eqe *eqe, uint32_t id),
		   uint32_t id);
bool weft_eqe_of_cq_comp(const struct hw_eqe *eqe, uint32_t id);
bool weft_eqe_of_cq(const struct hw_eqe *eqe, uint32_t id);
bool weft_eqe_of_qp(const struct hw_eqe *eqe, uint32_t id);
bool weft_eqe_of_srq(const struct hw_eqe *eqe, uint32_t id);
/* Returns true for event types that name a QP. */
bool weft_eqe_is_qp(uint8_t type);

#endif /* WEFT_EQ_H */
