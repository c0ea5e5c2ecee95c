/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The workloads of weft-sim under many seeds and faults. A seed means one run: the same digest each
 * time, another one for another seed.
 */
#include "tests/sim/sim_fix.h"

#include "sim_harness/wl/sim_workload.h"

#include "shared_defs/wire_dgram.h"
#include "shared_defs/wire_eth.h"
#include "shared_defs/wire_ip.h"

#define ALL_FAULTS "loss=2,burst,dup,reorder=2,jitter,ecn,clog,partition,pause"

struct job {
	const char *workload;
	const char *faults;
	uint32_t nics, shards, mtu;
	uint64_t duration_ns;
	bool wrap_soon, cc_off, no_host_map;
	uint32_t host_busy_ppm;
	uint64_t param; /* the workload's first; 0: all have their defaults */
	sim_filter filter;
	void *filter_ctx;
};

/* Runs it; returns the digest. */
static uint64_t run(const struct job *job, uint64_t seed)
{
	struct sim_config config;
	uint64_t param[SIM_PARAMS_MAX];
	struct sim_run result;
	char message[160];
	struct sim *sim;
	uint64_t digest;
	uint32_t i;
	int rc;

	sim_config_default(&config);
	config.num_shards = job->shards ? job->shards : 1;
	config.mtu = job->mtu ? job->mtu : 4096;
	config.wrap_soon = job->wrap_soon;
	config.cc_off = job->cc_off;
	config.no_host_map = job->no_host_map;
	config.host_busy_ppm = job->host_busy_ppm;
	sim = sim_new(&config, seed);
	CU_ASSERT_FATAL(sim != NULL);
	for (i = 0; i < job->nics; i++)
		sim_nic_new(sim);
	CU_ASSERT_FATAL(!sim_faults_parse(sim, job->faults, message, sizeof(message)));
	sim_set_filter(sim, job->filter, job->filter_ctx);
	sim_params_default(sim_workload_find(job->workload), param);
	if (job->param)
		param[0] = job->param;
	rc = sim_workload_run_with(&result, sim, sim_workload_find(job->workload), param,
				   job->duration_ns, 20000 * FIX_MS);
	if (rc)
		printf("\n    %s\n    weft-sim --seed %llu --nics %u --shards %u --workload %s "
		       "--mtu %u --duration-ms %llu --faults '%s'",
		       result.failure, (unsigned long long)seed, job->nics, config.num_shards,
		       job->workload, config.mtu, (unsigned long long)job->duration_ns / 1000000,
		       job->faults);
	CU_ASSERT(!rc);
	CU_ASSERT(result.bytes > 0);
	digest = sim_digest(sim);
	sim_free(sim);
	return digest;
}

static void run_seeds(const struct job *job, uint64_t first, uint64_t count)
{
	uint64_t seed;

	for (seed = first; seed < first + count; seed++)
		run(job, seed);
}

static void deterministic(void)
{
	static const char *const names[] = {"rd_mix", "rd_send",  "ud_send", "ud_long",
					    "verbs",  "rc_tcp",   "tag",     "uc",
					    "xrc",    "ud_mcast", "calm"};
	uint32_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct job job = {.workload = names[i],
				  .faults = ALL_FAULTS ",corrupt",
				  .nics = 3,
				  .duration_ns = FIX_MS};
		uint64_t first = run(&job, 100 + i);

		CU_ASSERT(run(&job, 100 + i) == first);
		CU_ASSERT(run(&job, 200 + i) != first);
	}
}

static void rd_clean(void)
{
	const struct job job = {
	    .workload = "rd_mix", .faults = "", .nics = 5, .duration_ns = 2 * FIX_MS};

	run_seeds(&job, 1, 4);
}

static void rd_faults(void)
{
	const struct job job = {
	    .workload = "rd_mix", .faults = FIX_FAULTS, .nics = 3, .duration_ns = 2 * FIX_MS};

	run_seeds(&job, 10, 8);
}

static void rd_heavy_faults(void)
{
	const struct job job = {
	    .workload = "rd_mix", .faults = ALL_FAULTS, .nics = 4, .duration_ns = 5 * FIX_MS};

	run_seeds(&job, 20, 8);
}

/* Atomics of every operation and type, on memory that is mapped, and on pages that come late. */
static void rd_typed_atomics(void)
{
	struct job job = {.workload = "rd_mix",
			  .param = 100,
			  .faults = FIX_FAULTS,
			  .nics = 3,
			  .duration_ns = 3 * FIX_MS};

	run_seeds(&job, 40, 4);
	job.no_host_map = true;
	job.host_busy_ppm = 30000;
	run_seeds(&job, 50, 4);
}

static void tags_clean(void)
{
	const struct job job = {.workload = "tag", .faults = "", .nics = 3, .duration_ns = FIX_MS};

	run_seeds(&job, 1, 4);
}

static void tags_faults(void)
{
	const struct job job = {.workload = "tag",
				.faults = ALL_FAULTS ",kill,restart",
				.nics = 3,
				.shards = 2,
				.duration_ns = 2 * FIX_MS};

	run_seeds(&job, 10, 6);
}

/* Set-up waits a second for a lost SYN, so connections come and go in the clean run. */
static void tcp_clean(void)
{
	const struct job job = {
	    .workload = "rc_tcp", .faults = "", .nics = 4, .shards = 2, .duration_ns = 5 * FIX_MS};

	run_seeds(&job, 1, 2);
}

/* While *ctx is set no FPDU passes: of segments with data only those of MPA's set-up. */
static enum sim_verdict lose_fpdus(void *ctx, struct sim_nic *from, uint8_t *frame, size_t bytes)
{
	enum {
		TCP_AT = sizeof(struct wire_eth) + sizeof(struct wire_ip),
	};
	const struct wire_eth *eth = (const void *)frame;
	const struct wire_ip *ip = (const void *)(eth + 1);
	uint32_t data;

	(void)from;
	if (!*(bool *)ctx || bytes < TCP_AT + 20 || be16_get(eth->type) != WIRE_ETHERTYPE_IPV4 ||
	    ip->proto != WIRE_IPPROTO_TCP)
		return SIM_PASS;
	data = TCP_AT + (uint32_t)(frame[TCP_AT + 12] >> 4) * 4;
	if (sizeof(*eth) + be16_get(ip->total_bytes) <= data || data + 4 > bytes ||
	    !memcmp(frame + data, "MPA ", 4))
		return SIM_PASS;
	return SIM_DROP;
}

/* Connections that receive no data fail, though they are established. */
static void tcp_lost(void)
{
	uint64_t param[SIM_PARAMS_MAX];
	char message[160];
	const struct sim_workload *workload =
	    sim_workload_parse("rc_tcp:chaos=0", param, message, sizeof(message));
	struct sim *sim = sim_new(NULL, 7);
	struct sim_run result;
	bool on = true;
	uint32_t i;

	CU_ASSERT_FATAL(sim != NULL && workload);
	for (i = 0; i < 6; i++)
		sim_nic_new(sim);
	sim_set_filter(sim, lose_fpdus, &on);
	CU_ASSERT_NOT_EQUAL(
	    sim_workload_run_with(&result, sim, workload, param, 30 * FIX_MS, 20000 * FIX_MS), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(result.failure, "ended by itself"));
	sim_free(sim);
}

static void tcp_faults(void)
{
	const struct job job = {
	    .workload = "rc_tcp", .faults = FIX_FAULTS, .nics = 3, .duration_ns = 8 * FIX_MS};

	run_seeds(&job, 10, 4);
}

/* Processes are killed, NICs restart, connections are reset: the same digest each time. */
static void tcp_deaths(void)
{
	const struct job job = {.workload = "rc_tcp",
				.faults = "kill=10,restart=5",
				.nics = 4,
				.shards = 2,
				.duration_ns = 6 * FIX_MS};
	uint64_t first = run(&job, 1);

	CU_ASSERT(run(&job, 1) == first);
	run_seeds(&job, 2, 3);
}

/* Connections are misused and their segments forged. */
static void hostile_connections(void)
{
	const struct job job = {
	    .workload = "hostile", .faults = "forge=5", .nics = 3, .duration_ns = 3 * FIX_MS};
	uint64_t first = run(&job, 1);

	CU_ASSERT(run(&job, 1) == first);
	run_seeds(&job, 2, 2);
}

static void rd_heavy_loss(void)
{
	const struct job job = {.workload = "rd_mix",
				.faults = "loss=20,reorder=20,dup=20",
				.nics = 2,
				.duration_ns = 5 * FIX_MS};

	run_seeds(&job, 30, 4);
}

static void rd_no_congestion_control(void)
{
	const struct job job = {.workload = "rd_mix",
				.faults = ALL_FAULTS,
				.nics = 3,
				.duration_ns = 2 * FIX_MS,
				.cc_off = true};

	run_seeds(&job, 40, 4);
}

static void rd_unmapped(void)
{
	const struct job job = {.workload = "rd_mix",
				.faults = FIX_FAULTS,
				.nics = 3,
				.duration_ns = 2 * FIX_MS,
				.no_host_map = true};

	run_seeds(&job, 50, 4);
}

static void rd_sizes_of_mtu(void)
{
	struct job job = {
	    .workload = "rd_mix", .faults = FIX_FAULTS, .nics = 2, .duration_ns = 2 * FIX_MS};
	static const uint32_t mtus[] = {1280, 1500, 9000, 9216};
	uint32_t i;

	for (i = 0; i < 4; i++) {
		job.mtu = mtus[i];
		run_seeds(&job, 60 + i, 2);
	}
}

static void rd_shards(void)
{
	struct job job = {
	    .workload = "rd_mix", .faults = FIX_FAULTS, .nics = 4, .duration_ns = 2 * FIX_MS};

	for (job.shards = 2; job.shards <= 8; job.shards *= 2)
		run_seeds(&job, 70 + job.shards, 2);
}

static void rd_sends(void)
{
	const struct job job = {
	    .workload = "rd_send", .faults = ALL_FAULTS, .nics = 4, .duration_ns = 5 * FIX_MS};

	run_seeds(&job, 90, 6);
}

/* Watches PSNs go by: from just below 2^32 to small ones. */
static enum sim_verdict watch_psn(void *ctx, struct sim_nic *from, uint8_t *frame, size_t bytes)
{
	const size_t at =
	    sizeof(struct wire_eth) + sizeof(struct wire_ip) + sizeof(struct wire_udp);
	bool *wrapped = ctx;
	struct wire_dgram dgram;
	struct wire_rd rd;
	uint32_t psn;

	(void)from;
	if (bytes < at + sizeof(dgram) + sizeof(rd) || frame[12] != 8 || frame[13] != 0)
		return SIM_PASS;
	memcpy(&dgram, frame + at, sizeof(dgram));
	memcpy(&rd, frame + at + sizeof(dgram), sizeof(rd));
	psn = be32_get(rd.psn);
	if ((dgram.ver_type & 15) == WIRE_DGRAM_RD) {
		wrapped[0] |= psn > 0xffffff00;
		wrapped[1] |= psn < 0x1000;
	}
	return SIM_PASS;
}

static void rd_psn_wrap(void)
{
	bool wrapped[2] = {false, false};
	const struct job job = {.workload = "rd_mix",
				.faults = ALL_FAULTS,
				.nics = 3,
				.duration_ns = 5 * FIX_MS,
				.wrap_soon = true,
				.filter = watch_psn,
				.filter_ctx = wrapped};

	run_seeds(&job, 110, 6);
	CU_ASSERT(wrapped[0] && wrapped[1]);
}

static void ud_clean(void)
{
	const struct job job = {
	    .workload = "ud_send", .faults = "", .nics = 5, .duration_ns = 2 * FIX_MS};

	run_seeds(&job, 1, 3);
}

/* Removes one datagram with data from the wire, which no counter shows. */
static enum sim_verdict lose_one(void *ctx, struct sim_nic *from, uint8_t *frame, size_t bytes)
{
	const struct wire_eth *eth = (const void *)frame;
	uint32_t *left = ctx;

	(void)from;
	if (bytes < 100 || be16_get(eth->type) != WIRE_ETHERTYPE_IPV4 || !*left)
		return SIM_PASS;
	return --*left ? SIM_PASS : SIM_DROP;
}

/* The oracle detects one datagram of thousands that is lost without a counter. */
static void ud_lost(void)
{
	struct sim_run result;
	uint32_t left = 1000;
	struct sim *sim = sim_new(NULL, 7);

	CU_ASSERT_FATAL(sim != NULL);
	sim_nic_new(sim);
	sim_nic_new(sim);
	sim_set_filter(sim, lose_one, &left);
	CU_ASSERT_NOT_EQUAL(sim_workload_run(&result, sim, sim_workload_find("ud_send"), 5 * FIX_MS,
					     20000 * FIX_MS),
			    0);
	CU_ASSERT_EQUAL(left, 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(result.failure, "1 were lost without being counted"));
	sim_free(sim);
}

struct outage {
	const struct sim *sim;
	uint64_t until_ns;
};

/* Drops data, but no ARP, until a time. */
static enum sim_verdict lose_until(void *ctx, struct sim_nic *from, uint8_t *frame, size_t bytes)
{
	const struct wire_eth *eth = (const void *)frame;
	const struct outage *outage = ctx;

	(void)from;
	(void)bytes;
	if (be16_get(eth->type) != WIRE_ETHERTYPE_IPV4)
		return SIM_PASS;
	return sim_now_ns(outage->sim) < outage->until_ns ? SIM_DROP : SIM_PASS;
}

/*
 * Runs a workload of one millisecond whose first data is lost. Returns true if it fails with this
 * message, or, with "", if it passes.
 */
static bool fails_as(const char *workload, uint64_t outage_ns, const char *failure)
{
	struct sim *sim = sim_new(NULL, 7);
	struct sim_run result;
	struct outage outage = {.sim = sim};
	bool same;

	CU_ASSERT_FATAL(sim != NULL);
	sim_nic_new(sim);
	sim_nic_new(sim);
	outage.until_ns = outage_ns == UINT64_MAX ? UINT64_MAX : sim_now_ns(sim) + outage_ns;
	sim_set_filter(sim, lose_until, &outage);
	(void)sim_workload_run(&result, sim, sim_workload_find(workload), FIX_MS, 20000 * FIX_MS);
	same = failure[0] ? !strncmp(result.failure, failure, strlen(failure)) : !result.failure[0];
	if (!same)
		printf("%s: %s\n", workload, result.failure);
	sim_free(sim);
	return same;
}

/* Nothing need arrive in a short run whose network was cut, but something later. */
static void ud_outage(void)
{
	CU_ASSERT(fails_as("ud_record", 10 * FIX_MS, ""));
	CU_ASSERT(fails_as("ud_record", UINT64_MAX, "liveness: not one record"));
	/* The filter's losses are counted nowhere. */
	CU_ASSERT(fails_as("ud_send", 10 * FIX_MS, "conservation"));
	CU_ASSERT(fails_as("ud_send", UINT64_MAX, "liveness: not one datagram"));
}

static void ud_faults(void)
{
	const struct job job = {.workload = "ud_send",
				.faults = ALL_FAULTS ",corrupt",
				.nics = 4,
				.duration_ns = 5 * FIX_MS};

	run_seeds(&job, 10, 4);
}

static void ud_long_faults(void)
{
	struct job job = {
	    .workload = "ud_long", .faults = FIX_FAULTS, .nics = 3, .duration_ns = 3 * FIX_MS};

	run_seeds(&job, 20, 4);
	job.mtu = 1500;
	run_seeds(&job, 30, 2);
}

static void records(void)
{
	struct job job = {
	    .workload = "ud_record", .faults = "", .nics = 3, .duration_ns = 3 * FIX_MS};

	run_seeds(&job, 1, 2);
	job.faults = "loss=5,dup=5,reorder=5,corrupt";
	job.mtu = 1500;
	run_seeds(&job, 10, 4);
}

/* Unreliable and extended connections, and groups; each on a bad network, too. */
static void other_kinds(void)
{
	static const char *const names[] = {"uc", "xrc", "ud_mcast", "calm"};
	uint32_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct job job = {
		    .workload = names[i], .faults = "", .nics = 3, .duration_ns = 2 * FIX_MS};

		run_seeds(&job, 1, 1);
		job.faults = FIX_FAULTS;
		job.mtu = 1500;
		job.shards = 2;
		run_seeds(&job, 2, 2);
	}
}

/* Every operation and every misuse of it against the model of verbs. */
static void verbs_clean(void)
{
	const struct job job = {
	    .workload = "verbs", .faults = "", .nics = 3, .duration_ns = FIX_MS};

	run_seeds(&job, 1, 3);
}

static void verbs_faults(void)
{
	const struct job job = {
	    .workload = "verbs", .faults = FIX_FAULTS ",kill", .nics = 3, .duration_ns = FIX_MS};

	run_seeds(&job, 1, 3);
}

UT_MAIN("sim/workload", UT(deterministic), UT(rd_clean), UT(rd_faults), UT(rd_heavy_faults),
	UT(rd_typed_atomics), UT(rd_heavy_loss), UT(tags_clean), UT(tags_faults), UT(tcp_clean),
	UT(tcp_lost), UT(tcp_faults), UT(tcp_deaths), UT(hostile_connections),
	UT(rd_no_congestion_control), UT(rd_unmapped), UT(rd_sizes_of_mtu), UT(rd_shards),
	UT(rd_sends), UT(rd_psn_wrap), UT(ud_clean), UT(ud_lost), UT(ud_outage), UT(ud_faults),
	UT(ud_long_faults), UT(records), UT(other_kinds), UT(verbs_clean), UT(verbs_faults))
