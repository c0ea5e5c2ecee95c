/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private objects of libibverbs' stand-in, behind the pointers that applications hold, and the
 * operation tables through which the inline functions of <infiniband/verbs.h> call it.
 *
 * The stand-in has libibverbs' SONAME and symbol versions (tools/verbs_symbols.sh) and uses no
 * kernel device. Each object holds the public struct of the header and the libweft object that does
 * the work. The code calls only host_driver/weft.h. Layouts and return values are those of
 * rdma-core 44, according to its headers and manual pages (libibverbs-dev): errno values are
 * positive where a verb returns int, except for ibv_poll_cq().
 */
#ifndef WEFT_VERBS_VB_H
#define WEFT_VERBS_VB_H

#include <assert.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host_driver/weft.h"

#define VB_API __attribute__((visibility("default")))

enum {
	VB_PORT = 1,        /* the only port */
	VB_NUM_GIDS = 2,    /* 0: link-local from the MAC; 1: IPv4-mapped */
	VB_POST_BATCH = 16, /* maximum requests per doorbell */
	VB_POLL_BATCH = 16,
	VB_PKEY = 0xffff,
	/* Provider libraries read past the end of ibv_device to detect their own devices. */
	VB_DEVICE_TAIL_BYTES = 1024,
};

struct vb_device {
	struct ibv_device ibv;
	uint8_t tail[VB_DEVICE_TAIL_BYTES]; /* zero */
	struct weft_device weft;
	__be64 guid;
	int index;
	atomic_uint refs; /* lists and contexts that reference it */
};

struct vb_context {
	struct vb_device *device;
	struct weft_context *weft;
	struct weft_device_attr attr;
	struct verbs_context verbs; /* last: it ends with ibv_context */
};

struct vb_pd {
	struct ibv_pd ibv;
	struct weft_pd *weft;
};

struct vb_xrcd {
	struct ibv_xrcd ibv;
	struct weft_xrcd *weft;
};

struct vb_mr {
	struct ibv_mr ibv;
	struct weft_mr *weft;
	int access; /* access rights only */
};

struct vb_mw {
	struct ibv_mw ibv;
	struct weft_mw *weft;
};

struct vb_ah {
	struct ibv_ah ibv;
	struct weft_ah *weft;
};

struct vb_channel {
	struct ibv_comp_channel ibv;
	struct weft_comp_channel *weft;
};

struct vb_cq {
	union {
		struct ibv_cq ibv;
		struct ibv_cq_ex ex; /* begins with the members of ibv_cq */
	};
	struct weft_cq *weft;
	/*
	 * state between start_poll and end_poll; protected by poll_lock unless the CQ is
	 * single-threaded
	 */
	bool single_threaded;
	pthread_mutex_t poll_lock;
	struct weft_wc wc;
};

struct vb_srq {
	struct ibv_srq ibv;
	struct weft_srq *weft;
};

/* Requests gathered by ibv_wr_*() between wr_start and wr_complete. */
struct vb_builder {
	pthread_mutex_t lock;
	int err; /* the first error; 0: none */
	uint32_t num_wr, num_sge, inline_bytes;
	uint32_t max_wr, max_sge, max_inline_bytes;
	struct weft_send_wr *wr;
	struct weft_sge *sge;
	uint8_t *inline_data;
};

struct vb_qp {
	union {
		struct ibv_qp ibv;
		struct ibv_qp_ex ex; /* begins with ibv_qp */
	};
	struct weft_qp *weft;
	bool sq_sig_all;
	struct vb_builder *builder; /* NULL: the QP was not created for ibv_wr_*() */
};

#define VB_OF(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

static inline struct vb_device *vb_device_of(struct ibv_device *d)
{
	return VB_OF(d, struct vb_device, ibv);
}

static inline struct vb_context *vb_context_of(struct ibv_context *c)
{
	return VB_OF(c, struct vb_context, verbs.context);
}

static inline struct vb_pd *vb_pd_of(struct ibv_pd *pd)
{
	return VB_OF(pd, struct vb_pd, ibv);
}

static inline struct vb_xrcd *vb_xrcd_of(struct ibv_xrcd *xrcd)
{
	return VB_OF(xrcd, struct vb_xrcd, ibv);
}

static inline struct vb_mr *vb_mr_of(struct ibv_mr *mr)
{
	return VB_OF(mr, struct vb_mr, ibv);
}

static inline struct vb_mw *vb_mw_of(struct ibv_mw *mw)
{
	return VB_OF(mw, struct vb_mw, ibv);
}

static inline struct vb_ah *vb_ah_of(struct ibv_ah *ah)
{
	return VB_OF(ah, struct vb_ah, ibv);
}

static inline struct vb_channel *vb_channel_of(struct ibv_comp_channel *channel)
{
	return VB_OF(channel, struct vb_channel, ibv);
}

static inline struct vb_cq *vb_cq_of(struct ibv_cq *cq)
{
	return VB_OF(cq, struct vb_cq, ibv);
}

static inline struct vb_srq *vb_srq_of(struct ibv_srq *srq)
{
	return VB_OF(srq, struct vb_srq, ibv);
}

static inline struct vb_qp *vb_qp_of(struct ibv_qp *qp)
{
	return VB_OF(qp, struct vb_qp, ibv);
}

/* Returns NULL with errno set, for verbs that return a pointer. */
static inline void *vb_null(int err)
{
	errno = err;
	return NULL;
}

/* A window grants rights to peers only; local rights come from the region. */
static inline uint32_t vb_mw_rights(unsigned int flags)
{
	return flags & ~(unsigned int)(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND |
				       IBV_ACCESS_OPTIONAL_RANGE);
}

/* Converts libweft's 0 or negative errno to a verb's 0 or positive errno; also sets errno. */
static inline int vb_result(int rc)
{
	if (rc >= 0)
		return 0;
	errno = -rc;
	return -rc;
}

/* vb_device.c: releases a reference. */
void vb_device_put(struct vb_device *device);
/*
 * Creates the context that ibv_open_device() returns around an attachment, and takes ownership of
 * it. NULL with errno on failure; the caller then keeps the attachment.
 */
struct ibv_context *vb_context_new(struct vb_device *device, struct weft_context *weft);

/* Fill in the operations that <infiniband/verbs.h> calls through the context, each file its own. */
void vb_query_ops(struct vb_context *c);
void vb_cq_ops(struct vb_context *c);
void vb_mem_ops(struct vb_context *c);
void vb_qp_ops(struct vb_context *c);
void vb_srq_ops(struct vb_context *c);
void vb_xrc_ops(struct vb_context *c);

/*
 * vb_qp.c: creates the verbs object around a QP that the NIC has created or opened. The caller sets
 * weft, with this object as its user, and then calls vb_qp_fill(). vb_qp_free() also accepts an
 * object without a QP.
 */
struct vb_qp *vb_qp_alloc(void);
void vb_qp_fill(struct vb_qp *qp, struct ibv_context *context, const struct ibv_qp_init_attr *init);
void vb_qp_free(struct vb_qp *qp);

/* vb_query.c: returns the largest enum ibv_mtu that does not exceed bytes. */
enum ibv_mtu vb_mtu(uint32_t bytes);

/* vb_ah.c: converts a verbs address vector. Returns false if weft cannot reach the address. */
bool vb_av_from(struct vb_context *c, const struct ibv_ah_attr *attr, struct weft_av *av);
void vb_av_to(const struct weft_av *av, struct ibv_ah_attr *attr);

/* vb_poll.c */
int vb_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc);
void vb_poll_fill_ex(struct vb_cq *cq);

/* vb_post.c */
int vb_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int vb_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
int vb_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
/* ibv_bind_mw(): binds type 1 windows. */
int vb_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);

/* vb_wr.c: prepares the QP for ibv_wr_*(). Returns false when memory is exhausted. */
bool vb_wr_init(struct vb_qp *qp);
void vb_wr_free(struct vb_qp *qp);

#endif /* WEFT_VERBS_VB_H */
