/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cost of each stage of the NIC: cycles per packet, for three streams between two NICs of one weftd
 * that counts them (weftd --stages), and per operation for two schedules. Calls bw.c,
 * stages_goal.c.
 *
 * The stages' sums of both NICs are read before and after a stream from their counters
 * (nic_fw/base/stage.h). The cost of reading the clock is subtracted, and the rest is divided by
 * the packets that carried the messages, sending and receiving of a packet together; or by the
 * operations that the interpreter executed, at both ranks.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "tools/weft-bench/pair.h"
#include "tools/weft-bench/report.h"
#include "tools/weft-bench/stages_goal.h"

enum {
	STAGES_MAX = 64,
	STAGES_PER_CALL = 32,
	STAGES_RUNS = 5,
};
#define STAGES_SECONDS 0.5

struct stage {
	char name[40];
	double cycles, entries;
};

struct sums {
	struct stage stage[STAGES_MAX];
	uint32_t num;
	double idle, clock, packets;
};

struct run {
	const char *title;
	enum weft_qp_type qp;
	enum bench_op op;
	enum bench_mode mode;
	uint32_t size, window;
	uint32_t goal_ranks; /* ranks of the schedules; 0: a stream */
	struct sums sums;    /* cycles per packet or operation; idle: share of all cycles */
};

static struct stage *stage_of(struct sums *sums, const char *name)
{
	uint32_t i;

	for (i = 0; i < sums->num; i++)
		if (!strcmp(sums->stage[i].name, name))
			return &sums->stage[i];
	if (sums->num == STAGES_MAX)
		return NULL;
	snprintf(sums->stage[sums->num].name, sizeof(sums->stage[0].name), "%s", name);
	return &sums->stage[sums->num++];
}

/* Adds one counter, sign +1 or -1. */
static void add(struct sums *sums, const struct weft_stat *stat, double sign)
{
	double value = sign * (double)stat->value;
	struct stage *stage;

	if (!strcmp(stat->name, "cycles_idle")) {
		sums->idle += value;
	} else if (!strcmp(stat->name, "cycles_clock")) {
		sums->clock = (double)stat->value;
	} else if (!strcmp(stat->name, "rd_tx_packets") || !strcmp(stat->name, "ud_tx_msgs") ||
		   !strcmp(stat->name, "goal_ops")) {
		sums->packets += value;
	} else if (!strncmp(stat->name, "cycles_", 7)) {
		stage = stage_of(sums, stat->name + 7);
		if (stage)
			stage->cycles += value;
	} else if (!strncmp(stat->name, "entries_", 8)) {
		stage = stage_of(sums, stat->name + 8);
		if (stage)
			stage->entries += value;
	}
}

static int add_shard(struct sums *sums, struct weft_context *context, uint32_t shard, double sign)
{
	struct weft_stat stats[STAGES_PER_CALL];
	uint32_t cursor = 0;
	int n;

	while ((n = weft_stats(context, shard, &cursor, stats, STAGES_PER_CALL)) > 0) {
		for (int i = 0; i < n; i++) {
			stats[i].name[sizeof(stats[i].name) - 1] = '\0';
			add(sums, &stats[i], sign);
		}
	}
	return n ? fail("counters of %s: %s", context->name, strerror(-n)) : 0;
}

/* Reads all shards of a NIC. 0 or -1 after an error message. */
static int add_nic(struct sums *sums, const char *device, double sign)
{
	struct weft_context *context = weft_open_tool(device);
	struct weft_device_attr dev;
	uint32_t shard;
	int rc;

	if (!context)
		return fail("%s: %s", device ? device : "no NIC", strerror(errno));
	rc = weft_query_device(context, &dev);
	if (rc)
		rc = fail("%s: %s", context->name, strerror(-rc));
	for (shard = 0; !rc && shard < dev.num_shards; shard++)
		rc = add_shard(sums, context, shard, sign);
	weft_close_device(context);
	return rc;
}

static int add_both(struct sums *sums, const struct opts *o, double sign)
{
	if (add_nic(sums, o->device, sign))
		return -1;
	return o->device2 ? add_nic(sums, o->device2, sign) : 0;
}

/* Cycles per packet, and the share of cycles of turns without work. */
static int divide(struct sums *sums)
{
	double busy = 0;
	uint32_t i;

	if (!sums->num)
		return fail("the NIC does not count stages: start weftd with --stages");
	if (sums->packets < 1)
		return fail("no packet was sent, and no operation carried out");
	for (i = 0; i < sums->num; i++) {
		struct stage *stage = &sums->stage[i];

		busy += stage->cycles;
		stage->cycles -= stage->entries * sums->clock;
		if (stage->cycles < 0)
			stage->cycles = 0;
		stage->cycles /= sums->packets;
	}
	sums->idle = busy + sums->idle > 0 ? sums->idle / (busy + sums->idle) : 0;
	return 0;
}

static int measure_goal(const struct opts *o, struct run *run)
{
	struct stages_goal g;
	int rc = stages_goal_open(&g, o, run->goal_ranks);

	/* Once to open the streams and commit memory. */
	if (!rc)
		rc = stages_goal_run(&g, STAGES_SECONDS / 10);
	if (!rc)
		rc = add_both(&run->sums, o, -1);
	if (!rc)
		rc = stages_goal_run(&g, o->duration_s > 0 ? o->duration_s : STAGES_SECONDS);
	if (!rc)
		rc = add_both(&run->sums, o, 1);
	stages_goal_close(&g);
	return rc ? rc : divide(&run->sums);
}

static int measure(const struct opts *given, struct run *run)
{
	struct opts o = *given;
	struct flow flow = {0};
	struct pair p;
	int rc;

	o.qp = run->qp;
	o.op = run->op;
	o.mode = run->mode;
	o.size = run->size;
	o.window = run->window;
	o.warmup = run->window;
	o.loop = true;
	if (!(o.duration_s > 0))
		o.duration_s = STAGES_SECONDS;
	rc = pair_open(&p, &o) ? -1 : add_both(&run->sums, &o, -1);
	if (!rc)
		rc = pair_sync(&p) ? -1 : bw_loop(&p, &flow);
	if (!rc)
		rc = add_both(&run->sums, &o, 1);
	pair_close(&p);
	if (!rc && flow.errors)
		rc = fail("%llu messages were wrong", (unsigned long long)flow.errors);
	return rc ? rc : divide(&run->sums);
}

static double total(const struct sums *sums)
{
	double sum = 0;
	uint32_t i;

	for (i = 0; i < sums->num; i++)
		sum += sums->stage[i].cycles;
	return sum;
}

static void print_table(const struct run *run)
{
	uint32_t i, r;

	printf("%-40s", "cycles per packet, goal_*: per operation");
	for (r = 0; r < STAGES_RUNS; r++)
		printf(" %14s", run[r].title);
	printf("\n");
	for (i = 0; i < run[0].sums.num; i++) {
		printf(" %-39s", run[0].sums.stage[i].name);
		for (r = 0; r < STAGES_RUNS; r++)
			printf(" %14.1f", run[r].sums.stage[i].cycles);
		printf("\n");
	}
	printf(" %-39s", "all");
	for (r = 0; r < STAGES_RUNS; r++)
		printf(" %14.1f", total(&run[r].sums));
	printf("\n %-39s", "share of cycles in turns without work");
	for (r = 0; r < STAGES_RUNS; r++)
		printf(" %13.1f%%", 100 * run[r].sums.idle);
	printf("\n");
}

static void print_json(const struct opts *o, const struct run *run)
{
	json_t *runs = json_array();
	json_t *all;
	uint32_t i, r;

	for (r = 0; r < STAGES_RUNS; r++) {
		json_t *cycles = json_object();

		for (i = 0; i < run[r].sums.num; i++)
			json_object_set_new(cycles, run[r].sums.stage[i].name,
					    json_real(run[r].sums.stage[i].cycles));
		json_array_append_new(
		    runs, json_pack("{s:s, s:s, s:s, s:I, s:f, s:f, s:f, s:o}", "name",
				    run[r].title, "qp",
				    run[r].goal_ranks          ? "goal"
				    : run[r].qp == WEFT_QPT_UD ? "ud"
							       : "rd",
				    "op", run[r].goal_ranks ? "run" : bench_op_str(run[r].op),
				    "size", (json_int_t)run[r].size, "packets", run[r].sums.packets,
				    "idle_share", run[r].sums.idle, "all", total(&run[r].sums),
				    "cycles_per_packet", cycles));
	}
	all = json_pack("{s:s, s:o}", "mode", bench_mode_str(o->mode), "runs", runs);
	if (all)
		report_json(all);
}

int stages_run(struct opts *o)
{
	static struct run runs[STAGES_RUNS] = {
	    {.title = "ud_send_64",
	     .qp = WEFT_QPT_UD,
	     .op = BENCH_SEND,
	     .mode = BENCH_RATE,
	     .size = 64,
	     .window = 128},
	    {.title = "rd_send_64",
	     .qp = WEFT_QPT_RD,
	     .op = BENCH_SEND,
	     .mode = BENCH_RATE,
	     .size = 64,
	     .window = 128},
	    {.title = "rd_write_1m",
	     .qp = WEFT_QPT_RD,
	     .op = BENCH_WRITE,
	     .mode = BENCH_BW,
	     .size = 1 << 20,
	     .window = 4},
	    {.title = "goal_local_8", .size = 8, .goal_ranks = 1},
	    {.title = "goal_msg_8", .size = 8, .goal_ranks = 2},
	};
	uint32_t r;

	for (r = 0; r < STAGES_RUNS; r++)
		if (runs[r].goal_ranks ? measure_goal(o, &runs[r]) : measure(o, &runs[r]))
			return BENCH_FAILED;
	if (o->json)
		print_json(o, runs);
	else
		print_table(runs);
	return BENCH_OK;
}
