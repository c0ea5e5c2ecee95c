/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fake NIC of host_driver's tests. See fake_nic.h.
 */
#include "tests/host_driver/fake_nic.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <fcntl.h>

/* Checks of the tests themselves, not of the code under test. */
static void must(bool ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	abort();
}

static uint64_t bar_alloc(struct fake_nic *nic, uint64_t bytes)
{
	uint64_t at = nic->bar_next;

	nic->bar_next += (bytes + 4095) & ~UINT64_C(4095);
	must(nic->bar_next <= FAKE_BAR_BYTES, "BAR of the fake is full");
	return at;
}

static uint32_t pow2(uint32_t n)
{
	uint32_t p = 1;

	while (p < n)
		p <<= 1;
	return p;
}

static uint32_t make_eq(struct fake_nic *nic, uint32_t entries, struct hw_resp_create_eq *r,
			int *fd)
{
	struct fake_eq *eq = &nic->eq[nic->num_eq];
	uint64_t offset = bar_alloc(nic, sizeof(*eq->record) + entries * sizeof(*eq->ring));

	eq->record = (void *)(nic->bar + offset);
	eq->ring = (void *)(nic->bar + offset + sizeof(*eq->record));
	eq->entries = entries;
	eq->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	*fd = fcntl(eq->event_fd, F_DUPFD_CLOEXEC, 0);
	must(*fd >= 0, "eventfd");
	r->eq = nic->num_eq;
	r->entries = entries;
	r->record_offset = offset;
	r->ring_offset = offset + sizeof(*eq->record);
	return nic->num_eq++;
}

static void attach(struct fake_nic *nic, struct hw_cmd_resp *resp, int *fds)
{
	struct hw_bar_header *header;
	struct hw_resp_create_eq eq;

	fds[0] = memfd_create("bar", MFD_CLOEXEC);
	must(fds[0] >= 0 && ftruncate(fds[0], FAKE_BAR_BYTES) == 0, "memfd");
	nic->bar = mmap(NULL, FAKE_BAR_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
	must(nic->bar != MAP_FAILED, "mmap");
	nic->bar_next = HW_BAR_DYNAMIC;
	header = (void *)nic->bar;
	header->magic = HW_BAR_MAGIC;
	header->version = HW_BAR_VERSION;
	header->bar_bytes = FAKE_BAR_BYTES;
	header->nic_state = HW_NIC_RUNNING;
	nic->doorbell_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	fds[1] = fcntl(nic->doorbell_fd, F_DUPFD_CLOEXEC, 0);
	make_eq(nic, FAKE_EQ_ENTRIES, &eq, &fds[2]);
	resp->u.attach.bar_bytes = FAKE_BAR_BYTES;
	resp->u.attach.num_doorbells = 1;
	resp->u.attach.eq0_offset_pages = (uint32_t)(eq.record_offset / HW_BAR_PAGE_BYTES);
	resp->u.attach.eq0_entries = eq.entries;
}

static void query(const struct fake_nic *nic, struct hw_resp_device *d)
{
	strcpy(d->name, "fake0");
	d->max_wr = nic->max_wr;
	d->max_sge = HW_MAX_SGE;
	d->max_inline_bytes = HW_MAX_INLINE_BYTES;
	d->mtu = 1500;
	d->link_up = 1;
}

static void create_cq(struct fake_nic *nic, const struct hw_cmd *cmd, struct hw_resp_create_cq *r)
{
	struct fake_cq *cq = &nic->cq[nic->num_cq];

	cq->entries = pow2(cmd->u.create_cq.entries);
	cq->record_offset = bar_alloc(nic, sizeof(*cq->record));
	cq->record = (void *)(nic->bar + cq->record_offset);
	r->ring_offset = bar_alloc(nic, cq->entries * sizeof(*cq->ring));
	cq->ring = (void *)(nic->bar + r->ring_offset);
	r->record_offset = cq->record_offset;
	r->cq = nic->num_cq++;
	r->entries = cq->entries;
}

/*
 * As nic_fw/host/cq_cmd.c: waiting entries move, indices go on, phases elsewhere say "not written".
 */
static void resize_cq(struct fake_nic *nic, const struct hw_cmd *cmd, struct hw_resp_create_cq *r)
{
	struct fake_cq *cq = &nic->cq[cmd->u.cq.cq];
	uint32_t entries = pow2(cmd->u.cq.entries), cons = cq->record->cons, i;
	struct hw_cqe *ring;

	r->ring_offset = bar_alloc(nic, entries * sizeof(*ring));
	ring = (void *)(nic->bar + r->ring_offset);
	for (i = cons; i != cq->prod; i++) {
		ring[i & (entries - 1)] = cq->ring[i & (cq->entries - 1)];
		ring[i & (entries - 1)].phase = !(i & entries);
	}
	for (; i != cons + entries; i++)
		ring[i & (entries - 1)].phase = i & entries ? 1 : 0;
	cq->ring = ring;
	cq->entries = entries;
	r->record_offset = cq->record_offset;
	r->cq = cmd->u.cq.cq;
	r->entries = entries;
	r->prod = cq->prod;
}

static void create_qp(struct fake_nic *nic, const struct hw_cmd *cmd, struct hw_resp_create_qp *r)
{
	const struct hw_cmd_create_qp *c = &cmd->u.create_qp;
	struct fake_qp *qp = &nic->qp[nic->num_qp];

	qp->sq_slots = c->sq_slots;
	qp->rq_entries = c->srq == HW_SRQ_NONE && c->max_recv_wr ? pow2(c->max_recv_wr) : 0;
	qp->rq_stride_bytes = c->flags & HW_QP_F_TAGGED ? hw_tag_stride_bytes(c->max_recv_sge)
							: hw_rq_stride_bytes(c->max_recv_sge);
	r->record_offset = bar_alloc(nic, sizeof(*qp->record));
	qp->record = (void *)(nic->bar + r->record_offset);
	qp->lent = c->flags & HW_QP_F_LENT;
	if (!qp->lent) {
		r->sq_offset = bar_alloc(nic, (uint64_t)qp->sq_slots * HW_SQ_SLOT_BYTES);
		r->rq_offset = bar_alloc(nic, (uint64_t)qp->rq_entries * qp->rq_stride_bytes);
		qp->sq = nic->bar + r->sq_offset;
		qp->rq = nic->bar + r->rq_offset;
	}
	r->qpn = FAKE_QPN_BASE + nic->num_qp++;
	r->sq_slots = qp->sq_slots;
	r->max_send_wr = c->max_send_wr;
	r->max_recv_wr = c->max_recv_wr;
	r->max_send_sge = c->max_send_sge;
	r->max_recv_sge = c->max_recv_sge;
	r->max_inline_bytes = c->max_inline_bytes;
	r->rq_entries = qp->rq_entries;
	r->rq_stride_bytes = qp->rq_stride_bytes;
}

/* As nic_fw/host/qp.c: RESET skips all posted requests. */
static void modify_qp(struct fake_nic *nic, const struct hw_cmd_modify_qp *modify)
{
	struct fake_qp *qp = &nic->qp[modify->qpn - FAKE_QPN_BASE];

	if (!(modify->mask & HW_QP_STATE))
		return;
	qp->state = modify->attr.state;
	if (qp->state == HW_QPS_RESET) {
		qp->record->sq_cons = qp->record->sq_prod;
		qp->record->rq_cons = qp->record->rq_prod;
	}
}

static void create_srq(struct fake_nic *nic, const struct hw_cmd *cmd, struct hw_resp_srq *r)
{
	r->srq = nic->num_srq;
	r->max_wr = cmd->u.srq.max_wr;
	r->max_sge = cmd->u.srq.max_sge;
	r->entries = pow2(r->max_wr);
	r->stride_bytes = hw_rq_stride_bytes(r->max_sge);
	r->record_offset = bar_alloc(nic, sizeof(struct hw_srq_record));
	r->ring_offset = bar_alloc(nic, (uint64_t)r->entries * r->stride_bytes);
	nic->srq_record[nic->num_srq++] = (void *)(nic->bar + r->record_offset);
}

/* All numbers were given out: reuses a free one. */
static uint32_t free_mr(const struct fake_nic *nic)
{
	uint32_t i;

	for (i = 0; i < FAKE_OBJECTS && nic->mr[i].used; i++)
		;
	must(i < FAKE_OBJECTS, "too many regions");
	return i;
}

static struct fake_mem *find_mem(struct fake_nic *nic, uint64_t key)
{
	struct fake_mem *mem = &nic->mem[(key - nic->keys) % FAKE_MEMS];

	return key - nic->keys < FAKE_MEMS && mem->fd >= 0 ? mem : NULL;
}

/* Maps [offset, offset + bytes), whole pages. */
static uint8_t *map_mem(struct fake_mem *mem, uint64_t offset, uint64_t bytes)
{
	uint8_t *at;

	if (!mem->anchor) {
		at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, mem->fd, (off_t)offset);
		must(at != MAP_FAILED, "mapping a region");
		return at;
	}
	(void)fcntl(mem->fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL);
	at = mremap(mem->anchor, 0, offset + bytes, MREMAP_MAYMOVE);
	must(at != MAP_FAILED, "mapping a region");
	munmap(at, offset);
	return at + offset;
}

/* Maps the pieces of a region, one behind the other. */
static uint8_t *stitch(struct fake_nic *nic, const struct hw_mem_piece *piece, uint32_t count,
		       uint64_t bytes)
{
	uint64_t slack = piece->offset & 4095, at = 0;
	uint64_t room = (bytes + slack + 4095) & ~UINT64_C(4095);
	uint8_t *whole = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	must(whole != MAP_FAILED, "room for a region");
	for (uint32_t i = 0; i < count; i++) {
		uint64_t skip = piece[i].offset & 4095;
		uint64_t length = (piece[i].bytes + skip + 4095) & ~UINT64_C(4095);
		uint8_t *part =
		    map_mem(find_mem(nic, piece[i].key), piece[i].offset - skip, length);

		must((!i || !skip) && at + length <= room, "pieces in whole pages");
		must(mremap(part, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, whole + at) ==
			 whole + at,
		     "mapping a piece");
		at += length;
	}
	must(at == room, "pieces make the region");
	return whole + slack;
}

static int reg_mr(struct fake_nic *nic, const struct hw_cmd *cmd, struct hw_resp_mr *r)
{
	const struct hw_mem_piece *piece = ((const struct hw_cmd_pieces *)cmd)->piece;
	uint32_t index = nic->num_mr < FAKE_OBJECTS ? nic->num_mr++ : free_mr(nic);
	struct fake_mr *mr = &nic->mr[index];

	mr->cmd = cmd->u.reg_mr;
	mr->mapping = NULL;
	if (cmd->u.reg_mr.flags & HW_REG_F_MAPPED) {
		for (uint32_t i = 0; i < cmd->u.reg_mr.num_pieces; i++) {
			if (nic->refuse_memfd || !find_mem(nic, piece[i].key)) {
				nic->num_mr--;
				return EPERM;
			}
		}
		mr->slack = piece->offset & 4095;
		mr->mapping = stitch(nic, piece, cmd->u.reg_mr.num_pieces, cmd->u.reg_mr.bytes);
	}
	mr->used = true;
	r->stag = index << 8 | 7;
	r->mapped = mr->mapping != NULL;
	return 0;
}

static void dereg_mr(struct fake_nic *nic, uint32_t stag)
{
	struct fake_mr *mr = &nic->mr[stag >> 8];

	if (mr->mapping)
		munmap(mr->mapping - mr->slack, mr->cmd.bytes + mr->slack);
	mr->used = false;
	mr->mapping = NULL;
}

static int alloc_mem(struct fake_nic *nic, const struct hw_cmd *cmd, struct hw_cmd_resp *resp,
		     int *fds)
{
	uint64_t bytes = cmd->u.alloc_mem.bytes + cmd->u.alloc_mem.slack_bytes;
	struct fake_mem *mem = nic->mem;

	while (mem->fd >= 0 && mem < nic->mem + FAKE_MEMS - 1)
		mem++;
	must(mem->fd < 0, "too much memory");
	fds[0] = memfd_create("mem", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	must(fds[0] >= 0 && ftruncate(fds[0], (off_t)bytes) == 0 &&
		 fcntl(fds[0], F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0,
	     "memfd");
	mem->fd = fcntl(fds[0], F_DUPFD_CLOEXEC, 0);
	must(mem->fd >= 0, "memfd");
	mem->anchor = NULL;
	if (nic->seals) {
		mem->anchor = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, mem->fd, 0);
		must(mem->anchor != MAP_FAILED, "mmap");
	}
	resp->u.alloc_mem.key = nic->keys + (uint64_t)(mem - nic->mem);
	return 0;
}

static int free_mem(struct fake_nic *nic, uint64_t key)
{
	struct fake_mem *mem = find_mem(nic, key);

	if (!mem)
		return ENOENT;
	if (mem->anchor)
		munmap(mem->anchor, 4096);
	close(mem->fd);
	mem->fd = -1;
	return 0;
}

static int carry_out(struct fake_nic *nic, const struct hw_cmd *cmd, struct hw_cmd_resp *resp,
		     int *fds)
{
	switch (cmd->op) {
	case HW_CMD_ATTACH:
		attach(nic, resp, fds);
		nic->start = resp->u.attach;
		return 0;
	case HW_CMD_START:
		resp->u.attach = nic->start;
		return 0;
	case HW_CMD_QUERY_DEVICE:
		query(nic, &resp->u.device);
		return 0;
	case HW_CMD_CREATE_EQ:
		make_eq(nic, FAKE_EQ_ENTRIES, &resp->u.create_eq, &fds[0]);
		return 0;
	case HW_CMD_CREATE_CQ:
		create_cq(nic, cmd, &resp->u.create_cq);
		return 0;
	case HW_CMD_RESIZE_CQ:
		resize_cq(nic, cmd, &resp->u.create_cq);
		return 0;
	case HW_CMD_CREATE_SRQ:
		create_srq(nic, cmd, &resp->u.srq);
		return 0;
	case HW_CMD_CREATE_QP:
		create_qp(nic, cmd, &resp->u.create_qp);
		return 0;
	case HW_CMD_MODIFY_QP:
		modify_qp(nic, &cmd->u.modify_qp);
		resp->u.qp_attr = cmd->u.modify_qp.attr;
		return 0;
	case HW_CMD_OPEN_QP:
		resp->u.create_qp.qpn = cmd->u.open_qp.qpn;
		return 0;
	case HW_CMD_REG_MR:
		return reg_mr(nic, cmd, &resp->u.mr);
	case HW_CMD_DEREG_MR:
		dereg_mr(nic, cmd->u.obj.handle);
		return 0;
	case HW_CMD_ALLOC_MEM:
		return alloc_mem(nic, cmd, resp, fds);
	case HW_CMD_FREE_MEM:
		return free_mem(nic, cmd->u.free_mem.key);
	case HW_CMD_ALLOC_PD:
	case HW_CMD_CREATE_AH:
	case HW_CMD_ALLOC_MW:
	case HW_CMD_OPEN_XRCD:
		resp->u.handle = ++nic->num_other;
		return 0;
	case HW_CMD_TAG_OPEN:
		nic->tag_open = cmd->u.tag_open;
		return 0;
	case HW_CMD_TAG_QUERY:
		resp->u.tag_query = nic->tag_stats;
		return nic->no_tags ? EOPNOTSUPP : 0;
	case HW_CMD_ALLOC_RINGS:
		if (!nic->lends)
			return EOPNOTSUPP;
		resp->u.rings.offset =
		    bar_alloc(nic, (uint64_t)cmd->u.alloc_rings.count * cmd->u.alloc_rings.bytes);
		return 0;
	case HW_CMD_COALESCE:
		resp->u.coalesce.coalesce = cmd->u.coalesce.coalesce;
		return 0;
	default: /* the answer has no content */
		return 0;
	}
}

static int fake_command(void *chan, struct hw_cmd *cmd, int fd_in, struct hw_cmd_resp *resp,
			int fds_out[WEFT_CHAN_FDS])
{
	struct fake_nic *nic = chan;

	must(fd_in < 0 || cmd->op == HW_CMD_ATTACH, "a descriptor that the command does not take");
	for (int i = 0; i < WEFT_CHAN_FDS; i++)
		fds_out[i] = -1;
	memset(resp, 0, sizeof(*resp));
	if (nic->pair[1] < 0)
		return -EIO;
	pthread_mutex_lock(&nic->lock);
	__atomic_fetch_add(&nic->commands[cmd->op], 1, __ATOMIC_SEQ_CST);
	if (nic->fail_op == (int)cmd->op)
		resp->status = nic->fail_status;
	else
		resp->status = carry_out(nic, cmd, resp, fds_out);
	pthread_mutex_unlock(&nic->lock);
	return 0;
}

static int fake_hangup_fd(void *chan)
{
	return ((struct fake_nic *)chan)->pair[0];
}

static void fake_chan_close(void *chan)
{
	((struct fake_nic *)chan)->closed = true;
}

struct weft_context *fake_open(struct fake_nic **out, uint32_t flags)
{
	static const struct weft_chan_ops plain = {
	    .command = fake_command,
	    .hangup_fd = fake_hangup_fd,
	    .close = fake_chan_close,
	};
	static const struct weft_chan_ops no_memfd = {
	    .flags = WEFT_CHAN_F_NO_MEMFD,
	    .command = fake_command,
	    .hangup_fd = fake_hangup_fd,
	    .close = fake_chan_close,
	};
	static uint64_t num_fakes;
	struct fake_nic *nic = calloc(1, sizeof(*nic));
	struct weft_context *context;

	must(nic && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, nic->pair) == 0, "fake");
	pthread_mutex_init(&nic->lock, NULL);
	nic->max_wr = HW_MAX_WR;
	nic->keys = ++num_fakes << 32;
	for (int i = 0; i < FAKE_MEMS; i++)
		nic->mem[i].fd = -1;
	context = weft_open_channel(flags ? &no_memfd : &plain, nic, "fake0", 0);
	must(context != NULL, "weft_open_channel");
	*out = nic;
	return context;
}

void fake_close(struct weft_context *context, struct fake_nic *nic)
{
	weft_close_device(context);
	must(nic->closed, "the channel was not closed");
	for (uint32_t i = 0; i < nic->num_mr; i++)
		dereg_mr(nic, i << 8);
	for (uint64_t i = 0; i < FAKE_MEMS; i++)
		(void)free_mem(nic, nic->keys + i);
	for (uint32_t i = 0; i < nic->num_eq; i++)
		close(nic->eq[i].event_fd);
	close(nic->doorbell_fd);
	close(nic->pair[0]);
	if (nic->pair[1] >= 0)
		close(nic->pair[1]);
	munmap(nic->bar, FAKE_BAR_BYTES);
	pthread_mutex_destroy(&nic->lock);
	free(nic);
}

void fake_die(struct fake_nic *nic)
{
	int fd = nic->pair[1];

	nic->pair[1] = -1;
	close(fd);
}

uint32_t fake_doorbell(struct fake_nic *nic)
{
	uint32_t *ring = (void *)(nic->bar + HW_BAR_DB_RING);
	uint32_t *slot = &ring[nic->db_head % HW_DB_RING_ENTRIES];
	uint32_t entry = __atomic_load_n(slot, __ATOMIC_ACQUIRE), *rung = NULL;

	if (!entry)
		return 0;
	__atomic_store_n(slot, 0, __ATOMIC_RELEASE);
	nic->db_head++;
	if (HW_DB_KIND(entry) == HW_DB_SQ)
		rung = &nic->qp[HW_DB_ID(entry) - FAKE_QPN_BASE].record->rung;
	else if (HW_DB_KIND(entry) == HW_DB_CQ_ARM)
		rung = &nic->cq[HW_DB_ID(entry)].record->rung;
	else if (HW_DB_KIND(entry) == HW_DB_RQ)
		rung = &nic->qp[HW_DB_ID(entry) - FAKE_QPN_BASE].record->rq_rung;
	if (rung)
		__atomic_exchange_n(rung, 0, __ATOMIC_ACQ_REL);
	return entry;
}

void fake_cqe(struct fake_nic *nic, const struct weft_cq *pub, struct hw_cqe cqe)
{
	struct fake_cq *cq = &nic->cq[pub->handle];
	struct hw_cqe *slot = &cq->ring[cq->prod & (cq->entries - 1)];
	uint32_t word;

	cqe.phase = !(cq->prod & cq->entries);
	cqe.timestamp_ns = cq->prod + 1000;
	memcpy(&word, &cqe.status, sizeof(word));
	cqe.status = slot->status;
	cqe.opcode = slot->opcode;
	cqe.flags = slot->flags;
	cqe.phase = slot->phase;
	*slot = cqe;
	__atomic_store_n((uint32_t *)(void *)&slot->status, word, __ATOMIC_RELEASE);
	cq->prod++;
}

void fake_eqe(struct fake_nic *nic, uint32_t number, struct hw_eqe eqe, bool irq)
{
	struct fake_eq *eq = &nic->eq[number];
	struct hw_eqe *slot = &eq->ring[eq->prod & (eq->entries - 1)];
	uint64_t one = 1;
	uint32_t word;

	eqe.phase = !(eq->prod & eq->entries);
	memcpy(&word, &eqe.type, sizeof(word));
	slot->id = eqe.id;
	slot->aux = eqe.aux;
	slot->aux2 = eqe.aux2;
	__atomic_store_n((uint32_t *)(void *)&slot->type, word, __ATOMIC_RELEASE);
	eq->prod++;
	if (irq)
		must(write(eq->event_fd, &one, sizeof(one)) == sizeof(one), "eventfd");
}

struct fake_qp *fake_qp(struct fake_nic *nic, const struct weft_qp *qp)
{
	return &nic->qp[qp->qpn - FAKE_QPN_BASE];
}

void fake_rings(struct fake_nic *nic, struct fake_qp *qp)
{
	must(qp->lent, "rings that move");
	qp->sq = nic->bar + (uint64_t)qp->record->sq_place * HW_RING_PLACE_BYTES;
	qp->rq = nic->bar + (uint64_t)qp->record->rq_place * HW_RING_PLACE_BYTES;
}

const struct hw_sq_wqe *fake_slot(const struct fake_qp *qp, uint32_t index)
{
	return (const void *)(qp->sq + (size_t)(index & (qp->sq_slots - 1)) * HW_SQ_SLOT_BYTES);
}

void fake_setup(struct fake_setup *s, enum weft_qp_type type, const struct weft_qp_cap *cap,
		uint32_t cq_entries)
{
	struct weft_qp_init_attr attr = {.type = type, .cap = *cap};
	struct weft_qp_attr rts = {.state = WEFT_QPS_RTS};
	struct weft_av av = weft_av_qpn();

	memset(s, 0, sizeof(*s));
	s->context = fake_open(&s->nic, 0);
	s->pd = weft_alloc_pd(s->context);
	s->cq = weft_create_cq(s->context, cq_entries, NULL, NULL);
	attr.send_cq = s->cq;
	attr.recv_cq = s->cq;
	must(s->pd && s->cq, "pd, cq");
	s->qp = weft_create_qp(s->pd, &attr);
	s->ah = weft_create_ah(s->pd, &av);
	must(s->qp && s->ah, "qp, ah");
	must(weft_modify_qp(s->qp, &rts, WEFT_QP_STATE) == 0, "to RTS");
	s->hw = fake_qp(s->nic, s->qp);
}

void fake_teardown(struct fake_setup *s)
{
	must(weft_destroy_qp(s->qp) == 0 && weft_destroy_cq(s->cq) == 0, "destroy");
	must(weft_destroy_ah(s->ah) == 0 && weft_dealloc_pd(s->pd) == 0, "destroy");
	fake_close(s->context, s->nic);
}
