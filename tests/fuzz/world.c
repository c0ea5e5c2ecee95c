/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NICs, wire, time and the region of world.h; the port of the firmware (nic_fw/fw_port.h).
 *
 * The region is a memfd: mapped shared while a target sets up, privately afterwards, so that
 * MADV_DONTNEED brings back what was set up.
 */
#include "tests/fuzz/world.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "nic_fw/tcp/tcp_flow.h"
#include "tests/fuzz/heap.h"
#include "tests/bench/loan.h"
#include "tests/bench/pool.h"

enum {
	PAGE = 4096,
	TX_FULL_TURNS = 50,
	TX_FULL_NS = 100000,
	TURN_NS = 4000, /* shortest time of a turn of both and the wire between them */
};

/* The same in every run, so that a find is the same, too. */
#define REGION_ADDR ((void *)UINT64_C(0x200000000000))

struct world *w;

static struct bench_frame inboxes[W_NICS][W_INBOX];
static int region_fd = -1;
static size_t region_bytes;
static bool kept;

/* Prints the state at a find. */
static void show_nic(uint32_t i)
{
	struct fw_nic *nic = w->nic[i].fw;
	uint32_t k;

	fprintf(stderr, "nic %u: now %llu next %llu inbox %u sched %d ready %d tx_room %u\n", i,
		(unsigned long long)w->wire.now_ns, (unsigned long long)fw_next_timer_ns(nic),
		w->nic[i].port.inbox_count, !fw_list_empty(&nic->host.sched_qps),
		!fw_list_empty(&nic->rd.ready), w->nic[i].port.tx_room);
	for (k = 0; k < nic->rd.session_ids.high; k++) {
		struct rd_session copy;
		const struct rd_session *s;

		if (!nic->rd.peers[k].used)
			continue;
		s = rd_rest_view(nic, &nic->rd.peers[k], &copy);
		fprintf(stderr,
			"  session %08x state %u tx %x..%x lost %u sent %u cwnd %u rx %x..%x ack "
			"due %d flows %d to send %d\n",
			s->peer_ip, s->state, s->tx_una, s->tx_psn, s->lost, s->sent, s->cwnd,
			s->rx_psn, s->rx_high, s->ack_due, !fw_list_empty(&s->all_flows),
			!fw_list_empty(&s->flows));
	}
	for (k = 0; k < nic->host.qp_ids.high; k++) {
		const struct fw_qp *qp = &nic->host.qps[k];

		if (qp->used)
			fprintf(stderr,
				"  qp %x type %u state %u sq %u..%u..%u outstanding %u blocked %d "
				"flows %d responses %u\n",
				qp->qpn, qp->type, qp->state, qp->sq_cons, qp->sq_next, qp->sq_prod,
				qp->outstanding, qp->sq_blocked, !fw_list_empty(&qp->flows),
				qp->responder_slots);
	}
}

static void show_flows(const struct fw_nic *nic)
{
	const struct tcp_flow *f;
	uint32_t k, at;

	for (k = 0; k < TCP_HASH_SIZE; k++)
		for (at = nic->tcp.hash[k]; at; at = f->hash_next) {
			f = fw_pool_at(&nic->tcp.flows, at - 1);
			fprintf(stderr,
				"  tcp %u-%u state %u flags %x snd %x..%x wnd %u wl1 %x rcv %x..%x "
				"limit %x timer %u heard %llu\n",
				f->local_port, f->peer_port, f->state, f->flags, f->snd_una,
				f->snd_nxt, f->snd_wnd, f->snd_wl1, f->rcv_nxt, f->rcv_up,
				f->rcv_limit, f->loss_timer, (unsigned long long)f->heard_ns);
		}
}

static void show(void)
{
	uint32_t i;

	for (i = 0; i < W_NICS && w && w->nic[i].fw; i++) {
		show_nic(i);
		show_flows(w->nic[i].fw);
	}
}

/* ---- frames ------------------------------------------------------------------------------ */

void world_inject(uint32_t nic, const void *frame, uint32_t bytes)
{
	bench_wire_inject(&w->wire, nic, frame, bytes);
}

static enum bench_verdict on_wire(struct bench_wire *wire, struct bench_frame *frame, uint32_t from)
{
	struct w_copy *copy = &w->copy[w->history++ % W_HISTORY];

	copy->bytes = frame->n;
	copy->from = from;
	memcpy(copy->b, frame->b, frame->n);
	if (!w->fated)
		return BENCH_PASS;
	w->fated--;
	return w->fate == BENCH_KEEP && wire->num_kept == W_KEPT ? BENCH_PASS : w->fate;
}

/* ---- the port ---------------------------------------------------------------------------- */

static void meanwhile(void)
{
	if (w->meanwhile)
		w->meanwhile();
}

static struct w_proc *proc_of(const void *port, uint32_t client)
{
	uint32_t i;

	for (i = 0; i < W_PROCS; i++) {
		struct w_proc *p = &w->proc[i];

		if (p->attached && p->client == client && &w->nic[p->nic].port == port)
			return p;
	}
	return NULL;
}

/* Memory of a process as system calls reach it: NULL where it is not mapped. */
static void *host_mem(struct bench_port *port, uint32_t client, uint64_t addr, uint32_t bytes)
{
	struct w_proc *p = proc_of(port, client);
	uint64_t base;

	W_CHECK(p, "memory of a process that is gone was asked for");
	base = (uintptr_t)p->mem;
	if (p->host_fault || addr < base || addr - base > W_MEM_BYTES ||
	    bytes > W_MEM_BYTES - (addr - base))
		return NULL;
	return p->mem + (addr - base);
}

static uint32_t tx_room(void *ctx)
{
	struct w_nic *nic = ctx;

	/*
	 * A full queue drains after a while. Room for one frame counts as none, since a sender of
	 * two waits for both.
	 */
	if (nic->port.tx_room >= 2) {
		nic->tx_asked = 0;
		return nic->port.tx_room;
	}
	if (!nic->tx_asked)
		nic->tx_full_ns = w->wire.now_ns;
	if (++nic->tx_asked >= TX_FULL_TURNS || w->wire.now_ns - nic->tx_full_ns >= TX_FULL_NS)
		nic->port.tx_room = UINT32_MAX;
	return nic->port.tx_room;
}

static void irq(void *ctx, uint32_t client, uint32_t eq)
{
	struct w_proc *p = proc_of(ctx, client);

	W_CHECK(p && !p->tool && eq < HW_MAX_EQ_PER_CLIENT, "an interrupt for nobody");
	p->irqs++;
}

static void cmd_done(void *ctx, uint32_t client, const struct hw_cmd_resp *resp)
{
	W_CHECK(proc_of(ctx, client), "an answer for nobody");
	if (resp->tag == w->pending_tag)
		w->done = *resp;
	w->cmds_done++;
}

static void mem_unmap(void *ctx, uint32_t client, void *mapping)
{
	struct w_nic *nic = ctx;
	const struct w_proc *p = proc_of(nic, client);

	W_CHECK(p && mapping == p->mem, "a mapping was given back that nobody gave");
	W_CHECK(nic->maps_given--, "a mapping was given back twice");
	W_CHECK(!bench_loan_reaches(&nic->port, mapping, W_MEM_BYTES),
		"a mapping was given back that a frame under way reads");
}

/* Bytes that the kept world has not touched are zero: cheaper than to write zeroes. */
static void arena_release(void *ctx, void *addr, size_t bytes)
{
	const struct w_nic *nic = ctx;
	const uint8_t *heap = nic->fw ? nic->fw->goal.heap.base : NULL;

	if (kept && (const uint8_t *)addr >= heap + nic->heap_kept &&
	    (const uint8_t *)addr < heap + GOAL_HEAP_BYTES && !((uintptr_t)addr % PAGE)) {
		madvise(addr, bytes, MADV_DONTNEED);
	} else {
		heap_open(addr, bytes);
		memset(addr, 0, bytes);
	}
}

static void polled(struct bench_port *port)
{
	W_CHECK(!fw_lost_interrupts(port->nic), "no interrupt will tell of an event");
}

/* ---- region ------------------------------------------------------------------------------ */

static void make_nic(uint32_t i)
{
	struct fw_config config = {
	    .name = "weft0",
	    .mac = {0x02, 0x77, 0, 0, 0, (uint8_t)(1 + i)},
	    .ip_prefix = 24,
	    .nic_index = (uint8_t)i,
	    .num_shards = 1,
	    .mtu = W_MTU,
	    .ip = htonl(0x0a4d0001 + i),
	    .gateway = htonl(0x0a4d00fe),
	    .nic_ip = {htonl(0x0a4d0001), htonl(0x0a4d0002), htonl(0x0a4d0063)},
	    .hash_secret = BENCH_HASH_SECRET,
	    .bundle = true,
	};
	struct w_nic *nic = &w->nic[i];
	struct fw_port port = bench_port_table(&nic->port);

	port.tx_room = tx_room;
	port.irq = irq;
	port.cmd_done = cmd_done;
	port.mem_unmap = mem_unmap;
	port.arena_release = arena_release;
	bench_port_init(&nic->port);
	nic->port.max_bytes = sizeof(struct wire_eth) + W_MTU;
	nic->port.mem = host_mem;
	nic->port.meanwhile = meanwhile;
	/* PSNs and epochs start just below 2^32, so that they wrap early. */
	nic->port.shared_random = &w->random;
	/* The size is fixed: a grown inbox would have its address in the region alone. */
	nic->port.inbox_max = nic->port.inbox_size = W_INBOX;
	nic->port.inbox = inboxes[i];
	bench_wire_join(&w->wire, &nic->port);
	w->nic[i].fw = fw_init(&config, &port, w->nic[i].arena, fw_arena_bytes());
	W_CHECK(nic->fw, "fw_init() refused");
	nic->port.nic = nic->fw;
	fw_now(w->nic[i].fw, w->wire.now_ns);
}

static uint8_t *carve(uint8_t **at, size_t bytes)
{
	uint8_t *p = *at;

	bytes = (bytes + PAGE - 1) / PAGE * PAGE;
	ASAN_POISON_MEMORY_REGION(p + bytes, W_GUARD_BYTES);
	*at = p + bytes + W_GUARD_BYTES;
	return p;
}

void world_begin(void)
{
	size_t guarded = W_GUARD_BYTES + PAGE;
	uint8_t *at;
	uint32_t i;

	region_bytes = sizeof(*w) + W_NICS * fw_arena_bytes() +
		       (size_t)W_PROCS * (W_BAR_BYTES + W_MEM_BYTES) +
		       guarded * (1 + W_NICS + 2 * W_PROCS);
	region_bytes = (region_bytes + PAGE - 1) / PAGE * PAGE;
	region_fd = memfd_create("fuzz-world", MFD_CLOEXEC);
	W_CHECK(region_fd >= 0 && !ftruncate(region_fd, (off_t)region_bytes), "no memory");
	at = mmap(REGION_ADDR, region_bytes, PROT_READ | PROT_WRITE,
		  MAP_SHARED | MAP_FIXED_NOREPLACE, region_fd, 0);
	W_CHECK(at == REGION_ADDR, "the region's address is taken");
	w = (void *)carve(&at, sizeof(*w));
	bench_on_fail = show;
	w->wire.now_ns = W_S;
	w->wire.turn_ns = TURN_NS;
	w->wire.busy_ns = W_US;
	w->wire.by_mac = true;
	w->wire.filter = on_wire;
	w->wire.polled = polled;
	w->random = 0u - 16;
	for (i = 0; i < W_PROCS; i++) {
		w->proc[i].bar = carve(&at, W_BAR_BYTES);
		w->proc[i].mem = carve(&at, W_MEM_BYTES);
	}
	for (i = 0; i < W_NICS; i++) {
		w->nic[i].arena = carve(&at, fw_arena_bytes());
		make_nic(i);
	}
}

void world_keep(void)
{
	const void *at;
	uint32_t i;

	world_settle();
	for (i = 0; i < W_PROCS; i++) {
		struct w_proc *p = &w->proc[i];

		if (p->attached)
			p->bar_kept = w->nic[p->nic].fw->host.clients[p->client].bar.high;
	}
	for (i = 0; i < W_NICS; i++)
		w->nic[i].heap_kept = w->nic[i].fw->goal.heap.buddy.high;
	heap_keep();
	kept = true;
	at = mmap(w, region_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, region_fd, 0);
	W_CHECK(at == w, "the region cannot be mapped privately");
}

void world_fresh_bar(struct w_proc *p)
{
	ASAN_UNPOISON_MEMORY_REGION(p->bar, W_BAR_BYTES);
	if (!kept)
		return;
	madvise(p->bar, W_BAR_BYTES, MADV_DONTNEED);
	memset(p->bar, 0, p->bar_kept);
}

void world_lend(bool lends)
{
	uint32_t i;

	for (i = 0; i < W_NICS; i++)
		w->nic[i].port.lends = lends;
}

void world_close_memory(struct w_proc *p)
{
	ASAN_POISON_MEMORY_REGION(p->mem, W_MEM_BYTES);
}

void world_open_memory(struct w_proc *p)
{
	ASAN_UNPOISON_MEMORY_REGION(p->mem, W_MEM_BYTES);
}

static void each_pool(void (*fn)(struct fw_pool *pool))
{
	for (uint32_t i = 0; i < W_NICS; i++)
		bench_pool_each(w->nic[i].fw, fn);
}

/* The free part of the kept world is poisoned again, as fw_pool_put() had left it. */
static void poison_free(struct fw_pool *pool)
{
	uint32_t i = pool->free;

	while (i != FW_NONE) {
		uint8_t *elem = fw_pool_at(pool, i);

		memcpy(&i, elem, sizeof(i));
		bench_pool_poison(pool, elem);
	}
}

void world_reset(void)
{
	uint32_t i;

	for (i = 0; i < W_NICS; i++)
		bench_port_clear(&w->nic[i].port);
	bench_wire_forget(&w->wire);
	each_pool(bench_pool_unpoison);
	for (i = 0; i < W_NICS; i++)
		heap_open(w->nic[i].fw->goal.heap.base, w->nic[i].fw->goal.heap.buddy.high);
	for (i = 0; i < W_PROCS; i++) {
		ASAN_UNPOISON_MEMORY_REGION(w->proc[i].bar, W_BAR_BYTES);
		world_open_memory(&w->proc[i]);
	}
	W_CHECK(!madvise(w, region_bytes, MADV_DONTNEED), "the region cannot be reset");
	each_pool(poison_free);
	for (i = 0; i < W_NICS; i++)
		heap_restore(w->nic[i].fw);
}

/* ---- time -------------------------------------------------------------------------------- */

uint32_t world_poll(uint32_t nic)
{
	return bench_wire_poll(&w->wire, nic);
}

void world_settle(void)
{
	bench_wire_settle(&w->wire);
}

void world_run(uint64_t ns, bool (*done)(void))
{
	uint64_t end_ns = w->wire.now_ns + ns;

	if (!done || !bench_wire_until(&w->wire, ns, done))
		bench_wire_run(&w->wire, end_ns > w->wire.now_ns ? end_ns - w->wire.now_ns : 0);
}

/* ---- the end ----------------------------------------------------------------------------- */

/* A NIC is always in one group, that of all systems (igmp.c). */
static uint32_t for_ever(const struct fw_pool *pool)
{
	return pool == &w->nic[0].fw->net.mac_filters || pool == &w->nic[1].fw->net.mac_filters;
}

static void check_pool(struct fw_pool *pool)
{
	W_CHECK(pool->used == for_ever(pool), "%u elements of %u bytes are lost from a pool",
		pool->used - for_ever(pool), pool->elem_bytes);
}

/*
 * Streams and connections whose process is gone are waited for; ends linger. A communicator repairs
 * multicasts for a while after its process (goal_orphan.c).
 */
static bool no_streams(void)
{
	uint32_t i, n = 0;

	for (i = 0; i < W_NICS; i++)
		n += fw_ids_used(&w->nic[i].fw->esp.ids) + fw_ids_used(&w->nic[i].fw->cm.ids) +
		     w->nic[i].fw->tcp.num_flows + w->nic[i].fw->tcp.syns.used +
		     fw_ids_used(&w->nic[i].fw->goal.comm_ids);
	return !n;
}

void world_check_empty(void)
{
	uint32_t i, k;

	/* A connection may have to time out its peer, and then stays in TIME-WAIT. */
	world_run(300 * W_S, no_streams);
	W_CHECK(no_streams(), "streams, endpoints or communicators outlive their processes");
	for (i = 0; i < W_NICS; i++) {
		struct w_nic *n = &w->nic[i];
		struct fw_nic *fw = n->fw;

		for (k = 0; k < fw->rd.session_ids.high; k++)
			if (fw->rd.peers[k].used)
				rd_session_fail(fw, rd_rest_wake(fw, &fw->rd.peers[k]),
						HW_STATUS_SUCCESS, HW_VENDOR_ERR_NONE);
		while (rd_ending_pending(fw)) {
			slice_allow(fw);
			rd_ending_run(fw);
		}
		for (k = 0; k < fw->rd.session_ids.high; k++)
			if (fw->rd.peers[k].used)
				rd_session_release(fw, rd_rest_wake(fw, &fw->rd.peers[k]));
		W_CHECK(!n->port.rx_out, "%u frames were not given back", n->port.rx_out);
		W_CHECK(!n->maps_given, "%u mappings were not given back", n->maps_given);
		W_CHECK(!fw_ids_used(&fw->host.pd_ids) && !fw_ids_used(&fw->host.mr_ids) &&
			    !fw_ids_used(&fw->host.cq_ids) && !fw_ids_used(&fw->host.eq_ids) &&
			    !fw_ids_used(&fw->host.srq_ids) && !fw_ids_used(&fw->host.qp_ids) &&
			    !fw_ids_used(&fw->host.ah_ids) && !fw_ids_used(&fw->host.client_ids) &&
			    !fw_ids_used(&fw->goal.comm_ids) &&
			    !fw_ids_used(&fw->goal.schedule_ids) && !fw->goal.loads_active &&
			    !fw->goal.heap.buddy.used && !fw->host.ah_waiting &&
			    !fw->tag.records.used,
			"objects outlive their process");
	}
	each_pool(check_pool);
}
