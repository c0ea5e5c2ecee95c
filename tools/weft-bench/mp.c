/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One end of message passing: opened, connected, closed; see mp.h. mp_io.c has the protocols.
 */
#include "tools/weft-bench/mp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tools/weft-bench/ep.h"

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
	mp->slots_bytes = 3 * mp->num_slots * mp->stride;
	mp->slots = weft_alloc(mp->context, mp->slots_bytes);
	if (!mp->slots)
		return fail("no memory for %u slots", 3 * mp->num_slots);
	mp->mr = weft_reg_mr(mp->pd, mp->slots, mp->slots_bytes, WEFT_ACCESS_LOCAL_WRITE);
	if (!mp->mr)
		return fail("cannot register %zu bytes: %s", mp->slots_bytes, strerror(errno));
	for (i = 0; i < mp->num_slots; i++)
		mp->free_slot[mp->free_slots++] = i;
	return 0;
}

static int open_queues(struct mp *mp)
{
	struct weft_qp_init_attr init = {.type = WEFT_QPT_RC};
	int fl;

	if (mp->cfg.block) {
		mp->channel = weft_create_comp_channel(mp->context, 0);
		if (!mp->channel)
			return fail("no completion channel: %s", strerror(errno));
		fl = fcntl(mp->channel->fd, F_GETFL);
		if (fl < 0 || fcntl(mp->channel->fd, F_SETFL, fl | O_NONBLOCK))
			return fail("completion channel: %s", strerror(errno));
	}
	mp->cq = weft_create_cq(mp->context, MP_SQ_WR + 4 * MP_SLOTS_MAX, mp->channel, NULL);
	if (!mp->cq)
		return fail("no completion queue: %s", strerror(errno));
	init.send_cq = init.recv_cq = mp->cq;
	init.cap = (struct weft_qp_cap){.max_send_wr = MP_SQ_WR,
					.max_recv_wr = 2 * mp->num_slots,
					.max_send_sge = 1,
					.max_recv_sge = 1,
					.max_inline_bytes = MP_INLINE_BYTES};
	mp->qp = weft_create_qp(mp->pd, &init);
	if (!mp->qp)
		return fail("no queue pair: %s", strerror(errno));
	mp->inline_bytes = mp->qp->cap.max_inline_bytes;
	return 0;
}

static int open_cache(struct mp *mp)
{
	struct weft_mr_cache_attr attr = {.policy = mp->cfg.policy,
					  .access = WEFT_ACCESS_LOCAL_WRITE};

	mp->cache = weft_create_mr_cache(mp->pd, &attr);
	return mp->cache ? 0 : fail("no registration cache: %s", strerror(errno));
}

static int connect_partner(struct mp *mp, struct crew *c)
{
	struct mp_addr mine = {.qpn = mp->qp->qpn}, theirs;
	struct weft_device_attr attr;
	struct weft_port_attr port;
	struct weft_av av;

	if (weft_query_port(mp->context, &port) || weft_query_device(mp->context, &attr))
		return fail("%s does not answer", mp->context->name);
	mine.ip = port.ip;
	if (crew_exchange(c, &mine, &theirs, sizeof(mine)))
		return -1;
	av = weft_av_ip(theirs.ip);
	if (ep_connect_rc(mp->qp, &av, theirs.qpn, WEFT_QP_TRANSPORT_RD, attr.max_rd_atomic,
			  EP_TIMEOUT))
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
	mp->context = weft_open_device(crew_device(c));
	if (!mp->context)
		return fail("cannot open %s: %s; is weftd running? (weftctl list)",
			    crew_device(c) ? crew_device(c) : "a NIC", strerror(errno));
	mp->pd = weft_alloc_pd(mp->context);
	if (!mp->pd)
		return fail("no protection domain: %s", strerror(errno));
	if (open_slots(mp) || open_queues(mp) || open_cache(mp) || connect_partner(mp, c))
		return -1;
	return 0;
}

void mp_close(struct mp *mp)
{
	struct mp_early *e;

	/* Closing the context frees all objects. */
	weft_close_device(mp->context);
	mp->context = NULL;
	weft_free(mp->slots, mp->slots_bytes);
	while ((e = mp->early)) {
		mp->early = e->next;
		free(e);
	}
}

void *mp_alloc(struct mp *mp, size_t bytes)
{
	void *p;

	if (mp->o->mem == BENCH_MEM_WEFT) {
		p = weft_alloc(mp->context, bytes);
	} else {
		p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		p = p == MAP_FAILED ? NULL : p;
	}
	if (!p)
		fail("no %zu bytes of memory for buffers", bytes);
	else
		memset(p, 0x5a, bytes);
	return p;
}

void mp_free(struct mp *mp, void *p, size_t bytes)
{
	if (mp->o->mem == BENCH_MEM_WEFT)
		weft_free(p, bytes);
	else if (p)
		munmap(p, bytes);
}
