/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The connection manager of a fuzzed process: a listener, endpoints that connect to that of the
 * other NIC, and its handling of events.
 *
 * Used by ends.c and frames.c, evil.c. world_check_empty() checks the state afterwards.
 */
#ifndef WEFT_TESTS_FUZZ_CM_H
#define WEFT_TESTS_FUZZ_CM_H

#include "tests/fuzz/world.h"

enum {
	CM_KEPT = 8, /* endpoints that a process remembers */
	CM_PORT = 4791,
};

struct cm_end {
	uint32_t eq;
	uint32_t num;         /* number of endpoints ever remembered */
	uint32_t ep[CM_KEPT]; /* the last of them */
};

/* Makes one with an event queue of its own, and a listener for streams. */
void cm_begin(struct cm_end *end, struct w_proc *p);
/*
 * Connects a queue pair of one process with that of another, which listens, over TCP: both in RTS.
 */
void cm_join(struct cm_end *from, struct w_proc *pf, const struct w_qp *qf, struct cm_end *to,
	     struct w_proc *pt, const struct w_qp *qt);
/*
 * Takes one step. r->b: the operation, and from bit 4 the endpoint; r->c: further choices; r->x:
 * queue pair, y, z: private data. peer_ip: the other NIC's; qpn: a connected queue pair of the
 * process.
 */
void cm_step(struct cm_end *end, struct w_proc *p, const struct rec *r, uint32_t peer_ip,
	     uint32_t qpn);
/* A valid command on endpoints, with r's arguments. */
void cm_sane(struct hw_cmd *cmd, const struct rec *r, uint32_t eq, uint32_t ip, uint32_t qpn);

#endif /* WEFT_TESTS_FUZZ_CM_H */
