/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fi_getinfo(): what a NIC offers, and what it says to hints that it meets and that it does not.
 */
#include <arpa/inet.h>
#include <stdio.h>

#include "host_driver/fabric/wf_info.h"
#include "tests/ut.h"

static const struct wf_nic nic = {
    .name = "weft0",
    .device = {.max_qp = 100,
	       .max_cq = 100,
	       .max_mr = 100,
	       .max_wr = 8192,
	       .max_sge = 16,
	       .max_inline_bytes = 512,
	       .max_ud_long_bytes = 65536,
	       .max_msg_bytes = UINT64_C(1) << 30},
    .port = {.ip_prefix = 24, .ip = 0},
};

/* Applies hints to a fresh description; *info must be freed if the result is 0. */
static int apply(const struct fi_info *hints, struct fi_info **info)
{
	int rc;

	*info = wf_info_base(&nic);
	CU_ASSERT_PTR_NOT_NULL_FATAL(*info);
	rc = wf_hints_apply(*info, FI_VERSION(1, 17), hints);
	if (rc)
		fi_freeinfo(*info);
	return rc;
}

static struct fi_info *hints_new(uint64_t caps)
{
	struct fi_info *hints = fi_allocinfo();

	CU_ASSERT_PTR_NOT_NULL_FATAL(hints);
	hints->caps = caps;
	hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	return hints;
}

static void all(void)
{
	struct fi_info *info;

	CU_ASSERT_EQUAL_FATAL(apply(NULL, &info), 0);
	CU_ASSERT_EQUAL(info->caps, WF_TX_CAPS | WF_RX_CAPS | WF_DOMAIN_CAPS);
	CU_ASSERT_EQUAL(info->ep_attr->mem_tag_format & WF_NOTE_TAG, 0);
	CU_ASSERT_EQUAL(info->mode, 0);
	CU_ASSERT_EQUAL(info->tx_attr->inject_size, 512);
	fi_freeinfo(info);
}

/* The hints of Open MPI's mtl ofi. */
static void tagged_only(void)
{
	struct fi_info *hints = hints_new(FI_MSG | FI_TAGGED | FI_DIRECTED_RECV), *info;

	hints->mode = FI_CONTEXT;
	hints->domain_attr->mr_mode = 0;
	hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
	hints->domain_attr->av_type = FI_AV_MAP;
	hints->tx_attr->msg_order = FI_ORDER_SAS;
	hints->rx_attr->msg_order = FI_ORDER_SAS;
	hints->rx_attr->op_flags = FI_COMPLETION;
	CU_ASSERT_EQUAL_FATAL(apply(hints, &info), 0);
	CU_ASSERT_EQUAL(info->caps & (FI_RMA | FI_ATOMIC | FI_REMOTE_WRITE), 0);
	CU_ASSERT_EQUAL(info->caps & (FI_SEND | FI_RECV), FI_SEND | FI_RECV);
	CU_ASSERT_EQUAL(info->domain_attr->mr_mode, 0);
	/* without RMA all 64 bits are the application's */
	CU_ASSERT_NOT_EQUAL(info->ep_attr->mem_tag_format & WF_NOTE_TAG, 0);
	CU_ASSERT_EQUAL(info->domain_attr->av_type, FI_AV_MAP);
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

/* The NIC carries atomics out: no thread of the program has to. */
static void progress(void)
{
	struct fi_info *hints = hints_new(FI_ATOMIC), *info;

	CU_ASSERT_EQUAL_FATAL(apply(hints, &info), 0);
	CU_ASSERT_EQUAL(info->domain_attr->data_progress, FI_PROGRESS_AUTO);
	fi_freeinfo(info);
	hints->domain_attr->data_progress = FI_PROGRESS_AUTO;
	hints->domain_attr->control_progress = FI_PROGRESS_AUTO;
	CU_ASSERT_EQUAL_FATAL(apply(hints, &info), 0);
	CU_ASSERT_EQUAL(info->caps & FI_ATOMIC, FI_ATOMIC);
	CU_ASSERT_EQUAL(info->domain_attr->data_progress, FI_PROGRESS_AUTO);
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

static void registration(void)
{
	struct fi_info *hints = hints_new(FI_RMA), *info;

	CU_ASSERT_EQUAL_FATAL(apply(hints, &info), 0);
	CU_ASSERT(info->domain_attr->mr_mode & FI_MR_VIRT_ADDR);
	fi_freeinfo(info);
	/* addresses from 0, for those that do not know FI_MR_VIRT_ADDR */
	hints->domain_attr->mr_mode = FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	CU_ASSERT_EQUAL_FATAL(apply(hints, &info), 0);
	CU_ASSERT_EQUAL(info->domain_attr->mr_mode, FI_MR_ALLOCATED | FI_MR_PROV_KEY);
	fi_freeinfo(info);
	hints->domain_attr->mr_mode = FI_MR_BASIC;
	CU_ASSERT_EQUAL_FATAL(apply(hints, &info), 0);
	CU_ASSERT_EQUAL(info->domain_attr->mr_mode, FI_MR_BASIC);
	fi_freeinfo(info);
	/* keys of the application's choice: refused if RMA is asked for, else RMA is left out */
	hints->domain_attr->mr_mode = FI_MR_ALLOCATED;
	CU_ASSERT_EQUAL(apply(hints, &info), -FI_ENODATA);
	hints->caps = 0;
	CU_ASSERT_EQUAL_FATAL(apply(hints, &info), 0);
	CU_ASSERT_EQUAL(info->caps & (FI_RMA | FI_ATOMIC), 0);
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

/* Each change of the hints alone is refused. */
static void refused(void)
{
	struct fi_info *hints = hints_new(FI_MSG), *info;

#define REFUSED(field, value)                                                                      \
	do {                                                                                       \
		hints->field = (value);                                                            \
		CU_ASSERT_EQUAL(apply(hints, &info), -FI_ENODATA);                                 \
		hints->field = 0;                                                                  \
	} while (0)

	REFUSED(ep_attr->type, FI_EP_MSG);
	REFUSED(ep_attr->type, FI_EP_DGRAM);
	REFUSED(ep_attr->protocol, FI_PROTO_RXM);
	REFUSED(ep_attr->max_msg_size, nic.device.max_msg_bytes + 1);
	REFUSED(ep_attr->tx_ctx_cnt, 2);
	REFUSED(ep_attr->rx_ctx_cnt, 2);
	REFUSED(domain_attr->max_ep_stx_ctx, nic.device.max_qp + 1);
	REFUSED(domain_attr->max_ep_srx_ctx, nic.device.max_qp);
	REFUSED(tx_attr->msg_order, FI_ORDER_WAW);
	REFUSED(tx_attr->comp_order, FI_ORDER_STRICT);
	REFUSED(tx_attr->inject_size, 513);
	REFUSED(tx_attr->iov_limit, WF_IOV + 1);
	REFUSED(tx_attr->rma_iov_limit, 2);
	REFUSED(tx_attr->op_flags, FI_COMMIT_COMPLETE);
	REFUSED(rx_attr->msg_order, FI_ORDER_RAS);
	REFUSED(rx_attr->op_flags, FI_DELIVERY_COMPLETE);
	REFUSED(domain_attr->cq_data_size, 9);
	REFUSED(domain_attr->mr_iov_limit, 2);
	REFUSED(addr_format, FI_SOCKADDR_IN6);
	REFUSED(caps, FI_MULTICAST);
	REFUSED(caps, FI_RMA_EVENT);
	REFUSED(caps, FI_HMEM);
	CU_ASSERT_EQUAL_FATAL(apply(hints, &info), 0);
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

static void datagrams(void)
{
	struct fi_info *hints = hints_new(FI_MSG | FI_MULTICAST), *info = wf_info_dgram(&nic);

	CU_ASSERT_PTR_NOT_NULL_FATAL(info);
	hints->ep_attr->type = FI_EP_DGRAM;
	CU_ASSERT_EQUAL(wf_hints_apply(info, FI_VERSION(1, 17), hints), 0);
	CU_ASSERT_EQUAL(info->caps & (FI_MULTI_RECV | FI_TAGGED | FI_RMA), 0);
	CU_ASSERT_EQUAL(info->ep_attr->max_msg_size, nic.device.max_ud_long_bytes);
	CU_ASSERT_EQUAL(info->domain_attr->cq_data_size, 4);
	CU_ASSERT_EQUAL(info->domain_attr->mr_mode, 0);
	CU_ASSERT_EQUAL(info->ep_attr->msg_prefix_size, 0);
#define DGRAM_REFUSED(field, value)                                                                \
	do {                                                                                       \
		fi_freeinfo(info);                                                                 \
		info = wf_info_dgram(&nic);                                                        \
		hints->field = (value);                                                            \
		CU_ASSERT_EQUAL(wf_hints_apply(info, FI_VERSION(1, 17), hints), -FI_ENODATA);      \
		hints->field = 0;                                                                  \
	} while (0)
	DGRAM_REFUSED(caps, FI_TAGGED);
	DGRAM_REFUSED(caps, FI_RMA);
	DGRAM_REFUSED(caps, FI_MULTI_RECV);
	DGRAM_REFUSED(caps, FI_DIRECTED_RECV);
	DGRAM_REFUSED(tx_attr->op_flags, FI_DELIVERY_COMPLETE);
	DGRAM_REFUSED(tx_attr->msg_order, FI_ORDER_SAS);
	DGRAM_REFUSED(domain_attr->cq_data_size, 8);
	DGRAM_REFUSED(ep_attr->type, FI_EP_RDM);
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

static void names(void)
{
	struct fi_info *hints = hints_new(FI_MSG), *info;
	struct weft_port_attr port = {.ip_prefix = 24, .ip = htonl(0x0a4d0002)};
	char name[64];

	wf_info_fabric_name(&port, name, sizeof(name));
	CU_ASSERT_STRING_EQUAL(name, "10.77.0.0/24");
	hints->fabric_attr->name = strdup("10.78.0.0/24");
	CU_ASSERT_EQUAL(apply(hints, &info), -FI_ENODATA);
	fi_freeinfo(hints);
}

UT_MAIN("fabric/wf_hints", UT(all), UT(tagged_only), UT(progress), UT(registration), UT(refused),
	UT(datagrams), UT(names))
