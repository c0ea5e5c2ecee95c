/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MAC filters of simulated NICs: group addresses that their firmware accepts.
 *
 * sim_mac_filter() is fw_port.mac_filter. The switch (sim_link.c) calls sim_mac_wanted() before it
 * forwards a frame to a group, like a switch that snoops IGMP. It is stricter than a real one:
 * groups without a member are not forwarded at all. RFC 4541.
 */
#include "sim_harness/sim_int.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static struct sim_mac *find(struct sim_shard *shard, const uint8_t *mac, uint32_t ip)
{
	uint32_t i;

	for (i = 0; i < shard->num_macs; i++)
		if (shard->macs[i].ip == ip && !memcmp(shard->macs[i].mac, mac, 6))
			return &shard->macs[i];
	return NULL;
}

static void add(struct sim_shard *shard, const uint8_t *mac, uint32_t ip)
{
	if (shard->num_macs == shard->max_macs) {
		shard->max_macs = shard->max_macs ? 2 * shard->max_macs : 8;
		shard->macs = realloc(shard->macs, shard->max_macs * sizeof(*shard->macs));
		assert(shard->macs);
	}
	memcpy(shard->macs[shard->num_macs].mac, mac, 6);
	shard->macs[shard->num_macs++].ip = ip;
}

uint32_t sim_mac_filter(void *ctx, const uint8_t mac[6], uint32_t ip, bool in)
{
	struct sim_shard *shard = ctx;
	struct sim_nic *nic = shard->nic;
	struct sim_mac *entry = find(shard, mac, ip);
	uint32_t others = 0, s;

	assert(mac[0] & 1 || !"mac_filter() of a station's address");
	if (in && !entry)
		add(shard, mac, ip);
	else if (!in && entry)
		*entry = shard->macs[--shard->num_macs];
	for (s = 0; s < nic->num_shards; s++)
		others += &nic->shard[s] != shard && find(&nic->shard[s], mac, ip);
	return others;
}

bool sim_mac_wanted(const struct sim_nic *nic, const uint8_t *mac)
{
	uint32_t s, i;

	for (s = 0; s < nic->num_shards; s++)
		for (i = 0; i < nic->shard[s].num_macs; i++)
			if (!memcmp(nic->shard[s].macs[i].mac, mac, 6))
				return true;
	return false;
}

void sim_mac_clear(struct sim_shard *shard)
{
	free(shard->macs);
	shard->macs = NULL;
	shard->num_macs = shard->max_macs = 0;
}
