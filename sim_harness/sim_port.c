/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The environment of a simulated firmware instance: struct fw_port.
 *
 * It replaces the MAC, the DMA engine and the operating system: frames in and out, CRC32C and
 * checksum of outgoing frames, process memory, interrupts. It is stricter than they are: errors
 * that only a firmware defect can cause (an inconsistent gather list, an unaligned release, a
 * mapping released twice) fail an assertion.
 *
 * Calls sim_link.c, sim_mem.c and sim_host.c. Contract: nic_fw/fw_port.h.
 */
#include "sim_harness/sim_int.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "nic_fw/base/crc32c.h"
#include "shared_defs/wire_eth.h"
#include "shared_defs/wire_ip.h"

enum {
	PAGE_BYTES = 4096,
	LATE_PPM = 500000,     /* of writes that are given up: carried out later all the same */
	LATE_MAX_NS = 2000000, /* until an access that was given up is carried out */
};

/* sim_config.wrap_soon: bits that are set in each half of a random number. */
#define WRAP_ONES UINT64_C(0xffffffc0)

/* Divides a frame into separately allocated segments, like a driver's buffer chain. */
static void split(struct sim_shard *shard, struct sim_pkt *pkt)
{
	struct sim *sim = shard->nic->sim;
	uint32_t rest = pkt->bytes - SIM_RX_SPLIT_MIN, n;
	uint32_t pieces = (uint32_t)sim_prng_range(&shard->poll_prng, 1, FW_RX_SEGS_MAX - 1);
	const uint8_t *at = pkt->data + SIM_RX_SPLIT_MIN;
	struct sim_pkt **link = &pkt->more;
	uint8_t *head;

	for (; rest; rest -= n, at += n, pieces--) {
		n = pieces > 1 ? (uint32_t)sim_prng_range(&shard->poll_prng, 1, rest) : rest;
		*link = sim_pkt_new(sim, at, n);
		link = &(*link)->more;
	}
	head = realloc(pkt->data, SIM_RX_SPLIT_MIN);
	assert(head);
	pkt->data = head;
	pkt->bytes = SIM_RX_SPLIT_MIN;
}

static void lend(struct sim_shard *shard, struct sim_pkt *pkt)
{
	pkt->prev = NULL;
	pkt->next = shard->lent;
	if (pkt->next)
		pkt->next->prev = pkt;
	shard->lent = pkt;
}

static void take_back(struct sim_shard *shard, struct sim_pkt *pkt)
{
	if (pkt->prev)
		pkt->prev->next = pkt->next;
	else
		shard->lent = pkt->next;
	if (pkt->next)
		pkt->next->prev = pkt->prev;
	sim_pkt_free(shard->nic->sim, pkt);
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static uint32_t rx_burst(void *ctx, struct fw_rx_frame *frames, uint32_t n)
{
	struct sim_shard *shard = ctx;
	struct sim_pkt *pkt, *seg;
	uint32_t packets = 0, i;

	/* The core has not read more (sim_cost.rx_ns). */
	if (shard->nic->sim->config.cost.rx_ns && n > shard->paid_rx)
		n = shard->paid_rx;
	for (i = 0; packets < n && (pkt = shard->rx_head); i++) {
		shard->rx_head = pkt->next;
		if (!shard->rx_head)
			shard->rx_tail = NULL;
		shard->rx_frames--;
		frames[i].bytes = pkt->bytes;
		frames[i].num_seg = 0;
		frames[i].run = 1;
		frames[i].flags = pkt->loop ? FW_RX_LOOP : 0;
		if (pkt->trusted)
			frames[i].flags |= FW_RX_CRC_OK | FW_RX_CSUM_OK;
		sim_pkt_spoil(pkt);
		frames[i].cookie = pkt;
		if (pkt->loan) {
			frames[i].num_seg = sim_loan_pieces(pkt, frames[i].seg);
			frames[i].flags |= FW_RX_LENT;
		} else if (pkt->bytes > SIM_RX_SPLIT_MIN &&
			   sim_prng_chance(&shard->poll_prng,
					   shard->nic->sim->config.rx_split_ppm)) {
			split(shard, pkt);
		}
		for (seg = pkt->loan ? NULL : pkt; seg; seg = seg->more)
			frames[i].seg[frames[i].num_seg++] =
			    (struct fw_rx_seg){seg->data, seg->bytes};
		packets += sim_run_join(shard, pkt, &frames[i], least(n - packets, FW_RUN_MAX));
		lend(shard, pkt);
		shard->nic->counts.frames_held++;
	}
	shard->nic->counts.rx_frames += packets;
	shard->in_burst += i;
	if (shard->nic->sim->config.cost.rx_ns)
		shard->paid_rx -= packets;
	return i;
}

static void rx_free(void *ctx, struct fw_rx_frame *frames, uint32_t n)
{
	struct sim_shard *shard = ctx;
	uint32_t i;

	assert(n <= shard->in_burst || !"rx_free() of more frames than rx_burst() gave");
	shard->in_burst -= n;
	for (i = 0; i < n; i++) {
		if (frames[i].flags & FW_RX_HELD)
			continue;
		take_back(shard, frames[i].cookie);
		shard->nic->counts.frames_held--;
	}
}

static void rx_release(void *ctx, void *cookie)
{
	struct sim_shard *shard = ctx;

	take_back(shard, cookie);
	shard->nic->counts.frames_held--;
}

static bool rx_copy(void *ctx, const struct fw_rx_frame *frame, struct fw_rx_frame *copy)
{
	struct sim_shard *shard = ctx;
	struct sim_pkt *pkt = sim_pkt_new(shard->nic->sim, NULL, frame->bytes);
	uint32_t at = 0, i;

	for (i = 0; i < frame->num_seg; at += frame->seg[i++].bytes)
		memcpy(pkt->data + at, frame->seg[i].data, frame->seg[i].bytes);
	assert(at == frame->bytes);
	lend(shard, pkt);
	shard->nic->counts.frames_held++;
	*copy = (struct fw_rx_frame){
	    .seg = {{pkt->data, pkt->bytes}},
	    .num_seg = 1,
	    .bytes = pkt->bytes,
	    .flags = frame->flags & ~(uint32_t)FW_RX_LENT,
	    .run = 1,
	    .cookie = pkt,
	};
	return true;
}

static int carry_out(struct sim_proc *proc, uint64_t addr, const struct fw_atomic *op,
		     uint64_t *original)
{
	uint32_t bytes = hw_atomic_bytes(op->type);
	uint64_t value;

	if (proc->dead || !sim_mem_reach(proc, addr, bytes))
		return -EFAULT;
	*original = 0;
	memcpy(original, (const void *)(uintptr_t)addr, bytes);
	if (fw_atomic_result(op, *original, &value))
		memcpy((void *)(uintptr_t)addr, &value, bytes);
	return 0;
}

static void settle_write(struct sim_proc *proc)
{
	struct sim_late_write *write = &proc->late_write;

	if (!write->data)
		return;
	if (!proc->dead && sim_mem_reach(proc, write->addr, write->bytes))
		memcpy((void *)(uintptr_t)write->addr, write->data, write->bytes);
	free(write->data);
	write->data = NULL;
}

void sim_proc_settle(struct sim_proc *proc)
{
	struct sim_late *late = &proc->late;

	settle_write(proc);

	if (!late->open || late->over)
		return;
	late->over = true;
	late->result = carry_out(proc, late->addr, &late->op, &late->original);
}

static bool write_is_late(struct sim_shard *shard, struct sim_proc *proc)
{
	if (proc->late_write.data && shard->nic->sim->now_ns >= proc->late_write.due_ns)
		settle_write(proc);
	return proc->late_write.data;
}

static uint64_t host_late(void *ctx, uint32_t client, uint64_t since)
{
	struct sim_shard *shard = ctx;
	struct sim_proc *proc = sim_shard_proc(shard, client);

	if (!proc || proc->dead || !write_is_late(shard, proc))
		return 0;
	return !since || since == proc->late_write.number ? proc->late_write.number : 0;
}

/*
 * True if a page is not available within a core's waiting time, or an atomic waits for one; drawn
 * only if requested.
 */
static bool host_is_busy(struct sim_shard *shard, struct sim_proc *proc)
{
	if (proc->late.open && shard->nic->sim->now_ns >= proc->late.due_ns)
		sim_proc_settle(proc);
	return (proc->late.open && !proc->late.over) || write_is_late(shard, proc) ||
	       sim_prng_chance(&shard->port_prng, shard->nic->sim->config.host_busy_ppm);
}

static int host_read(void *ctx, uint32_t client, void *dst, uint64_t addr, uint32_t bytes)
{
	struct sim_shard *shard = ctx;
	struct sim_proc *proc = sim_shard_proc(shard, client);

	if (!proc || proc->dead || !sim_mem_reach(proc, addr, bytes)) {
		shard->nic->counts.host_faults++;
		return -EFAULT;
	}
	if (host_is_busy(shard, proc))
		return -EBUSY;
	memcpy(dst, (const void *)(uintptr_t)addr, bytes);
	return 0;
}

static void begin_late_write(struct sim_shard *shard, struct sim_proc *proc, uint64_t addr,
			     const void *src, uint32_t bytes)
{
	struct sim_late_write *write = &proc->late_write;

	write->data = malloc(bytes);
	assert(write->data);
	memcpy(write->data, src, bytes);
	write->addr = addr;
	write->bytes = bytes;
	write->number++;
	write->due_ns = shard->nic->sim->now_ns + sim_prng_range(&shard->port_prng, 1, LATE_MAX_NS);
}

static int host_write(void *ctx, uint32_t client, uint64_t addr, const void *src, uint32_t bytes)
{
	struct sim_shard *shard = ctx;
	struct sim_proc *proc = sim_shard_proc(shard, client);

	if (!proc || proc->dead || !sim_mem_reach(proc, addr, bytes)) {
		shard->nic->counts.host_faults++;
		return -EFAULT;
	}
	if (!host_is_busy(shard, proc)) {
		memcpy((void *)(uintptr_t)addr, src, bytes);
		return 0;
	}
	/* A write that was given up may still be carried out, but none beside another access. */
	if ((!proc->late.open || proc->late.over) && !proc->late_write.data &&
	    sim_prng_chance(&shard->port_prng, LATE_PPM))
		begin_late_write(shard, proc, addr, src, bytes);
	return -EBUSY;
}

static int host_atomic(void *ctx, uint32_t client, uint64_t addr, const struct fw_atomic *op,
		       uint64_t *original)
{
	struct sim_shard *shard = ctx;
	struct sim_proc *proc = sim_shard_proc(shard, client);

	if (!proc || proc->dead || !sim_mem_reach(proc, addr, hw_atomic_bytes(op->type))) {
		shard->nic->counts.host_faults++;
		return -EFAULT;
	}
	assert(!(addr % hw_atomic_bytes(op->type)));
	assert(!proc->late.open || !"the result of the atomic before was not taken");
	if (!host_is_busy(shard, proc))
		return carry_out(proc, addr, op, original);
	if (!sim_prng_chance(&shard->port_prng, LATE_PPM))
		return -EBUSY;
	proc->late = (struct sim_late){
	    .open = true,
	    .due_ns = shard->nic->sim->now_ns + sim_prng_range(&shard->port_prng, 1, LATE_MAX_NS),
	    .addr = addr,
	    .op = *op,
	};
	return -EINPROGRESS;
}

static int host_atomic_over(void *ctx, uint32_t client, uint64_t *original)
{
	struct sim_shard *shard = ctx;
	struct sim_proc *proc = sim_shard_proc(shard, client);

	if (!proc || proc->dead)
		return -EFAULT;
	assert(proc->late.open || !"no atomic was given up");
	if (shard->nic->sim->now_ns >= proc->late.due_ns)
		sim_proc_settle(proc);
	if (!proc->late.over)
		return -EBUSY;
	proc->late.open = false;
	*original = proc->late.original;
	return proc->late.result;
}

/* Destination of the next piece of an outgoing frame, and the CRC32C so far. */
struct gather {
	struct sim_pkt *pkt;
	uint8_t *at;
	uint32_t left;
	uint32_t crc;
	bool in_crc;
	bool no_crc; /* it is spoilt before it is read, and no digest has it */
};

/* Copies one piece. Returns 0 or -EFAULT. */
static int gather_piece(struct sim_shard *shard, const struct fw_tx_frame *frame,
			const struct fw_tx_seg *seg, struct gather *g)
{
	int rc = 0;

	assert(seg->bytes <= g->left || !"fw_tx_frame.bytes is less than its pieces");
	if (seg->kind == FW_TX_HDR) {
		assert(seg->addr <= FW_TX_HDR_BYTES && seg->bytes <= FW_TX_HDR_BYTES - seg->addr);
		memcpy(g->at, frame->hdr + seg->addr, seg->bytes);
	} else if (seg->kind == FW_TX_MEM) {
		if (seg->bytes)
			memcpy(g->at, seg->mem, seg->bytes);
	} else {
		assert(seg->kind == FW_TX_HOST);
		rc = host_read(shard, seg->client, g->at, seg->addr, seg->bytes);
	}
	if (rc)
		return rc;
	if (seg->flags & FW_TX_F_CRC_BEGIN) {
		g->crc = FW_CRC32C_INIT;
		g->in_crc = true;
	}
	if (g->in_crc && !g->no_crc)
		g->crc = sim_crc32c(g->crc, g->at, seg->bytes);
	g->at += seg->bytes;
	g->left -= seg->bytes;
	if (seg->flags & FW_TX_F_CRC_END) {
		struct be32 wire = fw_crc32c_wire(g->crc);

		assert(g->in_crc && g->left >= sizeof(wire));
		memcpy(g->at, &wire, sizeof(wire));
		sim_pkt_crc(g->pkt, (uint32_t)(g->at - g->pkt->data));
		g->at += sizeof(wire);
		g->left -= sizeof(wire);
		g->in_crc = false;
	}
	return 0;
}

/*
 * Computes the TCP checksum over everything from csum_start on, including the pseudo header's sum
 * in its place.
 */
static void put_checksum(const struct fw_tx_frame *frame, uint8_t *data)
{
	uint32_t start = frame->csum_start;
	struct be16 sum;

	if (!start)
		return;
	assert(start < frame->bytes && frame->csum_at >= start &&
	       frame->csum_at + sizeof(sum) <= frame->bytes);
	sum = be16_put(wire_sum_fold(wire_sum_add(0, data + start, frame->bytes - start)));
	memcpy(data + frame->csum_at, &sum, sizeof(sum));
}

/* run: number of the run that it belongs to, 0: none; run_at: its place there. */
static void send_packet(struct sim_shard *shard, struct fw_tx_frame *frame, uint32_t run,
			uint32_t run_at)
{
	struct sim_nic *nic = shard->nic;
	/* A MAC pads short frames. */
	uint32_t bytes = frame->bytes < WIRE_ETH_MIN_BYTES ? WIRE_ETH_MIN_BYTES : frame->bytes;
	struct sim_pkt *pkt = sim_pkt_new(nic->sim, NULL, bytes);
	struct gather g = {.pkt = pkt,
			   .at = pkt->data,
			   .left = frame->bytes,
			   .no_crc = nic->sim->config.no_digest && nic->sim->config.no_crc &&
				     !nic->sim->doubtful};
	uint32_t i;

	assert(frame->num_seg && frame->num_seg <= FW_TX_SEGS_MAX);
	assert(frame->bytes <= sizeof(struct wire_eth) + nic->mtu || !"frame exceeds the MTU");
	memset(pkt->data + frame->bytes, 0, bytes - frame->bytes);
	frame->status = 0;
	for (i = 0; i < frame->num_seg && !frame->status; i++)
		frame->status = gather_piece(shard, frame, &frame->seg[i], &g);
	if (frame->status) {
		sim_pkt_free(nic->sim, pkt);
		return;
	}
	assert(!g.left || !"fw_tx_frame.bytes is more than its pieces");
	put_checksum(frame, pkt->data);
	sim_pkt_trust(nic->sim, pkt, frame->csum_start ? frame->csum_at : 0);
	sim_loan_take(shard, frame, pkt);
	pkt->run = run;
	pkt->run_at = run_at;
	sim_shard_pay_tx(shard, bytes);
	if (frame->flags & FW_TX_F_ALSO_LOOP)
		sim_link_loop(nic, sim_pkt_twin(nic->sim, pkt));
	if (frame->flags & FW_TX_LOOP)
		sim_link_loop(nic, pkt);
	else
		sim_link_tx(nic, pkt,
			    shard->tx_at_ns > nic->sim->now_ns ? shard->tx_at_ns : nic->sim->now_ns,
			    frame->flags & FW_TX_F_CONTROL);
}

static void send_frame(struct sim_shard *shard, struct fw_tx_frame *frame)
{
	struct fw_tx_frame packet;
	struct fw_run run;
	uint32_t i;

	if (frame->run <= 1) {
		send_packet(shard, frame, 0, 0);
		return;
	}
	run = sim_run_of(frame);
	if (!++shard->nic->sim->runs)
		++shard->nic->sim->runs;
	frame->status = 0;
	for (i = 0; i < run.packets; i++) {
		sim_run_packet(frame, &run, i, &packet);
		send_packet(shard, &packet, shard->nic->sim->runs, i);
		assert(!packet.status);
	}
}

static uint32_t tx_room(void *ctx)
{
	struct sim_shard *shard = ctx;
	uint32_t backlog = sim_link_backlog(shard->nic, shard->nic->sim->now_ns);
	uint32_t max = shard->nic->sim->config.tx_queue_frames;

	return backlog < max ? max - backlog : 0;
}

/* Control frames and frames to the NIC itself do not use the line's queue. */
static uint32_t tx_burst(void *ctx, struct fw_tx_frame *frames, uint32_t n)
{
	struct sim_shard *shard = ctx;
	uint32_t i;

	for (i = 0; i < n; i++) {
		if (!(frames[i].flags & (FW_TX_LOOP | FW_TX_F_CONTROL)) && !tx_room(shard))
			break;
		send_frame(shard, &frames[i]);
	}
	return i;
}

static void irq(void *ctx, uint32_t client, uint32_t eq)
{
	struct sim_shard *shard = ctx;
	struct sim_proc *proc = sim_shard_proc(shard, client);

	shard->nic->counts.irqs++;
	if (proc)
		sim_proc_irq(proc, eq);
}

static void cmd_done(void *ctx, uint32_t client, const struct hw_cmd_resp *resp)
{
	struct sim_proc *proc = sim_shard_proc(ctx, client);

	if (proc)
		sim_proc_answer(proc, resp);
}

static void detached(void *ctx, uint32_t client)
{
	sim_shard_detached(ctx, client);
}

static void mem_unmap(void *ctx, uint32_t client, void *mapping)
{
	bool found = sim_mem_unmap(ctx, client, mapping);

	assert(found || !"mem_unmap() of what was not given with REG_MR");
	(void)found;
}

/* Released pages read as zero, like those of a new arena or BAR. */
static void release(uint8_t *base, size_t whole, uint8_t *addr, size_t bytes)
{
	assert(addr >= base && (size_t)(addr - base) <= whole &&
	       bytes <= whole - (size_t)(addr - base));
	assert(!((uintptr_t)addr % PAGE_BYTES) && !(bytes % PAGE_BYTES));
	(void)base, (void)whole;
	if (bytes)
		madvise(addr, bytes, MADV_DONTNEED);
}

static void arena_release(void *ctx, void *addr, size_t bytes)
{
	struct sim_shard *shard = ctx;

	release(shard->arena, shard->arena_bytes, addr, bytes);
}

static uint64_t random64(void *ctx)
{
	struct sim_shard *shard = ctx;
	uint64_t x = sim_prng_next(&shard->port_prng);

	/*
	 * Sets bits of the low half, from which the firmware derives counting numbers. The upper
	 * half is used for identifiers (epochs, incarnations); with few values they would collide,
	 * which real ones do not.
	 */
	if (shard->nic->sim->config.wrap_soon)
		x |= WRAP_ONES;
	return x;
}

void sim_port_fill(struct sim_shard *shard, struct fw_port *port)
{
	*port = (struct fw_port){
	    .ctx = shard,
	    .rx_burst = rx_burst,
	    .rx_free = rx_free,
	    .rx_release = rx_release,
	    .rx_copy = rx_copy,
	    .tx_burst = tx_burst,
	    .tx_settle = shard->nic->sim->config.borrow ? sim_loan_settle : NULL,
	    .tx_settle_mem = shard->nic->sim->config.borrow ? sim_loan_settle_mem : NULL,
	    .tx_run = shard->nic->sim->config.borrow ? sim_run_limit : NULL,
	    .tx_room = shard->nic->sim->config.tx_room ? tx_room : NULL,
	    .host_read = host_read,
	    .host_write = host_write,
	    .host_atomic = host_atomic,
	    .host_atomic_over = host_atomic_over,
	    .host_late = host_late,
	    .irq = irq,
	    .cmd_done = cmd_done,
	    .detached = detached,
	    .mem_unmap = mem_unmap,
	    .mac_filter = sim_mac_filter,
	    .cm_ports = shard->nic->cm_ports,
	    .arena_release = arena_release,
	    .random64 = random64,
	    .crc32c = sim_crc32c,
	    .copy_crc32c = sim_copy_crc32c,
	};
}
