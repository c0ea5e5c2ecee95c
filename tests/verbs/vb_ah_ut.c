/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/verbs/vb_ah.c: address handles, and replies to a sender.
 */
#include <arpa/inet.h>

#include "tests/verbs/vb_fix.h"

static void create(void)
{
	struct ibv_ah_attr attr;
	struct ibv_ah *ah;
	struct vbf f;

	vbf_open(&f);
	attr = vbf_way(&f.b);
	VBF_NEED(ah = ibv_create_ah(f.a.pd, &attr));
	CU_ASSERT(ah->pd == f.a.pd && ah->context == f.a.ctx);
	CU_ASSERT_EQUAL(ibv_dealloc_pd(f.a.pd), EBUSY);
	VBF_OK(ibv_destroy_ah(ah));
	/* its own, by the link-local GID, too */
	VBF_OK(ibv_query_gid(f.a.ctx, 1, 0, &attr.grh.dgid));
	attr.grh.sgid_index = 0;
	VBF_NEED(ah = ibv_create_ah(f.a.pd, &attr));
	VBF_OK(ibv_destroy_ah(ah));
	/* a neighbour in the NIC's table */
	VBF_OK(ibv_query_gid(f.b.ctx, 1, 0, &attr.grh.dgid));
	VBF_NEED(ah = ibv_create_ah(f.a.pd, &attr));
	VBF_OK(ibv_destroy_ah(ah));
	/* no address: the QPN determines the NIC */
	attr = (struct ibv_ah_attr){.port_num = 1};
	VBF_NEED(ah = ibv_create_ah(f.a.pd, &attr));
	VBF_OK(ibv_destroy_ah(ah));
	vbf_close(&f);
}

static void refused(void)
{
	struct ibv_ah_attr attr;
	struct vbf f;

	vbf_open(&f);
	attr = vbf_way(&f.b);
	attr.port_num = 2;
	VBF_NULL(ibv_create_ah(f.a.pd, &attr), EINVAL);
	attr = vbf_way(&f.b);
	attr.grh.sgid_index = VB_NUM_GIDS;
	VBF_NULL(ibv_create_ah(f.a.pd, &attr), EINVAL);
	attr = vbf_way(&f.b);
	memset(&attr.grh.dgid, 0, 16);
	VBF_NULL(ibv_create_ah(f.a.pd, &attr), EINVAL);
	attr.grh.dgid.raw[0] = 0x20;
	VBF_NULL(ibv_create_ah(f.a.pd, &attr), EINVAL);
	vbf_close(&f);
}

static void groups(void)
{
	struct ibv_ah_attr attr;
	struct ibv_ah *ah;
	struct vbf f;

	vbf_open(&f);
	attr = vbf_way(&f.b);
	memcpy(attr.grh.dgid.raw + 12, (uint8_t[]){239, 1, 2, 3}, 4);
	VBF_NEED(ah = ibv_create_ah(f.a.pd, &attr));
	VBF_OK(ibv_destroy_ah(ah));
	vbf_close(&f);
}

/* A datagram with its GRH: the receiver's handle leads back to the sender. */
static void from_completion(void)
{
	struct ibv_ah_attr attr;
	struct ibv_ah *to, *back;
	struct ibv_qp *a, *b;
	struct ibv_grh *grh;
	struct ibv_wc wc;
	struct vbf f;

	vbf_open(&f);
	VBF_NEED(a = vbf_qp(&f.a, IBV_QPT_UD, NULL));
	VBF_NEED(b = vbf_qp(&f.b, IBV_QPT_UD, NULL));
	vbf_connect(a, &f.b, 0);
	vbf_connect(b, &f.a, 0);
	attr = vbf_way(&f.b);
	VBF_NEED(to = ibv_create_ah(f.a.pd, &attr));
	VBF_OK(vbf_recv(b, vbf_sge(&f.b, 0, 200)));
	{
		struct ibv_sge sge = vbf_sge(&f.a, 0, 8);
		struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND},
				   *bad;

		wr.wr.ud.ah = to;
		wr.wr.ud.remote_qpn = b->qp_num;
		wr.wr.ud.remote_qkey = VBF_QKEY;
		VBF_OK(ibv_post_send(a, &wr, &bad));
	}
	wc = vbf_wait(&f, f.b.cq);
	CU_ASSERT(wc.wc_flags & IBV_WC_GRH && wc.src_qp == a->qp_num);
	grh = (struct ibv_grh *)f.b.buf;
	VBF_OK(ibv_init_ah_from_wc(f.b.ctx, 1, &wc, grh, &attr));
	CU_ASSERT(attr.is_global && attr.port_num == 1);
	CU_ASSERT(memcmp(&attr.grh.dgid, &f.a.gid, 16) == 0);
	VBF_NEED(back = ibv_create_ah_from_wc(f.b.pd, &wc, grh, 1));
	VBF_OK(ibv_destroy_ah(back));
	/* without a GRH nothing is read; a malformed one is an error */
	memset(grh, 0, sizeof(*grh));
	errno = 0;
	CU_ASSERT_EQUAL(ibv_init_ah_from_wc(f.b.ctx, 1, &wc, grh, &attr), -1);
	CU_ASSERT_EQUAL(errno, EINVAL);
	VBF_NULL(ibv_create_ah_from_wc(f.b.pd, &wc, grh, 1), EINVAL);
	wc.wc_flags = 0;
	VBF_OK(ibv_init_ah_from_wc(f.b.ctx, 1, &wc, NULL, &attr));
	CU_ASSERT_FALSE(attr.is_global);
	VBF_OK(ibv_destroy_ah(to));
	VBF_OK(ibv_destroy_qp(a));
	VBF_OK(ibv_destroy_qp(b));
	vbf_close(&f);
}

UT_MAIN("verbs/vb_ah", UT(create), UT(refused), UT(groups), UT(from_completion))
