/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes: common commands, receives and completions; and one NIC alone (struct fw_ut) with
 * clients, each with a BAR, whose port records its calls.
 *
 * The memory of processes is the test's own. Functions assert success unless they return a status.
 */
#ifndef WEFT_TESTS_BENCH_HOST_H
#define WEFT_TESTS_BENCH_HOST_H

#include "nic_fw/fw_nic.h"
#include "tests/bench/port.h"
#include "tests/ut.h"

enum {
	FW_UT_CLIENTS = BENCH_CLIENTS,
	FW_UT_BAR_BYTES = 16 << 20,
	HOST_QKEY = 0x1111, /* of host_rts() */
};

/* ---- a process of any NIC ---------------------------------------------------------------- */

/* Sends cmd as client; returns the status, or -1 when the answer is pending. */
int host_cmd(struct fw_nic *nic, uint32_t client, struct hw_cmd *cmd, struct hw_cmd_resp *resp);
/* Sends a command on one object number; resp may be NULL. */
int host_obj(struct fw_nic *nic, uint32_t client, enum hw_cmd_op op, uint32_t handle,
	     struct hw_cmd_resp *resp);
uint32_t host_pd(struct fw_nic *nic, uint32_t client);
struct fw_cq *host_cq(struct fw_nic *nic, uint32_t client, uint32_t entries, uint32_t eq);
struct fw_srq *host_srq(struct fw_nic *nic, uint32_t client, uint32_t pd, uint32_t max_wr,
			uint32_t max_sge);
/* Makes a QP with 64 send slots, and 16 receives of 4 SGEs or an SRQ. */
struct fw_qp *host_qp(struct fw_nic *nic, uint32_t client, enum hw_qp_type type, uint32_t pd,
		      const struct fw_cq *cq, uint32_t srq);
/* Registers a region at mem; mapped: with a mapping at the same address. Returns its STag. */
uint32_t host_reg(struct fw_nic *nic, uint32_t client, uint32_t pd, void *mem, uint64_t bytes,
		  uint32_t access, bool mapped);
/* Sends MODIFY_QP; returns the status. attr may be NULL when mask is 0. */
int host_modify(struct fw_nic *nic, const struct fw_qp *qp, enum hw_qp_state state, uint32_t mask,
		const struct hw_qp_attr *attr);
/* Brings a datagram QP from RESET to RTS; access: HW_ACCESS_*, 0: unchanged. */
void host_rts(struct fw_nic *nic, const struct fw_qp *qp, uint32_t access);
/* Reads the entry at a CQ's index as a process sees it; false: not written. */
bool host_cqe(const struct fw_cq *cq, uint32_t index, struct hw_cqe *cqe);
/* Takes the next entry. */
bool host_next_cqe(struct fw_cq *cq, uint32_t *cons, struct hw_cqe *cqe);
/* Posts a receive to the QP's own queue. */
void host_recv(struct fw_qp *qp, uint64_t wr_id, const struct hw_sge *sge, uint32_t num_sge);

/*
 * Makes the NIC's first communicator, of so many ranks, without links or groups; the next run of it
 * has this instance.
 */
struct goal_comm *host_comm(struct fw_nic *nic, uint32_t ranks, uint32_t next_instance);
/* Makes an active run of it, without memory of its own for operations; and ends it. */
struct goal_run *host_run(struct fw_nic *nic, struct goal_comm *comm,
			  struct goal_schedule *schedule, uint32_t instance);
void host_run_end(struct fw_nic *nic, struct goal_run *run);

/* ---- a NIC alone ------------------------------------------------------------------------- */

enum {
	MAX_DETACH_TURNS = 500000, /* more: a process never leaves */
};

struct fw_ut_client {
	uint8_t *bar;
	size_t bar_bytes;
	struct hw_resp_attach attach;
	uint32_t eq_cons[HW_MAX_EQ_PER_CLIENT];
};

struct fw_ut {
	struct bench_port port;
	struct fw_nic *nic;
	void *arena;
	size_t arena_bytes;
	uint64_t now_ns;
	struct fw_ut_client client[FW_UT_CLIENTS]; /* by client number */
	uint32_t num_attached;                     /* since the beginning */
};

/* Makes weft1 of two (nic_index 1), 10.77.0.1/24, MTU 1500, with client 0 attached. */
void fw_ut_begin(struct fw_ut *ut);
/* Detaches all clients, asserts that nothing is left in use, frees all. */
void fw_ut_end(struct fw_ut *ut);
/* Attaches one more client; params may be NULL. Returns 0, or a positive errno. */
int fw_ut_attach(struct fw_ut *ut, const struct fw_client_params *params, uint32_t *client);
void fw_ut_detach(struct fw_ut *ut, uint32_t client);
/* Runs one turn dt_ns later. */
void fw_ut_poll(struct fw_ut *ut, uint64_t dt_ns);
uint32_t fw_ut_eq(struct fw_ut *ut, uint32_t client, uint32_t entries);
/* Takes the next event of a client's EQ; false: none. */
bool fw_ut_event(struct fw_ut *ut, uint32_t client, uint32_t eq, struct hw_eqe *eqe);
/*
 * All items of a kind, max at most, as the client reads them. Returns their number. A table that is
 * empty over a long range takes turns.
 */
uint32_t fw_ut_list(struct fw_ut *ut, uint32_t client, uint32_t kind, struct hw_list_item *items,
		    uint32_t max);
/* Posts a receive of num_sge SGEs of 100 bytes each to the QP's own queue. */
void fw_ut_post_recv(struct fw_qp *qp, uint64_t wr_id, uint32_t num_sge);

#endif /* WEFT_TESTS_BENCH_HOST_H */
