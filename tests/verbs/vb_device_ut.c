/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/verbs/vb_device.c: no NIC, contexts, fork; and vb_str.c: names and rates.
 * tests/int/verbs_clients.sh tests devices of a weftd.
 */
#include <stdio.h>
#include <unistd.h>

#include "tests/tmp.h"
#include "tests/verbs/vb_fix.h"

#undef ibv_get_device_list

/* Without a weftd the list is empty, which is no error. */
static void no_device(void)
{
	char dir[TMP_PATH_BYTES];
	struct ibv_device **list;
	int n = 7;

	VBF_NEED(tmp_folder(dir));
	setenv("WEFT_RUN_DIR", dir, 1);
	VBF_NEED(list = ibv_get_device_list(&n));
	CU_ASSERT(n == 0 && !list[0]);
	ibv_free_device_list(list);
	VBF_NEED(list = ibv_get_device_list(NULL));
	ibv_free_device_list(list);
	ibv_free_device_list(NULL);
	VBF_OK(rmdir(dir));
	n = 7;
	VBF_NEED(list = ibv_get_device_list(&n));
	CU_ASSERT(n == 0 && !list[0]);
	ibv_free_device_list(list);
	unsetenv("WEFT_RUN_DIR");
}

/* A device whose weftd has ended since it was listed. */
static void gone(void)
{
	struct vb_device *d = calloc(1, sizeof(*d));

	VBF_NEED(d);
	atomic_init(&d->refs, 1);
	snprintf(d->weft.path, sizeof(d->weft.path), "/nonexistent/weft0");
	errno = 0;
	CU_ASSERT_PTR_NULL(ibv_open_device(&d->ibv));
	CU_ASSERT_NOT_EQUAL(errno, 0);
	CU_ASSERT_EQUAL(atomic_load(&d->refs), 1);
	vb_device_put(d);
}

/* Fields that the header's inline functions read, and those that providers' libraries read. */
static void contexts(void)
{
	struct verbs_context *v;
	struct vbf f;

	vbf_open(&f);
	v = verbs_get_ctx(f.a.ctx);
	VBF_NEED(v);
	CU_ASSERT(v->sz == sizeof(struct verbs_context) && f.a.ctx->abi_compat == (void *)-1);
	CU_ASSERT(f.a.ctx->device == &f.a.device->ibv && f.a.ctx->num_comp_vectors >= 1);
	CU_ASSERT(f.a.ctx->ops.poll_cq && f.a.ctx->ops.req_notify_cq && f.a.ctx->ops.post_send);
	CU_ASSERT(f.a.ctx->ops.post_recv && f.a.ctx->ops.post_srq_recv && f.a.ctx->ops.bind_mw);
	CU_ASSERT(f.a.ctx->ops.alloc_mw && f.a.ctx->ops.dealloc_mw);
	CU_ASSERT(v->query_port && v->query_device_ex && v->create_cq_ex && v->create_qp_ex);
	CU_ASSERT(v->create_srq_ex && v->get_srq_num && v->query_rt_values && v->modify_cq);
	CU_ASSERT(v->open_xrcd && v->close_xrcd && v->open_qp);
	for (size_t i = 0; i < VB_DEVICE_TAIL_BYTES; i++)
		CU_ASSERT_EQUAL(f.a.device->tail[i], 0);
	CU_ASSERT_EQUAL(atomic_load(&f.a.device->refs), 2);
	CU_ASSERT_STRING_EQUAL(ibv_get_device_name(f.a.ctx->device), "a");
	CU_ASSERT_EQUAL(ibv_get_device_index(f.a.ctx->device), 0);
	VBF_OK(ibv_fork_init());
	CU_ASSERT_EQUAL(ibv_is_fork_initialized(), IBV_FORK_UNNEEDED);
	vbf_close(&f);
}

static void names(void)
{
	CU_ASSERT_STRING_EQUAL(ibv_wc_status_str(IBV_WC_SUCCESS), "success");
	CU_ASSERT_STRING_EQUAL(ibv_wc_status_str(IBV_WC_TM_RNDV_INCOMPLETE),
			       "TM software rendezvous");
	CU_ASSERT_STRING_EQUAL(ibv_wc_status_str((enum ibv_wc_status) - 1), "unknown");
	CU_ASSERT_STRING_EQUAL(ibv_wc_status_str((enum ibv_wc_status)99), "unknown");
	CU_ASSERT_STRING_EQUAL(ibv_event_type_str(IBV_EVENT_WQ_FATAL), "WQ fatal");
	CU_ASSERT_STRING_EQUAL(ibv_event_type_str((enum ibv_event_type)99), "unknown");
	CU_ASSERT_STRING_EQUAL(ibv_node_type_str(IBV_NODE_RNIC), "iWARP NIC");
	CU_ASSERT_STRING_EQUAL(ibv_node_type_str(IBV_NODE_UNKNOWN), "unknown");
	CU_ASSERT_STRING_EQUAL(ibv_port_state_str(IBV_PORT_ACTIVE), "active");
	CU_ASSERT_STRING_EQUAL(ibv_port_state_str((enum ibv_port_state)7), "unknown");
}

/* Converts there and back, for every rate that both directions know. */
static void rates(void)
{
	CU_ASSERT_EQUAL(ibv_rate_to_mult(IBV_RATE_10_GBPS), 4);
	CU_ASSERT_EQUAL(ibv_rate_to_mbps(IBV_RATE_25_GBPS), 25781);
	CU_ASSERT_EQUAL(ibv_rate_to_mult((enum ibv_rate)99), -1);
	CU_ASSERT_EQUAL(ibv_rate_to_mbps((enum ibv_rate)99), -1);
	CU_ASSERT_EQUAL(mult_to_ibv_rate(3), IBV_RATE_MAX);
	CU_ASSERT_EQUAL(mbps_to_ibv_rate(3), IBV_RATE_MAX);
	for (int i = IBV_RATE_2_5_GBPS; i <= IBV_RATE_1200_GBPS; i++) {
		int mbps = ibv_rate_to_mbps((enum ibv_rate)i);

		CU_ASSERT(mbps > 0);
		CU_ASSERT_EQUAL(mbps_to_ibv_rate(mbps), i);
		CU_ASSERT(ibv_rate_to_mult((enum ibv_rate)i) > 0);
	}
}

UT_MAIN("verbs/vb_device", UT(no_device), UT(gone), UT(contexts), UT(names), UT(rates))
