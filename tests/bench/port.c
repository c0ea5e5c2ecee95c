/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fake port of port.h. Contract: nic_fw/fw_port.h.
 */
#include "tests/bench/port.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "nic_fw/base/crc32c.h"
#include "nic_fw/fw_nic.h"
#include "tests/bench/loan.h"

void (*bench_on_fail)(void);

/* The cookie of a received frame: its segments. */
struct segments {
	uint32_t num;
	uint8_t *seg[FW_RX_SEGS_MAX];
};

void bench_fail(const char *what, ...)
{
	va_list ap;

	va_start(ap, what);
	fputs("bench: ", stderr);
	vfprintf(stderr, what, ap);
	fputc('\n', stderr);
	va_end(ap);
	if (bench_on_fail)
		bench_on_fail();
	abort();
}

void *bench_map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	BENCH_CHECK(p != MAP_FAILED, "no memory");
	return p;
}

static void *copy_of(const void *data, uint32_t bytes)
{
	void *p = malloc(bytes ? bytes : 1);

	BENCH_CHECK(p, "no memory");
	memcpy(p, data, bytes);
	return p;
}

/* ---- frames for the NIC ------------------------------------------------------------------ */

/* The copy of the frame in the inbox; NULL: it is lost. */
static struct bench_frame *put(struct bench_port *port, const void *frame, uint32_t bytes,
			       uint64_t due_ns)
{
	uint32_t i;

	if (port->dead || (port->inbox_max && port->inbox_count >= port->inbox_max))
		return NULL;
	if (port->inbox_count == port->inbox_size) {
		port->inbox_size = port->inbox_size ? 2 * port->inbox_size : 64;
		port->inbox = realloc(port->inbox, port->inbox_size * sizeof(port->inbox[0]));
		BENCH_CHECK(port->inbox, "no memory");
	}
	for (i = port->inbox_count++; i && port->inbox[i - 1].due_ns > due_ns; i--)
		port->inbox[i] = port->inbox[i - 1];
	port->inbox[i] = (struct bench_frame){.b = copy_of(frame, bytes),
					      .n = bytes,
					      .to = port->number,
					      .flags = port->rx_flags,
					      .piece = port->piece,
					      .due_ns = due_ns};
	return &port->inbox[i];
}

void bench_port_put(struct bench_port *port, const void *frame, uint32_t bytes, uint64_t due_ns)
{
	(void)put(port, frame, bytes, due_ns);
}

void bench_port_lend(struct bench_port *port, const struct bench_frame *frame, uint64_t due_ns)
{
	struct bench_frame *slot = put(port, frame->b, frame->n, due_ns);

	if (slot)
		slot->loan = frame->loan;
}

static void forget(struct bench_port *port, uint32_t n)
{
	port->inbox_count -= n;
	if (n)
		memmove(port->inbox, port->inbox + n, port->inbox_count * sizeof(port->inbox[0]));
}

void bench_port_drop(struct bench_port *port, uint32_t i)
{
	BENCH_CHECK(i < port->inbox_count, "frame %u of %u in the inbox", i, port->inbox_count);
	free(port->inbox[i].b);
	port->inbox_count--;
	memmove(port->inbox + i, port->inbox + i + 1,
		(port->inbox_count - i) * sizeof(port->inbox[0]));
}

void bench_segment(const struct bench_frame *frame, struct fw_rx_frame *rx)
{
	struct segments *held = calloc(1, sizeof(*held));
	uint32_t at = 0;

	BENCH_CHECK(held, "no memory");
	memset(rx, 0, sizeof(*rx));
	rx->bytes = frame->n;
	rx->flags = frame->flags;
	rx->cookie = held;
	if (frame->loan.num) {
		bench_loan_pieces(frame, rx);
		rx->flags |= FW_RX_LENT;
		/* The pieces are not this port's to free. */
		held->seg[0] = (uint8_t *)(uintptr_t)rx->seg[0].data;
		if (rx->num_seg > frame->loan.num + 1)
			held->seg[1] = (uint8_t *)(uintptr_t)rx->seg[rx->num_seg - 1].data;
		held->num = 2;
		return;
	}
	do {
		uint32_t n = frame->n - at;

		if (frame->piece && !at && n > FW_RX_HDR_BYTES)
			n = FW_RX_HDR_BYTES;
		else if (frame->piece && at && n > frame->piece && held->num < FW_RX_SEGS_MAX - 1)
			n = frame->piece;
		held->seg[held->num] = copy_of(frame->b + at, n);
		rx->seg[held->num] = (struct fw_rx_seg){held->seg[held->num], n};
		rx->num_seg = ++held->num;
		at += n;
	} while (at < frame->n);
}

void bench_release(void *cookie)
{
	struct segments *held = cookie;

	while (held->num)
		free(held->seg[--held->num]);
	free(held);
}

static void meanwhile(const struct bench_port *port)
{
	if (port->meanwhile)
		port->meanwhile();
}

static uint32_t rx_burst(void *ctx, struct fw_rx_frame *frames, uint32_t n)
{
	struct bench_port *port = ctx;
	uint32_t i;

	meanwhile(port);
	for (i = 0; i < n && i < port->inbox_count; i++) {
		if (port->now_ns && port->inbox[i].due_ns > *port->now_ns)
			break;
		bench_loan_spoil(&port->inbox[i]);
		bench_segment(&port->inbox[i], &frames[i]);
		free(port->inbox[i].b);
	}
	forget(port, i);
	port->rx_out += i;
	return i;
}

static void rx_release(void *ctx, void *cookie)
{
	struct bench_port *port = ctx;

	BENCH_CHECK(port->rx_out--, "a frame is released that was not received");
	port->rx_freed++;
	bench_release(cookie);
}

static void rx_free(void *ctx, struct fw_rx_frame *frames, uint32_t n)
{
	while (n--)
		if (!(frames[n].flags & FW_RX_HELD))
			rx_release(ctx, frames[n].cookie);
}

static bool rx_copy(void *ctx, const struct fw_rx_frame *frame, struct fw_rx_frame *copy)
{
	struct bench_port *port = ctx;
	struct segments *held = calloc(1, sizeof(*held));
	uint32_t at = 0, i;

	BENCH_CHECK(held, "no memory");
	BENCH_CHECK(frame->flags & FW_RX_LENT, "a frame is copied that could be held");
	held->seg[held->num++] = malloc(frame->bytes);
	BENCH_CHECK(held->seg[0], "no memory");
	for (i = 0; i < frame->num_seg; at += frame->seg[i++].bytes)
		memcpy(held->seg[0] + at, frame->seg[i].data, frame->seg[i].bytes);
	BENCH_CHECK(at == frame->bytes, "a frame of %u bytes has %u", frame->bytes, at);
	*copy = (struct fw_rx_frame){
	    .seg = {{held->seg[0], frame->bytes}},
	    .num_seg = 1,
	    .bytes = frame->bytes,
	    .flags = frame->flags & ~(uint32_t)FW_RX_LENT,
	    .run = 1,
	    .cookie = held,
	};
	port->rx_out++;
	return true;
}

/* ---- memory of processes ----------------------------------------------------------------- */

static void *mem_of(struct bench_port *port, uint32_t client, uint64_t addr, uint32_t bytes)
{
	if (!port)
		return (void *)(uintptr_t)addr;
	meanwhile(port);
	if (port->host_fault)
		return NULL;
	return port->mem ? port->mem(port, client, addr, bytes) : (void *)(uintptr_t)addr;
}

/* An atomic of the process waits for its page. */
static bool is_late(const struct bench_port *port, uint32_t client)
{
	return port->host_late && client < BENCH_CLIENTS && port->late[client].open;
}

/* A write was given up and is not over. When it may be, it is carried out. */
static bool write_is_late(struct bench_port *port)
{
	struct bench_late_write *late = &port->late_write;

	if (late->mem && !port->host_writes_late) {
		memcpy(late->mem, late->data, late->bytes);
		late->mem = NULL;
	}
	return late->mem;
}

static void begin_late_write(struct bench_port *port, void *mem, const void *src, uint32_t bytes)
{
	struct bench_late_write *late = &port->late_write;

	BENCH_CHECK(bytes <= sizeof(late->data), "a late write of %u bytes", bytes);
	memcpy(late->data, src, bytes);
	late->number++;
	late->mem = mem;
	late->bytes = bytes;
}

static uint64_t host_late(void *ctx, uint32_t client, uint64_t since)
{
	struct bench_port *port = ctx;

	(void)client;
	if (!write_is_late(port))
		return 0;
	return !since || since == port->late_write.number ? port->late_write.number : 0;
}

static int host_read(void *ctx, uint32_t client, void *dst, uint64_t addr, uint32_t bytes)
{
	struct bench_port *port = ctx;
	const void *mem = mem_of(port, client, addr, bytes);

	port->host_calls++;
	if (!mem)
		return -FW_EFAULT;
	if (port->host_busy || is_late(port, client) || write_is_late(port))
		return -FW_EBUSY;
	memcpy(dst, mem, bytes);
	return 0;
}

static int host_write(void *ctx, uint32_t client, uint64_t addr, const void *src, uint32_t bytes)
{
	struct bench_port *port = ctx;
	void *mem = mem_of(port, client, addr, bytes);

	port->host_calls++;
	port->host_src = src;
	if (!mem)
		return -FW_EFAULT;
	if (port->host_busy || is_late(port, client) || write_is_late(port))
		return -FW_EBUSY;
	if (port->host_writes_late) {
		begin_late_write(port, mem, src, bytes);
		return -FW_EBUSY;
	}
	memcpy(mem, src, bytes);
	return 0;
}

static int carry_out(struct bench_port *port, uint32_t client, uint64_t addr,
		     const struct fw_atomic *op, uint64_t *original)
{
	uint32_t bytes = hw_atomic_bytes(op->type);
	void *mem = mem_of(port, client, addr, bytes);
	uint64_t value;

	if (!mem)
		return -FW_EFAULT;
	*original = 0;
	memcpy(original, mem, bytes);
	if (fw_atomic_result(op, *original, &value))
		memcpy(mem, &value, bytes);
	port->host_atomics++;
	return 0;
}

static int host_atomic(void *ctx, uint32_t client, uint64_t addr, const struct fw_atomic *op,
		       uint64_t *original)
{
	struct bench_port *port = ctx;

	port->host_calls++;
	BENCH_CHECK(!port->late[client].open, "an atomic before the result of the last");
	BENCH_CHECK(!(addr % hw_atomic_bytes(op->type)), "an atomic at an unaligned address");
	if (port->host_busy)
		return -FW_EBUSY;
	if (!port->host_late)
		return carry_out(port, client, addr, op, original);
	port->late[client] = (struct bench_late){true, addr, *op};
	return -FW_EINPROGRESS;
}

static int host_atomic_over(void *ctx, uint32_t client, uint64_t *original)
{
	struct bench_port *port = ctx;

	BENCH_CHECK(port->late[client].open, "no atomic was begun");
	if (port->host_late)
		return -FW_EBUSY;
	port->late[client].open = false;
	return carry_out(port, client, port->late[client].addr, &port->late[client].op, original);
}

static void mem_unmap(void *ctx, uint32_t client, void *mapping)
{
	struct bench_port *port = ctx;

	(void)client;
	if (port->num_unmaps < BENCH_UNMAPS)
		port->unmapped[port->num_unmaps] = mapping;
	port->num_unmaps++;
}

static void arena_release(void *ctx, void *addr, size_t bytes)
{
	(void)ctx;
	memset(addr, 0, bytes);
}

/* ---- frames of the NIC ------------------------------------------------------------------- */

int bench_assemble(struct bench_port *port, const struct fw_tx_frame *tx, uint32_t first,
		   uint8_t *out, uint32_t max)
{
	uint32_t i, crc = 0, at = 0;

	BENCH_CHECK(tx->num_seg <= FW_TX_SEGS_MAX, "a frame of %u segments", tx->num_seg);
	for (i = first; i < tx->num_seg; i++) {
		const struct fw_tx_seg *seg = &tx->seg[i];
		const uint8_t *src = seg->kind == FW_TX_HDR ? tx->hdr + seg->addr : seg->mem;

		if (seg->kind == FW_TX_HOST) {
			src = mem_of(port, seg->client, seg->addr, seg->bytes);
			if (!src)
				return -FW_EFAULT;
		}
		BENCH_CHECK(seg->bytes <= max - at, "a frame is longer than it says");
		if (seg->flags & FW_TX_F_CRC_BEGIN)
			crc = FW_CRC32C_INIT;
		if (seg->bytes)
			memcpy(out + at, src, seg->bytes);
		crc = fw_crc32c(crc, out + at, seg->bytes);
		at += seg->bytes;
		if (seg->flags & FW_TX_F_CRC_END) {
			struct be32 wire = fw_crc32c_wire(crc);

			BENCH_CHECK(sizeof(wire) <= max - at, "a frame is longer than it says");
			memcpy(out + at, &wire, sizeof(wire));
			at += (uint32_t)sizeof(wire);
		}
	}
	if (tx->csum_start && !first) {
		BENCH_CHECK(tx->csum_start <= tx->csum_at && tx->csum_at + 2u <= at,
			    "a frame's checksum is not in it");
		wire_sum_put(out, at, tx->csum_start, tx->csum_at);
	}
	return (int)at;
}

/* 0, or a negative errno: the frame was not sent. */
static int send_frame(struct bench_port *port, const struct fw_tx_frame *tx)
{
	struct bench_frame frame = {.n = tx->bytes, .flags = tx->flags};
	int bytes;

	BENCH_CHECK(!port->max_bytes || tx->bytes <= port->max_bytes, "a frame is over the MTU");
	frame.b = malloc(frame.n ? frame.n : 1);
	BENCH_CHECK(frame.b, "no memory");
	bytes = bench_assemble(port, tx, 0, frame.b, frame.n);
	if (bytes < 0) {
		free(frame.b);
		return bytes;
	}
	BENCH_CHECK((uint32_t)bytes == frame.n, "a frame of %d bytes says %u", bytes, frame.n);
	port->frames_sent++;
	if (port->lends)
		bench_loan_take(port, tx, &frame);
	if (port->sent)
		port->sent(port, &frame);
	else
		free(frame.b);
	return 0;
}

static uint32_t tx_burst(void *ctx, struct fw_tx_frame *frames, uint32_t n)
{
	struct bench_port *port = ctx;
	uint32_t i;

	port->tx_calls++;
	for (i = 0; i < n && port->tx_room; i++) {
		meanwhile(port);
		if (port->tx_room != UINT32_MAX)
			port->tx_room--;
		frames[i].status = send_frame(port, &frames[i]);
	}
	return i;
}

static void tx_settle(void *ctx)
{
	struct bench_port *port = ctx;

	port->settles++;
	port->settled = port->frames_sent;
	bench_loan_settle(port);
}

static void tx_settle_mem(void *ctx, const void *mem, size_t bytes)
{
	struct bench_port *port = ctx;

	port->settles_mem++;
	port->settled_mem = mem;
	port->settled_bytes = bytes;
	bench_loan_settle(port);
}

static uint32_t tx_room(void *ctx)
{
	const struct bench_port *port = ctx;

	return port->tx_room;
}

/* ---- notices ----------------------------------------------------------------------------- */

static void irq(void *ctx, uint32_t client, uint32_t eq)
{
	struct bench_port *port = ctx;

	port->num_irqs++;
	if (client < BENCH_CLIENTS)
		port->irqs[client][eq]++;
}

static void cmd_done(void *ctx, uint32_t client, const struct hw_cmd_resp *resp)
{
	struct bench_port *port = ctx;

	port->num_done++;
	port->done_client = client;
	port->done = *resp;
}

static void detached(void *ctx, uint32_t client)
{
	struct bench_port *port = ctx;

	port->num_detached++;
	port->last_detached = client;
}

static uint32_t mac_filter(void *ctx, const uint8_t mac[6], uint32_t ip, bool in)
{
	struct bench_port *port = ctx;

	memcpy(port->filter_mac, mac, sizeof(port->filter_mac));
	port->filter_ip = ip;
	port->filter_in = in;
	port->filter_calls++;
	return port->filter_others;
}

/* A number with two equal halves: for numbers that count up and for names. */
static uint64_t random64(void *ctx)
{
	struct bench_port *port = ctx;
	uint64_t *next = port->shared_random ? port->shared_random : &port->next_random;
	uint64_t n = (uint32_t)(*next)++;

	return n << 32 | n;
}

static uint32_t poll_cpu(void *ctx)
{
	const struct bench_port *port = ctx;

	return port->poll_cpu;
}

/* ---- the table --------------------------------------------------------------------------- */

void bench_port_init(struct bench_port *port)
{
	memset(port, 0, sizeof(*port));
	port->tx_room = UINT32_MAX;
}

void bench_port_clear(struct bench_port *port)
{
	while (port->inbox_count)
		free(port->inbox[--port->inbox_count].b);
}

void bench_port_free(struct bench_port *port)
{
	bench_port_clear(port);
	free(port->inbox);
	port->inbox = NULL;
	port->inbox_size = 0;
}

struct fw_port bench_port_table(struct bench_port *port)
{
	return (struct fw_port){
	    .ctx = port,
	    .rx_burst = rx_burst,
	    .rx_free = rx_free,
	    .rx_release = rx_release,
	    .rx_copy = rx_copy,
	    .tx_burst = tx_burst,
	    .tx_settle = tx_settle,
	    .tx_settle_mem = tx_settle_mem,
	    .tx_room = tx_room,
	    .host_read = host_read,
	    .host_write = host_write,
	    .host_atomic = host_atomic,
	    .host_atomic_over = host_atomic_over,
	    .host_late = host_late,
	    .irq = irq,
	    .cmd_done = cmd_done,
	    .detached = detached,
	    .mem_unmap = mem_unmap,
	    .mac_filter = mac_filter,
	    .arena_release = arena_release,
	    .poll_cpu = poll_cpu,
	    .random64 = random64,
	    .crc32c = fw_crc32c,
	    .copy_crc32c = fw_copy_crc32c,
	};
}
