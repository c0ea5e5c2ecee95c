/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attributes of a device, its port and its tables: ibv_query_device(_ex), ibv_query_port, GIDs,
 * P_Keys.
 *
 * A port is an Ethernet port without LIDs. It has one P_Key, the link-local GID 0, and GID 1 with
 * the IPv4-mapped address (docs/host-interface.md). Calls weft_query_port().
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "host_driver/verbs/vb.h"

#undef ibv_query_port

enum {
	VENDOR_ID = 0x77ef7, /* not an assigned OUI */
	WIDTH_1X = 1,
	WIDTH_4X = 2,
	SPEED_SDR = 1,  /* 2.5 Gb/s per lane */
	SPEED_QDR = 4,  /* 10 Gb/s per lane */
	SPEED_EDR = 32, /* 25 Gb/s per lane */
	PHYS_DISABLED = 3,
	PHYS_LINK_UP = 5,
	MIN_MTU_BYTES = 256,
};

enum ibv_mtu vb_mtu(uint32_t bytes)
{
	int mtu = IBV_MTU_256;

	while (mtu < IBV_MTU_4096 && (uint32_t)MIN_MTU_BYTES << mtu <= bytes)
		mtu++;
	return (enum ibv_mtu)mtu;
}

/* Returns 0, or a negative errno when the NIC is gone. */
static int fill_device(struct vb_context *c, struct ibv_device_attr *attr)
{
	const struct weft_device_attr *w = &c->attr;
	struct weft_device_attr now;
	int rc = weft_query_device(c->weft, &now);

	if (rc < 0)
		return rc;
	memset(attr, 0, sizeof(*attr));
	snprintf(attr->fw_ver, sizeof(attr->fw_ver), "%s", weft_version());
	attr->node_guid = w->node_guid;
	attr->sys_image_guid = w->node_guid;
	attr->max_mr_size = w->max_mr_bytes;
	attr->page_size_cap = 0xfffff000;
	attr->vendor_id = VENDOR_ID;
	attr->max_qp = (int)w->max_qp;
	attr->max_qp_wr = (int)w->max_wr;
	attr->device_cap_flags = IBV_DEVICE_PORT_ACTIVE_EVENT | IBV_DEVICE_SYS_IMAGE_GUID |
				 IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_MEM_WINDOW |
				 IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_MEM_MGT_EXTENSIONS |
				 IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_XRC;
	attr->max_sge = (int)w->max_sge;
	attr->max_sge_rd = (int)w->max_sge;
	attr->max_cq = (int)w->max_cq;
	attr->max_cqe = (int)w->max_cqe;
	attr->max_mr = (int)w->max_mr;
	attr->max_pd = (int)w->max_pd;
	attr->max_qp_rd_atom = (int)w->max_rd_atomic;
	attr->max_res_rd_atom = (int)(w->max_rd_atomic * w->max_qp);
	attr->max_qp_init_rd_atom = (int)w->max_rd_atomic;
	attr->atomic_cap = IBV_ATOMIC_HCA;
	attr->max_mw = (int)w->max_mw;
	attr->max_mcast_grp = (int)w->max_mcast_grp;
	attr->max_mcast_qp_attach = (int)w->max_mcast_qp_attach;
	attr->max_total_mcast_qp_attach = (int)w->max_total_mcast_qp_attach;
	attr->max_ah = (int)w->max_ah;
	attr->max_srq = (int)w->max_srq;
	attr->max_srq_wr = (int)w->max_wr;
	attr->max_srq_sge = (int)w->max_sge;
	attr->max_pkeys = 1;
	attr->phys_port_cnt = 1;
	return 0;
}

VB_API int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	return vb_result(fill_device(vb_context_of(context), attr));
}

/* attr_size: size of the struct in the caller's header; members beyond it are not written. */
static int query_device_ex(struct ibv_context *context,
			   const struct ibv_query_device_ex_input *input,
			   struct ibv_device_attr_ex *out, size_t attr_size)
{
	struct ibv_device_attr_ex attr;
	int rc;

	if (input && input->comp_mask)
		return vb_result(-EINVAL);
	if (attr_size < offsetof(struct ibv_device_attr_ex, comp_mask) + sizeof(attr.comp_mask))
		return vb_result(-EINVAL);
	memset(&attr, 0, sizeof(attr));
	rc = fill_device(vb_context_of(context), &attr.orig_attr);
	if (rc < 0)
		return vb_result(rc);
	attr.completion_timestamp_mask = UINT64_MAX;
	attr.hca_core_clock = 1000000; /* kHz: the NIC's clock counts nanoseconds */
	attr.device_cap_flags_ex = attr.orig_attr.device_cap_flags;
	attr.phys_port_cnt_ex = 1;
	attr.cq_mod_caps.max_cq_count = UINT16_MAX;
	attr.cq_mod_caps.max_cq_period = UINT16_MAX;
	memcpy(out, &attr, attr_size < sizeof(attr) ? attr_size : sizeof(attr));
	if (attr_size > sizeof(attr))
		memset((char *)out + sizeof(attr), 0, attr_size - sizeof(attr));
	return 0;
}

static void fill_speed(struct ibv_port_attr *attr, uint32_t mbps)
{
	attr->active_width = mbps > 25000 ? WIDTH_4X : WIDTH_1X;
	if (mbps > 40000 || (mbps > 10000 && mbps <= 25000))
		attr->active_speed = SPEED_EDR;
	else
		attr->active_speed = mbps > 2500 ? SPEED_QDR : SPEED_SDR;
}

static int query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *out,
		      size_t attr_size)
{
	struct vb_context *c = vb_context_of(context);
	struct ibv_port_attr attr;
	struct weft_port_attr port;
	int rc;

	if (port_num != VB_PORT)
		return vb_result(-EINVAL);
	rc = weft_query_port(c->weft, &port);
	if (rc < 0)
		return vb_result(rc);
	memset(&attr, 0, sizeof(attr));
	attr.state = port.link_up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
	attr.phys_state = port.link_up ? PHYS_LINK_UP : PHYS_DISABLED;
	attr.max_mtu = IBV_MTU_4096;
	attr.active_mtu = vb_mtu(c->attr.max_ud_bytes);
	attr.gid_tbl_len = VB_NUM_GIDS;
	attr.port_cap_flags = IBV_PORT_CM_SUP;
	attr.max_msg_sz =
	    (uint32_t)(c->attr.max_msg_bytes > UINT32_MAX ? UINT32_MAX : c->attr.max_msg_bytes);
	attr.pkey_tbl_len = 1;
	attr.link_layer = IBV_LINK_LAYER_ETHERNET;
	fill_speed(&attr, port.link_mbps);
	memset(out, 0, attr_size);
	memcpy(out, &attr, attr_size < sizeof(attr) ? attr_size : sizeof(attr));
	return 0;
}

/* For programs built with old headers, whose struct ends before the members after link_layer. */
VB_API int ibv_query_port(struct ibv_context *context, uint8_t port_num,
			  struct _compat_ibv_port_attr *port_attr)
{
	return query_port(context, port_num, (struct ibv_port_attr *)port_attr,
			  offsetof(struct ibv_port_attr, port_cap_flags2));
}

/* Returns 0 or a negative errno. */
static int vb_gid(struct vb_context *c, int index, union ibv_gid *gid)
{
	struct weft_port_attr port;
	int rc;

	if (index < 0 || index >= VB_NUM_GIDS)
		return -EINVAL;
	memset(gid, 0, sizeof(*gid));
	if (index == 0) {
		gid->global.subnet_prefix = htobe64(0xfe80000000000000);
		gid->global.interface_id = c->attr.node_guid;
		return 0;
	}
	rc = weft_query_port(c->weft, &port);
	if (rc < 0)
		return rc;
	gid->raw[10] = gid->raw[11] = 0xff;
	memcpy(gid->raw + 12, &port.ip, sizeof(port.ip));
	return 0;
}

/* Returns -1 on failure, as the manual page specifies. */
VB_API int ibv_query_gid(struct ibv_context *context, uint8_t port_num, int index,
			 union ibv_gid *gid)
{
	int rc = port_num == VB_PORT ? vb_gid(vb_context_of(context), index, gid) : -EINVAL;

	return vb_result(rc) ? -1 : 0;
}

static int gid_entry(struct vb_context *c, uint32_t index, struct ibv_gid_entry *e)
{
	memset(e, 0, sizeof(*e));
	e->gid_index = index;
	e->port_num = VB_PORT;
	e->gid_type = IBV_GID_TYPE_ROCE_V2;
	return vb_gid(c, (int)index, &e->gid);
}

VB_API int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t gid_index,
			     struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size)
{
	struct ibv_gid_entry e;
	int rc;

	if (port_num != VB_PORT || flags || gid_index >= VB_NUM_GIDS)
		return vb_result(-EINVAL);
	rc = gid_entry(vb_context_of(context), gid_index, &e);
	if (rc < 0)
		return vb_result(rc);
	memcpy(entry, &e, entry_size < sizeof(e) ? entry_size : sizeof(e));
	return 0;
}

VB_API ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
				    size_t max_entries, uint32_t flags, size_t entry_size)
{
	size_t n;

	if (flags || entry_size < sizeof(struct ibv_gid_entry) || max_entries < VB_NUM_GIDS)
		return -EINVAL;
	for (n = 0; n < VB_NUM_GIDS; n++) {
		struct ibv_gid_entry *at =
		    (struct ibv_gid_entry *)((char *)entries + n * entry_size);
		int rc = gid_entry(vb_context_of(context), (uint32_t)n, at);

		if (rc < 0)
			return rc;
	}
	return (ssize_t)n;
}

/*
 * Private in libibverbs, but perftest and UCX call it. The values are those of sysfs: 1 is RoCE v2.
 */
VB_API int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned int index,
			      unsigned int *type);

int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned int index,
		       unsigned int *type)
{
	(void)context;
	if (port_num != VB_PORT || index >= VB_NUM_GIDS)
		return vb_result(-EINVAL) ? -1 : 0;
	*type = 1;
	return 0;
}

VB_API int ibv_query_pkey(struct ibv_context *context, uint8_t port_num, int index, __be16 *pkey)
{
	(void)context;
	if (port_num != VB_PORT || index != 0)
		return vb_result(-EINVAL) ? -1 : 0;
	*pkey = htons(VB_PKEY);
	return 0;
}

VB_API int ibv_get_pkey_index(struct ibv_context *context, uint8_t port_num, __be16 pkey)
{
	(void)context;
	if (port_num != VB_PORT || (ntohs(pkey) | 0x8000) != VB_PKEY)
		return vb_result(-EINVAL) ? -1 : 0;
	return 0;
}

/* The NIC's clock is CLOCK_MONOTONIC in nanoseconds. */
static int query_rt_values(struct ibv_context *context, struct ibv_values_ex *values)
{
	uint32_t asked = values->comp_mask;

	(void)context;
	values->comp_mask = 0;
	if (asked & IBV_VALUES_MASK_RAW_CLOCK) {
		if (clock_gettime(CLOCK_MONOTONIC, &values->raw_clock) != 0)
			return vb_result(-errno);
		values->comp_mask |= IBV_VALUES_MASK_RAW_CLOCK;
	}
	return asked & ~(uint32_t)IBV_VALUES_MASK_RAW_CLOCK ? vb_result(-EINVAL) : 0;
}

void vb_query_ops(struct vb_context *c)
{
	c->verbs.query_port = query_port;
	c->verbs.query_device_ex = query_device_ex;
	c->verbs.query_rt_values = query_rt_values;
}
