/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads on the data path of libweft: many post to one QP and to several QPs of one CQ, several
 * poll the same CQ, several wait for events of one channel, one moves a QP to RESET and back while
 * others post. Each message must arrive once, and each request complete once.
 *
 *	thr_data MESSAGES [gone]
 *
 * gone: prints "running" when all threads are at work, goes on until weftd has been killed, and
 * succeeds when every thread has been notified. Run by threads.sh; built with ThreadSanitizer by
 * `make tsan`. Uses NICs weft0 and weft1. Calls host_driver.
 */
#include "tests/int/host.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>

enum {
	POSTERS = 4,
	POLLERS = 3,
	QPS = 3,
	DEPTH = 128,
	SLOT_BYTES = 64,
};

/* Content of a message. */
struct note {
	uint32_t poster;
	uint32_t number;
};

struct test {
	struct host_end a, b;
	struct weft_comp_channel *channel; /* slots of b's CQ */
	struct weft_cq *cq_a, *cq_b;
	struct weft_srq *srq;
	struct weft_qp *qp_a[QPS], *qp_b[QPS];
	struct weft_qp *turned;      /* goes to RESET and back */
	uint32_t messages;           /* next message of each poster */
	bool gone;                   /* weftd will be killed */
	uint8_t *came, *done;        /* per poster and message; atomic */
	uint32_t num_came, num_done; /* atomic */
	uint32_t events;             /* atomic */
	bool stop;                   /* atomic */
};

static struct test t;

static uint8_t *cell(uint8_t *table, uint32_t poster, uint32_t number)
{
	host_check(poster < POSTERS && number < t.messages);
	return &table[(size_t)poster * t.messages + number];
}

static void count_once(uint8_t *table, uint32_t *total, uint32_t poster, uint32_t number)
{
	host_check(__atomic_fetch_add(cell(table, poster, number), 1, __ATOMIC_RELAXED) == 0);
	__atomic_fetch_add(total, 1, __ATOMIC_RELAXED);
}

static bool stopped(void)
{
	return __atomic_load_n(&t.stop, __ATOMIC_ACQUIRE);
}

static bool all_there(void)
{
	const uint32_t all = POSTERS * t.messages;

	return !t.gone && __atomic_load_n(&t.num_came, __ATOMIC_RELAXED) == all &&
	       __atomic_load_n(&t.num_done, __ATOMIC_RELAXED) == all;
}

/* ---- posting */

static int post(uint32_t poster, uint32_t number)
{
	struct note note = {poster, number};
	struct weft_sge sge = {(uintptr_t)&note, sizeof(note), 0};
	uint32_t way = number % QPS;
	struct weft_send_wr wr = {
	    .wr_id = (uint64_t)poster << 32 | number,
	    .sg_list = &sge,
	    .num_sge = 1,
	    .opcode = WEFT_WR_SEND,
	    .flags = WEFT_SEND_SIGNALED | WEFT_SEND_INLINE,
	    .ah = t.a.ah,
	    .dst_qpn = t.qp_b[way]->qpn,
	    .qkey = HOST_QKEY,
	};
	struct note *at = (struct note *)(void *)(t.a.mem + (size_t)poster * SLOT_BYTES);

	/* Posts from registered memory, each poster from its own line. */
	if (number == 0) {
		*at = note;
		sge = (struct weft_sge){(uintptr_t)at, sizeof(note), t.a.mr->lkey};
		wr.flags = WEFT_SEND_SIGNALED;
	}
	return weft_post_send(t.qp_a[way], &wr, NULL);
}

static void *poster(void *arg)
{
	uint32_t me = (uint32_t)(uintptr_t)arg;
	int rc;

	for (uint32_t i = 0; t.gone || i < t.messages; i++) {
		while ((rc = post(me, t.gone ? i % t.messages : i)) == -ENOMEM && !stopped())
			sched_yield();
		if (t.gone && rc == -EIO)
			return NULL;
		if (stopped())
			return NULL;
		host_check(rc == 0);
	}
	return NULL;
}

/* ---- receiving */

static void post_receive(uint64_t slot)
{
	struct weft_sge sge = {(uintptr_t)(t.b.mem + slot * SLOT_BYTES), SLOT_BYTES, t.b.mr->lkey};
	struct weft_recv_wr wr = {.wr_id = slot, .sg_list = &sge, .num_sge = 1};
	int rc = weft_post_srq_recv(t.srq, &wr, NULL);

	host_check(rc == 0 || (t.gone && rc == -EIO));
}

static void received(const struct weft_wc *wc)
{
	struct note note;

	if (t.gone && wc->status != WEFT_WC_SUCCESS)
		return;
	host_check(wc->status == WEFT_WC_SUCCESS && wc->opcode == WEFT_WC_RECV &&
		   wc->bytes == sizeof(note));
	memcpy(&note, t.b.mem + wc->wr_id * SLOT_BYTES, sizeof(note));
	if (!t.gone)
		count_once(t.came, &t.num_came, note.poster, note.number);
	post_receive(wc->wr_id);
}

static void completed(const struct weft_wc *wc)
{
	if (t.gone)
		return;
	if (wc->qpn == t.turned->qpn)
		return;
	host_check(wc->status == WEFT_WC_SUCCESS && wc->opcode == WEFT_WC_SEND);
	count_once(t.done, &t.num_done, (uint32_t)(wc->wr_id >> 32), (uint32_t)wc->wr_id);
}

/* Takes the available completions. False: the NIC is gone and nothing is left. */
static bool take(struct weft_cq *cq, void (*what)(const struct weft_wc *wc))
{
	struct weft_wc wc[8];
	int n = weft_poll_cq(cq, 8, wc);

	/* Receives of the shared queue are left and will not complete. */
	if (t.gone && n == -EIO)
		return false;
	host_check(n >= 0 && n <= 8);
	for (int i = 0; i < n; i++)
		what(&wc[i]);
	return n > 0;
}

static void *poller(void *arg)
{
	(void)arg;
	while (!stopped() && !all_there())
		take(t.cq_a, completed);
	return NULL;
}

/*
 * Waits for events, several threads on one channel: in weft_get_cq_event() itself when weftd's end
 * will wake them, else in poll(2) with a timeout.
 */
static void *waiter(void *arg)
{
	struct pollfd pfd = {.fd = t.channel->fd, .events = POLLIN};
	struct weft_cq *cq;
	void *user;
	int rc;

	(void)arg;
	while (!stopped() && !all_there()) {
		if (!t.gone)
			host_check(poll(&pfd, 1, 20) >= 0);
		rc = weft_get_cq_event(t.channel, &cq, &user);
		if (rc == -EAGAIN && !t.gone)
			continue;
		if (rc == -EIO && t.gone)
			return NULL;
		host_check(rc == 0 && cq == t.cq_b && user == &t);
		__atomic_fetch_add(&t.events, 1, __ATOMIC_RELAXED);
		host_check(weft_req_notify_cq(cq, false) == 0);
		while (take(cq, received))
			;
		weft_ack_cq_events(cq, 1);
	}
	return NULL;
}

/* Polls and arms the same CQ as the waiting threads. */
static void *watcher(void *arg)
{
	(void)arg;
	while (!stopped() && !all_there()) {
		take(t.cq_b, received);
		host_check(weft_req_notify_cq(t.cq_b, false) == 0);
		usleep(500);
	}
	return NULL;
}

/* ---- state changes and queries while other threads post */

static void *turner(void *arg)
{
	struct weft_qp_attr attr, reset = {.state = WEFT_QPS_RESET};
	struct weft_qp_cap cap;
	int rc = 0;

	(void)arg;
	while (!stopped() && !all_there() && rc == 0) {
		rc = weft_modify_qp(t.turned, &reset, WEFT_QP_STATE);
		if (rc == 0)
			rc = weft_activate_qp(t.turned, HOST_QKEY, HOST_ACCESS_ALL);
		if (rc == 0)
			rc = weft_query_qp(t.turned, &attr, &cap);
		if (rc == 0)
			rc = weft_modify_cq(t.cq_a, 1, 0);
	}
	host_check(rc == 0 || (t.gone && rc == -EIO));
	return NULL;
}

static void *resizer(void *arg)
{
	uint32_t entries = 1024;
	int rc = 0;

	(void)arg;
	while (!stopped() && !all_there() && rc == 0) {
		rc = weft_resize_cq(t.cq_a, entries);
		entries = 3072 - entries;
		usleep(300);
	}
	host_check(rc == 0 || (t.gone && rc == -EIO));
	return NULL;
}

/* Posts to the QP that is reset: a post is accepted or refused. */
static void *teaser(void *arg)
{
	uint64_t word = 1;
	struct weft_sge sge = {(uintptr_t)&word, sizeof(word), 0};
	struct weft_send_wr wr = {.sg_list = &sge,
				  .num_sge = 1,
				  .opcode = WEFT_WR_SEND,
				  .flags = WEFT_SEND_SIGNALED | WEFT_SEND_INLINE,
				  .ah = t.a.ah,
				  .dst_qpn = 0xffffff,
				  .qkey = HOST_QKEY};
	struct weft_sge in = {(uintptr_t)(t.a.mem + t.a.bytes - SLOT_BYTES), SLOT_BYTES,
			      t.a.mr->lkey};
	struct weft_recv_wr recv = {.sg_list = &in, .num_sge = 1};
	int rc;

	(void)arg;
	while (!stopped() && !all_there()) {
		rc = weft_post_send(t.turned, &wr, NULL);
		host_check(rc == 0 || rc == -EINVAL || rc == -ENOMEM || (t.gone && rc == -EIO));
		rc = weft_post_recv(t.turned, &recv, NULL);
		host_check(rc == 0 || rc == -EINVAL || rc == -ENOMEM || (t.gone && rc == -EIO));
		sched_yield();
	}
	return NULL;
}

/* ---- the run */

static void set_up(void)
{
	struct weft_srq_attr attr = {.max_wr = DEPTH, .max_sge = 1};

	host_open(&t.a, "weft0", (POSTERS + 1) * SLOT_BYTES);
	host_open(&t.b, "weft1", DEPTH * SLOT_BYTES);
	t.cq_a = weft_create_cq(t.a.ctx, 1024, NULL, NULL);
	t.channel = weft_create_comp_channel(t.b.ctx, 0);
	host_check(t.cq_a && t.channel);
	t.cq_b = weft_create_cq(t.b.ctx, 1024, t.channel, &t);
	t.srq = weft_create_srq(t.b.pd, &attr);
	host_check(t.cq_b && t.srq);
	if (!t.gone)
		host_check(fcntl(t.channel->fd, F_SETFL, O_NONBLOCK) == 0);
	for (int i = 0; i < QPS; i++) {
		t.qp_a[i] = host_qp(&t.a, WEFT_QPT_RD, t.cq_a, NULL, 32);
		t.qp_b[i] = host_qp(&t.b, WEFT_QPT_RD, t.cq_b, t.srq, 1);
	}
	t.turned = host_qp(&t.a, WEFT_QPT_RD, t.cq_a, NULL, 32);
	for (uint64_t i = 0; i < DEPTH; i++)
		post_receive(i);
	t.came = calloc(POSTERS, t.messages);
	t.done = calloc(POSTERS, t.messages);
	host_check(t.came && t.done);
	host_check(weft_req_notify_cq(t.cq_b, false) == 0);
}

static void tear_down(void)
{
	for (int i = 0; i < QPS; i++) {
		host_check(weft_destroy_qp(t.qp_a[i]) == 0);
		host_check(weft_destroy_qp(t.qp_b[i]) == 0);
	}
	host_check(weft_destroy_qp(t.turned) == 0);
	host_check(weft_destroy_srq(t.srq) == 0);
	host_check(weft_destroy_cq(t.cq_a) == 0);
	host_check(weft_destroy_cq(t.cq_b) == 0);
	host_check(weft_destroy_comp_channel(t.channel) == 0);
	host_close(&t.a);
	host_close(&t.b);
	free(t.came);
	free(t.done);
}

int main(int argc, char **argv)
{
	static void *(*const work[])(void *) = {poller,  poller, poller,  waiter, waiter,
						watcher, turner, resizer, teaser};
	const unsigned others = sizeof(work) / sizeof(work[0]);
	pthread_t thread[POSTERS + sizeof(work) / sizeof(work[0])];

	if (argc < 2 || atoi(argv[1]) <= 0) {
		fprintf(stderr, "usage: thr_data MESSAGES [gone]\n");
		return 2;
	}
	t.messages = (uint32_t)atoi(argv[1]);
	t.gone = argc > 2;
	set_up();
	for (unsigned i = 0; i < POSTERS + others; i++)
		host_check(pthread_create(&thread[i], NULL,
					  i < POSTERS ? poster : work[i - POSTERS],
					  (void *)(uintptr_t)i) == 0);
	if (t.gone) {
		puts("running");
		fflush(stdout);
	}
	for (unsigned i = 0; i < POSTERS; i++)
		pthread_join(thread[i], NULL);
	if (t.gone)
		__atomic_store_n(&t.stop, true, __ATOMIC_RELEASE);
	for (unsigned i = POSTERS; i < POSTERS + others; i++)
		pthread_join(thread[i], NULL);
	printf("%u messages of %d posters, %u events\n", t.num_came, POSTERS, t.events);
	tear_down();
	return 0;
}
