/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One end of a measurement: an attachment to a NIC, one queue pair with one completion queue, and
 * one registered region
 *
 *	control page | window + 1 slots to send from | window slots to receive into
 *
 * The two ends exchange its address, so that RDMA operations find slot n of the peer. A slot has 64
 * bytes before its data; the last 40 take UD's GRH.
 *
 * Requests and receives are collected (ep_queue_*) and handed to the NIC with one doorbell
 * (ep_flush). ep_poll sorts completions: it counts finished requests and puts received messages
 * into a ring that the mode reads. Functions return 0 or more, or -1 after an error message.
 */
#ifndef WEFT_BENCH_EP_H
#define WEFT_BENCH_EP_H

#include <jansson.h>

#include "lib/clock.h"
#include "tools/weft-bench/bench.h"
#include "tools/weft-bench/end.h"
#include "tools/weft-bench/link.h"

enum {
	EP_CONTROL_BYTES = 4096,
	EP_HEADROOM = 64,
	EP_GRH_BYTES = 40,
	EP_BATCH = 64,       /* requests for one doorbell */
	EP_POLL_MAX = 32,    /* completions taken at a time */
	EP_RESUMES = 16,     /* times in a row that a stream on UD goes on without a credit */
	EP_CTL_COUNTER = 0,  /* control page: the word that atomics count in */
	EP_CTL_CREDITS = 64, /* source of credits, 8 bytes each */
	EP_CTL_CREDIT_SLOTS = (EP_CONTROL_BYTES - EP_CTL_CREDITS) / 8,
};

/* Address of an end, for the other. */
struct ep_addr {
	uint32_t ip; /* network byte order */
	uint32_t qpn;
	uint32_t rkey;
	uint32_t mtu_bytes;
	uint16_t port; /* RC over TCP: port on which it listens */
	uint64_t region;
};

/* A received message. */
struct ep_msg {
	uint64_t seq; /* number from its immediate, or else from its first word */
	uint32_t slot;
	uint32_t bytes;
	uint64_t nic_ns; /* when the NIC wrote its completion, on the clock of clock_now_ns() */
};

struct ep {
	const struct opts *o;
	struct end end;
	struct weft_qp *qp;
	struct weft_ah *ah;
	struct link link; /* RC over TCP */
	struct end_mem mem;
	size_t stride;
	bool inline_ok;
	bool armed;
	struct ep_addr local, remote;

	/* Requests queued, but not posted yet. */
	uint32_t num_wr;
	uint32_t num_rwr;
	struct weft_send_wr wr[EP_BATCH];
	struct weft_recv_wr rwr[EP_BATCH];
	struct weft_sge sge[EP_BATCH][BENCH_MAX_SGE];
	struct weft_sge rsge[EP_BATCH][BENCH_MAX_SGE];

	uint64_t posted;   /* data requests posted or queued */
	uint64_t done;     /* number of them completed */
	uint64_t extra;    /* credits in flight */
	uint64_t last_seq; /* number of the message received last */
	uint64_t first_ns; /* when the NIC wrote the first completion of the last poll */

	/* Ring of received messages. */
	uint32_t msg_head, msg_tail, msg_mask;
	struct ep_msg *msgs;
};

/* Write-Record takes no receives: only its sender limits the messages that come. */
static inline bool ep_takes_receives(const struct opts *o)
{
	return o->qp != WEFT_QPT_UD || o->op != BENCH_WRITE;
}

/* Messages from one credit of a stream to the next. */
static inline uint32_t ep_credit_step(const struct opts *o)
{
	return o->window < 4 ? 1 : o->window / 4;
}

/*
 * Messages that a completion queue has room for. Without receives these are all that come while
 * this process is stopped: a window, those of the sender's resumes, and as many duplicates.
 */
static inline uint32_t ep_cq_messages(const struct opts *o)
{
	return ep_takes_receives(o) ? o->window : 2 * (o->window + EP_RESUMES * ep_credit_step(o));
}

/* Room for received messages: more than one poll takes, so that it is never full. */
static inline uint32_t ep_ring_messages(const struct opts *o)
{
	return 2 * o->window + 2 * EP_POLL_MAX;
}

/* Opens device (NULL: the default) with the objects for o. */
int ep_open(struct ep *ep, const struct opts *o, const char *device);
void ep_close(struct ep *ep);

static inline bool ep_is_tcp(const struct opts *o)
{
	return o->qp == WEFT_QPT_RC && o->transport == WEFT_QP_TRANSPORT_TCP;
}

/*
 * Takes the other end's address: makes the address handle, or connects. Over TCP one end calls
 * ep_connect() and ep_established(), the other between them ep_answer().
 */
int ep_connect(struct ep *ep, const struct ep_addr *remote);
int ep_answer(struct ep *ep, const struct ep_addr *remote);
int ep_established(struct ep *ep);

/* ep_addr as part of an exchange message. */
json_t *ep_addr_json(const struct ep_addr *a);
int ep_addr_parse(const json_t *msg, struct ep_addr *a);

static inline uint8_t *ep_tx(const struct ep *ep, uint32_t slot)
{
	return ep->mem.p + EP_CONTROL_BYTES + slot * ep->stride + EP_HEADROOM;
}

static inline uint8_t *ep_rx(const struct ep *ep, uint32_t slot)
{
	return ep_tx(ep, ep->o->window + 1 + slot);
}

/* Queues the request of o->op for message seq of bytes bytes; flushes when the batch is full. */
int ep_queue(struct ep *ep, uint64_t seq, uint32_t bytes);

/* Queues a message of 8 bytes to the sender of a stream: value. */
int ep_queue_credit(struct ep *ep, uint64_t value);

/* Queues a receive into slot. */
int ep_queue_recv(struct ep *ep, uint32_t slot);

/* Posts the queued requests. */
int ep_flush(struct ep *ep);

/* Polls completions. Returns their number. */
int ep_poll(struct ep *ep);

/* Takes the next received message: 1, or 0 when there is none. */
int ep_next(struct ep *ep, struct ep_msg *msg);

/*
 * Action of an end while no message arrives: with --event it sleeps, else it reads the clock now
 * and then. fd (-1: none) is watched, too.
 */
struct ep_idle {
	const struct opts *o;
	struct ep *ep[2]; /* the second may be NULL */
	int fd;
	bool fd_ready;    /* set when fd can be read */
	uint64_t idle_ns; /* time since the last message; 0: it just came */
	/* The last sleep in poll(), on the clock of clock_now_ns(); 0: none. */
	uint64_t slept_ns, woken_ns;
	uint32_t turns;
};

static inline void ep_busy(struct ep_idle *idle)
{
	idle->idle_ns = 0;
	idle->turns = 0;
}

/* -1 after --timeout without ep_busy(). *waited_ns (or NULL): time without a message. */
int ep_idle(struct ep_idle *idle, uint64_t *waited_ns);

#endif /* WEFT_BENCH_EP_H */
