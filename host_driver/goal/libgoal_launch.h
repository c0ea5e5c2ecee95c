/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Discovery of the ranks of a job: one struct libgoal_launcher per method.
 *
 * libgoal_launch.c calls begin() before a NIC is opened (libgoal_instance.c), and exchange() once
 * this rank's address is known. libgoal_pmix.c implements PMIx.
 */
#ifndef WEFT_LIBGOAL_LAUNCH_H
#define WEFT_LIBGOAL_LAUNCH_H

#include <unistd.h>

#include "host_driver/goal/libgoal.h"

/* This process and its job, as far as known. */
struct libgoal_launch {
	uint32_t rank, size;
	uint32_t local_rank;          /* index among the ranks on this host */
	const char *device;           /* NIC; NULL: WEFT_DEVICE's, or by local_rank */
	int shard;                    /* shard required for this rank; -1: any */
	uint64_t key[2];              /* random, the same at all ranks */
	struct weft_goal_peer *peers; /* malloc() memory, size entries */
};

/*
 * Opens the NIC for this process, or joins those that use it already; _put() ends that use. device,
 * local_rank and shard of launch choose the NIC. GOAL_SUCCESS or an error.
 */
int libgoal_instance_get(const struct libgoal_launch *launch, struct libgoal **lib);
void libgoal_instance_put(struct libgoal *lib);

struct libgoal_launcher {
	/* Sets rank, size and local_rank. Returns GOAL_SUCCESS or an error. */
	int (*begin)(struct libgoal_launch *launch);
	/* Publishes this rank's address; fills peers and key. */
	int (*exchange)(struct libgoal_launch *launch, const struct weft_goal_peer *self);
};

/*
 * Reads the key from WEFT_KEY or from the file that WEFT_KEY_FILE names (libgoal_key.c).
 * GOAL_ERR_LAUNCH: neither is set, the key is invalid, or other users can read the file.
 */
int libgoal_key_given(uint64_t key[2]);

/*
 * PMIx, as provided by mpirun and srun; loaded when present and the process was started through it.
 */
bool libgoal_pmix_there(void);
extern const struct libgoal_launcher libgoal_pmix;
/*
 * Disconnects from the launcher if it was used, so that another PMIx user in the process (MPI) may
 * begin and end before or after.
 */
void libgoal_pmix_end(void);
/* In a child of fork: the connection to the launcher stays the parent's. */
void libgoal_pmix_forked(void);

#endif /* WEFT_LIBGOAL_LAUNCH_H */
