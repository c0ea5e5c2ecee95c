/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Group addresses that each shard of a NIC receives, and the resulting filter of its wire.
 *
 * The shards of a NIC share one port, so their requests are combined here. The wire is notified
 * when the first shard joins a group and when the last one leaves it. The built-in switch calls
 * mac_filter_passes() for each frame, like a MAC's hash filter; the firmware drops false positives.
 * IEEE 802.3 3.2.3, RFC 1112 6.4.
 *
 * Runs on the shards' cores.
 */
#include "dpdk_app/wire/mac_filter.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "dpdk_app/wire/wire.h"

enum {
	MAC_BITS = 4096, /* size of the hash filter */
	MAC_WORD_BITS = 64,
	MAC_FIRST_ENTRIES = 16,
};

struct mac_entry {
	uint8_t mac[6];
	uint32_t ip;
	uint32_t shards; /* one bit per shard that receives it */
};

struct mac_table {
	pthread_mutex_t lock; /* protects the fields below, except bits */
	struct mac_entry *entry;
	uint32_t count;
	uint32_t room;
	/* Read by cores that send to this NIC. */
	_Atomic(uint64_t) bits[MAC_BITS / MAC_WORD_BITS];
};

int mac_filter_init(struct nic *nic)
{
	struct mac_table *table = calloc(1, sizeof(*table));

	if (!table)
		return -ENOMEM;
	pthread_mutex_init(&table->lock, NULL);
	nic->macs = table;
	return 0;
}

void mac_filter_free(struct nic *nic)
{
	if (!nic->macs)
		return;
	pthread_mutex_destroy(&nic->macs->lock);
	free(nic->macs->entry);
	free(nic->macs);
	nic->macs = NULL;
}

static uint32_t bit_of(const uint8_t *mac)
{
	uint64_t word = 0;

	memcpy(&word, mac, 6);
	return (uint32_t)(word * UINT64_C(0x9e3779b97f4a7c15) >> 32) % MAC_BITS;
}

static struct mac_entry *find(struct mac_table *table, const uint8_t *mac, uint32_t ip)
{
	for (uint32_t i = 0; i < table->count; i++) {
		if (table->entry[i].ip == ip && !memcmp(table->entry[i].mac, mac, 6))
			return &table->entry[i];
	}
	return NULL;
}

static struct mac_entry *add(struct mac_table *table, const uint8_t *mac, uint32_t ip)
{
	uint32_t bit = bit_of(mac);
	struct mac_entry *entry;

	if (table->count == table->room) {
		uint32_t room = table->room ? 2 * table->room : MAC_FIRST_ENTRIES;

		entry = realloc(table->entry, room * sizeof(*entry));
		if (!entry)
			return NULL;
		table->entry = entry;
		table->room = room;
	}
	entry = &table->entry[table->count++];
	memcpy(entry->mac, mac, 6);
	entry->ip = ip;
	entry->shards = 0;
	atomic_fetch_or(&table->bits[bit / MAC_WORD_BITS], UINT64_C(1) << bit % MAC_WORD_BITS);
	return entry;
}

/* Its bit may be shared with other entries. */
static void drop(struct mac_table *table, struct mac_entry *entry)
{
	uint32_t bit = bit_of(entry->mac);

	*entry = table->entry[--table->count];
	for (uint32_t i = 0; i < table->count; i++) {
		if (bit_of(table->entry[i].mac) == bit)
			return;
	}
	atomic_fetch_and(&table->bits[bit / MAC_WORD_BITS], ~(UINT64_C(1) << bit % MAC_WORD_BITS));
}

uint32_t mac_filter_set(void *ctx, const uint8_t mac[6], uint32_t ip, bool in)
{
	const struct shard *shard = ctx;
	struct nic *nic = shard->nic;
	struct mac_table *table = nic->macs;
	const uint32_t self = 1u << shard->number;
	struct mac_entry *entry;
	bool first = false, last = false;
	uint32_t others = 0;

	pthread_mutex_lock(&table->lock);
	entry = find(table, mac, ip);
	if (in && !entry) {
		entry = add(table, mac, ip);
		first = entry != NULL;
		/* No memory for the entry: accept all groups from now on. */
		for (uint32_t i = 0; !entry && i < MAC_BITS / MAC_WORD_BITS; i++)
			atomic_store(&table->bits[i], UINT64_MAX);
	}
	if (entry) {
		entry->shards = in ? entry->shards | self : entry->shards & ~self;
		others = (uint32_t)__builtin_popcount(entry->shards & ~self);
		last = !entry->shards;
	}
	if (last)
		drop(table, entry);
	if ((first || last) && nic->wire->ops->group)
		nic->wire->ops->group(nic->wire, mac, ip, in);
	pthread_mutex_unlock(&table->lock);
	return others;
}

bool mac_filter_passes(const struct nic *nic, const uint8_t mac[6])
{
	static const uint8_t broadcast[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	uint32_t bit = bit_of(mac);

	return atomic_load_explicit(&nic->macs->bits[bit / MAC_WORD_BITS], memory_order_relaxed) >>
		       bit % MAC_WORD_BITS &
		   1 ||
	       !memcmp(mac, broadcast, sizeof(broadcast));
}

uint32_t mac_filter_list(struct nic *nic, uint8_t (*macs)[6], uint32_t max)
{
	struct mac_table *table = nic->macs;
	uint32_t n = 0;

	pthread_mutex_lock(&table->lock);
	for (uint32_t i = 0; i < table->count && n < max; i++) {
		uint32_t j;

		for (j = 0; j < n && memcmp(macs[j], table->entry[i].mac, 6); j++)
			;
		if (j == n)
			memcpy(macs[n++], table->entry[i].mac, 6);
	}
	pthread_mutex_unlock(&table->lock);
	return n;
}
