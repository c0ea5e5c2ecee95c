/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two NICs on a wire, in memory that returns to its initial state.
 *
 * World of the fuzz targets: two firmware instances, processes with a BAR and memory, a wire that
 * loses, duplicates and holds frames on request, virtual time. All of it is in one region: after a
 * target has set it up, world_keep() takes it as the start of every run and world_reset() returns
 * to it, which costs a page fault for each page that the run wrote. Memory given back to pools is
 * poisoned, and so are guards around BARs and memory.
 *
 * Used by frames*.c, host*.c and scribble.c. world.c has NICs, wire and time; proc.c the operations
 * of processes. Not thread-safe; one world.
 */
#ifndef WEFT_TESTS_FUZZ_WORLD_H
#define WEFT_TESTS_FUZZ_WORLD_H

#include "nic_fw/fw_nic.h"
#include "tests/bench/frame.h"
#include "tests/bench/wire.h"

enum {
	W_NICS = 2,
	W_PROCS = 5,
	W_BAR_BYTES = 8 << 20,
	W_MEM_BYTES = 128 << 10,
	W_GUARD_BYTES = 4096,
	W_MTU = 1500,
	W_FRAME_MAX = FRAME_MAX,
	W_INBOX = 512,
	W_KEPT = 32,
	W_HISTORY = 64,
	W_CQ_ENTRIES = 256,
	W_ALL_ACCESS = HW_ACCESS_LOCAL_WRITE | HW_ACCESS_REMOTE_WRITE | HW_ACCESS_REMOTE_READ |
		       HW_ACCESS_REMOTE_ATOMIC | HW_ACCESS_MW_BIND,
};

#define W_US UINT64_C(1000)
#define W_MS UINT64_C(1000000)
#define W_S  UINT64_C(1000000000)

struct w_nic {
	struct bench_port port; /* tx_room is refilled after a while */
	struct fw_nic *fw;
	void *arena;
	uint32_t tx_asked;   /* calls of tx_room() while it is full */
	uint64_t tx_full_ns; /* time since when it is full */
	uint32_t maps_given; /* mappings registered and not unmapped */
	uint64_t heap_kept;  /* bytes of its heap in use at world_keep() */
};

struct w_proc {
	uint32_t nic;
	bool attached;
	bool tool;
	uint32_t irqs;   /* interrupts raised for it */
	bool host_fault; /* system calls cannot reach its memory */
	uint32_t client;
	uint8_t *bar;
	uint64_t bar_kept; /* bytes of it in use at world_keep() */
	uint8_t *mem;
};

struct w_copy {
	uint32_t bytes;
	uint32_t from;
	uint8_t b[W_FRAME_MAX];
};

struct world {
	struct bench_wire wire; /* and the time */
	uint64_t random;
	struct w_nic nic[W_NICS];
	struct w_proc proc[W_PROCS];
	enum bench_verdict fate; /* fate of the next fated frames */
	uint32_t fated;
	uint32_t history;              /* frames ever sent */
	struct w_copy copy[W_HISTORY]; /* the last frames sent, by number % W_HISTORY */
	uint32_t pending_tag;
	uint32_t cmds_done;
	struct hw_cmd_resp done;
	/* Called whenever the firmware calls the port: simulates other cores meanwhile. */
	void (*meanwhile)(void);
};

/* Reached through a pointer, because it is in the region. */
extern struct world *w;

/* Reports a find: prints and aborts. */
#define W_CHECK BENCH_CHECK

/* ---- world.c */

/* Makes the NICs; called once in a program. */
void world_begin(void);
/* Keeps this state as the start of every run. */
void world_keep(void);
void world_reset(void);

/* Puts a frame into a NIC's receive queue; it is lost if that is full. */
void world_inject(uint32_t nic, const void *frame, uint32_t bytes);
uint32_t world_poll(uint32_t nic);
/* Polls until nothing happens at this instant; fails if that does not end. */
void world_settle(void);
/* Runs for this time, from event to event; stops early when done returns true. */
void world_run(uint64_t ns, bool (*done)(void));
/* Selects if frames are sent as between NICs of weftd's switch: tests/bench/loan.h. */
void world_lend(bool lends);
/* The memory of a process that is gone may not be touched, until it is opened again. */
void world_close_memory(struct w_proc *p);
void world_open_memory(struct w_proc *p);
/* Zeroes the BAR of a process that attaches again. */
void world_fresh_bar(struct w_proc *p);
/* Asserts that nothing is left in either NIC once streams have ended; all clients must be gone. */
void world_check_empty(void);

/* ---- proc.c */

void proc_attach(struct w_proc *p, uint32_t nic);
/* Attaches without a BAR, for queries. */
void proc_attach_tool(struct w_proc *p, uint32_t nic);
/* Kills it: its BAR may not be touched any more. */
void proc_detach(struct w_proc *p);
/* Sends a command, also waits for ARP; returns the status. */
int proc_cmd(struct w_proc *p, struct hw_cmd *cmd, struct hw_cmd_resp *resp);
/* Does not wait: a later answer is ignored. */
int proc_cmd_async(struct w_proc *p, struct hw_cmd *cmd, struct hw_cmd_resp *resp);
int proc_obj(struct w_proc *p, enum hw_cmd_op op, uint32_t handle);

uint32_t proc_pd(struct w_proc *p);
/* made may be NULL. */
uint32_t proc_eq(struct w_proc *p, struct hw_resp_create_eq *made);
uint32_t proc_cq(struct w_proc *p, uint32_t eq, struct hw_resp_create_cq *made);
uint32_t proc_ah(struct w_proc *p, uint32_t pd, uint32_t ip);
/* Registers a part of its memory. */
uint32_t proc_reg(struct w_proc *p, uint32_t pd, uint32_t offset, uint32_t bytes, uint32_t access,
		  bool mapped);

struct w_qp {
	struct hw_resp_create_qp made;
	uint8_t type;
	bool srq;
	uint8_t transport; /* hw_qp_transport of RC, for proc_rts() */
};
void proc_qp(struct w_proc *p, struct w_qp *qp, struct hw_cmd_create_qp *create);
int proc_modify(struct w_proc *p, uint32_t qpn, enum hw_qp_state state, uint32_t mask,
		const struct hw_qp_attr *attr);
/* From RESET to RTS with finite retries. dst: RC's other end. */
int proc_rts(struct w_proc *p, const struct w_qp *qp, uint32_t qkey, const struct w_qp *dst);

/* Writes a request as it is into the ring at *prod, counts it up; publish: for the NIC to see. */
void proc_wqe(struct w_proc *p, const struct w_qp *qp, const struct hw_sq_wqe *wqe,
	      const void *data, uint32_t data_bytes, bool publish);
void proc_ring(struct w_proc *p, uint32_t kind, uint32_t id, uint64_t rung_offset);
void proc_ring_sq(struct w_proc *p, const struct w_qp *qp);
/* Posts to the receive queue of a QP or SRQ, by the place of its record and ring. */
void proc_recv(struct w_proc *p, uint64_t prod_offset, uint64_t ring_offset, uint32_t entries,
	       uint32_t stride, const struct hw_rq_wqe *wqe, const struct hw_sge *sge);
/*
 * Gives a tagged queue pair in RESET its pool, and leaves it in INIT. Posts an operation of its
 * receive queue with its doorbell; returns its place.
 */
int proc_tag_open(struct w_proc *p, const struct w_qp *qp, uint32_t qkey,
		  const struct hw_cmd_tag_open *open);
uint32_t proc_tag_op(struct w_proc *p, const struct w_qp *qp, const struct hw_tag_rq_wqe *wqe,
		     const struct hw_sge *sge);
/* Takes the next event of a ring, the next completion of one; false: none. */
bool proc_eqe(struct w_proc *p, const struct hw_resp_create_eq *eq, uint32_t *cons);
bool proc_cqe(struct w_proc *p, const struct hw_resp_create_cq *cq, uint32_t *cons,
	      struct hw_cqe *cqe);
struct hw_qp_record *proc_record(struct w_proc *p, const struct w_qp *qp);

/* ---- input */

/* A program is an array of these; an incomplete last one is ignored. */
struct rec {
	uint8_t op;
	uint8_t a, b, c;
	uint32_t x, y, z;
};
static_assert(sizeof(struct rec) == 16, "");

enum {
	REC_MAX = 192,
};

#endif /* WEFT_TESTS_FUZZ_WORLD_H */
