/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A run of RD packets in one frame does what its packets do one by one: the same counters at both
 * NICs, the same session, the same memory and completions. Each row of the tables changes one run,
 * or what it meets, once with runs left whole and once with all of them cut into their packets.
 * Credits are granted for each frame, so sessions may have more or fewer of them.
 * rd_run_desk.c changes and cuts them.
 */
#include <string.h>

#include "nic_fw/fw_nic.h"
#include "tests/sim/rd_run_desk.h"
#include "tests/ut.h"

enum {
	BYTES = 125001, /* the last packet is short */
	SINK = 200000,
	SHORT = 40000, /* of a receive, or memory, that ends within a run */
	MTU = 3000,    /* runs have 16 packets: those cut arrive in one burst, too */
	STATS = 600,
	DGRAM_AT = DESK_UDP_AT + sizeof(struct wire_udp),
	RD_AT = DGRAM_AT + sizeof(struct wire_dgram),
	DDP_AT = RD_AT + sizeof(struct wire_rd),
};

/* The state when all is over. */
struct outcome {
	uint64_t stat[2][STATS];
	uint32_t runs; /* that the firmware got whole */
	uint32_t rx_psn, rx_high, rx_taken, rx_used;
	struct weft_wc wc[2];
	uint32_t num_wc[2];
	uint8_t memory[BYTES];
};

struct scene {
	struct pair p;
	const struct desk_row *row;
	struct post request;
	struct weft_recv_wr recv;
	struct weft_sge sge[2];
	struct weft_mr *mr;
	bool no_receive;
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

static void note_session(struct pair *p, struct sim_nic *receiver, struct outcome *out)
{
	struct sim_nic *peer = receiver == p->nb ? p->na : p->nb;
	const struct rd_session *s = rd_session_find(sim_nic_fw(receiver, 0), sim_nic_ip(peer), 0);

	if (!s)
		return;
	out->rx_psn = s->rx_psn;
	out->rx_high = s->rx_high;
	out->rx_taken = s->rx_taken;
	out->rx_used = s->rx_used;
}

static void play(const struct desk_row *row, bool cut, struct outcome *out)
{
	static const struct pair_attr attr = {.borrow = true, .mtu = MTU};
	const struct post first = {.opcode = WEFT_WR_WRITE, .wr_id = 99, .bytes = 40000};
	struct scene scene = {.row = row};
	struct pair *p = &scene.p;
	struct sim_nic *receiver;
	const uint8_t *sink;

	memset(out, 0, sizeof(*out));
	pair_open(p, 1, &attr);
	receiver = row->opcode == WEFT_WR_READ ? p->na : p->nb;
	FIX_REQUIRE(p, post(&p->a, p->ab, &p->b, &first) == 0);
	expect(p, &p->a, 99, WEFT_WC_SUCCESS);
	fill(p, 7, p->a.buf, BYTES);
	fill(p, 8, p->b.buf, BYTES);
	scene.request = (struct post){.opcode = row->opcode,
				      .wr_id = 1,
				      .bytes = BYTES,
				      .imm = 0x01020304,
				      .remote_offset = SINK};
	if (row->opcode == WEFT_WR_READ)
		scene.request = (struct post){
		    .opcode = row->opcode, .wr_id = 1, .bytes = BYTES, .offset = SINK};
	scene.sge[0] = sim_end_sge(&p->b, SINK, BYTES);
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
	memcpy(out->memory, sink + SINK, BYTES);
	note_stats(p, out);
	note_session(p, receiver, out);
	out->runs = desk_close();
	if (scene.mr)
		FIX_CHECK(p, weft_dereg_mr(scene.mr) == 0);
	pair_close(p);
}

/*
 * Names the counters that differ. Left out are accesses to memory that is not mapped: one for a run
 * that is taken whole.
 */
static bool same_stats(const struct desk_row *row, const struct outcome *whole,
		       const struct outcome *cut)
{
	struct sim *sim = sim_new(NULL, 1);
	const struct fw_nic *fw = sim_nic_fw(sim_nic_new(sim), 0);
	const char *name;
	bool same = true;
	uint64_t value;

	for (uint32_t end = 0; end < 2; end++) {
		for (uint32_t i = 0; fw_stat(fw, i, &name, &value); i++) {
			if (whole->stat[end][i] == cut->stat[end][i] || !strncmp(name, "host_", 5))
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

static void compare(const struct desk_row *row)
{
	static struct outcome whole, cut;

	play(row, false, &whole);
	play(row, true, &cut);
	CU_ASSERT(whole.runs > (row->before ? 0 : 1));
	CU_ASSERT(cut.runs == 0);
	CU_ASSERT(same_stats(row, &whole, &cut));
	CU_ASSERT(memcmp(whole.memory, cut.memory, BYTES) == 0);
	CU_ASSERT(whole.rx_psn == cut.rx_psn);
	CU_ASSERT(whole.rx_high == cut.rx_high);
	CU_ASSERT(whole.rx_taken == cut.rx_taken);
	CU_ASSERT(whole.rx_used == cut.rx_used);
	CU_ASSERT(whole.num_wc[0] == !row->endless);
	CU_ASSERT(whole.wc[0].status == row->status);
	for (uint32_t end = 0; end < 2; end++) {
		CU_ASSERT(whole.num_wc[end] == cut.num_wc[end]);
		CU_ASSERT(whole.wc[end].status == cut.wc[end].status);
		CU_ASSERT(whole.wc[end].bytes == cut.wc[end].bytes);
	}
}

static struct wire_dgram *dgram_of(struct desk_item *item)
{
	return (void *)(item->hdr + DGRAM_AT);
}

static struct wire_rd *rd_of(struct desk_item *item)
{
	return (void *)(item->hdr + RD_AT);
}

static void other_qp(struct desk_item *item)
{
	dgram_of(item)->dst_qpn = be32_put(0x123456);
}

static void other_qkey(struct desk_item *item)
{
	dgram_of(item)->qkey = be32_put(0x7654321);
}

static void other_version(struct desk_item *item)
{
	dgram_of(item)->ver_type ^= 0x80;
}

static void no_qp(struct desk_item *item)
{
	dgram_of(item)->dst_qpn = be32_put(0);
}

static void other_epoch(struct desk_item *item)
{
	rd_of(item)->epoch = be32_put(be32_get(rd_of(item)->epoch) + 1);
}

static void beyond_window(struct desk_item *item)
{
	rd_of(item)->psn = be32_put(be32_get(rd_of(item)->psn) + WIRE_RD_WINDOW - 5);
}

static void behind_window(struct desk_item *item)
{
	rd_of(item)->psn = be32_put(be32_get(rd_of(item)->psn) - 5);
}

static void far_back(struct desk_item *item)
{
	rd_of(item)->flow_distance = be16_put(WIRE_RD_WINDOW);
}

static void at_nothing(struct desk_item *item)
{
	rd_of(item)->flow_distance = be16_put(WIRE_RD_WINDOW - 1);
}

static void other_ack(struct desk_item *item)
{
	rd_of(item)->ack = be32_put(be32_get(rd_of(item)->ack) + 1000);
}

static void other_mac(struct desk_item *item)
{
	item->hdr[5] ^= 0x7;
}

static void other_type(struct desk_item *item)
{
	item->hdr[12] ^= 0x70;
}

static void other_source(struct desk_item *item)
{
	item->hdr[DESK_IP_AT + 15] ^= 0x20;
}

static void other_target(struct desk_item *item)
{
	item->hdr[DESK_IP_AT + 19] ^= 0x20;
}

static void a_fragment(struct desk_item *item)
{
	item->hdr[DESK_IP_AT + 6] |= 0x20;
}

static void congested(struct desk_item *item)
{
	item->hdr[DESK_IP_AT + 1] |= WIRE_IP_CE;
}

static void other_port(struct desk_item *item)
{
	item->hdr[DESK_UDP_AT + 3] ^= 0x10;
}

static void other_stag(struct desk_item *item)
{
	item->hdr[DDP_AT + 4] ^= 0x10;
}

static void other_ddp(struct desk_item *item)
{
	item->hdr[DDP_AT] ^= 0x03;
}

static void response(struct desk_item *item)
{
	dgram_of(item)->flags ^= WIRE_DGRAM_F_RESPONSE;
}

static void no_receive(struct scene *scene)
{
	scene->no_receive = true;
}

static void short_receive(struct scene *scene)
{
	scene->sge[0].bytes = SHORT;
}

static void short_memory(struct scene *scene)
{
	struct pair *p = &scene->p;

	scene->mr = weft_reg_mr(p->b.pd, p->b.buf + SINK, SHORT,
				WEFT_ACCESS_REMOTE_WRITE | WEFT_ACCESS_LOCAL_WRITE);
	FIX_REQUIRE(p, scene->mr);
	scene->request.rkey = scene->mr->rkey;
}

/* Memory of the receive that is no more there, from the middle of a run on. */
static void memory_gone(struct scene *scene)
{
	struct pair *p = &scene->p;
	struct sim_proc *proc = p->b.proc;
	void *gone = sim_mem_alloc(proc, BYTES, false);

	FIX_REQUIRE(p, gone);
	scene->mr = weft_reg_mr(p->b.pd, gone, BYTES, WEFT_ACCESS_LOCAL_WRITE);
	FIX_REQUIRE(p, scene->mr);
	sim_mem_free(proc, gone);
	scene->sge[0].bytes = SHORT;
	scene->sge[1] = (struct weft_sge){
	    .addr = (uintptr_t)gone, .bytes = BYTES - SHORT, .lkey = scene->mr->lkey};
	scene->recv.num_sge = 2;
}

static void qp_in_error(struct scene *scene)
{
	const struct weft_qp_attr error = {.state = WEFT_QPS_ERR};
	struct pair *p = &scene->p;

	FIX_REQUIRE(p, weft_modify_qp(p->b.qp, &error, WEFT_QP_STATE) == 0);
	scene->no_receive = true;
}

#define WRITE .opcode = WEFT_WR_WRITE
#define IMM   .opcode = WEFT_WR_WRITE_IMM
#define SEND  .opcode = WEFT_WR_SEND
#define READ  .opcode = WEFT_WR_READ

static const struct desk_row nothing[] = {
    {"Write", WRITE},
    {"Write with immediate", IMM},
    {"Send", SEND},
    {"Read", READ},
};

static const struct desk_row wrong_crcs[] = {
    {"first wrong", WRITE, .bad = 0x1},
    {"second wrong", SEND, .bad = 0x2},
    {"two wrong", IMM, .bad = 0x60},
    {"first and last wrong", WRITE, .bad = 0x8001},
    {"every second wrong", SEND, .bad = 0x5555},
    {"most of a response wrong", READ, .bad = 0x7ffe},
    {"all but the first wrong", WRITE, .bad = 0xfffe},
    {"all but the last wrong", SEND, .bad = 0x7fff},
    {"all wrong", WRITE, .bad = 0xffff},
};

static const struct desk_row orders[] = {
    {"twice", WRITE, .twice = true},
    {"twice, Send", SEND, .twice = true},
    {"late", WRITE, .late = true},
    {"late Send", SEND, .late = true},
    {"late response", READ, .late = true},
    {"lost", WRITE, .lost = true},
    {"lost Send", SEND, .lost = true},
    {"late and wrong", SEND, .late = true, .bad = 0x30},
    {"twice wrong", READ, .twice = true, .bad = 0x11},
};

static const struct desk_row headers[] = {
    {"QP that is not there", WRITE, .change = other_qp},
    {"Send to such a QP", SEND, .change = other_qp},
    {"response to such a QP", READ, .change = other_qp, .status = WEFT_WC_BAD_RESP_ERR},
    {"Q_Key", SEND, .change = other_qkey, .status = WEFT_WC_REM_INV_REQ_ERR},
    {"version", WRITE, .change = other_version},
    {"no QP", WRITE, .change = no_qp},
    {"epoch", WRITE, .change = other_epoch},
    {"beyond the window", WRITE, .change = beyond_window, .status = WEFT_WC_REM_ABORT_ERR},
    {"behind the window", SEND, .change = behind_window},
    {"distance beyond the window", WRITE, .change = far_back},
    {"distance to nothing", WRITE, .change = at_nothing},
    {"ACK of what was not sent", WRITE, .change = other_ack},
    {"MAC", WRITE, .change = other_mac},
    {"EtherType", WRITE, .change = other_type},
    {"unknown sender", WRITE, .change = other_source},
    {"IP address", WRITE, .change = other_target},
    {"fragment", WRITE, .change = a_fragment},
    {"congestion", WRITE, .change = congested},
    {"UDP port", WRITE, .change = other_port},
    {"STag", WRITE, .change = other_stag, .status = WEFT_WC_REM_ACCESS_ERR},
    {"DDP's control", SEND, .change = other_ddp},
    {"class", WRITE, .change = response},
};

static const struct desk_row places[] = {
    {"no receive", SEND, .before = no_receive, .endless = true},
    {"short receive", SEND, .before = short_receive, .status = WEFT_WC_REM_INV_REQ_ERR},
    {"short memory", WRITE, .before = short_memory, .status = WEFT_WC_REM_ACCESS_ERR},
    {"memory that is gone", SEND, .before = memory_gone, .status = WEFT_WC_REM_OP_ERR},
    {"QP in error", SEND, .before = qp_in_error, .status = WEFT_WC_REM_OP_ERR},
};

#define COMPARE(rows)                                                                              \
	for (uint32_t i = 0; i < sizeof(rows) / sizeof((rows)[0]); i++)                            \
	compare(&(rows)[i])

static void as_they_are(void)
{
	COMPARE(nothing);
}

static void with_wrong_crcs(void)
{
	COMPARE(wrong_crcs);
}

static void out_of_order(void)
{
	COMPARE(orders);
}

static void with_other_headers(void)
{
	COMPARE(headers);
}

static void with_no_place(void)
{
	COMPARE(places);
}

UT_MAIN("sim/rd_run_same", UT(as_they_are), UT(with_wrong_crcs), UT(out_of_order),
	UT(with_other_headers), UT(with_no_place))
