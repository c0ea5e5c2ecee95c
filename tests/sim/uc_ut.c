/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unreliable connections: messages arrive whole, in order and once, or not at all. Lost, late and
 * unwanted packets are dropped without notice to the sender, and the connection goes on.
 */
#include "tests/sim/sim_fix.h"

enum {
	SINK = 512 * 1024,
	SLOT = 16384,
	PATH_MTU = 1024,
	MESSAGES = 300,
};

static const struct pair_attr uc = {.a = {.type = WEFT_QPT_UC, .inactive = true}, .same = true};
static const struct pair_attr uc_srq = {.a = {.type = WEFT_QPT_UC, .inactive = true, .srq_wr = 64},
					.same = true};

static void connect_end(struct pair *p, struct sim_end *end, const struct sim_end *peer,
			const struct sim_nic *peer_nic, uint32_t sq_psn, uint32_t rq_psn)
{
	struct weft_qp_attr attr = {
	    .state = WEFT_QPS_INIT, .port = 1, .access = WEFT_ACCESS_REMOTE_WRITE};

	FIX_REQUIRE(p, weft_modify_qp(end->qp, &attr,
				      WEFT_QP_STATE | WEFT_QP_PKEY_INDEX | WEFT_QP_PORT |
					  WEFT_QP_ACCESS_FLAGS) == 0);
	attr = (struct weft_qp_attr){.state = WEFT_QPS_RTR,
				     .path_mtu_bytes = PATH_MTU,
				     .dst_qpn = peer->qp->qpn,
				     .rq_psn = rq_psn};
	attr.av = weft_av_ip(sim_nic_ip(peer_nic));
	FIX_REQUIRE(p, weft_modify_qp(end->qp, &attr,
				      WEFT_QP_STATE | WEFT_QP_AV | WEFT_QP_PATH_MTU |
					  WEFT_QP_DEST_QPN | WEFT_QP_RQ_PSN) == 0);
	attr = (struct weft_qp_attr){.state = WEFT_QPS_RTS, .sq_psn = sq_psn};
	FIX_REQUIRE(p, weft_modify_qp(end->qp, &attr, WEFT_QP_STATE | WEFT_QP_SQ_PSN) == 0);
}

static void open_uc(struct pair *p, uint64_t seed, const struct pair_attr *attr)
{
	pair_open(p, seed, attr);
	connect_end(p, &p->a, &p->b, p->nb, 0x111111, 0x222222);
	connect_end(p, &p->b, &p->a, p->na, 0x222222, 0x111111);
}

/* Every size around the path MTU, by each operation; not a byte past the message. */
static void operations(void)
{
	static const uint32_t sizes[] = {0,    1,    7,     PATH_MTU - 1, PATH_MTU, PATH_MTU + 1,
					 4096, 9999, 65536, 300000};
	static const enum weft_wr_opcode opcodes[] = {WEFT_WR_SEND, WEFT_WR_SEND_IMM, WEFT_WR_WRITE,
						      WEFT_WR_WRITE_IMM};
	struct weft_wc wc;
	struct pair p;
	uint32_t i, j, n = 0;

	open_uc(&p, 1, &uc);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (j = 0; j < 4; j++, n++) {
			struct post request = {.opcode = opcodes[j],
					       .wr_id = n,
					       .bytes = sizes[i],
					       .imm = n * 7,
					       .remote_offset = SINK};
			bool receives = opcodes[j] != WEFT_WR_WRITE;

			fill(&p, n, p.a.buf, sizes[i]);
			memset(p.b.buf + SINK, 0xee, sizes[i] + 100);
			if (receives)
				FIX_REQUIRE(&p, sim_end_recv(&p.b, n, SINK, sizes[i]) == 0);
			FIX_REQUIRE(&p, post(&p.a, NULL, &p.b, &request) == 0);
			expect(&p, &p.a, n, WEFT_WC_SUCCESS);
			if (receives) {
				wc = expect(&p, &p.b, n, WEFT_WC_SUCCESS);
				FIX_CHECK(&p, wc.bytes == sizes[i]);
				FIX_CHECK(&p, wc.opcode ==
						  (j == 3 ? WEFT_WC_RECV_WRITE_IMM : WEFT_WC_RECV));
				FIX_CHECK(&p, !(wc.flags & WEFT_WC_F_IMM) == (j == 0));
				FIX_CHECK(&p, j == 0 || wc.imm == n * 7);
			} else {
				FIX_CHECK(&p, silent(&p, &p.b, 2 * FIX_MS));
			}
			FIX_CHECK(&p, filled(&p, n, p.b.buf + SINK, sizes[i]));
			FIX_CHECK(&p, all_bytes(p.b.buf + SINK + sizes[i], 0xee, 100));
		}
	}
	FIX_CHECK(&p, sim_nic_stat(p.nb, "uc_rx_msgs") == n);
	pair_close(&p);
}

/* A missing receive costs the message, never a retry; so does one that is too short. */
static void not_ready(void)
{
	struct pair p;
	uint32_t i;

	for (i = 0; i < 2; i++) {
		struct post lost = {.opcode = i ? WEFT_WR_WRITE_IMM : WEFT_WR_SEND,
				    .wr_id = 1,
				    .bytes = 5000,
				    .remote_offset = SINK};
		struct post request = {.wr_id = 3, .bytes = 100};

		open_uc(&p, 1, &uc);
		FIX_REQUIRE(&p, post(&p.a, NULL, &p.b, &lost) == 0);
		expect(&p, &p.a, 1, WEFT_WC_SUCCESS);
		FIX_CHECK(&p, silent(&p, &p.b, 10 * FIX_MS));
		FIX_CHECK(&p, sim_nic_stat(p.nb, "drop_uc_no_receive") == 1);
		/* The short receive is not consumed: the next message gets it. */
		fill(&p, 9, p.a.buf, 100);
		FIX_REQUIRE(&p, sim_end_recv(&p.b, 2, SINK, 100) == 0);
		lost.opcode = WEFT_WR_SEND;
		FIX_REQUIRE(&p, post(&p.a, NULL, &p.b, &lost) == 0);
		expect(&p, &p.a, 1, WEFT_WC_SUCCESS);
		FIX_REQUIRE(&p, post(&p.a, NULL, &p.b, &request) == 0);
		expect(&p, &p.a, 3, WEFT_WC_SUCCESS);
		expect(&p, &p.b, 2, WEFT_WC_SUCCESS);
		FIX_CHECK(&p, filled(&p, 9, p.b.buf + SINK, 100));
		FIX_CHECK(&p, sim_nic_stat(p.nb, "drop_uc_too_long") == 1);
		pair_close(&p);
	}
}

/* Messages that pass a bad network are right, in order and arrive once; some do not arrive. */
static void lossy(void)
{
	struct pair_attr attr;
	uint32_t i, got, last, total = 0;
	struct weft_wc wc;
	struct pair p;
	uint64_t seed;

	for (seed = 1; seed <= 2 * FIX_SEEDS; seed++) {
		attr = seed % 2 ? uc : uc_srq;
		open_uc(&p, seed, &attr);
		pair_faults(&p, FIX_FAULTS);
		got = last = 0;
		for (i = 0; i < 32; i++)
			FIX_REQUIRE(&p, sim_end_recv(&p.b, i, SINK + i * SLOT, SLOT) == 0);
		for (i = 1; i <= MESSAGES; i++) {
			struct post request = {.opcode = WEFT_WR_SEND_IMM,
					       .wr_id = i,
					       .bytes = i * 37 % SLOT,
					       .imm = i};

			fill(&p, i, p.a.buf, request.bytes);
			FIX_REQUIRE(&p, post(&p.a, NULL, &p.b, &request) == 0);
			expect(&p, &p.a, i, WEFT_WC_SUCCESS);
			while (sim_end_wait(&p.b, &wc, 1, FIX_MS) == 1) {
				FIX_CHECK(&p, wc.status == WEFT_WC_SUCCESS && wc.imm > last);
				FIX_CHECK(&p,
					  wc.wr_id == got % 32 && wc.bytes == wc.imm * 37 % SLOT);
				FIX_CHECK(&p, filled(&p, wc.imm, p.b.buf + SINK + wc.wr_id * SLOT,
						     wc.bytes));
				FIX_REQUIRE(&p, sim_end_recv(&p.b, wc.wr_id, SINK + wc.wr_id * SLOT,
							     SLOT) == 0);
				last = wc.imm;
				got++;
			}
		}
		FIX_CHECK(&p, got > MESSAGES / 2 && got == sim_nic_stat(p.nb, "uc_rx_msgs"));
		total += got;
		pair_close(&p);
	}
	CU_ASSERT(total < 2 * FIX_SEEDS * MESSAGES);
}

/*
 * Packets of another connection, and writes without permission, are dropped; the QPs stay
 * unchanged.
 */
static void strangers(void)
{
	struct post request = {.opcode = WEFT_WR_SEND, .wr_id = 1, .bytes = 100};
	struct post write = {
	    .opcode = WEFT_WR_WRITE, .wr_id = 2, .bytes = 100, .remote_offset = SINK};
	struct weft_qp_attr attr;
	struct pair p;

	pair_open(&p, 1, &uc);
	connect_end(&p, &p.a, &p.b, p.nb, 0x111111, 0x222222);
	connect_end(&p, &p.b, &p.a, p.na, 0x222222, 0x333333);
	FIX_REQUIRE(&p, sim_end_recv(&p.b, 1, SINK, 100) == 0);
	FIX_REQUIRE(&p, post(&p.a, NULL, &p.b, &request) == 0);
	expect(&p, &p.a, 1, WEFT_WC_SUCCESS);
	FIX_CHECK(&p, silent(&p, &p.b, 10 * FIX_MS));
	FIX_CHECK(&p, sim_nic_stat(p.nb, "drop_uc_stray") == 1);
	pair_close(&p);

	open_uc(&p, 1, &uc);
	memset(p.b.buf + SINK, 0xee, 100);
	write.rkey = p.b.mr->rkey + 1;
	FIX_REQUIRE(&p, post(&p.a, NULL, &p.b, &write) == 0);
	expect(&p, &p.a, 2, WEFT_WC_SUCCESS);
	attr = (struct weft_qp_attr){.access = 0};
	FIX_REQUIRE(&p, weft_modify_qp(p.b.qp, &attr, WEFT_QP_ACCESS_FLAGS) == 0);
	write.rkey = 0;
	FIX_REQUIRE(&p, post(&p.a, NULL, &p.b, &write) == 0);
	expect(&p, &p.a, 2, WEFT_WC_SUCCESS);
	FIX_CHECK(&p, silent(&p, &p.b, 10 * FIX_MS) && all_bytes(p.b.buf + SINK, 0xee, 100));
	FIX_CHECK(&p, sim_nic_stat(p.nb, "drop_uc_protection") == 2);
	FIX_REQUIRE(&p, weft_query_qp(p.b.qp, &attr, NULL) == 0);
	FIX_CHECK(&p, attr.state == WEFT_QPS_RTS);
	pair_close(&p);
}

/* UC has no reads and atomics; a local error stops the send queue alone (SQE). */
static void own_errors(void)
{
	struct post read = {.opcode = WEFT_WR_READ, .wr_id = 1, .bytes = 8};
	struct post add = {.opcode = WEFT_WR_FETCH_ADD, .wr_id = 1, .bytes = 8};
	struct post request = {.opcode = WEFT_WR_SEND, .wr_id = 3, .bytes = 64};
	struct weft_qp_attr attr = {.state = WEFT_QPS_RTS};
	struct weft_sge wrong;
	struct pair p;

	open_uc(&p, 1, &uc);
	FIX_CHECK(&p, post(&p.a, NULL, &p.b, &read) == -EINVAL);
	FIX_CHECK(&p, post(&p.a, NULL, &p.b, &add) == -EINVAL);
	wrong = sim_end_sge(&p.a, 0, 64);
	wrong.lkey++;
	request.sge = &wrong;
	request.num_sge = 1;
	FIX_REQUIRE(&p, post(&p.a, NULL, &p.b, &request) == 0);
	expect(&p, &p.a, 3, WEFT_WC_LOC_PROT_ERR);
	FIX_REQUIRE(&p, weft_modify_qp(p.a.qp, &attr, WEFT_QP_STATE) == 0);
	/* A receive that cannot be written ends the QP that posted it. */
	request.sge = NULL;
	FIX_REQUIRE(&p, sim_end_recv(&p.b, 4, SINK, 64) == 0);
	FIX_REQUIRE(&p, sim_end_recv(&p.b, 5, SINK, 64) == 0);
	FIX_REQUIRE(&p, weft_dereg_mr(p.b.mr) == 0);
	p.b.mr = NULL;
	request.rkey = 1;
	FIX_REQUIRE(&p, post(&p.a, NULL, &p.b, &request) == 0);
	expect(&p, &p.a, 3, WEFT_WC_SUCCESS);
	expect(&p, &p.b, 4, WEFT_WC_LOC_PROT_ERR);
	expect(&p, &p.b, 5, WEFT_WC_WR_FLUSH_ERR);
	pair_close(&p);
}

UT_MAIN("sim/uc", UT(operations), UT(not_ready), UT(lossy), UT(strangers), UT(own_errors))
