/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the XDP program and weftd have in common: its maps.
 *
 * Used by weft_xdp.bpf.c in the kernel and by dpdk_app/xdp.c. Fixed-size, little-endian.
 */
#ifndef WEFT_APP_WEFT_XDP_H
#define WEFT_APP_WEFT_XDP_H

/* No <stdint.h>: clang's BPF target has none of its own. */
#include <linux/types.h>

/* The one entry of map weft_conf; all zero: nothing is taken. */
struct weft_xdp_conf {
	__u32 ip;         /* of the NIC, network byte order */
	__u32 all_groups; /* map weft_groups has no room: every group is the NIC's */
};

/* Entries of map weft_count, per CPU. */
enum weft_xdp_count {
	WEFT_XDP_TAKEN_UDP,
	WEFT_XDP_TAKEN_TCP,
	WEFT_XDP_TAKEN_ARP,
	WEFT_XDP_TAKEN_ICMP,
	WEFT_XDP_TAKEN_ESP,
	WEFT_XDP_TAKEN_GROUP,
	WEFT_XDP_PASSED,
	WEFT_XDP_COUNTS,
};

enum {
	WEFT_XDP_QUEUES = 64,    /* entries of map xsks_map */
	WEFT_XDP_GROUPS = 16384, /* entries of map weft_groups: IPv4 groups, network byte order */
};

#endif /* WEFT_APP_WEFT_XDP_H */
