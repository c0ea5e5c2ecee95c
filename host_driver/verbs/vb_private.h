/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private interface between our libibverbs.so.1 (vb_private.c) and our librdmacm.so.1.
 */
#ifndef WEFT_VERBS_VB_PRIVATE_H
#define WEFT_VERBS_VB_PRIVATE_H

struct ibv_context;
struct ibv_cq;
struct weft_context;
struct weft_cq;

/* Returns the NIC of a context from ibv_open_device(). Never NULL. */
struct weft_context *weft_cm_context(struct ibv_context *context);

/* Returns the NIC's completion queue. Never NULL. */
struct weft_cq *weft_cm_cq(struct ibv_cq *cq);

#endif /* WEFT_VERBS_VB_PRIVATE_H */
