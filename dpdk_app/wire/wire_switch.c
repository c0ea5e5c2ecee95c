/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The built-in switch: connects the NICs of one weftd that have no port of their own. It knows
 * every NIC's MAC, floods broadcast, forwards multicast to NICs whose filter accepts it, and passes
 * complete frames unmodified. No core is dedicated to it: the sender's core puts a frame into its
 * lane to the destination shard, and the receiver's core takes it out.
 *
 * Frames for a receiver with a full ring wait in their own queue (switch_hold.c), like that of a
 * switch port, and other frames continue. When the queue reaches its limit, a receiver that keeps
 * accepting frames pauses the sender, as a switch does with PAUSE frames (IEEE 802.3 annex 31B).
 * Otherwise a flood of datagrams would leave no room for retransmissions. A receiver that accepts
 * none, because its core is gone or itself waiting, pauses no sender: frames for it are dropped.
 *
 * Calls switch_hold.c.
 */
#include "dpdk_app/wire/wire.h"

#include <errno.h>
#include <rte_mbuf.h>
#include <stdlib.h>
#include <string.h>

#include "dpdk_app/borrow.h"
#include "dpdk_app/wire/mac_filter.h"
#include "dpdk_app/port.h"
#include "dpdk_app/random.h"
#include "dpdk_app/wire/switch_hold.h"
#include "shared_defs/wire_eth.h"

static struct nic *switch_find(struct app *app, const uint8_t *mac)
{
	for (uint32_t i = 0; i < app->num_nics; i++) {
		struct nic *nic = &app->nic[i];

		if (nic->on_switch && !memcmp(nic->mac, mac, WIRE_MAC_BYTES))
			return nic;
	}
	return NULL;
}

/*
 * Sends frames to one NIC. Frames for which it has no room wait, in order. Returns the number sent
 * or waiting; the rest exceed the limits.
 */
static uint32_t switch_to(struct shard *from, struct nic *to, struct rte_mbuf **frames, uint32_t n)
{
	struct switch_holds *holds = from->holds;
	bool waits = holds->mask >> to->index & 1;
	uint32_t took = waits ? 0 : port_steer(to, from, false, frames, n);

	if (__builtin_expect(took == n, 1))
		return n;
	if (!waits)
		from->stats.wire_pauses++;
	return took +
	       switch_hold_put(holds, to->index, frames + took, n - took, from->core->now_ns);
}

static void switch_lose(struct shard *from, struct rte_mbuf **frames, uint32_t n)
{
	from->stats.drop_wire_full += borrow_count(frames, n);
	rte_pktmbuf_free_bulk(frames, n);
}

static uint32_t switch_offer(void *ctx, uint32_t to, struct rte_mbuf **frames, uint32_t n)
{
	struct shard *from = ctx;

	return port_steer(&from->nic->app->nic[to], from, false, frames, n);
}

static uint32_t switch_flush(struct shard *shard)
{
	if (__builtin_expect(!shard->holds->mask, 1))
		return 0;
	return switch_hold_flush(shard->holds, switch_offer, shard, shard->core->now_ns,
				 &shard->stats.drop_wire_stuck);
}

/* Returns true if a NIC of the switch, not the sender's, gets frames to a group. */
static bool switch_lets_in(const struct shard *from, const struct nic *nic, const uint8_t *group)
{
	return nic != from->nic && nic->on_switch && mac_filter_passes(nic, group);
}

/* Faults delay frames and change their order, so such frames are copied. */
static bool switch_is_near(const struct shard *from, const struct nic *nic)
{
	return port_is_near(nic, from->core) && !nic->shard[0].faulty;
}

/*
 * Sends frames to one group: each NIC whose filter accepts it gets a reference to each. All were
 * near when frames were lent to them; one that has joined since then gets none of these.
 */
static void switch_flood(struct shard *from, struct rte_mbuf **frames, uint32_t n)
{
	const uint8_t *dst = rte_pktmbuf_mtod(frames[0], const uint8_t *);
	struct app *app = from->nic->app;
	struct nic *to[CONF_MAX_NICS];
	uint32_t count = 0;
	bool lent = false;

	for (uint32_t i = 0; i < n; i++)
		lent |= borrow_is_borrowed(frames[i]);
	for (uint32_t i = 0; i < app->num_nics; i++) {
		struct nic *nic = &app->nic[i];

		if (switch_lets_in(from, nic, dst) && (!lent || switch_is_near(from, nic)))
			to[count++] = nic;
	}
	if (!count) {
		rte_pktmbuf_free_bulk(frames, n);
		return;
	}
	for (uint32_t i = 0; count > 1 && i < n; i++)
		rte_mbuf_refcnt_update(frames[i], (int16_t)(count - 1));
	for (uint32_t i = 0; i < count; i++) {
		uint32_t took = switch_to(from, to[i], frames, n);

		if (took < n)
			switch_lose(from, frames + took, n - took);
	}
}

static uint32_t switch_tx(struct shard *shard, struct rte_mbuf **frames, uint32_t n)
{
	struct app *app = shard->nic->app;

	for (uint32_t i = 0, run; i < n; i = run) {
		const uint8_t *dst = rte_pktmbuf_mtod(frames[i], const uint8_t *);
		struct nic *to;

		run = i + 1;
		while (run < n &&
		       !memcmp(rte_pktmbuf_mtod(frames[run], const uint8_t *), dst, WIRE_MAC_BYTES))
			run++;
		if (dst[0] & 1) {
			switch_flood(shard, &frames[i], run - i);
			continue;
		}
		to = switch_find(app, dst);
		if (!to) {
			shard->stats.drop_wire_unknown += borrow_count(&frames[i], run - i);
			rte_pktmbuf_free_bulk(&frames[i], run - i);
			continue;
		}
		i += switch_to(shard, to, &frames[i], run - i);
		if (i == run)
			continue;
		if (switch_hold_alive(shard->holds, to->index, shard->core->now_ns))
			return i;
		switch_lose(shard, &frames[i], run - i);
	}
	return n;
}

static uint32_t switch_rx(struct shard *shard, struct rte_mbuf **frames, uint32_t n)
{
	uint32_t got = lanes_take(&shard->in, &shard->in_next, frames, n);

	shard->stats.rx_ring += got;
	return got;
}

static bool switch_near(const struct shard *shard, const uint8_t *mac)
{
	struct app *app = shard->nic->app;
	const struct nic *to;

	if (!(mac[0] & 1)) {
		to = switch_find(app, mac);
		return to && switch_is_near(shard, to);
	}
	for (uint32_t i = 0; i < app->num_nics; i++) {
		to = &app->nic[i];
		if (switch_lets_in(shard, to, mac) && !switch_is_near(shard, to))
			return false;
	}
	return true;
}

static uint32_t switch_pump(struct wire *wire)
{
	(void)wire;
	return 0;
}

static bool switch_waiting(const struct shard *shard)
{
	return shard->holds->mask != 0;
}

static uint64_t switch_next_ns(const struct shard *shard)
{
	(void)shard;
	return UINT64_MAX;
}

static void switch_close(struct wire *wire)
{
	struct nic *nic = wire->nic;

	for (uint32_t i = 0; i < nic->num_shards; i++) {
		if (nic->shard[i].holds)
			switch_hold_drop(nic->shard[i].holds);
		free(nic->shard[i].holds);
		nic->shard[i].holds = NULL;
	}
	free(wire);
}

static const struct wire_ops switch_ops = {
    .rx = switch_rx,
    .tx = switch_tx,
    .flush = switch_flush,
    .near = switch_near,
    .pump = switch_pump,
    .waiting = switch_waiting,
    .next_ns = switch_next_ns,
    .close = switch_close,
};

struct wire *wire_new(struct nic *nic, const struct wire_ops *ops)
{
	struct wire *wire = app_alloc_apart(sizeof(*wire));

	if (!wire)
		return NULL;
	wire->ops = ops;
	wire->nic = nic;
	wire->claim_fd = -1;
	wire->group_fd = -1;
	nic->wire = wire;
	return wire;
}

/* Ranks of two weftds that draw the same number choose an algorithm for one switch, no more. */
static int switch_number(struct app *app)
{
	struct random random;
	int err;

	if (app->switch_id)
		return 0;
	err = random_init(&random);
	if (!err)
		app->switch_id = (uint8_t)(1 + random_next(&random) % UINT8_MAX);
	return err;
}

int wire_switch_open(struct nic *nic)
{
	uint64_t rate_bps = nic->app->conf.fault.rate_bps;
	struct wire *wire;
	int err = switch_number(nic->app);

	if (err)
		return err;
	wire = wire_new(nic, &switch_ops);
	if (!wire)
		return -ENOMEM;
	/* A limit of the rate stands for a wire. */
	wire->switch_id = rate_bps ? 0 : nic->app->switch_id;
	strcpy(wire->how, "built-in switch");
	for (uint32_t i = 0; i < nic->num_shards; i++) {
		nic->shard[i].holds = app_alloc_apart(sizeof(*nic->shard[i].holds));
		if (!nic->shard[i].holds)
			return -ENOMEM;
	}
	nic->link_mbps = rate_bps ? (uint32_t)(rate_bps / 1000000) : 100000;
	atomic_store(&nic->link_up, 1);
	wire->trusted = true;
	return 0;
}
