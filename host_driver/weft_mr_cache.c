/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The registration cache: keeps regions beyond their use for later requests.
 *
 * Calls weft_mr.c to register, weft_watch.c for notification of unmapped memory, weft_mr_table.h to
 * find a covering range. Modelled on SCI-MPICH's segment cache (lazy release, least recently used,
 * immediate: the SCI-MPICH paper, III.D).
 *
 * A region is in use (refs) or idle, in its cache's list of idle regions, least recently released
 * first. Everything that the monitor may access is protected by weft_watch_lock(), under which
 * nothing is allocated or freed. Regions that the monitor has withdrawn wait in cache->dead until
 * the next call.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host_driver/weft_mr_table.h"
#include "host_driver/weft_watch.h"

enum {
	WEFT_MR_CACHE_ENTRIES = 1024,
	WEFT_MR_CACHE_ENTRIES_MAX = 1 << 20,
};

enum weft_cached_state {
	WEFT_CACHED_LIVE = 0,  /* in the table, watched */
	WEFT_CACHED_ALONE = 1, /* not in the table: ends on release */
	WEFT_CACHED_GOING = 2, /* the monitor is withdrawing it */
	WEFT_CACHED_DEAD = 3,  /* withdrawn; ends on release */
};

struct weft_cached {
	struct weft_watched watched;
	struct weft_mr_cache_obj *cache;
	struct weft_mr_obj *mr;
	enum weft_cached_state state;
	int access;
	uint32_t refs;
	uint64_t bytes;
	struct weft_link all;  /* cache->all */
	struct weft_link idle; /* cache->idle, cache->dead, or a list of regions to end */
};

struct weft_mr_cache_obj {
	struct weft_mr_cache pub;
	struct weft_mr_cache_attr attr;
	struct weft_link node; /* weft_ctx.cache_list, under ctx->lock */
	struct weft_link all;
	struct weft_link idle;
	struct weft_link dead;
	uint32_t going; /* entries that the monitor is withdrawing */
	struct weft_mr_cache_stats stats;
	struct weft_mr_table table;
};

static struct weft_mr_cache_obj *cache_of(struct weft_mr_cache *pub)
{
	return weft_container_of(pub, struct weft_mr_cache_obj, pub);
}

static void sub_counts(struct weft_cached *e)
{
	struct weft_mr_cache_stats *stats = &e->cache->stats;

	stats->entries--;
	stats->bytes -= e->bytes;
}

/* ---- monitor thread ------------------------------------------------------------------------- */

static struct weft_cached *entry_of(struct weft_watched *w)
{
	return weft_container_of(w, struct weft_cached, watched);
}

static bool stop(struct weft_watched *w, bool loses)
{
	struct weft_cached *e = entry_of(w);

	if (e->refs && !loses)
		return false;
	if (e->state == WEFT_CACHED_LIVE)
		weft_mr_table_del(&e->cache->table, e);
	weft_link_del(&e->idle);
	e->state = WEFT_CACHED_GOING;
	e->cache->going++;
	return true;
}

static void withdraw(struct weft_watched *w)
{
	const struct weft_mr *mr = &entry_of(w)->mr->pub;

	/* Fails when the NIC is gone; it has then dropped all regions. */
	(void)weft_ctx_command_obj(weft_ctx_of(mr->context), HW_CMD_DEREG_MR, mr->lkey);
}

static void stopped(struct weft_watched *w)
{
	struct weft_cached *e = entry_of(w);

	e->state = WEFT_CACHED_DEAD;
	e->cache->going--;
	e->cache->stats.invalidations++;
	sub_counts(e);
	if (!e->refs)
		weft_link_add(&e->cache->dead, &e->idle);
}

/* ---- ends of entries ------------------------------------------------------------------------ */

/*
 * Removes an idle or unlisted entry from all lists and puts it on a list of entries to end. Under
 * the lock.
 */
static void take_out(struct weft_cached *e, struct weft_link *out)
{
	if (e->state == WEFT_CACHED_LIVE) {
		weft_mr_table_del(&e->cache->table, e);
		weft_watch_del(&e->watched);
	}
	if (e->state != WEFT_CACHED_DEAD)
		sub_counts(e);
	weft_link_del(&e->idle);
	weft_link_del(&e->all);
	weft_link_add(out, &e->idle);
}

/* Ends the entries collected by take_out(). Without the lock. */
static void end_all(struct weft_link *list)
{
	struct weft_cached *e;

	while (list->next != list) {
		e = weft_container_of(list->next, struct weft_cached, idle);
		weft_link_del(&e->idle);
		if (e->state != WEFT_CACHED_DEAD)
			withdraw(&e->watched);
		weft_mr_free(e->mr);
		free(e);
	}
}

static void reap(struct weft_mr_cache_obj *cache, struct weft_link *out)
{
	while (cache->dead.next != &cache->dead)
		take_out(weft_container_of(cache->dead.next, struct weft_cached, idle), out);
}

/* Takes out the least recently released idle entry. Returns false if there is none. */
static bool evict_one(struct weft_mr_cache_obj *cache, struct weft_link *out)
{
	if (cache->idle.next == &cache->idle)
		return false;
	take_out(weft_container_of(cache->idle.next, struct weft_cached, idle), out);
	cache->stats.evictions++;
	return true;
}

/* Evicts until there is room for `more` entries. */
static bool make_room(struct weft_mr_cache_obj *cache, uint32_t more, struct weft_link *out)
{
	const struct weft_mr_cache_attr *attr = &cache->attr;

	while (cache->table.count + more > attr->max_entries) {
		if (!evict_one(cache, out))
			return false;
	}
	while (attr->policy == WEFT_MR_CACHE_LRU && attr->max_bytes &&
	       cache->stats.bytes > attr->max_bytes && evict_one(cache, out))
		;
	return true;
}

/* ---- registration --------------------------------------------------------------------------- */

static bool allows(const void *arg, int access)
{
	const struct weft_cached *e = arg;

	return (e->access & access) == access;
}

/* Returns an existing region with a reference, or NULL. *out collects entries to end. */
static struct weft_mr *find(struct weft_mr_cache_obj *cache, uint64_t start, uint64_t end,
			    int access, struct weft_link *out)
{
	struct weft_cached *e;

	weft_watch_lock();
	for (;;) {
		e = weft_mr_table_find(&cache->table, start, end, access, allows);
		if (!e || !weft_watch_is_changing(&e->watched))
			break;
		/*
		 * This or adjacent memory is being unmapped, so the memory at this address may be
		 * new. The monitor will be notified soon.
		 */
		weft_watch_unlock();
		sched_yield();
		weft_watch_lock();
	}
	if (e) {
		cache->stats.hits++;
		if (!e->refs++) {
			weft_link_del(&e->idle);
			cache->stats.in_use++;
		}
	} else {
		cache->stats.misses++;
		reap(cache, out);
	}
	weft_watch_unlock();
	return e ? &e->mr->pub : NULL;
}

/* Registers a region; if the NIC has no room, evicts idle regions. */
static struct weft_mr *reg(struct weft_mr_cache_obj *cache, uint64_t start, uint64_t end,
			   int access)
{
	struct weft_link out;
	struct weft_mr *mr;
	bool more = true;

	weft_link_init(&out);
	for (;;) {
		mr = weft_reg_mr_iova(cache->pub.pd, (void *)(uintptr_t)start, end - start, start,
				      access);
		if (mr || (errno != ENOSPC && errno != ENOMEM && errno != EDQUOT) || !more)
			return mr;
		weft_watch_lock();
		more = evict_one(cache, &out);
		weft_watch_unlock();
		end_all(&out);
	}
}

/* A page can have only one watch: evicts idle regions whose watch conflicts. Under the lock. */
static void evict_overlapping(struct weft_mr_cache_obj *cache, const struct weft_watched *w,
			      struct weft_link *out)
{
	struct weft_link *pos, *next;
	struct weft_cached *e;

	for (pos = cache->idle.next; pos != &cache->idle; pos = next) {
		next = pos->next;
		e = weft_container_of(pos, struct weft_cached, idle);
		if (e->watched.start >= w->end || w->start >= e->watched.end)
			continue;
		take_out(e, out);
		cache->stats.evictions++;
	}
}

static int watch(struct weft_mr_cache_obj *cache, struct weft_watched *w, struct weft_link *out)
{
	int rc;

	weft_global_lock();
	rc = weft_watch_add(w);
	if (rc == -EBUSY) {
		weft_watch_lock();
		evict_overlapping(cache, w, out);
		weft_watch_unlock();
		rc = weft_watch_add(w);
	}
	weft_global_unlock();
	return rc;
}

/* Adds a new entry to the table if its memory can be watched. */
static void publish(struct weft_mr_cache_obj *cache, struct weft_cached *e, struct weft_link *out)
{
	struct weft_ctx *ctx = weft_ctx_of(cache->pub.pd->context);
	bool kept = cache->attr.policy != WEFT_MR_CACHE_OFF &&
		    (e->mr->pub.mapped || !cache->attr.mapped_only);
	int rc = -EOPNOTSUPP;

	/* A NIC inside this process does not accept commands from other threads. */
	if (kept && !(ctx->ops->flags & WEFT_CHAN_F_NO_MEMFD))
		rc = watch(cache, &e->watched, out);
	weft_watch_lock();
	weft_link_add(&cache->all, &e->all);
	cache->stats.entries++;
	cache->stats.in_use++;
	cache->stats.bytes += e->bytes;
	if (rc == 0 && e->state == WEFT_CACHED_ALONE) {
		if (make_room(cache, 1, out)) {
			e->state = WEFT_CACHED_LIVE;
			weft_mr_table_add(&cache->table, e, (uintptr_t)e->mr->pub.addr, e->bytes);
		} else {
			weft_watch_del(&e->watched);
		}
	} else if (rc < 0 && kept) {
		cache->stats.unwatched++;
	}
	weft_watch_unlock();
}

static struct weft_mr *reg_new(struct weft_mr_cache_obj *cache, uint64_t start, uint64_t end,
			       int access, struct weft_link *out)
{
	struct weft_cached *e = calloc(1, sizeof(*e));
	struct weft_mr *mr = e ? reg(cache, start, end, access) : NULL;

	if (!mr) {
		free(e);
		errno = e ? errno : ENOMEM;
		return NULL;
	}
	e->cache = cache;
	e->mr = weft_container_of(mr, struct weft_mr_obj, pub);
	e->mr->cached = e;
	e->state = WEFT_CACHED_ALONE;
	e->access = access;
	e->refs = 1;
	e->bytes = end - start;
	weft_link_init(&e->idle);
	e->watched = (struct weft_watched){
	    .start = start & ~((uint64_t)sysconf(_SC_PAGESIZE) - 1),
	    .end = (end + (uint64_t)sysconf(_SC_PAGESIZE) - 1) &
		   ~((uint64_t)sysconf(_SC_PAGESIZE) - 1),
	    .stop = stop,
	    .withdraw = withdraw,
	    .stopped = stopped,
	};
	/* A region of several extents has its own watch over all of them. */
	if (e->mr->pieces && e->mr->pieces->count == 1) {
		e->watched.extent = e->mr->pieces->piece[0].extent;
		e->watched.extent_offset =
		    e->mr->pieces->piece[0].offset - (start - e->watched.start);
	}
	publish(cache, e, out);
	return mr;
}

struct weft_mr *weft_reg_mr_cached(struct weft_mr_cache *pub, void *addr, size_t bytes, int access)
{
	struct weft_mr_cache_obj *cache = cache_of(pub);
	const struct weft_ctx *ctx = weft_ctx_of(pub->pd->context);
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t start = (uint64_t)(uintptr_t)addr, end = start + bytes;
	struct weft_link out;
	struct weft_mr *mr;

	access |= cache->attr.access;
	if (!bytes || end < start || end + page < end ||
	    access & (WEFT_ACCESS_MW_BIND | WEFT_ACCESS_ZERO_BASED)) {
		errno = EINVAL;
		return NULL;
	}
	if (weft_ctx_state(ctx) != WEFT_CTX_LIVE) {
		errno = EIO;
		return NULL;
	}
	weft_link_init(&out);
	mr = find(cache, start, end, access, &out);
	/* Ends withdrawn regions at once: their slots are for memory that exists now. */
	end_all(&out);
	if (!mr) {
		if (!cache->attr.exact) {
			start &= ~(page - 1);
			end = (end + page - 1) & ~(page - 1);
		}
		mr = reg_new(cache, start, end, access, &out);
	}
	end_all(&out);
	return mr;
}

bool weft_mr_is_withdrawn(const struct weft_mr *pub)
{
	const struct weft_cached *e =
	    weft_container_of((struct weft_mr *)(uintptr_t)pub, struct weft_mr_obj, pub)->cached;

	return e && __atomic_load_n(&e->state, __ATOMIC_ACQUIRE) >= WEFT_CACHED_GOING;
}

bool weft_mr_is_dead(const struct weft_mr_obj *mr)
{
	return mr->cached &&
	       __atomic_load_n(&mr->cached->state, __ATOMIC_ACQUIRE) == WEFT_CACHED_DEAD;
}

void weft_release_mr(struct weft_mr *pub)
{
	struct weft_cached *e = weft_container_of(pub, struct weft_mr_obj, pub)->cached;
	struct weft_mr_cache_obj *cache;
	struct weft_link out;

	if (!e || weft_ctx_state(weft_ctx_of(pub->context)) == WEFT_CTX_FORKED)
		return;
	cache = e->cache;
	weft_link_init(&out);
	weft_watch_lock();
	if (--e->refs == 0) {
		cache->stats.in_use--;
		if (e->state == WEFT_CACHED_LIVE && cache->attr.policy != WEFT_MR_CACHE_IMMEDIATE) {
			weft_link_add(&cache->idle, &e->idle);
			(void)make_room(cache, 0, &out);
		} else if (e->state != WEFT_CACHED_GOING) {
			take_out(e, &out);
		}
	}
	weft_watch_unlock();
	end_all(&out);
}

/* ---- the cache ------------------------------------------------------------------------------ */

/* WEFT_MR_CACHE overrides the program's policy, for comparisons. */
static int policy_of(enum weft_mr_cache_policy asked)
{
	static const char *const names[] = {
	    [WEFT_MR_CACHE_LAZY] = "lazy",
	    [WEFT_MR_CACHE_LRU] = "lru",
	    [WEFT_MR_CACHE_IMMEDIATE] = "immediate",
	    [WEFT_MR_CACHE_OFF] = "off",
	};
	const char *env = secure_getenv("WEFT_MR_CACHE");

	for (int i = 0; env && i <= WEFT_MR_CACHE_OFF; i++) {
		if (strcmp(env, names[i]) == 0)
			return i;
	}
	return (unsigned)asked <= WEFT_MR_CACHE_OFF ? (int)asked : -EINVAL;
}

struct weft_mr_cache *weft_create_mr_cache(struct weft_pd *pd,
					   const struct weft_mr_cache_attr *attr)
{
	static const struct weft_mr_cache_attr none;
	struct weft_ctx *ctx = weft_ctx_of(pd->context);
	struct weft_mr_cache_obj *cache;
	int policy, rc = 0;

	attr = attr ? attr : &none;
	policy = policy_of(attr->policy);
	if (policy < 0 || attr->max_entries > WEFT_MR_CACHE_ENTRIES_MAX)
		rc = -EINVAL;
	else if (weft_ctx_state(ctx) != WEFT_CTX_LIVE)
		rc = -EIO;
	cache = rc == 0 ? calloc(1, sizeof(*cache)) : NULL;
	if (cache) {
		cache->attr = *attr;
		cache->attr.policy = (enum weft_mr_cache_policy)policy;
		if (!cache->attr.max_entries)
			cache->attr.max_entries = WEFT_MR_CACHE_ENTRIES;
		rc = weft_mr_table_init(&cache->table, cache->attr.max_entries);
	} else if (rc == 0) {
		rc = -ENOMEM;
	}
	if (rc < 0) {
		free(cache);
		errno = -rc;
		return NULL;
	}
	cache->pub.pd = pd;
	weft_link_init(&cache->all);
	weft_link_init(&cache->idle);
	weft_link_init(&cache->dead);
	pthread_mutex_lock(&ctx->lock);
	weft_link_add(&ctx->cache_list, &cache->node);
	pthread_mutex_unlock(&ctx->lock);
	return &cache->pub;
}

int weft_flush_mr_cache(struct weft_mr_cache *pub)
{
	struct weft_mr_cache_obj *cache = cache_of(pub);
	struct weft_link out;

	if (weft_ctx_state(weft_ctx_of(pub->pd->context)) == WEFT_CTX_FORKED)
		return -EIO;
	weft_link_init(&out);
	weft_watch_lock();
	while (cache->idle.next != &cache->idle)
		take_out(weft_container_of(cache->idle.next, struct weft_cached, idle), &out);
	while (cache->going)
		weft_watch_wait();
	reap(cache, &out);
	weft_watch_unlock();
	end_all(&out);
	return 0;
}

int weft_query_mr_cache(struct weft_mr_cache *pub, struct weft_mr_cache_stats *stats)
{
	if (weft_ctx_state(weft_ctx_of(pub->pd->context)) == WEFT_CTX_FORKED)
		return -EIO;
	weft_watch_lock();
	*stats = cache_of(pub)->stats;
	weft_watch_unlock();
	return 0;
}

int weft_destroy_mr_cache(struct weft_mr_cache *pub)
{
	struct weft_mr_cache_obj *cache = cache_of(pub);
	struct weft_ctx *ctx = weft_ctx_of(pub->pd->context);
	uint64_t in_use;
	int rc;

	rc = weft_flush_mr_cache(pub);
	if (rc < 0)
		return rc;
	weft_watch_lock();
	in_use = cache->stats.in_use;
	weft_watch_unlock();
	if (in_use)
		return -EBUSY;
	pthread_mutex_lock(&ctx->lock);
	weft_link_del(&cache->node);
	pthread_mutex_unlock(&ctx->lock);
	weft_mr_table_free(&cache->table);
	free(cache);
	return 0;
}

bool weft_mr_caches_use(struct weft_ctx *ctx, const struct weft_pd *pd)
{
	const struct weft_link *pos;
	bool use = false;

	pthread_mutex_lock(&ctx->lock);
	for (pos = ctx->cache_list.next; pos != &ctx->cache_list; pos = pos->next)
		use = use || weft_container_of(pos, struct weft_mr_cache_obj, node)->pub.pd == pd;
	pthread_mutex_unlock(&ctx->lock);
	return use;
}

void weft_mr_caches_close(struct weft_ctx *ctx)
{
	struct weft_mr_cache_obj *cache;
	struct weft_link out;

	while (ctx->cache_list.next != &ctx->cache_list) {
		cache = weft_container_of(ctx->cache_list.next, struct weft_mr_cache_obj, node);
		weft_link_init(&out);
		weft_watch_lock();
		while (cache->going)
			weft_watch_wait();
		while (cache->all.next != &cache->all)
			take_out(weft_container_of(cache->all.next, struct weft_cached, all), &out);
		weft_watch_unlock();
		end_all(&out);
		weft_link_del(&cache->node);
		weft_mr_table_free(&cache->table);
		free(cache);
	}
}
