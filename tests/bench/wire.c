/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wire and the time of wire.h. Calls nic_fw/fw.h and port.c.
 */
#include "tests/bench/wire.h"

#include <stdlib.h>
#include <string.h>

#include "nic_fw/fw_nic.h"

enum {
	SETTLE_TURNS = 100000,
	RUN_EVENTS = 1000000,
	BUSY_TURNS = 64,
};

static void keep(struct bench_wire *wire, const struct bench_frame *frame)
{
	struct bench_frame *kept = &wire->kept[wire->num_kept++];

	BENCH_CHECK(wire->num_kept <= BENCH_KEPT, "more frames are kept than BENCH_KEPT");
	*kept = *frame;
	kept->loan = (struct bench_loan){0};
	kept->b = malloc(frame->n);
	BENCH_CHECK(kept->b, "no memory");
	memcpy(kept->b, frame->b, frame->n);
}

static void carry(struct bench_wire *wire, uint32_t from, uint32_t to, struct bench_frame *frame)
{
	struct bench_port *port = wire->port[to];
	uint64_t due_ns = wire->now_ns + wire->latency_ns;
	enum bench_verdict verdict = BENCH_PASS;

	frame->to = to;
	if (wire->filter)
		verdict = wire->filter(wire, frame, from);
	wire->frames++;
	switch (verdict) {
	case BENCH_DROP:
		break;
	case BENCH_TWICE:
		bench_port_put(port, frame->b, frame->n, due_ns);
		bench_port_put(port, frame->b, frame->n, due_ns + wire->twice_ns);
		break;
	case BENCH_LATE:
		bench_port_put(port, frame->b, frame->n, due_ns + wire->late_ns);
		break;
	case BENCH_COPY:
		keep(wire, frame);
		/* fall through */
	case BENCH_PASS:
		bench_port_lend(port, frame, due_ns);
		break;
	case BENCH_KEEP:
		keep(wire, frame);
		break;
	}
}

static bool reaches(const struct bench_wire *wire, const struct bench_port *port,
		    const struct bench_frame *frame)
{
	if (wire->num_ports == 2 && !wire->by_mac)
		return true;
	return frame->b[0] & 1 || !memcmp(frame->b, port->nic->config.mac, WIRE_MAC_BYTES);
}

static void sent(struct bench_port *port, struct bench_frame *frame)
{
	struct bench_wire *wire = port->wire;
	uint32_t i;

	if (frame->flags & FW_TX_LOOP)
		carry(wire, port->number, port->number, frame);
	else
		for (i = 0; i < wire->num_ports; i++)
			if (i != port->number && reaches(wire, wire->port[i], frame))
				carry(wire, port->number, i, frame);
	free(frame->b);
}

void bench_wire_init(struct bench_wire *wire)
{
	memset(wire, 0, sizeof(*wire));
}

void bench_wire_join(struct bench_wire *wire, struct bench_port *port)
{
	BENCH_CHECK(wire->num_ports < BENCH_PORTS, "more ports than BENCH_PORTS");
	port->number = wire->num_ports;
	port->wire = wire;
	port->sent = sent;
	port->now_ns = &wire->now_ns;
	wire->port[wire->num_ports++] = port;
}

void bench_wire_free(struct bench_wire *wire)
{
	uint32_t i;

	bench_wire_forget(wire);
	for (i = 0; i < wire->num_ports; i++)
		bench_port_free(wire->port[i]);
}

void bench_wire_inject(struct bench_wire *wire, uint32_t to, const void *frame, uint32_t bytes)
{
	bench_port_put(wire->port[to], frame, bytes, wire->now_ns);
}

void bench_wire_deliver(struct bench_wire *wire, uint32_t i)
{
	BENCH_CHECK(i < wire->num_kept, "frame %u of %u kept", i, wire->num_kept);
	bench_wire_inject(wire, wire->kept[i].to, wire->kept[i].b, wire->kept[i].n);
}

void bench_wire_forget(struct bench_wire *wire)
{
	while (wire->num_kept)
		free(wire->kept[--wire->num_kept].b);
}

/* ---- time -------------------------------------------------------------------------------- */

uint32_t bench_wire_poll(struct bench_wire *wire, uint32_t i)
{
	struct bench_port *port = wire->port[i];
	uint32_t work;

	if (port->dead)
		return 0;
	work = fw_poll(port->nic, wire->now_ns, BENCH_POLL_BUDGET);
	if (wire->polled)
		wire->polled(port);
	return work;
}

static bool frame_due(const struct bench_wire *wire)
{
	uint32_t i;

	for (i = 0; i < wire->num_ports; i++)
		if (!wire->port[i]->dead && wire->port[i]->inbox_count &&
		    wire->port[i]->inbox[0].due_ns <= wire->now_ns)
			return true;
	return false;
}

void bench_wire_settle(struct bench_wire *wire)
{
	uint32_t turns = 0, work, i;

	do {
		for (i = work = 0; i < wire->num_ports; i++)
			work += bench_wire_poll(wire, i);
		BENCH_CHECK(++turns < SETTLE_TURNS, "the NICs do not come to rest");
		if (turns % BUSY_TURNS == 0)
			wire->now_ns += wire->busy_ns;
	} while (work || frame_due(wire));
}

void bench_wire_pass_to(struct bench_wire *wire, uint64_t ns)
{
	uint32_t i;

	wire->now_ns = ns;
	for (i = 0; i < wire->num_ports; i++)
		wire->port[i]->nic->there_ns = ns;
}

static uint64_t next_ns(const struct bench_wire *wire)
{
	uint64_t at = UINT64_MAX, t;
	uint32_t i;

	for (i = 0; i < wire->num_ports; i++) {
		const struct bench_port *port = wire->port[i];

		if (port->dead)
			continue;
		t = fw_next_timer_ns(port->nic);
		at = t < at ? t : at;
		if (port->inbox_count && port->inbox[0].due_ns < at)
			at = port->inbox[0].due_ns;
	}
	return at;
}

bool bench_wire_until(struct bench_wire *wire, uint64_t ns, bool (*done)(void))
{
	uint64_t end_ns = wire->now_ns + ns;
	uint32_t events = 0;

	for (;;) {
		uint64_t at;

		bench_wire_settle(wire);
		if (done && done())
			return true;
		at = next_ns(wire);
		if (at == UINT64_MAX)
			return !done;
		if (at > end_ns)
			return false;
		BENCH_CHECK(++events < RUN_EVENTS, "timers without end");
		if (at < wire->now_ns + wire->turn_ns)
			at = wire->now_ns + wire->turn_ns;
		if (at > wire->now_ns)
			bench_wire_pass_to(wire, at);
	}
}

void bench_wire_run(struct bench_wire *wire, uint64_t ns)
{
	uint64_t end_ns = wire->now_ns + ns;

	(void)bench_wire_until(wire, ns, NULL);
	if (end_ns > wire->now_ns)
		bench_wire_pass_to(wire, end_ns);
	bench_wire_settle(wire);
}
