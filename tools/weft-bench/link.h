/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RC over TCP: queue pairs connected by the NIC's connection manager, which MPA needs.
 *
 * One end listens, the other connects: link_listen(); link_call(); link_answer(); link_finish(),
 * the first and third at one end, the others at the other. A thread may do all four in this order.
 * Calls weft_cm.h. Functions return 0, or -1 after an error message.
 */
#ifndef WEFT_BENCH_LINK_H
#define WEFT_BENCH_LINK_H

#include "tools/weft-bench/bench.h"

struct link {
	struct weft_context *context;
	struct weft_comp_channel *channel; /* its events; NULL: not open */
	uint32_t ep;                       /* the listener, or the connecting endpoint */
	uint16_t port;                     /* port on which it listens */
	uint16_t mpa;                      /* HW_MPA_* */
	double timeout_s;
};

int link_listen(struct link *l, const struct opts *o, struct weft_context *context);
/*
 * Makes a connecting endpoint; one for each connection, on the channel of *share (NULL: its own).
 */
int link_open(struct link *l, const struct opts *o, struct weft_context *context,
	      const struct link *share);
/* Requests a connection to qp. ip: network byte order. */
int link_call(struct link *l, const struct weft_qp *qp, uint32_t ip, uint16_t port,
	      uint32_t max_rd_atomic);
/* Waits for a request and accepts it with qp, which is in RESET before and in RTS after. */
int link_answer(struct link *l, struct weft_qp *qp, uint32_t access, uint32_t max_rd_atomic);
/* Waits for the answer to link_call(). */
int link_finish(struct link *l, struct weft_qp *qp, uint32_t access, uint32_t max_rd_atomic);
/* Closes the endpoint and its channel. Connections end with their queue pairs. */
void link_close(struct link *l);

#endif /* WEFT_BENCH_LINK_H */
