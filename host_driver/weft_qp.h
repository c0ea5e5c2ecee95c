/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libweft: queue pairs and what they refer to: XRC domains, shared receive queues, address handles,
 * multicast groups. A part of weft.h, whose conventions apply.
 *
 * IBA 10.2 and 11.2 describe these objects.
 */
#ifndef WEFT_WEFT_QP_H
#define WEFT_WEFT_QP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host_driver/weft_cq.h"
#include "host_driver/weft_device.h"
#include "host_driver/weft_mr.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ XRC domains */

/*
 * Extended reliable connections (IBA annex A14). An XRC_SEND QP sends to an XRC_RECV QP of the
 * peer. Each request names an SRQ there, which provides the receive, the protection domain and the
 * completion queue. QP and SRQ belong to one domain. Processes share a domain by opening the same
 * file; they must be in the same shard of the NIC. A NIC with several shards assigns them in turn;
 * WEFT_SHARD (see weft_open_device()) or weft_open_attr.shard selects one.
 */
struct weft_xrcd {
	struct weft_context *context;
	uint32_t handle;
	void *user;
};

/*
 * Opens the domain of a file (fd -1: a new private domain). oflags as for open(2): without O_CREAT,
 * EAGAIN if the file has no domain; with O_EXCL, EINVAL if it already has one. errno EXDEV: the
 * file's domain is in another shard; ENOSPC: the process has reached the device's limit of open
 * domains.
 */
WEFT_API struct weft_xrcd *weft_open_xrcd(struct weft_context *context, int fd, int oflags);
/*
 * Closes a domain. -EBUSY while an SRQ or QP of this handle exists. The domain persists while other
 * processes have it open.
 */
WEFT_API WEFT_CHECK_RET int weft_close_xrcd(struct weft_xrcd *xrcd);

/* ------------------------------------------------------- shared receive queues */

struct weft_srq {
	struct weft_context *context;
	struct weft_pd *pd;
	uint32_t handle;
	void *user;
	struct weft_xrcd *xrcd; /* XRC; otherwise NULL */
	struct weft_cq *cq;     /* XRC: CQ of its receives; otherwise NULL */
	uint32_t srqn;          /* XRC: number by which peers' requests name it; otherwise 0 */
};

struct weft_srq_attr {
	uint32_t max_wr;
	uint32_t max_sge;
	/* WEFT_EVENT_SRQ_LIMIT is raised once when fewer receives are posted; 0: off. */
	uint32_t limit;
};

enum weft_srq_attr_mask {
	WEFT_SRQ_MAX_WR = 1, /* not supported: -EOPNOTSUPP */
	WEFT_SRQ_LIMIT = 2,
};

/* Creates an SRQ. attr->limit is ignored; max_wr and max_sge are set to the actual values. */
WEFT_API struct weft_srq *weft_create_srq(struct weft_pd *pd, struct weft_srq_attr *attr);
/*
 * Creates an XRC SRQ; all objects must be of one context. Its completions go to cq; their qpn is
 * that of the XRC_RECV QP.
 */
WEFT_API struct weft_srq *weft_create_xrc_srq(struct weft_pd *pd, struct weft_xrcd *xrcd,
					      struct weft_cq *cq, struct weft_srq_attr *attr);
WEFT_API WEFT_CHECK_RET int weft_modify_srq(struct weft_srq *srq, const struct weft_srq_attr *attr,
					    int mask);
WEFT_API WEFT_CHECK_RET int weft_query_srq(struct weft_srq *srq, struct weft_srq_attr *attr);
/*
 * Destroys an SRQ. -EBUSY while a QP uses it. Blocks until its asynchronous events are
 * acknowledged.
 */
WEFT_API WEFT_CHECK_RET int weft_destroy_srq(struct weft_srq *srq);

/* ------------------------------------------------------------- address handles */

/* Address vector. All zero: the destination QPN alone identifies the peer (NICs of one weftd). */
struct weft_av {
	uint32_t dst_ip; /* network byte order */
	uint8_t sgid_index;
	uint8_t hop_limit;
	uint8_t traffic_class;
	uint8_t by_ip; /* 1: dst_ip is valid */
};

/* Returns the address vector of a NIC with this IPv4 address (network byte order). */
static inline struct weft_av weft_av_ip(uint32_t dst_ip)
{
	struct weft_av av;

	av.dst_ip = dst_ip;
	av.sgid_index = 1;
	av.hop_limit = 64;
	av.traffic_class = 0;
	av.by_ip = 1;
	return av;
}

/*
 * Returns the address vector of an IPv4 group (network byte order), for Sends of UD QPs to QPN
 * WEFT_MCAST_QPN. hop_limit is the time to live of the packets: 1 stays on the link.
 */
static inline struct weft_av weft_av_mcast(uint32_t group_ip)
{
	struct weft_av av = weft_av_ip(group_ip);

	av.hop_limit = 1;
	return av;
}

/* Returns the address vector of a peer identified by its QPN alone. */
static inline struct weft_av weft_av_qpn(void)
{
	struct weft_av av = weft_av_ip(0);

	av.by_ip = 0;
	return av;
}

struct weft_ah {
	struct weft_context *context;
	struct weft_pd *pd;
	uint32_t handle;
};

/*
 * Creates an address handle for UD and RD requests. errno EINVAL: not a unicast or group address.
 */
WEFT_API struct weft_ah *weft_create_ah(struct weft_pd *pd, const struct weft_av *av);
/*
 * Destroys an address handle. Call it only after the requests that use the handle have completed.
 */
WEFT_API WEFT_CHECK_RET int weft_destroy_ah(struct weft_ah *ah);

/* --------------------------------------------------------------- queue pairs */

/* The values of enum ibv_qp_type, except for RD, which is specific to weft. */
enum weft_qp_type {
	WEFT_QPT_RC = 2,
	WEFT_QPT_UC = 3,
	WEFT_QPT_UD = 4,
	WEFT_QPT_XRC_SEND = 9,
	WEFT_QPT_XRC_RECV = 10,
	WEFT_QPT_RD = 16,
};

/* The values of enum ibv_qp_state. */
enum weft_qp_state {
	WEFT_QPS_RESET = 0,
	WEFT_QPS_INIT = 1,
	WEFT_QPS_RTR = 2,
	WEFT_QPS_RTS = 3,
	WEFT_QPS_SQD = 4,
	WEFT_QPS_SQE = 5,
	WEFT_QPS_ERR = 6,
};

/* weft_qp_init_attr.flags */
enum weft_qp_flags {
	WEFT_QP_F_SQ_SIG_ALL = 0x01, /* every send request generates a completion */
	WEFT_QP_F_UD_LONG = 0x02,    /* UD messages up to 64 KiB; no GRH before the data */
	/* UD: the QP does not receive its own messages to a group to which it is attached */
	WEFT_QP_F_BLOCK_SELF_MCAST_LB = 0x04,
	/* UD: no WEFT_EVENT_PEER_ERROR; for layers whose users do not handle that event */
	WEFT_QP_F_NO_PEER_ERROR = 0x08,
};

struct weft_qp_cap {
	uint32_t max_send_wr;
	uint32_t max_recv_wr;
	uint32_t max_send_sge;
	uint32_t max_recv_sge;
	uint32_t max_inline_bytes;
};

struct weft_qp_init_attr {
	enum weft_qp_type type;
	uint32_t flags; /* enum weft_qp_flags */
	struct weft_cq *send_cq;
	struct weft_cq *recv_cq;
	struct weft_srq *srq; /* or NULL */
	struct weft_qp_cap cap;
	void *user;
	struct weft_xrcd *xrcd; /* XRC_RECV; such a QP has no CQ, no PD and no queues (cap is 0) */
};

struct weft_qp {
	struct weft_context *context;
	struct weft_pd *pd;
	struct weft_cq *send_cq;
	struct weft_cq *recv_cq;
	struct weft_srq *srq;
	uint32_t qpn;
	enum weft_qp_type type;
	uint32_t flags;
	struct weft_qp_cap cap;
	void *user;
	struct weft_xrcd *xrcd; /* XRC_RECV */
};

/*
 * Creates a queue pair in state RESET. attr->cap is set to the actual values, which are at least
 * those requested. errno: EINVAL a value beyond the device's limits, or an object of another
 * context; EOPNOTSUPP unsupported type. pd is NULL for XRC_RECV.
 */
WEFT_API struct weft_qp *weft_create_qp(struct weft_pd *pd, struct weft_qp_init_attr *attr);
/*
 * Opens an XRC_RECV QP of the same domain, created by any process. The handle can be modified and
 * queried. The QP ends when every creation and open has been destroyed. Each handle has its own
 * events. errno EINVAL: no such QP in the domain.
 */
WEFT_API struct weft_qp *weft_open_qp(struct weft_xrcd *xrcd, uint32_t qpn, void *user);

/* Fields of weft_qp_attr; the bits of enum ibv_qp_attr_mask. */
enum weft_qp_attr_mask {
	WEFT_QP_STATE = 1 << 0,
	WEFT_QP_CUR_STATE = 1 << 1,
	WEFT_QP_EN_SQD_ASYNC_NOTIFY = 1 << 2,
	WEFT_QP_ACCESS_FLAGS = 1 << 3,
	WEFT_QP_PKEY_INDEX = 1 << 4,
	WEFT_QP_PORT = 1 << 5,
	WEFT_QP_QKEY = 1 << 6,
	WEFT_QP_AV = 1 << 7,
	WEFT_QP_PATH_MTU = 1 << 8,
	WEFT_QP_TIMEOUT = 1 << 9,
	WEFT_QP_RETRY_CNT = 1 << 10,
	WEFT_QP_RNR_RETRY = 1 << 11,
	WEFT_QP_RQ_PSN = 1 << 12,
	WEFT_QP_MAX_QP_RD_ATOMIC = 1 << 13,
	WEFT_QP_MIN_RNR_TIMER = 1 << 15,
	WEFT_QP_SQ_PSN = 1 << 16,
	WEFT_QP_MAX_DEST_RD_ATOMIC = 1 << 17,
	WEFT_QP_DEST_QPN = 1 << 20,
	WEFT_QP_TRANSPORT = 1 << 28, /* specific to weft: RC, in INIT or on the transition to RTR */
};

/*
 * Transport of an RC QP; both ends must use the same one. ESP: streams over raw Ethernet, to peers
 * on the same link (modify to RTR: -EHOSTUNREACH for others). TCP: the connection of an endpoint
 * (weft_cm.h), which the QP gets in RTS; the peer's QPN is 0.
 */
enum weft_qp_transport {
	WEFT_QP_TRANSPORT_RD = 0,
	WEFT_QP_TRANSPORT_ESP = 1,
	WEFT_QP_TRANSPORT_TCP = 2,
};

struct weft_qp_attr {
	enum weft_qp_state state;
	enum weft_qp_state cur_state;
	uint32_t access; /* enum weft_access: rights of peers */
	uint32_t qkey;
	uint32_t path_mtu_bytes;
	uint32_t dst_qpn;
	uint32_t sq_psn;
	uint32_t rq_psn;
	struct weft_av av;
	uint8_t timeout; /* 4.096 us * 2^timeout; 0: infinite */
	uint8_t retry_cnt;
	uint8_t rnr_retry; /* 7: infinite */
	uint8_t min_rnr_timer;
	uint8_t max_rd_atomic;
	uint8_t max_dest_rd_atomic;
	uint8_t en_sqd_async_notify;
	uint8_t sq_draining;
	uint8_t port; /* always 1 */
	uint16_t pkey_index;
	enum weft_qp_transport transport;
};

/*
 * Changes state and attributes, as specified for verbs (IBA 11.2.5.2). -EINVAL: not legal in this
 * state or for this type. The transition to RESET drops posted requests without completions.
 */
WEFT_API WEFT_CHECK_RET int weft_modify_qp(struct weft_qp *qp, const struct weft_qp_attr *attr,
					   int mask);
/* Returns the attributes set and the current state. cap may be NULL. */
WEFT_API WEFT_CHECK_RET int weft_query_qp(struct weft_qp *qp, struct weft_qp_attr *attr,
					  struct weft_qp_cap *cap);

/*
 * UD and RD: moves the QP from RESET to RTS with default values. access: rights of peers for RDMA
 * (enum weft_access; 0 for Sends only). Receives may be posted before or after. An RD request fails
 * after 12.9 s without a response (docs/operating.md, "How long requests hold out").
 */
WEFT_API WEFT_CHECK_RET int weft_activate_qp(struct weft_qp *qp, uint32_t qkey, uint32_t access);

/*
 * Destroys a QP. Pending requests are dropped without completions, and its unpolled completions are
 * removed from the CQs. Blocks until no frame refers to its memory and its asynchronous events are
 * acknowledged.
 */
WEFT_API WEFT_CHECK_RET int weft_destroy_qp(struct weft_qp *qp);

/* Destination QPN of multicast messages. */
#define WEFT_MCAST_QPN 0xffffffu

/* Stores the GID of an IPv4 group (network byte order): the IPv4-mapped address. */
static inline void weft_mcast_gid(uint32_t group_ip, uint8_t gid[16])
{
	const uint8_t *octet = (const uint8_t *)&group_ip;
	int i;

	for (i = 0; i < 16; i++)
		gid[i] = i < 10 ? 0 : i < 12 ? 0xff : octet[i - 12];
}

/*
 * Attaches a UD QP to a group. Each datagram to the group with the QP's Q_Key consumes a receive of
 * the QP, including datagrams that the NIC itself sends (see WEFT_QP_F_BLOCK_SELF_MCAST_LB). The
 * NIC joins the group by IGMP with the first QP and leaves it with the last. The call is valid in
 * any state; a repeated call has no effect. The attachment ends with weft_detach_mcast() or with
 * the QP. Blocks for one round trip. -EINVAL: not a UD QP, or not the GID of an IPv4 group;
 * -ENOSPC: a limit of the device (max_mcast_*); -EDQUOT: the quota of the process or its user is
 * exhausted.
 */
WEFT_API WEFT_CHECK_RET int weft_attach_mcast(struct weft_qp *qp, const uint8_t gid[16]);
/* Detaches a QP from a group. -EINVAL: the QP is not attached to it. */
WEFT_API WEFT_CHECK_RET int weft_detach_mcast(struct weft_qp *qp, const uint8_t gid[16]);

#ifdef __cplusplus
}
#endif

#endif /* WEFT_WEFT_QP_H */
