/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/verbs/vb_query.c: attributes of a device, its port and its tables.
 */
#include <arpa/inet.h>

#include "tests/verbs/vb_fix.h"

static void device(void)
{
	struct ibv_query_device_ex_input input = {.comp_mask = 1};
	struct ibv_device_attr_ex ex;
	struct ibv_device_attr d;
	struct vbf f;

	vbf_open(&f);
	VBF_OK(ibv_query_device(f.a.ctx, &d));
	CU_ASSERT(d.max_qp > 0 && d.max_qp_wr > 0 && d.max_sge > 0 && d.max_cq > 0);
	CU_ASSERT(d.max_cqe > 0 && d.max_mr > 0 && d.max_pd > 0 && d.max_srq > 0);
	CU_ASSERT(d.max_mr_size > 0 && d.phys_port_cnt == 1 && d.max_pkeys == 1);
	CU_ASSERT(d.node_guid && d.atomic_cap == IBV_ATOMIC_HCA);
	memset(&ex, 0xff, sizeof(ex));
	VBF_OK(ibv_query_device_ex(f.a.ctx, NULL, &ex));
	CU_ASSERT(memcmp(&ex.orig_attr, &d, sizeof(d)) == 0);
	CU_ASSERT(ex.completion_timestamp_mask == UINT64_MAX && ex.hca_core_clock == 1000000);
	CU_ASSERT(ex.cq_mod_caps.max_cq_count > 0 && ex.tso_caps.max_tso == 0);
	CU_ASSERT(ex.odp_caps.general_caps == 0 && ex.max_dm_size == 0);
	CU_ASSERT_EQUAL(ibv_query_device_ex(f.a.ctx, &input, &ex), EINVAL);
	vbf_close(&f);
}

/* A caller with an older header has a shorter struct, one with a newer header a longer one. */
static void sizes_of_structs(void)
{
	struct verbs_context *v;
	struct ibv_device_attr_ex ex[2];
	struct ibv_port_attr port[2];
	const size_t least = offsetof(struct ibv_device_attr_ex, comp_mask) + 4;
	struct vbf f;

	vbf_open(&f);
	v = verbs_get_ctx(f.a.ctx);
	VBF_NEED(v);
	CU_ASSERT_EQUAL(v->query_device_ex(f.a.ctx, NULL, ex, least - 1), EINVAL);
	memset(ex, 0xff, sizeof(ex));
	VBF_OK(v->query_device_ex(f.a.ctx, NULL, ex, least));
	CU_ASSERT_EQUAL(((uint8_t *)ex)[least], 0xff);
	VBF_OK(v->query_device_ex(f.a.ctx, NULL, ex, sizeof(ex)));
	CU_ASSERT_EQUAL(((uint8_t *)ex)[sizeof(ex) - 1], 0);
	memset(port, 0xff, sizeof(port));
	VBF_OK(v->query_port(f.a.ctx, 1, port, 8));
	CU_ASSERT(port[0].state == IBV_PORT_ACTIVE && ((uint8_t *)port)[8] == 0xff);
	VBF_OK(v->query_port(f.a.ctx, 1, port, sizeof(port)));
	CU_ASSERT_EQUAL(((uint8_t *)port)[sizeof(port) - 1], 0);
	vbf_close(&f);
}

static void port(void)
{
	struct ibv_port_attr p;
	struct vbf f;

	vbf_open(&f);
	VBF_OK(ibv_query_port(f.a.ctx, 1, &p));
	CU_ASSERT(p.state == IBV_PORT_ACTIVE && p.link_layer == IBV_LINK_LAYER_ETHERNET);
	CU_ASSERT(p.gid_tbl_len == VB_NUM_GIDS && p.pkey_tbl_len == 1 && p.lid == 0);
	CU_ASSERT(p.active_mtu >= IBV_MTU_256 && p.active_mtu <= p.max_mtu);
	CU_ASSERT_EQUAL(ibv_query_port(f.a.ctx, 0, &p), EINVAL);
	CU_ASSERT_EQUAL(ibv_query_port(f.a.ctx, 2, &p), EINVAL);
	vbf_close(&f);
}

static void mtus(void)
{
	CU_ASSERT_EQUAL(vb_mtu(0), IBV_MTU_256);
	CU_ASSERT_EQUAL(vb_mtu(511), IBV_MTU_256);
	CU_ASSERT_EQUAL(vb_mtu(512), IBV_MTU_512);
	CU_ASSERT_EQUAL(vb_mtu(1366), IBV_MTU_1024);
	CU_ASSERT_EQUAL(vb_mtu(4095), IBV_MTU_2048);
	CU_ASSERT_EQUAL(vb_mtu(4096), IBV_MTU_4096);
	CU_ASSERT_EQUAL(vb_mtu(UINT32_MAX), IBV_MTU_4096);
}

int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned int index,
		       unsigned int *type);

static void tables(void)
{
	struct ibv_gid_entry entry[VB_NUM_GIDS + 1];
	unsigned int type = 9;
	union ibv_gid gid;
	__be16 pkey = 0;
	struct vbf f;

	vbf_open(&f);
	VBF_OK(ibv_query_gid(f.a.ctx, 1, 0, &gid));
	CU_ASSERT(gid.raw[0] == 0xfe && gid.raw[1] == 0x80);
	VBF_OK(ibv_query_gid(f.a.ctx, 1, 1, &gid));
	CU_ASSERT(gid.raw[10] == 0xff && gid.raw[11] == 0xff && gid.raw[12] == 10);
	for (int i = -1; i < 4; i += 3) {
		errno = 0;
		CU_ASSERT_EQUAL(ibv_query_gid(f.a.ctx, 1, i, &gid), -1);
		CU_ASSERT_EQUAL(errno, EINVAL);
	}
	CU_ASSERT_EQUAL(ibv_query_gid(f.a.ctx, 2, 0, &gid), -1);
	VBF_OK(ibv_query_gid_ex(f.a.ctx, 1, 1, entry, 0));
	CU_ASSERT(entry[0].gid_index == 1 && entry[0].gid_type == IBV_GID_TYPE_ROCE_V2);
	CU_ASSERT_EQUAL(ibv_query_gid_ex(f.a.ctx, 1, VB_NUM_GIDS, entry, 0), EINVAL);
	CU_ASSERT_EQUAL(ibv_query_gid_ex(f.a.ctx, 1, 0, entry, 1), EINVAL);
	CU_ASSERT_EQUAL(ibv_query_gid_table(f.a.ctx, entry, VB_NUM_GIDS + 1, 0), VB_NUM_GIDS);
	CU_ASSERT_EQUAL(ibv_query_gid_table(f.a.ctx, entry, VB_NUM_GIDS - 1, 0), -EINVAL);
	CU_ASSERT_EQUAL(ibv_query_gid_table(f.a.ctx, entry, VB_NUM_GIDS, 1), -EINVAL);
	VBF_OK(ibv_query_gid_type(f.a.ctx, 1, 1, &type));
	CU_ASSERT_EQUAL(type, 1);
	CU_ASSERT_EQUAL(ibv_query_gid_type(f.a.ctx, 1, VB_NUM_GIDS, &type), -1);
	VBF_OK(ibv_query_pkey(f.a.ctx, 1, 0, &pkey));
	CU_ASSERT_EQUAL(ntohs(pkey), 0xffff);
	CU_ASSERT_EQUAL(ibv_query_pkey(f.a.ctx, 1, 1, &pkey), -1);
	CU_ASSERT_EQUAL(ibv_get_pkey_index(f.a.ctx, 1, htons(0xffff)), 0);
	CU_ASSERT_EQUAL(ibv_get_pkey_index(f.a.ctx, 1, htons(0x7fff)), 0);
	CU_ASSERT_EQUAL(ibv_get_pkey_index(f.a.ctx, 1, htons(0x1234)), -1);
	vbf_close(&f);
}

static void clock_values(void)
{
	struct ibv_values_ex values = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK};
	struct vbf f;

	vbf_open(&f);
	VBF_OK(ibv_query_rt_values_ex(f.a.ctx, &values));
	CU_ASSERT_EQUAL(values.comp_mask, IBV_VALUES_MASK_RAW_CLOCK);
	CU_ASSERT(values.raw_clock.tv_sec > 0 || values.raw_clock.tv_nsec > 0);
	values.comp_mask = 1 << 5;
	CU_ASSERT_EQUAL(ibv_query_rt_values_ex(f.a.ctx, &values), EINVAL);
	vbf_close(&f);
}

UT_MAIN("verbs/vb_query", UT(device), UT(sizes_of_structs), UT(port), UT(mtus), UT(tables),
	UT(clock_values))
