/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of rsockets by descriptor; their lifetime, states and behaviour at fork.
 *
 * The descriptor is an eventfd that is never read or written: it reserves the number. The table
 * holds one reference, every call in progress another. rs_conn.c and rs_cm.c free the connection's
 * resources before rclose() releases the table's reference. Calls rs_opt.c and rs_cm.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "host_driver/rdmacm/rs.h"

enum {
	PAGE_FDS = 1024,
	PAGES = RS_FDS_MAX / PAGE_FDS,
};

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rs **table[PAGES];

int rs_fail(int err)
{
	errno = err;
	return -1;
}

/* ---- fork ---------------------------------------------------------------------------------- */

static void fork_prepare(void)
{
	pthread_mutex_lock(&table_lock);
}

static void fork_parent(void)
{
	pthread_mutex_unlock(&table_lock);
}

/*
 * The NIC stays with the parent. The child closes its descriptors and frees their numbers. It does
 * not touch the sockets themselves: a thread that does not exist in the child may have been
 * changing them.
 */
static void fork_child(void)
{
	for (int page = 0; page < PAGES; page++) {
		for (int i = 0; table[page] && i < PAGE_FDS; i++)
			if (table[page][i])
				close(page * PAGE_FDS + i);
		free(table[page]);
		table[page] = NULL;
	}
	pthread_mutex_unlock(&table_lock);
	rs_share_forked();
	rs_pool_forked();
	rs_cm_forked();
}

static void init(void)
{
	/* Without handlers a child's sockets would not work, which is not fatal here. */
	if (pthread_atfork(fork_prepare, fork_parent, fork_child) != 0)
		errno = ENOMEM;
}

/* Registers the fork handlers, once per process. */
static void rs_init(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, init);
}

/* ---- table --------------------------------------------------------------------------------- */

static struct rs **slot(int fd)
{
	if (fd < 0 || fd >= RS_FDS_MAX || !table[fd / PAGE_FDS])
		return NULL;
	return &table[fd / PAGE_FDS][fd % PAGE_FDS];
}

struct rs *rs_get(int fd)
{
	struct rs **s, *rs;

	pthread_mutex_lock(&table_lock);
	s = slot(fd);
	rs = s ? *s : NULL;
	if (rs)
		atomic_fetch_add(&rs->refs, 1);
	pthread_mutex_unlock(&table_lock);
	if (!rs)
		errno = EBADF;
	return rs;
}

struct rs *rs_each(int *at)
{
	struct rs *rs = NULL;

	pthread_mutex_lock(&table_lock);
	for (; *at < RS_FDS_MAX && !rs; (*at)++) {
		struct rs **s = slot(*at);

		if (!s)
			*at |= PAGE_FDS - 1;
		else
			rs = *s;
	}
	if (rs)
		atomic_fetch_add(&rs->refs, 1);
	pthread_mutex_unlock(&table_lock);
	return rs;
}

static void rs_free(struct rs *rs)
{
	pthread_mutex_destroy(&rs->lock);
	pthread_mutex_destroy(&rs->send_lock);
	pthread_mutex_destroy(&rs->recv_lock);
	free(rs);
}

void rs_put(struct rs *rs)
{
	if (atomic_fetch_sub(&rs->refs, 1) == 1)
		rs_free(rs);
}

struct rs *rs_new(int family, int type)
{
	struct rs *rs = calloc(1, sizeof(*rs));

	if (!rs) {
		errno = ENOMEM;
		return NULL;
	}
	rs_init();
	atomic_init(&rs->refs, 1);
	rs->fd = -1;
	rs->family = family;
	rs->type = type;
	rs->state = RS_OPEN;
	rs->local.ss_family = (sa_family_t)family;
	rs->queue_end = &rs->queue;
	pthread_mutex_init(&rs->lock, NULL);
	pthread_mutex_init(&rs->send_lock, NULL);
	pthread_mutex_init(&rs->recv_lock, NULL);
	rs_opts_init(&rs->opts);
	return rs;
}

int rs_install(struct rs *rs)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (fd < 0)
		return -1;
	if (fd >= RS_FDS_MAX) {
		close(fd);
		return rs_fail(EMFILE);
	}
	pthread_mutex_lock(&table_lock);
	if (!table[fd / PAGE_FDS])
		table[fd / PAGE_FDS] = calloc(PAGE_FDS, sizeof(struct rs *));
	if (!table[fd / PAGE_FDS]) {
		pthread_mutex_unlock(&table_lock);
		close(fd);
		return rs_fail(ENOMEM);
	}
	rs->fd = fd;
	atomic_fetch_add(&rs->refs, 1);
	*slot(fd) = rs;
	pthread_mutex_unlock(&table_lock);
	return fd;
}

bool rs_remove(struct rs *rs)
{
	struct rs **s;
	bool mine;

	pthread_mutex_lock(&table_lock);
	s = slot(rs->fd);
	mine = s && *s == rs;
	if (mine) {
		*s = NULL;
		close(rs->fd);
	}
	pthread_mutex_unlock(&table_lock);
	if (mine)
		rs_put(rs);
	return mine;
}

/* ---- states -------------------------------------------------------------------------------- */

#define BIT(state) (1u << (state))

/* Legal predecessors of each state. */
static const unsigned int legal_from[] = {
    [RS_OPEN] = BIT(RS_CONNECTING),
    [RS_BOUND] = BIT(RS_OPEN),
    [RS_LISTENING] = BIT(RS_BOUND),
    [RS_CONNECTING] = BIT(RS_OPEN) | BIT(RS_BOUND),
    [RS_CONNECTED] = BIT(RS_CONNECTING),
    [RS_BROKEN] = BIT(RS_CONNECTING) | BIT(RS_CONNECTED),
    [RS_DATAGRAM] = BIT(RS_OPEN),
    [RS_CLOSED] = BIT(RS_OPEN) | BIT(RS_BOUND) | BIT(RS_LISTENING) | BIT(RS_CONNECTING) |
		  BIT(RS_CONNECTED) | BIT(RS_BROKEN) | BIT(RS_DATAGRAM),
};

void rs_set_state(struct rs *rs, enum rs_state state)
{
	assert(legal_from[state] & BIT(rs->state));
	rs->state = state;
}
