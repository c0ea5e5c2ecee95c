/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * As many connections over MPA/TCP between two NICs as a NIC has room for: all are set up, carry
 * data, are idle at a bounded cost, and end. One more is refused and harms none. The room is free
 * again afterwards. nic_fw/mpa/mpa_conn.c, tcp_conn.c, cm_tcp.c.
 */
#include "host_driver/weft_cm.h"
#include "host_driver/weft_priv.h"
#include "nic_fw/cm/cm.h"
#include "nic_fw/mpa/mpa.h"
#include "nic_fw/tcp/tcp_rest.h"
#include "tests/sim/sim_fix.h"

enum {
	CONNS = 4096,
	AT_ONCE = 64, /* set up at a time */
	PORT = 900,
	WORD = sizeof(uint32_t),
	IDLE_BYTES = 464, /* bytes that an end at rest may cost the NIC, without its QP */
	AWAKE = 256,      /* ends that may have kept their flow: the last ones that were used */
};
static_assert((int)CONNS == (int)TCP_MAX_FLOWS && (int)CONNS == (int)MPA_MAX_CONNS,
	      "all that there is room for");

struct side {
	struct sim_end *end;
	struct weft_comp_channel *channel;
	struct weft_qp *qp[CONNS];
	uint32_t ep[CONNS];
	uint32_t made;        /* connections with an endpoint */
	uint32_t established; /* of them */
	uint32_t ended;       /* of them */
};

static struct side active, passive;
static uint32_t listener;

static void modify(struct pair *p, struct weft_qp *qp)
{
	struct weft_qp_attr attr = {.state = WEFT_QPS_INIT,
				    .port = 1,
				    .transport = WEFT_QP_TRANSPORT_TCP,
				    .access = WEFT_ACCESS_REMOTE_WRITE};

	FIX_REQUIRE(p, weft_modify_qp(qp, &attr,
				      WEFT_QP_STATE | WEFT_QP_PKEY_INDEX | WEFT_QP_PORT |
					  WEFT_QP_TRANSPORT | WEFT_QP_ACCESS_FLAGS) == 0);
	attr = (struct weft_qp_attr){.state = WEFT_QPS_RTR, .max_dest_rd_atomic = 1};
	FIX_REQUIRE(p, weft_modify_qp(qp, &attr, WEFT_QP_STATE | WEFT_QP_MAX_DEST_RD_ATOMIC) == 0);
	attr = (struct weft_qp_attr){.state = WEFT_QPS_RTS, .max_rd_atomic = 1};
	FIX_REQUIRE(p, weft_modify_qp(qp, &attr, WEFT_QP_STATE | WEFT_QP_MAX_QP_RD_ATOMIC) == 0);
}

static struct weft_qp *small_qp(struct sim_end *end)
{
	struct weft_qp_init_attr init = {.type = WEFT_QPT_RC,
					 .send_cq = end->cq,
					 .recv_cq = end->cq,
					 .srq = end->srq,
					 .cap = {.max_send_wr = 1, .max_send_sge = 1}};

	return weft_create_qp(end->pd, &init);
}

static struct hw_cm_param param_of(const struct weft_qp *qp)
{
	return (struct hw_cm_param){.qpn = qp->qpn,
				    .responder_resources = 1,
				    .initiator_depth = 1,
				    .retry_count = 7,
				    .rnr_retry_count = 7};
}

static uint32_t number_of(const struct side *s, uint32_t ep)
{
	uint32_t i = s->made;

	while (i-- && s->ep[i] != ep)
		;
	return i;
}

static void on_event(struct pair *p, struct side *s, const struct hw_resp_cm_event *ev)
{
	struct weft_context *context = s->end->context;
	struct hw_cm_param param;
	uint32_t i;

	switch ((enum hw_cm_event_type)ev->type) {
	case HW_CM_EVENT_REQUEST:
		i = s->made++;
		FIX_REQUIRE(p, i < CONNS);
		s->ep[i] = ev->ep;
		s->qp[i] = small_qp(s->end);
		FIX_REQUIRE(p, s->qp[i] != NULL);
		modify(p, s->qp[i]);
		param = param_of(s->qp[i]);
		FIX_REQUIRE(p, weft_cm_accept(context, ev->ep, &param, NULL) == 0);
		break;
	case HW_CM_EVENT_RESPONSE:
		i = number_of(s, ev->ep);
		FIX_REQUIRE(p, i < CONNS);
		modify(p, s->qp[i]);
		FIX_REQUIRE(p, weft_cm_accept(context, ev->ep, NULL, NULL) == 0);
		s->established++;
		break;
	case HW_CM_EVENT_ESTABLISHED:
		s->established++;
		break;
	case HW_CM_EVENT_DISCONNECTED:
		s->ended++;
		break;
	case HW_CM_EVENT_NONE:
	case HW_CM_EVENT_RESOLVED:
	case HW_CM_EVENT_REJECTED:
	case HW_CM_EVENT_UNREACHABLE:
	case HW_CM_EVENT_TIMEWAIT_EXIT:
	case HW_CM_EVENTS:
		printf("\n    event %u, status %d", ev->type, (int)ev->status);
		FIX_REQUIRE(p, false);
	}
}

/* Serves both ends' events until the count is n. */
static void until(struct pair *p, const uint32_t *count, uint32_t n)
{
	struct hw_resp_cm_event ev;
	uint32_t turns;

	for (turns = 0; *count < n && turns < 100000; turns++) {
		while (weft_cm_get_event(active.channel, &ev) == 0)
			on_event(p, &active, &ev);
		while (weft_cm_get_event(passive.channel, &ev) == 0)
			on_event(p, &passive, &ev);
		sim_run_for(p->sim, FIX_MS / 10);
	}
	FIX_REQUIRE(p, *count == n);
}

/* The active side's next request; returns 0 or the NIC's error. */
static int ask(struct pair *p, uint32_t *ep, const struct weft_qp *qp)
{
	const struct weft_cm_llp llp = {.transport = HW_CM_TRANSPORT_TCP};
	struct hw_cm_param param = param_of(qp);
	uint32_t tries = 0;
	int err;

	for (;;) {
		uint16_t port = 0;

		FIX_REQUIRE(p, weft_cm_create(active.channel, ep) == 0);
		FIX_REQUIRE(p, weft_cm_bind(p->a.context, *ep, HW_CM_TCP, &port, false) == 0);
		err = weft_cm_connect(p->a.context, *ep, sim_nic_ip(p->nb), PORT, false, &llp,
				      &param, NULL);
		/* Takes another port where an earlier connection of this one is in TIME-WAIT. */
		if (err != -EADDRNOTAVAIL || ++tries == 20)
			return err;
		FIX_REQUIRE(p, weft_cm_destroy(p->a.context, *ep) == 0);
	}
}

static void connect_all(struct pair *p)
{
	uint32_t i;
	int err;

	for (i = 0; i < CONNS; i++) {
		active.qp[i] = small_qp(&p->a);
		FIX_REQUIRE(p, active.qp[i] != NULL);
		err = ask(p, &active.ep[i], active.qp[i]);
		if (err)
			printf("\n    connection %u: %d", i, err);
		FIX_REQUIRE(p, !err);
		active.made++;
		if ((i + 1) % AT_ONCE == 0)
			until(p, &active.established, i + 1);
	}
	until(p, &passive.established, CONNS);
}

/* One word on each connection; each arrives once. */
static void use_all(struct pair *p)
{
	static bool seen[CONNS];
	struct weft_wc wc[AT_ONCE];
	uint32_t i, k, word;

	memset(seen, 0, sizeof(seen));
	for (i = 0; i < CONNS; i++) {
		size_t offset = (size_t)i * WORD;
		struct post say = {.opcode = WEFT_WR_SEND,
				   .wr_id = i,
				   .bytes = WORD,
				   .offset = offset,
				   .qp = active.qp[i]};

		memcpy(p->a.buf + offset, &i, WORD);
		FIX_REQUIRE(p, sim_end_recv(&p->b, i, offset, WORD) == 0);
		FIX_REQUIRE(p, post(&p->a, NULL, &p->b, &say) == 0);
		if ((i + 1) % AT_ONCE)
			continue;
		FIX_REQUIRE(p, sim_end_wait(&p->b, wc, AT_ONCE, FIX_LIMIT_NS) == AT_ONCE);
		for (k = 0; k < AT_ONCE; k++) {
			FIX_REQUIRE(p, wc[k].status == WEFT_WC_SUCCESS && wc[k].bytes == WORD);
			memcpy(&word, p->b.buf + wc[k].wr_id * WORD, WORD);
			FIX_REQUIRE(p, word < CONNS && !seen[word]);
			seen[word] = true;
		}
		FIX_REQUIRE(p, sim_end_wait(&p->a, wc, AT_ONCE, FIX_LIMIT_NS) == AT_ONCE);
	}
}

/* The NIC has no room for it, says so, and is unchanged. */
static void one_too_many(struct pair *p)
{
	struct weft_qp *qp = small_qp(&p->a);
	uint32_t ep;

	FIX_REQUIRE(p, qp != NULL);
	FIX_CHECK(p, ask(p, &ep, qp) == -ENOMEM);
	FIX_CHECK(p, weft_cm_destroy(p->a.context, ep) == 0);
	FIX_CHECK(p, weft_destroy_qp(qp) == 0);
}

/* Memory of an idle connection: its entries in the tables, nothing of the shared pools. */
static void idle_price(struct pair *p)
{
	static const char *const shared[] = {"mpa_setups_used",   "mpa_segs_used",
					     "mpa_partials_used", "tcp_chunks_used",
					     "wqes_used",         "cm_data_used"};
	size_t bytes = sizeof(struct tcp_rest) + sizeof(struct mpa_conn) + sizeof(struct cm_ep);
	uint32_t i;

	sim_run_for(p->sim, 1000 * FIX_MS);
	for (i = 0; i < sizeof(shared) / sizeof(shared[0]); i++) {
		if (sim_nic_stat(p->na, shared[i]) || sim_nic_stat(p->nb, shared[i]))
			printf("\n    %s", shared[i]);
		FIX_CHECK(p, sim_nic_stat(p->na, shared[i]) == 0);
		FIX_CHECK(p, sim_nic_stat(p->nb, shared[i]) == 0);
	}
	FIX_CHECK(p, sim_nic_stat(p->na, "tcp_flows_used") == CONNS);
	FIX_CHECK(p, sim_nic_stat(p->nb, "mpa_conns_used") == CONNS);
	FIX_CHECK(p, sim_nic_stat(p->na, "tcp_rests_used") >= CONNS - AWAKE);
	FIX_CHECK(p, sim_nic_stat(p->nb, "tcp_rests_used") >= CONNS - AWAKE);
	FIX_CHECK(p, bytes <= IDLE_BYTES);
}

static void end_all(struct pair *p)
{
	uint32_t i;

	/* Each side ends every second connection. */
	for (i = 0; i < CONNS; i++) {
		struct side *s = i % 2 ? &active : &passive;

		FIX_CHECK(p, weft_cm_disconnect(s->end->context, s->ep[i]) == 0);
	}
	sim_run_for(p->sim, 100 * FIX_MS);
	for (i = 0; i < CONNS; i++) {
		FIX_CHECK(p, weft_cm_destroy(p->a.context, active.ep[i]) == 0);
		FIX_CHECK(p, weft_cm_destroy(p->b.context, passive.ep[i]) == 0);
		FIX_CHECK(p, weft_destroy_qp(active.qp[i]) == 0);
		FIX_CHECK(p, weft_destroy_qp(passive.qp[i]) == 0);
	}
	sim_run_for(p->sim, 100 * FIX_MS);
}

static void nothing_left(struct pair *p)
{
	static const char *const pools[] = {"mpa_conns_used", "tcp_flows_used", "cm_endpoints_used",
					    "mpa_setups_used"};
	uint32_t i;

	sim_run_for(p->sim, 2 * TCP_TIME_WAIT_NS);
	for (i = 0; i < sizeof(pools) / sizeof(pools[0]); i++) {
		FIX_CHECK(p, sim_nic_stat(p->na, pools[i]) == 0);
		FIX_CHECK(p, sim_nic_stat(p->nb, pools[i]) == 0);
	}
}

/* All at once, twice: the second time while TIME-WAIT of the first fills the table. */
static void all_at_once(void)
{
	const struct pair_attr attr = {.a = {.type = WEFT_QPT_RC, .inactive = true, .srq_wr = 128},
				       .same = true};
	const struct weft_cm_llp llp = {.transport = HW_CM_TRANSPORT_TCP};
	uint16_t port = PORT;
	struct pair p;
	uint32_t round;

	pair_open(&p, 1, &attr);
	active.end = &p.a;
	passive.end = &p.b;
	active.channel = weft_create_comp_channel(p.a.context, 0);
	passive.channel = weft_create_comp_channel(p.b.context, 0);
	FIX_REQUIRE(&p, active.channel && passive.channel);
	FIX_REQUIRE(&p, weft_cm_create(passive.channel, &listener) == 0);
	FIX_REQUIRE(&p, weft_cm_bind(p.b.context, listener, HW_CM_TCP, &port, false) == 0);
	FIX_REQUIRE(&p, weft_cm_listen(p.b.context, listener, 0, &llp) == 0);
	for (round = 0; round < 2; round++) {
		active.made = active.established = active.ended = 0;
		passive.made = passive.established = passive.ended = 0;
		connect_all(&p);
		use_all(&p);
		one_too_many(&p);
		idle_price(&p);
		use_all(&p);
		end_all(&p);
	}
	FIX_CHECK(&p, weft_cm_destroy(p.b.context, listener) == 0);
	nothing_left(&p);
	FIX_CHECK(&p, weft_destroy_comp_channel(active.channel) == 0);
	FIX_CHECK(&p, weft_destroy_comp_channel(passive.channel) == 0);
	pair_close(&p);
}

UT_MAIN("sim/rc_many", UT(all_at_once))
