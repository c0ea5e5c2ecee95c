/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/weft_event.c, weft_eq.c: arming, completion channels, asynchronous events.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/host_driver/fake_nic.h"
#include "tests/ut.h"

static const struct weft_qp_cap cap = {
    .max_send_wr = 8,
    .max_recv_wr = 8,
    .max_send_sge = 1,
    .max_recv_sge = 1,
};

struct chan_setup {
	struct fake_nic *nic;
	struct weft_context *context;
	struct weft_comp_channel *channel;
	struct weft_cq *cq;
};

static void setup(struct chan_setup *s)
{
	static int user;

	s->context = fake_open(&s->nic, 0);
	s->channel = weft_create_comp_channel(s->context, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(s->channel);
	s->cq = weft_create_cq(s->context, 8, s->channel, &user);
	CU_ASSERT_PTR_NOT_NULL_FATAL(s->cq);
}

static void teardown(struct chan_setup *s)
{
	CU_ASSERT_EQUAL(weft_destroy_cq(s->cq), 0);
	CU_ASSERT_EQUAL(weft_destroy_comp_channel(s->channel), 0);
	fake_close(s->context, s->nic);
}

static bool readable(int fd)
{
	struct pollfd pfd = {.fd = fd, .events = POLLIN};

	return poll(&pfd, 1, 0) == 1;
}

static void set_nonblock(int fd)
{
	CU_ASSERT_EQUAL(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
}

static void comp_event(struct chan_setup *s, uint32_t cq, bool irq)
{
	struct hw_eqe eqe = {.id = cq, .type = HW_EVENT_COMPLETION};

	fake_eqe(s->nic, 1, eqe, irq);
}

static void arm_word(void)
{
	struct chan_setup s;
	struct weft_cq_obj *cq;
	struct weft_cq *polled;

	setup(&s);
	cq = weft_container_of(s.cq, struct weft_cq_obj, pub);
	CU_ASSERT_EQUAL(weft_req_notify_cq(s.cq, false), 0);
	CU_ASSERT_EQUAL(cq->record->arm, HW_CQ_ARM_ARMED);
	CU_ASSERT_EQUAL(fake_doorbell(s.nic), HW_DB_ENTRY(HW_DB_CQ_ARM, s.cq->handle));
	/* The index is that of the next entry to poll, low 30 bits. */
	cq->cons = 0xc0000005;
	CU_ASSERT_EQUAL(weft_req_notify_cq(s.cq, true), 0);
	CU_ASSERT_EQUAL(cq->record->arm, HW_CQ_ARM_ARMED | HW_CQ_ARM_SOLICITED | 5);
	CU_ASSERT_EQUAL(fake_doorbell(s.nic), HW_DB_ENTRY(HW_DB_CQ_ARM, s.cq->handle));
	polled = weft_create_cq(s.context, 8, NULL, NULL);
	CU_ASSERT_EQUAL(weft_req_notify_cq(polled, false), -EINVAL);
	CU_ASSERT_EQUAL(weft_destroy_cq(polled), 0);
	cq->cons = 0;
	teardown(&s);
}

/* As in verbs: completions that an event reported raise no second one, later ones do. */
static void told_once(void)
{
	struct hw_cqe cqe = {.status = WEFT_WC_SUCCESS};
	struct chan_setup s;
	struct weft_cq_obj *cq;

	setup(&s);
	cq = weft_container_of(s.cq, struct weft_cq_obj, pub);
	fake_cqe(s.nic, s.cq, cqe);
	fake_cqe(s.nic, s.cq, cqe);
	/* never reported: as for the NIC's own programs */
	CU_ASSERT_EQUAL(weft_req_notify_cq_untold(s.cq, false), 0);
	CU_ASSERT_EQUAL(cq->record->arm, HW_CQ_ARM_ARMED);
	weft_cq_told(s.cq);
	CU_ASSERT_EQUAL(weft_req_notify_cq_untold(s.cq, true), 0);
	CU_ASSERT_EQUAL(cq->record->arm, HW_CQ_ARM_ARMED | HW_CQ_ARM_SOLICITED | 2);
	CU_ASSERT_EQUAL(weft_req_notify_cq(s.cq, false), 0);
	CU_ASSERT_EQUAL(cq->record->arm, HW_CQ_ARM_ARMED);
	/* one that came since is not reported yet */
	fake_cqe(s.nic, s.cq, cqe);
	CU_ASSERT_EQUAL(weft_req_notify_cq_untold(s.cq, false), 0);
	CU_ASSERT_EQUAL(cq->record->arm, HW_CQ_ARM_ARMED | 2);
	/* the whole ring is reported, but not the older entries behind it */
	for (int i = 3; i < 8; i++)
		fake_cqe(s.nic, s.cq, cqe);
	weft_cq_told(s.cq);
	weft_cq_told(s.cq);
	CU_ASSERT_EQUAL(weft_req_notify_cq_untold(s.cq, false), 0);
	CU_ASSERT_EQUAL(cq->record->arm, HW_CQ_ARM_ARMED | 8);
	/* polled beyond it */
	cq->cons = 11;
	CU_ASSERT_EQUAL(weft_req_notify_cq_untold(s.cq, false), 0);
	CU_ASSERT_EQUAL(cq->record->arm, HW_CQ_ARM_ARMED | 11);
	cq->cons = 0;
	teardown(&s);
}

/* The descriptor is readable exactly while an event waits. */
static void readable_while_waiting(void)
{
	struct chan_setup s;
	struct weft_cq *cq = NULL;
	void *user = NULL;

	setup(&s);
	set_nonblock(s.channel->fd);
	for (int turn = 0; turn < 3 * FAKE_EQ_ENTRIES; turn++) {
		CU_ASSERT_FALSE(readable(s.channel->fd));
		CU_ASSERT_EQUAL(weft_get_cq_event(s.channel, &cq, &user), -EAGAIN);
		/* Two entries for one interrupt, and one whose interrupt is still to come. */
		comp_event(&s, s.cq->handle, false);
		comp_event(&s, s.cq->handle, true);
		CU_ASSERT_TRUE(readable(s.channel->fd));
		CU_ASSERT_EQUAL(weft_get_cq_event(s.channel, &cq, &user), 0);
		CU_ASSERT_PTR_EQUAL(cq, s.cq);
		CU_ASSERT_PTR_EQUAL(user, s.cq->user);
		CU_ASSERT_TRUE(readable(s.channel->fd));
		CU_ASSERT_EQUAL(weft_get_cq_event(s.channel, NULL, NULL), 0);
		weft_ack_cq_events(s.cq, 2);
	}
	CU_ASSERT_EQUAL(s.nic->eq[1].record->cons, 6 * FAKE_EQ_ENTRIES);
	teardown(&s);
}

struct waiter {
	struct weft_comp_channel *channel;
	struct weft_cq *cq;
	int rc;
};

static void *wait_event(void *arg)
{
	struct waiter *w = arg;

	w->rc = weft_get_cq_event(w->channel, &w->cq, NULL);
	return NULL;
}

static void blocks_until_event(void)
{
	struct chan_setup s;
	struct waiter w;
	pthread_t thread;

	setup(&s);
	w = (struct waiter){.channel = s.channel, .rc = 1};
	pthread_create(&thread, NULL, wait_event, &w);
	comp_event(&s, s.cq->handle, true);
	pthread_join(thread, NULL);
	CU_ASSERT_EQUAL(w.rc, 0);
	CU_ASSERT_PTR_EQUAL(w.cq, s.cq);
	weft_ack_cq_events(s.cq, 1);
	teardown(&s);
}

/* weftd is killed while a thread waits: an armed CQ gets its event, then the wait ends. */
static void wait_ends_when_gone(void)
{
	struct chan_setup s;
	struct waiter w;
	pthread_t thread;

	setup(&s);
	CU_ASSERT_EQUAL(weft_req_notify_cq(s.cq, false), 0);
	w = (struct waiter){.channel = s.channel, .rc = 1};
	pthread_create(&thread, NULL, wait_event, &w);
	fake_die(s.nic);
	pthread_join(thread, NULL);
	CU_ASSERT_EQUAL(w.rc, 0);
	CU_ASSERT_PTR_EQUAL(w.cq, s.cq);
	weft_ack_cq_events(s.cq, 1);
	CU_ASSERT_EQUAL(weft_get_cq_event(s.channel, NULL, NULL), -EIO);
	CU_ASSERT_TRUE(readable(s.channel->fd));
	teardown(&s);
}

static void nonblocking_when_gone(void)
{
	struct weft_device_attr attr;
	struct chan_setup s;

	setup(&s);
	set_nonblock(s.channel->fd);
	set_nonblock(s.context->async_fd);
	CU_ASSERT_EQUAL(weft_query_device(s.context, &attr), 0);
	fake_die(s.nic);
	/* its limits are free again */
	CU_ASSERT_EQUAL(weft_query_device(s.context, &attr), -EIO);
	CU_ASSERT_TRUE(readable(s.channel->fd));
	CU_ASSERT_EQUAL(weft_get_cq_event(s.channel, NULL, NULL), -EIO);
	teardown(&s);
}

/* An event that was not taken dies with its CQ, since the next CQ may have its number. */
static void stale_events_are_purged(void)
{
	struct chan_setup s;
	struct weft_cq *second, *third, *got = NULL;
	uint32_t number;

	setup(&s);
	set_nonblock(s.channel->fd);
	second = weft_create_cq(s.context, 8, s.channel, NULL);
	comp_event(&s, s.cq->handle, true);
	number = second->handle;
	comp_event(&s, number, true);
	comp_event(&s, s.cq->handle, true);
	CU_ASSERT_EQUAL(weft_destroy_cq(second), 0);
	CU_ASSERT_TRUE(readable(s.channel->fd));
	s.nic->num_cq--;
	third = weft_create_cq(s.context, 8, s.channel, NULL);
	CU_ASSERT_EQUAL(third->handle, number);
	CU_ASSERT_EQUAL(weft_get_cq_event(s.channel, &got, NULL), 0);
	CU_ASSERT_PTR_EQUAL(got, s.cq);
	CU_ASSERT_EQUAL(weft_get_cq_event(s.channel, &got, NULL), 0);
	CU_ASSERT_PTR_EQUAL(got, s.cq);
	CU_ASSERT_EQUAL(weft_get_cq_event(s.channel, &got, NULL), -EAGAIN);
	weft_ack_cq_events(s.cq, 2);
	/* it was the only event: the descriptor is no longer readable */
	comp_event(&s, third->handle, true);
	CU_ASSERT_TRUE(readable(s.channel->fd));
	CU_ASSERT_EQUAL(weft_destroy_cq(third), 0);
	CU_ASSERT_FALSE(readable(s.channel->fd));
	teardown(&s);
}

struct destroyer {
	struct weft_cq *cq;
	int started;
	int rc;
};

static void *destroy(void *arg)
{
	struct destroyer *d = arg;

	__atomic_store_n(&d->started, 1, __ATOMIC_SEQ_CST);
	d->rc = weft_destroy_cq(d->cq);
	return NULL;
}

static void destroy_waits_for_acks(void)
{
	struct chan_setup s;
	struct destroyer d;
	pthread_t thread;

	setup(&s);
	d = (struct destroyer){.cq = weft_create_cq(s.context, 8, s.channel, NULL), .rc = 1};
	comp_event(&s, d.cq->handle, true);
	CU_ASSERT_EQUAL(weft_get_cq_event(s.channel, NULL, NULL), 0);
	CU_ASSERT_EQUAL(weft_destroy_comp_channel(s.channel), -EBUSY);
	pthread_create(&thread, NULL, destroy, &d);
	while (!__atomic_load_n(&d.started, __ATOMIC_SEQ_CST) ||
	       !__atomic_load_n(&s.nic->commands[HW_CMD_DESTROY_CQ], __ATOMIC_SEQ_CST))
		usleep(100);
	CU_ASSERT_EQUAL(__atomic_load_n(&d.rc, __ATOMIC_SEQ_CST), 1);
	weft_ack_cq_events(d.cq, 1);
	pthread_join(thread, NULL);
	CU_ASSERT_EQUAL(d.rc, 0);
	teardown(&s);
}

static void async_events(void)
{
	struct fake_setup s;
	struct weft_async_event event;
	struct hw_eqe eqe = {
	    .id = FAKE_QPN_BASE,
	    .aux = 31,
	    .aux2 = 0x0100000a,
	    .type = HW_EVENT_PEER_ERROR,
	    .code = 4,
	    .layer_etype = 0x11,
	};

	fake_setup(&s, WEFT_QPT_UD, &cap, 8);
	set_nonblock(s.context->async_fd);
	CU_ASSERT_EQUAL(weft_get_async_event(s.context, &event), -EAGAIN);
	fake_eqe(s.nic, 0, eqe, true);
	eqe.type = HW_EVENT_CQ_ERR;
	eqe.id = s.cq->handle;
	fake_eqe(s.nic, 0, eqe, true);
	eqe.type = HW_EVENT_PORT_ERR;
	eqe.id = 0;
	fake_eqe(s.nic, 0, eqe, true);
	eqe.type = HW_EVENT_QP_FATAL;
	eqe.id = FAKE_QPN_BASE + 7; /* no such QP */
	fake_eqe(s.nic, 0, eqe, true);
	eqe.type = 200; /* of a newer NIC */
	fake_eqe(s.nic, 0, eqe, true);
	CU_ASSERT_EQUAL(weft_get_async_event(s.context, &event), 0);
	CU_ASSERT_EQUAL(event.type, WEFT_EVENT_PEER_ERROR);
	CU_ASSERT_PTR_EQUAL(event.qp, s.qp);
	CU_ASSERT_EQUAL(event.peer_ssn, 31);
	CU_ASSERT_EQUAL(event.peer_ip, 0x0100000a);
	CU_ASSERT_EQUAL(event.peer_layer_etype, 0x11);
	CU_ASSERT_EQUAL(event.peer_code, 4);
	weft_ack_async_event(&event);
	CU_ASSERT_EQUAL(weft_get_async_event(s.context, &event), 0);
	CU_ASSERT_EQUAL(event.type, WEFT_EVENT_CQ_ERR);
	CU_ASSERT_PTR_EQUAL(event.cq, s.cq);
	CU_ASSERT_PTR_NULL(event.qp);
	weft_ack_async_event(&event);
	CU_ASSERT_EQUAL(weft_get_async_event(s.context, &event), 0);
	CU_ASSERT_EQUAL(event.type, WEFT_EVENT_PORT_ERR);
	weft_ack_async_event(&event);
	CU_ASSERT_EQUAL(weft_get_async_event(s.context, &event), -EAGAIN);
	CU_ASSERT_FALSE(readable(s.context->async_fd));
	fake_teardown(&s);
}

/* DEVICE_FATAL comes once, whether the NIC wrote it or not. */
static void fatal_once(void)
{
	struct weft_async_event event;
	struct weft_context *context;
	struct fake_nic *nic;

	for (int written = 0; written < 2; written++) {
		struct hw_eqe eqe = {.type = HW_EVENT_DEVICE_FATAL};

		context = fake_open(&nic, 0);
		if (written)
			fake_eqe(nic, 0, eqe, true);
		fake_die(nic);
		CU_ASSERT_TRUE(readable(context->async_fd));
		CU_ASSERT_EQUAL(weft_get_async_event(context, &event), 0);
		CU_ASSERT_EQUAL(event.type, WEFT_EVENT_DEVICE_FATAL);
		weft_ack_async_event(&event);
		CU_ASSERT_EQUAL(weft_get_async_event(context, &event), -EIO);
		fake_close(context, nic);
	}
}

/* A destroyed CQ that waits for its last acknowledgement gets no more events. */
static void no_event_of_one_that_goes(void)
{
	struct timespec pause = {.tv_nsec = 1000000};
	struct weft_cq_obj *cq;
	struct chan_setup s;
	struct destroyer d;
	pthread_t thread;
	int tries = 20000;

	setup(&s);
	cq = weft_container_of(s.cq, struct weft_cq_obj, pub);
	CU_ASSERT_EQUAL(weft_req_notify_cq(s.cq, false), 0);
	fake_die(s.nic);
	CU_ASSERT_EQUAL(weft_get_cq_event(s.channel, NULL, NULL), 0);
	CU_ASSERT_EQUAL(weft_req_notify_cq(s.cq, false), 0);
	d = (struct destroyer){.cq = s.cq, .rc = 1};
	pthread_create(&thread, NULL, destroy, &d);
	while (__atomic_load_n(&cq->armed, __ATOMIC_RELAXED) && --tries)
		nanosleep(&pause, NULL);
	CU_ASSERT_TRUE(tries);
	if (weft_get_cq_event(s.channel, NULL, NULL) == 0) {
		CU_FAIL("it was handed out");
		weft_ack_cq_events(s.cq, 1);
	}
	weft_ack_cq_events(s.cq, 1);
	pthread_join(thread, NULL);
	CU_ASSERT_EQUAL(d.rc, 0);
	CU_ASSERT_EQUAL(weft_destroy_comp_channel(s.channel), 0);
	fake_close(s.context, s.nic);
}

struct victim {
	struct fake_setup s;
	struct weft_comp_channel *channel;
	sem_t go;
	int poll_rc, async_rc, post_rc, arm_rc, reg_rc;
	bool came_back;
};

static int register_one(struct weft_pd *pd)
{
	static char memory[64];
	struct weft_mr *mr = weft_reg_mr(pd, memory, sizeof(memory), WEFT_ACCESS_LOCAL_WRITE);

	return mr ? weft_dereg_mr(mr) : -errno;
}

/* Cancelled at its first cancellation point. */
static void *call_all(void *arg)
{
	struct victim *v = arg;
	const struct weft_send_wr wr = {.opcode = WEFT_WR_SEND, .ah = v->s.ah};
	struct weft_async_event event;

	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	sem_wait(&v->go);
	(void)pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	v->poll_rc = weft_get_cq_event(v->channel, NULL, NULL);
	v->async_rc = weft_get_async_event(v->s.context, &event);
	v->post_rc = weft_post_send(v->s.qp, &wr, NULL);
	v->arm_rc = weft_req_notify_cq(v->s.cq, false);
	v->reg_rc = register_one(v->s.pd);
	v->came_back = true;
	pthread_testcancel();
	return NULL;
}

/* A thread is never cancelled in the middle of a call: locks would stay taken, an event lost. */
static void not_cancelled_with_locks(void)
{
	struct victim v = {.poll_rc = 1};
	struct hw_bar_header *header;
	pthread_t thread;
	void *end;

	fake_setup(&v.s, WEFT_QPT_UD, &cap, 8);
	v.channel = weft_create_comp_channel(v.s.context, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(v.channel);
	set_nonblock(v.channel->fd);
	set_nonblock(v.s.context->async_fd);
	header = (struct hw_bar_header *)v.s.nic->bar;
	header->sleeping = 1; /* posting writes to the doorbell */
	sem_init(&v.go, 0, 0);
	pthread_create(&thread, NULL, call_all, &v);
	pthread_cancel(thread);
	sem_post(&v.go);
	pthread_join(thread, &end);
	CU_ASSERT_PTR_EQUAL(end, PTHREAD_CANCELED);
	CU_ASSERT_TRUE(v.came_back);
	CU_ASSERT_TRUE(v.poll_rc == -EAGAIN && v.async_rc == -EAGAIN);
	CU_ASSERT_TRUE(v.post_rc == 0 && v.arm_rc == -EINVAL && v.reg_rc == 0);
	/* Other threads go on. */
	CU_ASSERT_EQUAL_FATAL(pthread_mutex_trylock(&weft_global.lock), 0);
	pthread_mutex_unlock(&weft_global.lock);
	CU_ASSERT_EQUAL(weft_get_cq_event(v.channel, NULL, NULL), -EAGAIN);
	CU_ASSERT_EQUAL(register_one(v.s.pd), 0);
	CU_ASSERT_EQUAL(weft_destroy_comp_channel(v.channel), 0);
	fake_teardown(&v.s);
}

static void *wait_for_ever(void *arg)
{
	struct weft_comp_channel *channel = arg;

	(void)!weft_get_cq_event(channel, NULL, NULL);
	return NULL;
}

static void cancelled_while_it_waits(void)
{
	struct chan_setup s;
	struct timespec until;
	pthread_t thread;
	void *end = NULL;

	setup(&s);
	pthread_create(&thread, NULL, wait_for_ever, s.channel);
	pthread_cancel(thread);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 20;
	CU_ASSERT_EQUAL_FATAL(pthread_timedjoin_np(thread, &end, &until), 0);
	CU_ASSERT_PTR_EQUAL(end, PTHREAD_CANCELED);
	teardown(&s);
}

UT_MAIN("host_driver/weft_event", UT(arm_word), UT(told_once), UT(readable_while_waiting),
	UT(blocks_until_event), UT(wait_ends_when_gone), UT(nonblocking_when_gone),
	UT(stale_events_are_purged), UT(destroy_waits_for_acks), UT(async_events), UT(fatal_once),
	UT(no_event_of_one_that_goes), UT(not_cancelled_with_locks), UT(cancelled_while_it_waits))
