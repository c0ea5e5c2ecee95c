/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target: a hostile weftd beneath libweft. It answers each command with what a NIC would, with
 * parts of the answer replaced by bytes of the input, or with an error; it writes completions,
 * events and any word into the BAR, while a program makes and destroys queue pairs of all kinds,
 * posts to them as far as libweft lets it, polls and takes events.
 *
 * A program may get nonsense from such a NIC, but libweft neither reads nor writes beyond its
 * memory and the BAR, does not hang, and does not hand out what was destroyed. The BAR is a block
 * of the heap of the exact size, so that the sanitizer sees each access beyond it.
 */
#include <errno.h>
#include <stdlib.h>

#include "host_driver/weft.h"
#include "host_driver/weft_cm.h"
#include "host_driver/weft_coalesce.h"
#include "host_driver/weft_eq.h"
#include "host_driver/weft_priv.h"
#include "host_driver/weft_tag.h"
#include "tests/fuzz/answers_nic.h"
#include "tests/fuzz/fuzz.h"

enum {
	SLOTS = 4, /* objects of each kind */
	STEPS = 300,
	SGES = 80,
	MEM_BYTES = 8192,
	POLL = 8,
};

static struct {
	struct weft_context *context;
	struct weft_pd *pd;
	struct weft_xrcd *xrcd;
	struct weft_ah *ah;
	struct weft_cq *cq[SLOTS];
	struct weft_qp *qp[SLOTS];
	struct weft_srq *srq[SLOTS];
	struct weft_comp_channel *channel[SLOTS];
	struct weft_tag_ep *tag[SLOTS];
	uint8_t *mem;
} prog;

/* ---- what the NIC writes --------------------------------------------------------------------- */

/* A completion in the next place of a queue; numbers of objects are often right. */
static void complete(void)
{
	struct weft_cq *pub = prog.cq[take_u8(&answers_nic.in) % SLOTS];
	struct weft_cq_obj *cq;
	struct hw_cqe cqe, *at;
	uint8_t which = take_u8(&answers_nic.in);
	uint32_t index;

	take_bytes(&answers_nic.in, &cqe, sizeof(cqe));
	if (!pub)
		return;
	cq = weft_container_of(pub, struct weft_cq_obj, pub);
	index = cq->cons + (which >> 6 & 1);
	at = &cq->ring[index & cq->mask];
	if (prog.qp[which % SLOTS])
		cqe.qpn = prog.qp[which % SLOTS]->qpn;
	if (which & 0x10 && prog.tag[which % SLOTS])
		cqe.qpn = prog.tag[which % SLOTS]->qp->qpn;
	if (which & 0x20)
		cqe.opcode %= 16;
	if (which & 0x80)
		cqe.status = 0;
	cqe.phase = (index >> cq->shift & 1) ^ 1;
	*at = cqe;
}

static void raise_event(void)
{
	uint8_t which = take_u8(&answers_nic.in), target = take_u8(&answers_nic.in);
	struct weft_ctx *ctx = weft_ctx_of(prog.context);
	struct weft_eq *eq = &ctx->async_eq;
	struct hw_eqe eqe = {.type = take_u8(&answers_nic.in) % (HW_EVENTS + 2),
			     .id = take_u8(&answers_nic.in)};
	struct hw_eqe *at;

	if (which & 1 && prog.channel[which >> 1 & 3])
		eq = &weft_container_of(prog.channel[which >> 1 & 3], struct weft_channel_obj, pub)
			  ->eq;
	if (!eq->ring)
		return;
	if (weft_eqe_is_qp(eqe.type) && prog.qp[target % SLOTS])
		eqe.id = prog.qp[target % SLOTS]->qpn;
	else if (eqe.type <= HW_EVENT_CQ_ERR && prog.cq[target % SLOTS])
		eqe.id = prog.cq[target % SLOTS]->handle;
	else if (prog.srq[target % SLOTS])
		eqe.id = prog.srq[target % SLOTS]->handle;
	eqe.phase = (eq->cons / eq->entries & 1) ^ 1;
	at = &eq->ring[eq->cons & (eq->entries - 1)];
	*at = eqe;
}

static void scribble(void)
{
	uint64_t at = take_u32(&answers_nic.in), n = take_u8(&answers_nic.in) % 64;

	if (at & 1)
		at = HW_BAR_DYNAMIC + at % 65536;
	at %= answers_nic.bar_bytes;
	take_bytes(&answers_nic.in, answers_nic.bar + at,
		   n < answers_nic.bar_bytes - at ? n : answers_nic.bar_bytes - at);
}

/* ---- the program ----------------------------------------------------------------------------- */

static void make_cq(uint32_t i)
{
	if (!prog.cq[i])
		prog.cq[i] = weft_create_cq(prog.context, 1 + take_u8(&answers_nic.in) % 64,
					    prog.channel[take_u8(&answers_nic.in) % SLOTS], NULL);
	else if (take_u8(&answers_nic.in) & 1)
		(void)!weft_resize_cq(prog.cq[i], 1 + take_u8(&answers_nic.in));
	else if (!weft_destroy_cq(prog.cq[i]))
		prog.cq[i] = NULL;
}

static void make_qp(uint32_t i)
{
	static const enum weft_qp_type types[] = {WEFT_QPT_UD,       WEFT_QPT_RD,
						  WEFT_QPT_RC,       WEFT_QPT_UC,
						  WEFT_QPT_XRC_SEND, WEFT_QPT_XRC_RECV};
	uint8_t what = take_u8(&answers_nic.in);
	struct weft_qp_init_attr init = {
	    .type = types[what % 6],
	    .send_cq = prog.cq[take_u8(&answers_nic.in) % SLOTS],
	    .recv_cq = prog.cq[take_u8(&answers_nic.in) % SLOTS],
	    .srq = what & 0x80 ? prog.srq[what >> 4 & 3] : NULL,
	    .cap = {take_u8(&answers_nic.in), take_u8(&answers_nic.in),
		    take_u8(&answers_nic.in) % 20, take_u8(&answers_nic.in) % 20,
		    take_u8(&answers_nic.in) * 4u},
	    .xrcd = prog.xrcd,
	};

	if (prog.qp[i]) {
		if (!weft_destroy_qp(prog.qp[i]))
			prog.qp[i] = NULL;
		return;
	}
	if (init.type == WEFT_QPT_XRC_RECV && what & 0x40 && prog.xrcd)
		prog.qp[i] = weft_open_qp(prog.xrcd, 0x1100 + take_u8(&answers_nic.in), NULL);
	else
		prog.qp[i] = weft_create_qp(init.type == WEFT_QPT_XRC_RECV ? NULL : prog.pd, &init);
}

static void make_srq(uint32_t i)
{
	struct weft_srq_attr attr = {.max_wr = take_u8(&answers_nic.in),
				     .max_sge = take_u8(&answers_nic.in) % 20};
	struct weft_cq *cq = prog.cq[take_u8(&answers_nic.in) % SLOTS];

	if (prog.srq[i] && !weft_destroy_srq(prog.srq[i]))
		prog.srq[i] = NULL;
	else if (!prog.srq[i] && prog.pd)
		prog.srq[i] = take_u8(&answers_nic.in) & 1 && prog.xrcd && cq
				  ? weft_create_xrc_srq(prog.pd, prog.xrcd, cq, &attr)
				  : weft_create_srq(prog.pd, &attr);
}

static void make_channel(uint32_t i)
{
	if (!prog.channel[i])
		prog.channel[i] = weft_create_comp_channel(prog.context, 0);
	else if (!weft_destroy_comp_channel(prog.channel[i]))
		prog.channel[i] = NULL;
}

static void make_tag(uint32_t i)
{
	struct weft_tag_attr attr = {
	    .send_cq = prog.cq[take_u8(&answers_nic.in) % SLOTS],
	    .recv_cq = prog.cq[take_u8(&answers_nic.in) % SLOTS],
	    .cap = {8, 8, 2, 2, 64},
	    .pool_bytes = 4096,
	};

	if (prog.tag[i]) {
		weft_close_tag_ep(prog.tag[i]);
		prog.tag[i] = NULL;
	} else if (prog.pd) {
		prog.tag[i] = weft_open_tag_ep(prog.pd, &attr);
	}
}

static uint32_t sges(struct weft_sge *sge)
{
	uint32_t n = take_u8(&answers_nic.in) % SGES, i;

	for (i = 0; i < n; i++)
		sge[i] = (struct weft_sge){.addr = (uintptr_t)prog.mem,
					   .bytes = i ? 1 : take_u16(&answers_nic.in) % MEM_BYTES};
	return n;
}

static void post(uint32_t i)
{
	struct weft_sge sge[SGES];
	uint8_t what = take_u8(&answers_nic.in);
	struct weft_send_wr wr = {.wr_id = what,
				  .sg_list = sge,
				  .num_sge = sges(sge),
				  .opcode = (enum weft_wr_opcode)(take_u8(&answers_nic.in) % 14),
				  .flags = what & 15,
				  .ah = prog.ah};
	struct weft_recv_wr recv = {.wr_id = what, .sg_list = sge, .num_sge = wr.num_sge};
	struct weft_tag_send_wr tsend = {.wr_id = what,
					 .sg_list = sge,
					 .num_sge = wr.num_sge,
					 .flags = take_u8(&answers_nic.in) & 31,
					 .ah = prog.ah};
	struct weft_tag_recv_wr trecv = {.wr_id = what,
					 .sg_list = sge,
					 .num_sge = wr.num_sge,
					 .flags = tsend.flags & WEFT_TAG_MULTI};

	switch (what >> 5) {
	case 0:
	case 1:
		if (prog.qp[i])
			(void)!weft_post_send(prog.qp[i], &wr, NULL);
		break;
	case 2:
	case 3:
		if (prog.qp[i])
			(void)!weft_post_recv(prog.qp[i], &recv, NULL);
		break;
	case 4:
		if (prog.srq[i])
			(void)!weft_post_srq_recv(prog.srq[i], &recv, NULL);
		break;
	case 5:
		if (prog.tag[i] && prog.ah)
			(void)!weft_tag_send(prog.tag[i], &tsend);
		break;
	case 6:
		if (prog.tag[i])
			(void)!weft_tag_recv(prog.tag[i], &trecv, NULL);
		break;
	default:
		if (prog.tag[i])
			(void)!weft_tag_peek(prog.tag[i], &trecv);
	}
}

static void modify(uint32_t i)
{
	struct weft_qp_attr attr = {.state = (enum weft_qp_state)(take_u8(&answers_nic.in) % 7)};
	struct weft_qp_cap cap;

	if (!prog.qp[i])
		return;
	if (take_u8(&answers_nic.in) & 1)
		(void)!weft_query_qp(prog.qp[i], &attr, &cap);
	else
		(void)!weft_modify_qp(prog.qp[i], &attr, WEFT_QP_STATE);
}

static void poll_one(uint32_t i)
{
	struct weft_wc wc[POLL];
	int n;

	if (!prog.cq[i])
		return;
	n = weft_poll_cq(prog.cq[i], POLL, wc);
	take_check(n <= POLL, "more completions than asked for");
}

static void events(uint32_t i)
{
	struct weft_async_event event;
	struct weft_cq *cq;
	void *user;

	if (take_u8(&answers_nic.in) & 1) {
		if (!weft_get_async_event(prog.context, &event))
			weft_ack_async_event(&event);
		return;
	}
	if (!prog.channel[i])
		return;
	if (prog.cq[i] && prog.cq[i]->channel)
		(void)!weft_req_notify_cq(prog.cq[i], false);
	if (!weft_get_cq_event(prog.channel[i], &cq, &user)) {
		weft_cq_told(cq);
		weft_ack_cq_events(cq, 1);
	}
}

/* Queries, whose answers are texts and lists. */
static void query(uint32_t i)
{
	struct weft_list_item items[WEFT_LIST_MIN * 2];
	struct hw_resp_cm_event cm;
	uint8_t data[HW_CM_MAX_DATA];
	struct weft_tag_stats tags;
	struct weft_device_attr device;
	struct weft_port_attr port;
	struct weft_coalesce coalesce;
	struct weft_vector vector;
	struct weft_stat stats[20];
	uint32_t cursor = 0;
	char text[300];

	switch (take_u8(&answers_nic.in) % 9) {
	case 0:
		(void)!weft_query_device(prog.context, &device);
		break;
	case 1:
		(void)!weft_query_port(prog.context, &port);
		break;
	case 2:
		(void)!weft_stats(prog.context, 0, &cursor, stats, 20);
		break;
	case 3:
		(void)!weft_list(prog.context, (enum weft_list_kind)0, 0, &cursor, items,
				 WEFT_LIST_MIN * 2);
		break;
	case 4:
		(void)!weft_change(prog.context, (enum weft_change)0, "x", text, sizeof(text));
		break;
	case 5:
		if (prog.tag[i])
			(void)!weft_query_tag_ep(prog.tag[i], &tags);
		break;
	case 6:
		if (prog.channel[i] && !weft_cm_get_event(prog.channel[i], &cm))
			(void)!weft_cm_get_data(prog.context, &cm, data);
		break;
	case 7:
		(void)!weft_query_vector(prog.context, 0, 0, &vector);
		break;
	default:
		(void)!weft_query_coalesce(prog.context, 0, &coalesce, NULL);
	}
}

static void step(void)
{
	uint8_t what = take_u8(&answers_nic.in);
	uint32_t i = what >> 4 & 3;

	switch (what & 15) {
	case 0:
		make_cq(i);
		break;
	case 1:
		make_qp(i);
		break;
	case 2:
		make_srq(i);
		break;
	case 3:
		make_channel(i);
		break;
	case 4:
		make_tag(i);
		break;
	case 5:
	case 6:
		post(i);
		break;
	case 7:
		modify(i);
		break;
	case 8:
	case 9:
		complete();
		break;
	case 10:
		poll_one(i);
		break;
	case 11:
		raise_event();
		break;
	case 12:
		events(i);
		break;
	case 13:
		query(i);
		break;
	case 14:
		scribble();
		break;
	default:
		answers_nic.gone = answers_nic.gone || what == 0xff;
	}
}

static void open_all(void)
{
	const struct weft_av av = weft_av_ip(1);

	prog.pd = weft_alloc_pd(prog.context);
	if (!prog.pd)
		return;
	prog.ah = weft_create_ah(prog.pd, &av);
	prog.xrcd = weft_open_xrcd(prog.context, -1, 0);
	make_channel(0);
	make_cq(0);
	make_cq(1);
}

void fuzz_answers_begin(void)
{
	/* Polls that find nothing do not give the processor away. */
	setenv("WEFT_YIELD", "never", 1);
}

void fuzz_answers(const uint8_t *data, size_t bytes)
{
	uint32_t steps = 0;

	answers_nic = (struct answers_nic){.in = {data, bytes}};
	memset(&prog, 0, sizeof(prog));
	answers_nic.next = HW_BAR_DYNAMIC + HW_BAR_PAGE_BYTES;
	prog.mem = malloc(MEM_BYTES);
	take_check(prog.mem != NULL, "no memory");
	prog.context = weft_open_channel(&answers_nic_ops, NULL, "evil", 0);
	if (prog.context) {
		open_all();
		while (answers_nic.in.left && steps++ < STEPS)
			step();
		weft_close_device(prog.context);
	}
	free(prog.mem);
}
