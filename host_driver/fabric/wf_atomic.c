/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Atomics of one element, which the peer's NIC carries out: sums and compare-and-swap of 64-bit
 * integers as every RDMA NIC has them, the others by WEFT_WR_ATOMIC. fi_atomic(3).
 */
#include "host_driver/fabric/fi_weft.h"

/* The three groups of calls, which differ in the operations they have. */
enum wf_atomic_kind {
	WF_ATOMIC_PLAIN,
	WF_ATOMIC_FETCH,
	WF_ATOMIC_COMPARE
};

/* The parameters of a call. */
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

#define SAME(op) _Static_assert((int)WEFT_ATOMIC_##op == (int)FI_##op, "the same numbers")
SAME(MIN);
SAME(MAX);
SAME(SUM);
SAME(PROD);
SAME(LOR);
SAME(LAND);
SAME(BOR);
SAME(BAND);
SAME(LXOR);
SAME(BXOR);
SAME(CSWAP);
SAME(CSWAP_NE);
SAME(CSWAP_LE);
SAME(CSWAP_LT);
SAME(CSWAP_GE);
SAME(CSWAP_GT);
SAME(MSWAP);
SAME(INT8);
SAME(UINT8);
SAME(INT16);
SAME(UINT16);
SAME(INT32);
SAME(UINT32);
SAME(INT64);
SAME(UINT64);
SAME(FLOAT);
SAME(DOUBLE);
_Static_assert((int)WEFT_ATOMIC_READ == (int)FI_ATOMIC_READ, "the same numbers");
_Static_assert((int)WEFT_ATOMIC_WRITE == (int)FI_ATOMIC_WRITE, "the same numbers");

/* Bytes of an element; 0: a type that atomics do not have. */
static size_t element_bytes(enum fi_datatype type)
{
	switch (type) {
	case FI_INT8:
	case FI_UINT8:
		return 1;
	case FI_INT16:
	case FI_UINT16:
		return 2;
	case FI_INT32:
	case FI_UINT32:
	case FI_FLOAT:
		return 4;
	case FI_INT64:
	case FI_UINT64:
	case FI_DOUBLE:
		return 8;
	case FI_FLOAT_COMPLEX:
	case FI_DOUBLE_COMPLEX:
	case FI_LONG_DOUBLE:
	case FI_LONG_DOUBLE_COMPLEX:
	case FI_INT128: /* the same number as FI_DATATYPE_LAST */
	case FI_UINT128:
	case FI_VOID:
		break;
	}
	return 0;
}

static bool is_supported(enum wf_atomic_kind kind, enum fi_datatype type, enum fi_op op)
{
	bool real = type == FI_FLOAT || type == FI_DOUBLE;

	if (!element_bytes(type))
		return false;
	if (kind == WF_ATOMIC_COMPARE ? op < FI_CSWAP || op > FI_MSWAP : op > FI_ATOMIC_WRITE)
		return false;
	if (kind == WF_ATOMIC_PLAIN && op == FI_ATOMIC_READ)
		return false;
	return !real || (op != FI_BOR && op != FI_BAND && op != FI_BXOR && op != FI_MSWAP);
}

/* Fills in the operation and its operands. */
static void fill_operands(const struct wf_atomic *a, struct weft_send_wr *wr)
{
	bool word = a->type == FI_INT64 || a->type == FI_UINT64;
	size_t bytes = element_bytes(a->type);
	uint64_t operand = 0, compare = 0;

	if (a->op != FI_ATOMIC_READ)
		memcpy(&operand, a->operand, bytes);
	if (a->kind == WF_ATOMIC_COMPARE)
		memcpy(&compare, a->compare, bytes);
	wr->opcode = WEFT_WR_ATOMIC;
	wr->compare_add = compare;
	wr->swap = operand;
	if (word && a->op == FI_CSWAP) {
		wr->opcode = WEFT_WR_CMP_SWAP;
	} else if (word && a->op == FI_SUM) {
		wr->opcode = WEFT_WR_FETCH_ADD;
		wr->compare_add = operand;
	} else {
		wr->atomic_op = (enum weft_atomic_op)a->op;
		wr->atomic_type = (enum weft_atomic_type)a->type;
	}
}

static ssize_t post(struct wf_ep *ep, const struct wf_atomic *a, uint64_t flags)
{
	struct wf_qp *qp = ep->qp;
	enum wf_count count = a->kind == WF_ATOMIC_PLAIN ? WF_WRITES : WF_READS;
	size_t bytes = element_bytes(a->type);
	struct weft_sge sge = {(uintptr_t)qp->domain->scratch, (uint32_t)bytes,
			       qp->domain->scratch_mr->lkey};
	struct weft_send_wr wr = {.sg_list = &sge,
				  .num_sge = 1,
				  .rkey = (uint32_t)a->key,
				  .remote_addr = a->remote,
				  .qkey = UINT32_C(1) << 31};
	struct iovec result = {a->result, bytes};
	void *desc = a->result_desc;
	struct wf_hold hold = {.count = 0};
	const struct wf_peer *peer;
	struct wf_op *op = NULL;
	int rc;

	if (!qp->ep)
		return wf_not_open(qp);
	if (!is_supported(a->kind, a->type, a->op))
		return -FI_EOPNOTSUPP;
	if (a->remote % bytes)
		return -FI_EINVAL;
	peer = wf_av_peer(qp->av, a->addr);
	if (!peer)
		return -FI_EINVAL;
	if (a->key > UINT32_MAX)
		return -FI_EKEYREJECTED;
	if (a->kind != WF_ATOMIC_PLAIN) {
		rc = wf_mr_sges(qp->domain, &result, &desc, 1, WF_USE_RECV, &sge, &hold);
		if (rc < 0)
			return rc;
	}
	fill_operands(a, &wr);
	wr.ah = peer->ah;
	wr.dst_qpn = peer->addr.qpn;
	wr.wr_id = (uintptr_t)&qp->silent;
	if (wf_op_needed(qp, count, flags, &hold)) {
		op = wf_op_get(qp, qp->tx_cq, 1);
		if (!op) {
			wf_mr_release(qp->domain, &hold, 0);
			return -FI_EAGAIN;
		}
		op->context = a->context;
		op->buf = NULL;
		op->flags = FI_ATOMIC | (a->kind == WF_ATOMIC_PLAIN ? FI_WRITE : FI_READ);
		op->count = (uint8_t)count;
		op->silent = !(flags & FI_COMPLETION);
		if (hold.count)
			op->hold = hold;
		wr.wr_id = (uintptr_t)op;
		wr.flags |= WEFT_SEND_SIGNALED;
	}
	rc = weft_post_send(qp->ep->qp, &wr, NULL);
	if (rc && op)
		wf_op_drop(op);
	return wf_post_result(rc);
}

/* True if an array of operands is one element. */
static bool is_one(const struct fi_ioc *iov, size_t count)
{
	return count == 1 && iov[0].count == 1;
}

static ssize_t atomic_write(struct fid_ep *fid, const void *buf, size_t count, void *desc,
			    fi_addr_t dest_addr, uint64_t addr, uint64_t key,
			    enum fi_datatype datatype, enum fi_op op, void *context)
{
	struct wf_ep *ep = container_of(fid, struct wf_ep, fid);
	struct wf_atomic a = {.operand = buf,
			      .addr = dest_addr,
			      .remote = addr,
			      .key = key,
			      .type = datatype,
			      .op = op,
			      .kind = WF_ATOMIC_PLAIN,
			      .context = context};

	(void)desc;
	return count == 1 ? post(ep, &a, wf_ep_tx_flags(ep)) : -FI_EINVAL;
}

static ssize_t atomic_writev(struct fid_ep *fid, const struct fi_ioc *iov, void **desc,
			     size_t count, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
			     enum fi_datatype datatype, enum fi_op op, void *context)
{
	if (!is_one(iov, count))
		return -FI_EINVAL;
	return atomic_write(fid, iov[0].addr, 1, desc ? desc[0] : NULL, dest_addr, addr, key,
			    datatype, op, context);
}

/* Takes the common part of the calls with flags. */
static int take_msg(const struct fi_msg_atomic *msg, enum wf_atomic_kind kind, struct wf_atomic *a)
{
	/* A read has no operand. */
	bool read = msg->op == FI_ATOMIC_READ;

	if ((!read && !is_one(msg->msg_iov, msg->iov_count)) || msg->rma_iov_count != 1 ||
	    msg->rma_iov[0].count != 1)
		return -FI_EINVAL;
	*a = (struct wf_atomic){.operand = read ? NULL : msg->msg_iov[0].addr,
				.addr = msg->addr,
				.remote = msg->rma_iov[0].addr,
				.key = msg->rma_iov[0].key,
				.type = msg->datatype,
				.op = msg->op,
				.kind = kind,
				.context = msg->context};
	return 0;
}

static ssize_t atomic_writemsg(struct fid_ep *fid, const struct fi_msg_atomic *msg, uint64_t flags)
{
	struct wf_ep *ep = container_of(fid, struct wf_ep, fid);
	struct wf_atomic a;
	int rc = take_msg(msg, WF_ATOMIC_PLAIN, &a);

	return rc ? rc : post(ep, &a, wf_ep_tx_msg_flags(ep, flags));
}

static ssize_t atomic_inject(struct fid_ep *fid, const void *buf, size_t count, fi_addr_t dest_addr,
			     uint64_t addr, uint64_t key, enum fi_datatype datatype, enum fi_op op)
{
	struct wf_ep *ep = container_of(fid, struct wf_ep, fid);
	struct wf_atomic a = {.operand = buf,
			      .addr = dest_addr,
			      .remote = addr,
			      .key = key,
			      .type = datatype,
			      .op = op,
			      .kind = WF_ATOMIC_PLAIN};

	return count == 1 ? post(ep, &a, FI_INJECT) : -FI_EINVAL;
}

static ssize_t atomic_readwrite(struct fid_ep *fid, const void *buf, size_t count, void *desc,
				void *result, void *result_desc, fi_addr_t dest_addr, uint64_t addr,
				uint64_t key, enum fi_datatype datatype, enum fi_op op,
				void *context)
{
	struct wf_ep *ep = container_of(fid, struct wf_ep, fid);
	struct wf_atomic a = {.operand = buf,
			      .result = result,
			      .result_desc = result_desc,
			      .addr = dest_addr,
			      .remote = addr,
			      .key = key,
			      .type = datatype,
			      .op = op,
			      .kind = WF_ATOMIC_FETCH,
			      .context = context};

	(void)desc;
	return count == 1 ? post(ep, &a, wf_ep_tx_flags(ep)) : -FI_EINVAL;
}

static ssize_t atomic_readwritev(struct fid_ep *fid, const struct fi_ioc *iov, void **desc,
				 size_t count, struct fi_ioc *resultv, void **result_desc,
				 size_t result_count, fi_addr_t dest_addr, uint64_t addr,
				 uint64_t key, enum fi_datatype datatype, enum fi_op op,
				 void *context)
{
	bool read = op == FI_ATOMIC_READ;

	(void)desc;
	if ((!read && !is_one(iov, count)) || !is_one(resultv, result_count))
		return -FI_EINVAL;
	return atomic_readwrite(fid, read ? NULL : iov[0].addr, 1, NULL, resultv[0].addr,
				result_desc ? result_desc[0] : NULL, dest_addr, addr, key, datatype,
				op, context);
}

static ssize_t atomic_readwritemsg(struct fid_ep *fid, const struct fi_msg_atomic *msg,
				   struct fi_ioc *resultv, void **result_desc, size_t result_count,
				   uint64_t flags)
{
	struct wf_ep *ep = container_of(fid, struct wf_ep, fid);
	struct wf_atomic a;
	int rc = take_msg(msg, WF_ATOMIC_FETCH, &a);

	if (rc || !is_one(resultv, result_count))
		return -FI_EINVAL;
	a.result = resultv[0].addr;
	a.result_desc = result_desc ? result_desc[0] : NULL;
	return post(ep, &a, wf_ep_tx_msg_flags(ep, flags));
}

static ssize_t atomic_compwrite(struct fid_ep *fid, const void *buf, size_t count, void *desc,
				const void *compare, void *compare_desc, void *result,
				void *result_desc, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
				enum fi_datatype datatype, enum fi_op op, void *context)
{
	struct wf_ep *ep = container_of(fid, struct wf_ep, fid);
	struct wf_atomic a = {.operand = buf,
			      .compare = compare,
			      .result = result,
			      .result_desc = result_desc,
			      .addr = dest_addr,
			      .remote = addr,
			      .key = key,
			      .type = datatype,
			      .op = op,
			      .kind = WF_ATOMIC_COMPARE,
			      .context = context};

	(void)desc;
	(void)compare_desc;
	return count == 1 ? post(ep, &a, wf_ep_tx_flags(ep)) : -FI_EINVAL;
}

static ssize_t atomic_compwritev(struct fid_ep *fid, const struct fi_ioc *iov, void **desc,
				 size_t count, const struct fi_ioc *comparev, void **compare_desc,
				 size_t compare_count, struct fi_ioc *resultv, void **result_desc,
				 size_t result_count, fi_addr_t dest_addr, uint64_t addr,
				 uint64_t key, enum fi_datatype datatype, enum fi_op op,
				 void *context)
{
	(void)desc;
	(void)compare_desc;
	if (!is_one(iov, count) || !is_one(comparev, compare_count) ||
	    !is_one(resultv, result_count))
		return -FI_EINVAL;
	return atomic_compwrite(fid, iov[0].addr, 1, NULL, comparev[0].addr, NULL, resultv[0].addr,
				result_desc ? result_desc[0] : NULL, dest_addr, addr, key, datatype,
				op, context);
}

static ssize_t atomic_compwritemsg(struct fid_ep *fid, const struct fi_msg_atomic *msg,
				   const struct fi_ioc *comparev, void **compare_desc,
				   size_t compare_count, struct fi_ioc *resultv, void **result_desc,
				   size_t result_count, uint64_t flags)
{
	struct wf_ep *ep = container_of(fid, struct wf_ep, fid);
	struct wf_atomic a;
	int rc = take_msg(msg, WF_ATOMIC_COMPARE, &a);

	(void)compare_desc;
	if (rc || !is_one(comparev, compare_count) || !is_one(resultv, result_count))
		return -FI_EINVAL;
	a.compare = comparev[0].addr;
	a.result = resultv[0].addr;
	a.result_desc = result_desc ? result_desc[0] : NULL;
	return post(ep, &a, wf_ep_tx_msg_flags(ep, flags));
}

static int valid(enum wf_atomic_kind kind, enum fi_datatype datatype, enum fi_op op, size_t *count)
{
	if (!is_supported(kind, datatype, op))
		return -FI_EOPNOTSUPP;
	*count = 1;
	return 0;
}

static int atomic_writevalid(struct fid_ep *fid, enum fi_datatype datatype, enum fi_op op,
			     size_t *count)
{
	(void)fid;
	return valid(WF_ATOMIC_PLAIN, datatype, op, count);
}

static int atomic_readwritevalid(struct fid_ep *fid, enum fi_datatype datatype, enum fi_op op,
				 size_t *count)
{
	(void)fid;
	return valid(WF_ATOMIC_FETCH, datatype, op, count);
}

static int atomic_compwritevalid(struct fid_ep *fid, enum fi_datatype datatype, enum fi_op op,
				 size_t *count)
{
	(void)fid;
	return valid(WF_ATOMIC_COMPARE, datatype, op, count);
}

int wf_query_atomic(struct fid_domain *domain, enum fi_datatype datatype, enum fi_op op,
		    struct fi_atomic_attr *attr, uint64_t flags)
{
	enum wf_atomic_kind kind = WF_ATOMIC_PLAIN;

	if ((flags & FI_FETCH_ATOMIC) && (flags & FI_COMPARE_ATOMIC))
		return -FI_EBADFLAGS;
	if (flags & ~(uint64_t)(FI_FETCH_ATOMIC | FI_COMPARE_ATOMIC | FI_TAGGED))
		return -FI_EBADFLAGS;
	if (flags & FI_TAGGED)
		return -FI_EOPNOTSUPP;
	if (flags & FI_FETCH_ATOMIC)
		kind = WF_ATOMIC_FETCH;
	else if (flags & FI_COMPARE_ATOMIC)
		kind = WF_ATOMIC_COMPARE;
	(void)domain;
	attr->size = element_bytes(datatype);
	return valid(kind, datatype, op, &attr->count);
}

struct fi_ops_atomic wf_atomic_ops = {
    .size = sizeof(struct fi_ops_atomic),
    .write = atomic_write,
    .writev = atomic_writev,
    .writemsg = atomic_writemsg,
    .inject = atomic_inject,
    .readwrite = atomic_readwrite,
    .readwritev = atomic_readwritev,
    .readwritemsg = atomic_readwritemsg,
    .compwrite = atomic_compwrite,
    .compwritev = atomic_compwritev,
    .compwritemsg = atomic_compwritemsg,
    .writevalid = atomic_writevalid,
    .readwritevalid = atomic_readwritevalid,
    .compwritevalid = atomic_compwritevalid,
};
