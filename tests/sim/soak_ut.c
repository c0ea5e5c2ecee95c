/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of the soak: plans drawn from seeds, faults of hosts and clocks, forged frames, the
 * audit. tests/int/sim_soak.sh tests the driver itself.
 */
#include "tests/sim/sim_fix.h"

#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/clock.h"
#include "sim_harness/sim_int.h"
#include "sim_harness/sim_plan.h"

#include "nic_fw/base/crc32c.h"
#include "shared_defs/wire_dgram.h"
#include "shared_defs/wire_eth.h"
#include "shared_defs/wire_ip.h"

/* The same seed gives the same plan; over many seeds every option is drawn. */
static void plans(void)
{
	bool wrap = false, cc = false, mapped = false, shards = false, kill_drawn = false;
	bool busy = false, busy_drawn = false;
	struct sim_plan plan, again;
	char text[SIM_PLAN_TEXT_BYTES], text_again[SIM_PLAN_TEXT_BYTES];
	uint32_t tight = 0;
	uint64_t seed;

	for (seed = 0; seed < 500; seed++) {
		memset(&plan, 0, sizeof(plan));
		memset(&again, 0, sizeof(again));
		sim_plan_draw(&plan, seed, NULL);
		sim_plan_draw(&again, seed, NULL);
		sim_plan_format(&plan, text, sizeof(text));
		sim_plan_format(&again, text_again, sizeof(text_again));
		CU_ASSERT(!strcmp(text, text_again));
		CU_ASSERT(plan.nics >= 2 && plan.nics <= 12 && plan.workload->weight);
		CU_ASSERT(plan.mtu >= HW_MIN_MTU && plan.mtu <= HW_MAX_MTU);
		wrap |= plan.wrap_soon;
		cc |= plan.cc_off;
		mapped |= plan.no_host_map;
		busy |= plan.host_busy > 0;
		busy_drawn |= plan.host_busy && !(plan.workload->bears_busy && plan.no_host_map);
		shards |= plan.shards > 1;
		tight += (plan.budget <= 3) + (plan.tx_frames <= 16) + (plan.rx_frames <= 48) +
			     (plan.queue_kib <= 64) >=
			 3;
		kill_drawn |= !plan.workload->bears_death && strstr(plan.faults, "kill");
		kill_drawn |= !plan.workload->bears_forgery && strstr(plan.faults, "forge");
	}
	CU_ASSERT(wrap && cc && mapped && shards && !kill_drawn);
	CU_ASSERT(busy && !busy_drawn);
	/* A third of the runs, and nearly none besides. */
	CU_ASSERT(tight > 140 && tight < 260);
}

/* Given options override drawn ones, and drawn ones can be given. */
static void options(void)
{
	char *argv[] = {"weft-sim", "--seed", "9",        "--random", "--nics",   "3",
			"--mtu",    "1500",   "--faults", "loss=1",   "--cc-off", NULL};
	char text[SIM_PLAN_TEXT_BYTES];
	struct sim_opts opts;
	struct sim_plan plan, drawn;

	memset(&drawn, 0, sizeof(drawn));
	sim_plan_draw(&drawn, 9, NULL);
	CU_ASSERT_EQUAL_FATAL(sim_opts_parse(&opts, 11, argv), -1);
	sim_opts_plan(&opts, opts.seed, &plan);
	CU_ASSERT(plan.seed == 9 && plan.nics == 3 && plan.mtu == 1500 && plan.cc_off);
	CU_ASSERT(!strcmp(plan.faults, "loss=1"));
	CU_ASSERT(plan.latency_ns == drawn.latency_ns && plan.workload == drawn.workload);
	sim_opts_format(&opts, text, sizeof(text));
	CU_ASSERT(!strcmp(text, " --nics 3 --mtu 1500 --faults loss=1 --cc-off"));
}

struct seen {
	uint32_t kills, restarts;
};

static void on_fault(void *ctx, enum sim_fault_event event, struct sim_nic *nic)
{
	struct seen *seen = ctx;

	CU_ASSERT(nic != NULL);
	seen->kills += event == SIM_FAULT_KILL;
	seen->restarts += event == SIM_FAULT_RESTART;
}

static void faults_of_hosts(void)
{
	struct sim *sim = sim_new(NULL, 1);
	struct sim_nic *a, *b;
	struct seen seen = {0, 0};
	char message[160];

	CU_ASSERT_FATAL(sim != NULL);
	a = sim_nic_new(sim);
	b = sim_nic_new(sim);
	CU_ASSERT(sim_slow_ns(a, 100) == 100);
	CU_ASSERT(
	    !sim_faults_parse(sim, "slow=100,kill=100,restart=100", message, sizeof(message)));
	CU_ASSERT(sim_slow_ns(a, 100) >= 400 && sim_slow_ns(a, 100) == sim_slow_ns(a, 100));
	sim_run_for(sim, 3 * FIX_MS);
	sim_on_fault(sim, on_fault, &seen);
	sim_run_for(sim, 3 * FIX_MS);
	CU_ASSERT(seen.kills == 6 && seen.restarts == 6); /* two NICs, three ticks */
	sim_faults_off(sim);
	sim_run_for(sim, 3 * FIX_MS);
	CU_ASSERT(seen.kills == 6 && sim_slow_ns(b, 100) == 100);
	sim_free(sim);
}

/* Frames in one direction are lost for a while; those in the other arrive. */
static void oneway(void)
{
	struct sim *sim = sim_new(NULL, 3);
	char message[160];
	uint32_t ms, blocked = 0, both = 0;
	struct sim_nic *a, *b;

	CU_ASSERT_FATAL(sim != NULL);
	a = sim_nic_new(sim);
	b = sim_nic_new(sim);
	CU_ASSERT(!sim_faults_parse(sim, "oneway=30", message, sizeof(message)));
	for (ms = 0; ms < 200; ms++) {
		bool ab = a->blocked[0] >> 1 & 1, ba = b->blocked[0] & 1;

		blocked += ab != ba;
		both += ab && ba;
		sim_run_for(sim, FIX_MS);
	}
	CU_ASSERT(blocked > 10 && blocked > both);
	sim_faults_off(sim);
	CU_ASSERT(!a->blocked[0] && !b->blocked[0]);
	sim_free(sim);
}

/* Clocks jump while a message is in flight: it arrives, and nothing times out. */
static void clock_jumps(void)
{
	struct weft_wc wc[2];
	struct pair p;
	struct weft_sge sge;
	struct weft_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = WEFT_WR_SEND};

	pair_open(&p, 5, NULL);
	sge = sim_end_sge(&p.a, 0, 20000);
	wr.flags = WEFT_SEND_SIGNALED;
	wr.ah = p.ab;
	wr.dst_qpn = p.b.qp->qpn;
	wr.qkey = SIM_END_QKEY;
	CU_ASSERT(!sim_end_recv(&p.b, 1, 0, 20000));
	CU_ASSERT(!weft_post_send(p.a.qp, &wr, NULL));
	sim_run_for(p.sim, 3000);
	sim_nic_jump(p.na, 20 * FIX_MS);
	sim_nic_jump(p.nb, 5 * FIX_MS);
	FIX_CHECK(&p,
		  sim_end_wait(&p.a, wc, 1, FIX_LIMIT_NS) == 1 && wc[0].status == WEFT_WC_SUCCESS);
	FIX_CHECK(&p, sim_end_wait(&p.b, wc, 1, FIX_LIMIT_NS) == 1 && wc[0].bytes == 20000);
	pair_close(&p);
}

static struct sim_pkt *datagram(struct sim *sim, uint32_t payload)
{
	uint32_t udp_bytes = sizeof(struct wire_udp) + sizeof(struct wire_dgram) + payload + 4;
	uint32_t bytes = sizeof(struct wire_eth) + sizeof(struct wire_ip) + udp_bytes;
	struct sim_pkt *pkt = sim_pkt_new(sim, NULL, bytes);
	struct wire_eth eth = {.type = be16_put(WIRE_ETHERTYPE_IPV4)};
	struct wire_ip ip = {.version_ihl = WIRE_IP_VERSION_IHL, .proto = WIRE_IPPROTO_UDP};
	struct wire_udp udp = {.dst_port = be16_put(WIRE_DGRAM_PORT),
			       .bytes = be16_put((uint16_t)udp_bytes)};

	memset(pkt->data, 0x5a, bytes);
	ip.total_bytes = be16_put((uint16_t)(bytes - sizeof(eth)));
	memcpy(pkt->data, &eth, sizeof(eth));
	memcpy(pkt->data + sizeof(eth), &ip, sizeof(ip));
	memcpy(pkt->data + sizeof(eth) + sizeof(ip), &udp, sizeof(udp));
	return pkt;
}

/* Forged frames differ, never grow, and have a right CRC unless their lengths are wrong. */
static void forgery(void)
{
	struct sim *sim = sim_new(NULL, 1);
	uint32_t at = sizeof(struct wire_eth) + sizeof(struct wire_ip), i, right = 0, shorter = 0;
	struct sim_prng prng;
	struct sim_pkt *pkt;

	CU_ASSERT_FATAL(sim != NULL);
	sim_prng_init(&prng, 1, SIM_STREAM_TEST, 0);
	pkt = datagram(sim, 400);
	for (i = 0; i < 1000; i++) {
		struct sim_pkt *twin = sim_forge(sim, &prng, pkt);
		struct be32 crc;

		CU_ASSERT_FATAL(twin && twin->bytes <= pkt->bytes && twin->bytes > at + 4);
		crc = fw_crc32c_wire(
		    fw_crc32c(FW_CRC32C_INIT, twin->data + at, twin->bytes - at - 4));
		right += !memcmp(&crc, twin->data + twin->bytes - 4, 4);
		shorter += twin->bytes < pkt->bytes;
		CU_ASSERT(twin->bytes < pkt->bytes || memcmp(twin->data, pkt->data, pkt->bytes));
		sim_pkt_free(sim, twin);
	}
	CU_ASSERT(right > 600 && right < 1000 && shorter > 50 && shorter < 300);
	pkt->data[12] = 0x86; /* another EtherType */
	CU_ASSERT(!sim_forge(sim, &prng, pkt));
	sim_pkt_free(sim, pkt);
	sim_free(sim);
}

/* The audit detects a process that is still there at the end. */
static void audit(void)
{
	struct sim_run run = {.workload = sim_workload_find("rd_mix")};
	struct pair p;

	pair_open(&p, 7, NULL);
	run.sim = p.sim;
	sim_audit_empty(&run, 10 * FIX_MS);
	CU_ASSERT(!strncmp(run.failure, "audit: ", 7) && strstr(run.failure, "weft0"));
	sim_end_close(&p.a);
	sim_end_close(&p.b);
	run.failure[0] = '\0';
	sim_audit_empty(&run, 5000 * FIX_MS);
	CU_ASSERT(!run.failure[0]);
	sim_free(p.sim);
}

/* Starts a process that keeps the given processor busy. */
static pid_t rival(const cpu_set_t *one)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	(void)sched_setaffinity(0, sizeof(*one), one);
	for (;;)
		;
}

/* A run that waits for a processor does not hang: the soak does not count that time. */
static void waits_for_processor(void)
{
	const double begin_s = clock_now_s();
	cpu_set_t one, all;
	pid_t pid;

	CU_ASSERT_FATAL(!sched_getaffinity(0, sizeof(all), &all));
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	CU_ASSERT_FATAL(!sched_setaffinity(0, sizeof(one), &one));
	pid = rival(&one);
	CU_ASSERT_FATAL(pid > 0);
	/* Both want the processor, so the other one waits about half of the time. */
	while (sim_soak_waited_s(pid) <= 0.05 && clock_now_s() - begin_s < 20)
		;
	CU_ASSERT(sim_soak_waited_s(pid) > 0.05);
	(void)sched_setaffinity(0, sizeof(all), &all);
	CU_ASSERT(!kill(pid, SIGKILL) && waitpid(pid, NULL, 0) == pid);
	CU_ASSERT(sim_soak_waited_s(pid) == 0);
}

/* The soak or its machine stood still for an hour, and somebody stops a run: none of them hangs. */
static void stands_still(void)
{
	struct sim_soak_age age = {.looked_s = 10};
	double now_s = 10;
	int i, status;
	pid_t pid;

	for (i = 0; i < 100; i++)
		(void)sim_soak_look(&age, now_s += 0.25, false);
	CU_ASSERT_DOUBLE_EQUAL(age.s, 25, 0.001);
	CU_ASSERT(sim_soak_look(&age, now_s += 3600, false) <= 26);
	CU_ASSERT(sim_soak_look(&age, now_s += 0.5, true) <= 26);
	CU_ASSERT(sim_soak_look(&age, now_s += 0.5, false) >= 25.5);
	pid = fork();
	if (!pid)
		for (;;)
			pause();
	CU_ASSERT_FATAL(pid > 0);
	CU_ASSERT_FALSE(sim_soak_is_stopped(pid));
	CU_ASSERT(!kill(pid, SIGSTOP) && waitpid(pid, &status, WUNTRACED) == pid);
	CU_ASSERT_TRUE(sim_soak_is_stopped(pid));
	CU_ASSERT(!kill(pid, SIGCONT) && waitpid(pid, &status, WCONTINUED) == pid);
	CU_ASSERT_FALSE(sim_soak_is_stopped(pid));
	CU_ASSERT(!kill(pid, SIGKILL) && waitpid(pid, NULL, 0) == pid);
	CU_ASSERT_FALSE(sim_soak_is_stopped(pid));
}

UT_MAIN("sim/soak", UT(plans), UT(options), UT(faults_of_hosts), UT(oneway), UT(clock_jumps),
	UT(forgery), UT(audit), UT(waits_for_processor), UT(stands_still))
