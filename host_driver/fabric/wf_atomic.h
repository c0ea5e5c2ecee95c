/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Atomics: the parameters of a call, and the parts that wf_atomic.c and wf_cas.c share.
 */
#ifndef WEFT_FI_WF_ATOMIC_H
#define WEFT_FI_WF_ATOMIC_H

#include "host_driver/fabric/fi_weft.h"

/* The three groups of calls, which differ in the operations they have. */
enum wf_atomic_kind {
	WF_ATOMIC_PLAIN,
	WF_ATOMIC_FETCH,
	WF_ATOMIC_COMPARE
};

struct wf_atomic {
	const void *operand, *compare;
	void *result, *result_desc;
	fi_addr_t addr;
	uint64_t remote, key;
	enum fi_datatype type;
	enum fi_op op;
	enum wf_atomic_kind kind;
	void *context;
};

/* Bytes of an element, up to 8; 0: a longer one, or no type. */
size_t wf_cas_bytes(enum fi_datatype type);
/* True if compare-and-swap of a word can do this. */
bool wf_cas_supports(enum wf_atomic_kind kind, enum fi_datatype type, enum fi_op op);
/*
 * Computes what an operation makes of an element; all values are in the first bytes. False: the
 * target stays as it is.
 */
bool wf_cas_apply(enum fi_datatype type, enum fi_op op, uint64_t target, uint64_t operand,
		  uint64_t compare, uint64_t *result);
/* Begins an operation. 0 or a negative errno. */
ssize_t wf_cas_post(struct wf_ep *ep, const struct wf_atomic *a, const struct wf_peer *peer,
		    uint64_t flags);

#endif /* WEFT_FI_WF_ATOMIC_H */
