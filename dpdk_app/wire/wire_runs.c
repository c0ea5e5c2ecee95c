/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs and single frames to the kernel, and the run held back for more; see wire_runs.h.
 *
 * Calls gso.c, gso_run.c, borrow.c, xsk.c and rte_ethdev.
 */
#include "dpdk_app/wire/wire_runs.h"

#include <assert.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <string.h>

#include "dpdk_app/borrow.h"
#include "dpdk_app/csum.h"
#include "dpdk_app/wire/gso.h"
#include "dpdk_app/wire/wire.h"
#include "dpdk_app/wire/xsk.h"

/* Sends frames one by one, with their checksums. */
static uint32_t tx_singly(struct wire *wire, struct rte_mbuf **frames, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (csum_is_left(frames[i]))
			csum_finish(frames[i]);
	}
	if (!n)
		return 0;
	return wire->xsk ? xsk_tx(wire->xsk, frames, n)
			 : rte_eth_tx_burst(wire->port, 0, frames, (uint16_t)n);
}

/*
 * Sends as many frames as there is room for; returns their number. burst: how many of the last ones
 * are new. If there are any, a run at the end that is likely to grow is left out, and *held is its
 * length; 0: none.
 */
static uint32_t tx_runs(struct wire *wire, struct rte_mbuf **frames, uint32_t n, uint32_t burst,
			uint32_t *held)
{
	struct gso_flows *flows = gso_flows(wire->gso);
	uint32_t done = 0, seen = 0; /* frames between them go singly */
	bool full = false;

	*held = 0;
	while (seen < n && !full) {
		uint32_t run = gso_run(flows, frames + seen, n - seen);

		if (run < GSO_LEAST) {
			seen++;
			continue;
		}
		done += tx_singly(wire, frames + done, seen - done);
		full = done < seen;
		if (!full && burst && seen + run == n &&
		    gso_may_go_on(frames + seen, run, burst == FW_BURST))
			*held = run;
		/* A run for which the kernel has no room goes frame by frame. */
		else if (!full && gso_tx(wire->gso, frames + seen, run))
			done += run;
		seen += run;
	}
	if (!full && !*held)
		done += tx_singly(wire, frames + done, seen - done);
	gso_unsent(flows, frames + done, seen - done);
	return done;
}

/* Sends frames that are no runs of the firmware. */
static uint32_t tx_plain(struct wire *wire, struct rte_mbuf **frames, uint32_t n)
{
	struct gso_held *held = gso_held(wire->gso);
	struct rte_mbuf *all[GSO_RUN_MAX + FW_BURST];
	uint32_t before = held->num, sent, keep;

	assert(before < GSO_RUN_MAX && n <= FW_BURST);
	memcpy(all, held->frames, before * sizeof(all[0]));
	memcpy(all + before, frames, n * sizeof(all[0]));
	sent = tx_runs(wire, all, before + n, n, &keep);
	held->turns = 0;
	/* If there was no room, the caller keeps its frames, and those held before stay held. */
	held->num = keep ? keep : before - (sent < before ? sent : before);
	memcpy(held->frames, all + sent, held->num * sizeof(all[0]));
	return sent + held->num - before;
}

/* Sends the packets of a run singly; those for which there is no room are held. */
static bool tx_cut(struct wire *wire, struct rte_mbuf *run)
{
	struct gso_held *held = gso_held(wire->gso);
	uint32_t segment_bytes, n = borrow_packets(run, &segment_bytes), sent, keep;
	struct rte_mbuf *packet[FW_RUN_MAX];

	if (rte_pktmbuf_alloc_bulk(run->pool, packet, n))
		return false;
	for (uint32_t i = 0; i < n; i++)
		borrow_cut(run, i, packet[i]);
	rte_pktmbuf_free(run);
	sent = tx_runs(wire, packet, n, 0, &keep);
	held->num = n - sent;
	held->turns = 0;
	memcpy(held->frames, packet + sent, held->num * sizeof(packet[0]));
	return true;
}

/* Sends a run of the firmware behind all that is held. False: there is no room now. */
static bool tx_whole(struct wire *wire, struct rte_mbuf *run)
{
	struct gso_held *held = gso_held(wire->gso);
	uint32_t segment_bytes;

	if (held->num)
		(void)tx_plain(wire, held->frames, 0);
	if (held->num)
		return false;
	/* Its payload was to be copied, and there was no memory. */
	if (!borrow_packets(run, &segment_bytes)) {
		rte_pktmbuf_free(run);
		return true;
	}
	return gso_tx_whole(wire->gso, run) || tx_cut(wire, run);
}

uint32_t wire_runs_tx(struct wire *wire, struct rte_mbuf **frames, uint32_t n)
{
	uint32_t done = 0;

	while (done < n) {
		uint32_t plain = 0, took;

		while (done + plain < n && !borrow_is_borrowed(frames[done + plain]))
			plain++;
		took = plain ? tx_plain(wire, frames + done, plain) : tx_whole(wire, frames[done]);
		done += took;
		if (took < plain || !took)
			break;
	}
	return done;
}

uint32_t wire_runs_pump(struct wire *wire)
{
	struct gso_held *held = gso_held(wire->gso);
	uint32_t before = held->num;

	if (!before)
		return 0;
	/* Work, or the core would give its CPU away with frames in hand. */
	if (!held->turns++)
		return 1;
	(void)tx_plain(wire, held->frames, 0);
	return before - held->num;
}

uint32_t wire_runs_drop(struct wire *wire)
{
	struct gso_held *held = gso_held(wire->gso);
	uint32_t n = held->num;

	rte_pktmbuf_free_bulk(held->frames, n);
	held->num = 0;
	return n;
}

bool wire_runs_held(const struct wire *wire)
{
	return gso_held(wire->gso)->num;
}
