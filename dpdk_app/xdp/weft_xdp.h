/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Variables and maps shared by the XDP program and weftd.
 *
 * weft_xdp.bpf.c uses it in the kernel, dpdk_app/wire/xdp.c and the test in weftd. Fixed-size,
 * little-endian.
 */
#ifndef WEFT_APP_WEFT_XDP_H
#define WEFT_APP_WEFT_XDP_H

/* No <stdint.h>: clang's BPF target lacks it. */
#include <linux/types.h>

/* Variable weft_conf; all zero: no frame is taken. Each field is stored separately. */
struct weft_xdp_conf {
	__u32 ip;         /* the NIC's address, network byte order */
	__u32 all_groups; /* map weft_groups is full: every group is the NIC's */
	__u32 shared;     /* the address is also the kernel's; TCP: only weft_tcp_ports */
};

/*
 * Entries of map weft_count, per CPU; names: xdp.c. Grouped by frames taken, left to the kernel,
 * and dropped.
 */
enum weft_xdp_count {
	WEFT_XDP_TAKEN_UDP,
	WEFT_XDP_TAKEN_TCP,
	WEFT_XDP_TAKEN_ARP,
	WEFT_XDP_TAKEN_ICMP,
	WEFT_XDP_TAKEN_ESP,
	WEFT_XDP_TAKEN_GROUP,

	WEFT_XDP_PASSED_IDLE,     /* weftd has not configured the program yet */
	WEFT_XDP_PASSED_TYPE,     /* another EtherType: IPv6, VLAN tags */
	WEFT_XDP_PASSED_SHORT,    /* too short to determine its owner */
	WEFT_XDP_PASSED_ARP,      /* for another address, or a shared one */
	WEFT_XDP_PASSED_ADDRESS,  /* to another address */
	WEFT_XDP_PASSED_GROUP,    /* to a group, but not a datagram to one of the NIC's */
	WEFT_XDP_PASSED_PROTO,    /* a protocol or ICMP message that is not the NIC's */
	WEFT_XDP_PASSED_PORT,     /* a UDP or TCP port that is not the NIC's */
	WEFT_XDP_PASSED_FRAGMENT, /* the kernel's, at a shared address */
	WEFT_XDP_PASSED_HEADER,   /* likewise, with an invalid header */

	/* To the NIC's address, not shared with the kernel: */
	WEFT_XDP_DROPPED_FRAGMENT,  /* the NIC accepts no fragments */
	WEFT_XDP_DROPPED_HEADER,    /* invalid IPv4 header */
	WEFT_XDP_DROPPED_SHORT,     /* truncated header */
	WEFT_XDP_DROPPED_NO_SOCKET, /* the NIC's, on a queue that it does not read */

	WEFT_XDP_COUNTS,
	WEFT_XDP_PASSED_FIRST = WEFT_XDP_PASSED_IDLE,
	WEFT_XDP_DROPPED_FIRST = WEFT_XDP_DROPPED_FRAGMENT,
};

/* The single entry of map weft_count. */
struct weft_xdp_counts {
	__u64 n[WEFT_XDP_COUNTS];
};

enum {
	WEFT_XDP_QUEUES = 64,    /* entries of map xsks_map */
	WEFT_XDP_GROUPS = 16384, /* entries of map weft_groups: IPv4 groups, network byte order */
	/* Entries of variable weft_tcp_ports: nonzero while the NIC has the port. */
	WEFT_XDP_PORTS = 65536,
};

#endif /* WEFT_APP_WEFT_XDP_H */
