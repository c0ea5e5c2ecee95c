/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fixture of the tests of RD's errors.
 */
#ifndef WEFT_TESTS_SIM_RD_ERRORS_FIX_H
#define WEFT_TESTS_SIM_RD_ERRORS_FIX_H

#include "tests/sim/sim_fix.h"

#include "shared_defs/wire_dgram.h"
#include "shared_defs/wire_eth.h"
#include "shared_defs/wire_ip.h"

enum {
	SINK = 512 * 1024,
	DGRAM_AT = sizeof(struct wire_eth) + sizeof(struct wire_ip) + sizeof(struct wire_udp),
};

static const struct pair_attr faulty = {.faults = FIX_FAULTS};

/* Sets one attribute of a QP in RTS. */
static inline void modify(struct pair *p, struct weft_qp *qp, const struct weft_qp_attr *attr,
			  int mask)
{
	struct weft_qp_attr all = *attr;

	all.state = WEFT_QPS_RTS;
	FIX_REQUIRE(p, weft_modify_qp(qp, &all, mask | WEFT_QP_STATE) == 0);
}

/* 4.2 ms, four times. */
static inline void short_timeout(struct pair *p, struct weft_qp *qp)
{
	const struct weft_qp_attr attr = {.timeout = 10, .retry_cnt = 3};

	modify(p, qp, &attr, WEFT_QP_TIMEOUT | WEFT_QP_RETRY_CNT);
}

static inline void send_one(struct pair *p, uint64_t wr_id)
{
	struct post request = {.wr_id = wr_id, .bytes = 3000};

	FIX_REQUIRE(p, post(&p->a, p->ab, &p->b, &request) == 0);
}

/* Both ends work: one message from a to b. */
static inline void works(struct pair *p)
{
	fill(p, 4711, p->a.buf, 3000);
	memset(p->b.buf + SINK, 0, 3000);
	FIX_REQUIRE(p, sim_end_recv(&p->b, 5000, SINK, 3000) == 0);
	send_one(p, 6000);
	expect(p, &p->b, 5000, WEFT_WC_SUCCESS);
	expect(p, &p->a, 6000, WEFT_WC_SUCCESS);
	FIX_CHECK(p, filled(p, 4711, p->b.buf + SINK, 3000));
}

#endif /* WEFT_TESTS_SIM_RD_ERRORS_FIX_H */
