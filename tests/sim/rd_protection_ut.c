/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Errors of reliable datagrams: requests that are not allowed, at either end. Exactly the affected
 * requests fail, with the right status, and everything else goes on.
 */
#include "tests/sim/rd_errors_fix.h"

/* Requests without permission: the right status, no byte changed, and the QP still works. */
static void remote_protection(void)
{
	static const struct {
		enum weft_wr_opcode opcode;
		uint32_t access; /* bytes of the requested region */
		bool bad_key, out_of_bounds;
		enum weft_wc_status status;
	} cases[] = {
	    {WEFT_WR_WRITE, WEFT_ACCESS_REMOTE_READ, false, false, WEFT_WC_REM_ACCESS_ERR},
	    {WEFT_WR_READ, WEFT_ACCESS_REMOTE_WRITE, false, false, WEFT_WC_REM_ACCESS_ERR},
	    {WEFT_WR_FETCH_ADD, WEFT_ACCESS_REMOTE_WRITE, false, false, WEFT_WC_REM_ACCESS_ERR},
	    {WEFT_WR_WRITE, WEFT_ACCESS_REMOTE_WRITE, true, false, WEFT_WC_REM_ACCESS_ERR},
	    {WEFT_WR_READ, WEFT_ACCESS_REMOTE_READ, true, false, WEFT_WC_REM_ACCESS_ERR},
	    {WEFT_WR_CMP_SWAP, WEFT_ACCESS_REMOTE_ATOMIC, true, false, WEFT_WC_REM_ACCESS_ERR},
	    {WEFT_WR_WRITE, WEFT_ACCESS_REMOTE_WRITE, false, true, WEFT_WC_REM_ACCESS_ERR},
	    {WEFT_WR_READ, WEFT_ACCESS_REMOTE_READ, false, true, WEFT_WC_REM_ACCESS_ERR},
	    {WEFT_WR_WRITE_IMM, WEFT_ACCESS_REMOTE_READ, false, false, WEFT_WC_REM_ACCESS_ERR},
	};
	struct pair p;
	uint64_t seed;
	uint32_t i;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		pair_open(&p, seed, &faulty);
		for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			bool atomic = cases[i].opcode == WEFT_WR_FETCH_ADD ||
				      cases[i].opcode == WEFT_WR_CMP_SWAP;
			struct weft_mr *mr = weft_reg_mr(
			    p.b.pd, p.b.buf, 8192, (int)cases[i].access | WEFT_ACCESS_LOCAL_WRITE);
			struct post request = {
			    .opcode = cases[i].opcode, .wr_id = 10 + i, .bytes = atomic ? 8 : 6000};

			FIX_REQUIRE(&p, mr != NULL);
			memset(p.a.buf, 0x33, 6000);
			memset(p.b.buf, 0x44, 16384);
			request.rkey = mr->rkey ^ (cases[i].bad_key ? 0x5a : 0);
			request.remote_offset = cases[i].out_of_bounds ? 8192 - 5999 : 0;
			FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &request) == 0);
			expect(&p, &p.a, 10 + i, cases[i].status);
			FIX_CHECK(&p, all_bytes(p.b.buf + 8192, 0x44, 8192));
			if (!cases[i].out_of_bounds)
				FIX_CHECK(&p, all_bytes(p.b.buf, 0x44, 8192));
			if (cases[i].opcode == WEFT_WR_READ)
				FIX_CHECK(&p, all_bytes(p.a.buf, 0x33, 6000));
			FIX_CHECK(&p, weft_dereg_mr(mr) == 0);
			works(&p);
		}
		pair_close(&p);
	}
}

/* The receiver's buffer is too short: both sides report it, nothing is written past it. */
static void message_too_long(void)
{
	struct pair p;
	uint64_t seed;
	uint32_t size;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		pair_open(&p, seed, &faulty);
		for (size = 1000; size <= 100000; size *= 10) {
			struct post request = {.wr_id = size, .bytes = size};

			memset(p.b.buf + SINK, 0x22, 200000);
			FIX_REQUIRE(&p, sim_end_recv(&p.b, 9, SINK, size - 1) == 0);
			FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &request) == 0);
			expect(&p, &p.b, 9, WEFT_WC_LOC_LEN_ERR);
			expect(&p, &p.a, size, WEFT_WC_REM_INV_REQ_ERR);
			FIX_CHECK(&p, all_bytes(p.b.buf + SINK + size - 1, 0x22, 1000));
		}
		pair_close(&p);
	}
}

/* Requests that are wrong on their own side never reach the wire. */
static void local_protection(void)
{
	struct weft_sge sge;
	struct pair p;
	uint32_t i;

	for (i = 0; i < 3; i++) {
		struct post request = {.wr_id = 1, .sge = &sge, .num_sge = 1};
		uint64_t sent;

		pair_open(&p, 1, NULL);
		works(&p);
		sge = sim_end_sge(&p.a, 0, 100);
		if (i == 0)
			sge.lkey ^= 0x100;
		else if (i == 1)
			sge.addr = (uintptr_t)p.a.buf + p.a.bytes - 99;
		else
			sge.addr = UINT64_MAX - 50;
		sent = sim_nic_stat(p.na, "rd_tx_packets");
		FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &request) == 0);
		expect(&p, &p.a, 1, WEFT_WC_LOC_PROT_ERR);
		FIX_CHECK(&p, sim_nic_stat(p.na, "rd_tx_packets") == sent);
		pair_close(&p);
	}
}

/* Memory that the process unmapped, on either side: the request ends in error. */
static void unmapped_memory(void)
{
	const struct pair_attr attr = {.a = {.unmapped = true}, .same = true};
	struct pair p;
	int i;

	for (i = 0; i < 3; i++) {
		struct post request = {
		    .opcode = i == 2 ? WEFT_WR_READ : WEFT_WR_WRITE, .wr_id = 1, .bytes = 10000};
		struct weft_wc wc;

		pair_open(&p, 1, &attr);
		works(&p);
		sim_mem_free(i == 0 ? p.a.proc : p.b.proc, i == 0 ? p.a.buf : p.b.buf);
		FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &request) == 0);
		FIX_REQUIRE(&p, sim_end_wait(&p.a, &wc, 1, FIX_LIMIT_NS) == 1);
		FIX_CHECK(&p, wc.wr_id == 1 && wc.status != WEFT_WC_SUCCESS);
		if (i == 0)
			FIX_CHECK(&p, wc.status == WEFT_WC_LOC_PROT_ERR &&
					  wc.vendor_err == WEFT_VENDOR_ERR_HOST_FAULT);
		FIX_CHECK(&p, sim_nic_counts(i == 0 ? p.na : p.nb)->host_faults > 0);
		pair_close(&p);
	}
}

/* Deregistration in the middle of sending from the region: no frame reads it afterwards. */
static void deregistered_under_way(void)
{
	struct pair p;
	uint64_t seed;
	uint32_t i;

	for (seed = 1; seed <= 4 * FIX_SEEDS; seed++) {
		struct weft_wc wc[8];
		struct weft_mr *mr;
		struct weft_sge sge;
		bool failed = false;

		pair_open(&p, seed, &faulty);
		mr = weft_reg_mr(p.a.pd, p.a.buf, 500000, WEFT_ACCESS_LOCAL_WRITE);
		FIX_REQUIRE(&p, mr != NULL);
		for (i = 0; i < 8; i++) {
			struct post request = {
			    .opcode = WEFT_WR_WRITE, .wr_id = i, .sge = &sge, .num_sge = 1};

			sge = (struct weft_sge){(uintptr_t)p.a.buf + i * 60000, 60000, mr->lkey};
			FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &request) == 0);
		}
		sim_run_for(p.sim, sim_prng_below(&p.prng, 300000));
		FIX_CHECK(&p, weft_dereg_mr(mr) == 0);
		FIX_REQUIRE(&p, sim_end_wait(&p.a, wc, 8, FIX_LIMIT_NS) == 8);
		for (i = 0; i < 8; i++) {
			FIX_CHECK(&p, wc[i].wr_id == i);
			FIX_CHECK(&p, wc[i].status == WEFT_WC_SUCCESS ||
					  wc[i].status == WEFT_WC_LOC_PROT_ERR ||
					  wc[i].status == WEFT_WC_WR_FLUSH_ERR);
			FIX_CHECK(&p, !failed || wc[i].status != WEFT_WC_SUCCESS);
			failed = wc[i].status != WEFT_WC_SUCCESS;
		}
		pair_close(&p);
	}
}

/* In the error state every posted request is flushed, in order. */
static void flush(void)
{
	struct weft_qp_attr attr = {.state = WEFT_QPS_ERR};
	struct weft_wc wc[10];
	struct pair p;
	uint64_t seed;
	uint32_t i, sends = 0, recvs = 0;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		pair_open(&p, seed, &faulty);
		sends = recvs = 0;
		for (i = 0; i < 5; i++) {
			FIX_REQUIRE(&p, sim_end_recv(&p.a, 100 + i, SINK, 100) == 0);
			send_one(&p, i); /* no receive there: the messages stay */
		}
		sim_run_for(p.sim, FIX_MS);
		FIX_REQUIRE(&p, weft_modify_qp(p.a.qp, &attr, WEFT_QP_STATE) == 0);
		FIX_REQUIRE(&p, sim_end_wait(&p.a, wc, 10, FIX_LIMIT_NS) == 10);
		for (i = 0; i < 10; i++) {
			FIX_CHECK(&p, wc[i].status == WEFT_WC_WR_FLUSH_ERR);
			if (wc[i].wr_id >= 100)
				FIX_CHECK(&p, wc[i].wr_id == 100 + recvs++);
			else
				FIX_CHECK(&p, wc[i].wr_id == sends++);
		}
		pair_close(&p);
	}
}

UT_MAIN("sim/rd_protection", UT(remote_protection), UT(message_too_long), UT(local_protection),
	UT(unmapped_memory), UT(deregistered_under_way), UT(flush))
