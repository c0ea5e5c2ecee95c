/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NICs that are added and removed while the cores run. Control thread.
 */
#ifndef WEFT_APP_NIC_SLOT_H
#define WEFT_APP_NIC_SLOT_H

#include "dpdk_app/app.h"

/* Returns the first empty slot; CONF_MAX_NICS: there is none. */
uint32_t nic_slot_free(const struct app *app);

/*
 * Makes a NIC in an empty slot, with one shard on the core of the role io that has the fewest, and
 * one on a core of the role coll if there are any, and lets it run. Returns 0, or -errno with the
 * reason in why and the slot empty again.
 */
int nic_slot_fill(struct app *app, uint32_t index, const struct conf_nic *conf, char *why,
		  size_t chars) __attribute__((warn_unused_result));

/*
 * Takes a NIC from its cores and frees it. No process or tool is connected, and its firmware holds
 * no frames.
 */
void nic_slot_empty(struct nic *nic);

/*
 * Returns the core with the fewest shards among those of this role, from a set with a bit each;
 * NULL: none of them is. For nic_slot_fill().
 */
struct core *nic_slot_core(const struct app *app, uint64_t cores, enum conf_role role);

/*
 * Returns the cores that may run a shard of a NIC of this wire: those that poll, and to which each
 * NIC of the switch has a lane. For nic_slot_fill().
 */
uint64_t nic_slot_reach(const struct app *app, enum conf_wire wire);

#endif /* WEFT_APP_NIC_SLOT_H */
