/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Command slots: the host's side. The core that polls the NIC answers within a few turns, so the
 * thread looks for the answer, yields where it shares a processor with that core, and sleeps for
 * short times where the command takes long. On another processor than the core's it never yields:
 * a yield to a thread that computes lasts for its time slice, a thousand times as long as the
 * command.
 *
 * Each slot has one thread at a time; a thread that finds none free uses the channel. Calls
 * weft_db.h. nic_fw/host/cmd_slot.c is the NIC's side; docs/host-interface.md, "Command slots".
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#include "host_driver/weft_db.h"
#include "host_driver/weft_slot.h"
#include "lib/clock.h"
#include "shared_defs/hw_cmd_slot.h"

enum {
	SLOT_LOOKS = 32,        /* before the first yield */
	SLOT_YIELD_NS = 100000, /* while the NIC needs this CPU; then the thread sleeps */
	SLOT_SPIN_NS = 50000,   /* while it polls on another, or wakes there; then likewise */
	SLOT_SLEEP_NS = 20000,  /* the first time, doubled each time */
	SLOT_SLEEP_MAX_NS = 1000000,
};

/* Takes a free slot; -1: there is none. */
static int slot_take(struct weft_ctx *ctx)
{
	uint32_t used = __atomic_load_n(&ctx->slots_used, __ATOMIC_RELAXED);

	while (used != (1u << HW_CMD_SLOTS) - 1) {
		int index = __builtin_ctz(~used);

		/* Acquire: the thread that had it before has read its answer. */
		if (__atomic_compare_exchange_n(&ctx->slots_used, &used, used | 1u << index, false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return index;
	}
	return -1;
}

static void slot_give(struct weft_ctx *ctx, int index)
{
	(void)__atomic_fetch_and(&ctx->slots_used, ~(1u << index), __ATOMIC_RELEASE);
}

/* Lets others use the processor; tries counts the calls of one wait. */
static void pause_between(const struct weft_ctx *ctx, uint32_t tries, uint64_t *begin_ns,
			  long *sleep_ns)
{
	struct timespec pause = {0};
	uint64_t now_ns;
	bool yields;

	if (tries < SLOT_LOOKS) {
		weft_pause_cpu();
		return;
	}
	now_ns = clock_now_ns();
	if (!*begin_ns)
		*begin_ns = now_ns;
	yields = weft_poll_needs_cpu(ctx);
	if (now_ns - *begin_ns < (yields ? SLOT_YIELD_NS : SLOT_SPIN_NS)) {
		if (yields)
			(void)sched_yield();
		else
			weft_pause_cpu();
		return;
	}
	pause.tv_nsec = *sleep_ns;
	(void)nanosleep(&pause, NULL);
	if (*sleep_ns < SLOT_SLEEP_MAX_NS)
		*sleep_ns *= 2;
}

/* Returns false if the NIC is gone. The slot is its own then. */
static bool slot_await(struct weft_ctx *ctx, const struct hw_cmd_slot *slot, uint32_t serial)
{
	uint64_t begin_ns = 0;
	long sleep_ns = SLOT_SLEEP_NS;

	for (uint32_t tries = 0; !weft_barrier_slot_done(slot, serial); tries++) {
		if (tries >= SLOT_LOOKS) {
			weft_ctx_look(ctx, false);
			if (weft_ctx_state(ctx) != WEFT_CTX_LIVE)
				return weft_barrier_slot_done(slot, serial);
		}
		pause_between(ctx, tries, &begin_ns, &sleep_ns);
	}
	return true;
}

int weft_slot_command(struct weft_ctx *ctx, const struct hw_cmd *cmd, struct hw_cmd_resp *resp)
{
	int index = slot_take(ctx);
	struct hw_cmd_slot *slot;
	uint32_t serial;

	if (index < 0)
		return -EAGAIN;
	slot = (struct hw_cmd_slot *)((char *)ctx->bar + HW_BAR_CMD_SLOTS) + index;
	serial = ctx->slot_serial[index] + 1;
	ctx->slot_serial[index] = serial;
	slot->cmd = *cmd;
	__atomic_store_n(&slot->serial, serial, __ATOMIC_RELAXED);
	weft_db_ring(ctx, &slot->rung, HW_DB_ENTRY(HW_DB_CMD, index));
	if (!slot_await(ctx, slot, serial))
		return -EIO;
	*resp = slot->resp;
	slot_give(ctx, index);
	/* EDQUOT: the caller repeats the command on the channel, where weftd logs the refusal. */
	return resp->status == EAGAIN || resp->status == EOPNOTSUPP || resp->status == EDQUOT
		   ? -EAGAIN
		   : 0;
}
