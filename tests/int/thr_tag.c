/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads on one pair of tagged endpoints: several send, several post receives, several poll each
 * completion queue. Each message must arrive once, and each request complete once.
 *
 *	thr_tag MESSAGES [gone]
 *
 * gone: prints "running" when messages move, goes on until weftd has been killed, and succeeds when
 * every request has completed. Run by threads.sh; built with ThreadSanitizer by `make tsan`. Uses
 * NICs weft0 and weft1. Calls host_driver.
 */
#include "tests/int/tag_end.h"

#include <pthread.h>
#include <sched.h>

enum {
	POSTERS = 3, /* of sends, and as many of receives */
	POLLERS = 2, /* of each completion queue */
	LONG_BYTES = 20000,
	SHORT_BYTES = 8,
	AHEAD = 400, /* sends that have not completed, and as many receives; below the CQ's size */
};

struct test {
	struct tag_end a, b;
	struct tag_peer to_b;
	uint32_t messages; /* of each poster */
	bool gone;
	/* Atomic: */
	uint8_t *came, *sent, *received; /* per poster and number */
	uint32_t num_posted, num_recv_posted, num_sent, num_received;
	bool stop;
};

static struct test t;

static uint32_t total(void)
{
	return POSTERS * t.messages;
}

static void count_once(uint8_t *table, uint64_t index)
{
	host_check(index < total());
	host_check(__atomic_fetch_add(&table[index], 1, __ATOMIC_RELAXED) == 0);
}

/* Waits until few enough requests are open. Returns false when weftd is gone. */
static bool may_post(const uint32_t *posted, const uint32_t *done)
{
	while (__atomic_load_n(posted, __ATOMIC_RELAXED) -
		   __atomic_load_n(done, __ATOMIC_RELAXED) >=
	       AHEAD) {
		if (__atomic_load_n(&t.stop, __ATOMIC_RELAXED))
			return false;
		sched_yield();
	}
	return true;
}

static void *send_all(void *arg)
{
	uint64_t index = (uint64_t)(uintptr_t)arg * t.messages, end = index + t.messages;

	while (index < end && may_post(&t.num_posted, &t.num_sent)) {
		bool is_long = index % 16 == 0;
		struct weft_sge sge = {(uintptr_t)t.a.h.mem, is_long ? LONG_BYTES : SHORT_BYTES,
				       t.a.h.mr->lkey};
		struct weft_tag_send_wr wr = {.wr_id = index,
					      .sg_list = &sge,
					      .num_sge = 1,
					      .flags = is_long ? 0 : WEFT_TAG_INLINE,
					      .ah = t.to_b.ah,
					      .dst_qpn = t.to_b.qpn,
					      .tag = index};
		int rc = weft_tag_send(t.a.ep, &wr);

		host_check(rc == 0 || rc == -ENOMEM || (rc == -EIO && t.gone));
		if (rc == -EIO)
			break;
		if (rc)
			continue;
		__atomic_fetch_add(&t.num_posted, 1, __ATOMIC_RELAXED);
		index++;
	}
	return NULL;
}

static void *receive_all(void *arg)
{
	uint64_t index = (uint64_t)(uintptr_t)arg * t.messages, end = index + t.messages;

	while (index < end && may_post(&t.num_recv_posted, &t.num_received)) {
		struct weft_sge sge = {(uintptr_t)t.b.h.mem + index % 64 * LONG_BYTES, LONG_BYTES,
				       t.b.h.mr->lkey};
		struct weft_tag_recv_wr wr = {.wr_id = index,
					      .sg_list = &sge,
					      .num_sge = 1,
					      .src_qpn = WEFT_TAG_ANY_QPN,
					      .ignore = ~UINT64_C(0)};
		int rc = weft_tag_recv(t.b.ep, &wr, NULL);

		host_check(rc == 0 || rc == -ENOMEM || (rc == -EIO && t.gone));
		if (rc == -EIO)
			break;
		if (rc)
			continue;
		__atomic_fetch_add(&t.num_recv_posted, 1, __ATOMIC_RELAXED);
		index++;
	}
	return NULL;
}

/* arg: the CQ. */
static void *poll_all(void *arg)
{
	bool sends = arg == t.a.send_cq;
	struct weft_wc wc[8];

	while (!__atomic_load_n(&t.stop, __ATOMIC_RELAXED)) {
		int n = weft_poll_cq(arg, 8, wc);

		host_check(n >= 0);
		for (int i = 0; i < n; i++) {
			host_check(wc[i].status == WEFT_WC_SUCCESS || t.gone);
			count_once(sends ? t.sent : t.received, wc[i].wr_id);
			if (!sends && wc[i].status == WEFT_WC_SUCCESS)
				count_once(t.came, wc[i].tag);
			__atomic_fetch_add(sends ? &t.num_sent : &t.num_received, 1,
					   __ATOMIC_RELAXED);
		}
	}
	return NULL;
}

static bool all_done(void)
{
	return __atomic_load_n(&t.num_sent, __ATOMIC_RELAXED) ==
		   __atomic_load_n(&t.num_posted, __ATOMIC_RELAXED) &&
	       __atomic_load_n(&t.num_received, __ATOMIC_RELAXED) ==
		   __atomic_load_n(&t.num_recv_posted, __ATOMIC_RELAXED);
}

static void run(void)
{
	pthread_t poster[2 * POSTERS], poller[2 * POLLERS];
	double end;
	int i;

	for (i = 0; i < 2 * POLLERS; i++)
		host_check(pthread_create(&poller[i], NULL, poll_all,
					  i % 2 ? t.a.send_cq : t.b.recv_cq) == 0);
	for (i = 0; i < 2 * POSTERS; i++)
		host_check(pthread_create(&poster[i], NULL, i % 2 ? send_all : receive_all,
					  (void *)(uintptr_t)(i / 2)) == 0);
	if (t.gone) {
		while (__atomic_load_n(&t.num_received, __ATOMIC_RELAXED) < AHEAD)
			sched_yield();
		puts("running");
		fflush(stdout);
	}
	for (i = 0; i < 2 * POSTERS; i++)
		pthread_join(poster[i], NULL);
	end = clock_now_s() + TAG_END_LIMIT_S;
	while (!all_done()) {
		if (clock_now_s() > end)
			host_die("%u of %u sends, %u of %u receives completed", t.num_sent,
				 t.num_posted, t.num_received, t.num_recv_posted);
		sched_yield();
	}
	__atomic_store_n(&t.stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < 2 * POLLERS; i++)
		pthread_join(poller[i], NULL);
}

int main(int argc, char **argv)
{
	host_check(argc > 1);
	t.messages = (uint32_t)atoi(argv[1]);
	t.gone = argc > 2;
	tag_end_open(&t.a, "weft0", LONG_BYTES, 0);
	tag_end_open(&t.b, "weft1", (size_t)64 * LONG_BYTES, 0);
	t.to_b = tag_end_peer(&t.a, t.b.ip, t.b.qpn);
	t.came = calloc(total(), 1);
	t.sent = calloc(total(), 1);
	t.received = calloc(total(), 1);
	host_check(t.came && t.sent && t.received);
	run();
	if (!t.gone)
		for (uint32_t i = 0; i < total(); i++)
			host_check(t.came[i] == 1 && t.sent[i] == 1 && t.received[i] == 1);
	printf("%u sends, %u receives\n", t.num_sent, t.num_received);
	free(t.came);
	free(t.sent);
	free(t.received);
	if (t.gone) {
		weft_close_device(t.a.h.ctx);
		weft_close_device(t.b.h.ctx);
		weft_free(t.a.h.mem, t.a.h.bytes);
		weft_free(t.b.h.mem, t.b.h.bytes);
		return 0;
	}
	host_check(weft_destroy_ah(t.to_b.ah) == 0);
	tag_end_close(&t.a);
	tag_end_close(&t.b);
	return 0;
}
