/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One end of a measurement: device, memory, queues; see ep.h. ep_io.c has posting and polling.
 */
#include "tools/weft-bench/ep.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tools/weft-bench/oob.h"

/* The region, of the kind of --mem; zero-filled. */
static void *region_alloc(struct ep *ep, size_t bytes)
{
	void *p = NULL;

	switch (ep->o->mem) {
	case BENCH_MEM_WEFT:
		p = weft_alloc(ep->context, bytes);
		break;
	case BENCH_MEM_MALLOC:
		p = calloc(1, bytes);
		break;
	case BENCH_MEM_SHARED:
		p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		p = p == MAP_FAILED ? NULL : p;
		break;
	case BENCH_MEMS:
		break;
	}
	return p;
}

static void region_free(struct ep *ep)
{
	if (!ep->region)
		return;
	switch (ep->o->mem) {
	case BENCH_MEM_WEFT:
		weft_free(ep->region, ep->region_bytes);
		break;
	case BENCH_MEM_MALLOC:
		free(ep->region);
		break;
	case BENCH_MEM_SHARED:
		munmap(ep->region, ep->region_bytes);
		break;
	case BENCH_MEMS:
		break;
	}
	ep->region = NULL;
}

static int open_memory(struct ep *ep)
{
	const struct opts *o = ep->o;
	uint32_t i;

	ep->stride = EP_HEADROOM + (((size_t)o->size + 63) & ~(size_t)63);
	ep->region_bytes = EP_CONTROL_BYTES + (2 * (size_t)o->window + 1) * ep->stride;
	ep->region = region_alloc(ep, ep->region_bytes);
	if (!ep->region)
		return fail("no %zu bytes of memory for the buffers: lower --window or --size",
			    ep->region_bytes);
	ep->mr = weft_reg_mr(ep->pd, ep->region, ep->region_bytes,
			     WEFT_ACCESS_LOCAL_WRITE | WEFT_ACCESS_REMOTE_WRITE |
				 WEFT_ACCESS_REMOTE_READ | WEFT_ACCESS_REMOTE_ATOMIC);
	if (!ep->mr)
		return fail("cannot register %zu bytes: %s", ep->region_bytes, strerror(errno));
	for (i = 1; i < 2 * o->window; i *= 2)
		;
	ep->msg_mask = i - 1;
	ep->msgs = calloc(i, sizeof(*ep->msgs));
	return ep->msgs ? 0 : fail("out of memory");
}

/* The completion queue, with a channel if --event blocks on one. */
static int open_cq(struct ep *ep, uint32_t entries)
{
	int fl;

	if (ep->o->event) {
		ep->channel = weft_create_comp_channel(ep->context, 0);
		if (!ep->channel)
			return fail("no completion channel: %s", strerror(errno));
		fl = fcntl(ep->channel->fd, F_GETFL);
		if (fl < 0 || fcntl(ep->channel->fd, F_SETFL, fl | O_NONBLOCK))
			return fail("completion channel: %s", strerror(errno));
	}
	ep->cq = weft_create_cq(ep->context, entries, ep->channel, ep);
	return ep->cq ? 0 : fail("no completion queue of %u: %s", entries, strerror(errno));
}

static int open_qp(struct ep *ep)
{
	const struct opts *o = ep->o;
	struct weft_qp_init_attr init = {.type = o->qp};
	int rc;

	if (o->qp == WEFT_QPT_UD && o->size > ep->attr.max_ud_bytes)
		init.flags |= WEFT_QP_F_UD_LONG;
	if (o->qp == WEFT_QPT_UD && o->size > ep->attr.max_ud_long_bytes)
		return fail("--size: UD messages have at most %u bytes here",
			    ep->attr.max_ud_long_bytes);
	init.send_cq = ep->cq;
	init.recv_cq = ep->cq;
	/* Beyond the window: credits of a stream, repeats of UD ping-pong. */
	init.cap.max_send_wr = o->window + EP_BATCH;
	init.cap.max_recv_wr = o->window;
	init.cap.max_send_sge = o->sge;
	init.cap.max_recv_sge = o->sge;
	init.cap.max_inline_bytes = 64;
	if (init.cap.max_inline_bytes > ep->attr.max_inline_bytes)
		init.cap.max_inline_bytes = ep->attr.max_inline_bytes;
	ep->qp = weft_create_qp(ep->pd, &init);
	if (!ep->qp)
		return fail("no %s queue pair with %u requests: %s", bench_qp_str(o),
			    init.cap.max_send_wr, strerror(errno));
	ep->inline_ok = !o->no_inline && o->size <= ep->qp->cap.max_inline_bytes &&
			(o->op == BENCH_SEND || o->op == BENCH_WRITE || o->op == BENCH_PUT);
	/* A connected one waits for the address of the other end. */
	rc = o->qp == WEFT_QPT_RC ? 0 : weft_activate_qp(ep->qp, BENCH_QKEY, EP_ACCESS);
	return rc ? fail("queue pair: %s", strerror(-rc)) : 0;
}

static int ep_no_device(const char *device)
{
	if (errno == ETIMEDOUT)
		return fail("%s: its weftd does not answer: it is stopped, or stuck",
			    device ? device : "a NIC");
	return fail("cannot open %s: %s; is weftd running? (weftctl list)",
		    device ? device : "a NIC", strerror(errno));
}

int ep_probe(const char *device)
{
	struct weft_context *context = weft_open_tool(device);

	if (!context)
		return ep_no_device(device);
	weft_close_device(context);
	return 0;
}

int ep_open(struct ep *ep, const struct opts *o, const char *device)
{
	struct weft_port_attr port;
	int rc;

	memset(ep, 0, sizeof(*ep));
	ep->o = o;
	ep->context = weft_open_device(device);
	if (!ep->context)
		return ep_no_device(device);
	rc = weft_query_device(ep->context, &ep->attr);
	if (!rc)
		rc = weft_query_port(ep->context, &port);
	if (rc)
		return fail("%s does not answer: %s", ep->context->name, strerror(-rc));
	ep->pd = weft_alloc_pd(ep->context);
	if (!ep->pd)
		return fail("no protection domain: %s", strerror(errno));
	if (open_memory(ep) || open_cq(ep, 2 * o->window + 2 * EP_BATCH) || open_qp(ep) ||
	    (ep_is_tcp(o) && link_listen(&ep->link, o, ep->context)))
		return -1;
	ep->local = (struct ep_addr){
	    .ip = port.ip,
	    .qpn = ep->qp->qpn,
	    .rkey = ep->mr->rkey,
	    .mtu_bytes = port.mtu_bytes,
	    .port = ep->link.port,
	    .region = (uintptr_t)ep->region,
	};
	return 0;
}

void ep_close(struct ep *ep)
{
	if (!ep->context)
		return;
	link_close(&ep->link);
	/* Closing the context frees everything else. */
	weft_close_device(ep->context);
	ep->context = NULL;
	region_free(ep);
	free(ep->msgs);
	ep->msgs = NULL;
}

int ep_connect_rc(struct weft_qp *qp, const struct weft_av *av, uint32_t remote_qpn,
		  enum weft_qp_transport transport, uint32_t max_rd_atomic, uint8_t timeout)
{
	struct weft_qp_attr attr = {
	    .state = WEFT_QPS_INIT,
	    .port = 1,
	    .access = EP_ACCESS,
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

int ep_connect(struct ep *ep, const struct ep_addr *remote)
{
	struct weft_av av = weft_av_ip(remote->ip);

	ep->remote = *remote;
	if (ep_is_tcp(ep->o)) {
		/* It does not listen any more, but connects. */
		link_close(&ep->link);
		if (link_open(&ep->link, ep->o, ep->context, NULL))
			return -1;
		return link_call(&ep->link, ep->qp, remote->ip, remote->port,
				 ep->attr.max_rd_atomic);
	}
	if (ep->o->qp == WEFT_QPT_RC)
		return ep_connect_rc(ep->qp, &av, remote->qpn, ep->o->transport,
				     ep->attr.max_rd_atomic, EP_TIMEOUT);
	ep->ah = weft_create_ah(ep->pd, &av);
	return ep->ah ? 0 : fail("no address handle: %s", strerror(errno));
}

int ep_answer(struct ep *ep, const struct ep_addr *remote)
{
	if (!ep_is_tcp(ep->o))
		return ep_connect(ep, remote);
	ep->remote = *remote;
	return link_answer(&ep->link, ep->qp, EP_ACCESS, ep->attr.max_rd_atomic);
}

int ep_established(struct ep *ep)
{
	return ep_is_tcp(ep->o) ? link_finish(&ep->link, ep->qp, EP_ACCESS, ep->attr.max_rd_atomic)
				: 0;
}

json_t *ep_addr_json(const struct ep_addr *a)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:i, s:I}", "ip", (json_int_t)ntohl(a->ip), "qpn",
			 (json_int_t)a->qpn, "rkey", (json_int_t)a->rkey, "mtu",
			 (json_int_t)a->mtu_bytes, "port", (int)a->port, "region",
			 (json_int_t)a->region);
}

int ep_addr_parse(const json_t *msg, struct ep_addr *a)
{
	uint64_t ip, qpn, rkey, mtu, port, region;

	if (oob_number(msg, "ip", UINT32_MAX, &ip) || oob_number(msg, "qpn", 0xffffff, &qpn) ||
	    oob_number(msg, "rkey", UINT32_MAX, &rkey) || oob_number(msg, "mtu", 65535, &mtu) ||
	    oob_number(msg, "port", 65535, &port) || oob_number(msg, "region", INT64_MAX, &region))
		return -1;
	a->ip = htonl((uint32_t)ip);
	a->qpn = (uint32_t)qpn;
	a->rkey = (uint32_t)rkey;
	a->mtu_bytes = (uint32_t)mtu;
	a->port = (uint16_t)port;
	a->region = region;
	return 0;
}
