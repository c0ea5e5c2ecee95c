/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fi_getinfo(): the parts that wf_info.c and wf_hints.c share.
 */
#ifndef WEFT_FI_WF_INFO_H
#define WEFT_FI_WF_INFO_H

#include "host_driver/fabric/fi_weft.h"

/* fi_ep_attr.mem_tag_format: 64 bits, each a field of its own. */
#define WF_TAG_FORMAT UINT64_C(0xaaaaaaaaaaaaaaaa)

/* A NIC as its weftd describes it. */
struct wf_nic {
	char name[32];
	struct weft_device_attr device;
	struct weft_port_attr port;
};

/* Describes all that the NIC offers to reliable endpoints (FI_EP_RDM); NULL: no memory. */
struct fi_info *wf_info_base(const struct wf_nic *nic);
/* The same for datagram endpoints (FI_EP_DGRAM). */
struct fi_info *wf_info_dgram(const struct wf_nic *nic);
/* Writes the name of the fabric: the NIC's IP network. */
void wf_info_fabric_name(const struct weft_port_attr *port, char *name, size_t size);
/*
 * Cuts the description down to the hints (NULL: none). 0; -FI_ENODATA: the NIC does not meet them,
 * which the log explains.
 */
int wf_hints_apply(struct fi_info *info, uint32_t version, const struct fi_info *hints);

#endif /* WEFT_FI_WF_INFO_H */
