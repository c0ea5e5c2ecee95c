/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two whole NICs joined by a wire that the test controls.
 */
#ifndef WEFT_TESTS_RD_PAIR_H
#define WEFT_TESTS_RD_PAIR_H

#include "nic_fw/fw_nic.h"
#include "tests/bench/frame.h"
#include "tests/bench/host.h"
#include "tests/bench/wire.h"
#include "tests/ut.h"

enum {
	RP_MEM_BYTES = 1 << 20,
	RP_BAR_BYTES = 8 << 20,
	RP_QPS = 6,
	RP_QKEY = HOST_QKEY,
	RP_WINDOW = 32,             /* congestion windows after rp_open() */
	RP_CREDITS = RD_CREDIT_MAX, /* credits beyond those used */
	RP_PSN_LAG = 0x10,          /* the first PSNs precede 2^32 by so many */
	RP_ALL_ACCESS = HW_ACCESS_LOCAL_WRITE | HW_ACCESS_REMOTE_WRITE | HW_ACCESS_REMOTE_READ |
			HW_ACCESS_REMOTE_ATOMIC | HW_ACCESS_MW_BIND,
};

struct rp;

/* A parsed frame, with pointers into it. */
struct rp_info {
	struct bench_frame *frame;
	uint32_t from;
	uint8_t type; /* wire_dgram_type, 0xff: no datagram of ours */
	struct wire_dgram *dgram;
	struct wire_rd *rd;          /* RD, ACK, PROBE */
	struct wire_rd_ack *ack;     /* ACK */
	struct wire_rd_hello *hello; /* HELLO */
	uint8_t *ddp;                /* RD with a message */
	uint32_t psn;
	uint8_t opcode;
	bool last;
	bool is_void;
};

typedef enum bench_verdict (*rp_filter)(struct rp *rp, const struct rp_info *info);

struct rp_end {
	struct bench_port port;
	struct fw_nic *nic;
	void *arena;
	uint8_t *bar;
	uint32_t client;
	uint32_t pd;
	uint32_t ah; /* by QPN */
	struct fw_cq *scq, *rcq;
	uint32_t scq_cons, rcq_cons;
	struct fw_qp *qp[RP_QPS];
	uint32_t num_qp;
	uint8_t *mem;
	uint32_t stag;
};

struct rp {
	struct bench_wire wire;
	struct rp_end end[2];
	uint64_t next_random; /* of both ends */
	bool bundle[2];       /* fw_config.bundle of each end */
	rp_filter filter;
	void *ctx; /* the filter's */
};

/* Makes two ends with two RD QPs each; no session yet. */
void rp_begin(struct rp *rp);
/* The same; a, b: the ends make and take bundles (rd_bundle.c), which rp_begin()'s do not. */
void rp_begin_bundling(struct rp *rp, bool a, bool b);
/* Completes pending work, asserts that nothing is left, frees all. */
void rp_end(struct rp *rp);
/* Detaches the process of an end, in as many turns as that needs. */
void rp_detach(struct rp *rp, uint32_t e);
/* Frees all without checks: the test has detached the clients. */
void rp_free(struct rp *rp);
/* Asserts that the pools of one end are empty but for so many taken receives. */
void rp_check_pools(struct rp *rp, uint32_t e, uint32_t recvs);
/* Opens the session by a Write of no bytes, so that tests begin with data. */
void rp_open(struct rp *rp);
/* Restarts an end as after a power failure, with other random numbers and new objects. */
void rp_restart(struct rp *rp, uint32_t e);

/* Runs one turn of one end; its frames are in the other end's inbox at once. */
uint32_t rp_poll(struct rp *rp, uint32_t e);
/* Polls both ends until nothing happens; time stands still. */
void rp_settle(struct rp *rp);
/* Runs for a time, from event to event. */
void rp_run(struct rp *rp, uint64_t ns);
/* Sends all that is due, delayed ACKs too, and receives all answers. */
void rp_quiet(struct rp *rp);

struct rp_info rp_info_of(struct bench_frame *frame, uint32_t from);
/* Corrects the datagram's CRC and the IPv4 checksum after a change. */
void rp_reseal(struct bench_frame *frame);
/* Settings of both ports (tests/bench/port.h). */
void rp_tx_room(struct rp *rp, uint32_t frames);
void rp_host_fault(struct rp *rp, bool fault);
/* The session of one end with the other; NULL: none. */
struct rd_session *rp_session(struct rp *rp, uint32_t e);

struct fw_qp *rp_qp(struct rp *rp, uint32_t e, enum hw_qp_type type, uint32_t max_recv_sge);
/* Sends MODIFY_QP; returns the status. */
int rp_modify(struct rp *rp, uint32_t e, const struct fw_qp *qp, enum hw_qp_state state,
	      uint32_t mask, const struct hw_qp_attr *attr);
void rp_rts(struct rp *rp, uint32_t e, const struct fw_qp *qp);
/* Makes two RC QPs that name each other, in RTS. */
void rp_rc(struct rp *rp, struct fw_qp **a, struct fw_qp **b, const struct hw_qp_attr *attr);
/* The same; b stays in RTR or goes to RTS. */
void rp_rc_state(struct rp *rp, struct fw_qp **a, struct fw_qp **b, const struct hw_qp_attr *attr,
		 enum hw_qp_state b_state);
/* Makes a UD QP of each end, in RTS. */
void rp_ud(struct rp *rp, struct fw_qp **a, struct fw_qp **b);
/* Makes two UC QPs that name each other, in RTS. */
void rp_uc(struct rp *rp, struct fw_qp **a, struct fw_qp **b);
void rp_destroy_qp(struct rp *rp, uint32_t e, const struct fw_qp *qp);
uint32_t rp_reg(struct rp *rp, uint32_t e, void *mem, uint64_t bytes, uint32_t access, bool mapped);
int rp_dereg(struct rp *rp, uint32_t e, uint32_t stag);
int rp_cmd(struct rp *rp, uint32_t e, struct hw_cmd *cmd, struct hw_cmd_resp *resp);

/* ---- filters of the wire (rd_filter.c) ------------------------------------------------- */

/* Frames of type RD: data from end 0, answers from end 1. */
enum bench_verdict rp_keep_data(struct rp *rp, const struct rp_info *info);
enum bench_verdict rp_drop_data(struct rp *rp, const struct rp_info *info);
enum bench_verdict rp_keep_answers(struct rp *rp, const struct rp_info *info);
enum bench_verdict rp_drop_answers(struct rp *rp, const struct rp_info *info);
enum bench_verdict rp_copy_bundles(struct rp *rp, const struct rp_info *info);
/* Frames of either end. */
enum bench_verdict rp_drop_read_responses(struct rp *rp, const struct rp_info *info);
enum bench_verdict rp_drop_terminates(struct rp *rp, const struct rp_info *info);
enum bench_verdict rp_copy_hellos(struct rp *rp, const struct rp_info *info);
enum bench_verdict rp_drop_all_of_1(struct rp *rp, const struct rp_info *info);
enum bench_verdict rp_drop_all(struct rp *rp, const struct rp_info *info);
/* Ends the filter, delivers the frames that it kept and runs until all is quiet. */
void rp_release(struct rp *rp);

/* ---- posting (rd_post.c) --------------------------------------------------------------- */

/* Posts a request of any kind: dst is NULL for RC. Fields that are 0 get defaults. */
struct rp_req {
	uint8_t opcode;
	uint8_t flags; /* SIGNALED is added unless unsignaled */
	bool unsignaled;
	uint64_t wr_id;
	const struct fw_qp *dst;
	uint32_t offset; /* of the data in the end's memory */
	uint32_t bytes;
	uint32_t remote_offset; /* in the other end's memory */
	uint32_t rkey;          /* 0: the region of the other end */
	uint32_t lkey;          /* 0: the end's own region */
	uint32_t imm;
	uint32_t atomic; /* HW_WQE_ATOMIC: HW_ATOMIC_CODE() */
	uint64_t compare_add, swap;
};

/* Writes slots unchanged, without a doorbell; returns the number of slots. */
uint32_t rp_write_sq(struct fw_qp *qp, const struct hw_sq_wqe *wqe, const void *data,
		     uint32_t data_bytes);
void rp_ring(struct rp *rp, uint32_t e, struct fw_qp *qp);
/* Writes a doorbell word unchanged. */
void rp_ring_raw(struct rp *rp, uint32_t e, uint32_t word);
void rp_req(struct rp *rp, uint32_t e, struct fw_qp *qp, const struct rp_req *req);
void rp_send(struct rp *rp, uint32_t e, struct fw_qp *qp, const struct fw_qp *dst, uint64_t wr_id,
	     uint32_t offset, uint32_t bytes);
void rp_recv(struct rp *rp, uint32_t e, struct fw_qp *qp, uint64_t wr_id, uint32_t offset,
	     uint32_t bytes);

/* Takes the next completion of the send or receive CQ; false: none. */
bool rp_scqe(struct rp *rp, uint32_t e, struct hw_cqe *cqe);
bool rp_rcqe(struct rp *rp, uint32_t e, struct hw_cqe *cqe);
/* Takes the next completion and asserts its number and status. */
void rp_expect_send(struct rp *rp, uint32_t e, uint64_t wr_id, enum hw_status status);
struct hw_cqe rp_expect_recv(struct rp *rp, uint32_t e, uint64_t wr_id, enum hw_status status);
void rp_expect_none(struct rp *rp);

/* Fills memory with the pattern of a seed. */
void rp_fill(uint8_t *mem, uint32_t bytes, uint32_t seed);
bool rp_filled(const uint8_t *mem, uint32_t bytes, uint32_t seed);

#define RP_CNT(rp, e, name) ((rp)->end[e].nic->counters.name)

/* True if n bytes have one value. */
static inline bool rp_all(const uint8_t *p, uint32_t n, uint8_t value)
{
	while (n--)
		if (p[n] != value)
			return false;
	return true;
}

#endif /* WEFT_TESTS_RD_PAIR_H */
