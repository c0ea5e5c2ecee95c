/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Properties of congestion control, in virtual time: incast without collapse and with equal shares,
 * loss that is no congestion, short and long paths. docs/congestion.md has the whole curves.
 */
#include "tests/sim/sim_fix.h"

#include <inttypes.h>

#include "sim_harness/wl/sim_workload.h"

struct want {
	const char *workload;
	const char *faults;
	uint32_t ms;
	double percent; /* least share of the line */
	double jain;
	uint64_t latency_ns;
	uint32_t mtu;
};

/* The seed of the runs in progress; the bounds on incast hold for several. */
static uint64_t seed = 1;

static void measure(const struct want *want)
{
	const struct sim_workload *workload;
	uint64_t param[SIM_PARAMS_MAX];
	struct sim_config config;
	struct sim_run run;
	char message[160];
	struct sim *sim;
	double percent, jain;
	uint32_t i;

	workload = sim_workload_parse(want->workload, param, message, sizeof(message));
	CU_ASSERT_FATAL(workload != NULL);
	sim_config_default(&config);
	workload->config(param, &config);
	if (want->latency_ns)
		config.link.latency_ns = want->latency_ns;
	if (want->mtu)
		config.mtu = want->mtu;
	sim = sim_new(&config, seed);
	CU_ASSERT_FATAL(sim != NULL);
	for (i = 0; i < workload->nics(param); i++)
		sim_nic_new(sim);
	CU_ASSERT_FATAL(!sim_faults_parse(sim, want->faults, message, sizeof(message)));
	CU_ASSERT(
	    !sim_workload_run_with(&run, sim, workload, param, want->ms * FIX_MS, 5000 * FIX_MS));
	percent = sim_run_figure_of(&run, "line_percent");
	jain = sim_run_figure_of(&run, "jain_index");
	if (run.failure[0] || percent < want->percent || jain < want->jain)
		printf("\n    %s %s seed %" PRIu64 ": %.1f %% of the line, Jain's index %.3f %s",
		       want->workload, want->faults, seed, percent, jain, run.failure);
	CU_ASSERT(percent >= want->percent && percent < 100);
	CU_ASSERT(jain >= want->jain);
	sim_free(sim);
}

static void measure_all(const struct want *want, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		measure(&want[i]);
}
#define MEASURE(list) measure_all(list, sizeof(list) / sizeof((list)[0]))

/* Runs without faults; returns the figures of the run. */
static void figures(const char *name, uint32_t ms, uint64_t latency_ns, double *jain,
		    double *mean_us, double *p99_us)
{
	const struct sim_workload *workload;
	uint64_t param[SIM_PARAMS_MAX];
	struct sim_config config;
	struct sim_run run;
	char message[160];
	struct sim *sim;
	uint32_t i;

	workload = sim_workload_parse(name, param, message, sizeof(message));
	CU_ASSERT_FATAL(workload != NULL);
	sim_config_default(&config);
	workload->config(param, &config);
	config.link.latency_ns = latency_ns;
	sim = sim_new(&config, 1);
	CU_ASSERT_FATAL(sim != NULL);
	for (i = 0; i < workload->nics(param); i++)
		sim_nic_new(sim);
	CU_ASSERT(!sim_workload_run_with(&run, sim, workload, param, ms * FIX_MS, 5000 * FIX_MS));
	*jain = sim_run_figure_of(&run, "jain_index");
	*mean_us = sim_run_figure_of(&run, "request_us");
	*p99_us = sim_run_figure_of(&run, "request_p99_us");
	sim_free(sim);
}

/*
 * The start counts: all senders begin at once into 128 KiB of buffer, and each one's share of the
 * time is 50 messages. The bounds hold for every seed.
 */
static void incast(void)
{
	static const struct want list[] = {
	    {"incast:senders=2", "", 10, 95, 0.99, 0, 0},
	    {"incast:senders=8", "", 21, 93, 0.98, 0, 0},
	    {"incast:senders=32", "", 84, 90, 0.98, 0, 0},
	    {"incast:senders=32,bytes=4096,depth=16", "", 15, 85, 0.95, 0, 0},
	};

	for (seed = 1; seed <= 2; seed++)
		MEASURE(list);
	seed = 1;
}

/* Windows of each sender's own had a Jain index of 0.09 here, from the second seed on. */
static void incast_of_many(void)
{
	static const struct want list[] = {
	    {"incast:senders=128", "", 160, 90, 0.98, 0, 0},
	};
	static const struct want shallow[] = {
	    {"incast:senders=128,buffer=65536", "", 60, 89, 0.99, 0, 0},
	};

	seed = 2;
	MEASURE(list);
	seed = 3;
	MEASURE(shallow);
	seed = 1;
}

/* A share of the rate that the loss leaves: 100 % less the loss, and 3.5 % for headers. */
static void loss(void)
{
	static const struct want list[] = {
	    {"incast:senders=1", "loss=0.1", 20, 95, 1, 0, 0},
	    {"incast:senders=1", "loss=1", 20, 93, 1, 0, 0},
	    {"incast:senders=1", "loss=5", 20, 85, 1, 0, 0},
	    {"incast:senders=1", "loss=10", 20, 75, 1, 0, 0},
	};

	MEASURE(list);
}

/*
 * A port that held 107 us of frames, in common for all sessions, had an index of 0.93 here: each
 * session took that queue for its path's.
 */
static void outcast_far(void)
{
	static const struct want list[] = {
	    {"outcast:receivers=32,depth=2", "", 30, 90, 0.99, 50000, 0},
	};

	MEASURE(list);
}

/*
 * RC over TCP. When congestion windows alone shared the buffer, 8 senders had an index of 0.74 and
 * 32 one of 0.3. The receiver's windows open in turn.
 */
static void tcp(void)
{
	static const struct want list[] = {
	    {"incast:senders=1,tcp=1", "", 8, 95, 1, 0, 0},
	    {"incast:senders=2,tcp=1", "", 10, 90, 0.97, 0, 0},
	    {"incast:senders=8,tcp=1", "", 15, 90, 0.95, 0, 0},
	    {"incast:senders=64,tcp=1", "", 20, 80, 0.95, 0, 0},
	    {"incast:senders=8,tcp=1", "", 10, 85, 0.95, 50000, 0},
	    {"outcast:receivers=8,tcp=1", "", 21, 90, 0.99, 0, 0},
	    /* The second begins beside messages of the first, which had the line to itself. */
	    {"incast:senders=2,buffer=1048576,tcp=1,late=50,warm_us=20000", "", 28, 90, 0.95, 0, 0},
	    /* All begin again with an initial congestion window. */
	    {"incast:senders=8,tcp=1,warm_us=20000,idle_us=1000000", "", 1041, 90, 0.97, 50000, 0},
	};

	MEASURE(list);
}

/* The second signal, the sender's own queue, jumbo frames, a path longer than the target. */
static void others(void)
{
	static const struct want list[] = {
	    {"incast:senders=16,ecn=30000", "", 15, 85, 0.7, 0, 0},
	    {"outcast:receivers=8", "", 15, 90, 0.98, 0, 0},
	    {"outcast:receivers=128,depth=2", "", 15, 85, 0.99, 0, 0},
	    {"incast:senders=8", "", 15, 90, 0.98, 0, 9000},
	    {"incast:senders=1,warm_us=20000", "", 40, 90, 1, 100000, 0},
	};

	MEASURE(list);
}

/*
 * Receivers that keep each message for a long time set the pace, 8 messages at a time. Their
 * refusals are no congestion, so the windows stay open, and all senders get equal shares.
 */
static void receiver_limited(void)
{
	static const struct want list[] = {
	    {"incast:senders=1,slow_us=500", "", 20, 36, 1, 0, 0},
	    {"incast:senders=8,slow_us=5000", "", 40, 58, 0.98, 0, 0},
	    {"incast:senders=32,slow_us=20000", "", 60, 58, 0.95, 0, 0},
	};

	MEASURE(list);
}

/*
 * The line of a long path is known after the first train of packets; a window that doubled took
 * 87.8 % of the line. The opening of the sessions counts.
 */
static void long_path_of_few(void)
{
	static const struct want list[] = {
	    {"incast:senders=2", "", 8, 90, 0.99, 50000, 0},
	    {"incast:senders=3", "", 8, 90, 0.99, 50000, 0},
	    {"incast:senders=4", "", 10, 90, 0.98, 50000, 0},
	};

	MEASURE(list);
}

/* Late joiners, an idle time, and distant senders: every request completes. */
static void arrivals(void)
{
	static const struct want list[] = {
	    {"incast:senders=8,late=50,warm_us=5000", "", 26, 90, 0.95, 0, 0},
	    {"incast:senders=8,warm_us=5000,idle_us=20000", "", 46, 90, 0.95, 0, 0},
	    {"incast:senders=16,far=10", "", 42, 90, 0.95, 0, 0},
	};
	/* Each of them failed in a corner of buffers and paths: 58 to 89 % of the line, or 0.80. */
	static const struct want corners[] = {
	    {"incast:senders=4,warm_us=20000,idle_us=50000", "", 80, 92, 0.99, 50000, 0},
	    {"incast:senders=4,buffer=65536,warm_us=20000,idle_us=50000", "", 80, 90, 0.95, 50000,
	     0},
	    {"incast:senders=8,buffer=1048576,warm_us=20000,idle_us=50000", "", 91, 90, 0.95, 10000,
	     0},
	    {"incast:senders=16,buffer=65536", "", 42, 90, 0.95, 50000, 0},
	    {"incast:senders=32,buffer=131072,far=10", "", 84, 90, 0.95, 50000, 0},
	};
	double jain, mean_us, p99_us;

	MEASURE(list);
	MEASURE(corners);
	/* One message at a time: the near sender has ten for each of the far one. */
	figures("incast:senders=2,far=50,depth=1,bytes=64", 20, 50000, &jain, &mean_us, &p99_us);
	CU_ASSERT(jain > 0.55 && jain < 0.65);
	CU_ASSERT(p99_us > 1000 && mean_us < 250);
}

/*
 * Loss that meets the reply to an ARP request and HELLOs: the first HELLO was repeated after 10 ms,
 * the second after 20, and 77 % of the line were left of 200 ms.
 */
static void lost_at_the_start(void)
{
	static const struct want list[] = {
	    {"incast:senders=1", "loss=6", 60, 78, 1, 0, 0},
	};

	seed = 3;
	MEASURE(list);
	seed = 1;
}

/* Queues of the greatest length, as 1,024 senders of 8 messages each need them. */
static void many_receives(void)
{
	static const struct want list[] = {
	    {"incast:senders=128,depth=64,bytes=64", "", 2, 1, 0.1, 0, 0},
	};

	MEASURE(list);
}

UT_MAIN("sim/congestion", UT(incast), UT(incast_of_many), UT(loss), UT(outcast_far), UT(tcp),
	UT(others), UT(receiver_limited), UT(long_path_of_few), UT(arrivals), UT(lost_at_the_start),
	UT(many_receives))
