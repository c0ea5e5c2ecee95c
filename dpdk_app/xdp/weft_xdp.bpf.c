/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * XDP program: takes the frames of one weft NIC off an interface and leaves all others to
 * the kernel. Ours are TCP, UDP datagrams to the NIC's ports, ARP, and ICMP echo and unreachable for
 * its address (which is not the kernel's), datagrams to its groups, and the EtherType of the
 * Ethernet Stream Protocol. IGMP is the kernel's, which hands a copy on (wire_netdev_group.c). Fragments
 * are nobody's of ours.
 *
 * Loaded by dpdk_app/xdp.c, which fills the maps; runs in the driver, or behind it, for each
 * received frame. RFC 791, 792, 826, 768, 9293.
 */
#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "dpdk_app/xdp/weft_xdp.h"
#include "shared_defs/wire_dgram.h"
#include "shared_defs/wire_eth.h"
#include "shared_defs/wire_ip.h"

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, WEFT_XDP_QUEUES);
	__type(key, __u32);
	__type(value, __u32);
} xsks_map SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct weft_xdp_conf);
} weft_conf SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WEFT_XDP_GROUPS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, __u32);
} weft_groups SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WEFT_XDP_COUNTS);
	__type(key, __u32);
	__type(value, __u64);
} weft_count SEC(".maps");

static __always_inline void count(__u32 which)
{
	__u64 *value = bpf_map_lookup_elem(&weft_count, &which);

	if (value)
		*value += 1;
}

static __always_inline int is_ip(const struct be32 *field, __u32 ip)
{
	return *(const __u32 *)(const void *)field == ip;
}

static __always_inline int is_our_port(const struct wire_udp *udp, const void *end)
{
	__u16 port;

	if ((const void *)(udp + 1) > end)
		return 0;
	port = be16_get(udp->dst_port);
	return port >= WIRE_DGRAM_PORT && port < WIRE_DGRAM_PORT + WIRE_DGRAM_SHARDS;
}

/* A datagram of weft's to a group: whether the NIC is in it. */
static __always_inline __u32 classify_group(const struct wire_ip *iph, const void *end,
					    const struct weft_xdp_conf *conf)
{
	__u32 group = *(const __u32 *)(const void *)&iph->dst;

	if (iph->proto != WIRE_IPPROTO_UDP || !is_our_port((const void *)(iph + 1), end))
		return WEFT_XDP_PASSED;
	if (conf->all_groups || bpf_map_lookup_elem(&weft_groups, &group))
		return WEFT_XDP_TAKEN_GROUP;
	return WEFT_XDP_PASSED;
}

/* Which counter a frame of ours belongs to; WEFT_XDP_PASSED: it is not ours. */
static __always_inline __u32 classify_ip(const struct wire_ip *iph, const void *end,
					 const struct weft_xdp_conf *conf)
{
	const struct wire_icmp_echo *icmp;

	if ((const void *)(iph + 1) > end || iph->version_ihl != WIRE_IP_VERSION_IHL)
		return WEFT_XDP_PASSED;
	if (be16_get(iph->frag) & (WIRE_IP_MF | WIRE_IP_FRAG_MASK))
		return WEFT_XDP_PASSED;
	if (be32_get(iph->dst) >> 28 == WIRE_IP_GROUP_PREFIX)
		return classify_group(iph, end, conf);
	if (!is_ip(&iph->dst, conf->ip))
		return WEFT_XDP_PASSED;
	if (iph->proto == WIRE_IPPROTO_TCP)
		return WEFT_XDP_TAKEN_TCP;
	if (iph->proto == WIRE_IPPROTO_UDP) {
		if (is_our_port((const void *)(iph + 1), end))
			return WEFT_XDP_TAKEN_UDP;
	} else if (iph->proto == WIRE_IPPROTO_ICMP) {
		icmp = (const void *)(iph + 1);
		if ((const void *)(icmp + 1) <= end &&
		    (icmp->type == WIRE_ICMP_ECHO || icmp->type == WIRE_ICMP_UNREACHABLE))
			return WEFT_XDP_TAKEN_ICMP;
	}
	return WEFT_XDP_PASSED;
}

static __always_inline __u32 classify(const void *data, const void *end,
				      const struct weft_xdp_conf *conf)
{
	const struct wire_eth *eth = data;
	const struct wire_arp *arp;
	__u16 type;

	if ((const void *)(eth + 1) > end || !conf->ip)
		return WEFT_XDP_PASSED;
	type = be16_get(eth->type);
	if (type == WIRE_ETHERTYPE_IPV4)
		return classify_ip((const void *)(eth + 1), end, conf);
	if (type == WIRE_ETHERTYPE_ARP) {
		arp = (const void *)(eth + 1);
		if ((const void *)(arp + 1) <= end && is_ip(&arp->target_ip, conf->ip))
			return WEFT_XDP_TAKEN_ARP;
	} else if (type == WIRE_ETHERTYPE_ESP) {
		return WEFT_XDP_TAKEN_ESP;
	}
	return WEFT_XDP_PASSED;
}

SEC("xdp")
int weft_xdp(struct xdp_md *ctx)
{
	const void *data = (const void *)(long)ctx->data;
	const void *end = (const void *)(long)ctx->data_end;
	const struct weft_xdp_conf *conf;
	__u32 key = 0;
	__u32 what;

	conf = bpf_map_lookup_elem(&weft_conf, &key);
	if (!conf)
		return XDP_PASS;
	what = classify(data, end, conf);
	count(what);
	if (what == WEFT_XDP_PASSED)
		return XDP_PASS;
	/* A queue without a socket: the kernel has the frame. */
	return bpf_redirect_map(&xsks_map, ctx->rx_queue_index, XDP_PASS);
}

char _license[] SEC("license") = "Dual BSD/GPL";
