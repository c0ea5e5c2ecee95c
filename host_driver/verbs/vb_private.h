/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Between our libibverbs.so.1 and our librdmacm.so.1 (vb_private.c).
 */
#ifndef WEFT_VERBS_VB_PRIVATE_H
#define WEFT_VERBS_VB_PRIVATE_H

struct ibv_context;
struct weft_context;

/* The NIC of a context that ibv_open_device() gave. Never NULL. */
struct weft_context *weft_cm_context(struct ibv_context *context);

#endif /* WEFT_VERBS_VB_PRIVATE_H */
