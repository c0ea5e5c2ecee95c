/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ends and the wire of rd_pair.h.
 */
#include "tests/pair/rd_pair.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "tests/bench/pool.h"

/* ---- frames ------------------------------------------------------------------------------ */

struct rp_info rp_info_of(struct bench_frame *frame, uint32_t from)
{
	const struct frame_view v = frame_read(frame->b, frame->n);
	struct rp_info info = {.frame = frame,
			       .from = from,
			       .type = v.type,
			       .dgram = v.dgram,
			       .rd = v.rd,
			       .ack = v.ack,
			       .hello = v.hello};

	if (v.rd)
		info.psn = be32_get(v.rd->psn);
	if (v.type != WIRE_DGRAM_RD)
		return info;
	info.is_void = !v.ddp;
	if (info.is_void)
		return info;
	info.ddp = v.ddp;
	info.last = info.ddp[0] & WIRE_DDP_LAST;
	info.opcode = info.ddp[1] & WIRE_RDMAP_OPCODE_MASK;
	return info;
}

void rp_reseal(struct bench_frame *frame)
{
	frame_seal(frame->b, frame->n, FRAME_KEEP_LENGTHS);
}

static enum bench_verdict on_wire(struct bench_wire *wire, struct bench_frame *frame, uint32_t from)
{
	struct rp *rp = FW_CONTAINER(wire, struct rp, wire);
	const struct rp_info info = rp_info_of(frame, from);

	return rp->filter ? rp->filter(rp, &info) : BENCH_PASS;
}

void rp_tx_room(struct rp *rp, uint32_t frames)
{
	rp->end[0].port.tx_room = rp->end[1].port.tx_room = frames;
}

void rp_host_fault(struct rp *rp, bool fault)
{
	rp->end[0].port.host_fault = rp->end[1].port.host_fault = fault;
}

/* ---- ends -------------------------------------------------------------------------------- */

static void init_nic(struct rp *rp, uint32_t e)
{
	struct fw_config config = {
	    .name = "weft0",
	    .mac = {0x02, 0x77, 0, 0, 0, (uint8_t)(1 + e)},
	    .ip_prefix = 24,
	    .nic_index = (uint8_t)e,
	    .num_shards = 1,
	    .mtu = 1500,
	    .ip = htonl(0x0a4d0001 + e),
	    .nic_ip = {htonl(0x0a4d0001), htonl(0x0a4d0002), htonl(0x0a4d0063)},
	    .hash_secret = BENCH_HASH_SECRET,
	    .bundle = rp->bundle[e],
	};
	struct rp_end *end = &rp->end[e];
	struct fw_port port;

	port = bench_port_table(&end->port);
	end->arena = bench_map(fw_arena_bytes());
	end->nic = fw_init(&config, &port, end->arena, fw_arena_bytes());
	CU_ASSERT_PTR_NOT_NULL_FATAL(end->nic);
	end->port.nic = end->nic;
	fw_now(end->nic, rp->wire.now_ns);
}

int rp_cmd(struct rp *rp, uint32_t e, struct hw_cmd *cmd, struct hw_cmd_resp *resp)
{
	struct rp_end *end = &rp->end[e];

	fw_now(end->nic, rp->wire.now_ns);
	CU_ASSERT_EQUAL_FATAL(fw_cmd(end->nic, end->client, cmd, NULL, resp), FW_CMD_DONE);
	return resp->status;
}

static void init_end(struct rp *rp, uint32_t e)
{
	struct rp_end *end = &rp->end[e];
	struct fw_client_params params = {.bar_bytes = RP_BAR_BYTES, .pid = 1, .name = "ut"};
	struct hw_cmd ah = {.op = HW_CMD_CREATE_AH};
	struct hw_resp_attach attach;
	struct hw_cmd_resp resp;
	uint32_t i;

	init_nic(rp, e);
	end->bar = bench_map(RP_BAR_BYTES);
	params.bar = end->bar;
	CU_ASSERT_EQUAL_FATAL(fw_client_attach(end->nic, &params, &end->client, &attach), 0);
	end->pd = host_pd(end->nic, end->client);
	ah.u.create_ah.pd = end->pd;
	CU_ASSERT_EQUAL_FATAL(rp_cmd(rp, e, &ah, &resp), 0);
	end->ah = resp.u.handle;
	end->scq = host_cq(end->nic, end->client, 1024, HW_EQ_NONE);
	end->rcq = host_cq(end->nic, end->client, 1024, HW_EQ_NONE);
	end->scq_cons = end->rcq_cons = 0;
	if (!end->mem)
		end->mem = calloc(1, RP_MEM_BYTES);
	CU_ASSERT_PTR_NOT_NULL_FATAL(end->mem);
	end->stag = rp_reg(rp, e, end->mem, RP_MEM_BYTES, RP_ALL_ACCESS, true);
	end->num_qp = 0;
	for (i = 0; i < 2; i++)
		rp_rts(rp, e, rp_qp(rp, e, HW_QPT_RD, 4));
}

void rp_begin(struct rp *rp)
{
	rp_begin_bundling(rp, false, false);
}

void rp_begin_bundling(struct rp *rp, bool a, bool b)
{
	uint32_t e;

	memset(rp, 0, sizeof(*rp));
	rp->bundle[0] = a;
	rp->bundle[1] = b;
	bench_wire_init(&rp->wire);
	rp->wire.now_ns = 1000000000;
	rp->wire.filter = on_wire;
	rp->next_random = 0u - RP_PSN_LAG;
	for (e = 0; e < 2; e++) {
		bench_port_init(&rp->end[e].port);
		rp->end[e].port.shared_random = &rp->next_random;
		bench_wire_join(&rp->wire, &rp->end[e].port);
	}
	init_end(rp, 0);
	init_end(rp, 1);
}

static void free_nic(struct rp_end *end)
{
	/* Other memory may have these addresses next. */
	bench_pool_each(end->nic, bench_pool_unpoison);
	munmap(end->arena, fw_arena_bytes());
	munmap(end->bar, RP_BAR_BYTES);
	bench_port_free(&end->port);
}

void rp_restart(struct rp *rp, uint32_t e)
{
	free_nic(&rp->end[e]);
	rp->end[e].port.dead = false;
	init_end(rp, e);
}

void rp_check_pools(struct rp *rp, uint32_t e, uint32_t recvs)
{
	struct fw_nic *nic = rp->end[e].nic;

	CU_ASSERT_EQUAL(nic->host.wqes.used, 0);
	CU_ASSERT_EQUAL(nic->host.wqe_exts.used, 0);
	CU_ASSERT_EQUAL(nic->rd.flows.used, 0);
	CU_ASSERT_EQUAL(nic->rd.tx_windows.used, 0);
	CU_ASSERT_EQUAL(nic->rd.rx_windows.used, 0);
	CU_ASSERT_EQUAL(nic->rd.held.used, 0);
	CU_ASSERT_EQUAL(nic->host.recv_msgs.used, recvs);
}

void rp_end(struct rp *rp)
{
	uint32_t e;

	rp->filter = NULL;
	rp_tx_room(rp, UINT32_MAX);
	bench_wire_forget(&rp->wire);
	rp_quiet(rp);
	for (e = 0; e < 2; e++)
		rp_check_pools(rp, e, 0);
	rp_expect_none(rp);
	for (e = 0; e < 2; e++) {
		struct rp_end *end = &rp->end[e];

		fw_now(end->nic, rp->wire.now_ns);
		rp_detach(rp, e);
		rp_check_pools(rp, e, 0);
		CU_ASSERT_EQUAL(fw_ids_used(&end->nic->host.qp_ids), 0);
	}
	rp_free(rp);
}

void rp_detach(struct rp *rp, uint32_t e)
{
	struct rp_end *end = &rp->end[e];
	uint32_t before, turns;

	before = end->port.num_detached;
	if (fw_client_detach(end->nic, end->client) == FW_DETACH_DONE)
		return;
	for (turns = 0; end->port.num_detached == before; turns++) {
		CU_ASSERT_FATAL(turns < MAX_DETACH_TURNS);
		fw_poll(end->nic, ++rp->wire.now_ns, 32);
	}
	CU_ASSERT_EQUAL(end->port.last_detached, end->client);
}

void rp_free(struct rp *rp)
{
	uint32_t e;

	bench_wire_forget(&rp->wire);
	for (e = 0; e < 2; e++) {
		free_nic(&rp->end[e]);
		CU_ASSERT_EQUAL(rp->end[e].port.num_done, 0); /* no command waits */
		free(rp->end[e].mem);
	}
}

void rp_open(struct rp *rp)
{
	struct rp_req req = {.opcode = HW_WQE_WRITE, .dst = rp->end[1].qp[0]};
	uint32_t e;

	rp_req(rp, 0, rp->end[0].qp[0], &req);
	rp_quiet(rp);
	rp_expect_send(rp, 0, 0, HW_STATUS_SUCCESS);
	for (e = 0; e < 2; e++) {
		struct rd_session *s = rp_session(rp, e);

		/* Credits for all that tests send at once, as if they had just been used. */
		s->cwnd_fp = RP_WINDOW * 256;
		s->cwnd = RP_WINDOW;
		s->rto_base_ns = rp->wire.now_ns;
		s->credit_limit = (uint8_t)(s->credit_used + RP_CREDITS);
		rp_session(rp, !e)->rx_limit = rp_session(rp, !e)->rx_used + RP_CREDITS;
		rp_session(rp, !e)->rx_announced = rp_session(rp, !e)->rx_limit;
	}
}

/* ---- time -------------------------------------------------------------------------------- */

uint32_t rp_poll(struct rp *rp, uint32_t e)
{
	return bench_wire_poll(&rp->wire, e);
}

void rp_settle(struct rp *rp)
{
	bench_wire_settle(&rp->wire);
}

void rp_run(struct rp *rp, uint64_t ns)
{
	bench_wire_run(&rp->wire, ns);
}

void rp_quiet(struct rp *rp)
{
	rp_run(rp, 50000000);
}

struct rd_session *rp_session(struct rp *rp, uint32_t e)
{
	return rd_session_find(rp->end[e].nic, rp->end[!e].nic->config.ip, 0);
}
