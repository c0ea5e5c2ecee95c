/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stream of messages from one end to the other: the sender keeps at most --window of them
 * unconsumed, the receiver counts, checks, and reports its progress by small messages the other way
 * (credits). A credit holds the number of the next message, so that a later one replaces one that
 * UD lost.
 *
 * Neither side blocks: stream_send() and stream_recv() are one turn each, so that one thread can
 * drive both. They return the number of events, or -1 after an error message.
 */
#ifndef WEFT_BENCH_STREAM_H
#define WEFT_BENCH_STREAM_H

#include "tools/weft-bench/ep.h"
#include "tools/weft-bench/report.h"

struct stream_tx {
	struct ep *ep;
	uint64_t total;   /* messages; lowered to seq when the time is over */
	uint64_t end_ns;  /* 0: none */
	uint64_t due_ns;  /* --pace: time of the next message; 0: at once */
	uint64_t seq;     /* number of the next message */
	uint64_t credit;  /* progress of the receiver */
	uint32_t resumes; /* times since the last credit that lost messages were written off */
	uint32_t turns;
	/* Puts message seq into buf and returns its length; NULL: patterns. */
	int64_t (*fill)(void *arg, uint8_t *buf, uint64_t seq);
	void *arg;
};

enum {
	STREAM_DOUBTS = 16, /* messages seen in places of others, of which the report is to come */
};

/* A message in the place of a later one. */
struct stream_doubt {
	uint64_t found;
	uint64_t latest; /* highest number that the place was reported with */
};

struct stream_rx {
	struct ep *ep;
	uint64_t next;   /* one more than the highest number received */
	uint64_t credit; /* reported to the sender */
	uint64_t warmup; /* messages before the measured time */
	uint64_t first_ns, last_ns;
	bool untimed; /* messages received since last_ns */
	struct flow flow;
	/* Write-Record: messages that must still be reported, or an error; see stream.c. */
	struct stream_doubt doubt[STREAM_DOUBTS];
	uint32_t num_doubts;
	/* Consumes message seq; -1 ends the stream. NULL: checks patterns. */
	int (*take)(void *arg, const uint8_t *buf, uint32_t bytes, uint64_t seq);
	void *arg;
};

/* Posts the receives of either side. */
int stream_start(struct ep *ep);

int stream_send(struct stream_tx *tx);
/* After waited_ns without progress: on UD, counts missing messages as lost. */
void stream_send_idle(struct stream_tx *tx, uint64_t waited_ns);
/* True if everything was sent and acknowledged. */
bool stream_sent(const struct stream_tx *tx);

int stream_recv(struct stream_rx *rx);
/* Idle for a moment: the time of the last message is taken now, not per message. */
void stream_recv_idle(struct stream_rx *rx);

/* The last message has arrived, or is lost: fills in the time of flow. */
void stream_account(struct stream_rx *rx);

#endif /* WEFT_BENCH_STREAM_H */
