/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/weft_slot.c and its use by weft_ctx.c: answers, what goes by the channel instead,
 * more threads than slots, a NIC that is slow, sleeps, or goes away. A thread plays the NIC.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "host_driver/weft_priv.h"
#include "shared_defs/hw_cmd_slot.h"
#include "tests/ut.h"

enum {
	THREADS = 2 * HW_CMD_SLOTS,
	ROUNDS = 500,
	SLOW_US = 3000, /* longer than a thread yields */
};

static struct {
	struct weft_ctx ctx;
	uint32_t head;     /* of the doorbell ring */
	int32_t status;    /* of all answers */
	atomic_bool deaf;  /* takes no doorbells */
	atomic_bool slow;  /* takes its time for each answer */
	atomic_bool end;   /* of the thread */
	atomic_uint taken; /* commands by slots */
	atomic_uint sent;  /* commands by the channel */
	atomic_uint wakes;
	atomic_bool waits; /* answers when a thread has yielded or slept, and not before */
	atomic_uint yields, sleeps;
	pthread_t thread;
} nic;

/* ---- instead of libc's ------------------------------------------------------------------------
 */

int sched_yield(void)
{
	atomic_fetch_add(&nic.yields, 1);
	return (int)syscall(SYS_sched_yield);
}

int nanosleep(const struct timespec *ns, struct timespec *left)
{
	atomic_fetch_add(&nic.sleeps, 1);
	return (int)syscall(SYS_nanosleep, ns, left);
}

/* ---- the NIC --------------------------------------------------------------------------------- */

static struct hw_bar_header *header(void)
{
	return nic.ctx.bar;
}

static void serve(uint32_t index)
{
	struct hw_cmd_slot *slot =
	    (struct hw_cmd_slot *)(void *)((char *)nic.ctx.bar + HW_BAR_CMD_SLOTS) + index;
	uint32_t serial;

	CU_ASSERT_FATAL(index < HW_CMD_SLOTS);
	(void)__atomic_exchange_n(&slot->rung, 0, __ATOMIC_ACQ_REL);
	serial = __atomic_load_n(&slot->serial, __ATOMIC_RELAXED);
	CU_ASSERT_NOT_EQUAL(serial, slot->done);
	if (atomic_load(&nic.slow))
		usleep(SLOW_US);
	while (atomic_load(&nic.waits) && !atomic_load(&nic.yields) && !atomic_load(&nic.sleeps))
		(void)syscall(SYS_sched_yield);
	memset(&slot->resp, 0, sizeof(slot->resp));
	slot->resp.op = slot->cmd.op;
	slot->resp.status = nic.status;
	slot->resp.u.handle = slot->cmd.u.cm.ep + 1;
	atomic_fetch_add(&nic.taken, 1);
	__atomic_store_n(&slot->done, serial, __ATOMIC_RELEASE);
}

static void *firmware(void *arg)
{
	(void)arg;
	while (!atomic_load(&nic.end)) {
		uint32_t *at = &nic.ctx.db_ring[nic.head % HW_DB_RING_ENTRIES];
		uint32_t entry = atomic_load(&nic.deaf) ? 0 : __atomic_load_n(at, __ATOMIC_ACQUIRE);

		if (!entry) {
			(void)syscall(SYS_sched_yield);
			continue;
		}
		__atomic_store_n(at, 0, __ATOMIC_RELEASE);
		nic.head++;
		CU_ASSERT_EQUAL(HW_DB_KIND(entry), HW_DB_CMD);
		serve(HW_DB_ID(entry));
	}
	return NULL;
}

static int by_channel(void *chan, struct hw_cmd *cmd, int fd_in, struct hw_cmd_resp *resp,
		      int fds[WEFT_CHAN_FDS])
{
	(void)chan;
	(void)fd_in;
	for (int i = 0; i < WEFT_CHAN_FDS; i++)
		fds[i] = -1;
	memset(resp, 0, sizeof(*resp));
	resp->u.handle = cmd->u.cm.ep + 1;
	atomic_fetch_add(&nic.sent, 1);
	return 0;
}

static void wake(void *chan)
{
	(void)chan;
	atomic_fetch_add(&nic.wakes, 1);
}

static struct weft_chan_ops ops = {.flags = WEFT_CHAN_F_SLOTS, .command = by_channel, .wake = wake};

static void begin(void)
{
	memset(&nic, 0, sizeof(nic));
	nic.ctx.ops = &ops;
	nic.ctx.hangup_fd = -1;
	nic.ctx.bar = calloc(1, HW_BAR_DYNAMIC);
	CU_ASSERT_PTR_NOT_NULL_FATAL(nic.ctx.bar);
	nic.ctx.db_ring = (uint32_t *)(void *)((char *)nic.ctx.bar + HW_BAR_DB_RING);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&nic.thread, NULL, firmware, NULL), 0);
}

static void end(void)
{
	atomic_store(&nic.end, true);
	CU_ASSERT_EQUAL(pthread_join(nic.thread, NULL), 0);
	free(nic.ctx.bar);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static int send(enum hw_cmd_op op, uint32_t ep, uint32_t *handle)
{
	struct hw_cmd cmd = {.op = op, .u.cm.ep = ep};
	struct hw_cmd_resp resp;
	int rc = weft_ctx_command(&nic.ctx, &cmd, -1, &resp, NULL);

	if (rc == 0)
		*handle = resp.u.handle;
	return rc;
}

static void which_way(void)
{
	uint32_t handle = 0;

	begin();
	CU_ASSERT_EQUAL(send(HW_CMD_CM_EVENT, 6, &handle), 0);
	CU_ASSERT_EQUAL(handle, 7);
	CU_ASSERT(atomic_load(&nic.taken) == 1 && atomic_load(&nic.sent) == 0);
	CU_ASSERT_EQUAL(send(HW_CMD_REG_MR, 7, &handle), 0);
	CU_ASSERT_EQUAL(handle, 8);
	CU_ASSERT(atomic_load(&nic.taken) == 1 && atomic_load(&nic.sent) == 1);
	/* The caller gets the errors of the NIC. */
	nic.status = EINVAL;
	CU_ASSERT_EQUAL(send(HW_CMD_CM_EVENT, 6, &handle), -EINVAL);
	CU_ASSERT_EQUAL(atomic_load(&nic.sent), 1);
	/* Some of them leave the command to the channel. */
	for (uint32_t i = 0; i < 3; i++) {
		nic.status = (int[]){EAGAIN, EOPNOTSUPP, EDQUOT}[i];
		CU_ASSERT_EQUAL(send(HW_CMD_CM_EVENT, 6, &handle), 0);
		CU_ASSERT_EQUAL(atomic_load(&nic.sent), 2 + i);
	}
	CU_ASSERT_EQUAL(nic.ctx.slots_used, 0);
	/* A channel without a core of its own has no slots. */
	nic.status = 0;
	ops.flags = 0;
	CU_ASSERT_EQUAL(send(HW_CMD_CM_EVENT, 6, &handle), 0);
	CU_ASSERT_EQUAL(atomic_load(&nic.sent), 5);
	ops.flags = WEFT_CHAN_F_SLOTS;
	end();
}

static void slow_and_asleep(void)
{
	uint32_t handle = 0;

	begin();
	atomic_store(&nic.slow, true);
	CU_ASSERT_EQUAL(send(HW_CMD_CM_BIND, 1, &handle), 0);
	CU_ASSERT_EQUAL(atomic_load(&nic.wakes), 0);
	header()->sleeping = 1;
	CU_ASSERT_EQUAL(send(HW_CMD_CM_BIND, 1, &handle), 0);
	CU_ASSERT_EQUAL(atomic_load(&nic.wakes), 1);
	CU_ASSERT_EQUAL(atomic_load(&nic.sent), 0);
	end();
}

/* Pins the calling thread to a CPU that it may use. Returns that CPU. */
static int pin(void)
{
	int cpu = sched_getcpu();
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((unsigned)cpu, &set);
	CU_ASSERT_EQUAL_FATAL(sched_setaffinity(0, sizeof(set), &set), 0);
	CU_ASSERT_EQUAL_FATAL(sched_getcpu(), cpu);
	return cpu;
}

/* One command to a NIC that answers only to a thread that has given up its CPU. */
static void wait_for(uint32_t poll_cpu, uint32_t sleeping, uint32_t doorbells)
{
	uint32_t handle = 0;

	atomic_store(&nic.yields, 0);
	atomic_store(&nic.sleeps, 0);
	header()->poll_cpu = poll_cpu;
	header()->sleeping = sleeping;
	nic.ctx.num_doorbells = doorbells;
	CU_ASSERT_EQUAL(send(HW_CMD_CM_BIND, 1, &handle), 0);
	CU_ASSERT_EQUAL(handle, 2);
	nic.ctx.num_doorbells = 0;
}

/* A thread yields where the NIC may need its CPU; elsewhere others would have it in vain. */
static void yields_where_needed(void)
{
	uint32_t here, elsewhere;
	cpu_set_t all;

	begin();
	CU_ASSERT_EQUAL_FATAL(sched_getaffinity(0, sizeof(all), &all), 0);
	here = (uint32_t)pin() + 1;
	elsewhere = here + 1;
	atomic_store(&nic.waits, true);
	wait_for(here, 0, 1);
	CU_ASSERT(atomic_load(&nic.yields) > 0);
	wait_for(0, 0, 1);
	CU_ASSERT(atomic_load(&nic.yields) > 0);
	wait_for(elsewhere, 0, 1);
	CU_ASSERT_EQUAL(atomic_load(&nic.yields), 0);
	CU_ASSERT(atomic_load(&nic.sleeps) > 0);
	/* It wakes where it polled, or on the CPU of the process that rings. */
	wait_for(elsewhere, 1, 1);
	CU_ASSERT_EQUAL(atomic_load(&nic.yields), 0);
	wait_for(elsewhere, 1, 3);
	CU_ASSERT(atomic_load(&nic.yields) > 0);
	wait_for(elsewhere, 0, 3);
	CU_ASSERT_EQUAL(atomic_load(&nic.yields), 0);
	CU_ASSERT_EQUAL(sched_setaffinity(0, sizeof(all), &all), 0);
	end();
}

static void *many(void *arg)
{
	uint32_t base = *(uint32_t *)arg, handle;

	for (uint32_t i = 0; i < ROUNDS; i++)
		if (send(HW_CMD_CM_BIND, base + i, &handle) || handle != base + i + 1)
			return arg;
	return NULL;
}

/* Each thread gets its own answers, by whichever way. */
static void more_threads_than_slots(void)
{
	pthread_t thread[THREADS];
	uint32_t base[THREADS];
	void *failed;

	begin();
	for (uint32_t i = 0; i < THREADS; i++) {
		base[i] = i << 20;
		CU_ASSERT_EQUAL_FATAL(pthread_create(&thread[i], NULL, many, &base[i]), 0);
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		CU_ASSERT_EQUAL(pthread_join(thread[i], &failed), 0);
		CU_ASSERT_PTR_NULL(failed);
	}
	CU_ASSERT_EQUAL(atomic_load(&nic.taken) + atomic_load(&nic.sent), THREADS * ROUNDS);
	CU_ASSERT_EQUAL(nic.ctx.slots_used, 0);
	end();
}

static void *one(void *arg)
{
	uint32_t handle;

	*(int *)arg = send(HW_CMD_CM_BIND, 1, &handle);
	return NULL;
}

/* All slots are with a NIC that takes no doorbells: the channel serves, until the NIC is gone. */
static void full_then_gone(void)
{
	pthread_t thread[HW_CMD_SLOTS];
	int rc[HW_CMD_SLOTS];
	uint32_t handle = 0;

	begin();
	atomic_store(&nic.deaf, true);
	for (uint32_t i = 0; i < HW_CMD_SLOTS; i++)
		CU_ASSERT_EQUAL_FATAL(pthread_create(&thread[i], NULL, one, &rc[i]), 0);
	while (__atomic_load_n(&nic.ctx.slots_used, __ATOMIC_ACQUIRE) != (1u << HW_CMD_SLOTS) - 1)
		sched_yield();
	CU_ASSERT_EQUAL(send(HW_CMD_CM_BIND, 4, &handle), 0);
	CU_ASSERT_EQUAL(handle, 5);
	CU_ASSERT_EQUAL(atomic_load(&nic.sent), 1);
	__atomic_store_n(&header()->nic_state, HW_NIC_STOPPED, __ATOMIC_RELEASE);
	for (uint32_t i = 0; i < HW_CMD_SLOTS; i++) {
		CU_ASSERT_EQUAL(pthread_join(thread[i], NULL), 0);
		CU_ASSERT_EQUAL(rc[i], -EIO);
	}
	CU_ASSERT_EQUAL(send(HW_CMD_CM_BIND, 4, &handle), -EIO);
	end();
}

UT_MAIN("host_driver/weft_slot", UT(which_way), UT(slow_and_asleep), UT(yields_where_needed),
	UT(more_threads_than_slots), UT(full_then_gone))
