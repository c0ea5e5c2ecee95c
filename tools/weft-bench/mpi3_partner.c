/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two ends of a measurement of overlap and progress, and functions common to the parts of mpi3;
 * see mpi3.h. Calls mp.c and mp_io.c.
 */
#include <stdlib.h>

#include "lib/clock.h"
#include "tools/weft-bench/mpi3.h"
#include "tools/weft-bench/pattern.h"

uint32_t mpi3_reps(const struct opts *o, uint64_t bytes)
{
	uint64_t reps = MPI3_BUDGET_BYTES / (bytes ? bytes : 1);

	if (reps > o->iters)
		reps = o->iters;
	return reps < 4 ? 4 : (uint32_t)reps;
}

int mpi3_check(const uint8_t *p, size_t bytes, uint64_t seq)
{
	return pattern_check(p, bytes, seq, 1) == bytes
		   ? 0
		   : fail("message %llu of %zu bytes is wrong", (unsigned long long)seq, bytes);
}

const char *mpi3_proto_str(const struct mp_config *cfg, size_t bytes)
{
	if (bytes <= cfg->eager_bytes)
		return "eager";
	return cfg->proto == MP_GET ? "get" : "put";
}

/* ---- the measuring rank ----------------------------------------------------------------------
 */

int mpi3_tell(struct mp *mp, enum mpi3_order order, uint64_t bytes, uint64_t seq)
{
	struct mpi3_token t = {.order = order, .bytes = bytes, .seq = seq};

	return mp_send(mp, &t, sizeof(t));
}

int mpi3_answer(struct mp *mp, uint64_t *ns)
{
	struct mpi3_token t;

	if (mp_recv(mp, &t, sizeof(t)))
		return -1;
	*ns = t.ns;
	return 0;
}

int mpi3_prepare(struct mp *mp, struct mpi3_pull *p, uint64_t bytes, uint64_t seq)
{
	if (mpi3_tell(mp, MPI3_SEND, bytes, seq))
		return -1;
	return mp_recv(mp, &p->token, sizeof(p->token));
}

int mpi3_pull(struct mp *mp, struct mpi3_pull *p, void *buf)
{
	p->data = mp_irecv(mp, buf, p->token.bytes);
	p->asked = p->data ? mp_isend(mp, &p->token, sizeof(p->token)) : NULL;
	return p->asked ? 0 : -1;
}

int mpi3_pulled(struct mp *mp, struct mpi3_pull *p)
{
	return mp_wait(mp, p->data) || mp_wait(mp, p->asked) ? -1 : 0;
}

/* ---- the partner ------------------------------------------------------------------------------
 */

static int serve_receive(struct mp *mp, uint8_t *buf, struct mpi3_token *t)
{
	uint64_t start = clock_now_ns();

	if (mp_recv(mp, buf, t->bytes))
		return -1;
	t->ns = clock_now_ns() - start;
	return mpi3_check(buf, t->bytes, t->seq) || mp_send(mp, t, sizeof(*t)) ? -1 : 0;
}

/* It is filled before the measuring rank starts the clock. */
static int serve_send(struct mp *mp, uint8_t *buf, const struct mpi3_token *t)
{
	struct mpi3_token go;

	pattern_fill(buf, t->bytes, t->seq, 1);
	if (mp_send(mp, t, sizeof(*t)) || mp_recv(mp, &go, sizeof(go)))
		return -1;
	return mp_send(mp, buf, t->bytes);
}

/* A buffer of exactly that length. */
static int take_buffer(struct mp *mp, uint8_t **buf, uint64_t *have_bytes, uint64_t bytes)
{
	if (*have_bytes == bytes)
		return 0;
	mp_free(mp, *buf, *have_bytes);
	*buf = bytes ? mp_alloc(mp, bytes) : NULL;
	*have_bytes = *buf ? bytes : 0;
	return *buf || !bytes ? 0 : -1;
}

static int serve(struct mp *mp, size_t max_bytes)
{
	struct mpi3_token t = {.order = MPI3_RECEIVE};
	uint64_t have_bytes = 0;
	uint8_t *buf = NULL;
	int rc = 0;

	while (!rc) {
		rc = mp_recv(mp, &t, sizeof(t));
		if (rc || t.order == MPI3_END)
			break;
		if (t.bytes > max_bytes)
			rc = fail("a token asks for %llu bytes", (unsigned long long)t.bytes);
		rc = rc || take_buffer(mp, &buf, &have_bytes, t.bytes) ? -1 : 0;
		if (!rc && t.order == MPI3_RECEIVE) {
			rc = serve_receive(mp, buf, &t);
		} else if (!rc) {
			rc = serve_send(mp, buf, &t);
		}
	}
	/* Rounds down to nothing. */
	return take_buffer(mp, &buf, &have_bytes, 0) ? -1 : rc;
}

int mpi3_with_partner(struct crew *c, const struct mpi3_way *way, size_t max_bytes,
		      int (*measure)(struct mp *mp, void *arg), void *arg)
{
	const struct mp_config cfg = {.eager_bytes = way->eager_bytes,
				      .proto = way->proto,
				      .policy = WEFT_MR_CACHE_LAZY,
				      .block = c->rank,
				      .sync = true};
	struct mp mp;
	int rc;

	if (mp_open(&mp, c, &cfg))
		return -1;
	if (c->rank)
		rc = serve(&mp, max_bytes);
	else
		rc = measure(&mp, arg) || mpi3_tell(&mp, MPI3_END, 0, 0) ? -1 : 0;
	if (rc)
		return rc;
	crew_barrier(c);
	mp_close(&mp);
	return 0;
}
