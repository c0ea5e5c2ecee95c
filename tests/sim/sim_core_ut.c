/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The simulator itself: time, randomness, links, faults, memory, capture.
 *
 * Tests in the simulator are worth as much as the simulator: times of arrival are computed by hand
 * here, and each fault is shown to do its work and nothing else. Frames are put on the links
 * directly (sim_int.h); the NICs count them.
 */
#include "tests/sim/sim_fix.h"

#include <unistd.h>

#include "sim_harness/sim_int.h"
#include "shared_defs/wire_eth.h"
#include "shared_defs/wire_ip.h"
#include "tests/tmp.h"

/* Reference values of xoshiro256** for the state 1, 2, 3, 4. */
static void prng_reference(void)
{
	struct sim_prng prng = {{{1, 2, 3, 4}}};

	CU_ASSERT(sim_prng_next(&prng) == 11520);
	CU_ASSERT(sim_prng_next(&prng) == 0);
	CU_ASSERT(sim_prng_next(&prng) == 1509978240);
	CU_ASSERT(sim_prng_next(&prng) == UINT64_C(1215971899390074240));
}

static void prng_streams(void)
{
	struct sim_prng a, b, c, d;
	uint32_t i, hits = 0, bins[10] = {0};
	uint64_t x;

	sim_prng_init(&a, 7, SIM_STREAM_LINK, 0);
	sim_prng_init(&b, 7, SIM_STREAM_LINK, 0);
	sim_prng_init(&c, 7, SIM_STREAM_LINK, 1);
	sim_prng_init(&d, 7, SIM_STREAM_PORT, 0);
	x = sim_prng_next(&a);
	CU_ASSERT(x == sim_prng_next(&b));
	CU_ASSERT(x != sim_prng_next(&c));
	CU_ASSERT(x != sim_prng_next(&d));
	for (i = 0; i < 100000; i++) {
		bins[sim_prng_below(&a, 10)]++;
		hits += sim_prng_chance(&a, 10000);
		x = sim_prng_range(&a, 5, 6);
		CU_ASSERT_FATAL(x == 5 || x == 6);
	}
	for (i = 0; i < 10; i++)
		CU_ASSERT(bins[i] > 9600 && bins[i] < 10400);
	CU_ASSERT(hits > 850 && hits < 1150);
	CU_ASSERT(sim_prng_below(&a, 0) == 0 && sim_prng_below(&a, 1) == 0);
	CU_ASSERT(!sim_prng_chance(&a, 0) && sim_prng_chance(&a, 1000000));
}

struct record {
	uint64_t times[2000];
	uint64_t args[2000];
	uint32_t n;
	uint32_t want;
};

static void note(struct sim *sim, void *ctx, uint64_t arg)
{
	struct record *r = ctx;

	r->times[r->n] = sim_now_ns(sim);
	r->args[r->n++] = arg;
	if (arg == 77) /* an event may schedule others, also in the past */
		sim_at(sim, 0, note, r, 78);
}

static bool enough(void *ctx)
{
	struct record *r = ctx;

	return r->n >= r->want;
}

/* Events run in order of time, those of one time in order of the calls. */
static void event_order(void)
{
	static struct record r;
	struct sim *sim = sim_new(NULL, 1);
	struct sim_prng prng;
	uint64_t base = sim_now_ns(sim);
	uint32_t i;

	memset(&r, 0, sizeof(r));
	sim_prng_for(sim, &prng, SIM_STREAM_TEST, 0);
	for (i = 1000; i < 2000; i++)
		sim_at(sim, base + sim_prng_below(&prng, 50), note, &r, i);
	CU_ASSERT(!sim_step(sim, base - 1));
	CU_ASSERT(sim_run_idle(sim, 1000));
	CU_ASSERT(r.n == 1000);
	for (i = 1; i < r.n; i++)
		CU_ASSERT(r.times[i - 1] < r.times[i] ||
			  (r.times[i - 1] == r.times[i] && r.args[i - 1] < r.args[i]));
	sim_free(sim);
}

static void event_limits(void)
{
	static struct record r;
	struct sim *sim = sim_new(NULL, 1);
	uint64_t base = sim_now_ns(sim);

	memset(&r, 0, sizeof(r));
	sim_at(sim, base + 100, note, &r, 77);
	sim_at(sim, base + 200, note, &r, 2);
	r.want = 1;
	CU_ASSERT(!sim_run_until(sim, enough, &r, 99));
	CU_ASSERT(r.n == 0 && sim_now_ns(sim) == base + 99);
	CU_ASSERT(sim_run_until(sim, enough, &r, 1));
	CU_ASSERT(r.n == 1 && sim_now_ns(sim) == base + 100);
	sim_run_for(sim, 0);
	CU_ASSERT(r.n == 2 && r.args[1] == 78 && sim_now_ns(sim) == base + 100);
	CU_ASSERT(!sim_run_idle(sim, 50));
	CU_ASSERT(sim_now_ns(sim) == base + 150);
	CU_ASSERT(sim_run_idle(sim, 50));
	CU_ASSERT(r.n == 3 && sim_now_ns(sim) == base + 200 && sim_events(sim) == 3);
	sim_free(sim);
}

/* Two NICs on links whose times are easy to add up. */
struct net {
	struct sim *sim;
	struct sim_nic *nic[3];
};

enum {
	GAP_NS = 10,
	NS_PER_BYTE = 2,
	LATENCY_NS = 1000,
	FRAME_BYTES = 100,
};

static void net_open(struct net *net, uint64_t seed)
{
	struct sim_config config;
	uint32_t i;

	sim_config_default(&config);
	config.link = (struct sim_link){.latency_ns = LATENCY_NS,
					.gap_ns = GAP_NS,
					.gap_ps_per_byte = NS_PER_BYTE * 1000,
					.queue_bytes = 1000 * FRAME_BYTES};
	net->sim = sim_new(&config, seed);
	CU_ASSERT_FATAL(net->sim != NULL);
	for (i = 0; i < 3; i++)
		net->nic[i] = sim_nic_new(net->sim);
	sim_run_for(net->sim, FIX_MS);
}

/* Puts a frame on the line of NIC 0 now: an unknown EtherType and a number. */
static void put(struct net *net, const struct sim_nic *to, uint32_t number, bool control)
{
	uint8_t frame[FRAME_BYTES] = {0};
	struct wire_eth eth;

	memset(eth.dst, 0xff, sizeof(eth.dst));
	if (to)
		memcpy(eth.dst, sim_nic_mac(to), sizeof(eth.dst));
	memcpy(eth.src, sim_nic_mac(net->nic[0]), sizeof(eth.src));
	eth.type = be16_put(0x1234);
	memcpy(frame, &eth, sizeof(eth));
	memcpy(frame + 20, &number, sizeof(number));
	sim_link_tx(net->nic[0], sim_pkt_new(net->sim, frame, sizeof(frame)), sim_now_ns(net->sim),
		    control);
}

static uint64_t arrived(const struct sim_nic *nic)
{
	return nic->counts.rx_frames + nic->shard[0].rx_frames;
}

static bool one_more(void *ctx)
{
	return ((struct sim_nic *)ctx)->shard[0].rx_frames > 0;
}

/* Latency, the gap per frame and per byte on both lines, and queueing behind one another. */
static void link_times(void)
{
	const uint64_t line_ns = GAP_NS + FRAME_BYTES * NS_PER_BYTE;
	struct net net;
	uint64_t start;

	net_open(&net, 1);
	start = sim_now_ns(net.sim);
	put(&net, net.nic[1], 0, false);
	put(&net, net.nic[1], 1, false);
	CU_ASSERT(sim_run_until(net.sim, one_more, net.nic[1], FIX_MS));
	CU_ASSERT(sim_now_ns(net.sim) == start + 2 * line_ns + LATENCY_NS);
	sim_run_for(net.sim, line_ns - 1);
	CU_ASSERT(arrived(net.nic[1]) == 1);
	sim_run_for(net.sim, 1);
	CU_ASSERT(arrived(net.nic[1]) == 2);
	sim_run_for(net.sim, FIX_MS);
	CU_ASSERT(sim_nic_stat(net.nic[1], "drop_ethertype") == 2);
	CU_ASSERT(sim_nic_stat(net.nic[2], "rx_frames") == 0);

	/* A control frame does not wait behind ten data frames. */
	start = sim_now_ns(net.sim);
	for (int i = 0; i < 10; i++)
		put(&net, net.nic[1], 0, false);
	put(&net, net.nic[2], 0, true);
	CU_ASSERT(sim_run_until(net.sim, one_more, net.nic[2], FIX_MS));
	CU_ASSERT(sim_now_ns(net.sim) == start + 2 * line_ns + LATENCY_NS);
	sim_run_for(net.sim, FIX_MS);
	CU_ASSERT(arrived(net.nic[1]) == 12);
	sim_free(net.sim);
}

static void link_broadcast(void)
{
	struct net net;

	net_open(&net, 1);
	put(&net, NULL, 0, false);
	put(&net, net.nic[0], 0, false); /* to its sender: the switch keeps it */
	sim_run_for(net.sim, FIX_MS);
	CU_ASSERT(arrived(net.nic[0]) == 0);
	CU_ASSERT(arrived(net.nic[1]) == 1 && arrived(net.nic[2]) == 1);
	sim_free(net.sim);
}

static void put_many(struct net *net, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		put(net, net->nic[1], i, false);
		sim_run_for(net->sim, 300);
	}
	sim_run_for(net->sim, FIX_MS);
}

static void link_loss(void)
{
	struct net net;

	net_open(&net, 1);
	net.nic[1]->link.fault.loss_ppm = 100000;
	put_many(&net, 2000);
	CU_ASSERT(net.nic[1]->counts.drop_fault > 140 && net.nic[1]->counts.drop_fault < 260);
	CU_ASSERT(arrived(net.nic[1]) + net.nic[1]->counts.drop_fault == 2000);
	sim_free(net.sim);
}

static void link_burst(void)
{
	struct net net;

	net_open(&net, 1);
	net.nic[1]->link.fault.burst_ppm = 10000;
	net.nic[1]->link.fault.burst_frames = 8;
	put_many(&net, 4000);
	/* About 40 bursts of 8. */
	CU_ASSERT(net.nic[1]->counts.drop_fault > 150 && net.nic[1]->counts.drop_fault < 550);
	CU_ASSERT(arrived(net.nic[1]) + net.nic[1]->counts.drop_fault == 4000);
	sim_free(net.sim);
}

static void link_dup(void)
{
	struct net net;

	net_open(&net, 1);
	net.nic[1]->link.fault.dup_ppm = 1000000;
	put_many(&net, 50);
	CU_ASSERT(arrived(net.nic[1]) == 100 && net.nic[1]->counts.duplicated == 50);
	sim_free(net.sim);
}

static void link_queue(void)
{
	struct net net;
	uint32_t i;

	net_open(&net, 1);
	net.nic[1]->link.queue_bytes = 5 * FRAME_BYTES;
	net.nic[1]->link.gap_ns = 10000; /* the line towards it is slow */
	for (i = 0; i < 20; i++)
		put(&net, net.nic[1], i, false);
	sim_run_for(net.sim, FIX_MS);
	CU_ASSERT(arrived(net.nic[1]) + net.nic[1]->counts.drop_switch_queue == 20);
	CU_ASSERT(arrived(net.nic[1]) == 5);
	sim_free(net.sim);
}

/* Reads the numbers of the frames that arrived from the capture. */
static uint32_t captured(const char *path, uint32_t nic, bool out, uint32_t *numbers, uint32_t max)
{
	static uint8_t file[1 << 20];
	FILE *f = fopen(path, "rb");
	size_t bytes = f ? fread(file, 1, sizeof(file), f) : 0, at = 0;
	uint32_t n = 0;

	CU_ASSERT_FATAL(f != NULL);
	fclose(f);
	CU_ASSERT_FATAL(bytes > 28 && bytes < sizeof(file));
	while (at < bytes) {
		uint32_t w[7], tail, flags;

		CU_ASSERT_FATAL(at + 12 <= bytes);
		memcpy(w, file + at, 8);
		CU_ASSERT_FATAL(w[1] >= 12 && w[1] % 4 == 0 && at + w[1] <= bytes);
		memcpy(&tail, file + at + w[1] - 4, 4);
		CU_ASSERT_FATAL(tail == w[1]);
		CU_ASSERT(w[0] == (at ? w[0] : 0x0a0d0d0a));
		if (w[0] == 6) {
			memcpy(w, file + at, sizeof(w));
			CU_ASSERT(w[5] == FRAME_BYTES && w[6] == FRAME_BYTES);
			memcpy(&flags, file + at + 28 + FRAME_BYTES + 4, 4);
			if (w[2] == nic && (flags & 3) == (out ? 2 : 1) && n < max)
				memcpy(&numbers[n++], file + at + 28 + 20, 4);
		}
		at += w[1];
	}
	return n;
}

static void link_reorder_and_capture(void)
{
	uint32_t sent[100], got[100], n, m, i, late = 0;
	bool seen[100] = {false};
	char path[TMP_PATH_BYTES];
	int fd = tmp_file(path);
	struct net net;

	CU_ASSERT_FATAL(fd >= 0);
	close(fd);
	net_open(&net, 1);
	CU_ASSERT_FATAL(sim_pcap_open(net.sim, path) == 0);
	net.nic[1]->link.fault.reorder_ppm = 100000;
	net.nic[1]->link.reorder_ns = 5000;
	net.nic[1]->link.jitter_ns = 2000;
	put_many(&net, 100);
	CU_ASSERT(arrived(net.nic[1]) == 100);
	sim_free(net.sim);
	n = captured(path, 0, true, sent, 100);
	m = captured(path, 1, false, got, 100);
	unlink(path);
	CU_ASSERT_FATAL(n == 100 && m == 100);
	for (i = 0; i < 100; i++) {
		CU_ASSERT(sent[i] == i);
		CU_ASSERT_FATAL(got[i] < 100 && !seen[got[i]]);
		seen[got[i]] = true;
		late += i && got[i] < got[i - 1];
	}
	CU_ASSERT(late > 1 && late < 40);
}

/* Jitter alone keeps the order. */
static void link_jitter(void)
{
	uint32_t got[100], i;
	char path[TMP_PATH_BYTES];
	int fd = tmp_file(path);
	struct net net;

	CU_ASSERT_FATAL(fd >= 0);
	close(fd);
	net_open(&net, 1);
	CU_ASSERT_FATAL(sim_pcap_open(net.sim, path) == 0);
	net.nic[1]->link.jitter_ns = 5000;
	put_many(&net, 100);
	sim_free(net.sim);
	CU_ASSERT_FATAL(captured(path, 1, false, got, 100) == 100);
	unlink(path);
	for (i = 0; i < 100; i++)
		CU_ASSERT(got[i] == i);
}

struct seen {
	uint32_t frames;
	enum sim_verdict verdict;
};

static enum sim_verdict see(void *ctx, struct sim_nic *from, uint8_t *frame, size_t bytes)
{
	struct seen *seen = ctx;

	CU_ASSERT(sim_nic_index(from) == 0 && bytes == FRAME_BYTES && frame[12] == 0x12);
	seen->frames++;
	return seen->verdict;
}

static void link_filter(void)
{
	struct seen seen = {0, SIM_PASS};
	struct net net;

	net_open(&net, 1);
	sim_set_filter(net.sim, see, &seen);
	put_many(&net, 1);
	CU_ASSERT(seen.frames == 1 && arrived(net.nic[1]) == 1);
	seen.verdict = SIM_DROP;
	put_many(&net, 1);
	CU_ASSERT(seen.frames == 2 && arrived(net.nic[1]) == 1);
	seen.verdict = SIM_TWICE;
	put_many(&net, 1);
	CU_ASSERT(seen.frames == 3 && arrived(net.nic[1]) == 3);
	sim_set_filter(net.sim, NULL, NULL);
	put_many(&net, 1);
	CU_ASSERT(seen.frames == 3 && arrived(net.nic[1]) == 4);
	sim_free(net.sim);
}

static void fault_partition(void)
{
	struct net net;

	net_open(&net, 1);
	sim_block(net.nic[1], net.nic[0], true); /* the other way */
	put_many(&net, 1);
	CU_ASSERT(arrived(net.nic[1]) == 1);
	sim_block(net.nic[0], net.nic[1], true);
	put_many(&net, 1);
	CU_ASSERT(arrived(net.nic[1]) == 1 && net.nic[1]->counts.drop_partition == 1);
	sim_heal(net.sim);
	put_many(&net, 1);
	CU_ASSERT(arrived(net.nic[1]) == 2);
	sim_partition(net.sim, 5); /* 0 and 2 against 1 */
	put(&net, NULL, 0, false);
	sim_run_for(net.sim, FIX_MS);
	CU_ASSERT(arrived(net.nic[1]) == 2 && arrived(net.nic[2]) == 1);
	sim_free(net.sim);
}

static void fault_clog(void)
{
	struct net net;

	net_open(&net, 1);
	sim_clog(net.nic[1], true);
	put_many(&net, 5);
	CU_ASSERT(arrived(net.nic[1]) == 0);
	sim_clog(net.nic[1], false);
	CU_ASSERT(arrived(net.nic[1]) == 5);
	sim_clog(net.nic[1], true);
	put_many(&net, 5); /* freed with the simulation */
	sim_swizzle(net.sim, 10 * FIX_MS);
	sim_run_for(net.sim, 10 * FIX_MS);
	CU_ASSERT(arrived(net.nic[1]) == 10);
	sim_clog(net.nic[1], true);
	put_many(&net, 5);
	sim_free(net.sim);
}

static void fault_pause_and_kill(void)
{
	struct net net;

	net_open(&net, 1);
	sim_nic_pause(net.nic[1], 10 * FIX_MS);
	put_many(&net, 5);
	CU_ASSERT(net.nic[1]->counts.rx_frames == 0 && net.nic[1]->shard[0].rx_frames == 5);
	sim_run_for(net.sim, 10 * FIX_MS);
	CU_ASSERT(net.nic[1]->counts.rx_frames == 5);
	sim_nic_kill(net.nic[1]);
	put_many(&net, 5);
	CU_ASSERT(arrived(net.nic[1]) == 5 && net.nic[1]->counts.drop_dead == 5);
	sim_nic_restart(net.nic[1]);
	CU_ASSERT(sim_nic_stat(net.nic[1], "rx_frames") == 0);
	put_many(&net, 5);
	CU_ASSERT(sim_nic_stat(net.nic[1], "rx_frames") == 5);
	sim_free(net.sim);
}

static void fault_list(void)
{
	struct sim *sim = sim_new(NULL, 1);
	struct sim_nic *nic = sim_nic_new(sim);
	char message[160] = "";

	CU_ASSERT(!sim_faults_parse(sim, "loss,dup=2%,reorder=0.5,corrupt=0", message, 160));
	CU_ASSERT(nic->link.fault.loss_ppm == 10000 && nic->link.fault.dup_ppm == 20000);
	CU_ASSERT(nic->link.fault.reorder_ppm == 5000 && nic->link.reorder_ns > 0);
	CU_ASSERT(nic->link.fault.corrupt_ppm == 0);
	CU_ASSERT(sim_nic_new(sim)->link.fault.loss_ppm == 10000);
	CU_ASSERT(!sim_faults_parse(sim, "", message, 160));
	CU_ASSERT(sim_faults_parse(sim, "los", message, 160) == -EINVAL && strstr(message, "los"));
	CU_ASSERT(sim_faults_parse(sim, "loss=", message, 160) == -EINVAL);
	CU_ASSERT(sim_faults_parse(sim, "loss=101", message, 160) == -EINVAL);
	CU_ASSERT(sim_faults_parse(sim, "loss=-1", message, 160) == -EINVAL);
	CU_ASSERT(sim_faults_parse(sim, "loss=1x", message, 160) == -EINVAL);
	sim_faults_off(sim);
	CU_ASSERT(nic->link.fault.loss_ppm == 0 && sim_nic_new(sim)->link.fault.dup_ppm == 0);
	sim_free(sim);
}

/* Addresses do not depend on the machine; unmapped memory is out of reach. */
static void process_memory(void)
{
	void *first[2] = {0}, *second[2] = {0};
	struct sim_mem *mem;
	int i;

	for (i = 0; i < 2; i++) {
		struct sim *sim = sim_new(NULL, (uint64_t)i);
		struct sim_proc *proc = sim_proc_new(sim_nic_new(sim), "p");
		uint8_t *alias;

		first[i] = sim_mem_alloc(proc, 5000, true);
		second[i] = sim_mem_alloc(proc, 1, false);
		CU_ASSERT_FATAL(first[i] && second[i]);
		mem = sim_mem_find(proc, (uintptr_t)first[i], 8192);
		CU_ASSERT_FATAL(mem != NULL);
		CU_ASSERT(!sim_mem_find(proc, (uintptr_t)first[i], 8193));
		CU_ASSERT(!sim_mem_find(proc, (uintptr_t)first[i] - 1, 2));
		CU_ASSERT(!sim_mem_find(proc, UINT64_MAX - 1, 4));
		alias = sim_mem_map(proc->shard, 3, mem);
		CU_ASSERT_FATAL(alias != NULL);
		alias[4999] = 0x5a;
		CU_ASSERT(((uint8_t *)first[i])[4999] == 0x5a);
		CU_ASSERT(!sim_mem_unmap(proc->shard, 4, alias));
		CU_ASSERT(sim_mem_unmap(proc->shard, 3, alias));
		CU_ASSERT(!sim_mem_unmap(proc->shard, 3, alias));
		sim_mem_free(proc, first[i]);
		CU_ASSERT(!sim_mem_find(proc, (uintptr_t)first[i], 1));
		CU_ASSERT(sim_mem_find(proc, (uintptr_t)second[i], 1) != NULL);
		sim_free(sim);
	}
	CU_ASSERT(first[0] == first[1] && second[0] == second[1]);
}

/* Received frames come in pieces, yet the same bytes: an echo request returns whole. */
static uint8_t echoed[2000];
static size_t echoed_bytes;

static enum sim_verdict catch_echo(void *ctx, struct sim_nic *from, uint8_t *frame, size_t bytes)
{
	(void)ctx, (void)from;
	if (bytes > 1000) {
		memcpy(echoed, frame, bytes);
		echoed_bytes = bytes;
	}
	return SIM_PASS;
}

static void receive_segments(void)
{
	uint8_t frame[14 + 20 + 8 + 1400];
	struct sim_config config;
	struct sim *sim;
	struct sim_nic *nic, *peer;
	struct wire_eth eth = {.type = be16_put(WIRE_ETHERTYPE_IPV4)};
	struct wire_ip ip = {
	    .version_ihl = WIRE_IP_VERSION_IHL, .ttl = 64, .proto = WIRE_IPPROTO_ICMP};
	struct wire_icmp_echo echo = {.type = WIRE_ICMP_ECHO};
	uint32_t i;

	sim_config_default(&config);
	config.rx_split_ppm = 1000000;
	sim = sim_new(&config, 1);
	nic = sim_nic_new(sim);
	peer = sim_nic_new(sim);
	for (i = 0; i < sizeof(frame); i++)
		frame[i] = (uint8_t)(i * 7);
	memcpy(eth.dst, sim_nic_mac(nic), 6);
	memcpy(eth.src, sim_nic_mac(peer), 6);
	ip.total_bytes = be16_put(sizeof(frame) - 14);
	i = sim_nic_ip(peer);
	memcpy(&ip.src, &i, 4);
	i = sim_nic_ip(nic);
	memcpy(&ip.dst, &i, 4);
	ip.checksum = be16_put(wire_sum_fold(wire_sum_add(0, &ip, sizeof(ip))));
	memcpy(frame, &eth, 14);
	memcpy(frame + 14, &ip, 20);
	memcpy(frame + 34, &echo, 8);
	echo.checksum = be16_put(wire_sum_fold(wire_sum_add(0, frame + 34, 8 + 1400)));
	memcpy(frame + 34, &echo, 8);
	sim_set_filter(sim, catch_echo, NULL);
	for (i = 0; i < 20; i++) {
		echoed_bytes = 0;
		sim_inject(nic, frame, sizeof(frame));
		sim_run_for(sim, 5 * FIX_MS);
		CU_ASSERT_FATAL(echoed_bytes == sizeof(frame));
		CU_ASSERT(!memcmp(echoed + 42, frame + 42, 1400));
		CU_ASSERT(echoed[34] == WIRE_ICMP_ECHO_REPLY);
	}
	CU_ASSERT(sim_nic_counts(nic)->frames_held == 0);
	sim_free(sim);
}

UT_MAIN("sim/sim_core", UT(prng_reference), UT(prng_streams), UT(event_order), UT(event_limits),
	UT(link_times), UT(link_broadcast), UT(link_loss), UT(link_burst), UT(link_dup),
	UT(link_queue), UT(link_reorder_and_capture), UT(link_jitter), UT(link_filter),
	UT(fault_partition), UT(fault_clog), UT(fault_pause_and_kill), UT(fault_list),
	UT(process_memory), UT(receive_segments))
