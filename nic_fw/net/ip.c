/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * IPv4: header checks of received packets, headers of sent ones.
 *
 * Calls icmp_rx(), igmp_rx(), udp_rx() and net_up.tcp(). ip_tx_header() serves icmp.c, igmp.c,
 * udp.c and tcp/. No fragments either way: weft segments messages itself and sets DF, and a
 * fragment that arrives is dropped and counted. Options are skipped. RFC 791, RFC 1122 3.2.1, RFC
 * 6864.
 */
#include "nic_fw/fw_nic.h"
#include "nic_fw/net/ip_put.h"

static uint32_t sum_swap(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xff) << 8 | sum >> 8;
}

uint32_t ip_sum_frame(uint32_t sum, const struct fw_rx_frame *frame, uint32_t offset,
		      uint32_t bytes)
{
	struct eth_cursor cursor;
	const uint8_t *data;
	bool odd = false;
	uint32_t n;

	eth_cursor_init(&cursor, frame, offset, bytes);
	while ((data = eth_cursor_next(&cursor, bytes, &n)) != NULL) {
		/*
		 * A piece that starts at an odd place has its bytes in the other halves: swap
		 * the sum, add, and swap back (RFC 1071 2, byte order independence).
		 */
		if (odd)
			sum = sum_swap(sum);
		sum = wire_sum_add(sum, data, n);
		if (odd)
			sum = sum_swap(sum);
		odd ^= n & 1;
	}
	return sum;
}

/*
 * True for an address that no packet may come from: this network, loopback, multicast, class E. A
 * switch that sends IGMP queries and has no address sends them from 0.0.0.0 (RFC 4541 2.1.1).
 */
static bool is_bad_source(uint32_t ip_host_order, uint8_t proto)
{
	uint32_t net = ip_host_order >> 24;

	/* 0 wraps to the last one. */
	if (__builtin_expect(net - 1 < 223 && net != 127, 1))
		return false;
	return ip_host_order || proto != WIRE_IPPROTO_IGMP;
}

static bool ip_checksum_ok(const struct wire_ip *ip, uint32_t head_bytes)
{
	uint64_t first, second;
	uint32_t third;

	if (head_bytes != sizeof(*ip))
		return wire_sum_fold(wire_sum_add(0, ip, head_bytes)) == 0;
	memcpy(&first, ip, sizeof(first));
	memcpy(&second, &ip->ttl, sizeof(second));
	memcpy(&third, &ip->dst, sizeof(third));
	return wire_sum_ip(first, second, third) == 0;
}

/* True if the rest of the layer can use the header; counts the reason if not. */
static bool ip_check_header(struct fw_nic *nic, const struct fw_rx_frame *frame,
			    const struct wire_ip *ip, uint32_t *ihl_bytes)
{
	uint32_t total = be16_get(ip->total_bytes);
	uint32_t head = (ip->version_ihl & 0x0fu) * 4u;

	if (ip->version_ihl >> 4 != 4 || head < sizeof(*ip) ||
	    frame->seg[0].bytes < sizeof(struct wire_eth) + head || total < head ||
	    total > frame->bytes - sizeof(struct wire_eth) ||
	    is_bad_source(be32_get(ip->src), ip->proto)) {
		FW_DROP(nic, drop_ip_header);
		return false;
	}
	if (!ip_checksum_ok(ip, head)) {
		FW_DROP(nic, drop_ip_checksum);
		return false;
	}
	*ihl_bytes = head;
	return true;
}

/*
 * True if a packet to a group is for us. The whole address decides, since 32 groups share a MAC.
 * Our own packets come back over the internal link; copies from the network are dropped. RFC 1112
 * 7.2.
 */
static bool accept_group(struct fw_nic *nic, const struct fw_rx_frame *frame,
			 struct ip_rx_info *info)
{
	uint8_t mac[WIRE_MAC_BYTES];

	wire_group_mac(info->dst_ip, mac);
	if (memcmp(info->eth->dst, mac, sizeof(mac)) != 0) {
		FW_DROP(nic, drop_not_our_ip);
		return false;
	}
	if (!(frame->flags & FW_RX_LOOP) &&
	    memcmp(info->eth->src, nic->config.mac, sizeof(mac)) == 0) {
		FW_DROP(nic, drop_mcast_reflected);
		return false;
	}
	info->group = mcast_find(nic, info->dst_ip);
	if (mcast_has_members(info->group))
		return true;
	info->group = NULL;
	if (info->ip->proto == WIRE_IPPROTO_IGMP &&
	    be32_get(info->ip->dst) == WIRE_IGMP_ALL_SYSTEMS)
		return true;
	FW_DROP(nic, drop_mcast_no_group);
	return false;
}

static bool accept_dst(struct fw_nic *nic, const struct fw_rx_frame *frame, struct ip_rx_info *info)
{
	info->group = NULL;
	if (info->dst_ip == nic->config.ip)
		return true;
	if (wire_is_group(info->dst_ip))
		return accept_group(nic, frame, info);
	FW_DROP(nic, drop_not_our_ip);
	return false;
}

void ip_rx(struct fw_nic *nic, const struct fw_rx_frame *frame)
{
	struct ip_rx_info info;
	uint32_t ihl_bytes;
	uint8_t before;

	if (frame->seg[0].bytes < sizeof(struct wire_eth) + sizeof(struct wire_ip)) {
		FW_DROP(nic, drop_too_short);
		return;
	}
	info.eth = (const struct wire_eth *)frame->seg[0].data;
	info.ip = (const struct wire_ip *)(frame->seg[0].data + sizeof(struct wire_eth));
	if (!ip_check_header(nic, frame, info.ip, &ihl_bytes))
		return;
	memcpy(&info.src_ip, &info.ip->src, sizeof(info.src_ip));
	memcpy(&info.dst_ip, &info.ip->dst, sizeof(info.dst_ip));
	if (!accept_dst(nic, frame, &info))
		return;
	/*
	 * Our own address as source is valid on the internal link only, never from another station.
	 */
	if (info.src_ip == nic->config.ip &&
	    memcmp(info.eth->src, nic->config.mac, WIRE_MAC_BYTES) != 0) {
		FW_DROP(nic, drop_ip_header);
		return;
	}
	if (be16_get(info.ip->frag) & (WIRE_IP_MF | WIRE_IP_FRAG_MASK)) {
		FW_DROP(nic, drop_ip_fragment);
		return;
	}
	info.payload_offset = sizeof(struct wire_eth) + ihl_bytes;
	info.payload_bytes = be16_get(info.ip->total_bytes) - ihl_bytes;
	info.ce = (info.ip->tos & WIRE_IP_ECN_MASK) == WIRE_IP_CE;
	if (__builtin_expect(info.ip->proto == WIRE_IPPROTO_UDP, 1)) {
		udp_rx(nic, frame, &info);
		return;
	}
	switch (info.ip->proto) {
	case WIRE_IPPROTO_TCP:
		before = fw_stage_enter(nic, FW_STAGE_TCP);
		net_up.tcp(nic, frame, &info);
		(void)fw_stage_enter(nic, before);
		break;
	case WIRE_IPPROTO_IGMP:
		igmp_rx(nic, frame, &info);
		break;
	case WIRE_IPPROTO_ICMP:
		icmp_rx(nic, frame, &info);
		break;
	default:
		FW_DROP(nic, drop_ip_protocol);
		break;
	}
}

void ip_tx_header(struct fw_nic *nic, struct fw_tx_frame *frame, uint32_t dst_ip,
		  const uint8_t *dst_mac, uint8_t proto, uint8_t tos, uint32_t payload_bytes)
{
	ip_put_header(nic, frame, dst_ip, dst_mac, proto, tos, payload_bytes);
}

void ip_tx_ttl(struct fw_tx_frame *frame, uint8_t ttl)
{
	struct wire_ip *ip = (struct wire_ip *)(frame->hdr + sizeof(struct wire_eth));

	ip->ttl = ttl;
	ip->checksum = be16_put(0);
	ip->checksum = be16_put(wire_sum_fold(wire_sum_add(0, ip, sizeof(*ip))));
}
