/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/rdmacm/rs_stream.c: both ends of a stream in any order of calls and deliveries, and
 * peers that break the rules.
 */
#include <stdlib.h>

#include "host_driver/rdmacm/rs_flow.c"
#include "host_driver/rdmacm/rs_spin.c"
#include "host_driver/rdmacm/rs_stream.c"
#include "host_driver/rdmacm/rs_table.c"
#include "host_driver/rdmacm/rs_wait.c"
#include "tests/bench/stubs/rs_pair.h"
#include "tests/ut.h"

enum {
	STREAM = 300000, /* bytes of a test, each way */
	LONGEST = 5000,
};

static uint32_t lcg;

static uint32_t random_below(uint32_t n)
{
	lcg = lcg * 1664525 + 1013904223;
	return (lcg >> 8) % n;
}

static uint8_t byte_at(uint64_t i, int way)
{
	return (uint8_t)((i * 167 >> 3) ^ i ^ (unsigned int)way);
}

static short revents(struct rs *rs)
{
	return rs_stream_revents(rs);
}

/* ---- data ------------------------------------------------------------------------------------ */

struct way {
	struct rs *from, *to;
	int number;
	uint64_t sent, got;
};

static void send_random(struct way *w)
{
	static uint8_t buf[LONGEST + 1];
	uint32_t n = 1 + random_below(random_below(3) ? 300 : LONGEST), a, b;
	struct iovec iov[4];
	ssize_t rc;

	if (n > STREAM - w->sent)
		n = (uint32_t)(STREAM - w->sent);
	if (!n)
		return;
	for (uint32_t i = 0; i < n; i++)
		buf[i] = byte_at(w->sent + i, w->number);
	a = random_below(n + 1);
	b = a + random_below(n - a + 1);
	iov[0] = (struct iovec){buf, a};
	iov[1] = (struct iovec){NULL, 0};
	iov[2] = (struct iovec){buf + a, b - a};
	iov[3] = (struct iovec){buf + b, n - b};
	rc = rs_stream_send(w->from, iov, 4, 0);
	if (rc < 0)
		CU_ASSERT_EQUAL_FATAL(errno, EAGAIN);
	w->sent += rc > 0 ? (uint64_t)rc : 0;
	/* The caller's memory may be reused. */
	memset(buf, 0xee, sizeof(buf));
}

static void recv_random(struct way *w)
{
	static uint8_t buf[LONGEST];
	uint32_t want = 1 + random_below(LONGEST), wrong = 0;
	int flags = random_below(4) ? 0 : MSG_PEEK;
	ssize_t n = recv_into(w->to, buf, want, flags);

	if (n < 0)
		CU_ASSERT_EQUAL_FATAL(errno, EAGAIN);
	for (ssize_t i = 0; i < n; i++)
		wrong += buf[i] != byte_at(w->got + (uint64_t)i, w->number);
	CU_ASSERT_EQUAL_FATAL(wrong, 0);
	if (n > 0 && !flags)
		w->got += (uint64_t)n;
}

/* Both ways at once, with late delivery: every byte in order, and it ends. */
static void any_order(void)
{
	for (uint32_t seed = 1; seed <= 4; seed++) {
		struct way ways[2];
		char byte = 0;

		lcg = seed;
		setup(true);
		ways[0] = (struct way){ends[0].rs, ends[1].rs, 0, 0, 0};
		ways[1] = (struct way){ends[1].rs, ends[0].rs, 1, 0, 0};
		while (ways[0].got < STREAM || ways[1].got < STREAM) {
			uint32_t what = random_below(10), i = random_below(2);

			if (what < 3)
				send_random(&ways[i]);
			else if (what < 6)
				recv_random(&ways[i]);
			else
				(void)deliver(&ends[i]);
		}
		for (int i = 0; i < 2; i++) {
			CU_ASSERT_EQUAL(rs_stream_fin(ends[i].rs), 0);
			while (deliver(&ends[i]))
				;
		}
		for (int i = 0; i < 2; i++) {
			CU_ASSERT_EQUAL(recv_into(ends[i].rs, &byte, 1, 0), 0);
			CU_ASSERT_TRUE(rs_stream_idle(ends[i].rs->stream));
			CU_ASSERT_EQUAL(ends[i].recvs, MSGS + RS_CTL_MSGS);
			CU_ASSERT_EQUAL(revents(ends[i].rs) & (POLLHUP | POLLRDHUP),
					POLLHUP | POLLRDHUP);
		}
		teardown();
	}
}

static void peeks(void)
{
	struct rs *a, *b;
	char buf[20] = {0};

	setup(true);
	a = ends[0].rs;
	b = ends[1].rs;
	CU_ASSERT_EQUAL(revents(a), POLLOUT | POLLWRNORM);
	CU_ASSERT_EQUAL(send_some(a, "0123", 4, 0), 4);
	CU_ASSERT_EQUAL(send_some(a, "456789", 6, 0), 6);
	CU_ASSERT_EQUAL(recv_into(b, buf, 1, 0), -1);
	CU_ASSERT_EQUAL(errno, EAGAIN);
	while (deliver(&ends[0]))
		;
	CU_ASSERT_EQUAL(recv_into(b, buf, 20, MSG_PEEK), 10);
	CU_ASSERT_EQUAL(memcmp(buf, "0123456789", 10), 0);
	CU_ASSERT_EQUAL(recv_into(b, buf, 3, MSG_TRUNC), 3); /* discarded */
	CU_ASSERT_EQUAL(recv_into(b, buf, 20, MSG_WAITALL), 7);
	CU_ASSERT_EQUAL(memcmp(buf, "3456789", 7), 0);
	CU_ASSERT_EQUAL(recv_into(b, buf, 0, 0), 0);
	CU_ASSERT_EQUAL(send_some(a, "", 0, 0), 0);
	teardown();
}

/* ---- peers that break the rules ---------------------------------------------------------------
 */

/* A message that our sending half did not make arrives at b. */
static void forge(uint32_t imm, uint32_t byte_len, unsigned int wc_flags)
{
	ends[1].recvs--;
	complete(&ends[1], (struct ibv_wc){.wr_id = WR_RECV,
					   .status = IBV_WC_SUCCESS,
					   .byte_len = byte_len,
					   .imm_data = htonl(imm),
					   .wc_flags = wc_flags});
}

/* It ends the connection: reported once, then it is closed. */
static void is_broken(int err)
{
	struct rs *b = ends[1].rs;
	char byte = 0;

	CU_ASSERT_EQUAL(recv_into(b, &byte, 1, 0), err ? -1 : 0);
	if (err)
		CU_ASSERT_EQUAL(errno, err);
	CU_ASSERT_EQUAL(b->state, RS_BROKEN);
	CU_ASSERT_EQUAL(recv_into(b, &byte, 1, 0), 0);
	CU_ASSERT_EQUAL(send_some(b, &byte, 1, 0), -1);
	CU_ASSERT_EQUAL(errno, EPIPE);
	CU_ASSERT_EQUAL(revents(b) & (POLLIN | POLLHUP), POLLIN | POLLHUP);
}

static void wrong_messages(void)
{
	const struct {
		uint32_t imm, byte_len;
		unsigned int flags;
	} wrong[] = {
	    {rs_wire_imm(RS_WIRE_DATA, 10), 9, IBV_WC_WITH_IMM},
	    {rs_wire_imm(RS_WIRE_DATA, 10), 10, 0}, /* no immediate: not of rsockets */
	    {rs_wire_imm(RS_WIRE_DATA, RING + 1), RING + 1, IBV_WC_WITH_IMM},
	    {rs_wire_imm(RS_WIRE_DATA, RS_WIRE_VALUE_MASK), RS_WIRE_VALUE_MASK, IBV_WC_WITH_IMM},
	    {rs_wire_imm(RS_WIRE_CREDIT, 1), 0, IBV_WC_WITH_IMM},
	    {rs_wire_imm(RS_WIRE_CREDIT, RS_WIRE_VALUE_MASK), 0, IBV_WC_WITH_IMM},
	    {rs_wire_imm(RS_WIRE_IOMAP, IOMAPS), 0, IBV_WC_WITH_IMM},
	    {rs_wire_imm((enum rs_wire_type)4, 0), 0, IBV_WC_WITH_IMM},
	    {UINT32_MAX, 0, IBV_WC_WITH_IMM},
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		setup(true);
		forge(wrong[i].imm, wrong[i].byte_len, wrong[i].flags);
		is_broken(EPROTO);
		teardown();
	}
}

/* Valid by itself, and invalid at this point. */
static void wrong_order(void)
{
	/* more messages than allowed */
	setup(true);
	for (int i = 0; i <= MSGS; i++)
		forge(rs_wire_imm(RS_WIRE_DATA, 1), 1, IBV_WC_WITH_IMM);
	(void)rs_stream_progress(ends[1].rs);
	CU_ASSERT_EQUAL(ends[1].rs->state, RS_BROKEN);
	CU_ASSERT_EQUAL(ends[1].rs->stream->rx.unread_bytes, MSGS);
	teardown();
	/* data after the end */
	setup(true);
	forge(rs_wire_imm(RS_WIRE_FIN, 0), 0, IBV_WC_WITH_IMM);
	forge(rs_wire_imm(RS_WIRE_DATA, 1), 1, IBV_WC_WITH_IMM);
	is_broken(EPROTO);
	teardown();
	/* a second end */
	setup(true);
	forge(rs_wire_imm(RS_WIRE_FIN, 0), 0, IBV_WC_WITH_IMM);
	forge(rs_wire_imm(RS_WIRE_FIN, 0), 0, IBV_WC_WITH_IMM);
	is_broken(EPROTO);
	teardown();
	/* credits after the end are valid */
	setup(true);
	CU_ASSERT_EQUAL(send_some(ends[1].rs, "x", 1, 0), 1);
	forge(rs_wire_imm(RS_WIRE_FIN, 0), 0, IBV_WC_WITH_IMM);
	forge(rs_wire_imm(RS_WIRE_CREDIT, 1), 0, IBV_WC_WITH_IMM);
	(void)rs_stream_progress(ends[1].rs);
	CU_ASSERT_EQUAL(ends[1].rs->state, RS_CONNECTED);
	CU_ASSERT_EQUAL(ends[1].rs->stream->tx.free_bytes, RING);
	teardown();
}

/* A peer that never gives credits stops us; one that gives all of them at once does not. */
static void credits(void)
{
	static uint8_t data[RING];
	struct rs *b;
	ssize_t n, all = 0;

	setup(true);
	b = ends[1].rs;
	while ((n = send_some(b, data, 100, 0)) > 0) {
		all += n;
		CU_ASSERT_FATAL(all <= RING);
		while (deliver(&ends[1]))
			;
	}
	CU_ASSERT_EQUAL(errno, EAGAIN);
	CU_ASSERT_EQUAL(all, MSGS * 100);
	CU_ASSERT_FALSE(revents(b) & POLLOUT);
	forge(rs_wire_imm(RS_WIRE_CREDIT, MSGS), 0, IBV_WC_WITH_IMM);
	CU_ASSERT_TRUE(send_some(b, data, RING, 0) > 0);
	CU_ASSERT_EQUAL(b->state, RS_CONNECTED);
	teardown();
}

static void failed_requests(void)
{
	const struct {
		enum ibv_wc_status status;
		bool fin;
		int err;
	} cases[] = {
	    {IBV_WC_RETRY_EXC_ERR, false, ETIMEDOUT},
	    {IBV_WC_RESP_TIMEOUT_ERR, false, ETIMEDOUT},
	    {IBV_WC_REM_ACCESS_ERR, false, ECONNRESET},
	    {IBV_WC_WR_FLUSH_ERR, false, ECONNRESET},
	    {IBV_WC_WR_FLUSH_ERR, true, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		setup(true);
		CU_ASSERT_EQUAL(send_some(ends[1].rs, "x", 1, 0), 1);
		if (cases[i].fin)
			forge(rs_wire_imm(RS_WIRE_FIN, 0), 0, IBV_WC_WITH_IMM);
		complete(&ends[1], (struct ibv_wc){.wr_id = WR_SEND, .status = cases[i].status});
		complete(&ends[1],
			 (struct ibv_wc){.wr_id = WR_RECV, .status = IBV_WC_WR_FLUSH_ERR});
		is_broken(cases[i].err);
		CU_ASSERT_TRUE(rs_stream_idle(ends[1].rs->stream));
		teardown();
	}
}

/* ---- threads --------------------------------------------------------------------------------- */

static atomic_bool over;

static void *wire_thread(void *arg)
{
	(void)arg;
	while (!atomic_load(&over)) {
		bool some = deliver(&ends[0]);

		if (!deliver(&ends[1]) && !some)
			usleep(50);
	}
	return NULL;
}

static void *send_thread(void *arg)
{
	struct way *w = arg;

	while (w->sent < STREAM)
		send_random(w);
	return NULL;
}

static void *recv_thread(void *arg)
{
	struct way *w = arg;
	uint8_t buf[777];
	ssize_t n;

	while (w->got < STREAM) {
		n = recv_into(w->to, buf, sizeof(buf), 0);
		if (n <= 0)
			break;
		for (ssize_t i = 0; i < n; i++)
			if (buf[i] != byte_at(w->got + (uint64_t)i, w->number))
				return NULL;
		w->got += (uint64_t)n;
	}
	return NULL;
}

/* Blocking calls, a sender and a receiver, while the wire delivers by itself. */
static void blocking(void)
{
	struct way w;
	pthread_t t[3];

	lcg = 9;
	setup(false);
	atomic_store(&over, false);
	w = (struct way){ends[0].rs, ends[1].rs, 0, 0, 0};
	CU_ASSERT_EQUAL_FATAL(pthread_create(&t[0], NULL, wire_thread, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&t[1], NULL, send_thread, &w), 0);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&t[2], NULL, recv_thread, &w), 0);
	pthread_join(t[1], NULL);
	pthread_join(t[2], NULL);
	atomic_store(&over, true);
	pthread_join(t[0], NULL);
	CU_ASSERT_EQUAL(w.got, STREAM);
	teardown();
}

UT_MAIN("rdmacm/rs_stream", UT(any_order), UT(peeks), UT(wrong_messages), UT(wrong_order),
	UT(credits), UT(failed_requests), UT(blocking))
