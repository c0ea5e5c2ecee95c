/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults of a live port: frames that a wire has received pass through impair.c before the firmware
 * gets them. Any wire may have faults, from the start or from a change on.
 *
 * Memory is allocated by the control thread before a shard's first fault and kept. Frames of the
 * NIC to itself do not use its port, so nothing happens to them.
 */
#ifndef WEFT_APP_FAULTS_H
#define WEFT_APP_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "dpdk_app/wire/impair.h"

struct nic;
struct rte_mbuf;
struct shard;

/*
 * Sets the faults of a NIC from now on; all fields 0: none. running: cores poll its shards, which
 * change one after the other. Returns 0 or -errno. Control thread.
 */
int faults_set(struct nic *nic, const struct hw_fault *fault, bool running)
    __attribute__((warn_unused_result));

/* Fetches up to n frames of the wire through the faults. On the shard's core, if it has any. */
uint32_t faults_rx(struct shard *shard, struct rte_mbuf **frames, uint32_t n);

/* Returns true for a frame that faults_rx() has damaged, whatever the wire reports of it. */
bool faults_damaged(const struct rte_mbuf *m);

/* Returns the time at which a frame becomes due; UINT64_MAX: never. On the shard's core. */
uint64_t faults_next_ns(const struct shard *shard);

/* Frees the frames that wait, and the memory. No core may run any more. */
void faults_free(struct shard *shard);

#endif /* WEFT_APP_FAULTS_H */
