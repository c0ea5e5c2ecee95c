/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Local operations on the buffers of a run: goal_local.c.
 *
 * No function blocks; all are the core's alone. Calls goal.h.
 */
#ifndef WEFT_FW_GOAL_LOCAL_H
#define WEFT_FW_GOAL_LOCAL_H

#include <stdbool.h>

#include "nic_fw/coll/goal.h"

struct fw_nic;

/* Does a part of a local operation. True: it is finished, or the run has a fault. */
bool goal_local_step(struct fw_nic *nic, struct goal_run *run, uint32_t op, uint32_t *cost);
/*
 * A part of the result, which begins offset bytes behind its cursor's beginning, cannot be written
 * now: keeps it until goal_local_write_kept(). Returns GOAL_NOT_NOW, or HW_GOAL_RESOURCES.
 */
enum hw_goal_status goal_local_keep(struct fw_nic *nic, struct goal_run *run,
				    const struct goal_cursor *cursor, uint64_t offset,
				    const uint8_t *part, uint32_t bytes);
/*
 * Writes that part. GOAL_NOT_NOW: still not, or another run of the schedule has such a part.
 * HW_GOAL_OK: the operation may go on, in a later turn if run->kept is still there.
 */
enum hw_goal_status goal_local_write_kept(struct fw_nic *nic, struct goal_run *run);
/*
 * Writes bytes of part at the cursor, from *done on, as many as the turn has room for. False:
 * memory is not there, or not now.
 */
bool goal_local_write_some(struct fw_nic *nic, struct goal_run *run, struct goal_cursor *cursor,
			   const uint8_t *part, uint32_t bytes, uint32_t *done);
/* Drops a part of a result that has not been written: the run ends, or has written it. */
void goal_local_forget(struct fw_nic *nic, struct goal_run *run);

#endif /* WEFT_FW_GOAL_LOCAL_H */
