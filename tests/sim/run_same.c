/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scenes with runs whole and cut: see run_same.h.
 */
#include "tests/sim/run_same.h"

#include <string.h>

#include "nic_fw/fw_nic.h"
#include "tests/ut.h"

enum {
	SINK = 200000,
	SHORT = 40000, /* of a receive, or memory, that ends within a run */
	STATS = 600,
};

/* The state when all is over. */
struct outcome {
	uint64_t stat[2][STATS];
	struct desk_count runs;
	uint32_t state[RUN_SAME_STATE];
	struct weft_wc wc[2];
	uint32_t num_wc[2];
	uint8_t memory[RUN_SAME_BYTES];
};

static void note_stats(struct pair *p, struct outcome *out)
{
	for (uint32_t end = 0; end < 2; end++) {
		const struct fw_nic *fw = sim_nic_fw(end ? p->nb : p->na, 0);
		const char *name;
		uint32_t i;

		for (i = 0; i < STATS && fw_stat(fw, i, &name, &out->stat[end][i]); i++)
			;
		CU_ASSERT_FATAL(i < STATS);
	}
}

static void play(const struct run_way *way, const struct desk_row *row, bool cut,
		 struct outcome *out)
{
	const struct post first = {.opcode = WEFT_WR_WRITE, .wr_id = 99, .bytes = 40000};
	struct scene scene = {.row = row};
	struct pair *p = &scene.p;
	struct sim_nic *receiver;
	const uint8_t *sink;

	memset(out, 0, sizeof(*out));
	way->open(p);
	receiver = row->opcode == WEFT_WR_READ ? p->na : p->nb;
	FIX_REQUIRE(p, post(&p->a, p->ab, &p->b, &first) == 0);
	expect(p, &p->a, 99, WEFT_WC_SUCCESS);
	fill(p, 7, p->a.buf, way->bytes);
	fill(p, 8, p->b.buf, way->bytes);
	scene.request = (struct post){.opcode = row->opcode,
				      .wr_id = 1,
				      .bytes = way->bytes,
				      .imm = 0x01020304,
				      .remote_offset = SINK};
	if (row->opcode == WEFT_WR_READ)
		scene.request = (struct post){
		    .opcode = row->opcode, .wr_id = 1, .bytes = way->bytes, .offset = SINK};
	scene.sge[0] = sim_end_sge(&p->b, SINK, way->bytes);
	scene.recv = (struct weft_recv_wr){.wr_id = 2, .sg_list = scene.sge, .num_sge = 1};
	if (row->before)
		row->before(&scene);
	if (!scene.no_receive)
		FIX_REQUIRE(p, weft_post_recv(p->b.qp, &scene.recv, NULL) == 0);
	desk_open(receiver, row, cut);
	FIX_REQUIRE(p, post(&p->a, p->ab, &p->b, &scene.request) == 0);
	for (uint32_t i = 0; i < 50; i++) {
		sim_run_for(p->sim, 2000);
		sim_nic_pause(receiver, FIX_MS / 50);
		sim_run_for(p->sim, FIX_MS / 50);
	}
	out->num_wc[0] = sim_end_wait(&p->a, out->wc, 1, 200 * FIX_MS);
	sim_run_for(p->sim, 2 * FIX_MS);
	out->num_wc[1] = sim_end_wait(&p->b, out->wc + 1, 1, FIX_MS);
	sink = row->opcode == WEFT_WR_READ ? p->a.buf : p->b.buf;
	memcpy(out->memory, sink + SINK, way->bytes);
	note_stats(p, out);
	way->note(p, receiver, out->state);
	out->runs = desk_close();
	if (scene.mr)
		FIX_CHECK(p, weft_dereg_mr(scene.mr) == 0);
	way->close(p);
}

/*
 * Names the counters that differ. Left out are accesses to memory that is not mapped, one for a run
 * that is taken whole, and the CRC32Cs behind the end of a stream.
 */
static bool same_stats(const struct run_way *way, const struct desk_row *row,
		       const struct outcome *whole, const struct outcome *cut)
{
	bool ended = way->stream && row->status;
	struct sim *sim = sim_new(NULL, 1);
	const struct fw_nic *fw = sim_nic_fw(sim_nic_new(sim), 0);
	const char *name;
	bool same = true;
	uint64_t value;

	for (uint32_t end = 0; end < 2; end++) {
		for (uint32_t i = 0; fw_stat(fw, i, &name, &value); i++) {
			if (whole->stat[end][i] == cut->stat[end][i] ||
			    !strncmp(name, "host_", 5) ||
			    (ended && !strcmp(name, "rx_crc_checked")))
				continue;
			printf("\n    %s: %s of %s: %llu with runs, %llu without", row->name, name,
			       end ? "b" : "a", (unsigned long long)whole->stat[end][i],
			       (unsigned long long)cut->stat[end][i]);
			same = false;
		}
	}
	sim_free(sim);
	return same;
}

static bool same_state(const struct desk_row *row, const struct outcome *whole,
		       const struct outcome *cut)
{
	bool same = true;

	for (uint32_t i = 0; i < RUN_SAME_STATE; i++) {
		if (whole->state[i] == cut->state[i])
			continue;
		printf("\n    %s: number %u is %u with runs, %u without", row->name, i,
		       whole->state[i], cut->state[i]);
		same = false;
	}
	return same;
}

static bool is_plain(const struct desk_row *row)
{
	return !row->bad && !row->change && !row->before && !row->twice && !row->late && !row->lost;
}

static void compare(const struct run_way *way, const struct desk_row *row)
{
	static struct outcome whole, cut;

	play(way, row, false, &whole);
	play(way, row, true, &cut);
	CU_ASSERT(whole.runs.shown > (row->before ? 0 : 1));
	CU_ASSERT(cut.runs.shown == 0);
	if (is_plain(row)) {
		CU_ASSERT(whole.runs.looked > 0);
		CU_ASSERT(whole.runs.taken == whole.runs.looked);
	}
	CU_ASSERT(same_stats(way, row, &whole, &cut));
	CU_ASSERT(memcmp(whole.memory, cut.memory, way->bytes) == 0);
	CU_ASSERT(same_state(row, &whole, &cut));
	CU_ASSERT(whole.num_wc[0] == !row->endless);
	CU_ASSERT(whole.wc[0].status == row->status);
	for (uint32_t end = 0; end < 2; end++) {
		CU_ASSERT(whole.num_wc[end] == cut.num_wc[end]);
		CU_ASSERT(whole.wc[end].status == cut.wc[end].status);
		CU_ASSERT(whole.wc[end].bytes == cut.wc[end].bytes);
	}
}

void run_same(const struct run_way *way, const struct desk_row *rows, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		compare(way, &rows[i]);
}

void run_same_no_receive(struct scene *scene)
{
	scene->no_receive = true;
}

void run_same_short_receive(struct scene *scene)
{
	scene->sge[0].bytes = SHORT;
}

void run_same_short_memory(struct scene *scene)
{
	struct pair *p = &scene->p;

	scene->mr = weft_reg_mr(p->b.pd, p->b.buf + SINK, SHORT,
				WEFT_ACCESS_REMOTE_WRITE | WEFT_ACCESS_LOCAL_WRITE);
	FIX_REQUIRE(p, scene->mr);
	scene->request.rkey = scene->mr->rkey;
}

void run_same_memory_gone(struct scene *scene)
{
	struct pair *p = &scene->p;
	struct sim_proc *proc = p->b.proc;
	void *gone = sim_mem_alloc(proc, RUN_SAME_BYTES, false);

	FIX_REQUIRE(p, gone);
	scene->mr = weft_reg_mr(p->b.pd, gone, RUN_SAME_BYTES, WEFT_ACCESS_LOCAL_WRITE);
	FIX_REQUIRE(p, scene->mr);
	sim_mem_free(proc, gone);
	scene->sge[0].bytes = SHORT;
	scene->sge[1] = (struct weft_sge){
	    .addr = (uintptr_t)gone, .bytes = RUN_SAME_BYTES - SHORT, .lkey = scene->mr->lkey};
	scene->recv.num_sge = 2;
}

void run_same_qp_in_error(struct scene *scene)
{
	const struct weft_qp_attr error = {.state = WEFT_QPS_ERR};
	struct pair *p = &scene->p;

	FIX_REQUIRE(p, weft_modify_qp(p->b.qp, &error, WEFT_QP_STATE) == 0);
	scene->no_receive = true;
}
