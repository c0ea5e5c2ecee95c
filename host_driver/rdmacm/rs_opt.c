/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Options of rsockets, and the administrator's defaults in /etc/rdma/rsocket (rsocket(7)).
 *
 * Unknown options are rejected with ENOPROTOOPT. Calls rs_table.c and rs_cm.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host_driver/rdmacm/rs.h"

#define CONFIG_DIR "/etc/rdma/rsocket/"

enum {
	RING_BYTES = 1 << 19,
	QUEUE_MSGS = 384,
	INLINE_BYTES = 64,
};

static struct {
	uint32_t mem, wmem, sqsize, rqsize, inline_bytes, iomap;
	uint32_t spin_us; /* UINT32_MAX: not set */
} def;

/* Reads the first number of a file. Returns the default if it is absent or out of range. */
static uint32_t config(const char *path, uint32_t least, uint32_t most, uint32_t usual)
{
	unsigned long value;
	FILE *f = fopen(path, "re");
	bool ok;

	if (!f)
		return usual;
	ok = fscanf(f, "%lu", &value) == 1 && value >= least && value <= most;
	(void)fclose(f);
	return ok ? (uint32_t)value : usual;
}

static void read_config(void)
{
	def.mem =
	    config(CONFIG_DIR "mem_default", RS_RING_BYTES_MIN, RS_RING_BYTES_MAX, RING_BYTES);
	def.wmem =
	    config(CONFIG_DIR "wmem_default", RS_RING_BYTES_MIN, RS_RING_BYTES_MAX, RING_BYTES);
	def.sqsize = config(CONFIG_DIR "sqsize_default", RS_MSGS_MIN, RS_MSGS_MAX, QUEUE_MSGS);
	def.rqsize = config(CONFIG_DIR "rqsize_default", RS_MSGS_MIN, RS_MSGS_MAX, QUEUE_MSGS);
	def.inline_bytes = config(CONFIG_DIR "inline_default", 0, 512, INLINE_BYTES);
	def.iomap = config(CONFIG_DIR "iomap_size", 0, RS_IOMAPS_MAX, 0);
	def.spin_us = config(CONFIG_DIR "polling_time", 0, 1000000, UINT32_MAX);
}

void rs_opts_init(struct rs_opts *opts)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_config);
	*opts = (struct rs_opts){
	    .sndbuf = def.wmem,
	    .rcvbuf = def.mem,
	    .sqsize = def.sqsize,
	    .rqsize = def.rqsize,
	    .inline_bytes = def.inline_bytes,
	    .iomap_size = def.iomap,
	    .keepidle_s = RS_KEEPALIVE_S,
	};
}

bool rs_spin_is_set(void)
{
	return def.spin_us != UINT32_MAX;
}

uint32_t rs_spin_us(void)
{
	return rs_spin_is_set() ? def.spin_us : RS_SPIN_US;
}

/* ---- setting --------------------------------------------------------------------------------- */

static uint32_t between(int64_t value, uint32_t least, uint32_t most)
{
	return value < least ? least : value > most ? most : (uint32_t)value;
}

static int set_time(struct timeval *tv, const void *val, socklen_t len)
{
	struct timeval t;

	if (len < sizeof(t))
		return EINVAL;
	memcpy(&t, val, sizeof(t));
	if (t.tv_usec < 0 || t.tv_usec >= 1000000)
		return EDOM;
	if (t.tv_sec < 0)
		timerclear(&t);
	*tv = t;
	return 0;
}

/*
 * Buffer sizes are fixed when the connection begins. Later changes are accepted without effect, as
 * they are only hints for TCP too.
 */
static int set_socket(struct rs *rs, int name, int v, const void *val, socklen_t len)
{
	struct rs_opts *o = &rs->opts;

	switch (name) {
	case SO_REUSEADDR:
		o->reuseaddr = v != 0;
		return 0;
	case SO_RCVBUF:
		o->rcvbuf = between(v, RS_RING_BYTES_MIN, RS_RING_BYTES_MAX);
		return 0;
	case SO_SNDBUF:
		o->sndbuf = between(v, RS_RING_BYTES_MIN, RS_RING_BYTES_MAX);
		return 0;
	case SO_KEEPALIVE:
		o->keepalive = v != 0;
		if (v)
			rs_cm_kick();
		return 0;
	case SO_OOBINLINE:
		o->oobinline = v != 0;
		return 0;
	case SO_LINGER:
		if (len < sizeof(o->linger))
			return EINVAL;
		memcpy(&o->linger, val, sizeof(o->linger));
		return 0;
	case SO_RCVTIMEO:
		return set_time(&o->rcvtimeo, val, len);
	case SO_SNDTIMEO:
		return set_time(&o->sndtimeo, val, len);
	default:
		return ENOPROTOOPT;
	}
}

/* Probe counts and intervals have no counterpart: the NIC acknowledges or gives up. */
static int set_tcp(struct rs *rs, int name, int v)
{
	switch (name) {
	case TCP_NODELAY:
		rs->opts.nodelay = v != 0;
		return 0;
	case TCP_KEEPIDLE:
		if (v < 1 || v > 32767)
			return EINVAL;
		rs->opts.keepidle_s = (uint32_t)v;
		return 0;
	case TCP_KEEPINTVL:
	case TCP_KEEPCNT:
		return v < 1 ? EINVAL : 0;
	case TCP_MAXSEG:
		return 0;
	default:
		return ENOPROTOOPT;
	}
}

static int set_rdma(struct rs *rs, int name, int v)
{
	struct rs_opts *o = &rs->opts;

	if (rs->state != RS_OPEN && rs->state != RS_BOUND && rs->state != RS_LISTENING)
		return EISCONN;
	switch (name) {
	case RDMA_SQSIZE:
		o->sqsize = between(v, RS_MSGS_MIN, RS_MSGS_MAX);
		return 0;
	case RDMA_RQSIZE:
		o->rqsize = between(v, RS_MSGS_MIN, RS_MSGS_MAX);
		return 0;
	case RDMA_INLINE:
		o->inline_bytes = between(v, 0, 512);
		return 0;
	case RDMA_IOMAPSIZE:
		if (v < 0 || v > RS_IOMAPS_MAX)
			return EINVAL;
		o->iomap_size = (uint32_t)v;
		return 0;
	/* InfiniBand path records do not apply to Ethernet. */
	case RDMA_ROUTE:
		return EOPNOTSUPP;
	default:
		return ENOPROTOOPT;
	}
}

static int set(struct rs *rs, int level, int name, const void *val, socklen_t len)
{
	int v = 0;

	if (!val || len == 0)
		return EINVAL;
	memcpy(&v, val, len < sizeof(v) ? len : sizeof(v));
	if (len < sizeof(v) && level != IPPROTO_IPV6)
		return EINVAL;
	switch (level) {
	case SOL_SOCKET:
		return set_socket(rs, name, v, val, len);
	case IPPROTO_TCP:
		return set_tcp(rs, name, v);
	case IPPROTO_IPV6:
		if (name != IPV6_V6ONLY)
			return ENOPROTOOPT;
		rs->opts.v6only = v != 0;
		return 0;
	case SOL_RDMA:
		return set_rdma(rs, name, v);
	default:
		return ENOPROTOOPT;
	}
}

RS_API int rsetsockopt(int socket, int level, int optname, const void *optval, socklen_t optlen)
{
	struct rs *rs = rs_get(socket);
	int err;

	if (!rs)
		return -1;
	pthread_mutex_lock(&rs->lock);
	err = set(rs, level, optname, optval, optlen);
	pthread_mutex_unlock(&rs->lock);
	rs_put(rs);
	return err ? rs_fail(err) : 0;
}

/* ---- getting --------------------------------------------------------------------------------- */

static int take_error(struct rs *rs)
{
	int err;

	rs_progress(rs);
	err = rs->error;
	rs->error = 0;
	return err;
}

static int get_socket(struct rs *rs, int name, int *v)
{
	const struct rs_opts *o = &rs->opts;

	switch (name) {
	case SO_REUSEADDR:
		*v = o->reuseaddr;
		return 0;
	case SO_RCVBUF:
		*v = (int)o->rcvbuf;
		return 0;
	case SO_SNDBUF:
		*v = (int)o->sndbuf;
		return 0;
	case SO_KEEPALIVE:
		*v = o->keepalive;
		return 0;
	case SO_OOBINLINE:
		*v = o->oobinline;
		return 0;
	case SO_ERROR:
		*v = take_error(rs);
		return 0;
	case SO_TYPE:
		*v = rs->type;
		return 0;
	case SO_DOMAIN:
		*v = rs->family;
		return 0;
	case SO_ACCEPTCONN:
		*v = rs->state == RS_LISTENING;
		return 0;
	default:
		return ENOPROTOOPT;
	}
}

static int get_tcp(struct rs *rs, int name, int *v)
{
	switch (name) {
	case TCP_NODELAY:
		*v = rs->opts.nodelay;
		return 0;
	case TCP_KEEPIDLE:
		*v = (int)rs->opts.keepidle_s;
		return 0;
	case TCP_MAXSEG:
		*v = rs->stream ? (int)rs->stream->gear.mss : RS_MSS_LEAST;
		return 0;
	default:
		return ENOPROTOOPT;
	}
}

static int get_rdma(struct rs *rs, int name, int *v)
{
	switch (name) {
	case RDMA_SQSIZE:
		*v = (int)rs->opts.sqsize;
		return 0;
	case RDMA_RQSIZE:
		*v = (int)rs->opts.rqsize;
		return 0;
	case RDMA_INLINE:
		*v = (int)rs->opts.inline_bytes;
		return 0;
	case RDMA_IOMAPSIZE:
		*v = (int)rs->opts.iomap_size;
		return 0;
	default:
		return ENOPROTOOPT;
	}
}

static int put(const void *from, size_t bytes, void *to, socklen_t *len)
{
	if (*len > bytes)
		*len = (socklen_t)bytes;
	memcpy(to, from, *len);
	return 0;
}

static int get(struct rs *rs, int level, int name, void *val, socklen_t *len)
{
	const struct rs_opts *o = &rs->opts;
	int err, v = 0;

	if (!val || !len)
		return EFAULT;
	if (level == SOL_SOCKET && name == SO_LINGER)
		return put(&o->linger, sizeof(o->linger), val, len);
	if (level == SOL_SOCKET && name == SO_RCVTIMEO)
		return put(&o->rcvtimeo, sizeof(o->rcvtimeo), val, len);
	if (level == SOL_SOCKET && name == SO_SNDTIMEO)
		return put(&o->sndtimeo, sizeof(o->sndtimeo), val, len);
	if (level == SOL_SOCKET) {
		err = get_socket(rs, name, &v);
	} else if (level == IPPROTO_TCP) {
		err = get_tcp(rs, name, &v);
	} else if (level == SOL_RDMA) {
		err = get_rdma(rs, name, &v);
	} else {
		err = level == IPPROTO_IPV6 && name == IPV6_V6ONLY ? 0 : ENOPROTOOPT;
		v = o->v6only;
	}
	return err ? err : put(&v, sizeof(v), val, len);
}

RS_API int rgetsockopt(int socket, int level, int optname, void *optval, socklen_t *optlen)
{
	struct rs *rs = rs_get(socket);
	int err;

	if (!rs)
		return -1;
	pthread_mutex_lock(&rs->lock);
	err = get(rs, level, optname, optval, optlen);
	pthread_mutex_unlock(&rs->lock);
	rs_put(rs);
	return err ? rs_fail(err) : 0;
}

/* F_GETFL and F_SETFL; only O_NONBLOCK has an effect. */
RS_API int rfcntl(int socket, int cmd, ...)
{
	struct rs *rs = rs_get(socket);
	va_list args;
	int arg, rc = 0;

	if (!rs)
		return -1;
	va_start(args, cmd);
	arg = va_arg(args, int);
	va_end(args);
	pthread_mutex_lock(&rs->lock);
	if (cmd == F_GETFL)
		rc = O_RDWR | (rs->nonblock ? O_NONBLOCK : 0);
	else if (cmd == F_SETFL)
		rs->nonblock = (arg & O_NONBLOCK) != 0;
	else
		rc = -1;
	pthread_mutex_unlock(&rs->lock);
	rs_put(rs);
	return rc < 0 ? rs_fail(EINVAL) : rc;
}
