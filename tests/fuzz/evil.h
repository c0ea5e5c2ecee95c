/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A hostile process: commands with any field, requests and records with any content, any word
 * anywhere in its BAR.
 *
 * Used by host.c and scribble.c. It starts with an object of each kind, so that there is something
 * to harm, and remembers the objects that it made. Processes EVIL_PROC and EVIL_PROC + 1.
 */
#ifndef WEFT_TESTS_FUZZ_EVIL_H
#define WEFT_TESTS_FUZZ_EVIL_H

#include "tests/fuzz/cm.h"
#include "tests/fuzz/sched.h"

enum {
	EVIL_PROC = 2,
	EVIL_OBJECTS = 12, /* objects of a kind that are remembered */
	EVIL_QKEY = 0x2222,
	EVIL_RUNS = 16,
	/* in its memory: lists that GOAL commands name */
	EVIL_STAGE_AT = 112 << 10, /* peers, binds, a schedule */
	EVIL_POOL_AT = 120 << 10,
	EVIL_TAG_POOL_AT = 96 << 10, /* of the tagged endpoint */
	EVIL_TAG_POOL_BYTES = 16 << 10,
	EVIL_Z_TAGGED = 4, /* rec.z of a command: it is about tagged queue pairs */
};

enum evil_kind {
	EVIL_PD,
	EVIL_MR,
	EVIL_EQ,
	EVIL_CQ,
	EVIL_SRQ,
	EVIL_QP,
	EVIL_AH,
	EVIL_MW,
	EVIL_COMM,
	EVIL_SCHEDULE,
	EVIL_XRCD,
	EVIL_TAG, /* tagged queue pairs */
	EVIL_KINDS
};

struct evil {
	uint64_t runs_offset; /* number of run records in the BAR; 0: none */
	uint32_t serial;      /* number of the last run */
	uint32_t num[EVIL_KINDS];
	struct evil_obj {
		uint32_t handle;
		uint32_t entries, stride; /* place of the ring; of a QP: its receive queue */
		uint64_t record, ring;    /* in the BAR */
		struct w_qp qp;
	} obj[EVIL_KINDS][EVIL_OBJECTS];
};
extern struct evil evil[2];

/* Attaches process e of the two and makes its objects, also after its death. */
void evil_attach(uint32_t e);
/* Brings QPs of both to RTS, when both are attached. */
void evil_connect(void);
/* Maps a number of the input to an object. */
const struct evil_obj *evil_pick(uint32_t e, enum evil_kind kind, uint32_t i);

/*
 * Sends a command: valid for the existing objects, with one changed word (r->c: which, r->y: its
 * value), or all from raw (112 bytes). Remembers the new object.
 */
void evil_cmd(uint32_t e, const struct rec *r, const uint8_t *raw);
/* Posts a request, a receive, likewise. */
void evil_wqe(uint32_t e, const struct rec *r);
void evil_recv(uint32_t e, const struct rec *r);
/* Writes a word somewhere in the used part of the BAR, or in its memory. */
void evil_poke(uint32_t e, const struct rec *r);
/* Rings a doorbell of an existing object, or of none. */
void evil_ring(uint32_t e, const struct rec *r);
/* Fills a run record and rings for it (evil_goal.c). */
void evil_run(uint32_t e, const struct rec *r);
/* A step, a command of tagged endpoints (evil_tag.c). */
void evil_tag(uint32_t e, const struct rec *r);
void evil_tag_cmd(uint32_t e, const struct rec *r);
/* Builds a valid TAG_OPEN; makes a queue pair a tagged one; opens the first. */
void evil_tag_sane_open(uint32_t e, struct hw_cmd_tag_open *open, const struct rec *r);
void evil_tag_sane_qp(struct hw_cmd_create_qp *create);
void evil_tag_begin(uint32_t e);
/* Builds a valid GOAL command; writes the lists that it names into the memory. */
void evil_goal_sane(uint32_t e, struct hw_cmd *cmd, const struct rec *r);

#endif /* WEFT_TESTS_FUZZ_EVIL_H */
