/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tagged endpoints, call by call: two endpoints of this process, on two NICs. tests/int/tag.sh.
 *
 *	tag_calls NIC NIC
 */
#include <fcntl.h>

#include "tests/int/tag_end.h"

enum {
	MEM_BYTES = 10 << 20,
	RX = 5 << 20, /* where received messages go; what is sent lies before */
	SMALL_POOL_BYTES = 65536,
	RACES = 300,
};

struct calls {
	struct tag_end a, b;
	struct tag_peer to_b, from_a; /* b as a sees it, a as b sees it */
	uint64_t seed;
};

static void send_msg(struct calls *t, size_t bytes, uint64_t tag, uint32_t flags)
{
	t->seed++;
	tag_end_fill(t->a.h.mem, bytes, t->seed);
	tag_end_send(&t->a, &t->to_b, 0, bytes, tag, flags, t->seed);
}

static void wait_send_of(struct calls *t, enum weft_wc_opcode opcode)
{
	struct weft_wc wc = tag_end_wait(t->a.send_cq, "a send");

	tag_end_ok(wc);
	host_check(wc.opcode == opcode);
}

static void wait_send(struct calls *t)
{
	wait_send_of(t, WEFT_WC_TSEND);
}

/* Waits for the receive of a message with all its fields. */
static struct weft_wc wait_recv(struct calls *t, size_t bytes, uint64_t tag, uint64_t wr_id)
{
	struct weft_wc wc = tag_end_wait(t->b.recv_cq, "a receive");

	tag_end_ok(wc);
	host_check(wc.opcode == WEFT_WC_TRECV);
	host_check(wc.bytes == bytes && wc.msg_bytes == bytes);
	host_check(wc.tag == tag && wc.wr_id == wr_id);
	host_check(wc.src_qpn == t->a.qpn && wc.src_ip == t->a.ip && wc.qpn == t->b.qpn);
	return wc;
}

static void sizes(struct calls *t)
{
	static const uint32_t bytes[] = {0,     1,     63,    64,    65,      1400,    4096,
					 16384, 16385, 65536, 65537, 1 << 20, 4u << 20};
	const char *rx = t->b.h.mem + RX;

	for (size_t i = 0; i < 2 * sizeof(bytes) / sizeof(bytes[0]); i++) {
		bool expected = i % 2;
		uint32_t n = bytes[i / 2];
		uint64_t tag = UINT64_C(0xabcd000000000000) + i;
		struct weft_wc wc;

		memset(t->b.h.mem + RX, 0x5a, n);
		if (expected) {
			tag_end_recv(&t->b, &t->from_a, RX, n, tag, 0, 0, i);
			tag_end_await_posted(&t->b, 1);
		}
		send_msg(t, n, tag, i % 3 ? WEFT_TAG_DATA : 0);
		if (!expected) {
			tag_end_await_unexpected(&t->b, 1);
			tag_end_recv(&t->b, &t->from_a, RX, n, tag, 0, 0, i);
		}
		wc = wait_recv(t, n, tag, i);
		host_check(!!(wc.flags & WEFT_WC_WITH_DATA) == (i % 3 != 0));
		host_check(i % 3 == 0 || wc.data == ~tag);
		tag_end_check(rx, n, t->seed);
		wait_send(t);
	}
	host_check(tag_end_stats(&t->b).pool_used_bytes == 0);
}

/* The buffer is filled and both lengths are reported; the sender has no error. */
static void truncation(struct calls *t)
{
	static const uint32_t bytes[] = {5000, 200000};

	for (int i = 0; i < 4; i++) {
		struct weft_wc wc;
		bool expected = i % 2;

		memset(t->b.h.mem + RX, 0x5a, 200);
		if (expected)
			tag_end_recv(&t->b, NULL, RX, 100, 1, 0, 0, 5);
		tag_end_await_posted(&t->b, expected);
		send_msg(t, bytes[i / 2], 1, 0);
		if (!expected) {
			tag_end_await_unexpected(&t->b, 1);
			tag_end_recv(&t->b, NULL, RX, 100, 1, 0, 0, 5);
		}
		wc = tag_end_wait(t->b.recv_cq, "a receive that is too short");
		host_check(wc.status == WEFT_WC_LOC_LEN_ERR && wc.wr_id == 5);
		host_check(wc.bytes == 100 && wc.msg_bytes == bytes[i / 2]);
		tag_end_check(t->b.h.mem + RX, 100, t->seed);
		host_check(t->b.h.mem[RX + 100] == 0x5a);
		(void)tag_end_wait(t->a.send_cq, "the send of a long message");
	}
}

/* First posted that fits, first arrived that fits, whatever protocols mix. */
static void order(struct calls *t)
{
	static const uint32_t bytes[] = {300000, 8, 16384, 70000, 0, 20000};
	const uint64_t all = ~UINT64_C(0);
	uint32_t count = sizeof(bytes) / sizeof(bytes[0]), i;
	size_t at = RX;
	uint64_t first;

	/* Receives of all classes in turn; each fits every message. */
	for (int expected = 0; expected < 2; expected++) {
		size_t tx = 0;

		first = t->seed + 1;
		for (i = 0; i < count && expected; i++)
			tag_end_recv(&t->b, i % 2 ? &t->from_a : NULL, RX + i * 300000, 300000, 7,
				     i % 3 ? all : 0, 0, i);
		if (expected)
			tag_end_await_posted(&t->b, count);
		for (i = 0; i < count; i++) {
			t->seed++;
			tag_end_fill(t->a.h.mem + tx, bytes[i], t->seed);
			tag_end_send(&t->a, &t->to_b, tx, bytes[i], 7, 0, t->seed);
			tx += bytes[i];
		}
		if (!expected)
			tag_end_await_unexpected(&t->b, count);
		for (i = 0; i < count && !expected; i++)
			tag_end_recv(&t->b, i % 2 ? &t->from_a : NULL, RX + i * 300000, 300000, 7,
				     i % 3 ? all : 0, 0, i);
		for (i = 0; i < count; i++) {
			struct weft_wc wc = tag_end_wait(t->b.recv_cq, "a receive");

			tag_end_ok(wc);
			host_check(wc.bytes == bytes[wc.wr_id]);
			tag_end_check(t->b.h.mem + at + wc.wr_id * 300000, wc.bytes,
				      first + wc.wr_id);
		}
		for (i = 0; i < count; i++)
			wait_send(t);
	}
}

/* A wildcard takes what fits, and leaves the rest to later receives. */
static void wildcards(struct calls *t)
{
	tag_end_recv(&t->b, NULL, RX, 100, 0x10, 0x0f, 0, 1);
	tag_end_recv(&t->b, NULL, RX + 100, 100, 0x25, 0, 0, 2);
	tag_end_recv(&t->b, &t->from_a, RX + 200, 100, 0, ~UINT64_C(0), 0, 3);
	tag_end_recv(&t->b, NULL, RX + 300, 100, 0x17, 0, WEFT_TAG_MSG, 4);
	tag_end_await_posted(&t->b, 4);
	send_msg(t, 50, 0x20, 0); /* only the third */
	(void)wait_recv(t, 50, 0x20, 3);
	send_msg(t, 51, 0x25, 0);
	(void)wait_recv(t, 51, 0x25, 2);
	send_msg(t, 52, 0x17, WEFT_TAG_MSG); /* its own space */
	host_check(tag_end_wait(t->b.recv_cq, "an untagged message").wr_id == 4);
	send_msg(t, 53, 0x17, 0);
	(void)wait_recv(t, 53, 0x17, 1);
	tag_end_check(t->b.h.mem + RX, 53, t->seed);
	for (int i = 0; i < 4; i++)
		wait_send(t);
}

/* A synchronous send completes when it is matched, not before; later ones do not wait for it. */
static void synchronous(struct calls *t)
{
	struct weft_wc wc;

	for (uint32_t bytes = 0; bytes <= 100000; bytes += 50000) {
		send_msg(t, bytes, 1, WEFT_TAG_SYNC);
		tag_end_send(&t->a, &t->to_b, 0, 8, 2, WEFT_TAG_INLINE, 999);
		tag_end_recv(&t->b, &t->from_a, RX + 200000, 8, 2, 0, 0, 2);
		(void)wait_recv(t, 8, 2, 2);
		wc = tag_end_wait(t->a.send_cq, "the second send");
		host_check(wc.wr_id == 999);
		host_check(!tag_end_poll(t->a.send_cq, &wc));
		tag_end_recv(&t->b, &t->from_a, RX, 100000, 1, 0, 0, 3);
		(void)wait_recv(t, bytes, 1, 3);
		tag_end_check(t->b.h.mem + RX, bytes, t->seed);
		wait_send(t);
	}
}

/* Messages of at most min_free_bytes fit; each buffer ends with its last message. */
static void multi_receive(struct calls *t)
{
	uint32_t released = 0, done, number;
	struct weft_wc wc;

	tag_end_recv(&t->b, NULL, RX, 20000, 3, 0, WEFT_TAG_MULTI, 0);
	tag_end_recv(&t->b, NULL, RX + 20000, 20000, 3, 0, WEFT_TAG_MULTI, 20000);
	tag_end_await_posted(&t->b, 2);
	for (done = 0; released < 2; done++) {
		host_check(done < 100);
		send_msg(t, done * 100 % 1100, 3, 0);
		wait_send(t);
		wc = tag_end_wait(t->b.recv_cq, "a message of a multi-receive");
		tag_end_ok(wc);
		host_check(wc.opcode == WEFT_WC_TRECV && wc.wr_id == released * 20000);
		host_check(wc.bytes == done * 100 % 1100 && wc.msg_bytes == wc.bytes);
		host_check(wc.offset + wc.bytes <= 20000);
		tag_end_check(t->b.h.mem + RX + wc.wr_id + wc.offset, wc.bytes, t->seed);
		released += !!(wc.flags & WEFT_WC_RELEASED);
		host_check(!!(wc.flags & WEFT_WC_RELEASED) ==
			   (20000 - (wc.offset + wc.bytes) < 1000));
	}
	host_check(tag_end_stats(&t->b).posted == 0);
	/* A message that is longer than the rest is cut off. */
	tag_end_recv(&t->b, NULL, RX, 2000, 3, 0, WEFT_TAG_MULTI, 0);
	tag_end_await_posted(&t->b, 1);
	send_msg(t, 3000, 3, 0);
	wait_send(t);
	host_check(tag_end_wait(t->b.recv_cq, "a long message").status == WEFT_WC_LOC_LEN_ERR);
	tag_end_check(t->b.h.mem + RX, 2000, t->seed);
	/* A cancelled buffer is released too, once. */
	number = tag_end_recv(&t->b, NULL, RX, 20000, 3, 0, WEFT_TAG_MULTI, 9);
	tag_end_await_posted(&t->b, 1);
	send_msg(t, 300, 3, 0);
	wait_send(t);
	wc = wait_recv(t, 300, 3, 9);
	host_check(!(wc.flags & WEFT_WC_RELEASED));
	host_check(weft_tag_cancel(t->b.ep, number) == 0);
	wc = tag_end_wait(t->b.recv_cq, "a cancelled buffer");
	host_check(wc.status == WEFT_WC_WR_FLUSH_ERR && wc.wr_id == 9);
	host_check(wc.vendor_err == WEFT_VENDOR_ERR_CANCELED && wc.flags & WEFT_WC_RELEASED);
}

static void peek(struct calls *t, uint64_t tag, uint32_t flags)
{
	const struct weft_tag_recv_wr wr = {.wr_id = 77, .flags = flags, .tag = tag};

	host_check(weft_tag_peek(t->b.ep, &wr) == 0);
}

static struct weft_wc wait_peek(struct calls *t, bool found)
{
	struct weft_wc wc = tag_end_wait(t->b.recv_cq, "a peek");

	host_check(wc.opcode == WEFT_WC_TPEEK && wc.wr_id == 77);
	host_check(found == (wc.status == WEFT_WC_SUCCESS));
	host_check(found || (wc.status == WEFT_WC_GENERAL_ERR &&
			     wc.vendor_err == WEFT_VENDOR_ERR_NO_MESSAGE));
	return wc;
}

static void peeks(struct calls *t)
{
	static const uint32_t bytes[] = {500, 150000};
	struct weft_tag_recv_wr wr = {.wr_id = 5};
	struct weft_sge sge = {(uintptr_t)t->b.h.mem + RX, 200000, t->b.h.mr->lkey};
	struct weft_wc wc;

	peek(t, 4, 0);
	(void)wait_peek(t, false);
	for (int i = 0; i < 2; i++) {
		uint64_t first = t->seed + 1;

		/* Four messages with the same tag: looked at, claimed twice, dropped. */
		for (int k = 0; k < 4; k++) {
			send_msg(t, bytes[i], 4, WEFT_TAG_DATA | WEFT_TAG_SYNC);
			tag_end_await_unexpected(&t->b, (uint32_t)k + 1);
		}
		peek(t, 4, 0);
		wc = wait_peek(t, true);
		host_check(wc.msg_bytes == bytes[i] && wc.tag == 4 && wc.src_qpn == t->a.qpn);
		host_check(wc.flags & WEFT_WC_WITH_DATA && wc.data == ~UINT64_C(4));
		peek(t, 4, WEFT_TAG_CLAIM);
		wr.flags = 0;
		wr.sg_list = &sge;
		wr.num_sge = 1;
		wc = wait_peek(t, true);
		/* A receive gets the one behind the claimed one. */
		tag_end_fill(t->a.h.mem, bytes[i], first + 1);
		tag_end_recv(&t->b, NULL, RX, 200000, 4, 0, 0, 6);
		(void)wait_recv(t, bytes[i], 4, 6);
		tag_end_check(t->b.h.mem + RX, bytes[i], first + 1);
		wait_send(t);
		tag_end_fill(t->a.h.mem, bytes[i], first);
		host_check(weft_tag_recv_claimed(t->b.ep, wc.claim, &wr) == 0);
		(void)wait_recv(t, bytes[i], 4, 5);
		tag_end_check(t->b.h.mem + RX, bytes[i], first);
		wait_send(t);
		peek(t, 4, WEFT_TAG_CLAIM);
		wc = wait_peek(t, true);
		wr.flags = WEFT_TAG_DISCARD;
		host_check(weft_tag_recv_claimed(t->b.ep, wc.claim, &wr) == 0);
		wc = tag_end_wait(t->b.recv_cq, "dropping a claimed message");
		host_check(wc.status == WEFT_WC_SUCCESS && wc.wr_id == 5 && wc.bytes == 0);
		wait_send(t);
		peek(t, 4, WEFT_TAG_DISCARD);
		wc = wait_peek(t, true);
		host_check(wc.msg_bytes == bytes[i]);
		wait_send(t);
		peek(t, 4, 0);
		(void)wait_peek(t, false);
	}
	/* A claim that does not exist. */
	wr.flags = 0;
	host_check(weft_tag_recv_claimed(t->b.ep, 12345, &wr) == 0);
	wc = tag_end_wait(t->b.recv_cq, "the receive of no message");
	host_check(wc.status != WEFT_WC_SUCCESS && wc.wr_id == 5);
	host_check(tag_end_stats(&t->b).pool_used_bytes == 0 && tag_end_stats(&t->b).claimed == 0);
}

/* A receive is cancelled, or gets its message: one completion, and no message is lost. */
static void cancels(struct calls *t)
{
	uint32_t canceled = 0, number;
	struct weft_wc wc;

	number = tag_end_recv(&t->b, NULL, RX, 100, 9, 0, 0, 1);
	host_check(weft_tag_cancel(t->b.ep, number) == 0);
	wc = tag_end_wait(t->b.recv_cq, "a cancelled receive");
	host_check(wc.status == WEFT_WC_WR_FLUSH_ERR && wc.wr_id == 1);
	host_check(wc.vendor_err == WEFT_VENDOR_ERR_CANCELED);
	/* Too late, twice: nothing happens. */
	host_check(weft_tag_cancel(t->b.ep, number) == 0);
	for (uint32_t i = 0; i < RACES; i++) {
		uint32_t bytes = i % 4 == 3 ? 70000 : 40;

		number = tag_end_recv(&t->b, &t->from_a, RX, bytes, i, 0, 0, i);
		if (i % 3 == 0)
			tag_end_await_posted(&t->b, 1);
		send_msg(t, bytes, i, 0);
		for (volatile uint32_t spin = 0; spin < i * 500; spin = spin + 1)
			;
		/* The message has come: it is too late. */
		if (i % 5 == 0)
			wait_send(t);
		host_check(weft_tag_cancel(t->b.ep, number) == 0);
		wc = tag_end_wait(t->b.recv_cq, "a receive that was cancelled, or not");
		host_check(wc.wr_id == i);
		if (wc.status != WEFT_WC_SUCCESS) {
			host_check(i % 5 && wc.vendor_err == WEFT_VENDOR_ERR_CANCELED);
			canceled++;
			tag_end_recv(&t->b, &t->from_a, RX, bytes, i, 0, 0, i);
			(void)wait_recv(t, bytes, i, i);
		}
		tag_end_check(t->b.h.mem + RX, bytes, t->seed);
		if (i % 5)
			wait_send(t);
		host_check(!tag_end_poll(t->b.recv_cq, &wc));
	}
	printf("cancelled %u of %d receives\n", canceled, RACES);
	host_check(tag_end_stats(&t->b).posted == 0 && tag_end_stats(&t->b).unexpected == 0);
}

static void unsignaled(struct calls *t)
{
	struct weft_wc wc;

	for (int i = 0; i < 600; i++)
		tag_end_send(&t->a, &t->to_b, 0, 8, 1, WEFT_TAG_UNSIGNALED | WEFT_TAG_INLINE, 1);
	for (int i = 0; i < 600; i++)
		tag_end_recv(&t->b, NULL, RX, 8, 1, 0, WEFT_TAG_UNSIGNALED, 2);
	send_msg(t, 8, 2, 0);
	tag_end_recv(&t->b, NULL, RX, 8, 2, 0, 0, 3);
	(void)wait_recv(t, 8, 2, 3);
	wait_send(t);
	host_check(!tag_end_poll(t->a.send_cq, &wc) && !tag_end_poll(t->b.recv_cq, &wc));
	tag_end_await_unexpected(&t->b, 0);
}

/* RDMA Writes, Reads and atomics on the same queue pair, among tagged messages. */
static void rdma(struct calls *t)
{
	struct weft_sge sge = {(uintptr_t)t->a.h.mem, 5000, t->a.h.mr->lkey};
	struct weft_send_wr wr = {.wr_id = 1,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = WEFT_WR_WRITE,
				  .flags = WEFT_SEND_SIGNALED,
				  .remote_addr = (uintptr_t)t->b.h.mem + RX,
				  .rkey = t->b.h.mr->rkey,
				  .ah = t->to_b.ah,
				  .dst_qpn = t->to_b.qpn,
				  .qkey = HOST_QKEY};
	uint32_t number;
	struct weft_wc wc;

	tag_end_fill(t->a.h.mem, 5000, 99);
	host_check(weft_post_send(t->a.ep->qp, &wr, NULL) == 0);
	wc = tag_end_wait(t->a.send_cq, "an RDMA Write");
	host_check(wc.status == WEFT_WC_SUCCESS && wc.opcode == WEFT_WC_WRITE && wc.wr_id == 1);
	tag_end_check(t->b.h.mem + RX, 5000, 99);
	wr.opcode = WEFT_WR_WRITE_IMM;
	wr.imm = 1234;
	number = tag_end_recv(&t->b, NULL, RX, 5000, 1, 0, 0, 8);
	host_check(weft_post_send(t->a.ep->qp, &wr, NULL) == 0);
	wait_send_of(t, WEFT_WC_WRITE);
	wc = tag_end_wait(t->b.recv_cq, "an RDMA Write with immediate");
	host_check(wc.status == WEFT_WC_SUCCESS && wc.opcode == WEFT_WC_RECV_WRITE_IMM);
	host_check(wc.imm == 1234 && wc.bytes == 5000);
	/* It took no receive. */
	host_check(weft_tag_cancel(t->b.ep, number) == 0);
	host_check(tag_end_wait(t->b.recv_cq, "a receive").wr_id == 8);
	wr.opcode = WEFT_WR_READ;
	wr.wr_id = 2;
	memset(t->a.h.mem, 0, 5000);
	host_check(weft_post_send(t->a.ep->qp, &wr, NULL) == 0);
	wc = tag_end_wait(t->a.send_cq, "an RDMA Read");
	host_check(wc.status == WEFT_WC_SUCCESS && wc.opcode == WEFT_WC_READ && wc.wr_id == 2);
	tag_end_check(t->a.h.mem, 5000, 99);
	memset(t->b.h.mem + RX, 0, 8);
	sge.bytes = 8;
	wr.opcode = WEFT_WR_FETCH_ADD;
	wr.compare_add = 3;
	for (uint64_t i = 0; i < 3; i++) {
		host_check(weft_post_send(t->a.ep->qp, &wr, NULL) == 0);
		wc = tag_end_wait(t->a.send_cq, "an atomic");
		host_check(wc.status == WEFT_WC_SUCCESS && wc.opcode == WEFT_WC_FETCH_ADD);
		host_check(*(uint64_t *)(void *)t->a.h.mem == 3 * i);
	}
	wr.opcode = WEFT_WR_SEND;
	host_check(weft_post_send(t->a.ep->qp, &wr, NULL) == -EINVAL);
}

/* A full pool: messages become rendezvous, nothing is lost, and all of the pool is free again. */
static void full_pool(struct calls *t, const char *nic)
{
	enum {
		MESSAGES = 40,
		BYTES = 8000
	};
	struct weft_async_event event;
	struct weft_tag_stats stats;
	struct tag_peer to_c, from_a;
	struct tag_end c;
	uint64_t first = t->seed + 1;
	int i;

	tag_end_open(&c, nic, BYTES, SMALL_POOL_BYTES);
	to_c = tag_end_peer(&t->a, c.ip, c.qpn);
	from_a = tag_end_peer(&c, t->a.ip, t->a.qpn);
	host_check(fcntl(c.h.ctx->async_fd, F_SETFL, O_NONBLOCK) == 0);
	for (i = 0; i < MESSAGES; i++) {
		t->seed++;
		tag_end_fill(t->a.h.mem + i * BYTES, BYTES, t->seed);
		tag_end_send(&t->a, &to_c, (size_t)i * BYTES, BYTES, 1, 0, t->seed);
	}
	tag_end_await_unexpected(&c, MESSAGES);
	stats = tag_end_stats(&c);
	host_check(stats.pool_refused > 0 && stats.pool_used_bytes <= SMALL_POOL_BYTES);
	host_check(weft_get_async_event(c.h.ctx, &event) == 0);
	host_check(event.type == WEFT_EVENT_TAG_POOL_LOW && event.qp == c.ep->qp);
	weft_ack_async_event(&event);
	/* Other pairs go on. */
	send_msg(t, 8, 1, 0);
	tag_end_recv(&t->b, NULL, RX, 8, 1, 0, 0, 3);
	(void)wait_recv(t, 8, 1, 3);
	tag_end_fill(t->a.h.mem, BYTES, first);
	for (i = 0; i < MESSAGES; i++) {
		struct weft_wc wc;

		tag_end_recv(&c, &from_a, 0, BYTES, 1, 0, 0, (uint64_t)i);
		wc = tag_end_wait(c.recv_cq, "a message behind a full pool");
		tag_end_ok(wc);
		host_check(wc.bytes == BYTES && wc.wr_id == (uint64_t)i);
		tag_end_check(c.h.mem, BYTES, first + (uint64_t)i);
	}
	for (i = 0; i < MESSAGES + 1; i++)
		wait_send(t);
	host_check(tag_end_stats(&c).pool_used_bytes == 0 && tag_end_stats(&c).unexpected == 0);
	/* The pool serves again. */
	tag_end_send(&t->a, &to_c, 0, BYTES, 1, 0, 1);
	tag_end_await_unexpected(&c, 1);
	host_check(tag_end_stats(&c).pool_refused == stats.pool_refused);
	wait_send(t);
	host_check(weft_destroy_ah(to_c.ah) == 0 && weft_destroy_ah(from_a.ah) == 0);
	tag_end_close(&c);
}

/* An endpoint is closed with receives posted and messages of all kinds waiting. */
static void closes_busy(struct calls *t, const char *nic)
{
	struct tag_peer to_c;
	struct tag_end c;
	int i;

	tag_end_open(&c, nic, 100, 0);
	to_c = tag_end_peer(&t->a, c.ip, c.qpn);
	for (i = 0; i < 10; i++)
		tag_end_recv(&c, NULL, 0, 100, 1, 0, 0, 1);
	tag_end_send(&t->a, &to_c, 0, 100, 2, 0, 1);
	tag_end_send(&t->a, &to_c, 0, 100, 2, WEFT_TAG_SYNC, 2);
	tag_end_send(&t->a, &to_c, 0, 100000, 2, 0, 3);
	tag_end_await_unexpected(&c, 3);
	tag_end_close(&c);
	for (i = 0; i < 3; i++) {
		struct weft_wc wc = tag_end_wait(t->a.send_cq, "a send to an endpoint that closed");

		/* The first one had arrived. */
		host_check((wc.status == WEFT_WC_SUCCESS) == (wc.wr_id == 1));
	}
	host_check(weft_destroy_ah(to_c.ah) == 0);
}

static void expect_flushed(struct weft_cq *cq, enum weft_wc_opcode opcode, int count)
{
	for (int i = 0; i < count; i++) {
		struct weft_wc wc = tag_end_wait(cq, "a request of an endpoint in error");

		host_check(wc.status == WEFT_WC_WR_FLUSH_ERR && wc.opcode == opcode);
		host_check(wc.vendor_err != WEFT_VENDOR_ERR_CANCELED && wc.wr_id == 6);
	}
}

/* An endpoint in error flushes what was posted, what is open, and what is posted from then on. */
static void error_state(struct calls *t, const char *nic)
{
	struct weft_qp_attr err = {.state = WEFT_QPS_ERR};
	struct tag_peer to_b, to_c;
	struct tag_end c;
	struct weft_wc wc;
	int i;

	tag_end_open(&c, nic, 200000, 0);
	to_b = tag_end_peer(&c, t->b.ip, t->b.qpn);
	to_c = tag_end_peer(&t->a, c.ip, c.qpn);
	tag_end_recv(&c, NULL, 0, 100, 1, 0, WEFT_TAG_MULTI, 6);
	for (i = 0; i < 4; i++)
		tag_end_recv(&c, &to_b, 0, 100, (uint64_t)i, 0, 0, 6);
	tag_end_send(&c, &to_b, 0, 100, 55, WEFT_TAG_SYNC, 6);
	tag_end_send(&c, &to_b, 0, 200000, 55, 0, 6);
	tag_end_await_unexpected(&t->b, 2);
	tag_end_await_posted(&c, 5);
	host_check(weft_modify_qp(c.ep->qp, &err, WEFT_QP_STATE) == 0);
	expect_flushed(c.recv_cq, WEFT_WC_TRECV, 5);
	expect_flushed(c.send_cq, WEFT_WC_TSEND, 2);
	tag_end_recv(&c, &to_b, 0, 100, 1, 0, 0, 6);
	expect_flushed(c.recv_cq, WEFT_WC_TRECV, 1);
	tag_end_send(&c, &to_b, 0, 100, 55, 0, 6);
	expect_flushed(c.send_cq, WEFT_WC_TSEND, 1);
	tag_end_send(&t->a, &to_c, 0, 100, 1, 0, 1);
	host_check(tag_end_wait(t->a.send_cq, "a send").status != WEFT_WC_SUCCESS);
	/* The eager message had come; the long one can no longer be read. */
	for (i = 0; i < 2; i++) {
		tag_end_recv(&t->b, NULL, RX, 200000, 55, 0, 0, (uint64_t)i);
		wc = tag_end_wait(t->b.recv_cq, "a receive from an endpoint in error");
		host_check((wc.status == WEFT_WC_SUCCESS) == (i == 0));
	}
	host_check(tag_end_stats(&t->b).pool_used_bytes == 0);
	host_check(weft_destroy_ah(to_b.ah) == 0 && weft_destroy_ah(to_c.ah) == 0);
	tag_end_close(&c);
}

int main(int argc, char **argv)
{
	struct calls t = {.seed = 0};

	if (argc != 3)
		host_die("usage: tag_calls NIC NIC");
	tag_end_open(&t.a, argv[1], MEM_BYTES, 0);
	tag_end_open(&t.b, argv[2], MEM_BYTES, 0);
	t.to_b = tag_end_peer(&t.a, t.b.ip, t.b.qpn);
	t.from_a = tag_end_peer(&t.b, t.a.ip, t.a.qpn);
#define RUN(call)                                                                                  \
	do {                                                                                       \
		call;                                                                              \
		printf("ok: %s\n", #call);                                                         \
		fflush(stdout);                                                                    \
	} while (0)
	RUN(sizes(&t));
	RUN(truncation(&t));
	RUN(order(&t));
	RUN(wildcards(&t));
	RUN(synchronous(&t));
	RUN(multi_receive(&t));
	RUN(peeks(&t));
	RUN(cancels(&t));
	RUN(unsignaled(&t));
	RUN(rdma(&t));
	RUN(full_pool(&t, argv[2]));
	RUN(closes_busy(&t, argv[2]));
	RUN(error_state(&t, argv[2]));
	host_check(weft_destroy_ah(t.to_b.ah) == 0 && weft_destroy_ah(t.from_a.ah) == 0);
	tag_end_close(&t.b);
	tag_end_close(&t.a);
	return 0;
}
