/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * No process makes a turn long. The test measures the most work of one call to the firmware while a
 * process with the maximum of objects flushes, resets, destroys and dies, and that all work is done
 * in the end.
 */
#include <sys/mman.h>

#include "tests/bench/host.h"

enum {
	DEPTH = 8192, /* HW_MAX_WR: requests of each queue */
	/*
	 * Limits for fw_poll(), so for each turn, and for a command; a turn carries out at most one
	 * command.
	 */
	MOST_PER_TURN = 16,
	MOST_PER_COMMAND = 64,
	MANY_MRS = 4000,
	MANY_QPS = 300,
};

static struct fw_ut ut;
static uint32_t pd;
static struct fw_cq *cq;

static void begin(void)
{
	fw_ut_begin(&ut);
	pd = host_pd(ut.nic, 0);
	cq = host_cq(ut.nic, 0, 4 * DEPTH, HW_EQ_NONE);
}

static struct fw_qp *deep_qp(void)
{
	struct hw_cmd cmd = {.op = HW_CMD_CREATE_QP};
	struct hw_cmd_create_qp *create = &cmd.u.create_qp;
	struct hw_cmd_resp resp;

	create->pd = pd;
	create->type = HW_QPT_UD;
	create->send_cq = create->recv_cq = cq->index;
	create->srq = HW_SRQ_NONE;
	create->sq_slots = DEPTH;
	create->max_send_wr = create->max_recv_wr = DEPTH;
	create->max_send_sge = create->max_recv_sge = 1;
	CU_ASSERT_EQUAL_FATAL(host_cmd(ut.nic, 0, &cmd, &resp), 0);
	return qp_find(ut.nic, resp.u.create_qp.qpn);
}

/* Fills both queues without a doorbell; requests are numbered from first, then receives. */
static void fill(struct fw_qp *qp, uint64_t first)
{
	uint32_t i;

	for (i = 0; i < DEPTH; i++) {
		struct hw_sq_wqe w = {
		    .wr_id = first + i, .opcode = HW_WQE_SEND, .slots = 1, .flags = 0};
		struct hw_rq_wqe r = {.wr_id = first + DEPTH + i};

		memcpy(qp->sq_ring +
			   (size_t)((qp->record->sq_prod + i) & qp->sq_mask) * HW_SQ_SLOT_BYTES,
		       &w, sizeof(w));
		memcpy(qp->rq_ring +
			   (size_t)((qp->record->rq_prod + i) & qp->rq_mask) * qp->rq_stride_bytes,
		       &r, sizeof(r));
	}
	qp->record->sq_prod += DEPTH;
	qp->record->rq_prod += DEPTH;
}

/* Checks the completions since *at: in order, flushed, not too many at once. */
static void check_most(uint32_t *at, uint64_t *next, uint32_t most)
{
	struct hw_cqe cqe;

	CU_ASSERT(cq->prod - *at <= most);
	for (; *at != cq->prod; ++*at, ++*next) {
		CU_ASSERT_TRUE_FATAL(host_cqe(cq, *at, &cqe));
		CU_ASSERT_EQUAL(cqe.status, HW_STATUS_WR_FLUSH_ERR);
		CU_ASSERT_EQUAL(cqe.wr_id, *next);
	}
	cq->record->cons = *at;
}

/* The same check after a turn. */
static void check_some(uint32_t *at, uint64_t *next)
{
	check_most(at, next, MOST_PER_TURN);
}

/* Runs turns until nothing waits; each is short. Returns their number. */
static uint32_t run_slices(uint32_t *at, uint64_t *next)
{
	uint32_t turns;

	/* The command that began the work has done a part of it. */
	check_most(at, next, MOST_PER_COMMAND);
	for (turns = 0; slice_pending(ut.nic) && turns < 4 * DEPTH; turns++) {
		CU_ASSERT_EQUAL(fw_next_timer_ns(ut.nic), ut.nic->now_ns + FW_SOON_NS);
		fw_ut_poll(&ut, 1000);
		check_some(at, next);
	}
	CU_ASSERT_FALSE(slice_pending(ut.nic));
	return turns;
}

static void flush_of_full_queues(void)
{
	uint32_t at = 0;
	uint64_t next = 100;
	struct fw_qp *qp;

	begin();
	qp = deep_qp();
	host_rts(ut.nic, qp, 0);
	fill(qp, next);
	CU_ASSERT_EQUAL(host_modify(ut.nic, qp, HW_QPS_ERR, 0, NULL), 0);
	CU_ASSERT_EQUAL(qp->state, HW_QPS_ERR);
	CU_ASSERT_TRUE(qp->flushing);
	/* A unit for each: no turn does less than it may. */
	CU_ASSERT_TRUE(run_slices(&at, &next) <= 2 * DEPTH / FW_SLICE_UNITS + 1);
	CU_ASSERT_EQUAL(next, 100 + 2 * DEPTH);
	CU_ASSERT_FALSE(qp->flushing);
	CU_ASSERT_EQUAL(qp->record->sq_cons, qp->record->sq_prod);
	CU_ASSERT_EQUAL(qp->record->rq_cons, qp->record->rq_prod);
	fw_ut_end(&ut);
}

/* Requests posted to a failed queue pair, all with one doorbell. */
static void doorbell_of_a_dead_queue(void)
{
	uint32_t at = 0, *ring;
	uint64_t next = 7;
	struct fw_qp *qp;

	begin();
	qp = deep_qp();
	host_rts(ut.nic, qp, 0);
	CU_ASSERT_EQUAL(host_modify(ut.nic, qp, HW_QPS_ERR, 0, NULL), 0);
	CU_ASSERT_FALSE(qp->flushing);
	fill(qp, next);
	ring = (uint32_t *)(void *)(ut.client[0].bar + HW_BAR_DB_RING);
	qp->record->rung = 1;
	ring[0] = HW_DB_ENTRY(HW_DB_SQ, qp->qpn);
	fw_ut_poll(&ut, 1000);
	CU_ASSERT_EQUAL(qp->record->rung, 0);
	(void)run_slices(&at, &next);
	CU_ASSERT_EQUAL(next, 7 + 2 * DEPTH);
	fw_ut_end(&ut);
}

/* As many fetched requests wait in the send queue as were posted. */
static void send_queue_error_flushes_requests_alone(void)
{
	uint32_t at = 0;
	uint64_t next = 1;
	struct fw_qp *qp;

	begin();
	qp = deep_qp();
	host_rts(ut.nic, qp, 0);
	fill(qp, next);
	qp_sq_error(ut.nic, qp);
	CU_ASSERT_EQUAL(qp->state, HW_QPS_SQE);
	CU_ASSERT_TRUE(qp->flushing);
	/* The QP works again only after all completions. */
	CU_ASSERT_EQUAL(host_modify(ut.nic, qp, HW_QPS_RTS, HW_QP_CUR_STATE,
				    &(struct hw_qp_attr){.cur_state = HW_QPS_SQE}),
			-1);
	CU_ASSERT_EQUAL(ut.port.num_done, 0);
	(void)run_slices(&at, &next);
	CU_ASSERT_EQUAL(next, 1 + DEPTH);
	CU_ASSERT_EQUAL(ut.port.num_done, 1);
	CU_ASSERT_EQUAL(ut.port.done.status, 0);
	CU_ASSERT_EQUAL(qp->state, HW_QPS_RTS);
	fw_ut_end(&ut);
}

/*
 * A reset drops the rest of a flush. The dropped requests report no completion after the reset was
 * answered, and later requests are not taken for them.
 */
static void reset_and_destroy_in_a_flush(void)
{
	uint32_t at = 0, told;
	uint64_t next = 50;
	struct fw_qp *qp;
	uint32_t qpn;

	begin();
	qp = deep_qp();
	qpn = qp->qpn;
	host_rts(ut.nic, qp, 0);
	fill(qp, next);
	CU_ASSERT_EQUAL(host_modify(ut.nic, qp, HW_QPS_ERR, 0, NULL), 0);
	check_most(&at, &next, MOST_PER_COMMAND);
	fw_ut_poll(&ut, 1000);
	check_some(&at, &next);
	CU_ASSERT_TRUE(qp->flushing);
	CU_ASSERT_EQUAL(host_modify(ut.nic, qp, HW_QPS_RESET, 0, NULL), 0);
	told = cq->prod;
	CU_ASSERT_FALSE(slice_pending(ut.nic));
	CU_ASSERT_EQUAL(qp->record->sq_cons, qp->record->sq_prod);
	host_rts(ut.nic, qp, 0);
	fw_ut_poll(&ut, 1000);
	CU_ASSERT_EQUAL(cq->prod, told);
	fill(qp, 9000);
	CU_ASSERT_EQUAL(host_modify(ut.nic, qp, HW_QPS_ERR, 0, NULL), 0);
	next = 9000;
	at = told;
	check_most(&at, &next, MOST_PER_COMMAND);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DESTROY_QP, qpn, NULL), 0);
	CU_ASSERT_PTR_NULL(qp_find(ut.nic, qpn));
	told = cq->prod;
	fw_ut_poll(&ut, 1000);
	CU_ASSERT_EQUAL(cq->prod, told);
	fw_ut_end(&ut);
}

/* A queue with all requests fetched is freed in parts, and the command is answered at the end. */
static void destroy_with_requests_under_way(void)
{
	uint32_t used, turns = 0;
	struct fw_qp *qp;
	uint32_t qpn, i;

	begin();
	qp = deep_qp();
	qpn = qp->qpn;
	host_rts(ut.nic, qp, 0);
	for (i = 0; i < DEPTH; i++) {
		struct fw_wqe *wqe = wqe_alloc(ut.nic, qp, FW_WQE_REQUEST);

		CU_ASSERT_PTR_NOT_NULL_FATAL(wqe);
		wqe->sq_end = i + 1;
		fw_list_add_tail(&qp->wqes, &wqe->qp_node);
		qp->outstanding++;
	}
	qp->sq_next = qp->sq_prod = qp->record->sq_prod = DEPTH;
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DESTROY_QP, qpn, NULL), -1);
	used = ut.nic->host.wqes.used;
	CU_ASSERT(DEPTH - used <= MOST_PER_COMMAND);
	while (!ut.port.num_done && turns++ < DEPTH) {
		fw_ut_poll(&ut, 1000);
		CU_ASSERT(used - ut.nic->host.wqes.used <= MOST_PER_TURN);
		used = ut.nic->host.wqes.used;
	}
	CU_ASSERT_EQUAL(ut.port.num_done, 1);
	CU_ASSERT_EQUAL(ut.port.done.op, HW_CMD_DESTROY_QP);
	CU_ASSERT_EQUAL(ut.port.done.status, 0);
	CU_ASSERT_EQUAL(used, 0);
	CU_ASSERT_PTR_NULL(qp_find(ut.nic, qpn));
	CU_ASSERT_EQUAL(cq->prod, 0);
	fw_ut_end(&ut);
}

static uint32_t new_client(void)
{
	uint32_t client;

	CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&ut, NULL, &client), 0);
	return client;
}

/*
 * A process with very many objects dies. Others see none of them at once; freeing takes turns, in
 * each of which another process is served.
 */
static void death_of_a_rich_process(void)
{
	static uint8_t memory[4096];
	uint32_t client, its_pd, i, unmaps, qps, stag = 0, qpn = 0;
	struct fw_cq *its_cq;
	struct fw_mem mem;

	begin();
	client = new_client();
	its_pd = host_pd(ut.nic, client);
	its_cq = host_cq(ut.nic, client, 16, HW_EQ_NONE);
	for (i = 0; i < MANY_MRS; i++)
		stag = host_reg(ut.nic, client, its_pd, memory, sizeof(memory),
				HW_ACCESS_LOCAL_WRITE, true);
	for (i = 0; i < MANY_QPS; i++)
		qpn = host_qp(ut.nic, client, HW_QPT_UD, its_pd, its_cq, HW_SRQ_NONE)->qpn;
	CU_ASSERT_EQUAL(mem_check(ut.nic, its_pd, 0, stag, (uintptr_t)memory, 1, 0, &mem),
			HW_VENDOR_ERR_NONE);
	CU_ASSERT_PTR_NOT_NULL(qp_find_live(ut.nic, qpn));

	CU_ASSERT_EQUAL(fw_client_detach(ut.nic, client), FW_DETACH_PENDING);
	CU_ASSERT_EQUAL(mem_check(ut.nic, its_pd, 0, stag, (uintptr_t)memory, 1, 0, &mem),
			HW_VENDOR_ERR_LKEY);
	CU_ASSERT_PTR_NULL(qp_find_live(ut.nic, qpn));
	CU_ASSERT_TRUE(cq_post(ut.nic, its_cq, &(struct hw_cqe){.qpn = qpn}));
	CU_ASSERT_EQUAL(its_cq->prod, 0);
	while (!ut.port.num_detached) {
		unmaps = ut.port.num_unmaps;
		qps = fw_ids_used(&ut.nic->host.qp_ids);
		/* Its number is not reused yet. */
		CU_ASSERT_TRUE(ut.nic->host.clients[client].used);
		fw_ut_poll(&ut, 1000);
		CU_ASSERT(ut.port.num_unmaps - unmaps <= MOST_PER_TURN);
		CU_ASSERT(qps - fw_ids_used(&ut.nic->host.qp_ids) <=
			  MOST_PER_TURN / FW_SLICE_QP_UNITS);
		CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DEALLOC_PD, host_pd(ut.nic, 0), NULL),
				0);
	}
	CU_ASSERT_EQUAL(ut.port.last_detached, client);
	CU_ASSERT_EQUAL(ut.port.num_unmaps, MANY_MRS);
	CU_ASSERT_EQUAL(fw_ids_used(&ut.nic->host.mr_ids), 0);
	CU_ASSERT_EQUAL(fw_ids_used(&ut.nic->host.qp_ids), 0);
	CU_ASSERT_FALSE(ut.nic->host.clients[client].used);
	/* The client's BAR is unmapped here: any later access to it faults. */
	munmap(ut.client[client].bar, ut.client[client].bar_bytes);
	ut.client[client].bar = NULL;
	fw_ut_poll(&ut, 1000);
	CU_ASSERT_EQUAL(ut.port.num_detached, 1);
	fw_ut_end(&ut);
}

/* A table that was full once, and has one entry in its last place. */
static void list_of_an_empty_table(void)
{
	static uint8_t memory[64];
	struct hw_cmd cmd = {.op = HW_CMD_LIST};
	struct hw_cmd_resp resp;
	uint32_t i, turns, stag[MANY_MRS], last = 0;

	begin();
	for (i = 0; i < MANY_MRS; i++)
		stag[i] = host_reg(ut.nic, 0, pd, memory, sizeof(memory), 0, false);
	for (i = 0; i < MANY_MRS; i++)
		if (stag_index(stag[i]) > stag_index(stag[last]))
			last = i;
	for (i = 0; i < MANY_MRS; i++)
		if (i != last)
			CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DEREG_MR, stag[i], NULL), 0);
	cmd.u.list.kind = HW_LIST_MRS;
	CU_ASSERT_EQUAL(host_cmd(ut.nic, 0, &cmd, &resp), -1);
	for (turns = 0; !ut.port.num_done && turns < MANY_MRS; turns++)
		fw_ut_poll(&ut, 1000);
	CU_ASSERT_EQUAL(ut.port.num_done, 1);
	CU_ASSERT_EQUAL(ut.port.done.status, 0);
	CU_ASSERT_EQUAL(ut.port.done.u.list.count, 1);
	CU_ASSERT_EQUAL(ut.port.done.u.list.item[0].id, stag[last]);
	CU_ASSERT_EQUAL(ut.port.done.u.list.next, ut.nic->host.mr_ids.high);
	fw_ut_end(&ut);
}

static void small_one_is_gone_at_once(void)
{
	uint32_t client, its_pd;

	begin();
	client = new_client();
	its_pd = host_pd(ut.nic, client);
	(void)host_qp(ut.nic, client, HW_QPT_UD, its_pd, host_cq(ut.nic, client, 16, HW_EQ_NONE),
		      HW_SRQ_NONE);
	CU_ASSERT_EQUAL(fw_client_detach(ut.nic, client), FW_DETACH_DONE);
	CU_ASSERT_FALSE(slice_pending(ut.nic));
	CU_ASSERT_EQUAL(ut.port.num_detached, 0);
	munmap(ut.client[client].bar, ut.client[client].bar_bytes);
	ut.client[client].bar = NULL;
	fw_ut_end(&ut);
}

/* Two processes that die and one that flushes make progress side by side. */
static void all_get_on(void)
{
	uint32_t a, b, i, at = 0;
	uint64_t next = 0;
	struct fw_qp *qp;

	begin();
	a = new_client();
	b = new_client();
	for (i = 0; i < 1000; i++) {
		(void)host_pd(ut.nic, a);
		(void)host_pd(ut.nic, b);
	}
	qp = deep_qp();
	host_rts(ut.nic, qp, 0);
	fill(qp, next);
	CU_ASSERT_EQUAL(fw_client_detach(ut.nic, a), FW_DETACH_PENDING);
	CU_ASSERT_EQUAL(fw_client_detach(ut.nic, b), FW_DETACH_PENDING);
	CU_ASSERT_EQUAL(host_modify(ut.nic, qp, HW_QPS_ERR, 0, NULL), 0);
	check_most(&at, &next, MOST_PER_COMMAND);
	for (i = 0; i < 160; i++) {
		fw_ut_poll(&ut, 1000);
		check_some(&at, &next);
	}
	CU_ASSERT(ut.nic->host.clients[a].share->held[HW_SHARE_PD] < 900 &&
		  ut.nic->host.clients[b].share->held[HW_SHARE_PD] < 900);
	CU_ASSERT(cq->prod > 100);
	(void)run_slices(&at, &next);
	CU_ASSERT_EQUAL(next, 2 * DEPTH);
	CU_ASSERT_EQUAL(ut.port.num_detached, 2);
	for (i = a; i <= b; i++) {
		munmap(ut.client[i].bar, ut.client[i].bar_bytes);
		ut.client[i].bar = NULL;
	}
	fw_ut_end(&ut);
}

/* Units of a turn, one by one: completions and looks have units of their own. */
static void units(void)
{
	struct fw_nic *nic;
	uint32_t looks = 0, taken;

	begin();
	nic = ut.nic;
	nic->slices.left = 3;
	nic->slices.done_left = 1;
	taken = nic->slices.taken;
	CU_ASSERT_TRUE(slice_take_done(nic));
	CU_ASSERT_EQUAL(nic->slices.done_left, 0);
	CU_ASSERT_EQUAL(nic->slices.left, 3);
	CU_ASSERT_TRUE(slice_take_done(nic));
	CU_ASSERT_EQUAL(nic->slices.left, 2);
	CU_ASSERT_EQUAL(nic->slices.taken, taken + 1);
	/* Looks are many to a unit. */
	CU_ASSERT_TRUE(slice_look(nic, &looks));
	CU_ASSERT_EQUAL(nic->slices.left, 1);
	CU_ASSERT_EQUAL(looks, FW_SLICE_LOOKS - 1);
	while (looks)
		CU_ASSERT_TRUE(slice_look(nic, &looks));
	CU_ASSERT_EQUAL(nic->slices.left, 1);
	/* The last unit allows a job of several. */
	CU_ASSERT_TRUE(slice_take(nic, 5));
	CU_ASSERT_EQUAL(nic->slices.left, 0);
	CU_ASSERT_EQUAL(nic->slices.taken, taken + 7);
	CU_ASSERT_FALSE(slice_take(nic, 1));
	CU_ASSERT_FALSE(slice_take_done(nic));
	CU_ASSERT_FALSE(slice_look(nic, &looks));
	CU_ASSERT_EQUAL(looks, 0);
	CU_ASSERT_EQUAL(nic->slices.taken, taken + 7);
	/* The next turn has all units again, and remembers the most that a turn took. */
	nic->slices.most = 0;
	CU_ASSERT_EQUAL(slice_run(nic), 0);
	CU_ASSERT_EQUAL(nic->slices.most, taken + 7);
	CU_ASSERT_EQUAL(nic->slices.taken, 0);
	CU_ASSERT_EQUAL(nic->slices.left, FW_SLICE_UNITS);
	CU_ASSERT_EQUAL(nic->slices.done_left, FW_SLICE_DONE);
	CU_ASSERT_EQUAL(slice_run(nic), 0);
	CU_ASSERT_EQUAL(nic->slices.most, taken + 7);
	fw_ut_end(&ut);
}

UT_MAIN("nic_fw/base/slice", UT(units), UT(flush_of_full_queues), UT(doorbell_of_a_dead_queue),
	UT(send_queue_error_flushes_requests_alone), UT(reset_and_destroy_in_a_flush),
	UT(destroy_with_requests_under_way), UT(death_of_a_rich_process),
	UT(list_of_an_empty_table), UT(small_one_is_gone_at_once), UT(all_get_on))
