/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TCP between simulated NICs, with a layer above that sends streams of pattern bytes and checks the
 * received ones: every byte once, in order; everything freed at the end.
 *
 * The layer is in the test: it calls tcp.h of the firmware directly and wakes the NIC. Used by
 * tests/sim/tcp_*_ut.c.
 */
#ifndef WEFT_TESTS_TCP_FIX_H
#define WEFT_TESTS_TCP_FIX_H

#include "nic_fw/fw_nic.h"
#include "tests/sim/sim_fix.h"

enum {
	TCP_FIX_PORT = 4711,
	TCP_FIX_SEGS = 4096, /* segments of a side, made and not freed */
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
	struct tcp_flow *flow; /* NULL: closed, or at rest */
	uint32_t rest;         /* the connection's name while it rests, else 0 */
	struct tcp_rest_lent lent;
	/* its task */
	uint64_t want_tx;  /* bytes to send */
	bool close_after;  /* when they are sent */
	bool close_on_fin; /* closes when the peer has closed */
	bool may_rest;
	uint32_t record_bytes; /* longest segment it makes; 0: as long as TCP allows */
	uint64_t stall_at;     /* receives no further, until it is raised; 0: no limit */
	uint64_t abort_at;     /* resets when it has received this much; 0: never */
	/* its results */
	uint64_t sent, acked, received, early_bytes;
	uint32_t opened, accepted, peer_closed, ended, rested, woken;
	enum tcp_end why; /* with ended */
	uint32_t segs_out;
	uint32_t hand; /* start of the search for a free segment */
	struct tcp_fix_seg *segs;
};

struct tcp_world {
	struct sim *sim;
	struct sim_nic *nic[2];
	uint32_t num_sides;
	struct tcp_side side[TCP_FIX_SIDES];
	struct tcp_side accept; /* task of accepted sides */
	bool refuse;
	bool forged;       /* early bytes may be anything */
	bool keep_pending; /* accepted ones count against the backlog */
	uint8_t *block;    /* the pattern */
};

/* Makes two NICs without knowledge of each other; config NULL: the defaults. Faults begin now. */
void tcp_world_open(struct tcp_world *w, uint64_t seed, const struct sim_config *config,
		    const char *faults);
/* Ends all connections, waits for TIME-WAIT to pass and checks that nothing is in use. */
void tcp_world_close(struct tcp_world *w);

struct fw_nic *tcp_fw(struct tcp_world *w, uint32_t i);
void tcp_world_listen(struct tcp_world *w, uint32_t i, uint16_t port, uint32_t backlog);
/* Connects a side of NIC i to the other NIC, or to peer. */
struct tcp_side *tcp_world_connect(struct tcp_world *w, uint32_t i, uint32_t peer,
				   uint16_t local_port, uint64_t want_tx, bool close_after);
/* The same to any port; NULL: TCP refused. */
struct tcp_side *tcp_world_connect_to(struct tcp_world *w, uint32_t i, uint32_t peer,
				      uint16_t peer_port, uint16_t local_port);
/* The n-th side that was accepted, or NULL. */
struct tcp_side *tcp_world_accepted(struct tcp_world *w, uint32_t n);
/* Gives the side more to send. */
void tcp_side_send(struct tcp_side *side, uint64_t bytes, bool close_after);
/* Returns its flow, which is awake; NULL: closed. */
struct tcp_flow *tcp_side_flow(struct tcp_side *side);
void tcp_side_close(struct tcp_side *side);
void tcp_side_abort(struct tcp_side *side);
/* Raises the receive limit, and receives waiting bytes at once. */
void tcp_side_resume(struct tcp_side *side, uint64_t stall_at);

/* Runs until every side is closed. */
bool tcp_world_ended(struct tcp_world *w, uint64_t limit_ns);
/* Runs until the side has received this much. */
bool tcp_side_received(struct tcp_side *side, uint64_t bytes, uint64_t limit_ns);
uint64_t tcp_stat(struct tcp_world *w, uint32_t i, const char *name);

#endif /* WEFT_TESTS_TCP_FIX_H */
