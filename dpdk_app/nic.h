/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Making the NICs of a weftd and taking them down. Called by main.c on the control thread.
 */
#ifndef WEFT_APP_NIC_H
#define WEFT_APP_NIC_H

#include "dpdk_app/app.h"

/* Names, addresses, MTUs, shards and cores, from the configuration. No DPDK yet. 0 or -errno. */
int nic_plan(struct app *app) __attribute__((warn_unused_result));

/* Takes the lock of every NIC: -EEXIST when another weftd has one. */
int nic_lock_all(struct app *app) __attribute__((warn_unused_result));

/* Memory that pools and rings will need, bytes. */
uint64_t nic_memory_bytes(const struct app *app);

/* Pools, rings, wires and firmware. 0 or -errno; what was made is undone by nic_close_all(). */
int nic_open_all(struct app *app) __attribute__((warn_unused_result));

/* The sockets on which processes attach. */
int nic_listen_all(struct app *app) __attribute__((warn_unused_result));

/* No core runs any more. */
void nic_close_all(struct app *app);
void nic_unlock_all(struct app *app);

#endif /* WEFT_APP_NIC_H */
