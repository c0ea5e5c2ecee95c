/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The objects that every end of a measurement has: an attachment to a NIC with its protection
 * domain and completion queue, registered memory, queue pairs. The modes add their own protocols
 * (ep.h, mp.h, srq.h, tag.h ...).
 *
 * Functions return 0, or -1 after an error message. Calls libweft.
 */
#ifndef WEFT_BENCH_END_H
#define WEFT_BENCH_END_H

#include "tools/weft-bench/bench.h"

enum {
	END_ACCESS = WEFT_ACCESS_LOCAL_WRITE | WEFT_ACCESS_REMOTE_WRITE | WEFT_ACCESS_REMOTE_READ |
		     WEFT_ACCESS_REMOTE_ATOMIC,
	END_TIMEOUT = 14, /* 67 ms */
};

struct end {
	struct weft_context *context;
	struct weft_pd *pd;
	struct weft_comp_channel *channel; /* NULL: the queue is polled */
	struct weft_cq *cq;
	struct weft_device_attr attr;
	struct weft_port_attr port;
};

/* Where memory comes from; the first are those of enum bench_mem. */
enum end_mem_kind {
	END_MEM_WEFT = BENCH_MEM_WEFT,
	END_MEM_MALLOC = BENCH_MEM_MALLOC,
	END_MEM_SHARED = BENCH_MEM_SHARED,
	END_MEM_PRIVATE = BENCH_MEMS, /* of the kernel, page by page */
};

/* Memory, and its region. */
struct end_mem {
	uint8_t *p;
	size_t bytes;
	struct weft_mr *mr; /* NULL: not registered */
	enum end_mem_kind kind;
};

/*
 * 0: there is a NIC of that name (NULL: any) that answers; else -1 after an error message. Leaves
 * nothing open.
 */
int end_probe(const char *device);

/* Opens device (NULL: the default): context, protection domain, limits. */
int end_open(struct end *e, const char *device);
/* Creates the completion queue; sleeps: with a channel whose descriptor does not block. */
int end_open_cq(struct end *e, uint32_t entries, bool sleeps);
/* Closes the context, which frees all of its objects. No effect on an end that is not open. */
void end_close(struct end *e);

/* Allocates memory that is not registered, zero-filled. m->p is NULL on failure. */
int end_mem_alloc(struct end *e, struct end_mem *m, enum end_mem_kind kind, size_t bytes);
/* The same, registered with these rights. */
int end_mem_open(struct end *e, struct end_mem *m, enum end_mem_kind kind, size_t bytes,
		 int access);
/* Frees memory. Its region has ended, with its context or before. */
void end_mem_free(struct end_mem *m);

/* Creates a queue pair on the end's completion queue; NULL after an error message. */
struct weft_qp *end_qp(struct end *e, struct weft_qp_init_attr *init);

/*
 * Brings an RC queue pair of any owner from RESET to RTS. The PSNs are the QPNs, which both ends
 * know; timeout as in weft_qp_attr.
 */
int end_connect_rc(struct weft_qp *qp, const struct weft_av *av, uint32_t remote_qpn,
		   enum weft_qp_transport transport, uint32_t max_rd_atomic, uint8_t timeout);

#endif /* WEFT_BENCH_END_H */
