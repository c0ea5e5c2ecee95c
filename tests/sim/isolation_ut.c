/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The workload "isolation" of weft-sim on a smaller scale: one QP is cut off, the others of the
 * session keep their p99, on fast and slow links, long ones, with and without congestion control
 * and loss.
 */
#include "tests/sim/sim_fix.h"

#include "sim_harness/wl/sim_workload.h"

struct shape {
	uint64_t latency_ns;
	uint64_t gbps;
	uint32_t mtu;
	bool cc_off;
	const char *faults;
	uint32_t ms; /* the QP is cut off for a third of this time */
};

static void held(void)
{
	static const struct shape shapes[] = {
	    {2000, 25, 4096, false, "", 60},
	    {2000, 25, 1500, true, "", 60},
	    {2000, 10, 4096, false, "", 60},
	    {10000, 25, 4096, false, "", 60},
	    {2000, 25, 4096, false, "loss,dup,reorder", 60},
	    /* A time-out and the withdrawal that ends it take some round trips: a p99 shows them
	     * when the cut is shorter. */
	    {100000, 25, 4096, false, "", 150},
	};
	struct sim_config config;
	struct sim_run run;
	char message[160];
	struct sim *sim;
	uint32_t i;

	for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		sim_config_default(&config);
		config.link.latency_ns = shapes[i].latency_ns;
		config.link.gap_ps_per_byte = 8000 / shapes[i].gbps;
		config.mtu = shapes[i].mtu;
		config.cc_off = shapes[i].cc_off;
		config.wrap_soon = i % 2;
		sim = sim_new(&config, i + 1);
		CU_ASSERT_FATAL(sim != NULL);
		sim_nic_new(sim);
		sim_nic_new(sim);
		CU_ASSERT_FATAL(!sim_faults_parse(sim, shapes[i].faults, message, sizeof(message)));
		if (sim_workload_run(&run, sim, &sim_wl_isolation, shapes[i].ms * FIX_MS,
				     5000 * FIX_MS)) {
			printf("\n    shape %u: %s\n%s", i, run.failure, run.table);
			CU_FAIL("not isolated");
		}
		sim_free(sim);
	}
}

UT_MAIN("sim/isolation", UT(held))
