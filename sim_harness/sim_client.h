/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process that blocks, on a host with one processor, in virtual time.
 *
 * Workloads take completions at once, or some time after an interrupt. Here the host is what
 * is looked at: an interrupt takes the processor for as long as its service lasts, the process
 * that sleeps runs a while later, and each thing that it does then takes its time: taking the
 * event, each completion, each request, arming. While an interrupt is served or the process
 * runs nothing else does; an interrupt stops the process in the middle of what it does. What
 * is left of the processor's time is another program's (overlap).
 *
 *	sim_client_open(&c, nic, &attr);	queue pair, completion queue, channel
 *	sim_client_connect(&c, &peer);		where it sends to
 *	sim_client_recv(&c, ...);		to be posted when it runs
 *	sim_client_send(&c, ...);
 *	sim_client_start(&c);			it runs, from now on
 *	sim_run_until(sim, ...);		calls attr.completion() for each completion
 *
 * The process goes as programs of verbs do that wait well: it takes the event, polls until
 * nothing is left, arms, looks once more, and sleeps. Used by weft-tune --sim and tests/sim;
 * one thread per struct sim. espgoal 6.2, figure 6.3.
 */
#ifndef WEFT_SIM_CLIENT_H
#define WEFT_SIM_CLIENT_H

#include "sim_harness/sim_end.h"

/* What a host's work costs. */
struct sim_client_cost {
	uint64_t irq_ns;    /* service of an interrupt; whatever runs stands still meanwhile */
	uint64_t wake_ns;   /* from its end until the process that slept runs */
	uint64_t switch_ns; /* the processor's share of that, at its end: the change of processes */
	uint64_t event_ns;  /* to take an event, or to find none */
	uint64_t poll_ns;   /* to take a completion, or to find none */
	uint64_t post_ns;   /* to post a request or a receive */
	uint64_t arm_ns;
	uint64_t byte_ps;   /* for each byte received: a copy. 0: it lies where it belongs */
	uint64_t jitter_ns; /* a wake-up takes up to this much longer */
};

struct sim_client_counts {
	uint64_t irqs;     /* of its channel */
	uint64_t wakes;    /* that found it asleep */
	uint64_t spurious; /* events that told of nothing any more, or were not there */
	uint64_t sent, received;
	uint64_t busy_ns; /* of the processor: service, changes of processes, the process */
};

struct sim_client;
/* A completion was taken. What it posts is posted before the next one is looked at. */
typedef void (*sim_client_fn)(void *ctx, struct sim_client *client, const struct weft_wc *wc);

struct sim_client_attr {
	struct sim_end_attr end; /* events is implied */
	struct sim_client_cost cost;
	uint64_t seed; /* of its jitter */
	sim_client_fn completion;
	void *ctx;
};

enum {
	SIM_CLIENT_POSTS = 1024, /* that may wait to be posted */
};

enum sim_client_state {
	SIM_CLIENT_ASLEEP,  /* until an interrupt */
	SIM_CLIENT_WAKING,  /* until the processor comes to it */
	SIM_CLIENT_RUNNING, /* until nothing is left */
};

/* What it does at the end of the time that this takes. */
enum sim_client_step {
	SIM_CLIENT_EVENT,
	SIM_CLIENT_POLL,
	SIM_CLIENT_POST,
	SIM_CLIENT_ARM,
};

struct sim_client_post {
	bool recv;
	uint32_t flags;
	uint32_t bytes;
	uint64_t wr_id;
	size_t offset;
};

struct sim_client {
	struct sim_end end;
	struct sim_client_cost cost;
	struct sim_client_counts counts;
	struct sim_prng prng;
	sim_client_fn completion;
	void *ctx;
	struct weft_ah *ah;
	uint32_t peer_qpn;
	enum sim_client_state state;
	enum sim_client_step step;
	bool armed;
	bool signalled;         /* an interrupt came that it has not taken notice of */
	uint64_t busy_until_ns; /* the processor is taken, by interrupts too */
	uint64_t due_ns; /* when the step under way ends; an event of another time is stale */
	struct sim_client_post post[SIM_CLIENT_POSTS];
	uint32_t post_head, post_tail; /* free-running */
};

/* Makes the process and its objects. 0 or a negative errno. */
int sim_client_open(struct sim_client *client, struct sim_nic *nic,
		    const struct sim_client_attr *attr);
void sim_client_close(struct sim_client *client);

/* Sends go to this peer; runs the simulation while its address is resolved. 0 or -errno. */
int sim_client_connect(struct sim_client *client, const struct sim_client *peer);

/*
 * A signalled Send of bytes from offset on, a receive into it: posted when the process runs next,
 * in the order of the calls.
 */
void sim_client_send(struct sim_client *client, uint64_t wr_id, size_t offset, uint32_t bytes);
void sim_client_recv(struct sim_client *client, uint64_t wr_id, size_t offset, uint32_t bytes);

/* The process runs now, if it sleeps: it posts what there is to be posted, arms, sleeps. */
void sim_client_start(struct sim_client *client);

/* It sleeps, and has nothing to post. */
bool sim_client_idle(const struct sim_client *client);

#endif /* WEFT_SIM_CLIENT_H */
