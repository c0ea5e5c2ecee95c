/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The connection manager between the two NICs of rd_pair.h: commands, events, and a filter that
 * loses, doubles or copies messages of one type.
 *
 * End 0 asks, end 1 listens at CP_PORT. Included by cm_*_ut.c; cm_pair.c implements it.
 */
#ifndef WEFT_TESTS_CM_PAIR_H
#define WEFT_TESTS_CM_PAIR_H

#include "tests/pair/rd_pair.h"

enum {
	CP_PORT = 7471,
	CP_NONE = 0xffffffff, /* no endpoint */
};
#define CP_MS UINT64_C(1000000)
#define CP_S  UINT64_C(1000000000)

struct cp {
	struct rp rp;
	uint32_t eq[2];
	uint32_t listener, a, b;    /* endpoints: of end 1; of end 0; of end 1, by cp_connected() */
	uint8_t type;               /* messages that the filter acts on; 0: all */
	uint32_t times;             /* number of them */
	uint32_t skip;              /* number of messages that pass before */
	enum bench_verdict verdict; /* action on them */
	uint32_t seen[WIRE_CM_TYPES]; /* messages sent */
};

void cp_begin(struct cp *cp);
/* Destroys all objects, completes pending work, asserts that nothing is in use. */
void cp_end(struct cp *cp);
/* The same after the clients were detached. */
void cp_end_detached(struct cp *cp);

/* Sends a command; returns the status. *handle: that of the answer; may be NULL. */
int cp_cmd(struct cp *cp, uint32_t e, enum hw_cmd_op op, const struct hw_cmd_cm *cm,
	   uint32_t *handle);
/* Fetches the next event; HW_CM_EVENT_NONE: there is none. */
enum hw_cm_event_type cp_event(struct cp *cp, uint32_t e, struct hw_resp_cm_event *event);
/* Fetches the next event and asserts its endpoint and type. */
struct hw_resp_cm_event cp_expect(struct cp *cp, uint32_t e, uint32_t ep,
				  enum hw_cm_event_type type);
void cp_expect_none(struct cp *cp);

/* The following functions assert success. */
uint32_t cp_create(struct cp *cp, uint32_t e);
uint32_t cp_bound(struct cp *cp, uint32_t e, enum hw_cm_space space, uint16_t port);
uint32_t cp_listen(struct cp *cp, enum hw_cm_space space, uint32_t backlog);
/* A bound endpoint of end 0 requests a connection to CP_PORT of end 1. */
uint32_t cp_ask(struct cp *cp, enum hw_cm_space space, uint32_t qpn);
int cp_accept(struct cp *cp, uint32_t e, uint32_t ep, uint32_t qpn);
int cp_simple(struct cp *cp, uint32_t e, enum hw_cmd_op op, uint32_t ep);

/* An RC QP in RTS that runs over TCP, for a connection. */
struct fw_qp *cp_tcp_qp(struct cp *cp, uint32_t e);
/* The commands of a connection over TCP; mpa: HW_MPA_*. listen: end 1; ask: end 0. */
uint32_t cp_tcp_listen(struct cp *cp, uint16_t mpa, uint32_t backlog);
uint32_t cp_tcp_ask(struct cp *cp, uint32_t qpn, uint16_t mpa);

/* Makes a listener and a connection and takes their events: cp->listener, a, b. QPNs may be 0. */
void cp_connected(struct cp *cp, uint32_t qpn_a, uint32_t qpn_b);
/* Asserts that both ends got DISCONNECTED and TIMEWAIT_EXIT, and no other event. */
void cp_expect_ended(struct cp *cp);

struct wire_cm *cp_msg(struct bench_frame *frame);
/* The message of a type that was kept last; NULL: none. */
struct bench_frame *cp_kept(struct cp *cp, uint8_t type);
/* Sends a changed copy to an end, with correct checksums. */
void cp_forge(struct cp *cp, uint32_t to, const struct bench_frame *frame,
	      const struct wire_cm *msg);

#define CP_CNT(cp, e, name) ((cp)->rp.end[e].nic->counters.name)

#endif /* WEFT_TESTS_CM_PAIR_H */
