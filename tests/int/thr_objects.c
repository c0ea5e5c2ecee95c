/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that make and destroy every kind of object of libweft at once, in one context and in
 * contexts of their own, while others register adjacent memory, take asynchronous events, query
 * counters, and fork. Registered memory must keep its content, and every object must work.
 *
 *	thr_objects ROUNDS [nofork]
 *
 * Run by threads.sh; built with ThreadSanitizer by `make tsan`. Uses NICs weft0 and weft1. Calls
 * host_driver.
 */
#include "tests/int/host.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum {
	PAGE = 4096,
	MEM_PAGES = 16, /* bytes of one registration */
};

static struct host_end shared; /* the context that most threads use */
static int rounds;
static bool stop; /* atomic */
static uint32_t num_events;

static bool stopped(void)
{
	return __atomic_load_n(&stop, __ATOMIC_ACQUIRE);
}

/* Polls until one completion arrives. */
static void complete(struct weft_cq *cq, enum weft_wc_status status)
{
	struct weft_wc wc;
	int n;

	do {
		n = weft_poll_cq(cq, 1, &wc);
	} while (n == 0);
	host_check(n == 1);
	if (wc.status != status)
		host_die("status %s, not %s", weft_wc_status_str(wc.status),
			 weft_wc_status_str(status));
}

/* ---- CQ, QP, SRQ, channel, window: create, use, destroy */

static void send_to_self(struct weft_qp *qp, struct weft_cq *cq)
{
	uint64_t word = 42;
	struct weft_sge sge = {(uintptr_t)&word, sizeof(word), 0};
	struct weft_send_wr wr = {.sg_list = &sge,
				  .num_sge = 1,
				  .opcode = WEFT_WR_WRITE,
				  .flags = WEFT_SEND_SIGNALED | WEFT_SEND_INLINE,
				  .ah = shared.ah,
				  .dst_qpn = qp->qpn,
				  .qkey = HOST_QKEY,
				  .remote_addr = (uintptr_t)shared.mem,
				  .rkey = shared.mr->rkey};

	host_check(weft_post_send(qp, &wr, NULL) == 0);
	complete(cq, WEFT_WC_SUCCESS);
}

static void *queues(void *arg)
{
	struct weft_srq_attr attr = {.max_wr = 16, .max_sge = 1};

	(void)arg;
	for (int i = 0; i < rounds; i++) {
		struct weft_comp_channel *channel = weft_create_comp_channel(shared.ctx, 0);
		struct weft_cq *cq = weft_create_cq(shared.ctx, 64, channel, NULL);
		struct weft_srq *srq = weft_create_srq(shared.pd, &attr);
		struct weft_qp *qp;
		struct weft_cq *which;

		host_check(channel && cq && srq);
		qp = host_qp(&shared, WEFT_QPT_RD, cq, i & 1 ? srq : NULL, 16);
		host_check(weft_req_notify_cq(cq, false) == 0);
		send_to_self(qp, cq);
		host_check(weft_get_cq_event(channel, &which, NULL) == 0 && which == cq);
		weft_ack_cq_events(cq, 1);
		host_check(
		    weft_modify_srq(srq, &(struct weft_srq_attr){.limit = 4}, WEFT_SRQ_LIMIT) == 0);
		host_check(weft_query_srq(srq, &attr) == 0);
		host_check(weft_destroy_cq(cq) == -EBUSY);
		host_check(weft_destroy_qp(qp) == 0);
		host_check(weft_destroy_srq(srq) == 0);
		host_check(weft_destroy_cq(cq) == 0);
		host_check(weft_destroy_comp_channel(channel) == 0);
	}
	return NULL;
}

static void *handles(void *arg)
{
	struct weft_av av = weft_av_qpn();

	(void)arg;
	for (int i = 0; i < rounds; i++) {
		struct weft_pd *pd = weft_alloc_pd(shared.ctx);
		struct weft_ah *ah = weft_create_ah(pd, &av);
		struct weft_mw *mw = weft_alloc_mw(pd, 2);

		host_check(pd && ah && mw);
		host_check(weft_dealloc_pd(pd) == -EBUSY);
		host_check(weft_dealloc_mw(mw) == 0);
		host_check(weft_destroy_ah(ah) == 0);
		host_check(weft_dealloc_pd(pd) == 0);
	}
	return NULL;
}

/* ---- memory */

/* Registers memory of this kind; mine is the expected value of each word. */
static void use_memory(char *mem, size_t bytes, uint64_t mine)
{
	volatile uint64_t *word = (volatile uint64_t *)(void *)mem;
	struct weft_mr *mr;

	for (size_t i = 0; i < bytes / sizeof(*word); i += 64)
		word[i] = mine + i;
	mr = weft_reg_mr(shared.pd, mem, bytes, HOST_ACCESS_ALL);
	host_check(mr);
	for (size_t i = 0; i < bytes / sizeof(*word); i += 64)
		host_check(word[i] == mine + i);
	host_check(weft_dereg_mr(mr) == 0);
}

static void *memory(void *arg)
{
	uint64_t mine = (uint64_t)(uintptr_t)arg << 32;
	const size_t bytes = MEM_PAGES * PAGE;

	for (int i = 0; i < rounds; i++) {
		char *heap = malloc(bytes + 100);
		char *given = weft_alloc(shared.ctx, bytes);
		char *mapped =
		    mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		uint64_t stack[512];

		host_check(heap && given && mapped != MAP_FAILED);
		use_memory(heap, bytes, mine);
		use_memory(given, bytes, mine + 1);
		use_memory(mapped, bytes, mine + 2);
		use_memory((char *)stack, sizeof(stack), mine + 3);
		host_check(munmap(mapped, bytes) == 0);
		weft_free(given, bytes);
		free(heap);
	}
	return NULL;
}

/*
 * Writes to pages all the time, while another thread registers and thereby moves them: no store may
 * be lost.
 */
static uint64_t *hammered;

static void *hammer(void *arg)
{
	uint64_t count = 0;

	(void)arg;
	while (!stopped()) {
		count++;
		for (size_t i = 0; i < MEM_PAGES; i++)
			__atomic_store_n(&hammered[i * PAGE / 8], count, __ATOMIC_RELAXED);
		for (size_t i = 0; i < MEM_PAGES; i++)
			host_check(__atomic_load_n(&hammered[i * PAGE / 8], __ATOMIC_RELAXED) ==
				   count);
		/* Every command needs this processor, too. */
		if (count % 16 == 0)
			sched_yield();
	}
	return NULL;
}

static void *mover(void *arg)
{
	(void)arg;
	for (int i = 0; i < rounds; i++) {
		struct weft_mr *mr =
		    weft_reg_mr(shared.pd, hammered, MEM_PAGES * PAGE, HOST_ACCESS_ALL);

		host_check(mr);
		host_check(weft_dereg_mr(mr) == 0);
	}
	return NULL;
}

/* ---- asynchronous events: QPs fail, threads are notified */

static void *failing(void *arg)
{
	struct weft_cq *cq = weft_create_cq(shared.ctx, 64, NULL, NULL);
	struct weft_srq_attr attr = {.max_wr = 16, .max_sge = 1};
	struct weft_srq *srq = weft_create_srq(shared.pd, &attr);
	struct weft_qp_attr error = {.state = WEFT_QPS_ERR};

	(void)arg;
	host_check(cq && srq);
	for (int i = 0; i < rounds; i++) {
		/* An error of its QP with an SRQ raises QP_LAST_WQE. */
		struct weft_qp *qp = host_qp(&shared, WEFT_QPT_RD, cq, srq, 4);

		host_check(weft_modify_qp(qp, &error, WEFT_QP_STATE) == 0);
		host_check(weft_destroy_qp(qp) == 0);
	}
	host_check(weft_destroy_srq(srq) == 0);
	host_check(weft_destroy_cq(cq) == 0);
	return NULL;
}

static void *listener(void *arg)
{
	struct pollfd pfd = {.fd = shared.ctx->async_fd, .events = POLLIN};
	struct weft_async_event event;
	int rc;

	(void)arg;
	while (!stopped()) {
		host_check(poll(&pfd, 1, 20) >= 0);
		rc = weft_get_async_event(shared.ctx, &event);
		if (rc == -EAGAIN)
			continue;
		host_check(rc == 0);
		if (event.type == WEFT_EVENT_SRQ_LIMIT)
			host_check(event.srq->context == shared.ctx);
		else if (event.type == WEFT_EVENT_QP_LAST_WQE)
			host_check(event.qp->context == shared.ctx);
		else
			host_die("event %s", weft_event_type_str(event.type));
		__atomic_fetch_add(&num_events, 1, __ATOMIC_RELAXED);
		weft_ack_async_event(&event);
	}
	return NULL;
}

/* ---- contexts, queries, children */

static void *contexts(void *arg)
{
	(void)arg;
	for (int i = 0; i < rounds; i++) {
		struct host_end end;

		host_open(&end, i & 1 ? "weft1" : "weft0", PAGE);
		host_close(&end);
	}
	return NULL;
}

static void *questions(void *arg)
{
	struct weft_list_item items[WEFT_LIST_MIN];
	struct weft_device *list;
	struct weft_stat stats[8];
	struct weft_device_attr device;
	struct weft_port_attr port;
	uint32_t cursor;

	(void)arg;
	for (int i = 0; i < rounds; i++) {
		struct weft_context *tool = weft_open_tool("weft0");

		host_check(tool && weft_query_device(shared.ctx, &device) == 0);
		host_check(weft_query_port(shared.ctx, &port) == 0);
		cursor = 0;
		host_check(weft_stats(tool, 0, &cursor, stats, 8) > 0);
		cursor = 0;
		host_check(weft_list(tool, WEFT_LIST_CLIENTS, 0, &cursor, items, WEFT_LIST_MIN) >
			   0);
		weft_close_device(tool);
		host_check(weft_get_device_list(&list) == 2);
		weft_free_device_list(list);
	}
	return NULL;
}

/* In the child: its memory is its own, the inherited context returns EIO, a new one works. */
static int child(const char *mine, struct weft_cq *cq)
{
	struct host_end own;
	struct weft_wc wc;

	memset(shared.mem + PAGE, 0xee, PAGE);
	if (strcmp(mine, "kept") != 0)
		return 10;
	if (weft_poll_cq(cq, 1, &wc) != -EIO || weft_alloc_pd(shared.ctx))
		return 11;
	weft_close_device(shared.ctx);
	host_open(&own, "weft1", PAGE);
	host_close(&own);
	return 0;
}

static void *forks(void *arg)
{
	struct weft_cq *cq = weft_create_cq(shared.ctx, 64, NULL, NULL);
	char *mine = weft_alloc(shared.ctx, PAGE);
	int status;

	(void)arg;
	host_check(cq && mine);
	memcpy(mine, "kept", 5);
	for (int i = 0; i < rounds / 8 + 1; i++) {
		pid_t pid = fork();

		host_check(pid >= 0);
		if (pid == 0)
			_exit(child(mine, cq));
		host_check(waitpid(pid, &status, 0) == pid);
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
			host_die("child of fork: status %#x", (unsigned)status);
		host_check(shared.mem[PAGE] == 0);
	}
	host_check(weft_destroy_cq(cq) == 0);
	weft_free(mine, PAGE);
	return NULL;
}

int main(int argc, char **argv)
{
	static void *(*const work[])(void *) = {queues, queues,  handles,  memory,    memory,
						mover,  failing, contexts, questions, forks};
	static void *(*const watch[])(void *) = {hammer, listener, listener};
	enum {
		WORK = sizeof(work) / sizeof(work[0]),
		WATCH = sizeof(watch) / sizeof(watch[0])
	};
	pthread_t worker[WORK], watcher[WATCH];
	unsigned workers = WORK;

	if (argc < 2 || atoi(argv[1]) <= 0) {
		fprintf(stderr, "usage: thr_objects ROUNDS [nofork]\n");
		return 2;
	}
	rounds = atoi(argv[1]);
	if (argc > 2)
		workers--; /* forks is the last one */
	host_open(&shared, "weft0", (size_t)2 * PAGE);
	host_check(fcntl(shared.ctx->async_fd, F_SETFL, O_NONBLOCK) == 0);
	hammered = mmap(NULL, MEM_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);
	host_check(hammered != MAP_FAILED);
	for (unsigned i = 0; i < WATCH; i++)
		host_check(pthread_create(&watcher[i], NULL, watch[i], NULL) == 0);
	for (unsigned i = 0; i < workers; i++)
		host_check(pthread_create(&worker[i], NULL, work[i], (void *)(uintptr_t)i) == 0);
	for (unsigned i = 0; i < workers; i++)
		pthread_join(worker[i], NULL);
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	for (unsigned i = 0; i < WATCH; i++)
		pthread_join(watcher[i], NULL);
	printf("%d rounds of %u threads, %u asynchronous events\n", rounds, workers, num_events);
	host_close(&shared);
	return 0;
}
