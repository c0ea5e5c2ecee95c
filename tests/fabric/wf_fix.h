/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fixture of the tests of host_driver/fabric: two simulated NICs with the real firmware, and a
 * domain of the provider on each. Time is virtual, so waits take no real time.
 */
#ifndef WEFT_TESTS_WF_FIX_H
#define WEFT_TESTS_WF_FIX_H

#include <stdlib.h>
#include <string.h>

#include "host_driver/fabric/fi_weft.h"
#include "host_driver/fabric/wf_info.h"
#include "sim_harness/sim.h"
#include "tests/ut.h"

enum {
	WFF_BYTES = 1 << 20
};

struct wff_end {
	struct sim_proc *proc;
	struct wf_nic nic; /* as getinfo sees it */
	struct fi_info *info;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_ep *ep; /* of wff_endpoints() */
	struct fid_eq *eq; /* of wff_dgram() */
	uint8_t *buf;      /* WFF_BYTES */
	struct fid_mr *mr; /* of buf, all rights */
	fi_addr_t self, peer;
};

struct wff {
	struct sim *sim;
	struct fid_fabric *fabric;
	struct wff_end a, b;
};

/* Opens both domains with all capabilities, an AV and a CQ each. */
void wff_open(struct wff *f);
void wff_close(struct wff *f);
/* Makes the endpoints to come datagram endpoints; eq: bound to them, or NULL. */
void wff_dgram(struct wff *f, struct fid_eq *eq);
/* Opens and enables an endpoint at each end; each knows itself (self) and the other (peer). */
void wff_endpoints(struct wff *f);
/* Runs until the queue has an entry, or an error, and takes it: 1, or -FI_EAVAIL (into err). */
ssize_t wff_wait(struct wff *f, struct wff_end *end, struct fi_cq_tagged_entry *entry,
		 struct fi_cq_err_entry *err);
/* Asserts that a success arrives, and returns it. */
struct fi_cq_tagged_entry wff_good(struct wff *f, struct wff_end *end);
/* Asserts that an error arrives, and returns it. */
struct fi_cq_err_entry wff_bad(struct wff *f, struct wff_end *end);
/* True if nothing arrives within 10 ms. */
bool wff_silent(struct wff *f, struct wff_end *end);

/* Fills memory with the pattern of a seed. */
void wff_fill(uint8_t *buf, size_t bytes, uint8_t seed);

#endif /* WEFT_TESTS_WF_FIX_H */
