/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A wire between two or more NICs, and their time: both stand still unless a test moves them.
 *
 * A filter sees each frame once per receiver and passes, drops, doubles, delays, changes or keeps
 * it; kept frames are delivered in any order. Two ports make a cable, more make a switch that knows
 * every MAC address. Ports: tests/bench/port.h; frames: tests/bench/frame.h. Not thread-safe.
 */
#ifndef WEFT_TESTS_BENCH_WIRE_H
#define WEFT_TESTS_BENCH_WIRE_H

#include "tests/bench/port.h"

enum {
	BENCH_PORTS = 8,
	BENCH_KEPT = 512,
	BENCH_POLL_BUDGET = 256,
};

enum bench_verdict {
	BENCH_PASS,
	BENCH_DROP,
	BENCH_TWICE,
	BENCH_LATE, /* arrives late_ns later than others */
	BENCH_KEEP,
	BENCH_COPY, /* passed, and kept */
};

struct bench_wire {
	struct bench_port *port[BENCH_PORTS];
	uint32_t num_ports;
	uint64_t now_ns;
	/* Settings. */
	uint64_t latency_ns;
	uint64_t late_ns;  /* of BENCH_LATE */
	uint64_t twice_ns; /* between the two copies of BENCH_TWICE */
	uint64_t turn_ns;  /* least time between two turns */
	uint64_t busy_ns;  /* added after each 64 turns without an idle one */
	bool by_mac;       /* a cable drops frames to other MAC addresses, too */
	/* May change the frame; NULL: all pass. */
	enum bench_verdict (*filter)(struct bench_wire *wire, struct bench_frame *frame,
				     uint32_t from);
	/* Inspects a NIC after each of its turns; NULL: no inspection. */
	void (*polled)(struct bench_port *port);
	struct bench_frame kept[BENCH_KEPT];
	uint32_t num_kept;
	uint32_t frames; /* that the filter saw; a test may set it */
};

/* All zero. */
void bench_wire_init(struct bench_wire *wire);
/* Connects a port, which gets the next number. */
void bench_wire_join(struct bench_wire *wire, struct bench_port *port);
/* Frees frames that are kept or under way. */
void bench_wire_free(struct bench_wire *wire);

/* Puts a copy of a frame into the inbox of port `to`, to be received now. */
void bench_wire_inject(struct bench_wire *wire, uint32_t to, const void *frame, uint32_t bytes);
/* Delivers a copy of kept frame i; bench_wire_forget() frees all kept frames. */
void bench_wire_deliver(struct bench_wire *wire, uint32_t i);
void bench_wire_forget(struct bench_wire *wire);

/* One turn of one NIC; returns its work, 0 for a dead one. */
uint32_t bench_wire_poll(struct bench_wire *wire, uint32_t port);
/* Polls all NICs until nothing happens; time stands still except for busy_ns. */
void bench_wire_settle(struct bench_wire *wire);
/* Sets the time; the NICs count as asleep until then, not as absent. */
void bench_wire_pass_to(struct bench_wire *wire, uint64_t ns);
/* Runs for a time, from event to event. */
void bench_wire_run(struct bench_wire *wire, uint64_t ns);
/*
 * The same until done() is true, or with done NULL until no event is left. False: that takes longer
 * than ns; time stands at the last event before.
 */
bool bench_wire_until(struct bench_wire *wire, uint64_t ns, bool (*done)(void));

#endif /* WEFT_TESTS_BENCH_WIRE_H */
