/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many NICs: a session from each to each, with more NICs than a QPN has numbers for; and the CRC32C
 * that makes long runs short. weft-sim --workload alltoall:nics=1024 is the same at full size.
 */
#include "tests/sim/sim_fix.h"

#include "nic_fw/base/crc32c.h"
#include "sim_harness/sim_int.h"
#include "sim_harness/wl/sim_workload.h"

static uint64_t run(uint64_t seed, uint32_t nics)
{
	const struct sim_workload *workload;
	uint64_t param[SIM_PARAMS_MAX], digest, arps = 0;
	struct sim_config config;
	struct sim_run result;
	char text[64];
	struct sim *sim;
	uint32_t i;

	snprintf(text, sizeof(text), "alltoall:nics=%u,bytes=%u", nics, 60 + nics);
	workload = sim_workload_parse(text, param, text, sizeof(text));
	CU_ASSERT_FATAL(workload != NULL);
	CU_ASSERT_EQUAL(workload->nics(param), nics);
	sim_config_default(&config);
	workload->config(param, &config);
	sim = sim_new(&config, seed);
	CU_ASSERT_FATAL(sim != NULL);
	for (i = 0; i < nics; i++)
		sim_nic_new(sim);
	if (sim_workload_run_with(&result, sim, workload, param, FIX_MS, 1000 * FIX_MS))
		CU_FAIL("failed");
	if (result.failure[0])
		printf("\n    %s", result.failure);
	CU_ASSERT_EQUAL(result.received, nics * (nics - 1));
	CU_ASSERT(sim_run_figure_of(&result, "sessions_opened") == nics * (nics - 1));
	/* Each NIC sent one ARP request for each other, and only its target took it. */
	for (i = 0; i < nics; i++)
		arps += sim_nic_stat(sim_nic_at(sim, i), "arp_requests_rx");
	CU_ASSERT_EQUAL(arps, nics * (nics - 1));
	digest = sim_digest(sim);
	sim_free(sim);
	return digest;
}

static void each_to_each(void)
{
	uint64_t first = run(1, 48);

	CU_ASSERT_EQUAL(run(1, 48), first);
	CU_ASSERT_NOT_EQUAL(run(2, 48), first);
	run(1, 2);
	run(1, 3);
}

static void same_crc(void)
{
	struct sim_prng prng;
	uint8_t data[300], copy[300];
	uint32_t i;

	sim_prng_init(&prng, 1, SIM_STREAM_WORKLOAD, 0);
	for (i = 0; i < 2000; i++) {
		uint32_t at = (uint32_t)sim_prng_below(&prng, 16);
		uint32_t bytes = (uint32_t)sim_prng_below(&prng, sizeof(data) - at);
		uint32_t crc = (uint32_t)sim_prng_next(&prng);
		uint32_t want;

		sim_prng_fill(&prng, data, sizeof(data));
		memset(copy, 0, sizeof(copy));
		want = fw_crc32c(crc, data + at, bytes);
		CU_ASSERT_EQUAL(sim_crc32c(crc, data + at, bytes), want);
		CU_ASSERT_EQUAL(sim_copy_crc32c(crc, copy, data + at, bytes), want);
		CU_ASSERT(!memcmp(copy, data + at, bytes));
		CU_ASSERT(!copy[bytes]);
	}
}

UT_MAIN("sim/alltoall", UT(each_to_each), UT(same_crc))
