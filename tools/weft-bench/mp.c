/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One end of message passing: opened, connected, closed; see mp.h. mp_io.c has the protocols.
 */
#include "tools/weft-bench/mp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	MP_SLOT_BUDGET_BYTES = 4 << 20,
	MP_SLOTS_MIN = 4,
	MP_INLINE_BYTES = 256,
};

/* Address of a partner. */
struct mp_addr {
	uint32_t ip;
	uint32_t qpn;
};

static int open_slots(struct mp *mp)
{
	uint32_t i;

	mp->stride = (sizeof(struct mp_head) + mp->cfg.eager_bytes + 63) & ~(size_t)63;
	mp->num_slots = (uint32_t)(MP_SLOT_BUDGET_BYTES / mp->stride);
	mp->num_slots = mp->num_slots < MP_SLOTS_MIN   ? MP_SLOTS_MIN
			: mp->num_slots > MP_SLOTS_MAX ? MP_SLOTS_MAX
						       : mp->num_slots;
	/*
	 * Twice as many to receive into: requests to send and answers come in addition to messages.
	 */
	if (end_mem_open(&mp->end, &mp->slots, END_MEM_WEFT, 3 * mp->num_slots * mp->stride,
			 WEFT_ACCESS_LOCAL_WRITE))
		return -1;
	for (i = 0; i < mp->num_slots; i++)
		mp->free_slot[mp->free_slots++] = i;
	return 0;
}

static int open_queues(struct mp *mp)
{
	struct weft_qp_init_attr init = {.type = WEFT_QPT_RC};

	if (end_open_cq(&mp->end, MP_SQ_WR + 4 * MP_SLOTS_MAX, mp->cfg.block))
		return -1;
	init.cap = (struct weft_qp_cap){.max_send_wr = MP_SQ_WR,
					.max_recv_wr = 2 * mp->num_slots,
					.max_send_sge = 1,
					.max_recv_sge = 1,
					.max_inline_bytes = MP_INLINE_BYTES};
	mp->qp = end_qp(&mp->end, &init);
	if (!mp->qp)
		return -1;
	mp->inline_bytes = mp->qp->cap.max_inline_bytes;
	return 0;
}

static int open_cache(struct mp *mp)
{
	struct weft_mr_cache_attr attr = {.policy = mp->cfg.policy,
					  .access = WEFT_ACCESS_LOCAL_WRITE};

	mp->cache = weft_create_mr_cache(mp->end.pd, &attr);
	return mp->cache ? 0 : fail("no registration cache: %s", strerror(errno));
}

static int connect_partner(struct mp *mp, struct crew *c)
{
	struct mp_addr mine = {.ip = mp->end.port.ip, .qpn = mp->qp->qpn}, theirs;
	struct weft_av av;

	if (crew_exchange(c, &mine, &theirs, sizeof(mine)))
		return -1;
	av = weft_av_ip(theirs.ip);
	if (end_connect_rc(mp->qp, &av, theirs.qpn, WEFT_QP_TRANSPORT_RD,
			   mp->end.attr.max_rd_atomic, END_TIMEOUT))
		return -1;
	for (uint32_t i = 0; i < 2 * mp->num_slots; i++)
		if (mp_post_slot(mp, mp->num_slots + i))
			return -1;
	/* Neither sends before the other is ready. */
	crew_barrier(c);
	return 0;
}

int mp_open(struct mp *mp, struct crew *c, const struct mp_config *cfg)
{
	memset(mp, 0, sizeof(*mp));
	mp->o = c->o;
	mp->cfg = *cfg;
	mp->posted_end = &mp->posted;
	mp->early_end = &mp->early;
	if (end_open(&mp->end, crew_device(c)) || open_slots(mp) || open_queues(mp) ||
	    open_cache(mp) || connect_partner(mp, c))
		return -1;
	return 0;
}

void mp_close(struct mp *mp)
{
	struct mp_early *e;

	/* Closing the context frees all objects. */
	end_close(&mp->end);
	end_mem_free(&mp->slots);
	while ((e = mp->early)) {
		mp->early = e->next;
		free(e);
	}
}

void *mp_alloc(struct mp *mp, size_t bytes)
{
	enum end_mem_kind kind = mp->o->mem == BENCH_MEM_WEFT ? END_MEM_WEFT : END_MEM_PRIVATE;
	struct end_mem m;

	if (end_mem_alloc(&mp->end, &m, kind, bytes))
		return NULL;
	memset(m.p, 0x5a, bytes);
	return m.p;
}

void mp_free(struct mp *mp, void *p, size_t bytes)
{
	struct end_mem m = {.p = p, .bytes = bytes, .kind = END_MEM_PRIVATE};

	if (mp->o->mem == BENCH_MEM_WEFT)
		m.kind = END_MEM_WEFT;
	end_mem_free(&m);
}
