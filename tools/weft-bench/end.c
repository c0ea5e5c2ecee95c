/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opens and closes what every end of a measurement stands on; see end.h.
 */
#include "tools/weft-bench/end.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static int no_device(const char *device)
{
	if (errno == ETIMEDOUT)
		return fail("%s: its weftd does not answer: it is stopped, or stuck",
			    device ? device : "a NIC");
	return fail("cannot open %s: %s; is weftd running? (weftctl list)",
		    device ? device : "a NIC", strerror(errno));
}

int end_probe(const char *device)
{
	struct weft_context *context = weft_open_tool(device);

	if (!context)
		return no_device(device);
	weft_close_device(context);
	return 0;
}

int end_open(struct end *e, const char *device)
{
	int rc;

	memset(e, 0, sizeof(*e));
	e->context = weft_open_device(device);
	if (!e->context)
		return no_device(device);
	rc = weft_query_device(e->context, &e->attr);
	if (!rc)
		rc = weft_query_port(e->context, &e->port);
	if (rc)
		return fail("%s does not answer: %s", e->context->name, strerror(-rc));
	e->pd = weft_alloc_pd(e->context);
	return e->pd ? 0 : fail("no protection domain: %s", strerror(errno));
}

int end_open_cq(struct end *e, uint32_t entries, bool sleeps)
{
	int fl;

	if (sleeps) {
		e->channel = weft_create_comp_channel(e->context, 0);
		if (!e->channel)
			return fail("no completion channel: %s", strerror(errno));
		fl = fcntl(e->channel->fd, F_GETFL);
		if (fl < 0 || fcntl(e->channel->fd, F_SETFL, fl | O_NONBLOCK))
			return fail("completion channel: %s", strerror(errno));
	}
	e->cq = weft_create_cq(e->context, entries, e->channel, NULL);
	return e->cq ? 0 : fail("no completion queue of %u: %s", entries, strerror(errno));
}

void end_close(struct end *e)
{
	weft_close_device(e->context);
	e->context = NULL;
}

int end_mem_alloc(struct end *e, struct end_mem *m, enum end_mem_kind kind, size_t bytes)
{
	int flags = kind == END_MEM_SHARED ? MAP_SHARED : MAP_PRIVATE;

	*m = (struct end_mem){.bytes = bytes, .kind = kind};
	switch (kind) {
	case END_MEM_WEFT:
		m->p = weft_alloc(e->context, bytes);
		break;
	case END_MEM_MALLOC:
		m->p = calloc(1, bytes);
		break;
	case END_MEM_SHARED:
	case END_MEM_PRIVATE:
		m->p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
		m->p = m->p == MAP_FAILED ? NULL : m->p;
		break;
	}
	return m->p ? 0 : fail("no %zu bytes of memory for buffers", bytes);
}

int end_mem_open(struct end *e, struct end_mem *m, enum end_mem_kind kind, size_t bytes, int access)
{
	if (end_mem_alloc(e, m, kind, bytes))
		return -1;
	m->mr = weft_reg_mr(e->pd, m->p, bytes, access);
	return m->mr ? 0 : fail("cannot register %zu bytes: %s", bytes, strerror(errno));
}

void end_mem_free(struct end_mem *m)
{
	if (!m->p)
		return;
	switch (m->kind) {
	case END_MEM_WEFT:
		weft_free(m->p, m->bytes);
		break;
	case END_MEM_MALLOC:
		free(m->p);
		break;
	case END_MEM_SHARED:
	case END_MEM_PRIVATE:
		munmap(m->p, m->bytes);
		break;
	}
	memset(m, 0, sizeof(*m));
}

struct weft_qp *end_qp(struct end *e, struct weft_qp_init_attr *init)
{
	struct weft_qp *qp;

	init->send_cq = init->recv_cq = e->cq;
	qp = weft_create_qp(e->pd, init);
	if (!qp)
		fail("no queue pair with %u requests on %s: %s", init->cap.max_send_wr,
		     e->context->name, strerror(errno));
	return qp;
}

int end_connect_rc(struct weft_qp *qp, const struct weft_av *av, uint32_t remote_qpn,
		   enum weft_qp_transport transport, uint32_t max_rd_atomic, uint8_t timeout)
{
	struct weft_qp_attr attr = {
	    .state = WEFT_QPS_INIT,
	    .port = 1,
	    .access = END_ACCESS,
	    .transport = transport,
	    .path_mtu_bytes = 1024,
	    .dst_qpn = remote_qpn,
	    .av = *av,
	    .rq_psn = remote_qpn,
	    .sq_psn = qp->qpn,
	    .timeout = timeout,
	    .retry_cnt = 7,
	    .rnr_retry = 7, /* for ever */
	    .min_rnr_timer = 1,
	    .max_rd_atomic = (uint8_t)max_rd_atomic,
	    .max_dest_rd_atomic = (uint8_t)max_rd_atomic,
	};
	int rc = weft_modify_qp(qp, &attr,
				WEFT_QP_STATE | WEFT_QP_PKEY_INDEX | WEFT_QP_PORT |
				    WEFT_QP_ACCESS_FLAGS | WEFT_QP_TRANSPORT);

	attr.state = WEFT_QPS_RTR;
	if (!rc)
		rc = weft_modify_qp(qp, &attr,
				    WEFT_QP_STATE | WEFT_QP_AV | WEFT_QP_PATH_MTU |
					WEFT_QP_DEST_QPN | WEFT_QP_RQ_PSN |
					WEFT_QP_MAX_DEST_RD_ATOMIC | WEFT_QP_MIN_RNR_TIMER);
	attr.state = WEFT_QPS_RTS;
	if (!rc)
		rc = weft_modify_qp(qp, &attr,
				    WEFT_QP_STATE | WEFT_QP_TIMEOUT | WEFT_QP_RETRY_CNT |
					WEFT_QP_RNR_RETRY | WEFT_QP_SQ_PSN |
					WEFT_QP_MAX_QP_RD_ATOMIC);
	return rc ? fail("connecting the queue pair: %s", strerror(-rc)) : 0;
}
