/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attributes of queue pairs, in commands and answers: types, flags, states, rights, the
 * mask of MODIFY_QP.
 *
 * Values are those of ibverbs, so that a stand-in for it copies them. hw_cmd.h has the commands.
 * Little-endian, except as stated; docs/host-interface.md, "Commands".
 */
#ifndef WEFT_HW_QP_ATTR_H
#define WEFT_HW_QP_ATTR_H

#include <assert.h>
#include <stdint.h>

/* The values of enum ibv_qp_type; RD is specific to weft. */
enum hw_qp_type {
	HW_QPT_RC = 2,
	HW_QPT_UC = 3,
	HW_QPT_UD = 4,
	HW_QPT_XRC_SEND = 9,
	HW_QPT_XRC_RECV = 10,
	HW_QPT_RD = 16,
};

/* hw_cmd_create_qp.flags */
enum {
	HW_QP_F_SQ_SIG_ALL = 0x01,
	HW_QP_F_UD_LONG = 0x02, /* UD: libweft's extension to 64 KiB; no GRH in the buffer */
	HW_QP_F_BLOCK_SELF_MCAST_LB = 0x04, /* UD: do not receive own messages to a group */
	HW_QP_F_NO_PEER_ERROR = 0x08,       /* UD: errors reported by peers raise no event */
	HW_QP_F_TAGGED = 0x10,              /* RD: a tagged endpoint (hw_tag.h) */
	HW_QP_F_LENT = 0x20, /* the process lends it rings (hw_ring.h); not with TAGGED */
};

/* The values of enum ibv_qp_state. */
enum hw_qp_state {
	HW_QPS_RESET = 0,
	HW_QPS_INIT = 1,
	HW_QPS_RTR = 2,
	HW_QPS_RTS = 3,
	HW_QPS_SQD = 4,
	HW_QPS_SQE = 5,
	HW_QPS_ERR = 6,
	HW_QPS_STATES
};

/* The bits of enum ibv_access_flags. */
enum {
	HW_ACCESS_LOCAL_WRITE = 1 << 0,
	HW_ACCESS_REMOTE_WRITE = 1 << 1,
	HW_ACCESS_REMOTE_READ = 1 << 2,
	HW_ACCESS_REMOTE_ATOMIC = 1 << 3,
	HW_ACCESS_MW_BIND = 1 << 4,
	HW_ACCESS_ZERO_BASED = 1 << 5,
	HW_ACCESS_ALL = 0x3f,
};

/* The supported bits of enum ibv_qp_attr_mask. */
enum {
	HW_QP_STATE = 1 << 0,
	HW_QP_CUR_STATE = 1 << 1,
	HW_QP_EN_SQD_ASYNC_NOTIFY = 1 << 2,
	HW_QP_ACCESS_FLAGS = 1 << 3,
	HW_QP_PKEY_INDEX = 1 << 4,
	HW_QP_PORT = 1 << 5,
	HW_QP_QKEY = 1 << 6,
	HW_QP_AV = 1 << 7,
	HW_QP_PATH_MTU = 1 << 8,
	HW_QP_TIMEOUT = 1 << 9,
	HW_QP_RETRY_CNT = 1 << 10,
	HW_QP_RNR_RETRY = 1 << 11,
	HW_QP_RQ_PSN = 1 << 12,
	HW_QP_MAX_QP_RD_ATOMIC = 1 << 13,
	HW_QP_ALT_PATH = 1 << 14,
	HW_QP_MIN_RNR_TIMER = 1 << 15,
	HW_QP_SQ_PSN = 1 << 16,
	HW_QP_MAX_DEST_RD_ATOMIC = 1 << 17,
	HW_QP_PATH_MIG_STATE = 1 << 18,
	HW_QP_CAP = 1 << 19,
	HW_QP_DEST_QPN = 1 << 20,
	HW_QP_TRANSPORT = 1 << 28, /* specific to weft; RC, until RTR: hw_qp_attr.transport */
};

/* Address vector. Without HW_AV_F_GRH only the QPN identifies the peer (dlid 0). */
enum {
	HW_AV_F_GRH = 0x01,
};
struct hw_av {
	uint32_t dst_ip; /* network byte order */
	uint8_t flags;
	uint8_t sgid_index;
	uint8_t hop_limit;
	uint8_t traffic_class;
	uint32_t reserved;
};
static_assert(sizeof(struct hw_av) == 12, "");

/* Transport of a connected QP; the same at both ends. */
enum hw_qp_transport {
	HW_QP_TRANSPORT_RD = 0,  /* reliable datagrams over UDP */
	HW_QP_TRANSPORT_ESP = 1, /* ESP streams over raw Ethernet; the peer is on the same link */
	HW_QP_TRANSPORT_TCP = 2, /* MPA over TCP; the connection belongs to an endpoint (hw_cm.h) */
	HW_QP_TRANSPORTS
};

struct hw_qp_attr {
	uint32_t state;
	uint32_t cur_state;
	uint32_t access;
	uint32_t qkey;
	uint32_t path_mtu; /* bytes */
	uint32_t dst_qpn;
	uint32_t sq_psn;
	uint32_t rq_psn;
	struct hw_av av;
	uint8_t timeout; /* 4.096 us * 2^timeout; 0: infinite */
	uint8_t retry_cnt;
	uint8_t rnr_retry; /* 7: infinite */
	uint8_t min_rnr_timer;
	uint8_t max_rd_atomic;
	uint8_t max_dest_rd_atomic;
	uint8_t en_sqd_async_notify;
	uint8_t sq_draining;
	uint16_t pkey_index;
	uint8_t port;
	uint8_t transport; /* hw_qp_transport */
};
static_assert(sizeof(struct hw_qp_attr) == 56, "");

#endif /* WEFT_HW_QP_ATTR_H */
