/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An event queue between two threads: the firmware writes entries and raises interrupts, libweft
 * takes them, sleeps on the eventfd, masks and unmasks. No entry may wait for a process that
 * sleeps: pair E3, and D2 for unmasking. A lost wake-up is a sleep that does not end within
 * SLEEP_MS.
 */
#include "tests/bench/host.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "host_driver/weft_eq.h"

enum {
	EVENTS = 300000,
	ENTRIES = 16,
	SLEEP_MS = 20000,
	MASK_EVERY = 7, /* sleeps */
};

struct race {
	struct fw_ut ut;
	struct weft_eq eq;
	uint32_t number;
	uint32_t irqs;
	uint32_t ended; /* the host has all entries */
};

static void raise(void *ctx, uint32_t client, uint32_t eq)
{
	struct race *r = ctx;
	uint64_t one = 1;

	(void)client;
	(void)eq;
	r->irqs++;
	CU_ASSERT(write(r->eq.event_fd, &one, sizeof(one)) == sizeof(one));
}

/* The firmware's core: an event, a turn, and at times a pause. */
static void *firmware(void *arg)
{
	struct race *r = arg;
	struct fw_nic *nic = r->ut.nic;
	struct fw_eq *eq = &nic->host.eqs[nic->host.clients[0].eq[r->number]];
	uint32_t sent = 0, i;

	while (!__atomic_load_n(&r->ended, __ATOMIC_ACQUIRE)) {
		if (sent < EVENTS && !eq_is_full(eq)) {
			struct hw_eqe eqe = {.type = HW_EVENT_CM, .id = sent++};

			eq_post(nic, 0, r->number, &eqe);
		} else {
			sched_yield();
		}
		r->ut.now_ns += 1000;
		(void)fw_poll(nic, r->ut.now_ns, 32);
		for (i = sent * 2654435761u >> 24; i; i--)
			__asm__ volatile("");
	}
	return NULL;
}

/* Does as weft_mask_comp_channel(), where there is no context. */
static void mask(struct race *r, bool masked)
{
	struct hw_bar_header *header = (void *)r->ut.client[0].bar;
	uint32_t *ring = (void *)(r->ut.client[0].bar + HW_BAR_DB_RING);
	uint32_t slot;

	__atomic_store_n(&r->eq.record->masked, masked, __ATOMIC_RELEASE);
	if (masked || !weft_barrier_ring_needed(&r->eq.record->rung))
		return;
	slot = __atomic_fetch_add(&header->db_tail, 1, __ATOMIC_RELAXED);
	weft_barrier_db_entry(&ring[slot % HW_DB_RING_ENTRIES], HW_DB_ENTRY(HW_DB_EQ, r->number));
}

static void nothing_is_lost(void)
{
	static struct race r;
	uint32_t taken = 0, sleeps = 0;
	struct hw_eqe eqe;
	struct fw_eq *queue;
	pthread_t thread;

	fw_ut_begin(&r.ut);
	r.number = fw_ut_eq(&r.ut, 0, ENTRIES);
	queue = &r.ut.nic->host.eqs[r.ut.nic->host.clients[0].eq[r.number]];
	r.ut.nic->port.irq = raise;
	pthread_mutex_init(&r.eq.lock, NULL);
	r.eq.number = r.number;
	r.eq.entries = ENTRIES;
	r.eq.record = queue->record;
	r.eq.ring = queue->ring;
	r.eq.event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	CU_ASSERT_FATAL(r.eq.event_fd >= 0);
	CU_ASSERT_FATAL(!pthread_create(&thread, NULL, firmware, &r));
	while (taken < EVENTS) {
		struct pollfd pfd = {.fd = r.eq.event_fd, .events = POLLIN};

		while (weft_eq_take(&r.eq, &eqe)) {
			CU_ASSERT(eqe.id == taken);
			taken++;
		}
		if (taken == EVENTS)
			break;
		if (++sleeps % MASK_EVERY == 0) {
			mask(&r, true);
			if (sleeps % 2)
				sched_yield();
			mask(&r, false);
		}
		if (poll(&pfd, 1, SLEEP_MS) != 1) {
			CU_FAIL("a process sleeps over an event");
			break;
		}
	}
	__atomic_store_n(&r.ended, 1, __ATOMIC_RELEASE);
	CU_ASSERT_FATAL(!pthread_join(thread, NULL));
	/* Interrupts must be fewer than events, or the race was not tested. */
	CU_ASSERT(r.irqs > 0 && r.irqs < EVENTS);
	CU_ASSERT_EQUAL(fw_lost_interrupts(r.ut.nic), 0);
	close(r.eq.event_fd);
	pthread_mutex_destroy(&r.eq.lock);
	fw_ut_end(&r.ut);
}

UT_MAIN("host_driver/weft_eq_race", UT(nothing_is_lost))
