/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The objects of verbs_data.c, and drawing. See verbs_ends.h.
 */
#include "tests/clients/verbs_ends.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/prng.h"

enum {
	GRANTED = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		  IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND,
	GRANTED_QP = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	FIRST_PSN = 0xfffff0, /* wraps soon */
};

static uint8_t in_bss[2][REGION_BYTES];
static uint64_t draw_state;

void die(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

void draw_seed(uint64_t seed)
{
	draw_state = seed * 2 + 1;
}

uint32_t draw(uint32_t n)
{
	return (uint32_t)((prng_next(&draw_state) >> 32) * n >> 32);
}

bool place(struct end *e, uint32_t bytes, uint32_t align, struct piece *p)
{
	uint32_t first = draw(NUM_REGIONS);

	for (uint32_t i = 0; i < NUM_REGIONS; i++) {
		struct region *r = &e->region[(first + i) % NUM_REGIONS];
		size_t at = (r->used + draw(100) + align - 1) / align * align;

		if (at + bytes > REGION_BYTES)
			continue;
		*p = (struct piece){r, (uint32_t)at, bytes};
		r->used = at + bytes;
		return true;
	}
	return false;
}

bool place_all(struct end *e, uint32_t bytes, struct pieces *list)
{
	uint32_t left = bytes, n = 1 + (draw(2) ? draw(MAX_SGE) : 0);

	list->num = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t share = i == n - 1 ? left : draw(left + 1);

		if (!place(e, share, 1, &list->piece[list->num++]))
			return false;
		left -= share;
	}
	return true;
}

void fill(const struct piece *p)
{
	for (uint32_t i = 0; i < p->bytes; i++)
		p->region->shadow[p->at + i] = p->region->mem[p->at + i] = (uint8_t)draw(256);
}

/* malloc, static, private pages, and pages of a file that others may share. */
static uint8_t *memory(int origin)
{
	static int num_static;
	uint8_t *mem = NULL;
	int fd;

	switch (origin) {
	case 0:
		mem = malloc(REGION_BYTES);
		break;
	case 1:
		mem = in_bss[num_static++];
		break;
	case 2:
		mem = mmap(NULL, REGION_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
		break;
	default:
		fd = memfd_create("verbs_data", MFD_CLOEXEC);
		CHECK(fd >= 0 && ftruncate(fd, REGION_BYTES) == 0);
		mem = mmap(NULL, REGION_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		close(fd);
		break;
	}
	CHECK(mem && mem != MAP_FAILED);
	return mem;
}

static void region_open(struct end *e, int i)
{
	struct region *r = &e->region[i];

	r->mem = memory(i);
	r->shadow = malloc(REGION_BYTES);
	CHECK(r->shadow);
	for (size_t at = 0; at < REGION_BYTES; at++)
		r->shadow[at] = r->mem[at] = (uint8_t)draw(256);
	r->mr = ibv_reg_mr(e->pd, r->mem, REGION_BYTES, GRANTED);
	CHECK(r->mr);
}

static struct ibv_context *device_open(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;

	for (int i = 0; list && list[i] && !ctx; i++)
		if (strcmp(ibv_get_device_name(list[i]), name) == 0)
			ctx = ibv_open_device(list[i]);
	if (!ctx)
		die("no device %s", name);
	ibv_free_device_list(list);
	return ctx;
}

void end_open(struct end *e, const char *device, int gid_index, bool extended)
{
	struct ibv_cq_init_attr_ex attr = {.cqe = CQ_ENTRIES,
					   .wc_flags = IBV_WC_STANDARD_FLAGS |
						       IBV_WC_EX_WITH_COMPLETION_TIMESTAMP};
	struct ibv_srq_init_attr srq = {.attr = {.max_wr = QUEUE_WR, .max_sge = MAX_SGE}};
	struct ibv_port_attr port;

	memset(e, 0, sizeof(*e));
	e->ctx = device_open(device);
	e->extended = extended;
	CHECK((e->pd = ibv_alloc_pd(e->ctx)));
	CHECK((e->channel = ibv_create_comp_channel(e->ctx)));
	attr.channel = e->channel;
	if (extended)
		CHECK((e->cq_ex = ibv_create_cq_ex(e->ctx, &attr)));
	else
		CHECK((e->cq = ibv_create_cq(e->ctx, CQ_ENTRIES, e, e->channel, 0)));
	CHECK((e->srq = ibv_create_srq(e->pd, &srq)));
	for (int i = 0; i < NUM_REGIONS; i++)
		region_open(e, i);
	CHECK(ibv_query_port(e->ctx, 1, &port) == 0);
	CHECK(ibv_query_gid(e->ctx, 1, gid_index < 0 ? 0 : gid_index, &e->gid) == 0);
	e->mtu = 128u << port.active_mtu;
}

void end_close(struct end *e)
{
	for (int i = 0; i < NUM_REGIONS; i++) {
		CHECK(ibv_dereg_mr(e->region[i].mr) == 0);
		free(e->region[i].shadow);
	}
	CHECK(ibv_destroy_srq(e->srq) == 0);
	CHECK(ibv_destroy_cq(e->cq) == 0);
	CHECK(ibv_destroy_comp_channel(e->channel) == 0);
	CHECK(ibv_dealloc_pd(e->pd) == 0);
	CHECK(ibv_close_device(e->ctx) == 0);
}

static struct ibv_qp *qp_new(const struct lane *lane, struct end *e)
{
	struct ibv_qp_init_attr_ex init = {
	    .send_cq = e->cq,
	    .recv_cq = e->cq,
	    .srq = lane->srq ? e->srq : NULL,
	    .cap = {QUEUE_WR, QUEUE_WR, MAX_SGE, MAX_SGE, INLINE_BYTES},
	    .qp_type = lane->type,
	    .comp_mask = IBV_QP_INIT_ATTR_PD,
	    .pd = e->pd,
	    .send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM,
	};
	struct ibv_qp *qp;

	if (lane->builder)
		init.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	if (lane->type != IBV_QPT_UD)
		init.send_ops_flags |= IBV_QP_EX_WITH_RDMA_WRITE |
				       IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
				       IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_BIND_MW;
	if (lane->type == IBV_QPT_RC)
		init.send_ops_flags |= IBV_QP_EX_WITH_RDMA_READ |
				       IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
				       IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
	CHECK((qp = ibv_create_qp_ex(e->ctx, &init)));
	return qp;
}

static void to_init(const struct lane *lane, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
	    .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY, .qp_access_flags = GRANTED_QP};

	CHECK(ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				(lane->type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)) ==
	      0);
}

static struct ibv_ah_attr way(const struct end *to, int gid_index)
{
	struct ibv_ah_attr ah = {.port_num = 1, .is_global = gid_index >= 0};

	if (gid_index >= 0) {
		ah.grh.dgid = to->gid;
		ah.grh.sgid_index = (uint8_t)gid_index;
		ah.grh.hop_limit = 64;
	}
	return ah;
}

static void to_rts(const struct lane *lane, int i, const struct end *to, int gid_index)
{
	bool reliable = lane->type == IBV_QPT_RC, datagram = lane->type == IBV_QPT_UD;
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR,
				   .path_mtu = IBV_MTU_1024,
				   .dest_qp_num = lane->qp[!i]->qp_num,
				   .rq_psn = FIRST_PSN,
				   .ah_attr = way(to, gid_index),
				   .max_dest_rd_atomic = 4,
				   .min_rnr_timer = 1};
	int mask = IBV_QP_STATE;

	if (!datagram)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (reliable)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	CHECK(ibv_modify_qp(lane->qp[i], &attr, mask) == 0);
	attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
				    .sq_psn = FIRST_PSN,
				    .timeout = 17,
				    .retry_cnt = 7,
				    .rnr_retry = 7,
				    .max_rd_atomic = 4};
	mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
	if (reliable)
		mask |=
		    IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	CHECK(ibv_modify_qp(lane->qp[i], &attr, mask) == 0);
}

void lane_open(struct lane *lane, struct end end[2], int gid_index)
{
	for (int i = 0; i < 2; i++) {
		lane->qp[i] = qp_new(lane, &end[i]);
		to_init(lane, lane->qp[i]);
	}
	for (int i = 0; i < 2; i++) {
		to_rts(lane, i, &end[!i], gid_index);
		if (lane->type == IBV_QPT_UD) {
			struct ibv_ah_attr attr = way(&end[!i], gid_index);

			CHECK((lane->ah[i] = ibv_create_ah(end[i].pd, &attr)));
		}
	}
}

void lane_close(struct lane *lane)
{
	for (int i = 0; i < 2; i++) {
		CHECK(ibv_destroy_qp(lane->qp[i]) == 0);
		if (lane->ah[i])
			CHECK(ibv_destroy_ah(lane->ah[i]) == 0);
	}
}

static void read_ex(struct ibv_cq_ex *cq, struct ibv_wc *wc)
{
	*wc = (struct ibv_wc){.wr_id = cq->wr_id, .status = cq->status};
	wc->qp_num = ibv_wc_read_qp_num(cq);
	wc->vendor_err = ibv_wc_read_vendor_err(cq);
	if (cq->status != IBV_WC_SUCCESS)
		return;
	wc->opcode = ibv_wc_read_opcode(cq);
	wc->byte_len = ibv_wc_read_byte_len(cq);
	wc->wc_flags = ibv_wc_read_wc_flags(cq);
	wc->src_qp = ibv_wc_read_src_qp(cq);
	if (wc->wc_flags & IBV_WC_WITH_INV)
		wc->invalidated_rkey = ibv_wc_read_invalidated_rkey(cq);
	else
		wc->imm_data = ibv_wc_read_imm_data(cq);
	CHECK(ibv_wc_read_completion_ts(cq) != 0);
}

int end_poll(struct end *e, int max, struct ibv_wc *wc)
{
	struct ibv_poll_cq_attr attr = {0};
	int n = 0, rc;

	if (!e->extended) {
		n = ibv_poll_cq(e->cq, max, wc);
		CHECK(n >= 0);
		return n;
	}
	rc = ibv_start_poll(e->cq_ex, &attr);
	CHECK(rc == 0 || rc == ENOENT);
	if (rc == ENOENT)
		return 0;
	do {
		read_ex(e->cq_ex, &wc[n++]);
	} while (n < max && ibv_next_poll(e->cq_ex) == 0);
	ibv_end_poll(e->cq_ex);
	return n;
}

void end_arm(struct end *e)
{
	CHECK(ibv_req_notify_cq(e->cq, 0) == 0);
}

void end_sleep(struct end *e)
{
	struct ibv_cq *cq;
	void *ctx;

	alarm(LIMIT_S); /* a lost event ends the program */
	CHECK(ibv_get_cq_event(e->channel, &cq, &ctx) == 0);
	alarm(0);
	CHECK(cq == e->cq);
	ibv_ack_cq_events(cq, 1);
}

bool end_right(const struct end *e, int which)
{
	bool right = true;

	for (int i = 0; i < NUM_REGIONS; i++) {
		const struct region *r = &e->region[i];
		size_t at = 0, last = REGION_BYTES;

		if (memcmp(r->mem, r->shadow, REGION_BYTES) == 0)
			continue;
		while (r->mem[at] == r->shadow[at])
			at++;
		while (r->mem[last - 1] == r->shadow[last - 1])
			last--;
		fprintf(stderr, "end %d, region %d: bytes %zu to %zu are not as they should be\n",
			which, i, at, last - 1);
		right = false;
	}
	return right;
}
