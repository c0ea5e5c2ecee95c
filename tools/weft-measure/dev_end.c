/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One end of target device: a process that blocks on its completion channel. See dev_end.h.
 *
 * The process takes its event, polls until nothing is left, arms, polls once more, and sleeps.
 * sim_harness/sim_client.c does the same in the simulator, so that the two can be compared. Runs in
 * a process of its own; calls libweft and load.c.
 */
#include "tools/weft-measure/dev_end.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host_driver/weft.h"
#include "lib/clock.h"

enum {
	QKEY = 0x77656674,
	BATCH = 16, /* completions taken with one call */
	SLOT_BYTES = 65536,
	INLINE_BYTES = 64,
};

struct end {
	int fd;
	struct dev_shared *shared;
	struct weft_context *context;
	struct weft_pd *pd;
	struct weft_comp_channel *channel;
	struct weft_cq *cq;
	struct weft_qp *qp;
	struct weft_mr *mr;
	struct weft_ah *ah;
	uint8_t *memory; /* to receive into, to send from */
	bool armed;
	int rc; /* of a request that could not be posted */
};

static uint64_t now_ns(void *ctx)
{
	(void)ctx;
	return clock_now_ns();
}

static int wrong(struct end *e, int rc, const char *what)
{
	return tune_error(e->shared->error, rc, "%s: %s: %s", e->shared->device, what,
			  strerror(-rc));
}

static bool say(const struct end *e, enum dev_word word)
{
	uint8_t byte = (uint8_t)word;

	return send(e->fd, &byte, 1, MSG_NOSIGNAL) == 1;
}

/* False: the target has gone. */
static bool hear(const struct end *e, enum dev_word *word)
{
	uint8_t byte;
	ssize_t n;

	do
		n = recv(e->fd, &byte, 1, 0);
	while (n < 0 && errno == EINTR);
	*word = (enum dev_word)byte;
	return n == 1;
}

static int post_recv(struct end *e)
{
	struct weft_sge sge = {(uintptr_t)e->memory, SLOT_BYTES, e->mr->lkey};
	struct weft_recv_wr wr = {.sg_list = &sge, .num_sge = 1};

	return weft_post_recv(e->qp, &wr, NULL);
}

static void post_send(void *ctx, uint32_t bytes)
{
	struct end *e = ctx;
	struct weft_sge sge = {(uintptr_t)e->memory + SLOT_BYTES, bytes, e->mr->lkey};
	struct weft_send_wr wr = {.sg_list = &sge,
				  .num_sge = 1,
				  .opcode = WEFT_WR_SEND,
				  .flags = WEFT_SEND_SIGNALED |
					   (bytes <= INLINE_BYTES ? WEFT_SEND_INLINE : 0u),
				  .ah = e->ah,
				  .dst_qpn = e->shared->peer_qpn,
				  .qkey = QKEY};
	int rc = weft_post_send(e->qp, &wr, NULL);

	if (rc && !e->rc)
		e->rc = rc;
}

static int open_queues(struct end *e)
{
	struct weft_qp_init_attr init = {.type = WEFT_QPT_RD,
					 .cap = {.max_send_wr = LOAD_DEPTH,
						 .max_recv_wr = LOAD_DEPTH,
						 .max_send_sge = 1,
						 .max_recv_sge = 1,
						 .max_inline_bytes = INLINE_BYTES}};
	int flags, rc;

	e->channel = weft_create_comp_channel(e->context, 0);
	if (!e->channel)
		return wrong(e, -errno, "no completion channel");
	flags = fcntl(e->channel->fd, F_GETFL);
	if (flags < 0 || fcntl(e->channel->fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return wrong(e, -errno, "the completion channel");
	e->cq = weft_create_cq(e->context, 2 * LOAD_DEPTH, e->channel, NULL);
	if (!e->cq)
		return wrong(e, -errno, "no completion queue");
	init.send_cq = init.recv_cq = e->cq;
	e->qp = weft_create_qp(e->pd, &init);
	if (!e->qp)
		return wrong(e, -errno, "no queue pair");
	rc = weft_activate_qp(e->qp, QKEY, 0);
	return rc ? wrong(e, rc, "the queue pair") : 0;
}

static int open_end(struct end *e)
{
	struct weft_port_attr port;
	uint32_t i;
	int rc = 0;

	e->context = weft_open_device(e->shared->device);
	if (!e->context)
		return wrong(e, -errno, "cannot be opened (is weftd running?)");
	e->pd = weft_alloc_pd(e->context);
	e->memory = e->pd ? weft_alloc(e->context, 2 * SLOT_BYTES) : NULL;
	e->mr = e->memory ? weft_reg_mr(e->pd, e->memory, 2 * SLOT_BYTES, WEFT_ACCESS_LOCAL_WRITE)
			  : NULL;
	if (!e->mr)
		return wrong(e, -errno, "no memory");
	rc = open_queues(e);
	for (i = 0; i < LOAD_RECVS && !rc; i++) {
		rc = post_recv(e);
		if (rc)
			wrong(e, rc, "no receive");
	}
	if (rc)
		return rc;
	rc = weft_query_port(e->context, &port);
	if (rc)
		return wrong(e, rc, "its port");
	e->shared->ip = port.ip;
	e->shared->qpn = e->qp->qpn;
	return 0;
}

static int connect_end(struct end *e)
{
	struct weft_av av = weft_av_ip(e->shared->peer_ip);

	e->ah = weft_create_ah(e->pd, &av);
	return e->ah ? 0 : wrong(e, -errno, "the other NIC cannot be reached");
}

static int completion(struct end *e, struct load *load, const struct weft_wc *wc)
{
	if (wc->status != WEFT_WC_SUCCESS)
		return tune_error(e->shared->error, -EIO, "%s: a request ended with %s%s",
				  e->shared->device, weft_wc_status_str(wc->status),
				  wc->status == WEFT_WC_RETRY_EXC_ERR ? ": the other end is dead"
								      : "");
	if (wc->opcode != WEFT_WC_RECV) {
		load_sent(load);
		return 0;
	}
	load_received(load, wc->bytes);
	return post_recv(e);
}

/* Takes what there is: the number of completions, or an error. */
static int take_all(struct end *e, struct load *load)
{
	struct weft_wc wc[BATCH];
	int n, i, rc, all = 0;

	while ((n = weft_poll_cq(e->cq, BATCH, wc)) > 0) {
		for (i = 0; i < n; i++) {
			rc = completion(e, load, &wc[i]);
			if (rc)
				return rc;
		}
		if (e->rc)
			return wrong(e, e->rc, "a request could not be posted");
		all += n;
	}
	return n < 0 ? wrong(e, n, "its completions") : all;
}

/* Sleeps until there is an event. -EPIPE: the target has gone. */
static int wait_event(struct end *e)
{
	struct pollfd fds[2] = {{.fd = e->channel->fd, .events = POLLIN},
				{.fd = e->fd, .events = POLLIN}};
	struct weft_cq *cq;
	int rc;

	while ((rc = poll(fds, 2, -1)) < 0 && errno == EINTR)
		;
	if (rc < 0)
		return wrong(e, -errno, "poll");
	if (fds[1].revents)
		return -EPIPE;
	rc = weft_get_cq_event(e->channel, &cq, NULL);
	if (rc == -EAGAIN)
		return 0;
	if (rc)
		return wrong(e, rc, rc == -EIO ? "weftd has ended" : "its events");
	weft_ack_cq_events(cq, 1);
	e->armed = false;
	return 0;
}

static int arm(struct end *e)
{
	int rc = e->armed ? 0 : weft_req_notify_cq(e->cq, false);

	e->armed = true;
	return rc ? wrong(e, rc, "cannot be armed") : 0;
}

static int run_to_end(struct end *e, struct load *load)
{
	int n = 0;

	while (!load_done(load)) {
		n = take_all(e, load);
		if (n || load_done(load)) {
			if (n < 0)
				return n;
			continue;
		}
		/* Nothing was left; what came while it armed is there at the second look. */
		n = e->armed ? wait_event(e) : arm(e);
		if (n)
			return n;
	}
	return 0;
}

static double cpu_seconds(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

static int run_load(struct end *e)
{
	const struct load_io io = {e, post_send, now_ns};
	struct dev_shared *s = e->shared;
	uint64_t start_ns;
	double cpu;
	int rc;

	load_init(&s->load, &s->plan, &io, s->is_a);
	cpu = cpu_seconds();
	start_ns = now_ns(NULL);
	if (!say(e, DEV_RUNNING))
		return -EPIPE;
	load_begin(&s->load);
	rc = run_to_end(e, &s->load);
	if (rc)
		return rc;
	s->seconds = (double)(now_ns(NULL) - start_ns) * 1e-9;
	s->cpu_seconds = cpu_seconds() - cpu;
	return say(e, DEV_DONE) ? 0 : -EPIPE;
}

static void pin(int cpu)
{
	cpu_set_t set;

	if (cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	/* Where it is refused the end runs where it may. */
	(void)sched_setaffinity(0, sizeof(set), &set);
}

int dev_end_main(int fd, struct dev_shared *shared)
{
	struct end e = {.fd = fd, .shared = shared};
	enum dev_word word;
	int rc;

	pin(shared->cpu);
	rc = open_end(&e);
	if (!rc && !say(&e, DEV_READY))
		rc = -EPIPE;
	while (!rc && hear(&e, &word)) {
		if (word == DEV_CONNECT)
			rc = connect_end(&e) ? -EIO : say(&e, DEV_RUNNING) ? 0 : -EPIPE;
		else if (word == DEV_RUN)
			rc = run_load(&e);
	}
	if (rc && rc != -EPIPE)
		(void)say(&e, DEV_FAILED);
	if (e.context)
		weft_close_device(e.context);
	return rc != 0;
}
