/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the ranks of a job find each other: one struct libgoal_launcher for each way.
 *
 * libgoal_launch.c calls begin() before a NIC is opened, exchange() once it is known where this
 * rank is. libgoal_pmix.c implements PMIx.
 */
#ifndef WEFT_LIBGOAL_LAUNCH_H
#define WEFT_LIBGOAL_LAUNCH_H

#include <unistd.h>

#include "host_driver/goal/libgoal.h"

/* What is known of this process and its job. */
struct libgoal_launch {
	uint32_t rank, size;
	uint32_t local_rank;          /* among those on this host */
	int shard;                    /* this rank is to be in; -1: any */
	uint64_t key[2];              /* the same at all ranks, random */
	struct weft_goal_peer *peers; /* malloc: size of them */
};

struct libgoal_launcher {
	/* rank, size and local_rank. GOAL_SUCCESS or an error. */
	int (*begin)(struct libgoal_launch *launch);
	/* Tells the others where this rank is; fills peers and key. */
	int (*exchange)(struct libgoal_launch *launch, const struct weft_goal_peer *self);
};

/*
 * libgoal_key.c: what WEFT_KEY, or the file WEFT_KEY_FILE, says. GOAL_ERR_LAUNCH: neither is there,
 * it is no key, or others may read the file.
 */
int libgoal_key_given(uint64_t key[2]);

/* PMIx, as mpirun and srun offer it; loaded when it is there and the process was started by it. */
bool libgoal_pmix_there(void);
extern const struct libgoal_launcher libgoal_pmix;
/*
 * Takes leave of the launcher; nothing where it was not used. Not before GOAL_Finalize(): who else
 * in the process uses PMIx (MPI) cannot once the last has taken leave.
 */
void libgoal_pmix_end(void);
/* In a child of fork: the leave is the parent's to take. */
void libgoal_pmix_forked(void);

#endif /* WEFT_LIBGOAL_LAUNCH_H */
