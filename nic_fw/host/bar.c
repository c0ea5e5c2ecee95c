/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The dynamic part of a client's BAR: rings, of which small ones share pages, and records, which
 * have pages of their own.
 *
 * The list of free parts lies in the arena: the process can write to every byte of its BAR, so no
 * content of the BAR is trusted. Pages are not cleared when they are freed or given out again:
 * clearing a large ring would take milliseconds of the core, and the process, which alone reads
 * phases, clears its rings itself. Calls port->bar_take() and port->bar_ahead().
 */
#include "nic_fw/fw_nic.h"

enum {
	PAGE = HW_BAR_PAGE_BYTES,
	UNIT = FW_BAR_UNIT_BYTES,
	RECORDS_PER_PAGE = HW_BAR_PAGE_BYTES / FW_BAR_RECORD_BYTES,
};
#define ALL_FREE UINT32_MAX
static_assert(RECORDS_PER_PAGE == 32, "one bit of free_mask each");
static_assert(PAGE % UNIT == 0 && UNIT % HW_CACHE_LINE_BYTES == 0, "no line is shared");

static uint64_t round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) & ~(to - 1);
}

void bar_init(struct fw_bar *bar, void *base, uint64_t bytes)
{
	bar->base = base;
	bar->bytes = bytes & ~(uint64_t)(PAGE - 1);
	bar->high = HW_BAR_DYNAMIC;
	bar->charged = HW_BAR_DYNAMIC;
	bar->num_free = 0;
	bar->num_record_pages = 0;
	bar->num_records_free = 0;
	bar->record_free = FW_NONE;
}

static void remove_extent(struct fw_bar *bar, uint32_t i)
{
	bar->num_free--;
	memmove(&bar->free[i], &bar->free[i + 1], (bar->num_free - i) * sizeof(bar->free[0]));
}

static void put_extent(struct fw_bar *bar, uint32_t i, uint64_t offset, uint64_t bytes)
{
	memmove(&bar->free[i + 1], &bar->free[i], (bar->num_free - i) * sizeof(bar->free[0]));
	bar->free[i].offset = offset;
	bar->free[i].bytes = bytes;
	bar->num_free++;
}

/* Charges the pages up to high to the process's share of memory; freed pages stay charged. */
static bool charge(struct fw_nic *nic, uint32_t client, uint64_t high)
{
	struct fw_bar *bar = &nic->host.clients[client].bar;

	high = round_up(high, PAGE);
	if (high <= bar->charged)
		return true;
	if (nic->port.bar_take &&
	    !nic->port.bar_take(nic->port.ctx, client, high - bar->charged, &nic->share.quota)) {
		nic->share.quota_met = true;
		return false;
	}
	bar->charged = high;
	return true;
}

/* Returns the first extent after offset. */
static uint32_t find_behind(const struct fw_bar *bar, uint64_t offset)
{
	uint32_t low = 0, high = bar->num_free;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (bar->free[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The table of holes is full: the smallest hole is lost until the process detaches. */
static void forget_smallest(struct fw_bar *bar)
{
	uint32_t i, smallest = 0;

	for (i = 1; i < bar->num_free; i++)
		if (bar->free[i].bytes < bar->free[smallest].bytes)
			smallest = i;
	remove_extent(bar, smallest);
}

/* Free extents never touch each other, nor the part beyond high. */
static void insert_extent(struct fw_bar *bar, uint64_t offset, uint64_t bytes)
{
	uint32_t i = find_behind(bar, offset);

	if (i < bar->num_free && offset + bytes == bar->free[i].offset) {
		bytes += bar->free[i].bytes;
		remove_extent(bar, i);
	}
	if (i > 0 && bar->free[i - 1].offset + bar->free[i - 1].bytes == offset) {
		i--;
		offset = bar->free[i].offset;
		bytes += bar->free[i].bytes;
		remove_extent(bar, i);
	}
	if (offset + bytes == bar->high) {
		bar->high = offset;
		return;
	}
	if (bar->num_free == FW_BAR_EXTENTS) {
		forget_smallest(bar);
		i = find_behind(bar, offset);
	}
	put_extent(bar, i, offset, bytes);
}

/* Takes an aligned part of a free extent. Returns false if it does not fit. */
static bool take_part(struct fw_bar *bar, uint32_t i, uint64_t bytes, uint64_t align,
		      uint64_t *offset)
{
	struct fw_bar_extent *free = &bar->free[i];
	uint64_t start = round_up(free->offset, align), end = free->offset + free->bytes;
	uint64_t before = start - free->offset, behind;

	if (end < start || end - start < bytes)
		return false;
	behind = end - start - bytes;
	if (before && behind && bar->num_free == FW_BAR_EXTENTS)
		return false;
	*offset = start;
	if (!before && !behind) {
		remove_extent(bar, i);
	} else if (!before) {
		free->offset += bytes;
		free->bytes = behind;
	} else {
		free->bytes = before;
		if (behind)
			put_extent(bar, i + 1, start + bytes, behind);
	}
	return true;
}

int bar_alloc(struct fw_nic *nic, uint32_t client, uint64_t bytes, uint64_t *offset)
{
	struct fw_bar *bar = &nic->host.clients[client].bar;
	uint64_t align = bytes < PAGE ? UNIT : PAGE, high = bar->high, start;
	uint32_t i;

	assert(bytes && bytes <= UINT64_MAX - PAGE);
	bytes = round_up(bytes, UNIT);
	for (i = 0; i < bar->num_free; i++)
		if (take_part(bar, i, bytes, align, offset))
			return 0;
	start = round_up(high, align);
	if (start > bar->bytes || bytes > bar->bytes - start || !charge(nic, client, start + bytes))
		return -FW_ENOMEM;
	*offset = start;
	bar->high = start + bytes;
	if (start > high)
		insert_extent(bar, high, start - high);
	return 0;
}

void bar_free(struct fw_nic *nic, uint32_t client, uint64_t offset, uint64_t bytes)
{
	struct fw_client *owner = &nic->host.clients[client];

	if (owner->closing)
		return;
	bytes = round_up(bytes, UNIT);
	assert(offset % UNIT == 0 && offset >= HW_BAR_DYNAMIC && bytes &&
	       bytes <= owner->bar.high - offset);
	insert_extent(&owner->bar, offset, bytes);
}

/* Adds pages for records after the existing ones; the port prepares them in the background. */
static int add_record_pages(struct fw_nic *nic, uint32_t client, uint32_t count)
{
	struct fw_bar *bar = &nic->host.clients[client].bar;
	uint64_t offset;
	uint32_t i;
	int err;

	if (count > FW_BAR_RECORD_PAGES - bar->num_record_pages)
		return -FW_ENOMEM;
	err = bar_alloc(nic, client, (uint64_t)count * PAGE, &offset);
	if (err)
		return err;
	for (i = 0; i < count; i++) {
		struct fw_bar_record_page *page = &bar->record_page[bar->num_record_pages];

		page->offset = offset + (uint64_t)i * PAGE;
		page->free_mask = ALL_FREE;
		page->next = FW_NONE;
		if (bar->record_free == FW_NONE)
			bar->record_free = bar->num_record_pages;
		else
			bar->record_page[bar->record_last].next = bar->num_record_pages;
		bar->record_last = bar->num_record_pages++;
	}
	bar->num_records_free += count * RECORDS_PER_PAGE;
	if (nic->port.bar_ahead)
		nic->port.bar_ahead(nic->port.ctx, client, offset, (uint64_t)count * PAGE);
	return 0;
}

static bool needs_records(const struct fw_bar *bar)
{
	return bar->num_records_free < FW_BAR_RECORD_CHUNK * RECORDS_PER_PAGE / 2;
}

bool bar_is_quick(const struct fw_bar *bar, bool make)
{
	return bar->num_free <= FW_BAR_QUICK_EXTENTS && !(make && needs_records(bar));
}

void bar_records_ahead(struct fw_nic *nic, uint32_t client)
{
	struct fw_bar *bar = &nic->host.clients[client].bar;
	bool met = nic->share.quota_met;

	/* Failure is no error here: without pages ahead, each is added when it is needed. */
	if (needs_records(bar))
		(void)add_record_pages(nic, client, FW_BAR_RECORD_CHUNK);
	nic->share.quota_met = met;
}

int bar_record_alloc(struct fw_nic *nic, uint32_t client, uint64_t *offset)
{
	struct fw_bar *bar = &nic->host.clients[client].bar;
	struct fw_bar_record_page *page;
	uint32_t bit;
	int err;

	bar_records_ahead(nic, client);
	err = bar->record_free == FW_NONE ? add_record_pages(nic, client, 1) : 0;
	if (err)
		return err;
	assert(bar->record_free < FW_BAR_RECORD_PAGES);
	page = &bar->record_page[bar->record_free];
	bit = (uint32_t)__builtin_ctz(page->free_mask);
	page->free_mask &= page->free_mask - 1;
	bar->num_records_free--;
	if (!page->free_mask)
		bar->record_free = page->next;
	*offset = page->offset + bit * FW_BAR_RECORD_BYTES;
	memset(bar->base + *offset, 0, FW_BAR_RECORD_BYTES);
	return 0;
}

void bar_record_free(struct fw_nic *nic, uint32_t client, uint64_t offset)
{
	struct fw_client *owner = &nic->host.clients[client];
	struct fw_bar *bar = &owner->bar;
	uint64_t start = offset & ~(uint64_t)(PAGE - 1);
	uint32_t bit = (uint32_t)(offset - start) / FW_BAR_RECORD_BYTES;
	uint32_t i;

	if (owner->closing)
		return;
	for (i = 0; i < bar->num_record_pages; i++)
		if (bar->record_page[i].offset == start)
			break;
	assert(i < bar->num_record_pages && offset % FW_BAR_RECORD_BYTES == 0 &&
	       !(bar->record_page[i].free_mask >> bit & 1));
	if (!bar->record_page[i].free_mask) {
		if (bar->record_free == FW_NONE)
			bar->record_last = i;
		bar->record_page[i].next = bar->record_free;
		bar->record_free = i;
	}
	bar->record_page[i].free_mask |= UINT32_C(1) << bit;
	bar->num_records_free++;
}
