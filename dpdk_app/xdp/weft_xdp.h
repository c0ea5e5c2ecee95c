/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the XDP program and weftd have in common: its variables and maps.
 *
 * Used by weft_xdp.bpf.c in the kernel, by dpdk_app/wire/xdp.c and by its test. Fixed-size,
 * little-endian.
 */
#ifndef WEFT_APP_WEFT_XDP_H
#define WEFT_APP_WEFT_XDP_H

/* No <stdint.h>: clang's BPF target has none of its own. */
#include <linux/types.h>

/* Variable weft_conf; all zero: nothing is taken. Each field is stored on its own. */
struct weft_xdp_conf {
	__u32 ip;         /* of the NIC, network byte order */
	__u32 all_groups; /* map weft_groups has no room: every group is the NIC's */
	__u32
	    shared; /* the address is the kernel's, too: of TCP weft_tcp_ports alone is the NIC's */
};

/*
 * Entries of map weft_count, per CPU; names: xdp.c. In groups: what is taken, what is the kernel's,
 * what nobody gets.
 */
enum weft_xdp_count {
	WEFT_XDP_TAKEN_UDP,
	WEFT_XDP_TAKEN_TCP,
	WEFT_XDP_TAKEN_ARP,
	WEFT_XDP_TAKEN_ICMP,
	WEFT_XDP_TAKEN_ESP,
	WEFT_XDP_TAKEN_GROUP,

	WEFT_XDP_PASSED_IDLE,     /* weftd has not said yet what is to be taken */
	WEFT_XDP_PASSED_TYPE,     /* another EtherType: IPv6, VLAN tags */
	WEFT_XDP_PASSED_SHORT,    /* cut off before it says whose it is */
	WEFT_XDP_PASSED_ARP,      /* about another address, or a shared one */
	WEFT_XDP_PASSED_ADDRESS,  /* to another address */
	WEFT_XDP_PASSED_GROUP,    /* to a group, and not a datagram to one of the NIC's */
	WEFT_XDP_PASSED_PROTO,    /* a protocol, or a message of ICMP, that is not the NIC's */
	WEFT_XDP_PASSED_PORT,     /* a port of UDP or TCP that is not the NIC's */
	WEFT_XDP_PASSED_FRAGMENT, /* of the kernel's, where the address is shared */
	WEFT_XDP_PASSED_HEADER,   /* the same for a header that is wrong */

	/* To the NIC's address, which is not the kernel's: */
	WEFT_XDP_DROPPED_FRAGMENT,  /* the NIC takes none */
	WEFT_XDP_DROPPED_HEADER,    /* of IPv4, wrong */
	WEFT_XDP_DROPPED_SHORT,     /* cut off in a header */
	WEFT_XDP_DROPPED_NO_SOCKET, /* the NIC's, on a queue that it does not read */

	WEFT_XDP_COUNTS,
	WEFT_XDP_PASSED_FIRST = WEFT_XDP_PASSED_IDLE,
	WEFT_XDP_DROPPED_FIRST = WEFT_XDP_DROPPED_FRAGMENT,
};

/* The one entry of map weft_count. */
struct weft_xdp_counts {
	__u64 n[WEFT_XDP_COUNTS];
};

enum {
	WEFT_XDP_QUEUES = 64,    /* entries of map xsks_map */
	WEFT_XDP_GROUPS = 16384, /* entries of map weft_groups: IPv4 groups, network byte order */
	WEFT_XDP_PORTS = 65536,  /* of variable weft_tcp_ports: not 0 while the NIC has the port */
};

#endif /* WEFT_APP_WEFT_XDP_H */
