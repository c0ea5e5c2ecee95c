/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The workload "verbs" judges the end of a request: a Read behind a Write that it reads back.
 *
 * Over reliable datagrams a Write whose memory was deregistered waits for the whole queue before
 * it fails, and the Read behind it does not wait for it (sim_wl_verbs_done.c).
 */
#include <string.h>

#include "sim_harness/wl/sim_wl_verbs.h"
#include "tests/ut.h"

enum {
	BYTES = 64,
	LOCAL_FAULT = SIM_MAY(SUCCESS) | SIM_MAY(LOC_PROT_ERR),
};

static struct sim_run run;
static struct wv wv;
static struct wv_proc proc;
static struct wv_cq cq;
static struct wv_qp qp;
static struct wv_op write_op, read_op;
static uint8_t mem[2][BYTES], written[BYTES];

/* A Write and a Read are in flight; the data of the Read is in memory. */
static void begin(enum weft_qp_type type, uint32_t allowed, bool brought)
{
	uint32_t i;

	memset(&run, 0, sizeof(run));
	memset(&wv, 0, sizeof(wv));
	memset(&proc, 0, sizeof(proc));
	memset(&cq, 0, sizeof(cq));
	memset(&qp, 0, sizeof(qp));
	memset(&write_op, 0, sizeof(write_op));
	memset(&read_op, 0, sizeof(read_op));
	memset(mem, 0, sizeof(mem));
	memset(written, 7, sizeof(written));
	run.sim = sim_new(NULL, 1);
	proc.nic = sim_nic_new(run.sim);
	wv.run = &run;
	wv.sim = run.sim;
	wv.procs = &proc;
	for (i = 0; i < WV_AREAS; i++) {
		proc.area[i] =
		    (struct wv_area){&proc, mem[i], BYTES, sim_shadow_new(mem[i], BYTES)};
		CU_ASSERT_FATAL(proc.area[i].shadow != NULL);
	}
	proc.wv = &wv;
	qp.proc = &proc;
	qp.scq = &cq;
	qp.model.type = type;
	cq.used = 2;
	write_op.proc = read_op.proc = &proc;
	write_op.qp = read_op.qp = &qp;
	write_op.m.opcode = WEFT_WR_WRITE;
	write_op.m.allowed = allowed;
	write_op.m.withdrawn = allowed != SIM_MAY(SUCCESS);
	write_op.reader = &read_op;
	read_op.m.opcode = WEFT_WR_READ;
	read_op.m.allowed = SIM_MAY(SUCCESS);
	read_op.writer = &write_op;
	read_op.data = written;
	read_op.num_local = 1;
	read_op.local[0] =
	    sim_shadow_hold(proc.area[0].shadow, 0, BYTES, SIM_HOLD_ANY, read_op.data);
	if (brought)
		memcpy(mem[0], written, BYTES);
}

static void finish(struct wv_op *op, enum weft_wc_status status)
{
	op->m.done = true;
	op->m.status = status;
	/* Memory that would be freed; the test reads it again. */
	op->m.inbound = true;
	wv_ended(&wv, &op->m);
}

static void end(bool right)
{
	CU_ASSERT(right == !wv_failed(&wv));
	sim_shadow_free(proc.area[0].shadow);
	sim_shadow_free(proc.area[1].shadow);
	sim_free(run.sim);
}

/* The Write's result is open when the Read ends: the Read is judged when it is known. */
static void read_back_before_the_write_ends(void)
{
	begin(WEFT_QPT_RD, LOCAL_FAULT, false);
	finish(&read_op, WEFT_WC_SUCCESS);
	CU_ASSERT(!wv_failed(&wv));
	finish(&write_op, WEFT_WC_LOC_PROT_ERR);
	end(true);

	begin(WEFT_QPT_RD, LOCAL_FAULT, true);
	finish(&read_op, WEFT_WC_SUCCESS);
	finish(&write_op, WEFT_WC_SUCCESS);
	end(true);

	begin(WEFT_QPT_RD, LOCAL_FAULT, false);
	finish(&read_op, WEFT_WC_SUCCESS);
	CU_ASSERT(!wv_failed(&wv));
	finish(&write_op, WEFT_WC_SUCCESS);
	end(false);
}

/* A Write that cannot fail here, or not without the Read, counts as executed. */
static void read_back_is_judged_at_once(void)
{
	begin(WEFT_QPT_RD, SIM_MAY(SUCCESS), false);
	finish(&read_op, WEFT_WC_SUCCESS);
	end(false);

	begin(WEFT_QPT_RC, LOCAL_FAULT, false);
	finish(&read_op, WEFT_WC_SUCCESS);
	end(false);

	begin(WEFT_QPT_RD, LOCAL_FAULT, false);
	finish(&write_op, WEFT_WC_SUCCESS);
	finish(&read_op, WEFT_WC_SUCCESS);
	end(false);

	begin(WEFT_QPT_RD, LOCAL_FAULT, false);
	finish(&write_op, WEFT_WC_LOC_PROT_ERR);
	finish(&read_op, WEFT_WC_SUCCESS);
	end(true);
}

/* A request to a queue pair that is not there is refused; a short limit may run out before. */
static void to_nobody(void)
{
	memset(&qp, 0, sizeof(qp));
	qp.proc = &proc;
	qp.state = WV_LIVE;
	qp.model.type = WEFT_QPT_RD;
	CU_ASSERT_EQUAL(wv_outcomes(&qp, NULL), SIM_MAY(REM_OP_ERR));
	qp.short_retry = true;
	CU_ASSERT_EQUAL(wv_outcomes(&qp, NULL), SIM_MAY(REM_OP_ERR) | SIM_MAY(RETRY_EXC_ERR));
	qp.state = WV_GONE;
	CU_ASSERT_EQUAL(wv_outcomes(&qp, NULL), SIM_MAY(WR_FLUSH_ERR));
}

UT_MAIN("sim/wl_verbs", UT(read_back_before_the_write_ends), UT(read_back_is_judged_at_once),
	UT(to_nobody))
