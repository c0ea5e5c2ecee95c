/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared contexts: receives that several endpoints of a domain take, and what endpoints that share
 * a transmit context have in common. fi_endpoint(3).
 *
 * Locks: wf_srx.posting before all of fi_weft.h, wf_srx.lock behind wf_cq.lock.
 */
#ifndef WEFT_WF_SRX_H
#define WEFT_WF_SRX_H

#include "host_driver/fabric/fi_weft.h"

enum {
	WF_SRX_HASH = 64
};

/* A queue in which receives of the context may complete. */
struct wf_srx_cq {
	struct wf_cq *cq;
	size_t refs; /* endpoints that complete there */
};

/* A shared receive context. Its wf_qp holds its requests. */
struct wf_srx {
	struct wf_qp *qp;
	atomic_int refs; /* endpoints that are bound */
	/* Requests are posted, endpoints come and go. */
	pthread_mutex_t posting;
	pthread_mutex_t lock;               /* of all below */
	struct wf_av *av;                   /* of all endpoints; NULL: there is none */
	struct wf_qp *members[WF_SRX_HASH]; /* enabled endpoints, by their number */
	size_t num_members;
	struct wf_srx_cq *cqs;
	size_t num_cqs;
	uint32_t posted; /* requests, which have a place in each of them */
	bool multi;      /* one was a buffer of many messages: queues are as large as can be */
	bool noted;      /* receives for the data of RDMA Writes are posted */
};

struct wf_stx {
	struct fid_stx fid;
	struct wf_domain *domain;
	struct fi_tx_attr attr;
	atomic_int refs; /* endpoints that are bound */
};

int wf_srx_open(struct fid_domain *domain, struct fi_rx_attr *attr, struct fid_ep **srx,
		void *context);
int wf_stx_open(struct fid_domain *domain, struct fi_tx_attr *attr, struct fid_stx **stx,
		void *context);
/* Bind an endpoint. 0 or a negative errno. */
int wf_srx_bind(struct wf_qp *qp, struct fid *srx);
int wf_stx_bind(struct wf_qp *qp, struct fid *stx);
/* The endpoint is gone. */
void wf_srx_unbind(struct wf_qp *qp);
void wf_stx_unbind(struct wf_qp *qp);

/*
 * Opens the NIC's endpoint of a bound one: from now on it takes the context's receives. 0 or a
 * negative errno.
 */
int wf_srx_join(struct wf_qp *qp, struct weft_tag_attr *attr);
/* The NIC's endpoint is closed. */
void wf_srx_leave(struct wf_qp *qp);

/* A request of the context with a place in each queue; NULL: none is free. posting is held. */
struct wf_op *wf_srx_get(struct wf_srx *srx, bool multi);
/* Gives back its places; the request is not used any more. */
void wf_srx_give(struct wf_srx *srx);
/* wf_op_done() of a request of a context. */
bool wf_srx_done(struct wf_op *op, const struct weft_wc *wc, struct wf_entry *entry);

#endif /* WEFT_WF_SRX_H */
