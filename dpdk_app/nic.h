/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creates and destroys the NICs of a weftd. Control thread.
 */
#ifndef WEFT_APP_NIC_H
#define WEFT_APP_NIC_H

#include "dpdk_app/app.h"

/*
 * Determines names, addresses, MTUs, shards and cores from the configuration. Does not use DPDK.
 * Returns 0 or -errno.
 */
int nic_plan(struct app *app) __attribute__((warn_unused_result));

/* Takes the lock of every NIC. -EEXIST: another weftd holds one. */
int nic_lock_all(struct app *app) __attribute__((warn_unused_result));

/* Returns the memory needed for pools and rings, in bytes. */
uint64_t nic_memory_bytes(const struct app *app);

/*
 * Creates pools, rings, wires and firmware. Returns 0 or -errno; nic_close_all() frees the parts
 * created.
 */
int nic_open_all(struct app *app) __attribute__((warn_unused_result));

/* Address space for the tables of a shard; NULL: there is none, which is logged. munmap() frees. */
void *nic_arena(const struct nic *nic, size_t bytes);

/* Opens the sockets on which processes attach. */
int nic_listen_all(struct app *app) __attribute__((warn_unused_result));

/* Called when no core runs any more. */
void nic_close_all(struct app *app);
void nic_unlock_all(struct app *app);

#endif /* WEFT_APP_NIC_H */
