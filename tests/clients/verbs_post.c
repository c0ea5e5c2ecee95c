/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Posts the batches of verbs_data.c: by ibv_post_send(), one request or a list at a time, and by
 * ibv_wr_*().
 */
#include <string.h>

#include "tests/clients/verbs_data.h"

static uint32_t sges(const struct pieces *list, struct ibv_sge *sge)
{
	for (uint32_t i = 0; i < list->num; i++) {
		const struct piece *p = &list->piece[i];

		sge[i] = (struct ibv_sge){(uintptr_t)p->region->mem + p->at, p->bytes,
					  p->region->mr->lkey};
	}
	return list->num;
}

static void post_receive(int at, struct op *for_op, struct lane *l, uint32_t bytes)
{
	struct recv *r = &recv_of[at][num_recvs[at]];
	struct ibv_sge sge[MAX_SGE];
	struct ibv_recv_wr wr = {.wr_id = num_recvs[at]++, .sg_list = sge}, *bad;

	*r = (struct recv){.op = for_op};
	/* often more room than needed */
	if (!place_all(&end[at], bytes + (draw(2) ? draw(50) : 0), &r->pieces))
		die("no room for a receive");
	wr.num_sge = (int)sges(&r->pieces, sge);
	if (l->srq)
		CHECK(ibv_post_srq_recv(end[at].srq, &wr, &bad) == 0);
	else
		CHECK(ibv_post_recv(l->qp[at], &wr, &bad) == 0);
}

void post_receives(void)
{
	for (uint32_t i = 0; i < num_ops; i++) {
		struct op *o = &op[i];
		uint32_t bytes = o->kind == WRITE_IMM ? 0 : o->bytes;

		if (!takes_receive(o))
			continue;
		if (o->lane->type == IBV_QPT_UD)
			bytes += GRH_BYTES;
		post_receive(!o->from, o->lane->srq ? NULL : o, o->lane,
			     o->lane->srq ? SRQ_BYTES : bytes);
	}
}

uint64_t remote_addr(const struct op *o)
{
	return (uintptr_t)o->remote.region->mem + o->remote.at;
}

void to_wr(struct op *o, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	static const enum ibv_wr_opcode opcode[] = {
	    [SEND] = IBV_WR_SEND,
	    [SEND_IMM] = IBV_WR_SEND_WITH_IMM,
	    [WRITE] = IBV_WR_RDMA_WRITE,
	    [WRITE_IMM] = IBV_WR_RDMA_WRITE_WITH_IMM,
	    [READ] = IBV_WR_RDMA_READ,
	    [SWAP] = IBV_WR_ATOMIC_CMP_AND_SWP,
	    [ADD] = IBV_WR_ATOMIC_FETCH_AND_ADD,
	};

	*wr = (struct ibv_send_wr){.wr_id = (uintptr_t)o,
				   .opcode = opcode[o->kind],
				   .imm_data = o->imm,
				   .sg_list = sge,
				   .num_sge = (int)sges(&o->local, sge)};
	wr->send_flags =
	    (o->signalled ? IBV_SEND_SIGNALED : 0u) | (o->is_inline ? IBV_SEND_INLINE : 0u);
	if (o->lane->type == IBV_QPT_UD) {
		wr->wr.ud.ah = o->lane->ah[o->from];
		wr->wr.ud.remote_qpn = o->lane->qp[!o->from]->qp_num;
		wr->wr.ud.remote_qkey = QKEY;
	} else if (o->kind == SWAP || o->kind == ADD) {
		wr->wr.atomic.remote_addr = remote_addr(o);
		wr->wr.atomic.rkey = o->remote.region->mr->rkey;
		wr->wr.atomic.compare_add = o->kind == SWAP ? o->compare : o->operand;
		wr->wr.atomic.swap = o->operand;
	} else if (o->kind >= WRITE) {
		wr->wr.rdma.remote_addr = remote_addr(o);
		wr->wr.rdma.rkey = o->remote.region->mr->rkey;
	}
}

static void build_opcode(struct ibv_qp_ex *qp, const struct op *o)
{
	uint32_t rkey = o->kind >= WRITE ? o->remote.region->mr->rkey : 0;

	switch (o->kind) {
	case SEND:
		ibv_wr_send(qp);
		break;
	case SEND_IMM:
		ibv_wr_send_imm(qp, o->imm);
		break;
	case WRITE:
		ibv_wr_rdma_write(qp, rkey, remote_addr(o));
		break;
	case WRITE_IMM:
		ibv_wr_rdma_write_imm(qp, rkey, remote_addr(o), o->imm);
		break;
	case READ:
		ibv_wr_rdma_read(qp, rkey, remote_addr(o));
		break;
	case SWAP:
		ibv_wr_atomic_cmp_swp(qp, rkey, remote_addr(o), o->compare, o->operand);
		break;
	case ADD:
		ibv_wr_atomic_fetch_add(qp, rkey, remote_addr(o), o->operand);
		break;
	case NUM_KINDS:
		break;
	}
}

static void build(struct ibv_qp_ex *qp, struct op *o)
{
	struct ibv_data_buf buf[MAX_SGE];
	struct ibv_sge sge[MAX_SGE];
	uint32_t n = sges(&o->local, sge);

	qp->wr_id = (uintptr_t)o;
	qp->wr_flags = o->signalled ? IBV_SEND_SIGNALED : 0;
	build_opcode(qp, o);
	if (o->lane->type == IBV_QPT_UD)
		ibv_wr_set_ud_addr(qp, o->lane->ah[o->from], o->lane->qp[!o->from]->qp_num, QKEY);
	for (uint32_t i = 0; i < n; i++)
		buf[i] = (struct ibv_data_buf){(void *)(uintptr_t)sge[i].addr, sge[i].length};
	if (o->is_inline && n == 1)
		ibv_wr_set_inline_data(qp, buf[0].addr, buf[0].length);
	else if (o->is_inline)
		ibv_wr_set_inline_data_list(qp, n, buf);
	else if (n == 1)
		ibv_wr_set_sge(qp, sge[0].lkey, sge[0].addr, sge[0].length);
	else
		ibv_wr_set_sge_list(qp, n, sge);
}

/* Posts all requests of one lane from one end: as one list, one by one, or built. */
void post_lane(struct lane *l, int from)
{
	struct ibv_send_wr wr[MAX_OPS], *bad;
	struct ibv_sge sge[MAX_OPS][MAX_SGE];
	struct ibv_qp *qp = l->qp[from];
	struct ibv_qp_ex *ex = l->builder ? ibv_qp_to_qp_ex(qp) : NULL;
	bool chain = draw(2);
	int n = 0;

	CHECK(!l->builder == !ex);
	if (ex)
		ibv_wr_start(ex);
	for (uint32_t i = 0; i < num_ops; i++) {
		if (op[i].lane != l || op[i].from != from)
			continue;
		if (ex) {
			build(ex, &op[i]);
			continue;
		}
		to_wr(&op[i], &wr[n], sge[n]);
		if (chain && n)
			wr[n - 1].next = &wr[n];
		n++;
	}
	if (ex)
		CHECK(ibv_wr_complete(ex) == 0);
	for (int i = 0; i < (chain && n ? 1 : n); i++)
		CHECK(ibv_post_send(qp, &wr[i], &bad) == 0);
}
