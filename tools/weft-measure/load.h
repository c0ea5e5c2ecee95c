/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The work that is measured: the messages between two processes. Each target brings the processes
 * (simulated, or real ones on real NICs) and the clock; this file decides when which end sends.
 *
 * ping: A sends a small message, B answers, and so on: half the time of each round trip.
 *
 * bulk: A has a message sent to it in frames of chunk_bytes. It asks for a block of them, and
 * for the next when the first has come whole, LOAD_AHEAD asked for at a time. So Open-MX moves
 * large messages (ESPGOAL 6.2 measured that), and so both hosts must act for the message
 * to go on. Each frame is a completion at either end.
 *
 * stream: B sends messages of chunk_bytes as fast as its own completions allow, window of them
 * at a time, when A has said that it may.
 *
 * A begins, and measures. All sends are signalled. A receives what is posted by the owner,
 * which keeps receives for LOAD_RECVS messages.
 */
#ifndef WEFT_MEASURE_LOAD_H
#define WEFT_MEASURE_LOAD_H

#include <stdbool.h>
#include <stdint.h>

enum {
	LOAD_SMALL_BYTES = 8, /* of a ping, and of what asks for more */
	LOAD_AHEAD = 2,       /* blocks asked for at a time */
	LOAD_RECVS = 512,
	LOAD_SENDS = 480, /* signalled sends of one end under way, at most */
	LOAD_DEPTH = 512, /* of the queues that an owner makes */
	LOAD_MAX_SAMPLES = 4096,
};

enum load_kind {
	LOAD_PING,
	LOAD_BULK,
	LOAD_STREAM,
};

struct load_plan {
	enum load_kind kind;
	uint32_t warmup;  /* pings, messages of a stream, blocks of bulk that are not counted */
	uint32_t repeats; /* pings, bulk messages, messages of the stream */
	uint64_t bytes;   /* of a bulk message */
	/*
	 * Frames of the message that are sent (0: all). The time of the rest comes from the
	 * straight line through the times of their blocks, so that a measurement can be short.
	 */
	uint64_t part;
	uint32_t chunk_bytes; /* of a frame of it; of a message of the stream */
	uint32_t block;       /* frames that A asks for at a time */
	uint32_t window;      /* of the stream */
};

/* Calls of an end to its process. */
struct load_io {
	void *ctx;
	/* Sends so many bytes, signalled. Errors are the process's business. */
	void (*send)(void *ctx, uint32_t bytes);
	uint64_t (*now_ns)(void *ctx);
};

struct load {
	struct load_plan plan;
	struct load_io io;
	bool is_a;
	bool over;          /* A: all has come; B: nothing more will be asked of it */
	uint32_t under_way; /* signalled sends */
	/* A */
	uint32_t rounds;      /* pings, messages of any kind that are done */
	uint64_t asked, here; /* frames of the message */
	uint64_t sent_ns;     /* the ping under way */
	uint64_t start_ns;    /* the message under way; the stream, after its warm-up */
	uint64_t end_ns;
	struct load_slope { /* times of blocks against frames, of the message under way */
		double n, i, ns, ii, i_ns;
	} slope;
	uint32_t num_samples;
	double sample_ns[LOAD_MAX_SAMPLES]; /* half round trips; times of bulk messages */
	/* B */
	uint64_t owed;   /* frames or messages to be sent as soon as there is room */
	uint64_t served; /* frames of the message under way that were asked for */
};

void load_init(struct load *load, const struct load_plan *plan, const struct load_io *io,
	       bool is_a);
/* A: sends the first. B: nothing. */
void load_begin(struct load *load);
/* A message of so many bytes came. */
void load_received(struct load *load, uint32_t bytes);
/* A send is complete. */
void load_sent(struct load *load);
/* All of this end is done, its own sends too. */
bool load_done(const struct load *load);

/* The q-quantile of the samples, 0..1, in ns; sorts them. NAN: there are none. */
double load_quantile(struct load *load, double q);
/* Bytes per second of the stream, or of the median bulk message; NAN. */
double load_rate(struct load *load);
/* Frames of a bulk message. */
uint64_t load_frames(const struct load_plan *plan);

#endif /* WEFT_MEASURE_LOAD_H */
