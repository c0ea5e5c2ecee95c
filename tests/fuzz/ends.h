/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One process on each NIC with an object of every kind, and an account of what it has posted.
 *
 * Used by frames.c. The account is the oracle: a completion must belong to one posted request,
 * once, with no more bytes than there was room for; and when all faults have ended, every request
 * has completed.
 */
#ifndef WEFT_TESTS_FUZZ_ENDS_H
#define WEFT_TESTS_FUZZ_ENDS_H

#include "tests/fuzz/cm.h"
#include "tests/fuzz/coll.h"

enum {
	E_QPS = 8,     /* kinds that steps of any QP choose from */
	E_ALL_QPS = 9, /* and the tagged endpoint */
	E_AHS = 3,     /* the other NIC, this one, by QPN */
	E_QKEY = 0x1111,
	E_JOBS = 1024,

	/* the memory of a process, each part with its own rights; the gaps belong to none */
	E_ALL_AT = 0, /* all rights, mapped */
	E_ALL_BYTES = 64 << 10,
	E_READ_AT = 68 << 10, /* peers may read it, but not write it; mapped */
	E_READ_BYTES = 4 << 10,
	E_LOCAL_AT = 76 << 10, /* the process itself, by system calls */
	E_LOCAL_BYTES = 40 << 10,

	/* in those, the part for collectives */
	E_COLL_AT = 32 << 10, /* part of all: coll.h's memory and slot 0 */
	E_COLL_BYTES = 20 << 10,
	E_POOL_AT = 56 << 10, /* part of all: memory of the tagged endpoint */
	E_POOL_BYTES = 8 << 10,
	E_OTHER_AT = 8 << 10, /* part of local: slot 1 */
	E_OTHER_BYTES = 8 << 10,
};

enum e_qp {
	E_RD,
	E_RD_SRQ,
	E_RC,
	E_RC_SRQ,
	E_UD,
	E_UD_LONG,
	E_RC_ESP,
	E_RC_TCP,
	E_TAG,
};

struct end {
	uint32_t pd;
	uint32_t ah[E_AHS];
	uint32_t eq;
	struct hw_resp_create_cq scq, rcq;
	uint32_t scq_cons, rcq_cons;
	struct hw_resp_srq srq;
	struct w_qp qp[E_ALL_QPS];
	uint32_t claim;            /* number of the last claimed message */
	uint32_t all, read, local; /* STags */
	uint32_t window;
	struct cm_end cm;
};

struct ends {
	struct end end[2];
	struct coll coll;
	bool lied;     /* set when forged frames were sent */
	bool tag_over; /* tagged endpoints were stopped: all that they hold must end */
	uint32_t num_jobs;
	struct job {
		bool recv, done;
		bool responded; /* a read or an atomic */
		bool forgotten; /* its queue was reset: it may never complete */
		bool multi;     /* it serves messages until it is released */
		bool silent;    /* it completes only if it fails */
		uint8_t end, qp;
		uint32_t bytes;
	} job[E_JOBS];
};
extern struct ends ends;

/* Makes both ends in the world, with QPs in RTS, sessions open. Process i is end i. */
void ends_begin(void);

/* Posts the request that r describes (frames.c); nothing when there is no room. */
void ends_post(uint32_t e, const struct rec *r);
void ends_recv(uint32_t e, const struct rec *r);
/* Collectives: starts a run; loads, cancels, unmaps the pool's memory (frames.c). */
void ends_run(uint32_t e, const struct rec *r);
void ends_goal(uint32_t e, const struct rec *r);
/* Polls all completions and checks them against the account. */
void ends_poll(void);
/* Marks a QP whose requests may never complete. */
void ends_forget(uint32_t e, uint32_t qp);
/* Sets up anew a QP in an error state. */
void ends_mend(uint32_t e, uint32_t qp);
struct fw_qp *ends_fw_qp(uint32_t e, uint32_t qp);
/* Accounts for a request; NULL: there is no room. *wr_id: its number. */
struct job *ends_job(uint32_t e, uint32_t qp, bool recv, uint32_t bytes, uint64_t *wr_id);
/* Mostly a range that may be used; x: bytes (16 bits), place (8 bits of 256 bytes). */
void ends_local_range(uint32_t e, uint32_t x, struct hw_sge *sge);
/* Stops the tagged endpoints: from now on all that they hold must end (tag_ends.c). */
void ends_tag_stop(void);
/* A step of the tagged endpoint of an end (tag_ends.c). */
void ends_tag(uint32_t e, const struct rec *r);
void ends_tag_begin(uint32_t e);
/*
 * True if every request has completed and every run has ended. A tagged endpoint's may wait for the
 * peer's receive or send until ends_tag_stop().
 */
bool ends_idle(void);
/* Checks that memory without write permission is unchanged. */
void ends_check_memory(void);

#endif /* WEFT_TESTS_FUZZ_ENDS_H */
