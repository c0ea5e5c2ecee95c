/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fi_getinfo(): cuts the description of a NIC down to an application's hints, or finds that they
 * cannot be met. fi_getinfo(3), fi_domain(3), fi_mr(3).
 */
#include "host_driver/fabric/wf_info.h"

#include <string.h>

/* Refuses a hint, with a word to whoever runs with FI_LOG_LEVEL=info. */
#define REFUSE(...)                                                                                \
	do {                                                                                       \
		WF_INFO(FI_LOG_CORE, __VA_ARGS__);                                                 \
		return -FI_ENODATA;                                                                \
	} while (0)

#define KINDS     (FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_MULTICAST | FI_COLLECTIVE)
#define DIRECTION (FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)
/* Capabilities that cost nothing: given without a request. */
#define FREE_CAPS (FI_MULTI_RECV | WF_DOMAIN_CAPS)

/* Adds the directions that a request without any implies. */
static uint64_t expand_caps(uint64_t caps)
{
	if ((caps & (FI_MSG | FI_TAGGED | FI_MULTICAST | FI_COLLECTIVE)) &&
	    !(caps & (FI_SEND | FI_RECV)))
		caps |= FI_SEND | FI_RECV;
	if ((caps & (FI_RMA | FI_ATOMIC)) &&
	    !(caps & (FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)))
		caps |= FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
	return caps;
}

static int apply_caps(struct fi_info *info, const struct fi_info *hints)
{
	uint64_t caps = hints->caps, all = info->caps;

	if (caps & ~info->caps)
		REFUSE("capabilities 0x%llx are not supported\n",
		       (unsigned long long)(caps & ~info->caps));
	if (!caps)
		return 0;
	info->caps = expand_caps(caps) | (FREE_CAPS & all);
	if (!(info->caps & KINDS))
		info->caps |= (KINDS | DIRECTION) & all;
	if (!(info->caps & (FI_MSG | FI_TAGGED)))
		info->caps &= ~(uint64_t)FI_MULTI_RECV;
	return 0;
}

/* One context, or one that endpoints share. False: more, or datagram endpoints, which share none.
 */
static bool apply_count(const struct fi_info *info, size_t hint, size_t *count)
{
	if (hint == FI_SHARED_CONTEXT && info->ep_attr->type == FI_EP_RDM)
		*count = FI_SHARED_CONTEXT;
	else if (hint > *count)
		return false;
	return true;
}

/* Joins receive from one endpoint of a process, so a shared context does not go with them. */
static int apply_shared(struct fi_info *info, const struct fi_info *hints)
{
	if (info->ep_attr->rx_ctx_cnt != FI_SHARED_CONTEXT)
		return 0;
	if (hints->caps & FI_COLLECTIVE)
		REFUSE("endpoints of a shared receive context have no collectives\n");
	info->caps &= ~(uint64_t)FI_COLLECTIVE;
	return 0;
}

static int apply_ep(struct fi_info *info, const struct fi_ep_attr *hint)
{
	struct fi_ep_attr *ep = info->ep_attr;

	if (!hint)
		return 0;
	if (hint->type != FI_EP_UNSPEC && hint->type != ep->type)
		REFUSE("endpoints are FI_EP_RDM or FI_EP_DGRAM\n");
	if (hint->protocol != FI_PROTO_UNSPEC && hint->protocol != ep->protocol)
		REFUSE("another protocol is asked for\n");
	if (hint->max_msg_size > ep->max_msg_size)
		REFUSE("messages have at most %zu bytes\n", ep->max_msg_size);
	if (hint->msg_prefix_size)
		REFUSE("messages have no prefix\n");
	if (hint->max_order_raw_size || hint->max_order_war_size || hint->max_order_waw_size)
		REFUSE("RDMA has no order of data\n");
	if (!apply_count(info, hint->tx_ctx_cnt, &ep->tx_ctx_cnt) ||
	    !apply_count(info, hint->rx_ctx_cnt, &ep->rx_ctx_cnt))
		REFUSE("an endpoint has one transmit and one receive context\n");
	if (hint->auth_key_size)
		REFUSE("there are no authorization keys\n");
	return 0;
}

/* The highest bit of the tag marks messages of the provider: the data of RDMA Writes, joins. */
static int apply_tag(struct fi_info *info, const struct fi_ep_attr *hint)
{
	struct fi_ep_attr *ep = info->ep_attr;

	/* Datagrams have no tags. */
	if (ep->type == FI_EP_DGRAM)
		return 0;
	if (info->caps & WF_OWN_TAGS)
		ep->mem_tag_format = WF_TAG_FORMAT & ~WF_NOTE_TAG;
	if (!hint || !hint->mem_tag_format)
		return 0;
	if ((info->caps & WF_OWN_TAGS) && (hint->mem_tag_format & WF_NOTE_TAG)) {
		if (hint->mem_tag_format != WF_TAG_FORMAT)
			REFUSE("tags have 63 bits beside RMA and collectives\n");
		return 0;
	}
	ep->mem_tag_format = hint->mem_tag_format;
	return 0;
}

static int apply_tx(struct fi_info *info, const struct fi_tx_attr *hint)
{
	uint64_t flags = info->ep_attr->type == FI_EP_DGRAM ? WF_DGRAM_TX_FLAGS : WF_TX_FLAGS;
	struct fi_tx_attr *tx = info->tx_attr;

	tx->caps &= info->caps;
	if (!hint)
		return 0;
	if (expand_caps(hint->caps) & ~(info->caps | WF_RX_CAPS))
		REFUSE("transmit capabilities 0x%llx are not supported\n",
		       (unsigned long long)hint->caps);
	if (hint->caps)
		tx->caps &= expand_caps(hint->caps);
	if (hint->op_flags & ~flags)
		REFUSE("transmit flags 0x%llx are not supported\n",
		       (unsigned long long)(hint->op_flags & ~flags));
	if (hint->msg_order & ~tx->msg_order)
		REFUSE("message order 0x%llx is not kept\n",
		       (unsigned long long)(hint->msg_order & ~tx->msg_order));
	if (hint->comp_order & ~tx->comp_order & ~(uint64_t)FI_ORDER_DATA)
		REFUSE("completions come in any order\n");
	if (hint->inject_size > tx->inject_size)
		REFUSE("at most %zu bytes are injected\n", tx->inject_size);
	if (hint->size > tx->size)
		REFUSE("a transmit queue has at most %zu requests\n", tx->size);
	if (hint->iov_limit > tx->iov_limit || hint->rma_iov_limit > tx->rma_iov_limit)
		REFUSE("a request has at most %zu pieces, and one remote piece\n", tx->iov_limit);
	tx->op_flags = hint->op_flags;
	if (hint->size)
		tx->size = hint->size;
	return 0;
}

static int apply_rx(struct fi_info *info, const struct fi_rx_attr *hint)
{
	uint64_t flags = info->ep_attr->type == FI_EP_DGRAM ? WF_DGRAM_RX_FLAGS : WF_RX_FLAGS;
	struct fi_rx_attr *rx = info->rx_attr;

	rx->caps &= info->caps;
	if (!hint)
		return 0;
	if (expand_caps(hint->caps) & ~(info->caps | WF_TX_CAPS))
		REFUSE("receive capabilities 0x%llx are not supported\n",
		       (unsigned long long)hint->caps);
	if (hint->caps)
		rx->caps &= expand_caps(hint->caps);
	if (hint->op_flags & ~flags)
		REFUSE("receive flags 0x%llx are not supported\n",
		       (unsigned long long)(hint->op_flags & ~flags));
	if (hint->msg_order & ~rx->msg_order)
		REFUSE("message order 0x%llx is not kept\n",
		       (unsigned long long)(hint->msg_order & ~rx->msg_order));
	if (hint->comp_order & ~rx->comp_order & ~(uint64_t)FI_ORDER_DATA)
		REFUSE("completions come in any order\n");
	if (hint->iov_limit > rx->iov_limit)
		REFUSE("a receive has at most %zu pieces\n", rx->iov_limit);
	rx->op_flags = hint->op_flags;
	if (hint->size > rx->size)
		rx->size = hint->size;
	return 0;
}

/* Leaves out what needs registered memory. */
static void drop_rma(struct fi_info *info)
{
	const uint64_t rma =
	    FI_RMA | FI_ATOMIC | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;

	info->caps &= ~rma;
	info->tx_attr->caps &= ~rma;
	info->rx_attr->caps &= ~rma;
}

/*
 * Memory registration: the NIC chooses the keys and registers memory that exists. Addresses are
 * virtual, or offsets if the application does not know FI_MR_VIRT_ADDR. Local buffers need none.
 */
static int apply_mr(struct fi_info *info, uint32_t version, const struct fi_info *hints)
{
	const int needed = FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	int mode = hints->domain_attr ? hints->domain_attr->mr_mode : needed | FI_MR_VIRT_ADDR;
	bool old = FI_VERSION_LT(version, FI_VERSION(1, 5));

	if (!(info->caps & (FI_RMA | FI_ATOMIC))) {
		info->domain_attr->mr_mode = old ? FI_MR_SCALABLE : 0;
		return 0;
	}
	if (mode == FI_MR_BASIC || (old && mode == FI_MR_UNSPEC)) {
		info->domain_attr->mr_mode = FI_MR_BASIC;
		return 0;
	}
	if (!old && (mode & needed) == needed && !(mode & (FI_MR_BASIC | FI_MR_SCALABLE))) {
		info->domain_attr->mr_mode = needed | (mode & FI_MR_VIRT_ADDR);
		return 0;
	}
	if (hints->caps & (FI_RMA | FI_ATOMIC))
		REFUSE("RMA needs FI_MR_ALLOCATED and FI_MR_PROV_KEY\n");
	drop_rma(info);
	info->domain_attr->mr_mode = old ? FI_MR_SCALABLE : 0;
	return 0;
}

static int apply_domain(struct fi_info *info, const struct fi_domain_attr *hint)
{
	struct fi_domain_attr *domain = info->domain_attr;

	if (!hint)
		return 0;
	if (hint->cq_data_size > domain->cq_data_size)
		REFUSE("completions carry at most %zu bytes of data\n", domain->cq_data_size);
	if (hint->mr_iov_limit > domain->mr_iov_limit)
		REFUSE("a memory region is one piece\n");
	if (hint->mr_key_size > sizeof(uint64_t))
		REFUSE("keys have %zu bytes\n", domain->mr_key_size);
	if (hint->caps & ~WF_DOMAIN_CAPS)
		REFUSE("domain capabilities 0x%llx are not supported\n",
		       (unsigned long long)hint->caps);
	if (hint->auth_key_size)
		REFUSE("there are no authorization keys\n");
	if (hint->max_ep_stx_ctx > domain->max_ep_stx_ctx ||
	    hint->max_ep_srx_ctx > domain->max_ep_srx_ctx)
		REFUSE("at most %zu endpoints share a context\n", domain->max_ep_srx_ctx);
	if (hint->max_ep_tx_ctx > 1 || hint->max_ep_rx_ctx > 1)
		REFUSE("there are no scalable endpoints\n");
	if (hint->av_type != FI_AV_UNSPEC)
		domain->av_type = hint->av_type;
	/* A program that drives progress itself may do so. */
	if (hint->control_progress != FI_PROGRESS_UNSPEC)
		domain->control_progress = hint->control_progress;
	if (hint->data_progress != FI_PROGRESS_UNSPEC)
		domain->data_progress = hint->data_progress;
	if (hint->threading != FI_THREAD_UNSPEC)
		domain->threading = hint->threading;
	return 0;
}

static int apply_fabric(const struct fi_info *info, const struct fi_fabric_attr *hint)
{
	if (hint && hint->name && strcmp(hint->name, info->fabric_attr->name) != 0)
		return -FI_ENODATA;
	return 0;
}

int wf_hints_apply(struct fi_info *info, uint32_t version, const struct fi_info *hints)
{
	int rc;

	if (!hints)
		return apply_tag(info, NULL);
	switch (hints->addr_format) {
	case FI_FORMAT_UNSPEC:
	case FI_SOCKADDR:
	case FI_SOCKADDR_IN:
		break;
	default:
		REFUSE("addresses are FI_SOCKADDR_IN\n");
	}
	rc = apply_fabric(info, hints->fabric_attr);
	rc = rc ? rc : apply_caps(info, hints);
	rc = rc ? rc : apply_ep(info, hints->ep_attr);
	rc = rc ? rc : apply_shared(info, hints);
	rc = rc ? rc : apply_tx(info, hints->tx_attr);
	rc = rc ? rc : apply_rx(info, hints->rx_attr);
	rc = rc ? rc : apply_domain(info, hints->domain_attr);
	rc = rc ? rc : apply_mr(info, version, hints);
	rc = rc ? rc : apply_tag(info, hints->ep_attr);
	if (!rc)
		info->handle = hints->handle;
	return rc;
}
