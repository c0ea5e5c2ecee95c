/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hostile NIC of answers.c: answers to commands as a NIC gives them, with parts replaced by
 * bytes of the input, or an error. The BAR is a block of the heap of the exact size.
 */
#include "tests/fuzz/answers_nic.h"

#include <errno.h>
#include <stdlib.h>

#include "host_driver/weft_priv.h"
#include "shared_defs/hw_tag.h"

enum {
	BAR_BYTES = 512 << 10,
	BAR_MAX = 4 << 20,
};

struct answers_nic answers_nic;

static uint64_t room(uint64_t bytes)
{
	uint64_t at = answers_nic.next;

	answers_nic.next += (bytes + 63) & ~UINT64_C(63);
	return at;
}

static uint32_t pow2(uint32_t n)
{
	uint32_t p = 1;

	while (p < n && p < 4096)
		p <<= 1;
	return p;
}

static void answer_qp(const struct hw_cmd_create_qp *c, struct hw_resp_create_qp *r)
{
	*r = (struct hw_resp_create_qp){
	    .qpn = 0x1100 + answers_nic.number++,
	    .sq_slots = c->sq_slots,
	    .max_send_wr = c->max_send_wr,
	    .max_recv_wr = c->max_recv_wr,
	    .max_send_sge = c->max_send_sge,
	    .max_recv_sge = c->max_recv_sge,
	    .max_inline_bytes = c->max_inline_bytes,
	    .rq_entries = c->max_recv_wr ? pow2(c->max_recv_wr) : 0,
	    .rq_stride_bytes = c->flags & HW_QP_F_TAGGED ? hw_tag_stride_bytes(c->max_recv_sge)
							 : hw_rq_stride_bytes(c->max_recv_sge),
	    .record_offset = room(sizeof(struct hw_qp_record)),
	};
	if (c->flags & HW_QP_F_LENT)
		return;
	r->sq_offset = room((uint64_t)r->sq_slots * HW_SQ_SLOT_BYTES);
	r->rq_offset = room((uint64_t)r->rq_entries * r->rq_stride_bytes);
}

static void answer_cq(uint32_t number, uint32_t entries, struct hw_resp_create_cq *r)
{
	*r = (struct hw_resp_create_cq){.cq = number,
					.entries = pow2(entries),
					.record_offset = room(sizeof(struct hw_cq_record))};
	r->ring_offset = room((uint64_t)r->entries * sizeof(struct hw_cqe));
}

static void answer_srq(const struct hw_cmd *cmd, struct hw_resp_srq *r)
{
	*r = (struct hw_resp_srq){.srq = answers_nic.number++,
				  .max_wr = cmd->u.srq.max_wr,
				  .max_sge = cmd->u.srq.max_sge,
				  .entries = pow2(cmd->u.srq.max_wr),
				  .stride_bytes = hw_rq_stride_bytes(cmd->u.srq.max_sge),
				  .record_offset = room(sizeof(struct hw_srq_record))};
	r->ring_offset = room((uint64_t)r->entries * r->stride_bytes);
}

static void answer_right(const struct hw_cmd *cmd, struct hw_cmd_resp *resp)
{
	struct hw_resp_device *d = &resp->u.device;

	switch (cmd->op) {
	case HW_CMD_ATTACH:
	case HW_CMD_START:
		resp->u.attach =
		    (struct hw_resp_attach){.bar_bytes = BAR_BYTES,
					    .num_shards = 1,
					    .eq0_offset_pages = HW_BAR_DYNAMIC / HW_BAR_PAGE_BYTES,
					    .eq0_entries = 16};
		break;
	case HW_CMD_QUERY_DEVICE:
		memcpy(d->name, "evil0", 6);
		d->max_wr = 1024;
		d->max_sge = HW_MAX_SGE;
		d->max_inline_bytes = HW_MAX_INLINE_BYTES;
		break;
	case HW_CMD_CREATE_EQ:
		resp->u.create_eq = (struct hw_resp_create_eq){
		    .eq = 1 + answers_nic.number++ % 8, .entries = 16, .record_offset = room(64)};
		resp->u.create_eq.ring_offset = room(16 * sizeof(struct hw_eqe));
		break;
	case HW_CMD_CREATE_CQ:
		answer_cq(answers_nic.number++, cmd->u.create_cq.entries, &resp->u.create_cq);
		break;
	case HW_CMD_RESIZE_CQ:
		answer_cq(cmd->u.cq.cq, cmd->u.cq.entries, &resp->u.create_cq);
		break;
	case HW_CMD_CREATE_SRQ:
		answer_srq(cmd, &resp->u.srq);
		break;
	case HW_CMD_CREATE_QP:
		answer_qp(&cmd->u.create_qp, &resp->u.create_qp);
		break;
	case HW_CMD_OPEN_QP:
		resp->u.create_qp.qpn = cmd->u.open_qp.qpn;
		break;
	case HW_CMD_ALLOC_RINGS:
		resp->u.rings.offset =
		    room((uint64_t)cmd->u.alloc_rings.count * cmd->u.alloc_rings.bytes);
		break;
	case HW_CMD_MODIFY_QP:
		resp->u.qp_attr = cmd->u.modify_qp.attr;
		break;
	default:
		resp->u.handle = answers_nic.number++;
	}
}

static int command(void *chan, struct hw_cmd *cmd, int fd_in, struct hw_cmd_resp *resp,
		   int fds_out[WEFT_CHAN_FDS])
{
	uint8_t how = take_u8(&answers_nic.in), n;

	(void)chan;
	(void)fd_in;
	for (int i = 0; i < WEFT_CHAN_FDS; i++)
		fds_out[i] = -1;
	if (answers_nic.gone || how == 0xff)
		return -EIO;
	/* Memory that a NIC does not let go is kept for good. */
	if (cmd->op == HW_CMD_DEREG_MR)
		how = 0;
	memset(resp, 0, sizeof(*resp));
	answer_right(cmd, resp);
	/* Words of the answer, most of which lie at its beginning. */
	for (n = how & 0x80 ? how & 7 : 0; n; n--) {
		uint8_t at = take_u8(&answers_nic.in);
		uint32_t word = take_u32(&answers_nic.in);

		if (at & 0x80)
			word = (uint32_t)(int32_t)(int8_t)word;
		memcpy(resp->u.bytes + at % 32 * 4, &word, sizeof(word));
	}
	if ((how & 0xf8) == 0x70)
		resp->status = how & 4 ? (int32_t)take_u32(&answers_nic.in) : (how & 3) * 6 + 1;
	return 0;
}

static void wake(void *chan)
{
	(void)chan;
}

static int wait_for(void *chan, uint32_t eq, int fd, int timeout_ms)
{
	(void)chan;
	(void)eq;
	(void)fd;
	(void)timeout_ms;
	return -EINTR;
}

static bool is_gone(void *chan)
{
	(void)chan;
	return answers_nic.gone;
}

static void *map_bar(void *chan, int fd, uint64_t bytes)
{
	struct hw_bar_header *header;

	(void)chan;
	(void)fd;
	/* A second answer may name another size; mapping one fails at some size. */
	if (bytes > BAR_MAX || answers_nic.bar) {
		errno = ENOMEM;
		return NULL;
	}
	answers_nic.bar_bytes = bytes;
	answers_nic.bar = aligned_alloc(HW_BAR_PAGE_BYTES, bytes);
	take_check(answers_nic.bar != NULL, "no memory");
	memset(answers_nic.bar, 0, bytes);
	header = (void *)answers_nic.bar;
	header->magic = HW_BAR_MAGIC;
	header->version = HW_BAR_VERSION;
	header->nic_state = HW_NIC_RUNNING;
	return answers_nic.bar;
}

static bool vouches(void *chan, uint64_t addr, uint64_t bytes)
{
	(void)chan;
	(void)addr;
	(void)bytes;
	return true;
}

static void close_chan(void *chan)
{
	(void)chan;
	free(answers_nic.bar);
	answers_nic.bar = NULL;
}

const struct weft_chan_ops answers_nic_ops = {
    .flags = WEFT_CHAN_F_NO_MEMFD,
    .command = command,
    .wake = wake,
    .wait = wait_for,
    .gone = is_gone,
    .map_bar = map_bar,
    .vouches = vouches,
    .close = close_chan,
};
