/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ends and the wire of rd_pair.h.
 */
#define RD_PAIR_HELPER
#include "tests/pair/rd_pair.h"

#include <arpa/inet.h>
#include <sanitizer/asan_interface.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "nic_fw/base/crc32c.h"

/* ---- frames ------------------------------------------------------------------------------ */

struct rp_info rp_info_of(struct rp_frame *frame, uint32_t from)
{
	struct rp_info info = {.frame = frame, .from = from, .type = 0xff};
	struct wire_eth *eth = (void *)frame->b;
	struct wire_ip *ip = (void *)(eth + 1);

	if (frame->n < UDP_TX_HDR_BYTES + sizeof(struct wire_dgram) ||
	    be16_get(eth->type) != WIRE_ETHERTYPE_IPV4 || ip->proto != WIRE_IPPROTO_UDP)
		return info;
	info.dgram = (void *)(frame->b + UDP_TX_HDR_BYTES);
	info.type = info.dgram->ver_type & 15;
	if (info.type == WIRE_DGRAM_RD_HELLO) {
		info.hello = (void *)(info.dgram + 1);
		return info;
	}
	info.rd = (void *)(info.dgram + 1);
	info.psn = be32_get(info.rd->psn);
	if (info.type == WIRE_DGRAM_RD_ACK)
		info.ack = (void *)(info.rd + 1);
	if (info.type != WIRE_DGRAM_RD)
		return info;
	info.is_void = !be32_get(info.dgram->dst_qpn);
	if (info.is_void)
		return info;
	info.ddp = (uint8_t *)(info.rd + 1);
	info.last = info.ddp[0] & WIRE_DDP_LAST;
	info.opcode = info.ddp[1] & WIRE_RDMAP_OPCODE_MASK;
	return info;
}

void rp_reseal(struct rp_frame *frame)
{
	struct wire_ip *ip = (void *)(frame->b + sizeof(struct wire_eth));
	uint32_t at = IP_TX_HDR_BYTES;
	uint32_t n = frame->n - at - WIRE_DGRAM_CRC_BYTES;
	struct be32 crc;

	ip->checksum = be16_put(0);
	ip->checksum = be16_put(wire_sum_fold(wire_sum_add(0, ip, sizeof(*ip))));
	crc = fw_crc32c_wire(fw_crc32c(FW_CRC32C_INIT, frame->b + at, n));
	memcpy(frame->b + at + n, &crc, sizeof(crc));
}

void rp_inject(struct rp *rp, uint32_t to, const void *frame, uint32_t bytes)
{
	struct rp_end *end = &rp->end[to];
	struct rp_frame *f;

	if (end->dead)
		return;
	if (end->inbox_count == end->inbox_max) {
		end->inbox_max = end->inbox_max ? 2 * end->inbox_max : 64;
		end->inbox = realloc(end->inbox, end->inbox_max * sizeof(*end->inbox));
		CU_ASSERT_PTR_NOT_NULL_FATAL(end->inbox);
	}
	f = &end->inbox[end->inbox_count++];
	f->b = malloc(bytes);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f->b);
	memcpy(f->b, frame, bytes);
	f->n = bytes;
	f->to = to;
}

void rp_deliver(struct rp *rp, uint32_t i)
{
	CU_ASSERT_FATAL(i < rp->num_kept);
	rp_inject(rp, rp->kept[i].to, rp->kept[i].b, rp->kept[i].n);
}

void rp_forget(struct rp *rp)
{
	while (rp->num_kept)
		free(rp->kept[--rp->num_kept].b);
}

/* Takes the frame: passes it on, or keeps it, or frees it. */
static void on_wire(struct rp *rp, uint32_t from, struct rp_frame *frame)
{
	struct rp_info info = rp_info_of(frame, from);
	enum rp_verdict verdict = rp->filter ? rp->filter(rp, &info) : RP_PASS;

	rp->frames++;
	switch (verdict) {
	case RP_TWICE:
		rp_inject(rp, frame->to, frame->b, frame->n);
		rp_inject(rp, frame->to, frame->b, frame->n);
		break;
	case RP_PASS:
		rp_inject(rp, frame->to, frame->b, frame->n);
		break;
	case RP_COPY:
		rp_inject(rp, frame->to, frame->b, frame->n);
		/* fall through */
	case RP_KEEP:
		CU_ASSERT_FATAL(rp->num_kept < RP_KEPT);
		rp->kept[rp->num_kept++] = *frame;
		return;
	case RP_DROP:
		break;
	}
	free(frame->b);
}

/* ---- the port ---------------------------------------------------------------------------- */

struct port_ctx {
	struct rp *rp;
	uint32_t e;
};

static struct port_ctx contexts[2];

static uint32_t rx_burst(void *ctx, struct fw_rx_frame *frames, uint32_t n)
{
	struct port_ctx *p = ctx;
	struct rp_end *end = &p->rp->end[p->e];
	uint32_t i, at;

	if (n > end->inbox_count)
		n = end->inbox_count;
	for (i = 0; i < n; i++) {
		const struct rp_frame *f = &end->inbox[i];
		struct fw_rx_frame *out = &frames[i];

		memset(out, 0, sizeof(*out));
		out->bytes = f->n;
		out->cookie = f->b;
		for (at = 0; at < f->n;) {
			uint32_t size = f->n - at;

			if (p->rp->piece && !at && size > FW_RX_HDR_BYTES)
				size = FW_RX_HDR_BYTES;
			else if (p->rp->piece && at && size > p->rp->piece &&
				 out->num_seg < FW_RX_SEGS_MAX - 1)
				size = p->rp->piece;
			out->seg[out->num_seg++] = (struct fw_rx_seg){f->b + at, size};
			at += size;
		}
	}
	end->inbox_count -= n;
	if (n)
		memmove(end->inbox, end->inbox + n, end->inbox_count * sizeof(*end->inbox));
	return n;
}

static void rx_free(void *ctx, struct fw_rx_frame *frames, uint32_t n)
{
	(void)ctx;
	while (n--)
		if (!(frames[n].flags & FW_RX_HELD))
			free(frames[n].cookie);
}

static void rx_release(void *ctx, void *cookie)
{
	(void)ctx;
	free(cookie);
}

/* Puts a frame together as the DMA engine of a MAC does. */
static bool assemble(const struct rp *rp, const struct fw_tx_frame *tx, uint8_t *out)
{
	uint32_t i, crc = 0, at = 0;

	for (i = 0; i < tx->num_seg; i++) {
		const struct fw_tx_seg *seg = &tx->seg[i];
		const uint8_t *src = seg->kind == FW_TX_HDR ? tx->hdr + seg->addr : seg->mem;

		if (seg->kind == FW_TX_HOST) {
			if (rp->host_fault)
				return false;
			src = (const uint8_t *)(uintptr_t)seg->addr;
		}
		if (seg->flags & FW_TX_F_CRC_BEGIN)
			crc = FW_CRC32C_INIT;
		memcpy(out + at, src, seg->bytes);
		crc = fw_crc32c(crc, src, seg->bytes);
		at += seg->bytes;
		if (seg->flags & FW_TX_F_CRC_END) {
			struct be32 wire = fw_crc32c_wire(crc);

			memcpy(out + at, &wire, sizeof(wire));
			at += (uint32_t)sizeof(wire);
		}
	}
	CU_ASSERT_EQUAL(at, tx->bytes);
	if (tx->csum_start) {
		const struct be16 sum = be16_put(
		    wire_sum_fold(wire_sum_add(0, out + tx->csum_start, at - tx->csum_start)));

		memcpy(out + tx->csum_at, &sum, sizeof(sum));
	}
	return true;
}

static uint32_t tx_burst(void *ctx, struct fw_tx_frame *frames, uint32_t n)
{
	struct port_ctx *p = ctx;
	uint32_t i;

	for (i = 0; i < n && p->rp->tx_room; i++) {
		struct rp_frame f = {.n = frames[i].bytes,
				     .to = frames[i].flags & FW_TX_LOOP ? p->e : !p->e,
				     .flags = frames[i].flags};

		if (p->rp->tx_room != UINT32_MAX)
			p->rp->tx_room--;
		f.b = malloc(f.n);
		CU_ASSERT_PTR_NOT_NULL_FATAL(f.b);
		frames[i].status = 0;
		if (assemble(p->rp, &frames[i], f.b)) {
			on_wire(p->rp, p->e, &f);
		} else {
			frames[i].status = -FW_EFAULT;
			free(f.b);
		}
	}
	return i;
}

static void tx_settle(void *ctx)
{
	struct port_ctx *p = ctx;

	p->rp->end[p->e].settles++;
}

static uint32_t tx_room(void *ctx)
{
	struct port_ctx *p = ctx;

	return p->rp->tx_room;
}

static int host_read(void *ctx, uint32_t client, void *dst, uint64_t addr, uint32_t bytes)
{
	struct port_ctx *p = ctx;

	(void)client;
	if (p->rp->host_fault)
		return -FW_EFAULT;
	memcpy(dst, (const void *)(uintptr_t)addr, bytes);
	return 0;
}

static int host_write(void *ctx, uint32_t client, uint64_t addr, const void *src, uint32_t bytes)
{
	struct port_ctx *p = ctx;

	(void)client;
	if (p->rp->host_fault)
		return -FW_EFAULT;
	memcpy((void *)(uintptr_t)addr, src, bytes);
	return 0;
}

static void irq(void *ctx, uint32_t client, uint32_t eq)
{
	struct port_ctx *p = ctx;

	(void)client;
	(void)eq;
	p->rp->end[p->e].irqs++;
}

static void cmd_done(void *ctx, uint32_t client, const struct hw_cmd_resp *resp)
{
	(void)ctx;
	(void)client;
	(void)resp;
	CU_FAIL("no command of these tests waits");
}

static void detached(void *ctx, uint32_t client)
{
	struct port_ctx *p = ctx;

	p->rp->end[p->e].detached = client + 1;
}

static void mem_unmap(void *ctx, uint32_t client, void *mapping)
{
	struct port_ctx *p = ctx;

	(void)client;
	(void)mapping;
	p->rp->unmaps++;
}

static void arena_release(void *ctx, void *addr, size_t bytes)
{
	(void)ctx;
	memset(addr, 0, bytes);
}

static uint64_t random64(void *ctx)
{
	struct port_ctx *p = ctx;

	uint64_t n = (uint32_t)p->rp->next_random++;

	/* The same for numbers that count up and for names. */
	return n << 32 | n;
}

static void *map_zero(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CU_ASSERT_FATAL(p != MAP_FAILED);
	return p;
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
	};
	struct fw_port port = {
	    .ctx = &contexts[e],
	    .rx_burst = rx_burst,
	    .rx_free = rx_free,
	    .rx_release = rx_release,
	    .tx_burst = tx_burst,
	    .tx_settle = tx_settle,
	    .tx_room = tx_room,
	    .host_read = host_read,
	    .host_write = host_write,
	    .irq = irq,
	    .cmd_done = cmd_done,
	    .detached = detached,
	    .mem_unmap = mem_unmap,
	    .arena_release = arena_release,
	    .random64 = random64,
	    .crc32c = fw_crc32c,
	    .copy_crc32c = fw_copy_crc32c,
	};
	struct rp_end *end = &rp->end[e];

	contexts[e] = (struct port_ctx){rp, e};
	end->arena = map_zero(fw_arena_bytes());
	end->nic = fw_init(&config, &port, end->arena, fw_arena_bytes());
	CU_ASSERT_PTR_NOT_NULL_FATAL(end->nic);
	fw_now(end->nic, rp->now_ns);
}

int rp_cmd(struct rp *rp, uint32_t e, struct hw_cmd *cmd, struct hw_cmd_resp *resp)
{
	struct rp_end *end = &rp->end[e];

	fw_now(end->nic, rp->now_ns);
	CU_ASSERT_EQUAL_FATAL(fw_cmd(end->nic, end->client, cmd, NULL, resp), FW_CMD_DONE);
	return resp->status;
}

static struct fw_cq *make_cq(struct rp *rp, uint32_t e)
{
	struct hw_cmd cmd = {.op = HW_CMD_CREATE_CQ,
			     .u.create_cq = {.entries = 1024, .eq = HW_EQ_NONE}};
	struct hw_cmd_resp resp;

	CU_ASSERT_EQUAL_FATAL(rp_cmd(rp, e, &cmd, &resp), 0);
	return &rp->end[e].nic->host.cqs[resp.u.create_cq.cq];
}

static void init_end(struct rp *rp, uint32_t e)
{
	struct rp_end *end = &rp->end[e];
	struct fw_client_params params = {.bar_bytes = RP_BAR_BYTES, .pid = 1, .name = "ut"};
	struct hw_cmd pd = {.op = HW_CMD_ALLOC_PD};
	struct hw_cmd ah = {.op = HW_CMD_CREATE_AH};
	struct hw_resp_attach attach;
	struct hw_cmd_resp resp;
	uint32_t i;

	init_nic(rp, e);
	end->bar = map_zero(RP_BAR_BYTES);
	params.bar = end->bar;
	CU_ASSERT_EQUAL_FATAL(fw_client_attach(end->nic, &params, &end->client, &attach), 0);
	CU_ASSERT_EQUAL_FATAL(rp_cmd(rp, e, &pd, &resp), 0);
	end->pd = resp.u.handle;
	ah.u.create_ah.pd = end->pd;
	CU_ASSERT_EQUAL_FATAL(rp_cmd(rp, e, &ah, &resp), 0);
	end->ah = resp.u.handle;
	end->scq = make_cq(rp, e);
	end->rcq = make_cq(rp, e);
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
	memset(rp, 0, sizeof(*rp));
	rp->now_ns = 1000000000;
	rp->next_random = 0u - RP_PSN_LAG;
	rp->tx_room = UINT32_MAX;
	init_end(rp, 0);
	init_end(rp, 1);
}

static void unpoison(struct fw_pool *pool)
{
	ASAN_UNPOISON_MEMORY_REGION(pool->base, (size_t)pool->high * pool->elem_bytes);
}

static void free_nic(struct rp_end *end)
{
	struct fw_nic *nic = end->nic;

	unpoison(&nic->host.wqes);
	unpoison(&nic->host.wqe_exts);
	unpoison(&nic->rd.flows);
	unpoison(&nic->rd.tx_windows);
	unpoison(&nic->rd.rx_windows);
	unpoison(&nic->rd.held);
	unpoison(&nic->host.recv_msgs);
	unpoison(&nic->ud.reasms);
	unpoison(&nic->ud.buffers);
	munmap(end->arena, fw_arena_bytes());
	munmap(end->bar, RP_BAR_BYTES);
	while (end->inbox_count)
		free(end->inbox[--end->inbox_count].b);
}

void rp_restart(struct rp *rp, uint32_t e)
{
	free_nic(&rp->end[e]);
	rp->end[e].dead = false;
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
	rp->tx_room = UINT32_MAX;
	rp_forget(rp);
	rp_quiet(rp);
	for (e = 0; e < 2; e++)
		rp_check_pools(rp, e, 0);
	rp_expect_none(rp);
	for (e = 0; e < 2; e++) {
		struct rp_end *end = &rp->end[e];

		fw_now(end->nic, rp->now_ns);
		rp_detach(rp, e);
		rp_check_pools(rp, e, 0);
		CU_ASSERT_EQUAL(fw_ids_used(&end->nic->host.qp_ids), 0);
	}
	rp_free(rp);
}

void rp_detach(struct rp *rp, uint32_t e)
{
	struct rp_end *end = &rp->end[e];

	end->detached = 0;
	if (fw_client_detach(end->nic, end->client) == FW_DETACH_DONE)
		return;
	while (!end->detached)
		fw_poll(end->nic, ++rp->now_ns, 32);
	CU_ASSERT_EQUAL(end->detached, end->client + 1);
}

void rp_free(struct rp *rp)
{
	uint32_t e;

	rp_forget(rp);
	for (e = 0; e < 2; e++) {
		free_nic(&rp->end[e]);
		free(rp->end[e].inbox);
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

		/* Room for what tests send at once, as if it had been used just now. */
		s->cwnd_fp = RP_WINDOW * 256;
		s->cwnd = RP_WINDOW;
		s->rto_base_ns = rp->now_ns;
		s->credit_limit = (uint8_t)(s->credit_used + RP_CREDITS);
		rp_session(rp, !e)->rx_limit = rp_session(rp, !e)->rx_used + RP_CREDITS;
		rp_session(rp, !e)->rx_told = rp_session(rp, !e)->rx_limit;
	}
}

/* ---- time -------------------------------------------------------------------------------- */

uint32_t rp_poll(struct rp *rp, uint32_t e)
{
	return rp->end[e].dead ? 0 : fw_poll(rp->end[e].nic, rp->now_ns, 256);
}

void rp_settle(struct rp *rp)
{
	uint32_t guard = 0;

	while (rp_poll(rp, 0) + rp_poll(rp, 1) || rp->end[0].inbox_count || rp->end[1].inbox_count)
		CU_ASSERT_FATAL(++guard < 100000);
}

/* Both ends are asleep until their next timers, or were there all the time. */
static void pass_to(struct rp *rp, uint64_t ns)
{
	uint32_t e;

	rp->now_ns = ns;
	for (e = 0; e < 2; e++)
		rp->end[e].nic->there_ns = ns;
}

void rp_run(struct rp *rp, uint64_t ns)
{
	uint64_t end_ns = rp->now_ns + ns;
	uint32_t guard = 0;

	for (;;) {
		uint64_t next_ns = UINT64_MAX;
		uint32_t e;

		rp_settle(rp);
		for (e = 0; e < 2; e++) {
			uint64_t t =
			    rp->end[e].dead ? UINT64_MAX : fw_next_timer_ns(rp->end[e].nic);

			if (t < next_ns)
				next_ns = t;
		}
		if (next_ns > end_ns)
			break;
		CU_ASSERT_FATAL(++guard < 1000000);
		if (next_ns > rp->now_ns)
			pass_to(rp, next_ns);
	}
	pass_to(rp, end_ns);
	rp_settle(rp);
}

void rp_quiet(struct rp *rp)
{
	rp_run(rp, 50000000);
}

struct rd_session *rp_session(struct rp *rp, uint32_t e)
{
	return rd_session_find(rp->end[e].nic, rp->end[!e].nic->config.ip, 0);
}
