/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A pair of ends whose RC queue pairs are connected over MPA/TCP: see rc_tcp_fix.h.
 */
#include "tests/sim/rc_tcp_fix.h"

enum {
	PORT = 900,
	WARM_BYTES = 100000,
	WARM_TIMES = 4,
	RETRY_MS = 1000,
};

struct rc_tcp rc_tcp;

void rc_tcp_ready(struct pair *p, struct sim_end *end)
{
	struct weft_qp_attr attr = {.state = WEFT_QPS_INIT,
				    .port = 1,
				    .transport = WEFT_QP_TRANSPORT_TCP,
				    .access = WEFT_ACCESS_REMOTE_WRITE | WEFT_ACCESS_REMOTE_READ |
					      WEFT_ACCESS_REMOTE_ATOMIC};

	FIX_REQUIRE(p, weft_modify_qp(end->qp, &attr,
				      WEFT_QP_STATE | WEFT_QP_PKEY_INDEX | WEFT_QP_PORT |
					  WEFT_QP_TRANSPORT | WEFT_QP_ACCESS_FLAGS) == 0);
	attr = (struct weft_qp_attr){.state = WEFT_QPS_RTR, .max_dest_rd_atomic = 8};
	FIX_REQUIRE(p, weft_modify_qp(end->qp, &attr, WEFT_QP_STATE | WEFT_QP_MAX_DEST_RD_ATOMIC) ==
			   0);
	attr = (struct weft_qp_attr){.state = WEFT_QPS_RTS, .max_rd_atomic = 8};
	FIX_REQUIRE(p,
		    weft_modify_qp(end->qp, &attr, WEFT_QP_STATE | WEFT_QP_MAX_QP_RD_ATOMIC) == 0);
}

struct hw_resp_cm_event rc_tcp_told(struct pair *p, struct rc_tcp_end *t,
				    enum hw_cm_event_type type)
{
	struct hw_resp_cm_event ev = {0};
	uint32_t ms;

	for (ms = 0; ms < RETRY_MS * 10; ms++) {
		if (weft_cm_get_event(t->channel, &ev) == 0)
			break;
		sim_run_for(p->sim, FIX_MS);
	}
	if (ev.type != (uint32_t)type)
		printf("\n    event %u, status %u", ev.type, ev.status);
	FIX_REQUIRE(p, ev.type == (uint32_t)type);
	return ev;
}

void rc_tcp_connect(struct pair *p)
{
	const struct weft_cm_llp llp = {.transport = HW_CM_TRANSPORT_TCP, .mpa = rc_tcp.options};
	struct hw_cm_param param = {.qpn = p->a.qp->qpn,
				    .responder_resources = 8,
				    .initiator_depth = 8,
				    .retry_count = 7,
				    .rnr_retry_count = 7};
	uint16_t port = 0;

	FIX_REQUIRE(p, weft_cm_create(rc_tcp.active.channel, &rc_tcp.active.ep) == 0);
	FIX_REQUIRE(p, weft_cm_bind(p->a.context, rc_tcp.active.ep, HW_CM_TCP, &port, false) == 0);
	FIX_REQUIRE(p, weft_cm_connect(p->a.context, rc_tcp.active.ep, sim_nic_ip(p->nb), PORT,
				       false, &llp, &param, NULL) == 0);
	rc_tcp.passive.ep = rc_tcp_told(p, &rc_tcp.passive, HW_CM_EVENT_REQUEST).ep;
	rc_tcp_ready(p, &p->b);
	param.qpn = p->b.qp->qpn;
	FIX_REQUIRE(p, weft_cm_accept(p->b.context, rc_tcp.passive.ep, &param, NULL) == 0);
	(void)rc_tcp_told(p, &rc_tcp.active, HW_CM_EVENT_RESPONSE);
	rc_tcp_ready(p, &p->a);
	FIX_REQUIRE(p, weft_cm_accept(p->a.context, rc_tcp.active.ep, NULL, NULL) == 0);
	(void)rc_tcp_told(p, &rc_tcp.passive, HW_CM_EVENT_ESTABLISHED);
}

void rc_tcp_open(struct pair *p, uint64_t seed, const struct pair_attr *attr)
{
	const struct weft_cm_llp llp = {.transport = HW_CM_TRANSPORT_TCP, .mpa = rc_tcp.options};
	uint16_t port = PORT;

	pair_open(p, seed, attr);
	rc_tcp.active =
	    (struct rc_tcp_end){.end = &p->a, .channel = weft_create_comp_channel(p->a.context, 0)};
	rc_tcp.passive =
	    (struct rc_tcp_end){.end = &p->b, .channel = weft_create_comp_channel(p->b.context, 0)};
	FIX_REQUIRE(p, rc_tcp.active.channel && rc_tcp.passive.channel);
	FIX_REQUIRE(p, weft_cm_create(rc_tcp.passive.channel, &rc_tcp.listener) == 0);
	FIX_REQUIRE(p, weft_cm_bind(p->b.context, rc_tcp.listener, HW_CM_TCP, &port, false) == 0);
	FIX_REQUIRE(p, weft_cm_listen(p->b.context, rc_tcp.listener, 0, &llp) == 0);
	rc_tcp_connect(p);
}

/* All resources of connections are freed. */
static void nothing_left(struct pair *p)
{
	static const char *const pools[] = {"mpa_conns_used",    "mpa_setups_used", "mpa_segs_used",
					    "mpa_partials_used", "tcp_chunks_used", "wqes_used",
					    "cm_endpoints_used", "cm_data_used"};
	uint32_t i;

	for (i = 0; i < sizeof(pools) / sizeof(pools[0]); i++) {
		if (sim_nic_stat(p->na, pools[i]) || sim_nic_stat(p->nb, pools[i]))
			printf("\n    %s", pools[i]);
		FIX_CHECK(p, sim_nic_stat(p->na, pools[i]) == 0);
		FIX_CHECK(p, sim_nic_stat(p->nb, pools[i]) == 0);
	}
}

void rc_tcp_warm(struct pair *p)
{
	struct post warm = {.wr_id = 98, .bytes = WARM_BYTES};

	for (uint32_t i = 0; i < 2 * WARM_TIMES; i++) {
		warm.opcode = i % 2 ? WEFT_WR_READ : WEFT_WR_WRITE;
		FIX_REQUIRE(p, post(&p->a, NULL, &p->b, &warm) == 0);
		expect(p, &p->a, 98, WEFT_WC_SUCCESS);
	}
}

void rc_tcp_close(struct pair *p)
{
	(void)weft_cm_destroy(p->a.context, rc_tcp.active.ep);
	(void)weft_cm_destroy(p->b.context, rc_tcp.passive.ep);
	(void)weft_cm_destroy(p->b.context, rc_tcp.listener);
	sim_faults_off(p->sim);
	sim_heal(p->sim);
	/* Longest wait for a peer that does not close its side. */
	sim_run_for(p->sim, 15000 * FIX_MS);
	nothing_left(p);
	FIX_CHECK(p, weft_destroy_comp_channel(rc_tcp.active.channel) == 0);
	FIX_CHECK(p, weft_destroy_comp_channel(rc_tcp.passive.channel) == 0);
	pair_close(p);
}
