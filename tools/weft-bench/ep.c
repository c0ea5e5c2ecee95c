/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One end of a measurement: device, memory, queues; see ep.h. ep_io.c has posting and polling.
 */
#include "tools/weft-bench/ep.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/weft-bench/oob.h"

static int open_memory(struct ep *ep)
{
	const struct opts *o = ep->o;
	size_t bytes;
	uint32_t i;

	ep->stride = EP_HEADROOM + (((size_t)o->size + 63) & ~(size_t)63);
	bytes = EP_CONTROL_BYTES + (2 * (size_t)o->window + 1) * ep->stride;
	if (end_mem_open(&ep->end, &ep->mem, (enum end_mem_kind)o->mem, bytes, END_ACCESS))
		return -1;
	for (i = 1; i < ep_ring_messages(o); i *= 2)
		;
	ep->msg_mask = i - 1;
	ep->msgs = calloc(i, sizeof(*ep->msgs));
	return ep->msgs ? 0 : fail("out of memory");
}

static int open_qp(struct ep *ep)
{
	const struct opts *o = ep->o;
	struct weft_qp_init_attr init = {.type = o->qp};
	int rc;

	if (o->qp == WEFT_QPT_UD && o->size > ep->end.attr.max_ud_bytes)
		init.flags |= WEFT_QP_F_UD_LONG;
	if (o->qp == WEFT_QPT_UD && o->size > ep->end.attr.max_ud_long_bytes)
		return fail("--size: UD messages have at most %u bytes here",
			    ep->end.attr.max_ud_long_bytes);
	/* Beyond the window: credits of a stream, repeats of UD ping-pong. */
	init.cap.max_send_wr = o->window + EP_BATCH;
	init.cap.max_recv_wr = o->window;
	init.cap.max_send_sge = o->sge;
	init.cap.max_recv_sge = o->sge;
	init.cap.max_inline_bytes = 64;
	if (init.cap.max_inline_bytes > ep->end.attr.max_inline_bytes)
		init.cap.max_inline_bytes = ep->end.attr.max_inline_bytes;
	ep->qp = end_qp(&ep->end, &init);
	if (!ep->qp)
		return -1;
	ep->inline_ok = !o->no_inline && o->size <= ep->qp->cap.max_inline_bytes &&
			(o->op == BENCH_SEND || o->op == BENCH_WRITE || o->op == BENCH_PUT);
	/* A connected one waits for the address of the other end. */
	rc = o->qp == WEFT_QPT_RC ? 0 : weft_activate_qp(ep->qp, BENCH_QKEY, END_ACCESS);
	return rc ? fail("queue pair: %s", strerror(-rc)) : 0;
}

int ep_open(struct ep *ep, const struct opts *o, const char *device)
{
	memset(ep, 0, sizeof(*ep));
	ep->o = o;
	if (end_open(&ep->end, device) || open_memory(ep) ||
	    end_open_cq(&ep->end, ep_cq_messages(o) + o->window + 2 * EP_BATCH, o->event) ||
	    open_qp(ep) || (ep_is_tcp(o) && link_listen(&ep->link, o, ep->end.context)))
		return -1;
	ep->local = (struct ep_addr){
	    .ip = ep->end.port.ip,
	    .qpn = ep->qp->qpn,
	    .rkey = ep->mem.mr->rkey,
	    .mtu_bytes = ep->end.port.mtu_bytes,
	    .port = ep->link.port,
	    .region = (uintptr_t)ep->mem.p,
	};
	return 0;
}

void ep_close(struct ep *ep)
{
	if (!ep->end.context)
		return;
	link_close(&ep->link);
	/* Closing the context frees everything else. */
	end_close(&ep->end);
	end_mem_free(&ep->mem);
	free(ep->msgs);
	ep->msgs = NULL;
}

int ep_connect(struct ep *ep, const struct ep_addr *remote)
{
	struct weft_av av = weft_av_ip(remote->ip);

	ep->remote = *remote;
	if (ep_is_tcp(ep->o)) {
		/* It does not listen any more, but connects. */
		link_close(&ep->link);
		if (link_open(&ep->link, ep->o, ep->end.context, NULL))
			return -1;
		return link_call(&ep->link, ep->qp, remote->ip, remote->port,
				 ep->end.attr.max_rd_atomic);
	}
	if (ep->o->qp == WEFT_QPT_RC)
		return end_connect_rc(ep->qp, &av, remote->qpn, ep->o->transport,
				      ep->end.attr.max_rd_atomic, END_TIMEOUT);
	ep->ah = weft_create_ah(ep->end.pd, &av);
	return ep->ah ? 0 : fail("no address handle: %s", strerror(errno));
}

int ep_answer(struct ep *ep, const struct ep_addr *remote)
{
	if (!ep_is_tcp(ep->o))
		return ep_connect(ep, remote);
	ep->remote = *remote;
	return link_answer(&ep->link, ep->qp, END_ACCESS, ep->end.attr.max_rd_atomic);
}

int ep_established(struct ep *ep)
{
	return ep_is_tcp(ep->o)
		   ? link_finish(&ep->link, ep->qp, END_ACCESS, ep->end.attr.max_rd_atomic)
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
