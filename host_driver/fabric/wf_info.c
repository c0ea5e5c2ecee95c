/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fi_getinfo(): describes each NIC as one fi_info of reliable endpoints (FI_EP_RDM) and one of
 * datagram endpoints (FI_EP_DGRAM), cut down to what the hints ask for. wf_hints.c compares them.
 * fi_getinfo(3), fi_endpoint(3).
 */
#include "host_driver/fabric/wf_info.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"

enum {
	RECENT_MS = 1000
};

/*
 * The flag of libfabric's utility providers when they look for a provider to stand on
 * (OFI_CORE_PROV_ONLY, not in the public headers). ofi_rxd would take datagram endpoints, and stand
 * before this provider's reliable ones in fi_getinfo()'s list.
 */
#define UTILITY_ASKS (UINT64_C(1) << 59)

/* Asks a NIC for its limits and its address. False: it does not answer. */
static bool nic_query(const char *name, struct wf_nic *nic)
{
	struct weft_context *context = weft_open_tool(name);
	bool ok;

	if (!context) {
		WF_INFO(FI_LOG_CORE, "%s: %s\n", name, strerror(errno));
		return false;
	}
	snprintf(nic->name, sizeof(nic->name), "%s", context->name);
	ok = weft_query_device(context, &nic->device) == 0 &&
	     weft_query_port(context, &nic->port) == 0;
	weft_close_device(context);
	return ok;
}

void wf_info_fabric_name(const struct weft_port_attr *port, char *name, size_t size)
{
	uint32_t mask = port->ip_prefix ? htonl(~UINT32_C(0) << (32 - port->ip_prefix)) : 0;
	struct in_addr net = {port->ip & mask};
	char text[INET_ADDRSTRLEN];

	inet_ntop(AF_INET, &net, text, sizeof(text));
	snprintf(name, size, "%s/%u", text, port->ip_prefix);
}

static void fill_tx(struct fi_tx_attr *tx, const struct weft_device_attr *device)
{
	tx->caps = WF_TX_CAPS;
	tx->msg_order = WF_ORDER;
	tx->comp_order = FI_ORDER_NONE;
	tx->inject_size =
	    device->max_inline_bytes < WF_INJECT_BYTES ? device->max_inline_bytes : WF_INJECT_BYTES;
	tx->size = device->max_wr < WF_TX_SIZE ? device->max_wr : WF_TX_SIZE;
	tx->iov_limit = device->max_sge < WF_IOV ? device->max_sge : WF_IOV;
	tx->rma_iov_limit = 1;
}

static void fill_rx(struct fi_rx_attr *rx, const struct weft_device_attr *device)
{
	rx->caps = WF_RX_CAPS;
	rx->msg_order = WF_ORDER;
	rx->comp_order = FI_ORDER_NONE;
	rx->size = device->max_wr < WF_RX_SIZE ? device->max_wr : WF_RX_SIZE;
	rx->iov_limit = device->max_sge < WF_IOV ? device->max_sge : WF_IOV;
}

static void fill_domain(struct fi_domain_attr *domain, const struct weft_device_attr *device)
{
	domain->threading = FI_THREAD_SAFE;
	domain->control_progress = FI_PROGRESS_AUTO;
	domain->data_progress = FI_PROGRESS_AUTO;
	domain->resource_mgmt = FI_RM_ENABLED;
	domain->av_type = FI_AV_UNSPEC;
	domain->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	domain->mr_key_size = sizeof(uint32_t);
	domain->cq_data_size = sizeof(uint64_t);
	domain->cq_cnt = device->max_cq;
	domain->ep_cnt = device->max_qp;
	domain->tx_ctx_cnt = device->max_qp;
	domain->rx_ctx_cnt = device->max_qp;
	domain->max_ep_tx_ctx = 1;
	domain->max_ep_rx_ctx = 1;
	domain->max_ep_stx_ctx = device->max_qp;
	domain->max_ep_srx_ctx = device->max_qp - 1; /* the context is one */
	domain->cntr_cnt = SIZE_MAX;
	domain->mr_iov_limit = 1;
	domain->mr_cnt = device->max_mr;
	domain->caps = WF_DOMAIN_CAPS;
	domain->tclass = FI_TC_UNSPEC;
}

struct fi_info *wf_info_base(const struct wf_nic *nic)
{
	struct fi_info *info = fi_allocinfo();
	struct sockaddr_in *src = calloc(1, sizeof(*src));
	char name[64];

	if (!info || !src)
		goto no_memory;
	wf_info_fabric_name(&nic->port, name, sizeof(name));
	info->fabric_attr->name = strdup(name);
	info->domain_attr->name = strdup(nic->name);
	if (!info->fabric_attr->name || !info->domain_attr->name)
		goto no_memory;
	info->caps = WF_TX_CAPS | WF_RX_CAPS | WF_DOMAIN_CAPS;
	info->addr_format = FI_SOCKADDR_IN;
	*src = wf_addr_out((struct wf_addr){nic->port.ip, 0});
	info->src_addr = src;
	info->src_addrlen = sizeof(*src);
	info->ep_attr->type = FI_EP_RDM;
	info->ep_attr->protocol = WF_PROTO;
	info->ep_attr->protocol_version = 1;
	info->ep_attr->max_msg_size = nic->device.max_msg_bytes;
	info->ep_attr->mem_tag_format = WF_TAG_FORMAT;
	info->ep_attr->tx_ctx_cnt = 1;
	info->ep_attr->rx_ctx_cnt = 1;
	fill_tx(info->tx_attr, &nic->device);
	fill_rx(info->rx_attr, &nic->device);
	fill_domain(info->domain_attr, &nic->device);
	return info;
no_memory:
	free(src);
	fi_freeinfo(info);
	return NULL;
}

struct fi_info *wf_info_dgram(const struct wf_nic *nic)
{
	struct fi_info *info = wf_info_base(nic);

	if (!info)
		return NULL;
	info->caps = WF_DGRAM_TX_CAPS | WF_DGRAM_RX_CAPS | WF_DOMAIN_CAPS;
	info->ep_attr->type = FI_EP_DGRAM;
	info->ep_attr->protocol = WF_PROTO_DGRAM;
	info->ep_attr->max_msg_size = nic->device.max_ud_long_bytes;
	info->ep_attr->mem_tag_format = 0;
	info->tx_attr->caps = WF_DGRAM_TX_CAPS;
	info->tx_attr->msg_order = FI_ORDER_NONE;
	info->tx_attr->rma_iov_limit = 0;
	info->rx_attr->caps = WF_DGRAM_RX_CAPS;
	info->rx_attr->msg_order = FI_ORDER_NONE;
	info->domain_attr->cq_data_size = sizeof(uint32_t);
	info->domain_attr->max_ep_stx_ctx = 0;
	info->domain_attr->max_ep_srx_ctx = 0;
	return info;
}

/* True for the address of an endpoint, or of a group that the endpoint may join. */
static bool is_dest(const struct fi_info *info, const struct sockaddr_in *sin)
{
	struct wf_addr addr;

	return wf_addr_in(sin, &addr) ||
	       ((info->caps & FI_MULTICAST) && sin->sin_family == AF_INET &&
		IN_MULTICAST(ntohl(sin->sin_addr.s_addr)));
}

/* Takes what the caller knows of the peer: node and service, or the hints' address. */
static int set_dest(struct fi_info *info, const char *node, const char *service, uint64_t flags,
		    const struct fi_info *hints, uint32_t ip)
{
	bool named = (node || service) && !(flags & FI_SOURCE);
	struct sockaddr_in sin, *dest;
	struct wf_addr addr;
	int rc;

	if (named) {
		rc = wf_addr_resolve(node, service, flags, ip, &addr);
		if (rc)
			return rc;
		sin = wf_addr_out(addr);
	} else if (hints && hints->dest_addr) {
		if (hints->dest_addrlen < sizeof(sin))
			return -FI_ENODATA;
		memcpy(&sin, hints->dest_addr, sizeof(sin));
		if (wf_addr_in(&sin, &addr))
			sin = wf_addr_out(addr);
	} else {
		return 0;
	}
	if (!is_dest(info, &sin))
		return -FI_ENODATA;
	dest = malloc(sizeof(*dest));
	if (!dest)
		return -FI_ENOMEM;
	*dest = sin;
	info->dest_addr = dest;
	info->dest_addrlen = sizeof(*dest);
	return 0;
}

/* True if the caller wants this NIC: by its address as source, or by the hints' address. */
static bool is_source(const struct wf_nic *nic, const char *node, const char *service,
		      uint64_t flags, const struct fi_info *hints)
{
	struct wf_addr addr = {0, 0};

	if ((flags & FI_SOURCE) && node) {
		if (wf_addr_resolve(node, NULL, flags, 0, &addr) != 0)
			return false;
	} else if (hints && hints->src_addr) {
		if (hints->src_addrlen < sizeof(struct sockaddr_in) ||
		    !wf_addr_in(hints->src_addr, &addr))
			return false;
	}
	if ((flags & FI_SOURCE) && service)
		WF_INFO(FI_LOG_CORE, "service '%s': the NIC chooses the endpoint's number\n",
			service);
	return addr.ip == 0 || addr.ip == nic->port.ip;
}

/* Adds a description of the NIC to the list, if it is what the hints want. */
static int add_nic(const struct wf_nic *nic, bool dgram, uint32_t version, const char *node,
		   const char *service, uint64_t flags, const struct fi_info *hints,
		   struct fi_info ***tail)
{
	struct fi_info *info;
	int rc;

	if (!is_source(nic, node, service, flags, hints))
		return -FI_ENODATA;
	info = dgram ? wf_info_dgram(nic) : wf_info_base(nic);
	if (!info)
		return -FI_ENOMEM;
	rc = wf_hints_apply(info, version, hints);
	if (!rc)
		rc = set_dest(info, node, service, flags, hints, nic->port.ip);
	if (rc) {
		fi_freeinfo(info);
		return rc;
	}
	**tail = info;
	*tail = &info->next;
	return 0;
}

/* Asks all NICs that WEFT_DEVICE allows. Their number; *out is allocated. */
static size_t query_all(struct wf_nic **out)
{
	const char *only = getenv("WEFT_DEVICE");
	struct weft_device *list = NULL;
	int i, count = weft_get_device_list(&list);
	struct wf_nic *nics;
	size_t n = 0;

	*out = NULL;
	if (count <= 0)
		return 0;
	nics = calloc((size_t)count, sizeof(*nics));
	for (i = 0; nics && i < count; i++) {
		if (only && *only && strcmp(only, list[i].name) != 0 &&
		    strcmp(only, list[i].path) != 0)
			continue;
		if (nic_query(list[i].name, &nics[n]))
			n++;
	}
	weft_free_device_list(list);
	*out = nics;
	return n;
}

/* Copies what the NICs said last, if that is recent: programs call fi_getinfo() many times. */
static size_t nics_now(struct wf_nic **out)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct wf_nic *nics;
	static size_t count;
	static int64_t until_ms;
	int64_t now_ms = (int64_t)clock_now_ms();
	size_t n;

	pthread_mutex_lock(&lock);
	if (now_ms >= until_ms || !count) {
		free(nics);
		count = query_all(&nics);
		until_ms = now_ms + RECENT_MS;
	}
	n = count;
	*out = n ? malloc(n * sizeof(**out)) : NULL;
	if (*out)
		memcpy(*out, nics, n * sizeof(**out));
	else
		n = 0;
	pthread_mutex_unlock(&lock);
	return n;
}

int wf_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
	       const struct fi_info *hints, struct fi_info **info)
{
	struct fi_info **tail = info;
	struct wf_nic *nics;
	size_t i, count = nics_now(&nics);
	int rc = 0, dgram, last = !(flags & UTILITY_ASKS);

	*info = NULL;
	for (i = 0; i < count && rc != -FI_ENOMEM; i++) {
		if (hints && hints->domain_attr && hints->domain_attr->name &&
		    strcmp(hints->domain_attr->name, nics[i].name) != 0)
			continue;
		for (dgram = 0; dgram <= last && rc != -FI_ENOMEM; dgram++)
			rc = add_nic(&nics[i], dgram, version, node, service, flags, hints, &tail);
	}
	free(nics);
	if (rc == -FI_ENOMEM) {
		fi_freeinfo(*info);
		*info = NULL;
		return rc;
	}
	return *info ? 0 : -FI_ENODATA;
}
