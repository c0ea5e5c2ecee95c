/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TCP between simulated NICs, with a layer above that sends streams of pattern bytes and checks
 * those that come: every byte once, in order; everything given back at the end.
 *
 * The layer lives in the test: it calls tcp.h of the firmware directly and wakes the NIC. Used by
 * tests/sim/tcp_*_ut.c.
 */
#ifndef WEFT_TESTS_TCP_FIX_H
#define WEFT_TESTS_TCP_FIX_H

#include "nic_fw/fw_nic.h"
#include "tests/sim/sim_fix.h"

enum {
	TCP_FIX_PORT = 4711,
	TCP_FIX_SEGS = 4096, /* of a side, made and not given back */
	TCP_FIX_SIDES = 64,
};

struct tcp_world;

/* A segment of ours: the pattern from offset on. */
struct tcp_fix_seg {
	struct tcp_seg seg;
	uint64_t offset;
	bool used;
};

/* One end of a connection. */
struct tcp_side {
	struct tcp_world *world;
	struct sim_nic *nic;
	struct tcp_flow *flow; /* NULL: over */
	/* what it shall do */
	uint64_t want_tx;      /* bytes to send */
	bool close_after;      /* when they are sent */
	bool close_on_fin;     /* when the peer has closed */
	uint32_t record_bytes; /* longest segment it makes; 0: as long as TCP allows */
	uint64_t stall_at;     /* takes nothing beyond, until it is raised; 0: never */
	uint64_t abort_at;     /* resets when it has received so much; 0: never */
	/* what it did */
	uint64_t sent, acked, received, early_bytes;
	uint32_t opened, accepted, peer_closed, ended;
	enum tcp_end why; /* with ended */
	uint32_t segs_out;
	uint32_t hand; /* where a free one is looked for */
	struct tcp_fix_seg *segs;
};

struct tcp_world {
	struct sim *sim;
	struct sim_nic *nic[2];
	uint32_t num_sides;
	struct tcp_side side[TCP_FIX_SIDES];
	struct tcp_side accept; /* what accepted ones shall do */
	bool refuse;
	bool forged;       /* early bytes may be anything */
	bool keep_pending; /* accepted ones count against the backlog */
	uint8_t *block;    /* the pattern */
};

/* Two NICs that know nothing of each other; config NULL: the defaults. faults: from now on. */
void tcp_world_open(struct tcp_world *w, uint64_t seed, const struct sim_config *config,
		    const char *faults);
/* Ends what is left, waits for TIME-WAIT to pass and checks that nothing is in use. */
void tcp_world_close(struct tcp_world *w);

struct fw_nic *tcp_fw(struct tcp_world *w, uint32_t i);
void tcp_world_listen(struct tcp_world *w, uint32_t i, uint16_t port, uint32_t backlog);
/* A side of NIC i that connects to the other one, or to peer. */
struct tcp_side *tcp_world_connect(struct tcp_world *w, uint32_t i, uint32_t peer,
				   uint16_t local_port, uint64_t want_tx, bool close_after);
/* The same to any port; NULL: TCP did not take it. */
struct tcp_side *tcp_world_connect_to(struct tcp_world *w, uint32_t i, uint32_t peer,
				      uint16_t peer_port, uint16_t local_port);
/* The n-th side that was accepted, or NULL. */
struct tcp_side *tcp_world_accepted(struct tcp_world *w, uint32_t n);
/* More to send. */
void tcp_side_send(struct tcp_side *side, uint64_t bytes, bool close_after);
void tcp_side_close(struct tcp_side *side);
void tcp_side_abort(struct tcp_side *side);
/* Takes up to here, and what waits at once. */
void tcp_side_resume(struct tcp_side *side, uint64_t stall_at);

/* Until every side is over. */
bool tcp_world_ended(struct tcp_world *w, uint64_t limit_ns);
/* Until the side has received so much. */
bool tcp_side_received(struct tcp_side *side, uint64_t bytes, uint64_t limit_ns);
uint64_t tcp_stat(struct tcp_world *w, uint32_t i, const char *name);

#endif /* WEFT_TESTS_TCP_FIX_H */
