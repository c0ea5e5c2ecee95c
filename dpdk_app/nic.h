/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creates and destroys the NICs of a weftd. Control thread.
 */
#ifndef WEFT_APP_NIC_H
#define WEFT_APP_NIC_H

#include "dpdk_app/app.h"

/* nic_plan.c */
/*
 * Determines names, addresses, MTUs, shards and cores from the configuration. Does not use DPDK.
 * Returns 0 or -errno.
 */
int nic_plan(struct app *app) __attribute__((warn_unused_result));

/* One NIC: its MAC address, its MTU, its card. Returns 0 or -errno after a message. */
int nic_plan_wire(struct nic *nic) __attribute__((warn_unused_result));

/* Returns the cores that poll shards of this NIC, a bit each. */
uint64_t nic_cores(const struct nic *nic);

/* nic.c */
/*
 * One NIC: pool, rings, wire and firmware. Returns 0 or -errno; nic_close() frees the parts
 * created, nic_free_pool() the pool of a port when nothing holds its frames.
 */
int nic_open(struct nic *nic) __attribute__((warn_unused_result));
/* Makes its core poll its port, and the switch know it. No core runs, or all are parked. */
void nic_join(struct nic *nic);
void nic_close(struct nic *nic);
void nic_free_pool(struct nic *nic);

/* Takes the lock of one NIC, and opens its socket. Return 0 or -errno after a message. */
int nic_lock(struct nic *nic) __attribute__((warn_unused_result));
int nic_listen(struct nic *nic) __attribute__((warn_unused_result));

/* Takes the lock of every NIC. -EEXIST: another weftd holds one. */
int nic_lock_all(struct app *app) __attribute__((warn_unused_result));

/* Returns the memory needed for pools and rings, in bytes. */
uint64_t nic_memory_bytes(const struct app *app);

/*
 * Creates pools, rings, wires and firmware. Returns 0 or -errno; nic_close_all() frees the parts
 * created.
 */
int nic_open_all(struct app *app) __attribute__((warn_unused_result));

/* Returns the memory to reserve for NICs that are added later. */
uint64_t nic_spare_bytes(const struct app *app);

/* Address space for the tables of a shard; NULL: there is none, which is logged. munmap() frees. */
void *nic_arena(const struct nic *nic, size_t bytes);

/* Opens the sockets on which processes attach. */
int nic_listen_all(struct app *app) __attribute__((warn_unused_result));

/* Called when no core runs any more. */
void nic_close_all(struct app *app);
void nic_unlock_all(struct app *app);

#endif /* WEFT_APP_NIC_H */
