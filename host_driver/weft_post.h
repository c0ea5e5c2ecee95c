/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parts of posting that several kinds of send requests share.
 *
 * weft_post.c implements them, for its own requests and for tagged sends (weft_tag_post.c). All are
 * called under sq->lock unless the comment says otherwise. docs/host-interface.md, "Work queues".
 */
#ifndef WEFT_POST_H
#define WEFT_POST_H

#include "host_driver/weft_priv.h"

/* A request in the layout of the ring: control slot, then SGEs or inline data. */
union weft_sq_build {
	struct hw_sq_wqe ctrl;
	uint8_t bytes[HW_SQ_MAX_SLOTS * HW_SQ_SLOT_BYTES];
};

/*
 * Writes SGEs or inline data behind the control slot, and the fields of the control slot that
 * describe them; num_sge was checked. Needs no lock. Returns the number of slots, or -EINVAL if the
 * inline data is too long.
 */
int weft_sq_data(union weft_sq_build *build, const struct weft_qp *qp,
		 const struct weft_sge *sg_list, uint32_t num_sge, bool is_inline);
/*
 * Writes one unpublished request into the ring. signaled: its slots are freed by its completion,
 * otherwise by sq_cons. Returns 0, or -ENOMEM if the queue is full.
 */
int weft_sq_put(struct weft_qp_obj *qp, const union weft_sq_build *build, bool signaled);
/*
 * Returns true if sending is legal in this state, as far as the host knows it (IBA 10.3.1). Needs
 * no lock.
 */
bool weft_sq_may_send(uint32_t state);

#endif /* WEFT_POST_H */
