/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies in slices: messages of the pool, those of a rank to itself, and the list of a new
 * communicator's ranks.
 *
 * No function blocks; all are the core's alone. Calls goal.h.
 */
#ifndef WEFT_FW_GOAL_TAKE_H
#define WEFT_FW_GOAL_TAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/coll/goal.h"

struct fw_nic;
struct hw_cmd_goal_comm;

/*
 * Messages of the pool (goal_take.c): short ones at once, others as local work: begin, then step
 * until it returns true: finished, or the run has a fault. bytes: to be copied.
 */
bool goal_take_is_short(struct fw_nic *nic, const struct goal_run *run, uint32_t op,
			struct goal_unexp *unexp, uint64_t bytes);
/* Into the receive's buffer. False: memory is not there, or (nic->host.mem_busy) not now. */
bool goal_take_at_once(struct fw_nic *nic, struct goal_recv *recv, struct goal_unexp *unexp);
void goal_take_begin(struct fw_nic *nic, struct goal_recv *recv, struct goal_unexp *unexp);
bool goal_take_step(struct fw_nic *nic, struct goal_run *run, struct goal_recv *recv);
/* A message of this rank into the pool; its send ends with the last byte. */
enum hw_goal_status goal_keep_at_once(struct fw_nic *nic, struct goal_run *run, uint32_t op,
				      struct goal_unexp *unexp);
void goal_keep_begin(struct fw_nic *nic, struct goal_send *send, struct goal_unexp *unexp);
bool goal_keep_step(struct fw_nic *nic, struct goal_run *run, uint32_t op);

/* Messages of a rank to itself (goal_self.c). */
enum hw_goal_status goal_msg_self(struct fw_nic *nic, struct goal_run *run, uint32_t op,
				  const struct goal_key4 *key);
/* Moves a message that waits for room into the pool. False: the pool has no room yet. */
bool goal_self_keep(struct fw_nic *nic, struct goal_send *send);
/* Starts a receive. True: a message of this rank waited for it. */
bool goal_self_recv(struct fw_nic *nic, struct goal_recv *recv);
/* A message does not wait for its receive any more. */
void goal_self_taken(struct goal_send *send);
/* Copies a part. True: finished, or the run has a fault. op: the receive. */
bool goal_self_step(struct fw_nic *nic, struct goal_run *run, uint32_t op);

/*
 * Writes bytes of a message to a stretch of the buffer of a receive, or (op FW_NONE) elsewhere.
 * False: as mem_write().
 */
bool goal_take_put(struct fw_nic *nic, const struct goal_run *run, uint32_t op,
		   const struct fw_mem *mem, const void *src, uint32_t bytes);

/*
 * The list of a new communicator's ranks (goal_list.c). Reads a part, or the rest: 0: it is there;
 * CMD_LATER; a status. Gives it to its communicator. Frees that of the command, or any.
 */
int goal_list_read(struct fw_nic *nic, uint32_t client, const struct hw_cmd_goal_comm *arg);
void goal_list_give(struct fw_nic *nic, uint32_t client, struct goal_comm *comm);
void goal_list_forget(struct fw_nic *nic, uint32_t client, bool any);

#endif /* WEFT_FW_GOAL_TAKE_H */
