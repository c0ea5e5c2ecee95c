/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A blocking process on a host with one processor, in virtual time.
 *
 * Other workloads take completions at once, or at a fixed delay after an interrupt. This file
 * models the host itself. An interrupt occupies the processor for the duration of its service. The
 * sleeping process runs some time later, and each of its actions takes time: taking the event, each
 * completion, each request, arming. During an interrupt or while the process runs, nothing else
 * runs; an interrupt suspends the process at any point. The remaining processor time is available
 * to other programs (overlap).
 *
 * 	sim_client_open(&c, nic, &attr);	queue pair, completion queue, channel
 * 	sim_client_connect(&c, &peer);		destination of its sends
 * 	sim_client_recv(&c, ...);		posted when it runs
 * 	sim_client_send(&c, ...);
 * 	sim_client_start(&c);			runs from now on
 * 	sim_run_until(sim, ...);		calls attr.completion() for each completion
 *
 * The process behaves like a well-written verbs program: it takes the event, polls until the queue
 * is empty, arms, polls once more, and sleeps. weft-measure and tests/sim use it; one thread per
 * struct sim. ESPGOAL 6.2, figure 6.3.
 */
#ifndef WEFT_SIM_CLIENT_H
#define WEFT_SIM_CLIENT_H

#include "sim_harness/sim_end.h"
#include "sim_harness/sim_spread.h"

/* Costs of a host's work. */
struct sim_client_cost {
	uint64_t irq_ns;  /* service of an interrupt, during which nothing else runs */
	uint64_t wake_ns; /* from its end until the sleeping process runs: the median */
	/* Part of wake_ns, at its end, that occupies the processor: the context switch. */
	uint64_t switch_ns;
	uint64_t event_ns; /* taking an event, or finding none */
	uint64_t poll_ns;  /* taking a completion, or finding none */
	uint64_t post_ns;  /* posting a request or a receive */
	uint64_t arm_ns;
	uint64_t byte_ps; /* copy per received byte; 0: data arrives in place */
	/* How wake-ups differ from wake_ns; NULL: none does. Stays while clients use it. */
	const struct sim_spread *wake_spread;
};

struct sim_client_counts {
	uint64_t irqs;     /* on its channel */
	uint64_t wakes;    /* wake-ups from sleep */
	uint64_t spurious; /* events without completions, or missing events */
	uint64_t sent, received;
	uint64_t busy_ns; /* processor time: service, context switches, process */
};

struct sim_client;
/*
 * Called for each completion. Requests that it posts are posted before the next completion is
 * taken.
 */
typedef void (*sim_client_fn)(void *ctx, struct sim_client *client, const struct weft_wc *wc);

struct sim_client_attr {
	struct sim_end_attr end; /* events is implied */
	struct sim_client_cost cost;
	uint64_t seed; /* of its wake-ups */
	sim_client_fn completion;
	void *ctx;
};

enum {
	SIM_CLIENT_POSTS = 1024, /* maximum of requests waiting to be posted */
};

enum sim_client_state {
	SIM_CLIENT_ASLEEP,  /* until an interrupt */
	SIM_CLIENT_WAKING,  /* until the processor is available */
	SIM_CLIENT_RUNNING, /* until no work is left */
};

/* Action at the end of the current step's duration. */
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
	bool signalled;         /* an interrupt arrived that it has not handled */
	uint64_t busy_until_ns; /* the processor is occupied until then, including by interrupts */
	uint64_t due_ns;        /* end of the current step; an event with another time is stale */
	struct sim_client_post post[SIM_CLIENT_POSTS];
	uint32_t post_head, post_tail; /* free-running */
};

/* Creates the process and its objects. Returns 0 or a negative errno. */
int sim_client_open(struct sim_client *client, struct sim_nic *nic,
		    const struct sim_client_attr *attr);
void sim_client_close(struct sim_client *client);

/*
 * Sets the destination of sends; runs the simulation while its address is resolved. Returns 0 or
 * -errno.
 */
int sim_client_connect(struct sim_client *client, const struct sim_client *peer);

/*
 * Queue a signaled Send of bytes from offset on, or a receive into that range. They are posted when
 * the process next runs, in the order of the calls.
 */
void sim_client_send(struct sim_client *client, uint64_t wr_id, size_t offset, uint32_t bytes);
void sim_client_recv(struct sim_client *client, uint64_t wr_id, size_t offset, uint32_t bytes);

/* Makes a sleeping process run: it posts pending requests, arms, sleeps. */
void sim_client_start(struct sim_client *client);

/* Returns true if it sleeps and has nothing to post. */
bool sim_client_idle(const struct sim_client *client);

#endif /* WEFT_SIM_CLIENT_H */
