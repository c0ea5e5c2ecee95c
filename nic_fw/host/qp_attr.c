/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attributes of queue pairs: required and optional ones of each change of state, and their ranges.
 *
 * The table is that of IBA 11.2.5.2 (tables 91 to 94), as ib_modify_qp_is_ok() of Linux has it. RD
 * takes UD's attributes and the attributes of reliability. Two deviations: UD takes access flags,
 * for Write-Record, and RD's attributes of reliability are optional (defaults in rd.h).
 */
#include "nic_fw/fw_nic.h"
#include "shared_defs/wire_dgram.h"

enum type_column {
	COL_UD,
	COL_RD,
	COL_UC,
	COL_RC,
	COL_XS, /* XRC, sending end */
	COL_XR, /* receiving end */
	COLS
};

struct transition {
	bool valid;
	uint32_t required[COLS];
	uint32_t optional[COLS];
};

#define PKEY   HW_QP_PKEY_INDEX
#define ACCESS HW_QP_ACCESS_FLAGS
#define TIMERS (HW_QP_TIMEOUT | HW_QP_RETRY_CNT | HW_QP_RNR_RETRY)
#define DEPTHS (HW_QP_MAX_QP_RD_ATOMIC | HW_QP_MAX_DEST_RD_ATOMIC)
#define TO_RTR (HW_QP_AV | HW_QP_PATH_MTU | HW_QP_DEST_QPN | HW_QP_RQ_PSN)
#define RD_ANY (ACCESS | TIMERS | DEPTHS | HW_QP_MIN_RNR_TIMER | HW_QP_PATH_MTU)
#define CUR    HW_QP_CUR_STATE
#define KEEP   (HW_QP_ALT_PATH | HW_QP_PATH_MIG_STATE)

static const struct transition to_reset_or_err = {.valid = true};

static const struct transition reset_to_init = {
    .valid = true,
    .required =
	{
	    [COL_UD] = PKEY | HW_QP_PORT | HW_QP_QKEY,
	    [COL_RD] = PKEY | HW_QP_PORT | HW_QP_QKEY,
	    [COL_UC] = PKEY | HW_QP_PORT | ACCESS,
	    [COL_RC] = PKEY | HW_QP_PORT | ACCESS,
	    [COL_XS] = PKEY | HW_QP_PORT | ACCESS,
	    [COL_XR] = PKEY | HW_QP_PORT | ACCESS,
	},
    .optional = {[COL_UD] = ACCESS, [COL_RD] = RD_ANY, [COL_RC] = HW_QP_TRANSPORT},
};

static const struct transition init_to_init = {
    .valid = true,
    .optional =
	{
	    [COL_UD] = PKEY | HW_QP_PORT | HW_QP_QKEY | ACCESS,
	    [COL_RD] = PKEY | HW_QP_PORT | HW_QP_QKEY | RD_ANY,
	    [COL_UC] = PKEY | HW_QP_PORT | ACCESS,
	    [COL_RC] = PKEY | HW_QP_PORT | ACCESS | HW_QP_TRANSPORT,
	    [COL_XS] = PKEY | HW_QP_PORT | ACCESS,
	    [COL_XR] = PKEY | HW_QP_PORT | ACCESS,
	},
};

static const struct transition init_to_rtr = {
    .valid = true,
    .required =
	{
	    [COL_UC] = TO_RTR,
	    [COL_RC] = TO_RTR | HW_QP_MAX_DEST_RD_ATOMIC | HW_QP_MIN_RNR_TIMER,
	    [COL_XS] = TO_RTR,
	    [COL_XR] = TO_RTR | HW_QP_MAX_DEST_RD_ATOMIC | HW_QP_MIN_RNR_TIMER,
	},
    .optional =
	{
	    [COL_UD] = PKEY | HW_QP_QKEY | ACCESS,
	    [COL_RD] = PKEY | HW_QP_QKEY | RD_ANY,
	    [COL_UC] = HW_QP_ALT_PATH | PKEY | ACCESS,
	    [COL_RC] = HW_QP_ALT_PATH | PKEY | ACCESS | HW_QP_TRANSPORT,
	    [COL_XS] = HW_QP_ALT_PATH | PKEY | ACCESS,
	    [COL_XR] = HW_QP_ALT_PATH | PKEY | ACCESS,
	},
};

static const struct transition rtr_to_rts = {
    .valid = true,
    .required =
	{
	    [COL_UD] = HW_QP_SQ_PSN,
	    [COL_RD] = HW_QP_SQ_PSN,
	    [COL_UC] = HW_QP_SQ_PSN,
	    [COL_RC] = HW_QP_SQ_PSN | TIMERS | HW_QP_MAX_QP_RD_ATOMIC,
	    [COL_XS] = HW_QP_SQ_PSN | TIMERS | HW_QP_MAX_QP_RD_ATOMIC,
	    [COL_XR] = HW_QP_SQ_PSN | HW_QP_TIMEOUT,
	},
    .optional =
	{
	    [COL_UD] = CUR | HW_QP_QKEY | ACCESS,
	    [COL_RD] = CUR | HW_QP_QKEY | RD_ANY,
	    [COL_UC] = CUR | KEEP | ACCESS,
	    [COL_RC] = CUR | KEEP | ACCESS | HW_QP_MIN_RNR_TIMER,
	    [COL_XS] = CUR | KEEP | ACCESS,
	    [COL_XR] = CUR | KEEP | ACCESS | HW_QP_MIN_RNR_TIMER,
	},
};

/* RTS to RTS, SQD to RTS. */
static const struct transition to_rts = {
    .valid = true,
    .optional =
	{
	    [COL_UD] = CUR | HW_QP_QKEY | ACCESS,
	    [COL_RD] = CUR | HW_QP_QKEY | RD_ANY,
	    [COL_UC] = CUR | KEEP | ACCESS,
	    [COL_RC] = CUR | KEEP | ACCESS | HW_QP_MIN_RNR_TIMER,
	    [COL_XS] = CUR | KEEP | ACCESS,
	    [COL_XR] = CUR | KEEP | ACCESS | HW_QP_MIN_RNR_TIMER,
	},
};

static const struct transition rts_to_sqd = {
    .valid = true,
    .optional =
	{
	    [COL_UD] = HW_QP_EN_SQD_ASYNC_NOTIFY,
	    [COL_RD] = HW_QP_EN_SQD_ASYNC_NOTIFY,
	    [COL_UC] = HW_QP_EN_SQD_ASYNC_NOTIFY,
	    [COL_RC] = HW_QP_EN_SQD_ASYNC_NOTIFY,
	    [COL_XS] = HW_QP_EN_SQD_ASYNC_NOTIFY,
	    [COL_XR] = HW_QP_EN_SQD_ASYNC_NOTIFY,
	},
};

static const struct transition sqd_to_sqd = {
    .valid = true,
    .optional =
	{
	    [COL_UD] = PKEY | HW_QP_QKEY | ACCESS,
	    [COL_RD] = PKEY | HW_QP_QKEY | RD_ANY,
	    [COL_UC] = HW_QP_AV | KEEP | ACCESS | PKEY,
	    [COL_RC] = HW_QP_PORT | HW_QP_AV | TIMERS | DEPTHS | KEEP | ACCESS | PKEY |
		       HW_QP_MIN_RNR_TIMER,
	    [COL_XS] =
		HW_QP_PORT | HW_QP_AV | TIMERS | HW_QP_MAX_QP_RD_ATOMIC | KEEP | ACCESS | PKEY,
	    [COL_XR] = HW_QP_PORT | HW_QP_AV | HW_QP_TIMEOUT | HW_QP_MAX_DEST_RD_ATOMIC | KEEP |
		       ACCESS | PKEY | HW_QP_MIN_RNR_TIMER,
	},
};

static const struct transition sqe_to_rts = {
    .valid = true,
    .optional =
	{
	    [COL_UD] = CUR | HW_QP_QKEY | ACCESS,
	    [COL_RD] = CUR | HW_QP_QKEY | RD_ANY,
	    [COL_UC] = CUR | ACCESS,
	},
};

static const struct transition never;

static const struct transition *transition_of(enum hw_qp_state from, enum hw_qp_state to)
{
	if (to == HW_QPS_RESET || to == HW_QPS_ERR)
		return from == HW_QPS_RESET && to == HW_QPS_ERR ? &never : &to_reset_or_err;
	switch (from) {
	case HW_QPS_RESET:
		return to == HW_QPS_INIT ? &reset_to_init : &never;
	case HW_QPS_INIT:
		return to == HW_QPS_INIT ? &init_to_init : to == HW_QPS_RTR ? &init_to_rtr : &never;
	case HW_QPS_RTR:
		return to == HW_QPS_RTS ? &rtr_to_rts : &never;
	case HW_QPS_RTS:
		return to == HW_QPS_RTS ? &to_rts : to == HW_QPS_SQD ? &rts_to_sqd : &never;
	case HW_QPS_SQD:
		return to == HW_QPS_RTS ? &to_rts : to == HW_QPS_SQD ? &sqd_to_sqd : &never;
	case HW_QPS_SQE:
		return to == HW_QPS_RTS ? &sqe_to_rts : &never;
	case HW_QPS_ERR:
	case HW_QPS_STATES:
		break;
	}
	return &never;
}

static enum type_column column_of(uint8_t type)
{
	switch ((enum hw_qp_type)type) {
	case HW_QPT_UD:
		return COL_UD;
	case HW_QPT_RD:
		return COL_RD;
	case HW_QPT_UC:
		return COL_UC;
	case HW_QPT_RC:
		return COL_RC;
	case HW_QPT_XRC_SEND:
		return COL_XS;
	case HW_QPT_XRC_RECV:
		return COL_XR;
	}
	return COLS;
}

uint32_t qp_attr_excused(const struct fw_qp *qp, const struct hw_qp_attr *attr, uint32_t mask,
			 enum hw_qp_state to)
{
	uint8_t transport = mask & HW_QP_TRANSPORT ? attr->transport : qp->attr.transport;

	if (qp->type != HW_QPT_RC || transport != HW_QP_TRANSPORT_TCP || qp->state == HW_QPS_RESET)
		return 0;
	return transition_of((enum hw_qp_state)qp->state, to)->required[COL_RC];
}

bool qp_attr_is_legal(uint8_t type, enum hw_qp_state from, enum hw_qp_state to, uint32_t mask)
{
	const struct transition *transition = transition_of(from, to);
	enum type_column col = column_of(type);

	if (!transition->valid || col == COLS)
		return false;
	if ((mask & transition->required[col]) != transition->required[col])
		return false;
	/* A connected QP that fails goes to ERR: it cannot return from SQE. */
	if (from == HW_QPS_SQE && to == HW_QPS_RTS && col >= COL_RC)
		return false;
	return !(mask &
		 ~(transition->required[col] | transition->optional[col] | (uint32_t)HW_QP_STATE));
}

enum {
	MAX_5_BITS = 31,
	MAX_3_BITS = 7,
	MIN_PATH_MTU = 256,
	QP_ACCESS_REMOTE = HW_ACCESS_REMOTE_WRITE | HW_ACCESS_REMOTE_READ | HW_ACCESS_REMOTE_ATOMIC,
};

static bool is_stream(const struct fw_qp *qp, const struct hw_qp_attr *attr, uint32_t mask)
{
	return (mask & HW_QP_TRANSPORT ? attr->transport : qp->attr.transport) ==
	       HW_QP_TRANSPORT_ESP;
}

/* Streams do not use IP: they end at the first router. And a stream has two ends. */
static int check_link(struct fw_nic *nic, const struct fw_qp *qp, uint32_t ip, uint32_t dst_qpn)
{
	if (ip == nic->config.ip)
		return dst_qpn == qp->qpn ? FW_EOPNOTSUPP : 0;
	return neigh_next_hop(nic, ip) == ip ? 0 : FW_EHOSTUNREACH;
}

static int check_path(struct fw_nic *nic, const struct fw_qp *qp, const struct hw_qp_attr *attr,
		      uint32_t mask)
{
	uint32_t dst_qpn = mask & HW_QP_DEST_QPN ? attr->dst_qpn : qp->dst_qpn;
	uint32_t ip;
	int err;

	if (mask & HW_QP_DEST_QPN && attr->dst_qpn & ~(uint32_t)FW_QPN_MASK)
		return FW_EINVAL;
	if (mask & HW_QP_PATH_MTU && (attr->path_mtu < MIN_PATH_MTU || attr->path_mtu > HW_MAX_MTU))
		return FW_EINVAL;
	if (!(mask & HW_QP_AV))
		return 0;
	err = ah_check_av(nic, &attr->av);
	if (err)
		return err;
	/* A connection has two ends. */
	if (attr->av.flags & HW_AV_F_GRH && wire_is_group(attr->av.dst_ip))
		return FW_EINVAL;
	ip = ah_av_ip(nic, &attr->av, dst_qpn);
	if (!ip)
		return FW_EHOSTUNREACH;
	return is_stream(qp, attr, mask) ? check_link(nic, qp, ip, dst_qpn) : 0;
}

int qp_attr_check(struct fw_nic *nic, const struct fw_qp *qp, const struct hw_qp_attr *attr,
		  uint32_t mask)
{
	if (attr->transport >= HW_QP_TRANSPORTS)
		return FW_EINVAL;
	if (mask & KEEP)
		return FW_EOPNOTSUPP; /* there is no second path */
	if (mask & HW_QP_CUR_STATE && attr->cur_state != qp->state)
		return FW_EINVAL;
	if (mask & HW_QP_ACCESS_FLAGS && attr->access & ~(uint32_t)HW_ACCESS_ALL)
		return FW_EINVAL;
	if ((mask & HW_QP_PKEY_INDEX && attr->pkey_index) || (mask & HW_QP_PORT && attr->port != 1))
		return FW_EINVAL;
	if (mask & HW_QP_TIMEOUT && attr->timeout > MAX_5_BITS)
		return FW_EINVAL;
	if (mask & HW_QP_RETRY_CNT && attr->retry_cnt > MAX_3_BITS)
		return FW_EINVAL;
	if (mask & HW_QP_RNR_RETRY && attr->rnr_retry > MAX_3_BITS)
		return FW_EINVAL;
	if (mask & HW_QP_MIN_RNR_TIMER && attr->min_rnr_timer > MAX_5_BITS)
		return FW_EINVAL;
	if (mask & HW_QP_MAX_QP_RD_ATOMIC && attr->max_rd_atomic > HW_MAX_RD_ATOMIC)
		return FW_EINVAL;
	if (mask & HW_QP_MAX_DEST_RD_ATOMIC && attr->max_dest_rd_atomic > HW_MAX_RD_ATOMIC)
		return FW_EINVAL;
	return check_path(nic, qp, attr, mask);
}

void qp_attr_reset(struct fw_qp *qp)
{
	struct hw_qp_attr *attr = &qp->attr;

	memset(attr, 0, sizeof(*attr));
	attr->port = 1;
	llp_choose(qp);
	if (qp->type != HW_QPT_RD)
		return;
	attr->timeout = QP_DEFAULT_TIMEOUT;
	attr->retry_cnt = QP_DEFAULT_RETRY_CNT;
	attr->rnr_retry = QP_DEFAULT_RNR_RETRY;
	attr->min_rnr_timer = QP_DEFAULT_MIN_RNR_TIMER;
	attr->max_rd_atomic = HW_MAX_RD_ATOMIC;
	attr->max_dest_rd_atomic = HW_MAX_RD_ATOMIC;
}

static void apply_connection(struct fw_nic *nic, struct fw_qp *qp, const struct hw_qp_attr *attr,
			     uint32_t mask)
{
	if (mask & HW_QP_DEST_QPN) {
		qp->attr.dst_qpn = attr->dst_qpn;
		qp->dst_qpn = attr->dst_qpn;
	}
	if (mask & HW_QP_AV) {
		qp->attr.av = attr->av;
		qp->dst_ip = ah_av_ip(nic, &attr->av, qp->dst_qpn);
	}
	/* PSNs are numbers of 24 bits (IBA 9.2.5); higher bits are ignored. */
	if (mask & HW_QP_SQ_PSN) {
		qp->attr.sq_psn = attr->sq_psn & FW_QPN_MASK;
		qp->incarnation_tx =
		    qp_is_connected(qp) ? wire_dgram_incarnation(qp->attr.sq_psn) : 0;
	}
	if (mask & HW_QP_RQ_PSN) {
		qp->attr.rq_psn = attr->rq_psn & FW_QPN_MASK;
		qp->incarnation_rx =
		    qp_is_connected(qp) ? wire_dgram_incarnation(qp->attr.rq_psn) : 0;
	}
	if (mask & HW_QP_PATH_MTU)
		qp->attr.path_mtu = attr->path_mtu;
	if (mask & HW_QP_TRANSPORT) {
		qp->attr.transport = attr->transport;
		llp_choose(qp);
	}
}

void qp_attr_apply(struct fw_nic *nic, struct fw_qp *qp, const struct hw_qp_attr *attr,
		   uint32_t mask)
{
	struct hw_qp_attr *own = &qp->attr;

	if (mask & HW_QP_ACCESS_FLAGS) {
		own->access = attr->access;
		qp->access = attr->access & QP_ACCESS_REMOTE;
	}
	if (mask & HW_QP_QKEY) {
		own->qkey = attr->qkey;
		qp->qkey = attr->qkey;
	}
	if (mask & HW_QP_TIMEOUT)
		own->timeout = attr->timeout;
	if (mask & HW_QP_RETRY_CNT)
		own->retry_cnt = attr->retry_cnt;
	if (mask & HW_QP_RNR_RETRY)
		own->rnr_retry = attr->rnr_retry;
	if (mask & HW_QP_MIN_RNR_TIMER)
		own->min_rnr_timer = attr->min_rnr_timer;
	if (mask & HW_QP_MAX_QP_RD_ATOMIC)
		own->max_rd_atomic = attr->max_rd_atomic;
	if (mask & HW_QP_MAX_DEST_RD_ATOMIC)
		own->max_dest_rd_atomic = attr->max_dest_rd_atomic;
	if (mask & HW_QP_EN_SQD_ASYNC_NOTIFY)
		own->en_sqd_async_notify = attr->en_sqd_async_notify != 0;
	apply_connection(nic, qp, attr, mask);
	qp->attr_mask |= mask;
}

uint64_t qp_limit_ns(const struct fw_qp *qp)
{
	uint64_t timeout_ns;

	if (!qp->attr.timeout)
		return UINT64_MAX;
	timeout_ns = UINT64_C(4096) << (qp->attr.timeout & 31);
	return timeout_ns * (qp->attr.retry_cnt + 1u);
}

uint64_t qp_rnr_timer_ns(uint8_t code)
{
	/* Units of 10 us. */
	static const uint32_t table[32] = {
	    65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,    32,
	    48,    64,   96,   128,  192,  256,   384,   512,   768,   1024,  1536,
	    2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
	};

	return table[code & 31] * UINT64_C(10000);
}
