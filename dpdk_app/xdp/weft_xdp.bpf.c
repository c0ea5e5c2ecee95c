/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * XDP program: takes the frames of one weft NIC from an interface and leaves all others to the
 * kernel. The NIC's frames are TCP, UDP datagrams to its ports, ARP, and ICMP echo and unreachable
 * for its address, datagrams to its groups, and the EtherType of the Ethernet Stream Protocol.
 * IGMP, and ARP that concerns other stations too, go to the kernel, from which the NIC gets a copy
 * (wire_netdev_group.c).
 *
 * At an address shared with the kernel, the NIC takes TCP ports with its connections or listeners,
 * and ICMP errors about its own packets; the rest is the kernel's. At an address of its own only
 * the NIC answers. Packets that it cannot accept there (fragments, wrong headers) are dropped here,
 * because a forwarding kernel would send them on or report the host as unreachable.
 *
 * dpdk_app/wire/xdp.c loads it and sets variables and maps. It runs in the driver or as generic
 * XDP, for each received frame, and counts it once. RFC 791, 792, 826, 768, 9293.
 */
#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "dpdk_app/xdp/weft_xdp.h"
#include "shared_defs/wire_dgram.h"
#include "shared_defs/wire_eth.h"
#include "shared_defs/wire_ip.h"
#include "shared_defs/wire_tcp.h"

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, WEFT_XDP_QUEUES);
	__type(key, __u32);
	__type(value, __u32);
} xsks_map SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WEFT_XDP_GROUPS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, __u32);
} weft_groups SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct weft_xdp_counts);
} weft_count SEC(".maps");

/* weftd maps these into its own memory and writes them while the program runs. */
volatile struct weft_xdp_conf weft_conf;
volatile __u8 weft_tcp_ports[WEFT_XDP_PORTS];

/* The remaining part of a frame. */
struct view {
	const void *at;
	const void *end;
};

static __always_inline void count(__u32 what)
{
	const __u32 key = 0;
	struct weft_xdp_counts *counts = bpf_map_lookup_elem(&weft_count, &key);

	if (counts && what < WEFT_XDP_COUNTS)
		counts->n[what]++;
}

static __always_inline int has(struct view v, __u32 bytes)
{
	return v.at + bytes <= v.end;
}

static __always_inline int is_ip(const struct be32 *field, __u32 ip)
{
	return *(const __u32 *)(const void *)field == ip;
}

static __always_inline int is_udp_port(__u16 port)
{
	return port >= WIRE_DGRAM_PORT && port < WIRE_DGRAM_PORT + WIRE_DGRAM_SHARDS;
}

/*
 * Returns the data after the IP header, whose fixed part is present; at is NULL if it is invalid.
 */
static __always_inline struct view behind_ip(const struct wire_ip *iph, const void *end)
{
	struct view v = {NULL, end};
	__u32 bytes = (iph->version_ihl & 0x0fu) * 4u;

	if (iph->version_ihl >> 4 == 4 && bytes >= sizeof(*iph))
		v.at = (const void *)iph + bytes;
	return v;
}

/* Classifies a packet to a group: the NIC takes weft datagrams to groups that it has joined. */
static __always_inline __u32 classify_group(const struct wire_ip *iph, struct view v)
{
	const struct wire_udp *udp = v.at;
	__u32 group = *(const __u32 *)(const void *)&iph->dst;

	if (iph->proto != WIRE_IPPROTO_UDP || !v.at || !has(v, sizeof(*udp)) ||
	    be16_get(iph->frag) & (WIRE_IP_MF | WIRE_IP_FRAG_MASK) ||
	    !is_udp_port(be16_get(udp->dst_port)))
		return WEFT_XDP_PASSED_GROUP;
	if (weft_conf.all_groups || bpf_map_lookup_elem(&weft_groups, &group))
		return WEFT_XDP_TAKEN_GROUP;
	return WEFT_XDP_PASSED_GROUP;
}

/*
 * Returns true if an ICMP error quotes one of the NIC's own packets; the kernel may have sent some
 * too.
 */
static __always_inline int is_about_ours(struct view v)
{
	const struct wire_ip *quoted = v.at + sizeof(struct wire_icmp_echo);
	const struct wire_udp *ports; /* TCP's ports are at the same offset */
	__u8 proto;

	if (!has(v, sizeof(struct wire_icmp_echo) + sizeof(*quoted)))
		return 0;
	proto = quoted->proto;
	v = behind_ip(quoted, v.end);
	ports = v.at;
	if (!v.at || !has(v, sizeof(ports->src_port)))
		return 0;
	if (proto == WIRE_IPPROTO_TCP)
		return weft_tcp_ports[be16_get(ports->src_port)];
	return proto == WIRE_IPPROTO_UDP && is_udp_port(be16_get(ports->src_port));
}

static __always_inline __u32 classify_icmp(struct view v)
{
	const struct wire_icmp_echo *icmp = v.at;

	if (!has(v, sizeof(*icmp)))
		return WEFT_XDP_DROPPED_SHORT;
	if (icmp->type == WIRE_ICMP_ECHO)
		return weft_conf.shared ? WEFT_XDP_PASSED_PROTO : WEFT_XDP_TAKEN_ICMP;
	if (icmp->type == WIRE_ICMP_UNREACHABLE && (!weft_conf.shared || is_about_ours(v)))
		return WEFT_XDP_TAKEN_ICMP;
	return WEFT_XDP_PASSED_PROTO;
}

/* Classifies a packet to the NIC's address. */
static __always_inline __u32 classify_own(const struct wire_ip *iph, struct view v)
{
	const struct wire_tcp *tcp = v.at;
	const struct wire_udp *udp = v.at;

	if (!v.at)
		return WEFT_XDP_DROPPED_HEADER;
	if (be16_get(iph->frag) & (WIRE_IP_MF | WIRE_IP_FRAG_MASK))
		return WEFT_XDP_DROPPED_FRAGMENT;
	switch (iph->proto) {
	case WIRE_IPPROTO_TCP:
		if (!has(v, sizeof(*tcp)))
			return WEFT_XDP_DROPPED_SHORT;
		return !weft_conf.shared || weft_tcp_ports[be16_get(tcp->dst_port)]
			   ? WEFT_XDP_TAKEN_TCP
			   : WEFT_XDP_PASSED_PORT;
	case WIRE_IPPROTO_UDP:
		if (!has(v, sizeof(*udp)))
			return WEFT_XDP_DROPPED_SHORT;
		return is_udp_port(be16_get(udp->dst_port)) ? WEFT_XDP_TAKEN_UDP
							    : WEFT_XDP_PASSED_PORT;
	case WIRE_IPPROTO_ICMP:
		return classify_icmp(v);
	default:
		return WEFT_XDP_PASSED_PROTO;
	}
}

/* Leaves to the kernel what only a NIC alone at its address would take or drop. */
static __always_inline __u32 leave_to_kernel(__u32 what)
{
	switch (what) {
	case WEFT_XDP_DROPPED_FRAGMENT:
		return WEFT_XDP_PASSED_FRAGMENT;
	case WEFT_XDP_DROPPED_HEADER:
	case WEFT_XDP_DROPPED_SHORT:
		return WEFT_XDP_PASSED_HEADER;
	default:
		return what;
	}
}

static __always_inline __u32 classify_ip(struct view v)
{
	const struct wire_ip *iph = v.at;
	__u32 what;

	if (!has(v, sizeof(*iph)))
		return WEFT_XDP_PASSED_SHORT;
	v = behind_ip(iph, v.end);
	if (be32_get(iph->dst) >> 28 == WIRE_IP_GROUP_PREFIX)
		return classify_group(iph, v);
	if (!is_ip(&iph->dst, weft_conf.ip))
		return WEFT_XDP_PASSED_ADDRESS;
	what = classify_own(iph, v);
	return weft_conf.shared ? leave_to_kernel(what) : what;
}

static __always_inline __u32 classify_arp(struct view v)
{
	const struct wire_arp *arp = v.at;

	if (!has(v, sizeof(*arp)))
		return WEFT_XDP_PASSED_SHORT;
	return is_ip(&arp->target_ip, weft_conf.ip) && !weft_conf.shared ? WEFT_XDP_TAKEN_ARP
									 : WEFT_XDP_PASSED_ARP;
}

static __always_inline __u32 classify(struct view v)
{
	const struct wire_eth *eth = v.at;

	if (!weft_conf.ip)
		return WEFT_XDP_PASSED_IDLE;
	if (!has(v, sizeof(*eth)))
		return WEFT_XDP_PASSED_SHORT;
	v.at += sizeof(*eth);
	switch (be16_get(eth->type)) {
	case WIRE_ETHERTYPE_IPV4:
		return classify_ip(v);
	case WIRE_ETHERTYPE_ARP:
		return classify_arp(v);
	case WIRE_ETHERTYPE_ESP:
		return WEFT_XDP_TAKEN_ESP;
	default:
		return WEFT_XDP_PASSED_TYPE;
	}
}

SEC("xdp")
int weft_xdp(struct xdp_md *ctx)
{
	struct view v = {(const void *)(long)ctx->data, (const void *)(long)ctx->data_end};
	__u32 what = classify(v);
	int action = XDP_PASS;

	if (what >= WEFT_XDP_DROPPED_FIRST)
		action = XDP_DROP;
	else if (what < WEFT_XDP_PASSED_FIRST)
		action = (int)bpf_redirect_map(&xsks_map, ctx->rx_queue_index, XDP_DROP);
	/* The kernel would answer the NIC's frames with resets, or forward them. */
	if (what < WEFT_XDP_PASSED_FIRST && action != XDP_REDIRECT)
		what = WEFT_XDP_DROPPED_NO_SOCKET;
	count(what);
	return action;
}

char _license[] SEC("license") = "Dual BSD/GPL";
