/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Extents by key, their single mapping, and regions made of their pieces. Calls hostmem.c.
 * docs/host-interface.md, "Memory".
 */
#include "dpdk_app/client/extent.h"

#include <assert.h>
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "dpdk_app/client/client.h"
#include "dpdk_app/client/fds.h"
#include "dpdk_app/client/hostmem.h"
#include "shared_defs/hw_bar.h"

enum {
	EXTENT_TABLE_SPAN_BYTES = 2 << 20, /* memory covered by one page of page tables */
	EXTENT_SPAN_WORDS = EXTENT_TABLE_SPAN_BYTES / HOSTMEM_PAGE_BYTES / 64,
};
/* Up to this size every page used by regions is recorded: 2 MiB of records. */
#define EXTENT_NOTED_MAX_BYTES (UINT64_C(1) << 36)
/* Address space for mappings, out of the 2^47 bytes of an x86-64 process. */
#define EXTENT_SPACE_BYTES (UINT64_C(1) << 45)

struct extent {
	uint64_t key;
	struct extent *next, **link; /* list of all extents */
	uid_t uid;
	pid_t pid;           /* the process that requested it */
	uint64_t bytes;      /* without slack */
	uint64_t file_bytes; /* of the memfd */
	struct user_process *account;
	uint64_t charged_bytes; /* counted in its share */
	uint64_t *charged;      /* one bit per counted page of map; NULL: too many pages */
	struct hostmem *map;    /* maps [0, bytes); NULL: no region yet */
	int fd;                 /* -1: sealed and no longer needed by weftd */
	uint32_t jobs;          /* jobs that use fd */
	uint32_t preparing;     /* regions whose pages are being mapped */
	bool doubtful;          /* a preparation failed: counted pages may not be mapped */
	uint32_t refs;          /* pieces of regions */
	bool forgotten;         /* freed with its last region */
};

struct extent_region {
	struct extent_region *next, **link; /* list of all regions */
	struct client *client;
	uint32_t num_pieces;
	struct hostmem *own;          /* NULL: it lies within the mapping of its only extent */
	struct user_process *account; /* its share pays for own */
	uint64_t own_charged_bytes;   /* bytes counted there */
	uint8_t *start;
	bool is_there; /* its pages are already mapped and locked */
	int *fd;       /* for its job */
	struct extent_part {
		struct extent *extent;
		bool uses_fd; /* the job uses that extent's fd */
	} part[];
};

static_assert((int)HOSTMEM_PAGE_BYTES == (int)HW_BAR_PAGE_BYTES, "");

static struct extent *extent_list;
static struct extent_region *region_list;
static void *extent_by_key; /* search tree of struct extent */

static uint64_t page_down(uint64_t at)
{
	return at & ~(uint64_t)(HOSTMEM_PAGE_BYTES - 1);
}

static uint64_t page_up(uint64_t at)
{
	return page_down(at + HOSTMEM_PAGE_BYTES - 1);
}

/* Memory that weftd holds for bytes of a mapping: the locked pages and their page tables. */
static uint64_t weight(uint64_t bytes)
{
	return page_up(bytes) + (bytes / EXTENT_TABLE_SPAN_BYTES + 2) * HOSTMEM_PAGE_BYTES;
}

static int by_key(const void *a, const void *b)
{
	uint64_t x = ((const struct extent *)a)->key, y = ((const struct extent *)b)->key;

	return (x > y) - (x < y);
}

static struct extent *find(uint64_t key, uid_t uid)
{
	const struct extent wanted = {.key = key};
	struct extent **found = tfind(&wanted, &extent_by_key, by_key);

	return found && (*found)->uid == uid ? *found : NULL;
}

/* 0 is not a valid key, so a command without a key finds nothing. */
static int new_key(uint64_t *key)
{
	struct extent wanted = {0};

	do {
		if (getrandom(&wanted.key, sizeof(wanted.key), 0) != sizeof(wanted.key))
			return EIO;
	} while (!wanted.key || tfind(&wanted, &extent_by_key, by_key));
	*key = wanted.key;
	return 0;
}

int extent_new(const struct client *c, const struct hw_cmd_alloc_mem *alloc, uint64_t *key, int *fd,
	       struct hw_resp_quota *quota)
{
	struct extent *e;
	int err;

	if (!alloc->bytes || alloc->bytes > HW_MAX_MR_BYTES ||
	    alloc->slack_bytes > HW_MAX_MR_BYTES - alloc->bytes)
		return EINVAL;
	e = calloc(1, sizeof(*e));
	if (!e)
		return ENOMEM;
	e->uid = c->uid;
	e->pid = c->pid;
	e->bytes = alloc->bytes;
	e->file_bytes = alloc->bytes + alloc->slack_bytes;
	e->fd = -1;
	err = user_take(c->account, HW_SHARE_DESCRIPTOR, 1, quota);
	if (err) {
		free(e);
		return err;
	}
	err = new_key(&e->key);
	if (!err)
		err = -hostmem_create("weft-mem", e->file_bytes, &e->fd);
	if (!err) {
		e->fd = fds_take(e->fd, FDS_EVENTS);
		err = e->fd < 0 ? -e->fd : 0;
	}
	if (!err && !tsearch(e, &extent_by_key, by_key))
		err = ENOMEM;
	if (err) {
		user_give(c->account, HW_SHARE_DESCRIPTOR, 1);
		if (e->fd >= 0)
			close(e->fd);
		free(e);
		return err;
	}
	e->account = user_hold(c->account);
	e->next = extent_list;
	e->link = &extent_list;
	if (e->next)
		e->next->link = &e->next;
	extent_list = e;
	*key = e->key;
	*fd = e->fd;
	return 0;
}

static void close_memfd(struct extent *e)
{
	if (e->fd < 0)
		return;
	close(e->fd);
	e->fd = -1;
	user_give(e->account, HW_SHARE_DESCRIPTOR, 1);
}

static void extent_end(struct extent *e)
{
	tdelete(e, &extent_by_key, by_key);
	*e->link = e->next;
	if (e->next)
		e->next->link = e->link;
	if (e->map) {
		hostmem_unmap(e->map);
		user_give(e->account, HW_SHARE_MAPPING, 1);
	}
	close_memfd(e);
	user_give(e->account, HW_SHARE_MEMORY, e->charged_bytes);
	user_leave(e->account);
	free(e->charged);
	free(e);
}

static void forget(struct extent *e)
{
	e->forgotten = true;
	if (!e->refs)
		extent_end(e);
}

int extent_free(const struct client *c, uint64_t key)
{
	struct extent *e = find(key, c->uid);

	if (!e || e->forgotten)
		return ENOENT;
	forget(e);
	return 0;
}

void extent_forget_process(uid_t uid, pid_t pid)
{
	struct extent *next;

	for (struct extent *e = extent_list; e; e = next) {
		next = e->next;
		if (e->uid == uid && e->pid == pid)
			forget(e);
	}
}

/* ---- regions */

/*
 * Checks that the pieces form one range of bytes, and fills extents. Returns 0 or a positive errno.
 */
static int look_up(struct extent_region *r, const struct client *c, const struct hw_cmd_reg_mr *reg,
		   const struct hw_mem_piece *piece)
{
	uint64_t left = reg->bytes;

	for (uint32_t i = 0; i < reg->num_pieces; i++) {
		const struct hw_mem_piece *p = &piece[i];
		struct extent *e = find(p->key, c->uid);

		if (!e || e->forgotten)
			return EPERM;
		if (!p->bytes || p->bytes > left || p->offset > e->file_bytes ||
		    p->bytes > e->file_bytes - p->offset)
			return EINVAL;
		/* Inner piece boundaries must be page boundaries. */
		if ((i && p->offset % HOSTMEM_PAGE_BYTES) ||
		    (i + 1 < reg->num_pieces && (p->offset + p->bytes) % HOSTMEM_PAGE_BYTES))
			return EINVAL;
		left -= p->bytes;
		r->part[i].extent = e;
	}
	return left ? EINVAL : 0;
}

/* Number of words for the record, in whole spans. */
static uint64_t note_words(const struct extent *e)
{
	return (e->bytes / EXTENT_TABLE_SPAN_BYTES + 1) * EXTENT_SPAN_WORDS;
}

/*
 * Returns true if the shares of address space permit one more mapping of an extent: half for a
 * process, three quarters for a user. Its pages are counted as regions use them, but address space
 * without pages is limited by the processor.
 */
static bool has_space(const struct extent *wanted)
{
	uint64_t of_user = wanted->bytes;
	uint64_t of_process = of_user;

	for (const struct extent *e = extent_list; e; e = e->next) {
		if (!e->map || e->uid != wanted->uid)
			continue;
		of_user += e->bytes;
		if (e->pid == wanted->pid)
			of_process += e->bytes;
	}
	return of_user <= EXTENT_SPACE_BYTES / 4 * 3 && of_process <= EXTENT_SPACE_BYTES / 2;
}

/* Each extent is mapped before it is sealed. */
static int map_extents(struct extent_region *r, struct hw_resp_quota *quota)
{
	int err = 0;

	for (uint32_t i = 0; i < r->num_pieces && !err; i++) {
		struct extent *e = r->part[i].extent;

		if (e->map)
			continue;
		if (!has_space(e))
			return ENOSPC;
		err = user_take(e->account, HW_SHARE_MAPPING, 1, quota);
		if (err)
			break;
		if (e->bytes <= EXTENT_NOTED_MAX_BYTES)
			e->charged = calloc(note_words(e), sizeof(*e->charged));
		err = -hostmem_map(e->fd, e->bytes, &e->map);
		if (err) {
			free(e->charged);
			e->charged = NULL;
			user_give(e->account, HW_SHARE_MAPPING, 1);
		}
	}
	return err;
}

static bool span_is_empty(const uint64_t *words)
{
	uint64_t any = 0;

	for (uint32_t i = 0; i < EXTENT_SPAN_WORDS; i++)
		any |= words[i];
	return !any;
}

/*
 * Returns the additional bytes that weftd holds when pages [first, end) of an extent are used.
 * note: records them as used.
 */
static uint64_t more_bytes(struct extent *e, uint64_t first, uint64_t end, bool note)
{
	/* For the upper levels of page tables. */
	uint64_t pages = e->charged_bytes ? 0 : 2;

	for (uint64_t word = first / 64; word <= (end - 1) / 64; word++) {
		uint64_t bits = UINT64_MAX;

		if (word == first / 64)
			bits &= UINT64_MAX << first % 64;
		if (word == (end - 1) / 64)
			bits &= UINT64_MAX >> (63 - (end - 1) % 64);
		/* Page table of a span that had none. */
		if ((word == first / 64 || word % EXTENT_SPAN_WORDS == 0) &&
		    span_is_empty(e->charged + word / EXTENT_SPAN_WORDS * EXTENT_SPAN_WORDS))
			pages++;
		pages += (uint64_t)__builtin_popcountll(bits & ~e->charged[word]);
		if (note)
			e->charged[word] |= bits;
	}
	return pages * HOSTMEM_PAGE_BYTES;
}

/*
 * Pages of a region stay mapped and locked when it ends, so the pages ever used by an extent's
 * regions add up: each page once if pages are recorded, otherwise at most the whole extent.
 */
static int charge_extent(struct extent_region *r, struct extent *e, uint64_t offset, uint64_t bytes,
			 struct hw_resp_quota *quota)
{
	uint64_t first = offset / HOSTMEM_PAGE_BYTES;
	uint64_t end = page_up(offset + bytes) / HOSTMEM_PAGE_BYTES;
	uint64_t most = weight(e->bytes) - e->charged_bytes;
	uint64_t more = weight(page_up(offset + bytes) - page_down(offset));
	int err;

	if (e->charged)
		more = more_bytes(e, first, end, false);
	r->is_there = e->charged && !more && !e->preparing && !e->doubtful && hostmem_locks_pages();
	if (more > most)
		more = most;
	err = user_take(e->account, HW_SHARE_MEMORY, more, quota);
	if (err)
		return err;
	if (e->charged)
		(void)more_bytes(e, first, end, true);
	e->charged_bytes += more;
	return 0;
}

/* Counts a separate mapping of the region. */
static int charge_own(struct extent_region *r, uint64_t bytes, struct hw_resp_quota *quota)
{
	int err = user_take(r->client->account, HW_SHARE_MEMORY, weight(bytes), quota);

	if (err)
		return err;
	err = user_take(r->client->account, HW_SHARE_MAPPING, r->num_pieces, quota);
	if (err) {
		user_give(r->client->account, HW_SHARE_MEMORY, weight(bytes));
		return err;
	}
	r->own_charged_bytes = weight(bytes);
	r->account = user_hold(r->client->account);
	return 0;
}

static void free_own(struct extent_region *r)
{
	if (r->own)
		hostmem_unmap(r->own);
	if (!r->own_charged_bytes)
		return;
	user_give(r->account, HW_SHARE_MEMORY, r->own_charged_bytes);
	user_give(r->account, HW_SHARE_MAPPING, r->num_pieces);
	user_leave(r->account);
}

/* Creates a separate mapping with the pieces in order. */
static int stitch(struct extent_region *r, const struct hw_mem_piece *piece,
		  struct hw_resp_quota *quota)
{
	uint64_t bytes = 0, at = 0;
	int err;

	for (uint32_t i = 0; i < r->num_pieces; i++)
		bytes += page_up(piece[i].offset + piece[i].bytes) - page_down(piece[i].offset);
	err = charge_own(r, bytes, quota);
	if (!err)
		err = -hostmem_reserve(bytes, r->num_pieces, &r->own);
	for (uint32_t i = 0; i < r->num_pieces && !err; i++) {
		uint64_t from = page_down(piece[i].offset);
		uint64_t length = page_up(piece[i].offset + piece[i].bytes) - from;

		err = -hostmem_place(r->own, at, r->part[i].extent->map, from, length);
		at += length;
	}
	if (!err)
		r->start = hostmem_start(r->own) + piece[0].offset % HOSTMEM_PAGE_BYTES;
	return err;
}

static int map_region(struct extent_region *r, const struct hw_mem_piece *piece,
		      struct hw_resp_quota *quota)
{
	struct extent *e = r->part[0].extent;

	if (r->num_pieces > 1 || piece->offset + piece->bytes > page_up(e->bytes))
		return stitch(r, piece, quota);
	r->start = hostmem_start(e->map) + piece->offset;
	return charge_extent(r, e, piece->offset, piece->bytes, quota);
}

static void fill_job(struct extent_region *r, uint64_t bytes, struct populate_job *job)
{
	uint64_t skip = (uintptr_t)r->start % HOSTMEM_PAGE_BYTES;

	*job = (struct populate_job){
	    .uid = r->client->uid,
	    .fd = r->fd,
	    .start = r->start - skip,
	    .bytes = r->is_there ? 0 : page_up(bytes + skip),
	};
	for (uint32_t i = 0; i < r->num_pieces; i++) {
		struct extent *e = r->part[i].extent;

		e->refs++;
		e->preparing++;
		if (e->fd < 0)
			continue;
		e->jobs++;
		r->part[i].uses_fd = true;
		r->fd[job->num_fds++] = e->fd;
	}
}

int extent_region_new(struct client *c, const struct hw_cmd_reg_mr *reg,
		      const struct hw_mem_piece *piece, struct extent_region **region,
		      struct populate_job *job, struct hw_resp_quota *quota)
{
	uint32_t n = reg->num_pieces;
	struct extent_region *r =
	    calloc(1, sizeof(*r) + n * (sizeof(r->part[0]) + sizeof(r->fd[0])));
	int err;

	if (!r)
		return ENOMEM;
	r->client = c;
	r->num_pieces = n;
	r->fd = (int *)(void *)(r->part + n);
	err = look_up(r, c, reg, piece);
	if (!err)
		err = map_extents(r, quota);
	if (!err)
		err = map_region(r, piece, quota);
	if (err) {
		free_own(r);
		free(r);
		return err;
	}
	fill_job(r, reg->bytes, job);
	r->next = region_list;
	r->link = &region_list;
	if (r->next)
		r->next->link = &r->next;
	region_list = r;
	*region = r;
	return 0;
}

void extent_region_ready(struct extent_region *r, bool sealed)
{
	for (uint32_t i = 0; i < r->num_pieces; i++) {
		struct extent *e = r->part[i].extent;

		e->preparing--;
		e->doubtful = e->doubtful || !sealed;
		if (!r->part[i].uses_fd)
			continue;
		r->part[i].uses_fd = false;
		if (--e->jobs || !sealed)
			continue;
		close_memfd(e);
	}
}

void extent_region_free(struct extent_region *r)
{
	*r->link = r->next;
	if (r->next)
		r->next->link = r->link;
	free_own(r);
	for (uint32_t i = 0; i < r->num_pieces; i++) {
		struct extent *e = r->part[i].extent;

		if (!--e->refs && e->forgotten)
			extent_end(e);
	}
	free(r);
}

uint8_t *extent_region_start(const struct extent_region *r)
{
	return r->start;
}

void extent_find_failed(void (*fail)(struct client *c))
{
	for (struct extent_region *r = region_list; r; r = r->next) {
		bool failed = r->own && hostmem_failed(r->own);

		for (uint32_t i = 0; i < r->num_pieces && !failed; i++)
			failed = hostmem_failed(r->part[i].extent->map);
		if (failed)
			fail(r->client);
	}
}
