/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Multicasts over reliable groups beside a forger, who sends frames again with other bytes: runs
 * end, and nothing is left.
 */
#include "nic_fw/base/crc32c.h"
#include "shared_defs/wire_esp.h"
#include "shared_defs/wire_eth.h"
#include "shared_defs/wire_mgrp.h"
#include "tests/sim/mgrp_fix.h"

enum {
	GROUP_OFFSET = sizeof(struct wire_eth) + sizeof(struct wire_edp),
	CAUGHT_BYTES = 512,
	CAUGHT = 16,
};

/* The last short frames sent of each group. */
struct catcher {
	uint8_t frame[CAUGHT][CAUGHT_BYTES];
	uint32_t bytes[CAUGHT];
	uint32_t next;
};

static enum sim_verdict catch_frame(void *ctx, struct sim_nic *from, uint8_t *frame, size_t bytes)
{
	const struct wire_eth *eth = (const void *)frame;
	const struct wire_edp *edp = (const void *)(eth + 1);
	struct catcher *c = ctx;

	(void)from;
	if (be16_get(eth->type) == WIRE_ETHERTYPE_ESP && bytes <= CAUGHT_BYTES &&
	    (edp->ver_type & 0x0f) == WIRE_EDP_GROUP) {
		memcpy(c->frame[c->next % CAUGHT], frame, bytes);
		c->bytes[c->next++ % CAUGHT] = (uint32_t)bytes;
	}
	return SIM_PASS;
}

static uint32_t draw(uint64_t *state, uint32_t limit)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((*state >> 33) % limit);
}

/* Resends a captured frame, to any NIC, with some bytes changed and the right CRC. */
static void forge(struct goal_fix *fix, struct catcher *c, uint64_t *state)
{
	uint32_t which = draw(state, CAUGHT), to = draw(state, sim_nic_count(fix->sim)), n;
	uint8_t *frame = c->frame[which];
	uint8_t copy[CAUGHT_BYTES];
	const struct wire_edp *edp = (const void *)(frame + sizeof(struct wire_eth));
	uint32_t end = (uint32_t)sizeof(struct wire_eth) + be16_get(edp->bytes);
	struct be32 crc;

	if (!c->bytes[which] || end + WIRE_EDP_CRC_BYTES > c->bytes[which])
		return;
	memcpy(copy, frame, c->bytes[which]);
	for (n = 1 + draw(state, 3); n; n--) {
		uint32_t at = GROUP_OFFSET + draw(state, end - GROUP_OFFSET);

		/* The keys stay, or the rest would not be parsed. */
		if (at < GROUP_OFFSET + offsetof(struct wire_mgrp, key) ||
		    at >= GROUP_OFFSET + offsetof(struct wire_mgrp, epoch))
			copy[at] = draw(state, 2) ? (uint8_t)draw(state, 256)
						  : (uint8_t)(copy[at] + draw(state, 5) - 2);
	}
	if (!(copy[0] & 1))
		memcpy(copy, sim_nic_mac(sim_nic_at(fix->sim, to)), WIRE_MAC_BYTES);
	crc = fw_crc32c_wire(fw_crc32c(FW_CRC32C_INIT, copy + sizeof(struct wire_eth),
				       end - sizeof(struct wire_eth)));
	memcpy(copy + end, &crc, sizeof(crc));
	sim_inject(sim_nic_at(fix->sim, to), copy, c->bytes[which]);
}

/* A forger can spoil runs, but nothing else: they end, and nothing is left. */
static void forged_frames(void)
{
	uint64_t seed;

	for (seed = 1; seed <= 2 * FIX_SEEDS; seed++) {
		struct goal_fix_attr attr = {
		    .bytes = 1 << 18, .ranks_per_nic = 1 + seed % 2, .faults = "loss=5"};
		uint32_t run[6], i, n, k;
		struct catcher c = {.next = 0};
		uint64_t state = seed;
		struct goal_fix fix;

		goal_fix_begin(&fix, seed, 6, &attr);
		sim_set_filter(fix.sim, catch_frame, &c);
		load_all_to_all(&fix, seed % 3 ? 200 : 5000);
		for (n = 0; n < 6; n++) {
			for (i = 0; i < 6; i++)
				run[i] = goal_fix_start(&fix, i, 200 * FIX_MS);
			for (k = 0; k < 200; k++) {
				forge(&fix, &c, &state);
				sim_run_for(fix.sim, 2000);
			}
			for (i = 0; i < 6; i++)
				FIX_CHECK(&fix, goal_fix_wait(&fix, i, run[i], NULL));
		}
		sim_set_filter(fix.sim, NULL, NULL);
		goal_fix_end(&fix);
	}
}

UT_MAIN("sim/mgrp_forged", UT(forged_frames))
