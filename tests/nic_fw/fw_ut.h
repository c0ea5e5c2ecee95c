/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One firmware instance for unit tests of the device model: a port that records what it is
 * asked, clients with BARs, and the commands that tests need again and again.
 *
 * The process's memory is the test's own: host_read and host_write copy from and to the address
 * itself. Included by *_ut.c of this folder; fw_fix.c implements it.
 */
#ifndef WEFT_TESTS_FW_UT_H
#define WEFT_TESTS_FW_UT_H

#include "nic_fw/fw_nic.h"
#include "tests/ut.h"

enum {
	FW_UT_CLIENTS = 16,
	FW_UT_BAR_BYTES = 16 << 20,
	FW_UT_UNMAPS = 16,
};

struct fw_ut_client {
	uint8_t *bar;
	size_t bar_bytes;
	struct hw_resp_attach attach;
	uint32_t irqs[HW_MAX_EQ_PER_CLIENT];
	uint32_t eq_cons[HW_MAX_EQ_PER_CLIENT];
};

struct fw_ut {
	struct fw_nic *nic;
	void *arena;
	size_t arena_bytes;
	uint64_t now_ns;
	struct fw_ut_client client[FW_UT_CLIENTS]; /* by client number */
	uint32_t num_attached;                     /* since the beginning */
	uint32_t frames_sent;
	uint32_t settles; /* calls of tx_settle */
	bool tx_full;     /* the port takes no frame */
	bool host_fault;  /* memory of processes is not there */
	bool host_busy;   /* it is not there now */
	uint32_t host_calls;
	const void *host_src; /* what host_write was last given */
	uint32_t num_unmapped;
	void *unmapped[FW_UT_UNMAPS];
	uint32_t num_unmaps;   /* calls of mem_unmap, recorded or not */
	uint32_t num_detached; /* and of detached() */
	uint32_t last_detached;
	uint32_t num_done; /* answers by cmd_done() */
	uint32_t done_client;
	struct hw_cmd_resp done;
};

/* An instance, weft1 of two (nic_index 1), 10.77.0.1/24, MTU 1500, with client 0 attached. */
void fw_ut_begin(struct fw_ut *ut);
/* Detaches what is attached, asserts that nothing is left in use, frees all. */
void fw_ut_end(struct fw_ut *ut);

/* Attaches one more client; params may be NULL. 0, or a positive errno. */
int fw_ut_attach(struct fw_ut *ut, const struct fw_client_params *params, uint32_t *client);
void fw_ut_detach(struct fw_ut *ut, uint32_t client);

/* One turn dt_ns later. */
void fw_ut_poll(struct fw_ut *ut, uint64_t dt_ns);

/* Sends cmd as client; the status, or -1 when the answer is pending. */
int fw_ut_cmd(struct fw_ut *ut, uint32_t client, struct hw_cmd *cmd, struct hw_cmd_resp *resp);
/* A command on one object number. */
int fw_ut_obj(struct fw_ut *ut, uint32_t client, enum hw_cmd_op op, uint32_t handle,
	      struct hw_cmd_resp *resp);

/* These assert success. */
uint32_t fw_ut_pd(struct fw_ut *ut, uint32_t client);
uint32_t fw_ut_eq(struct fw_ut *ut, uint32_t client, uint32_t entries);
struct fw_cq *fw_ut_cq(struct fw_ut *ut, uint32_t client, uint32_t entries, uint32_t eq);
struct fw_srq *fw_ut_srq(struct fw_ut *ut, uint32_t client, uint32_t pd, uint32_t max_wr,
			 uint32_t max_sge);
/* 64 send slots, 16 receives of 4 SGEs, or an SRQ. */
struct fw_qp *fw_ut_qp(struct fw_ut *ut, uint32_t client, enum hw_qp_type type, uint32_t pd,
		       const struct fw_cq *cq, uint32_t srq);
/* A region at mem; mapped: with a mapping at the same address. Its STag. */
uint32_t fw_ut_reg(struct fw_ut *ut, uint32_t client, uint32_t pd, void *mem, uint64_t bytes,
		   uint32_t access, bool mapped);

/* MODIFY_QP; the status. attr may be NULL when mask is 0. */
int fw_ut_modify(struct fw_ut *ut, const struct fw_qp *qp, enum hw_qp_state state, uint32_t mask,
		 const struct hw_qp_attr *attr);
/* A datagram QP from RESET to RTS. */
void fw_ut_rts(struct fw_ut *ut, const struct fw_qp *qp);

/* The next event of a client's EQ, false: none. */
bool fw_ut_event(struct fw_ut *ut, uint32_t client, uint32_t eq, struct hw_eqe *eqe);
/* The entry at a CQ's index as a process sees it; false: not written. */
bool fw_ut_cqe(const struct fw_cq *cq, uint32_t index, struct hw_cqe *cqe);
/* Posts a receive of num_sge SGEs of 100 bytes each to the QP's own queue. */
void fw_ut_post_recv(struct fw_qp *qp, uint64_t wr_id, uint32_t num_sge);

#endif /* WEFT_TESTS_FW_UT_H */
