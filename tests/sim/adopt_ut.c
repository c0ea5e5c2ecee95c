/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An instance can go on with another firmware: after work of every kind its arena holds no address
 * of the firmware's code and constants but those that fw_adopt() sets. docs/upgrade.md.
 */
#include <sys/mman.h>

#include "nic_fw/fw_nic.h"
#include "sim_harness/wl/sim_workload.h"
#include "tests/sim/sim_fix.h"

enum {
	PAGE = 4096,
	LOOK_PAGES = 256,
};

/* Set by the linker: the program's code and constants. */
extern const char __executable_start, etext, edata;

static bool is_address_of_program(uint64_t word)
{
	return word >= (uintptr_t)&__executable_start && word < (uintptr_t)&edata;
}

static bool is_within(size_t at, const void *base, const void *part, size_t bytes)
{
	size_t from = (size_t)((const char *)part - (const char *)base);

	return at >= from && at < from + bytes;
}

/* The port's functions, the tables that fw_adopt() sets, and frames of past turns. */
static bool may_hold_one(const struct fw_nic *nic, size_t at)
{
	return is_within(at, nic, &nic->port, sizeof(nic->port)) ||
	       is_within(at, nic, nic->tcp.ops, sizeof(nic->tcp.ops)) ||
	       is_within(at, nic, nic->esp.ops, sizeof(nic->esp.ops)) ||
	       is_within(at, nic, nic->net.tx, FW_TX_STAGE * sizeof(*nic->net.tx));
}

static uint64_t look_at_page(const struct fw_nic *nic, size_t at)
{
	const uint64_t *word = (const uint64_t *)(const void *)((const char *)nic + at);
	uint64_t found = 0;

	for (size_t i = 0; i < PAGE / sizeof(*word); i++) {
		if (!is_address_of_program(word[i]) || may_hold_one(nic, at + i * sizeof(*word)))
			continue;
		if (!found++)
			printf("\n    address %p at offset 0x%zx of the arena",
			       (void *)(uintptr_t)word[i], at + i * sizeof(*word));
	}
	return found;
}

/* Looks at the pages that exist; *pages counts them. */
static uint64_t look_at(struct fw_nic *nic, uint64_t *pages)
{
	size_t bytes = fw_arena_bytes() / PAGE * PAGE;
	unsigned char there[LOOK_PAGES];
	uint64_t found = 0;

	for (size_t at = 0; at < bytes; at += LOOK_PAGES * PAGE) {
		size_t n = (bytes - at) / PAGE < LOOK_PAGES ? (bytes - at) / PAGE : LOOK_PAGES;

		CU_ASSERT_FATAL(!mincore((char *)nic + at, n * PAGE, there));
		for (size_t i = 0; i < n; i++) {
			if (!(there[i] & 1))
				continue;
			found += look_at_page(nic, at + i * PAGE);
			(*pages)++;
		}
	}
	return found;
}

static void run(const char *workload, uint64_t seed)
{
	struct sim_nic *nic[4];
	struct sim_config config;
	struct sim_run result;
	char message[160];
	uint64_t pages = 0;
	struct sim *sim;

	sim_config_default(&config);
	sim = sim_new(&config, seed);
	CU_ASSERT_FATAL(sim != NULL);
	for (uint32_t i = 0; i < 4; i++)
		nic[i] = sim_nic_new(sim);
	CU_ASSERT_FATAL(!sim_faults_parse(sim, "loss=2,dup,reorder=2", message, sizeof(message)));
	CU_ASSERT(
	    !sim_workload_run(&result, sim, sim_workload_find(workload), FIX_MS, 20000 * FIX_MS));
	for (uint32_t i = 0; i < 4; i++) {
		struct fw_nic *fw = sim_nic_fw(nic[i], 0);

		CU_ASSERT_EQUAL(look_at(fw, &pages), 0);
		/* The test sees what it looks for. */
		CU_ASSERT(is_address_of_program((uintptr_t)fw->port.rx_burst));
		CU_ASSERT(is_address_of_program((uintptr_t)fw->tcp.ops[TCP_USER_MPA]));
	}
	CU_ASSERT(pages > 100);
	sim_free(sim);
}

static void datagrams(void)
{
	run("rd_mix", 1);
	run("ud_send", 2);
}

static void queue_pairs(void)
{
	run("verbs", 3);
	run("rc_tcp", 4);
}

static void collectives(void)
{
	run("goal", 5);
}

static void tagged(void)
{
	run("tag", 6);
}

static void hostile_processes(void)
{
	run("hostile", 7);
}

UT_MAIN("sim/adopt", UT(datagrams), UT(queue_pairs), UT(collectives), UT(tagged),
	UT(hostile_processes))
