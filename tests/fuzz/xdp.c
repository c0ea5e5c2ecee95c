/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target: the XDP program beside the firmware. Each frame gets a verdict of
 * dpdk_app/xdp/weft_xdp.bpf.c, compiled for this machine, and goes into a NIC, which says by its
 * counters what it would have done with it on a port that shows every frame.
 *
 * A frame that the program takes must be one that the NIC's layers up to UDP and TCP serve; one
 * that it leaves to the kernel or drops must be one that the NIC drops, but for IGMP and ARP, of
 * which the NIC gets copies (wire_netdev_group.c). An address shared with the kernel takes nothing
 * more, drops nothing, and gives the kernel only what it may answer.
 *
 * An input is a list of frames: how to correct a frame, its length, the first bytes.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "dpdk_app/xdp/weft_xdp.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/take.h"
#include "tests/fuzz/world.h"

/* ---- what the program calls ------------------------------------------------------------------ */

#define __BPF_HELPERS__
#define __BPF_ENDIAN__
#define SEC(name)
#define __uint(name, value) int(*name)[value]
#define __type(name, value) __typeof__(value) *name
#undef __always_inline
#define __always_inline inline __attribute__((always_inline))

static void *bpf_map_lookup_elem(const void *map, const void *key);
static long bpf_redirect_map(const void *map, uint32_t queue, uint64_t otherwise);

#define _license xdp_license
struct xdp_md;
int weft_xdp(struct xdp_md *ctx);
/* The program's header of helpers is of the kernel's side. */
#include "dpdk_app/xdp/weft_xdp.bpf.c"

enum {
	FRAMES = 64, /* of an input */
	LONGEST = 256,
	QUEUES = 4, /* that the NIC reads */
};

static struct weft_xdp_counts counts;
static uint32_t num_counted;
static uint64_t verdicts[WEFT_XDP_COUNTS];
static uint8_t *page_end; /* of a page below 4 GiB: struct xdp_md has 32 bits */

static void *bpf_map_lookup_elem(const void *map, const void *key)
{
	static uint32_t found = 1;
	uint32_t group;

	if (map == &weft_count) {
		num_counted++;
		return &counts;
	}
	take_check(map == &weft_groups, "another map");
	memcpy(&group, key, sizeof(group));
	return mcast_has_members(mcast_find(w->nic[0].fw, group)) ? &found : NULL;
}

static long bpf_redirect_map(const void *map, uint32_t queue, uint64_t otherwise)
{
	take_check(map == &xsks_map, "another map of sockets");
	return queue < QUEUES ? (long)XDP_REDIRECT : (long)otherwise;
}

/* Runs the program on a frame; returns what it counted. */
static enum weft_xdp_count verdict(const uint8_t *frame, uint32_t bytes, bool shared)
{
	struct xdp_md md = {.rx_queue_index = 0};
	uint32_t i, what = WEFT_XDP_COUNTS;
	uint8_t *at = page_end - (bytes + 2 + 3) / 4 * 4 + 2;
	int action;

	/* No memory follows the frame but for what aligns the IP header, as in Linux. */
	memcpy(at, frame, bytes);
	md.data = (uint32_t)(uintptr_t)at;
	md.data_end = (uint32_t)(uintptr_t)(at + bytes);
	weft_conf.shared = shared;
	memset(&counts, 0, sizeof(counts));
	num_counted = 0;
	action = weft_xdp(&md);
	take_check(num_counted == 1, "a frame is counted once");
	for (i = 0; i < WEFT_XDP_COUNTS; i++)
		if (counts.n[i])
			what = i;
	take_check(what < WEFT_XDP_COUNTS, "a frame without a reason");
	take_check(action == (what < WEFT_XDP_PASSED_FIRST    ? XDP_REDIRECT
			      : what < WEFT_XDP_DROPPED_FIRST ? XDP_PASS
							      : XDP_DROP),
		   "an action that is not the reason's");
	verdicts[what]++;
	return (enum weft_xdp_count)what;
}

/* ---- the NIC --------------------------------------------------------------------------------- */

struct drops {
	uint64_t all;
	uint64_t foreign; /* for reasons that say: not the NIC's */
	uint64_t port;    /* for a port of UDP that this shard does not have */
	uint64_t dgram;   /* by the layers above UDP and TCP: of frames that are the NIC's */
};

static struct drops drops(void)
{
	const struct fw_counters *c = &w->nic[0].fw->counters;
	struct drops d = {0,
			  c->drop_ethertype + c->drop_not_our_ip + c->drop_ip_fragment +
			      c->drop_ip_protocol + c->drop_mcast_no_group,
			  c->drop_udp_port,
			  c->drop_dgram_short + c->drop_dgram_version + c->drop_dgram_type +
			      c->drop_dgram_crc + c->drop_tcp_no_flow};

#define X(name, text)                                                                              \
	if (!strncmp(#name, "drop_", 5))                                                           \
		d.all += c->name;
	HW_COUNTERS(X)
#undef X
	return d;
}

static void join_group(void)
{
	struct hw_cmd_create_qp create = {.type = HW_QPT_UD, .srq = HW_SRQ_NONE};
	struct hw_cmd cmd = {.op = HW_CMD_ATTACH_MCAST};
	struct hw_resp_create_cq cq;
	struct hw_cmd_resp resp;
	struct w_qp qp;

	proc_attach(&w->proc[0], 0);
	create.pd = proc_pd(&w->proc[0]);
	create.send_cq = create.recv_cq = proc_cq(&w->proc[0], HW_EQ_NONE, &cq);
	proc_qp(&w->proc[0], &qp, &create);
	W_CHECK(!proc_rts(&w->proc[0], &qp, 1, NULL), "no RTS");
	cmd.u.mcast.qpn = qp.made.qpn;
	memcpy(cmd.u.mcast.gid, (const uint8_t[16]){[10] = 0xff, [11] = 0xff, 0xef, 9, 8, 7}, 16);
	W_CHECK(!proc_cmd(&w->proc[0], &cmd, &resp), "no group");
}

void fuzz_xdp_begin(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *low = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	take_check(low != MAP_FAILED && !mprotect(low + page, page, PROT_NONE),
		   "memory below 4 GiB");
	page_end = low + page;
	world_begin();
	join_group();
	world_settle();
	world_keep();
	weft_conf.ip = w->nic[0].fw->config.ip;
}

/* A port about those of the NIC's shards, or a ping or an ICMP error that is right. */
static void mend_payload(uint8_t *at, uint32_t bytes, uint32_t right, uint8_t proto)
{
	struct wire_udp *udp = (void *)at;
	struct wire_icmp_echo *icmp = (void *)at;

	if (proto == WIRE_IPPROTO_UDP && bytes >= sizeof(*udp)) {
		udp->src_port = be16_put(WIRE_DGRAM_PORT);
		udp->dst_port = be16_put((uint16_t)(WIRE_DGRAM_PORT - 4 + (right >> 18 & 15)));
		udp->bytes = be16_put((uint16_t)bytes);
	} else if (proto == WIRE_IPPROTO_ICMP && bytes >= sizeof(*icmp)) {
		icmp->type = right >> 18 & 1 ? WIRE_ICMP_ECHO : WIRE_ICMP_UNREACHABLE;
		icmp->code = 0;
		icmp->checksum = be16_put(0);
		icmp->checksum = be16_put(wire_sum_fold(wire_sum_add(0, at, bytes)));
	}
}

/* Corrects parts of a frame, so that more than the first comparison is reached. */
static void mend(uint8_t *frame, uint32_t bytes, uint32_t right)
{
	static const uint8_t protos[] = {WIRE_IPPROTO_UDP, WIRE_IPPROTO_TCP, WIRE_IPPROTO_ICMP,
					 WIRE_IPPROTO_IGMP};
	static const uint16_t types[] = {WIRE_ETHERTYPE_IPV4, WIRE_ETHERTYPE_IPV4,
					 WIRE_ETHERTYPE_ARP, WIRE_ETHERTYPE_ESP};
	struct wire_eth *eth = (void *)frame;
	struct wire_ip *ip = (void *)(eth + 1);
	const struct be32 groups[] = {be32_put(0xef090807), be32_put(0xef090808)};
	uint32_t ip_bytes, ours = w->nic[0].fw->config.ip, group;

	memcpy(eth->dst, w->nic[0].fw->config.mac, sizeof(eth->dst));
	if (right & 1)
		eth->type = be16_put(types[right >> 1 & 3]);
	if (be16_get(eth->type) == WIRE_ETHERTYPE_ARP && right & 8 &&
	    bytes >= sizeof(*eth) + sizeof(struct wire_arp))
		memcpy(&((struct wire_arp *)(void *)ip)->target_ip, &ours, sizeof(ours));
	if (be16_get(eth->type) != WIRE_ETHERTYPE_IPV4 || bytes < sizeof(*eth) + sizeof(*ip))
		return;
	if (right & 8)
		memcpy(&ip->dst, &ours, sizeof(ours));
	else if (right & 16)
		ip->dst = groups[right >> 5 & 1];
	if (right & 64)
		ip->version_ihl = (uint8_t)(0x40 | (right & 128 ? 5 : ip->version_ihl & 15));
	if (right & 256)
		ip->frag = be16_put(WIRE_IP_DF);
	if (right & 512)
		ip->proto = protos[right >> 10 & 3];
	if (right & 4096)
		ip->total_bytes = be16_put((uint16_t)(bytes - sizeof(*eth)));
	if (right & 8192)
		ip->src = be32_put(0x0a4d0002);
	ip_bytes = (ip->version_ihl & 15u) * 4u;
	if (ip_bytes < sizeof(*ip) || bytes < sizeof(*eth) + ip_bytes + sizeof(struct wire_udp))
		ip_bytes = 0;
	if (ip_bytes && right & 16384)
		((struct wire_udp *)(void *)((uint8_t *)ip + ip_bytes))->dst_port =
		    be16_put((uint16_t)(WIRE_DGRAM_PORT + (right >> 15 & 1)));
	if (ip_bytes && right & 1u << 17)
		mend_payload((uint8_t *)ip + ip_bytes, bytes - (uint32_t)sizeof(*eth) - ip_bytes,
			     right, ip->proto);
	if (ip_bytes && right & 1u << 16) {
		ip->checksum = be16_put(0);
		ip->checksum = be16_put(wire_sum_fold(wire_sum_add(0, ip, ip_bytes)));
	}
	memcpy(&group, &ip->dst, sizeof(group));
	if (wire_is_group(group))
		wire_group_mac(group, eth->dst);
}

/* A part of the kernel's frames is copied to the NIC: the classic filter of the packet socket. */
static bool copied(const uint8_t *frame, uint32_t bytes)
{
	const struct wire_eth *eth = (const void *)frame;
	const struct wire_ip *ip = (const void *)(eth + 1);
	const struct wire_arp *arp = (const void *)(eth + 1);

	if (bytes < sizeof(*eth) + sizeof(*ip))
		return false;
	if (be16_get(eth->type) == WIRE_ETHERTYPE_IPV4)
		return ip->proto == WIRE_IPPROTO_IGMP;
	return be16_get(eth->type) == WIRE_ETHERTYPE_ARP && bytes >= sizeof(*eth) + sizeof(*arp) &&
	       (!memcmp(&arp->sender_ip, &arp->target_ip, sizeof(arp->sender_ip)) ||
		!memcmp(&arp->target_ip, &w->nic[0].fw->config.ip, sizeof(arp->target_ip)));
}

/* The NIC has a shard behind each of these ports, or may get one when it starts again. */
static bool is_of_a_shard(const uint8_t *frame)
{
	const struct wire_ip *ip = (const void *)(frame + sizeof(struct wire_eth));
	const struct wire_udp *udp =
	    (const void *)((const uint8_t *)ip + (ip->version_ihl & 15u) * 4u);
	uint32_t port = be16_get(udp->dst_port);

	return port - WIRE_DGRAM_PORT < WIRE_DGRAM_SHARDS;
}

static bool taken(enum weft_xdp_count what)
{
	return what < WEFT_XDP_PASSED_FIRST;
}

static void both_say(const uint8_t *frame, uint32_t bytes)
{
	enum weft_xdp_count own = verdict(frame, bytes, false),
			    shared = verdict(frame, bytes, true);
	bool arp =
	    bytes >= sizeof(struct wire_eth) &&
	    be16_get(((const struct wire_eth *)(const void *)frame)->type) == WIRE_ETHERTYPE_ARP;
	uint32_t sent = w->history;
	struct drops before, after;

	take_check(!taken(shared) || shared == own, "a shared address takes more than its own");
	take_check(shared < WEFT_XDP_DROPPED_FIRST, "a frame of the kernel's address is dropped");
	if (own == WEFT_XDP_TAKEN_UDP || own == WEFT_XDP_TAKEN_GROUP || own == WEFT_XDP_TAKEN_ESP)
		take_check(shared == own, "a frame that the kernel would get of a shared address");
	before = drops();
	world_inject(0, frame, bytes);
	world_poll(0);
	after = drops();
	if (taken(own)) {
		take_check(after.foreign == before.foreign,
			   "XDP takes a frame that is not the NIC's");
		take_check(after.port == before.port || is_of_a_shard(frame),
			   "XDP takes a datagram to a port that is not the NIC's");
		return;
	}
	take_check(after.dgram == before.dgram,
		   "XDP leaves a frame to the kernel that the NIC's datagrams or TCP look at");
	if (copied(frame, bytes))
		return;
	/* Stations learn from each other's ARP; none is answered but the one that is taken. */
	take_check(arp ? w->history == sent : after.all > before.all,
		   "XDP leaves a frame to the kernel that the NIC serves");
}

uint64_t fuzz_xdp_verdicts(uint32_t what)
{
	return verdicts[what];
}

void fuzz_xdp(const uint8_t *data, size_t bytes)
{
	struct take in = {data, bytes};
	uint8_t frame[LONGEST];

	for (uint32_t i = 0; i < FRAMES && in.left; i++) {
		uint32_t right = take_u32(&in), n = take_u8(&in), given = take_u8(&in);

		memset(frame, 0, sizeof(frame));
		take_bytes(&in, frame, given < n ? given : n);
		if (n < sizeof(struct wire_eth))
			n = sizeof(struct wire_eth);
		mend(frame, n, right);
		both_say(frame, n);
	}
	world_reset();
}
