/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fixture of the tests of host_driver/verbs: two simulated NICs with the real firmware, a verbs
 * context on each, and short names for making, connecting, posting and waiting.
 *
 * Used by every test of this folder; built on sim_harness and the functions of vb_*.c, which
 * programs call. Time is virtual, so waits take no real time.
 */
#ifndef WEFT_TESTS_VB_FIX_H
#define WEFT_TESTS_VB_FIX_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host_driver/verbs/vb.h"
#include "sim_harness/sim.h"
#include "tests/ut.h"

enum {
	VBF_BYTES = 1 << 16, /* of an end's buffer */
	VBF_QKEY = 0x1ee7,
	VBF_WR = 8,
	VBF_SGE = 4,
	VBF_INLINE = 64,
	VBF_ALL = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		  IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND,
	VBF_REMOTE = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
};

struct vbf_end {
	struct sim_proc *proc;
	struct vb_device *device;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq; /* with the channel */
	struct ibv_mr *mr; /* all of buf, all rights */
	uint8_t *buf;
	union ibv_gid gid;
};

struct vbf {
	struct sim *sim;
	struct vbf_end a, b;
};

void vbf_open(struct vbf *f);
void vbf_close(struct vbf *f);

/* Makes a QP in RESET with room for VBF_WR requests of VBF_SGE pieces; srq may be NULL. */
struct ibv_qp *vbf_qp(struct vbf_end *e, enum ibv_qp_type type, struct ibv_srq *srq);
/* Makes an address handle for an end, by its IPv4-mapped GID. */
struct ibv_ah_attr vbf_way(const struct vbf_end *to);
/* 0 or an errno. */
int vbf_to_init(struct ibv_qp *qp, unsigned int access);
int vbf_to_rtr(struct ibv_qp *qp, const struct vbf_end *peer, uint32_t peer_qpn);
int vbf_to_rts(struct ibv_qp *qp);
/* All three transitions, each asserted. */
void vbf_connect(struct ibv_qp *qp, const struct vbf_end *peer, uint32_t peer_qpn);
/* Makes RC QPs at both ends, connected. */
void vbf_pair(struct vbf *f, struct ibv_qp **a, struct ibv_qp **b);

/* One piece of an end's buffer. */
struct ibv_sge vbf_sge(const struct vbf_end *e, size_t offset, uint32_t bytes);
/* Posts a signalled request of one piece to the same place of the peer's buffer. 0 or an errno. */
int vbf_post(struct ibv_qp *qp, enum ibv_wr_opcode opcode, struct ibv_sge sge, uint64_t remote,
	     uint32_t rkey);
int vbf_recv(struct ibv_qp *qp, struct ibv_sge sge);

/* Runs until a completion arrives and polls it; an assertion fails if none arrives. */
struct ibv_wc vbf_wait(struct vbf *f, struct ibv_cq *cq);
/* Asserts that none arrives within a second. */
bool vbf_silent(struct vbf *f, struct ibv_cq *cq);
/* Posts, waits, and returns the status. */
enum ibv_wc_status vbf_status(struct vbf *f, struct ibv_qp *qp, enum ibv_wr_opcode opcode,
			      struct ibv_sge sge, uint64_t remote, uint32_t rkey);

/* Errno of a verb that returns a pointer, which must be NULL. */
#define VBF_NULL(expression, error)                                                                \
	do {                                                                                       \
		errno = 0;                                                                         \
		CU_ASSERT_PTR_NULL(expression);                                                    \
		CU_ASSERT_EQUAL(errno, error);                                                     \
	} while (0)

/* Ends the test if the pointer is NULL. */
#define VBF_NEED(expression) CU_ASSERT_PTR_NOT_NULL_FATAL(expression)
#define VBF_OK(expression)   CU_ASSERT_EQUAL(expression, 0)

#endif /* WEFT_TESTS_VB_FIX_H */
