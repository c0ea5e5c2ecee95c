/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the XDP program frame by frame: runs dpdk_app/xdp/weft_xdp.bpf.c in the kernel without an
 * interface (BPF_PROG_TEST_RUN) and checks its verdict on each frame and its counters: exactly one,
 * the right one, goes up by one.
 *
 * Run by xdp_frames.sh; calls libbpf. Exit status 0, 1 with what was wrong, 77 with the reason why
 * it cannot run here.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dpdk_app/xdp/weft_xdp.h"
#include "lib/prng.h"
#include "shared_defs/wire_dgram.h"
#include "shared_defs/wire_eth.h"
#include "shared_defs/wire_ip.h"
#include "shared_defs/wire_tcp.h"
#include "tests/bench/frame.h"
#include "weft_xdp.skel.h"

enum {
	EXIT_SKIP = 77,
	ETH = sizeof(struct wire_eth),
	IP = ETH + sizeof(struct wire_ip),
	RANDOM_FRAMES = 20000,
	ARP_REQUEST = 1,
	HELD_PORT = 4711, /* TCP ports, where the address is shared */
};
#define OUR_IP   0x0a090002u
#define OUR_PEER 0x0a090001u
#define OTHER    0x0a090003u
#define GROUP    0xef090807u
#define NO_GROUP 0xef090808u

static struct weft_xdp *skel;
static int xsk_fd;
static int num_cpus;
static uint32_t wrong;

/* ---- frames ---------------------------------------------------------------------------------- */

static struct frame eth(uint16_t type, uint32_t bytes)
{
	static const uint8_t dst[6] = {2}, src[6] = {2};
	struct frame f;

	frame_eth(&f, dst, src, type);
	frame_fill(&f, 0, bytes);
	return f;
}

static struct wire_ip *ip_of(struct frame *f)
{
	return (void *)(f->b + ETH);
}

/* Sets the length of the IP header, which options of zeros fill, and that of the packet. */
static void set_words(struct wire_ip *ip, uint32_t words, uint32_t bytes)
{
	ip->version_ihl = (uint8_t)(0x40 | words);
	ip->total_bytes = be16_put((uint16_t)(words * 4 + bytes));
}

/* Begins a packet whose IP header has the given number of words. */
static struct frame ip(uint8_t proto, uint32_t dst, uint32_t words, uint32_t bytes)
{
	struct frame f = eth(WIRE_ETHERTYPE_IPV4, 0);

	frame_ip(&f, proto, __builtin_bswap32(OUR_PEER), __builtin_bswap32(dst));
	frame_fill(&f, 0, words * 4 - (uint32_t)sizeof(struct wire_ip) + bytes);
	set_words(ip_of(&f), words, bytes);
	return f;
}

static struct frame udp(uint32_t dst, uint16_t port, uint32_t words)
{
	struct frame f = ip(WIRE_IPPROTO_UDP, dst, words, 0);

	frame_udp(&f, 0, port);
	frame_fill(&f, 0, 20);
	set_words(ip_of(&f), words, f.n - ETH - words * 4);
	return f;
}

static struct frame tcp(uint32_t dst, uint16_t port, uint32_t words)
{
	struct frame f = ip(WIRE_IPPROTO_TCP, dst, words, 0);

	frame_tcp(&f, 0, port, 0, NULL, 0);
	frame_fill(&f, 0, 4);
	set_words(ip_of(&f), words, f.n - ETH - words * 4);
	return f;
}

static struct frame icmp(uint32_t dst, uint8_t type)
{
	struct frame f = ip(WIRE_IPPROTO_ICMP, dst, 5, 64);

	f.b[IP] = type;
	return f;
}

/* Builds an ICMP error that quotes a packet of this host. */
static struct frame unreachable(uint8_t proto, uint16_t src_port, uint32_t words)
{
	struct frame f = icmp(OUR_IP, WIRE_ICMP_UNREACHABLE);
	struct wire_ip *quoted = (void *)(f.b + IP + sizeof(struct wire_icmp_echo));
	struct wire_udp *ports = (void *)((uint8_t *)quoted + words * 4);

	quoted->version_ihl = (uint8_t)(0x40 | words);
	quoted->proto = proto;
	ports->src_port = be16_put(src_port);
	f.n = (uint32_t)((uint8_t *)(ports + 1) - f.b);
	return f;
}

static struct frame arp(uint32_t target)
{
	static const uint8_t sender[6] = {2};
	struct frame f = eth(WIRE_ETHERTYPE_ARP, 0);

	frame_arp(&f, ARP_REQUEST, sender, 0, __builtin_bswap32(target));
	return f;
}

static struct frame cut(struct frame f, uint32_t bytes)
{
	f.n = bytes;
	return f;
}

static struct frame fragment(struct frame f, uint16_t bits)
{
	ip_of(&f)->frag = be16_put(bits);
	return f;
}

static struct frame header(struct frame f, uint8_t version_ihl)
{
	ip_of(&f)->version_ihl = version_ihl;
	return f;
}

/* ---- the program ----------------------------------------------------------------------------- */

static struct weft_xdp_counts counts(void)
{
	struct weft_xdp_counts *each = calloc((size_t)num_cpus, sizeof(*each)), sum = {{0}};
	const uint32_t key = 0;

	if (!each || bpf_map__lookup_elem(skel->maps.weft_count, &key, sizeof(key), each,
					  (size_t)num_cpus * sizeof(*each), 0)) {
		perror("counters");
		exit(EXIT_FAILURE);
	}
	for (int cpu = 0; cpu < num_cpus; cpu++) {
		for (uint32_t i = 0; i < WEFT_XDP_COUNTS; i++)
			sum.n[i] += each[cpu].n[i];
	}
	free(each);
	return sum;
}

static uint32_t run(const struct frame *f)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int err;

	opts.data_in = f->b;
	opts.data_size_in = f->n;
	opts.repeat = 1;
	err = bpf_prog_test_run_opts(bpf_program__fd(skel->progs.weft_xdp), &opts);
	if (err) {
		fprintf(stderr, "a frame of %u bytes cannot be run: %s\n", f->n, strerror(-err));
		exit(EXIT_FAILURE);
	}
	return opts.retval;
}

static uint32_t action_of(uint32_t what)
{
	if (what < WEFT_XDP_PASSED_FIRST)
		return XDP_REDIRECT;
	return what < WEFT_XDP_DROPPED_FIRST ? XDP_PASS : XDP_DROP;
}

/* Returns the counter that went up; WEFT_XDP_COUNTS: not exactly one by exactly one. */
static uint32_t counted(const struct weft_xdp_counts *before, const struct weft_xdp_counts *after)
{
	uint32_t what = WEFT_XDP_COUNTS, more = 0;

	for (uint32_t i = 0; i < WEFT_XDP_COUNTS; i++) {
		if (after->n[i] == before->n[i])
			continue;
		more += (uint32_t)(after->n[i] - before->n[i]);
		what = i;
	}
	return more == 1 ? what : WEFT_XDP_COUNTS;
}

static void expect(const char *name, struct frame f, uint32_t want)
{
	struct weft_xdp_counts before = counts(), after;
	uint32_t action = run(&f), what;

	after = counts();
	what = counted(&before, &after);
	if (what == want && action == action_of(want))
		return;
	fprintf(stderr, "%s (%u bytes): counted as %u, not %u; action %u, not %u\n", name, f.n,
		what, want, action, action_of(want));
	wrong++;
}

static void conf(uint32_t address, bool shared)
{
	skel->bss->weft_conf.ip = address ? __builtin_bswap32(address) : 0;
	skel->bss->weft_conf.shared = shared;
	skel->bss->weft_conf.all_groups = 0;
}

static void socket_at(bool there)
{
	const uint32_t queue = 0;
	int err = there ? bpf_map__update_elem(skel->maps.xsks_map, &queue, sizeof(queue), &xsk_fd,
					       sizeof(xsk_fd), BPF_ANY)
			: bpf_map__delete_elem(skel->maps.xsks_map, &queue, sizeof(queue), 0);

	if (err) {
		fprintf(stderr, "xsks_map: %s\n", strerror(-err));
		exit(EXIT_FAILURE);
	}
}

/* ---- the rules ------------------------------------------------------------------------------- */

static void before_the_start(void)
{
	conf(0, false);
	expect("TCP", tcp(OUR_IP, 80, 5), WEFT_XDP_PASSED_IDLE);
	expect("to 0.0.0.0", udp(0, WIRE_DGRAM_PORT, 5), WEFT_XDP_PASSED_IDLE);
	expect("ESP", eth(WIRE_ETHERTYPE_ESP, 46), WEFT_XDP_PASSED_IDLE);
}

static void address_of_its_own(void)
{
	conf(OUR_IP, false);
	expect("any port of TCP", tcp(OUR_IP, 80, 5), WEFT_XDP_TAKEN_TCP);
	expect("TCP with options of IP", tcp(OUR_IP, 80, 15), WEFT_XDP_TAKEN_TCP);
	expect("TCP to another", tcp(OTHER, 80, 5), WEFT_XDP_PASSED_ADDRESS);
	expect("the port below", udp(OUR_IP, WIRE_DGRAM_PORT - 1, 5), WEFT_XDP_PASSED_PORT);
	expect("the first port", udp(OUR_IP, WIRE_DGRAM_PORT, 5), WEFT_XDP_TAKEN_UDP);
	expect("the last port", udp(OUR_IP, WIRE_DGRAM_PORT + WIRE_DGRAM_SHARDS - 1, 6),
	       WEFT_XDP_TAKEN_UDP);
	expect("the port above", udp(OUR_IP, WIRE_DGRAM_PORT + WIRE_DGRAM_SHARDS, 5),
	       WEFT_XDP_PASSED_PORT);
	expect("our port, another's address", udp(OTHER, WIRE_DGRAM_PORT, 5),
	       WEFT_XDP_PASSED_ADDRESS);
	expect("echo", icmp(OUR_IP, WIRE_ICMP_ECHO), WEFT_XDP_TAKEN_ICMP);
	expect("echo reply", icmp(OUR_IP, WIRE_ICMP_ECHO_REPLY), WEFT_XDP_PASSED_PROTO);
	expect("unreachable", unreachable(WIRE_IPPROTO_TCP, 1, 5), WEFT_XDP_TAKEN_ICMP);
	expect("IGMP to us", ip(WIRE_IPPROTO_IGMP, OUR_IP, 6, 8), WEFT_XDP_PASSED_PROTO);
	expect("SCTP", ip(132, OUR_IP, 5, 40), WEFT_XDP_PASSED_PROTO);
	expect("ARP", arp(OUR_IP), WEFT_XDP_TAKEN_ARP);
	expect("ARP of others", arp(OTHER), WEFT_XDP_PASSED_ARP);
	expect("ESP", eth(WIRE_ETHERTYPE_ESP, 46), WEFT_XDP_TAKEN_ESP);
	expect("IPv6", eth(WIRE_ETHERTYPE_IPV6, 46), WEFT_XDP_PASSED_TYPE);
	expect("VLAN", eth(0x8100, 46), WEFT_XDP_PASSED_TYPE);
	expect("802.3", eth(38, 46), WEFT_XDP_PASSED_TYPE);
}

static void groups(void)
{
	const uint32_t group = __builtin_bswap32(GROUP), one = 1;

	conf(OUR_IP, false);
	expect("a group before it is joined", udp(GROUP, WIRE_DGRAM_PORT, 5),
	       WEFT_XDP_PASSED_GROUP);
	if (bpf_map__update_elem(skel->maps.weft_groups, &group, sizeof(group), &one, sizeof(one),
				 BPF_ANY)) {
		perror("weft_groups");
		exit(EXIT_FAILURE);
	}
	for (int shared = 0; shared < 2; shared++) {
		conf(OUR_IP, shared);
		expect("a group", udp(GROUP, WIRE_DGRAM_PORT, 5), WEFT_XDP_TAKEN_GROUP);
		expect("a group, options", udp(GROUP, WIRE_DGRAM_PORT, 7), WEFT_XDP_TAKEN_GROUP);
		expect("another group", udp(NO_GROUP, WIRE_DGRAM_PORT, 5), WEFT_XDP_PASSED_GROUP);
		expect("mDNS", udp(0xe00000fb, 5353, 5), WEFT_XDP_PASSED_GROUP);
		expect("TCP to a group", tcp(GROUP, WIRE_DGRAM_PORT, 5), WEFT_XDP_PASSED_GROUP);
		expect("IGMP", ip(WIRE_IPPROTO_IGMP, 0xe0000001, 6, 8), WEFT_XDP_PASSED_GROUP);
		expect("a fragment", fragment(udp(GROUP, WIRE_DGRAM_PORT, 5), WIRE_IP_MF),
		       WEFT_XDP_PASSED_GROUP);
		expect("a wrong header", header(udp(GROUP, WIRE_DGRAM_PORT, 5), 0x44),
		       WEFT_XDP_PASSED_GROUP);
	}
	conf(OUR_IP, false);
	skel->bss->weft_conf.all_groups = 1;
	expect("all groups", udp(NO_GROUP, WIRE_DGRAM_PORT, 5), WEFT_XDP_TAKEN_GROUP);
	expect("all groups, mDNS", udp(0xe00000fb, 5353, 5), WEFT_XDP_PASSED_GROUP);
}

/* Cuts the frame at every length; needed: bytes of the header behind that of IPv4. */
static void cut_everywhere(const char *name, struct frame f, uint32_t words, uint32_t needed,
			   uint32_t whole, uint32_t in_header)
{
	for (uint32_t bytes = ETH; bytes <= f.n; bytes++) {
		uint32_t want = whole;

		if (bytes < ETH + words * 4 + needed)
			want = in_header;
		if (bytes < IP)
			want = WEFT_XDP_PASSED_SHORT;
		expect(name, cut(f, bytes), want);
	}
}

static void cut_off(void)
{
	for (uint32_t words = 5; words <= 15; words++) {
		conf(OUR_IP, false);
		cut_everywhere("TCP", tcp(OUR_IP, 80, words), words, sizeof(struct wire_tcp),
			       WEFT_XDP_TAKEN_TCP, WEFT_XDP_DROPPED_SHORT);
		cut_everywhere("UDP", udp(OUR_IP, WIRE_DGRAM_PORT, words), words,
			       sizeof(struct wire_udp), WEFT_XDP_TAKEN_UDP, WEFT_XDP_DROPPED_SHORT);
		cut_everywhere("a group", udp(GROUP, WIRE_DGRAM_PORT, words), words,
			       sizeof(struct wire_udp), WEFT_XDP_TAKEN_GROUP,
			       WEFT_XDP_PASSED_GROUP);
		conf(OUR_IP, true);
		cut_everywhere("TCP, shared", tcp(OUR_IP, HELD_PORT, words), words,
			       sizeof(struct wire_tcp), WEFT_XDP_TAKEN_TCP, WEFT_XDP_PASSED_HEADER);
	}
	conf(OUR_IP, false);
	cut_everywhere("echo", icmp(OUR_IP, WIRE_ICMP_ECHO), 5, sizeof(struct wire_icmp_echo),
		       WEFT_XDP_TAKEN_ICMP, WEFT_XDP_DROPPED_SHORT);
	for (uint32_t bytes = ETH; bytes < ETH + sizeof(struct wire_arp); bytes++) {
		expect("ARP", cut(arp(OUR_IP), bytes), WEFT_XDP_PASSED_SHORT);
		expect("ESP", cut(eth(WIRE_ETHERTYPE_ESP, 46), bytes), WEFT_XDP_TAKEN_ESP);
	}
}

static void wrong_headers(void)
{
	static const uint16_t fragments[] = {WIRE_IP_MF, 1, WIRE_IP_FRAG_MASK,
					     WIRE_IP_MF | WIRE_IP_DF | 185};

	for (int shared = 0; shared < 2; shared++) {
		uint32_t header_is = shared ? WEFT_XDP_PASSED_HEADER : WEFT_XDP_DROPPED_HEADER;
		uint32_t fragment_is =
		    shared ? WEFT_XDP_PASSED_FRAGMENT : WEFT_XDP_DROPPED_FRAGMENT;

		conf(OUR_IP, shared);
		for (uint32_t i = 0; i < 0x100; i++) {
			/* A TCP header of 15 words, so that every possible length is tested. */
			if (i >> 4 == 4 && (i & 0xf) >= 5)
				continue;
			expect("a wrong header", header(tcp(OUR_IP, HELD_PORT, 15), (uint8_t)i),
			       header_is);
			expect("another's wrong header", header(tcp(OTHER, 80, 15), (uint8_t)i),
			       WEFT_XDP_PASSED_ADDRESS);
		}
		for (uint32_t i = 0; i < sizeof(fragments) / sizeof(fragments[0]); i++) {
			expect("a fragment of TCP",
			       fragment(tcp(OUR_IP, HELD_PORT, 5), fragments[i]), fragment_is);
			expect("a fragment of UDP",
			       fragment(udp(OUR_IP, WIRE_DGRAM_PORT, 5), fragments[i]),
			       fragment_is);
			expect("another's fragment",
			       fragment(udp(OTHER, WIRE_DGRAM_PORT, 5), fragments[i]),
			       WEFT_XDP_PASSED_ADDRESS);
		}
		expect("DF is none", fragment(tcp(OUR_IP, HELD_PORT, 5), WIRE_IP_DF),
		       WEFT_XDP_TAKEN_TCP);
	}
}

static void address_of_the_kernel_too(void)
{
	conf(OUR_IP, true);
	expect("a port that is held", tcp(OUR_IP, HELD_PORT, 5), WEFT_XDP_TAKEN_TCP);
	expect("another port", tcp(OUR_IP, 22, 5), WEFT_XDP_PASSED_PORT);
	expect("the last port", tcp(OUR_IP, 65535, 5), WEFT_XDP_PASSED_PORT);
	skel->bss->weft_tcp_ports[65535] = 1;
	expect("the last port, held", tcp(OUR_IP, 65535, 15), WEFT_XDP_TAKEN_TCP);
	skel->bss->weft_tcp_ports[65535] = 0;
	expect("UDP", udp(OUR_IP, WIRE_DGRAM_PORT, 5), WEFT_XDP_TAKEN_UDP);
	expect("DNS", udp(OUR_IP, 53, 5), WEFT_XDP_PASSED_PORT);
	expect("ARP", arp(OUR_IP), WEFT_XDP_PASSED_ARP);
	expect("echo", icmp(OUR_IP, WIRE_ICMP_ECHO), WEFT_XDP_PASSED_PROTO);
	expect("ESP", eth(WIRE_ETHERTYPE_ESP, 46), WEFT_XDP_TAKEN_ESP);
	for (uint32_t words = 5; words <= 15; words++) {
		struct frame ours = unreachable(WIRE_IPPROTO_TCP, HELD_PORT, words);

		expect("of our TCP", ours, WEFT_XDP_TAKEN_ICMP);
		expect("of our UDP", unreachable(WIRE_IPPROTO_UDP, WIRE_DGRAM_PORT, words),
		       WEFT_XDP_TAKEN_ICMP);
		expect("of the kernel's TCP", unreachable(WIRE_IPPROTO_TCP, 22, words),
		       WEFT_XDP_PASSED_PROTO);
		expect("of the kernel's UDP", unreachable(WIRE_IPPROTO_UDP, HELD_PORT, words),
		       WEFT_XDP_PASSED_PROTO);
		expect("of the kernel's ping", unreachable(WIRE_IPPROTO_ICMP, HELD_PORT, words),
		       WEFT_XDP_PASSED_PROTO);
		for (uint32_t bytes = IP + 8; bytes < IP + 8 + words * 4 + 2; bytes++)
			expect("of ours, cut off", cut(ours, bytes), WEFT_XDP_PASSED_PROTO);
	}
}

static void nobody_reads_the_queue(void)
{
	const uint32_t dropped = WEFT_XDP_DROPPED_NO_SOCKET;

	socket_at(false);
	for (int shared = 0; shared < 2; shared++) {
		conf(OUR_IP, shared);
		expect("TCP", tcp(OUR_IP, HELD_PORT, 5), dropped);
		expect("UDP", udp(OUR_IP, WIRE_DGRAM_PORT, 5), dropped);
		expect("ESP", eth(WIRE_ETHERTYPE_ESP, 46), dropped);
		expect("TCP to another", tcp(OTHER, HELD_PORT, 5), WEFT_XDP_PASSED_ADDRESS);
		expect("IPv6", eth(WIRE_ETHERTYPE_IPV6, 46), WEFT_XDP_PASSED_TYPE);
	}
	socket_at(true);
}

/* Each frame, with any content, is counted once and handled as its counter says. */
static void anything(void)
{
	uint64_t state = 1;

	for (uint32_t i = 0; i < RANDOM_FRAMES; i++) {
		struct frame f = i & 1 ? tcp(OUR_IP, HELD_PORT, 5) : unreachable(6, HELD_PORT, 6);
		uint32_t changes = (uint32_t)(prng_next(&state) % 6), what, action;
		struct weft_xdp_counts before, after;

		for (uint32_t j = 0; j < changes; j++)
			f.b[12 + prng_next(&state) % (f.n - 12)] = (uint8_t)prng_next(&state);
		f.n = ETH + (uint32_t)(prng_next(&state) % (f.n - ETH + 1));
		conf(OUR_IP, prng_next(&state) & 1);
		before = counts();
		action = run(&f);
		after = counts();
		what = counted(&before, &after);
		if (what < WEFT_XDP_COUNTS && action == action_of(what))
			continue;
		fprintf(stderr, "random frame %u: counter %u, action %u\n", i, what, action);
		wrong++;
	}
}

int main(void)
{
	libbpf_set_print(NULL);
	num_cpus = libbpf_num_possible_cpus();
	if (num_cpus <= 0)
		return EXIT_FAILURE;
	xsk_fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (xsk_fd >= 0)
		skel = weft_xdp__open_and_load();
	if (!skel) {
		int err = errno;

		printf("the XDP program cannot be loaded: %s; CAP_BPF, CAP_NET_ADMIN and "
		       "CAP_NET_RAW are needed\n",
		       strerror(err));
		/* A program that the verifier refuses is a failure. */
		return err == EPERM || err == EAFNOSUPPORT ? EXIT_SKIP : EXIT_FAILURE;
	}
	socket_at(true);
	skel->bss->weft_tcp_ports[HELD_PORT] = 1;
	before_the_start();
	address_of_its_own();
	groups();
	cut_off();
	wrong_headers();
	address_of_the_kernel_too();
	nobody_reads_the_queue();
	anything();
	weft_xdp__destroy(skel);
	close(xsk_fd);
	return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
