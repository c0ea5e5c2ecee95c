/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fixture of the simulation tests: two NICs with an endpoint each, faults on or off, and short
 * names for posting and for checking completions.
 *
 * A failed check prints the seed of the simulation it was in. Used by every test of this folder;
 * built on sim_harness/sim_end.h and libweft's public calls.
 */
#ifndef WEFT_TESTS_SIM_FIX_H
#define WEFT_TESTS_SIM_FIX_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim_harness/sim_end.h"
#include "tests/ut.h"

enum {
	FIX_SEEDS = 4, /* seeds 1.. that each test runs with */
};
#define FIX_MS       UINT64_C(1000000)
#define FIX_LIMIT_NS (5000 * FIX_MS) /* time within which everything must complete */

/* Like CU_ASSERT, and prints the seed. */
#define FIX_CHECK(p, condition)                                                                    \
	do {                                                                                       \
		bool fix_held_ = (condition);                                                      \
                                                                                                   \
		if (!fix_held_)                                                                    \
			printf("\n    seed %llu at %llu ns: %s",                                   \
			       (unsigned long long)sim_seed((p)->sim),                             \
			       (unsigned long long)sim_now_ns((p)->sim), #condition);              \
		CU_ASSERT(fix_held_);                                                              \
	} while (0)

/* The same; ends the test (it may leak, since it has failed anyway). */
#define FIX_REQUIRE(p, condition)                                                                  \
	do {                                                                                       \
		bool fix_need_ = (condition);                                                      \
                                                                                                   \
		if (!fix_need_)                                                                    \
			printf("\n    seed %llu at %llu ns: %s",                                   \
			       (unsigned long long)sim_seed((p)->sim),                             \
			       (unsigned long long)sim_now_ns((p)->sim), #condition);              \
		CU_ASSERT_FATAL(fix_need_);                                                        \
	} while (0)

struct pair {
	struct sim *sim;
	struct sim_nic *na, *nb;
	struct sim_end a, b;
	struct weft_ah *ab, *ba;
	struct sim_prng prng;
};

/* Parameters of a pair; zero fields are the defaults. */
struct pair_attr {
	const char *faults; /* list of sim_faults_parse(); NULL: none */
	struct sim_end_attr a, b;
	bool same; /* b is made as a is */
	bool wrap_soon;
	bool cc_off;
	bool borrow, no_crc, no_digest; /* of sim_config */
	uint32_t mtu;
	uint32_t budget; /* of a turn; 0: the default */
	uint32_t shards;
};

#define FIX_FAULTS "loss,dup,reorder" /* 1 % each */

/* While true, pairs are made without memory that the NICs map. */
extern bool fix_no_host_map;

void pair_open(struct pair *p, uint64_t seed, const struct pair_attr *attr);

/*
 * Closes both ends, lets the network drain and checks that the firmware holds no frame and no
 * mapping.
 */
void pair_close(struct pair *p);

/* Turns faults on, after the fault-free set-up. */
void pair_faults(struct pair *p, const char *list);

/* A signalled request from end to the QP of peer, over [offset, offset + bytes) of its buffer. */
struct post {
	enum weft_wr_opcode opcode;
	uint64_t wr_id;
	size_t offset;
	uint32_t bytes;
	uint32_t flags; /* beside WEFT_SEND_SIGNALED */
	uint32_t imm;
	uint32_t inv_stag;
	size_t remote_offset;
	uint32_t rkey; /* 0: the peer's buffer */
	uint64_t compare_add, swap;
	struct weft_qp *qp;         /* NULL: the end's */
	uint32_t dst_qpn;           /* 0: the peer's QP */
	const struct weft_sge *sge; /* instead of offset and bytes */
	uint32_t num_sge;
};
int post(struct sim_end *end, struct weft_ah *ah, const struct sim_end *peer,
	 const struct post *request);

/* Waits for one completion and checks wr_id and status; prints an unexpected one. */
struct weft_wc expect(struct pair *p, struct sim_end *end, uint64_t wr_id,
		      enum weft_wc_status status);
/* No completion comes within ns. */
bool silent(struct pair *p, struct sim_end *end, uint64_t ns);

/* Writes pattern n into memory; checks it. */
void fill(struct pair *p, uint32_t n, uint8_t *dst, size_t bytes);
bool filled(struct pair *p, uint32_t n, const uint8_t *data, size_t bytes);
/* Every byte is value. */
bool all_bytes(const uint8_t *data, uint8_t value, size_t bytes);

/* A second QP in the endpoint's context: its PD and CQ, active unless inactive. */
struct weft_qp *extra_qp(struct sim_end *end, enum weft_qp_type type, bool inactive);

#endif /* WEFT_TESTS_SIM_FIX_H */
