/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stream of RD Sends of 64 bytes from many sources, which one thread drives: both ends of the
 * mode grow. See grow.c.
 */
#ifndef WEFT_BENCH_GROW_H
#define WEFT_BENCH_GROW_H

#include "tools/weft-bench/crew.h"
#include "tools/weft-bench/end.h"

enum {
	GROW_BYTES = 64,
	GROW_WINDOW = 64,       /* messages under way */
	GROW_BATCH = 32,        /* messages posted from one look at the completions to the next */
	GROW_SOURCES = 1 << 16, /* at most */
	GROW_PLACE_BYTES = 256,
	GROW_PAGE_BYTES = 4096,
	GROW_SPARE = 64, /* regions that are left for others */
};

/* Memory in regions, and its places: where messages lie. Numbers are powers of two. */
struct grow_memory {
	struct end_mem mem;
	struct weft_mr **mr;
	size_t each; /* bytes of a region */
	uint32_t regions, places;
};

/* A queue pair that sends, with the one that its messages go to. */
struct grow_source {
	struct weft_qp *qp, *to;
	struct weft_cq *cq;
	struct weft_cq *to_cq;  /* of the receiving NIC; NULL: the one of all */
	struct grow_memory *in; /* likewise */
	struct weft_ah *ah;
	uint64_t sent, came; /* messages posted, received */
	uint32_t way;        /* posted, not completed */
	uint32_t depth;      /* the most of them */
};

struct grow {
	struct crew *c;
	struct end from, to;
	struct grow_source *source;
	uint32_t active; /* sources that send, a power of two */
	bool inlined;    /* data travels in the request */
	bool rotates;    /* each receive has another place than the one before */
	bool own_cqs; /* sources have completion queues of their own; GROW_WINDOW of them at most */
	struct grow_memory out, in;
	uint64_t posted, received; /* of all sources */
	uint64_t num_out, num_in;  /* places used */
	uint64_t progress_ns;
	uint32_t idle;
};

/* Memory of that many bytes in that many regions; places are that far from each other, or more. */
int grow_memory_open(struct end *e, struct grow_memory *m, size_t bytes, uint32_t regions,
		     uint32_t place_bytes);
void grow_memory_close(struct grow_memory *m);

/* Posts a receive for a message of source i. used: the place of the one that it follows, or NULL.
 */
int grow_post_recv(struct grow *g, uint32_t i, uint8_t *used);

/*
 * Messages from all active sources in turn, until `least` were received and `seconds` have passed.
 * Each is compared with what was sent. *mmps: million messages a second.
 */
int grow_stream(struct grow *g, uint64_t least, double seconds, double *mmps);

#endif /* WEFT_BENCH_GROW_H */
