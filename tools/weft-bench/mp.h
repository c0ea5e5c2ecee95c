/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Message passing between two partners as MPI libraries do it over verbs, for reg and mpi3: eager
 * and rendezvous protocols, non-blocking calls, a registration cache.
 *
 *	up to eager_bytes	a copy into a registered slot, a Send, a copy out of the receiver's
 *				slot
 *	longer, MP_GET		RTS with the buffer's key; the receiver reads it by RDMA Read; FIN
 *	longer, MP_PUT		RTS; CTS with the receiver's key; the sender writes by RDMA Write;
 *				FIN
 *
 * Messages match receives in order; there are no tags. Only mp_* calls and the NIC make progress,
 * which is what overlap and progress measure. One thread. Functions return 0, or -1 after an error
 * message.
 */
#ifndef WEFT_BENCH_MP_H
#define WEFT_BENCH_MP_H

#include "tools/weft-bench/crew.h"
#include "tools/weft-bench/end.h"

enum {
	MP_REQS = 256, /* requests begun and not yet waited for */
	MP_SQ_WR = 1024,
	MP_SLOTS_MAX = 64,
};

enum mp_proto {
	MP_GET,
	MP_PUT,
};

struct mp_config {
	uint32_t eager_bytes;
	enum mp_proto proto;
	enum weft_mr_cache_policy policy;
	bool block; /* mp_wait() sleeps: leaves the processor to a computing process */
	bool sync;  /* an eager send is done when the partner's NIC has it, not when it is copied */
};

/* Header before the data of an eager message, or alone. */
struct mp_head {
	uint32_t type;
	uint32_t from; /* the request that this belongs to; FIN, CTS: the addressed one */
	uint32_t back; /* CTS: the receiver's request */
	uint32_t rkey;
	uint64_t addr;
	uint64_t bytes;
};

/* An unexpected message. */
struct mp_early {
	struct mp_early *next;
	struct mp_head head;
	uint8_t data[];
};

struct mp_req {
	bool used;
	bool recv;
	bool done;
	uint32_t back; /* the partner's request */
	uint8_t *buf;
	uint64_t bytes; /* room; in a finished receive, bytes received */
	struct weft_mr *mr;
	struct mp_req *next; /* next of the receives that wait for a message */
};

struct mp {
	const struct opts *o;
	struct mp_config cfg;
	struct end end;
	struct weft_qp *qp;
	struct weft_mr_cache *cache;
	uint32_t inline_bytes;

	struct end_mem slots; /* to send from, then to receive into */
	size_t stride;
	uint32_t num_slots; /* of each */
	uint32_t free_slots;
	uint32_t free_slot[MP_SLOTS_MAX];
	struct mp_req *slot_req[MP_SLOTS_MAX]; /* sync: purpose of its completion */
	uint32_t sends;                        /* entries on the send queue */

	struct mp_req req[MP_REQS];
	struct mp_req *posted, **posted_end;
	struct mp_early *early, **early_end;
	uint64_t unexpected;
};

/* Opens the rank's end and connects it with its partner's; the partner does the same. */
int mp_open(struct mp *mp, struct crew *c, const struct mp_config *cfg);
void mp_close(struct mp *mp);

/* Memory for messages, by o->mem: of weft_alloc() or of the kernel; touched. */
void *mp_alloc(struct mp *mp, size_t bytes);
void mp_free(struct mp *mp, void *p, size_t bytes);

/*
 * Begin a message; NULL after an error message. The buffer belongs to this layer until mp_wait().
 */
struct mp_req *mp_isend(struct mp *mp, const void *buf, uint64_t bytes);
struct mp_req *mp_irecv(struct mp *mp, void *buf, uint64_t bytes);

/* Polls completions. Returns their number, or -1. */
int mp_progress(struct mp *mp);

/* Waits until it is done; frees it. */
int mp_wait(struct mp *mp, struct mp_req *req);

/* Begins and waits. */
int mp_send(struct mp *mp, const void *buf, uint64_t bytes);
int mp_recv(struct mp *mp, void *buf, uint64_t bytes);

/* mp_io.c for mp.c: posts a receive into slot. */
int mp_post_slot(struct mp *mp, uint32_t slot);

#endif /* WEFT_BENCH_MP_H */
