/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pools under test. An element that is given back is poisoned, so that the sanitizer reports any
 * use of it, and a pool can be made short. Programs linked with --wrap=fw_pool_get and
 * --wrap=fw_pool_put do so (Makefile: those of tests/pair and tests/fuzz); their fixtures unpoison
 * the pools before they free them. nic_fw/base/pool.h.
 */
#ifndef WEFT_TESTS_BENCH_POOL_H
#define WEFT_TESTS_BENCH_POOL_H

#include "nic_fw/base/pool.h"

struct fw_nic;

/* Poisons a free element, except for the fields that the firmware reads by design. */
void bench_pool_poison(const struct fw_pool *pool, void *elem);
/* Unpoisons every element that was ever taken. */
void bench_pool_unpoison(struct fw_pool *pool);
/* Calls fn with each pool of a NIC. */
void bench_pool_each(struct fw_nic *nic, void (*fn)(struct fw_pool *pool));

/*
 * Takes all that is free, as other processes and peers would, and gives it back. Elements that are
 * put meanwhile can be taken again. saved: the caller keeps it from one to the other.
 */
void bench_pool_hold(struct fw_pool *pool, struct fw_pool *saved);
void bench_pool_release(struct fw_pool *pool, const struct fw_pool *saved);

#endif /* WEFT_TESTS_BENCH_POOL_H */
