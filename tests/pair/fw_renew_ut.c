/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Another address or MTU: a new instance in place of one that no process uses, which keeps what an
 * operator has seen and set, and nothing else.
 */
#include "tests/pair/rd_pair.h"

#include <arpa/inet.h>
#include <sys/mman.h>

#include "nic_fw/tcp/tcp_flow.h"

static const struct fw_net other = {.mtu = 4000, .ip_prefix = 16, .ip = 0x0900000a, .gateway = 7};

/* Renews the instance in an arena of its own; NULL: it refused. */
static struct fw_nic *renew(struct fw_ut *ut, const struct fw_net *net)
{
	void *arena = bench_map(ut->arena_bytes);
	struct fw_nic *heir = fw_renew(ut->nic, net, arena, ut->arena_bytes);

	if (!heir) {
		munmap(arena, ut->arena_bytes);
		return NULL;
	}
	munmap(ut->arena, ut->arena_bytes);
	ut->arena = arena;
	ut->nic = heir;
	return heir;
}

static void what_stays(void)
{
	struct fw_client_params tool = {.tool = true, .pid = 7};
	struct hw_cmd_coalesce set = {.set = HW_COALESCE_SET_ALL, .vector = 1};
	struct hw_resp_coalesce got;
	struct fw_ut ut;
	uint32_t client;

	fw_ut_begin(&ut);
	set.coalesce.param[0] = 9;
	CU_ASSERT_EQUAL(fw_coalesce(ut.nic, &set, &got), 0);
	ut.nic->counters.rx_frames = 12345;
	fw_link(ut.nic, false);
	CU_ASSERT_PTR_NULL(renew(&ut, &other)); /* a process */
	fw_ut_detach(&ut, 0);
	CU_ASSERT_EQUAL(fw_ut_attach(&ut, &tool, &client), 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(renew(&ut, &other));
	CU_ASSERT_EQUAL(ut.nic->config.mtu, 4000);
	CU_ASSERT_EQUAL(ut.nic->config.ip, other.ip);
	CU_ASSERT_EQUAL(ut.nic->config.ip_prefix, 16);
	CU_ASSERT_EQUAL(ut.nic->config.gateway, 7);
	CU_ASSERT_EQUAL(ut.nic->config.nic_ip[1], other.ip);
	CU_ASSERT_EQUAL(ut.nic->config.nic_ip[0], htonl(0x0a4d0064));
	CU_ASSERT_EQUAL(ut.nic->counters.rx_frames, 12345);
	CU_ASSERT_FALSE(ut.nic->link_up);
	set.set = 0;
	CU_ASSERT_EQUAL(fw_coalesce(ut.nic, &set, &got), 0);
	CU_ASSERT_EQUAL(got.coalesce.param[0], 9);
	CU_ASSERT_EQUAL(fw_ids_used(&ut.nic->host.client_ids), 0);
	/* A process attaches as to any NIC. */
	fw_set_nic_ip(ut.nic, 0, 42);
	CU_ASSERT_EQUAL(ut.nic->config.nic_ip[0], 42);
	fw_set_nic_ip(ut.nic, UINT32_MAX, 42);
	fw_ut_poll(&ut, 1000);
	CU_ASSERT_EQUAL(fw_ut_attach(&ut, NULL, &client), 0);
	(void)host_pd(ut.nic, client);
	fw_ut_end(&ut);
}

static void what_is_refused(void)
{
	struct fw_net net = other;
	struct tcp_flow *flow;
	struct fw_ut ut;

	fw_ut_begin(&ut);
	fw_ut_detach(&ut, 0);
	net.mtu = HW_MIN_MTU - 1;
	CU_ASSERT_PTR_NULL(renew(&ut, &net));
	net.mtu = HW_MAX_MTU + 1;
	CU_ASSERT_PTR_NULL(renew(&ut, &net));
	net = other;
	net.ip = 0;
	CU_ASSERT_PTR_NULL(renew(&ut, &net));
	/* A connection that closes still has its port; one in TIME-WAIT has nothing to say. */
	flow = tcp_flow_new(ut.nic, 0x0a00000a, 5, 6, TCP_USER_NONE);
	CU_ASSERT_PTR_NOT_NULL_FATAL(flow);
	flow->state = TCP_FIN_WAIT_2;
	CU_ASSERT_PTR_NULL(renew(&ut, &other));
	tcp_enter_time_wait(ut.nic, flow);
	CU_ASSERT_EQUAL(tcp_flows_open(ut.nic), 0);
	/* A packet of a stream that waits for its predecessor holds the port's frame. */
	ut.nic->esp.held.used = 1;
	CU_ASSERT_PTR_NULL(renew(&ut, &other));
	ut.nic->esp.held.used = 0;
	CU_ASSERT_PTR_NOT_NULL(renew(&ut, &other));
	fw_ut_end(&ut);
}

/* One of each in turn is left. */
static void beside_one_of_each(struct fw_ut *ut)
{
	struct fw_nic *nic = ut->nic;
	uint32_t *const used[] = {
	    &nic->host.qp_ids.high,       &nic->host.cq_ids.high,
	    &nic->host.srq_ids.high,      &nic->host.mr_ids.high,
	    &nic->host.pd_ids.high,       &nic->host.ah_ids.high,
	    &nic->host.xrcd_ids.high,     &nic->cm.ids.high,
	    &nic->esp.ids.high,           &nic->goal.comm_ids.high,
	    &nic->goal.schedule_ids.high, &nic->host.wqes.used,
	    &nic->host.recv_msgs.used,    &nic->esp.held.used,
	    &nic->tcp.syns.used,          &nic->goal.links.used,
	    &nic->goal.runs.used,         &nic->mgrp.spaces.used,
	    &nic->tag.arrivals.used,      &nic->net.tx_count,
	};

	for (uint32_t i = 0; i < sizeof(used) / sizeof(used[0]); i++) {
		++*used[i];
		CU_ASSERT_PTR_NULL(renew(ut, &other));
		--*used[i];
	}
}

/* Any object, and any work, that is left of a process or a peer. */
static void each_that_is_left(void)
{
	struct fw_ut ut;

	fw_ut_begin(&ut);
	fw_ut_detach(&ut, 0);
	beside_one_of_each(&ut);
	CU_ASSERT_PTR_NOT_NULL(renew(&ut, &other));
	fw_ut_end(&ut);
}

static bool has_lost;
static uint32_t lost_psn;

/* One packet of A's Send never comes, whatever it carries later. */
static enum bench_verdict leave_a_hole(struct rp *rp, const struct rp_info *info)
{
	(void)rp;
	if (info->from || info->type != WIRE_DGRAM_RD)
		return BENCH_PASS;
	if (!has_lost)
		lost_psn = info->psn;
	has_lost = true;
	return info->psn == lost_psn ? BENCH_DROP : BENCH_PASS;
}

/*
 * A station keeps its session, and a packet of it waits for one that never comes: that is the
 * session's own matter, and no hindrance once B's processes are gone.
 */
static void peer_with_a_hole(void)
{
	void *arena = bench_map(fw_arena_bytes());
	struct fw_nic *heir;
	struct rp rp;

	rp_begin(&rp);
	rp_open(&rp);
	has_lost = false;
	rp.filter = leave_a_hole;
	rp_recv(&rp, 1, rp.end[1].qp[0], 1, 0, 4096);
	rp_send(&rp, 0, rp.end[0].qp[0], rp.end[1].qp[0], 1, 0, 4096);
	rp_settle(&rp);
	rp_destroy_qp(&rp, 0, rp.end[0].qp[0]);
	rp_settle(&rp);
	rp_detach(&rp, 1);
	rp_run(&rp, 1000000);
	CU_ASSERT_TRUE(rp.end[1].nic->rd.held.used > 0);
	heir = fw_renew(rp.end[1].nic, &other, arena, fw_arena_bytes());
	CU_ASSERT_PTR_NOT_NULL(heir);
	munmap(heir ? rp.end[1].arena : arena, fw_arena_bytes());
	if (heir) {
		rp.end[1].arena = arena;
		rp.end[1].nic = heir;
	}
	rp_detach(&rp, 0);
	rp_free(&rp);
}

UT_MAIN("pair/fw_renew", UT(what_stays), UT(what_is_refused), UT(each_that_is_left),
	UT(peer_with_a_hole))
