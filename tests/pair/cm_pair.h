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
	uint8_t type;               /* messages that the filter means; 0: all */
	uint32_t times;             /* so many of them */
	uint32_t skip;              /* after so many that pass */
	enum bench_verdict verdict; /* what becomes of them */
	uint32_t seen[WIRE_CM_TYPES]; /* messages sent */
};

void cp_begin(struct cp *cp);
/* Destroys what is left, lets all end, asserts that nothing is in use. */
void cp_end(struct cp *cp);
/* The same without the clients, which are gone. */
void cp_end_detached(struct cp *cp);

/* A command; the status. *handle: the answer's, may be NULL. */
int cp_cmd(struct cp *cp, uint32_t e, enum hw_cmd_op op, const struct hw_cmd_cm *cm,
	   uint32_t *handle);
/* The next event, HW_CM_EVENT_NONE: there is none. */
enum hw_cm_event_type cp_event(struct cp *cp, uint32_t e, struct hw_resp_cm_event *event);
/* Asserts that it is the next one. */
struct hw_resp_cm_event cp_expect(struct cp *cp, uint32_t e, uint32_t ep,
				  enum hw_cm_event_type type);
void cp_expect_none(struct cp *cp);

/* These assert success. */
uint32_t cp_create(struct cp *cp, uint32_t e);
uint32_t cp_bound(struct cp *cp, uint32_t e, enum hw_cm_space space, uint16_t port);
uint32_t cp_listen(struct cp *cp, enum hw_cm_space space, uint32_t backlog);
/* A bound endpoint of end 0 asks end 1 for CP_PORT. */
uint32_t cp_ask(struct cp *cp, enum hw_cm_space space, uint32_t qpn);
int cp_accept(struct cp *cp, uint32_t e, uint32_t ep, uint32_t qpn);
int cp_simple(struct cp *cp, uint32_t e, enum hw_cmd_op op, uint32_t ep);

/* An RC QP in RTS whose messages go over TCP: for a connection. */
struct fw_qp *cp_tcp_qp(struct cp *cp, uint32_t e);
/* The commands of a connection over TCP; mpa: HW_MPA_*. listen: end 1; ask: end 0. */
uint32_t cp_tcp_listen(struct cp *cp, uint16_t mpa, uint32_t backlog);
uint32_t cp_tcp_ask(struct cp *cp, uint32_t qpn, uint16_t mpa);

/* Listener and connection, with events taken: cp->listener, a, b. QPNs may be 0. */
void cp_connected(struct cp *cp, uint32_t qpn_a, uint32_t qpn_b);
/* The two ends of it are over: each has DISCONNECTED and TIMEWAIT_EXIT, and nothing else. */
void cp_expect_ended(struct cp *cp);

struct wire_cm *cp_msg(struct bench_frame *frame);
/* The message of a type that was kept last; NULL. */
struct bench_frame *cp_kept(struct cp *cp, uint8_t type);
/* A changed copy goes to an end, with all sums right. */
void cp_forge(struct cp *cp, uint32_t to, const struct bench_frame *frame,
	      const struct wire_cm *msg);

#define CP_CNT(cp, e, name) ((cp)->rp.end[e].nic->counters.name)

#endif /* WEFT_TESTS_CM_PAIR_H */
