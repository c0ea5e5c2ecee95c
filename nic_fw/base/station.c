/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shares of stations in tables that their packets fill. See station.h.
 *
 * Calls keyed.c.
 */
#include "nic_fw/base/station.h"

#include "nic_fw/fw_nic.h"

/* Distinguishes the hash from other uses of the secret: fw_hash_key_init(). */
#define STATION_KIND UINT64_C(0x73746174696f6e)

/*
 * The key is the instance's secret of its beginning: a class takes no random number, so that what a
 * NIC sends does not depend on whose share something is in.
 */
uint8_t station_of(const struct fw_nic *nic, const uint8_t *mac)
{
	uint64_t hash = fw_siphash(nic->config.hash_secret, fw_mac_word(mac), STATION_KIND, 0);

	return (uint8_t)(1 + hash % (STATIONS - 1));
}

bool station_may(const struct fw_nic *nic, uint8_t station, enum station_table table, uint32_t max)
{
	uint32_t used = nic->station.used[table];

	return used < max &&
	       nic->station.held[station][table] < (uint64_t)(max - used) * FW_HELD_PER_FREE;
}

void station_take(struct fw_nic *nic, uint8_t station, enum station_table table)
{
	nic->station.used[table]++;
	nic->station.held[station][table]++;
}

void station_give(struct fw_nic *nic, uint8_t station, enum station_table table)
{
	assert(nic->station.held[station][table] && nic->station.used[table]);
	nic->station.used[table]--;
	nic->station.held[station][table]--;
}
