/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs one workload from start to verdict; see sim_workload.h.
 *
 * Calls the functions of a struct sim_workload, and sim_audit.c.
 */
#include "sim_harness/wl/sim_workload.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/*
 * Beyond the longest time-out of state that NICs keep for dead processes: TCP gives up after 100 s
 * and keeps an ended connection for 60 s.
 */
#define EMPTY_NS UINT64_C(200000000000)

static const struct sim_workload *const workloads[] = {
    &sim_wl_rd_mix, &sim_wl_rd_send, &sim_wl_ud_send,   &sim_wl_ud_long, &sim_wl_verbs,
    &sim_wl_incast, &sim_wl_outcast, &sim_wl_isolation, &sim_wl_hostile, &sim_wl_goal,
    &sim_wl_all,    &sim_wl_record,  &sim_wl_rc_tcp,    &sim_wl_tag,     &sim_wl_cost,
    &sim_wl_uc,     &sim_wl_xrc,     &sim_wl_mcast,     &sim_wl_calm,
};

const struct sim_workload *sim_workload_at(uint32_t i)
{
	return i < sizeof(workloads) / sizeof(workloads[0]) ? workloads[i] : NULL;
}

const struct sim_workload *sim_workload_find(const char *name)
{
	const struct sim_workload *workload;
	uint32_t i;

	for (i = 0; (workload = sim_workload_at(i)); i++) {
		if (!strcmp(workload->name, name))
			return workload;
	}
	return NULL;
}

void sim_run_fail(struct sim_run *run, const char *format, ...)
{
	va_list args;

	if (run->failure[0])
		return;
	va_start(args, format);
	vsnprintf(run->failure, sizeof(run->failure), format, args);
	va_end(args);
}

const char *sim_op_name(enum sim_op op)
{
	static const char *const names[SIM_OPS] = {
	    [SIM_OP_SEND] = "send",         [SIM_OP_SEND_IMM] = "send_imm",
	    [SIM_OP_WRITE] = "write",       [SIM_OP_WRITE_IMM] = "write_imm",
	    [SIM_OP_READ] = "read",         [SIM_OP_FETCH_ADD] = "fetch_add",
	    [SIM_OP_CMP_SWAP] = "cmp_swap",
	};

	return names[op];
}

void sim_pattern(const struct sim *sim, uint32_t a, uint32_t b, uint32_t n, uint8_t *dst,
		 size_t bytes)
{
	struct sim_prng prng;

	sim_prng_init(&prng, sim_seed(sim) ^ (uint64_t)a << 32 ^ b, SIM_STREAM_WORKLOAD, n);
	sim_prng_fill(&prng, dst, bytes);
}

bool sim_pattern_check(const struct sim *sim, uint32_t a, uint32_t b, uint32_t n,
		       const uint8_t *data, size_t bytes)
{
	struct sim_prng prng;
	uint64_t x, is;

	sim_prng_init(&prng, sim_seed(sim) ^ (uint64_t)a << 32 ^ b, SIM_STREAM_WORKLOAD, n);
	for (; bytes >= sizeof(x); bytes -= sizeof(x), data += sizeof(x)) {
		memcpy(&is, data, sizeof(is));
		if (is != sim_prng_next(&prng))
			return false;
	}
	x = sim_prng_next(&prng);
	return !memcmp(&x, data, bytes);
}

static bool over(void *ctx)
{
	struct sim_run *run = ctx;

	return run->failure[0] || (run->stopping && run->workload->quiet(run));
}

/* Works, stops, and waits until nothing is outstanding. */
static void work(struct sim_run *run, uint64_t duration_ns, uint64_t drain_ns)
{
	struct sim *sim = run->sim;

	if (drain_ns < run->workload->drain_ns)
		drain_ns = run->workload->drain_ns;
	if (!run->workload->measures)
		sim_audit_watch(run);
	sim_run_until(sim, over, run, duration_ns);
	run->stopping = true;
	run->end_ns = sim_now_ns(sim);
	sim_faults_off(sim);
	/* While pages stay slow, a request of many packets may take any time: they are fast now. */
	sim_host_busy(sim, 0);
	if (!sim_run_until(sim, over, run, drain_ns))
		sim_run_fail(
		    run, "liveness: work was still under way %llu ms after all faults had ended",
		    (unsigned long long)drain_ns / 1000000);
	run->drained_ns = sim_now_ns(sim) - run->end_ns;
	if (run->failure[0])
		return;
	/* Packets still in transit (duplicates, last acknowledgements) arrive. */
	sim_run_for(sim, UINT64_C(10000000));
	if (!run->failure[0])
		run->workload->check(run);
}

int sim_workload_run(struct sim_run *run, struct sim *sim, const struct sim_workload *workload,
		     uint64_t duration_ns, uint64_t drain_ns)
{
	uint64_t param[SIM_PARAMS_MAX];

	sim_params_default(workload, param);
	return sim_workload_run_with(run, sim, workload, param, duration_ns, drain_ns);
}

int sim_workload_run_with(struct sim_run *run, struct sim *sim, const struct sim_workload *workload,
			  const uint64_t *param, uint64_t duration_ns, uint64_t drain_ns)
{
	int rc;

	memset(run, 0, sizeof(*run));
	run->sim = sim;
	run->workload = workload;
	run->duration_ns = duration_ns;
	memcpy(run->param, param, sizeof(run->param));
	rc = workload->start(run);
	run->begin_ns = sim_now_ns(sim);
	if (rc)
		sim_run_fail(run, "start: %s: %s", workload->name, strerror(-rc));
	else
		work(run, duration_ns, drain_ns);
	sim_on_fault(sim, NULL, NULL);
	run->closed = true;
	if (!run->failure[0] && workload->close) {
		workload->close(run);
		sim_audit_empty(run, EMPTY_NS);
	}
	sim_digest_add(sim, run->done, sizeof(run->done));
	sim_digest_add(sim, &run->bytes, sizeof(run->bytes));
	workload->stop(run);
	return run->failure[0] ? -1 : 0;
}
