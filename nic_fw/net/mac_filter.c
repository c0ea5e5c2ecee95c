/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The MAC filter: group addresses that this instance takes frames for, and their users.
 *
 * mcast.c adds and removes entries; eth_rx.c checks each frame to a group. Calls
 * port->mac_filter(). IEEE 802.3 3.2.3, RFC 1112 6.4.
 */
#include "nic_fw/net/mac_filter.h"
#include "nic_fw/fw_nic.h"

static uint32_t *mac_filter_chain_head(struct fw_nic *nic, const uint8_t *mac)
{
	uint32_t low, high = (uint32_t)mac[0] << 8 | mac[1];

	memcpy(&low, mac + 2, sizeof(low));
	return &nic->net.mac_filter_hash[fw_hash_keyed(&nic->hash_key, low, high, 0) %
					 MAC_FILTER_HASH_SIZE];
}

static struct mac_filter *mac_filter_find(struct fw_nic *nic, const uint8_t *mac, uint32_t ip)
{
	struct mac_filter *filter;

	fw_chain_for_each (filter, *mac_filter_chain_head(nic, mac),
			   fw_pool_table(&nic->net.mac_filters), hash_next)
		if (filter->ip == ip && memcmp(filter->mac, mac, WIRE_MAC_BYTES) == 0)
			return filter;
	return NULL;
}

static uint32_t report_to_port(struct fw_nic *nic, const uint8_t *mac, uint32_t ip, bool in)
{
	return nic->port.mac_filter ? nic->port.mac_filter(nic->port.ctx, mac, ip, in) : 0;
}

int mac_filter_add(struct fw_nic *nic, const uint8_t mac[WIRE_MAC_BYTES], uint32_t ip)
{
	struct mac_filter *filter = mac_filter_find(nic, mac, ip);

	assert(mac[0] & 1);
	if (filter) {
		filter->users++;
		return 0;
	}
	filter = fw_pool_get(&nic->net.mac_filters);
	if (!filter)
		return FW_ENOSPC;
	memcpy(filter->mac, mac, WIRE_MAC_BYTES);
	filter->ip = ip;
	filter->users = 1;
	fw_chain_add(mac_filter_chain_head(nic, mac), &filter->hash_next,
		     fw_pool_index(&nic->net.mac_filters, filter));
	(void)report_to_port(nic, mac, ip, true);
	return 0;
}

uint32_t mac_filter_del(struct fw_nic *nic, const uint8_t mac[WIRE_MAC_BYTES], uint32_t ip)
{
	struct mac_filter *filter = mac_filter_find(nic, mac, ip);

	assert(filter && filter->users);
	if (--filter->users)
		return 0;
	fw_chain_del(mac_filter_chain_head(nic, mac), filter, fw_pool_table(&nic->net.mac_filters),
		     hash_next);
	fw_pool_put(&nic->net.mac_filters, filter);
	return report_to_port(nic, mac, ip, false);
}

uint32_t mac_filter_others(struct fw_nic *nic, const uint8_t mac[WIRE_MAC_BYTES], uint32_t ip)
{
	assert(!mac_filter_find(nic, mac, ip));
	return report_to_port(nic, mac, ip, false);
}

bool mac_filter_has(const struct fw_nic *nic, const uint8_t mac[WIRE_MAC_BYTES])
{
	const struct mac_filter *filter;

	fw_chain_for_each (filter, *mac_filter_chain_head((struct fw_nic *)(uintptr_t)nic, mac),
			   fw_pool_table(&nic->net.mac_filters), hash_next)
		if (memcmp(filter->mac, mac, WIRE_MAC_BYTES) == 0)
			return true;
	return false;
}
