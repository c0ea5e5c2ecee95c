/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queues and memory of streams: made for the first streams of a process, kept for those to come. A
 * program that makes many short connections creates and registers nothing for most of them.
 *
 * The queue pair of gear that is kept is in RESET, and the protection domain is the gear's own. So
 * the peer of an earlier connection cannot write into the ring, whose STag stays. The ring is wiped
 * before it is kept: a peer may report bytes that it has not written, and must not get at those of
 * an earlier connection. Calls rdma_cm and libibverbs.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "host_driver/rdmacm/rs.h"

enum {
	POOL_GEAR = 16,          /* 16 MiB of memory of the usual size */
	MTU_BYTES_BY_ENUM = 128, /* << enum ibv_mtu */
};

static struct {
	pthread_mutex_t lock;
	struct rs_gear gear[POOL_GEAR];
	uint32_t count;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The options of a socket, as sizes of its gear. */
static struct rs_gear wanted_by(const struct rs_opts *o)
{
	return (struct rs_gear){.ring_bytes = o->rcvbuf,
				.buf_bytes = o->sndbuf,
				.sq_size = o->sqsize + RS_CTL_SENDS,
				.recvs = o->rqsize + RS_CTL_MSGS,
				.inline_asked = o->inline_bytes};
}

static bool fits(const struct rs_gear *g, const struct ibv_context *verbs,
		 const struct rs_gear *want)
{
	return g->qp->context == verbs && g->ring_bytes == want->ring_bytes &&
	       g->buf_bytes == want->buf_bytes && g->sq_size == want->sq_size &&
	       g->recvs == want->recvs && g->inline_asked == want->inline_asked;
}

/* The newest first: its memory is the most likely to be in the cache. */
static bool pool_find(const struct ibv_context *verbs, struct rs_gear *g)
{
	const struct rs_gear want = *g;
	bool found = false;

	pthread_mutex_lock(&pool.lock);
	for (uint32_t i = pool.count; i-- > 0 && !found;) {
		found = fits(&pool.gear[i], verbs, &want);
		if (found) {
			*g = pool.gear[i];
			memmove(&pool.gear[i], &pool.gear[i + 1],
				(--pool.count - i) * sizeof(*pool.gear));
		}
	}
	pthread_mutex_unlock(&pool.lock);
	return found;
}

/* ---- making ---------------------------------------------------------------------------------- */

/* A failed call without errno is still a failure. */
static int failed(void)
{
	return errno ? -errno : -ENOMEM;
}

static int make_cq(struct ibv_context *verbs, struct rs_gear *g)
{
	int flags;

	g->channel = ibv_create_comp_channel(verbs);
	if (!g->channel)
		return failed();
	flags = fcntl(g->channel->fd, F_GETFL);
	if (flags < 0 || fcntl(g->channel->fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	g->cq = ibv_create_cq(verbs, (int)(g->sq_size + g->recvs), NULL, g->channel, 0);
	return g->cq ? 0 : failed();
}

static int make_qp(struct rs_gear *g)
{
	struct ibv_qp_init_attr init = {
	    .send_cq = g->cq,
	    .recv_cq = g->cq,
	    .cap = {.max_send_wr = g->sq_size,
		    .max_recv_wr = g->recvs,
		    .max_send_sge = 1,
		    .max_recv_sge = 1,
		    .max_inline_data = g->inline_asked},
	    .qp_type = IBV_QPT_RC,
	    .sq_sig_all = 1,
	};

	g->qp = ibv_create_qp(g->pd, &init);
	if (!g->qp) {
		/* A smaller inline limit is acceptable. */
		init.cap.max_inline_data = 0;
		g->qp = ibv_create_qp(g->pd, &init);
	}
	if (!g->qp)
		return failed();
	g->inline_bytes = init.cap.max_inline_data;
	if (g->inline_bytes > g->inline_asked)
		g->inline_bytes = g->inline_asked;
	return 0;
}

static int make_memory(struct rs_gear *g)
{
	size_t bytes = g->ring_bytes + g->buf_bytes;
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return -errno;
	g->ring = p;
	g->buf = g->ring + g->ring_bytes;
	g->mr = ibv_reg_mr(g->pd, p, bytes, IBV_ACCESS_LOCAL_WRITE);
	if (!g->mr)
		return failed();
	g->ring_mr =
	    ibv_reg_mr(g->pd, p, g->ring_bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	return g->ring_mr ? 0 : failed();
}

static int make(struct rdma_cm_id *id, struct rs_gear *g)
{
	struct ibv_port_attr port;
	int rc;

	if (ibv_query_port(id->verbs, id->port_num, &port))
		return failed();
	g->mss = (MTU_BYTES_BY_ENUM << port.active_mtu) - (uint32_t)sizeof(struct rs_wire_dgram);
	g->pd = ibv_alloc_pd(id->verbs);
	rc = g->pd ? make_cq(id->verbs, g) : failed();
	if (rc == 0)
		rc = make_qp(g);
	return rc == 0 ? make_memory(g) : rc;
}

/* Destroys the QP first, so that the peer can no longer write into the memory. */
static void gear_free(struct rs_gear *g)
{
	if (g->qp)
		(void)ibv_destroy_qp(g->qp);
	if (g->ring_mr)
		(void)ibv_dereg_mr(g->ring_mr);
	if (g->mr)
		(void)ibv_dereg_mr(g->mr);
	if (g->cq)
		(void)ibv_destroy_cq(g->cq);
	if (g->channel)
		(void)ibv_destroy_comp_channel(g->channel);
	if (g->pd)
		(void)ibv_dealloc_pd(g->pd);
	if (g->ring)
		(void)munmap(g->ring, g->ring_bytes + g->buf_bytes);
	*g = (struct rs_gear){0};
}

/*
 * Frees gear of NICs that are gone, which no connection will take: it would fill the pool. That of
 * the NIC that is in use is left out.
 */
static void pool_clear(const struct ibv_context *verbs)
{
	struct rs_gear gone[POOL_GEAR];
	struct ibv_port_attr port;
	uint32_t num = 0, kept = 0;

	pthread_mutex_lock(&pool.lock);
	for (uint32_t i = 0; i < pool.count; i++) {
		struct ibv_context *of = pool.gear[i].qp->context;

		if (of != verbs && ibv_query_port(of, 1, &port))
			gone[num++] = pool.gear[i];
		else
			pool.gear[kept++] = pool.gear[i];
	}
	pool.count = kept;
	pthread_mutex_unlock(&pool.lock);
	while (num)
		gear_free(&gone[--num]);
}

/* ---- use ------------------------------------------------------------------------------------- */

/* The id connects this QP, as if rdma_create_qp() had made it. */
static int to_init(struct rdma_cm_id *id, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT};
	int mask, rc;

	if (rdma_init_qp_attr(id, &attr, &mask) < 0)
		return failed();
	rc = ibv_modify_qp(qp, &attr, mask);
	if (rc)
		return -rc;
	id->qp = qp;
	return 0;
}

int rs_gear_get(struct rdma_cm_id *id, const struct rs_opts *opts, struct rs_gear *g)
{
	int rc = 0;

	*g = wanted_by(opts);
	if (!pool_find(id->verbs, g)) {
		pool_clear(id->verbs);
		rc = make(id, g);
	}
	if (rc == 0)
		rc = to_init(id, g->qp);
	if (rc < 0)
		gear_free(g);
	return rc;
}

/* Nothing is left of the connection: neither requests nor completions, nor a way for the peer. */
static bool to_reset(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE) == 0;
}

static bool pool_keep(struct rs_gear *g)
{
	bool keep;

	if (!to_reset(g->qp))
		return false;
	memset(g->ring, 0, g->ring_bytes);
	pthread_mutex_lock(&pool.lock);
	keep = pool.count < POOL_GEAR;
	if (keep)
		pool.gear[pool.count++] = *g;
	pthread_mutex_unlock(&pool.lock);
	if (keep)
		*g = (struct rs_gear){0};
	return keep;
}

void rs_gear_put(struct rdma_cm_id *id, struct rs_gear *g)
{
	if (!g->qp)
		return;
	if (id)
		id->qp = NULL;
	if (!pool_keep(g))
		gear_free(g);
}

/* The memory in a child of fork is a copy, and all other gear is the parent's. */
void rs_pool_forked(void)
{
	pthread_mutex_init(&pool.lock, NULL);
	pool.count = 0;
}
