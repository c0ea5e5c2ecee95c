/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tagged: messages with tags, which the NIC matches with receives: a program of weft_tag.h in full.
 * One process plays both ends, so nothing has to be exchanged first.
 *
 *	weftd --nics 2 &
 *	cc tagged.c -o tagged $(pkg-config --cflags --libs weft)
 *	./tagged [NIC NIC]
 *
 * Started by users; docs/programming.md. Calls libweft alone.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft_tag.h>

enum {
	QKEY = 0x11111111, /* the same at all endpoints that talk to each other */
	BUFFER_BYTES = 1 << 20,
};

struct end {
	struct weft_context *nic;
	struct weft_pd *pd;
	struct weft_cq *cq;
	struct weft_tag_ep *ep;
	struct weft_mr *mr;
	char *buffer;
};

static void fail(const char *what, int err)
{
	fprintf(stderr, "tagged: %s: %s\n", what, strerror(err < 0 ? -err : err));
	exit(1);
}

/* Calls that return pointers say why by errno, the others by what they return. */
static void *must(void *object, const char *what)
{
	if (!object)
		fail(what, errno);
	return object;
}

static void end_open(struct end *end, const char *name)
{
	struct weft_tag_attr attr = {.qkey = QKEY};

	end->nic = must(weft_open_device(name), name);
	end->pd = must(weft_alloc_pd(end->nic), "weft_alloc_pd");
	end->buffer = must(weft_alloc(end->nic, BUFFER_BYTES), "weft_alloc");
	end->mr = must(weft_reg_mr(end->pd, end->buffer, BUFFER_BYTES, WEFT_ACCESS_LOCAL_WRITE),
		       "weft_reg_mr");
	end->cq = must(weft_create_cq(end->nic, 64, NULL, NULL), "weft_create_cq");
	attr.send_cq = attr.recv_cq = end->cq;
	end->ep = must(weft_open_tag_ep(end->pd, &attr), "weft_open_tag_ep");
}

/* Endpoint and all else that is left in a context go with it. */
static void end_close(struct end *end)
{
	weft_close_device(end->nic);
	weft_free(end->buffer, BUFFER_BYTES);
}

/* Polls until a completion is there; a failed one ends the program. */
static struct weft_wc await(struct end *end, const char *what)
{
	struct weft_wc wc;
	int n;

	do
		n = weft_poll_cq(end->cq, 1, &wc);
	while (n == 0);
	if (n < 0)
		fail(what, n);
	if (wc.status != WEFT_WC_SUCCESS) {
		fprintf(stderr, "tagged: %s: %s (%s)\n", what, weft_wc_status_str(wc.status),
			weft_vendor_err_str(wc.vendor_err));
		exit(1);
	}
	return wc;
}

static void send_text(struct end *from, struct weft_ah *ah, const struct end *to, uint64_t tag,
		      const char *text)
{
	/* Inline data is copied by the call and needs no registration. */
	struct weft_sge sge = {(uintptr_t)text, (uint32_t)strlen(text), 0};
	struct weft_tag_send_wr wr = {.sg_list = &sge,
				      .num_sge = 1,
				      .flags = WEFT_TAG_INLINE,
				      .ah = ah,
				      .dst_qpn = to->ep->qp->qpn,
				      .tag = tag};
	int err = weft_tag_send(from->ep, &wr);

	if (err)
		fail("weft_tag_send", err);
	await(from, "send");
}

static void receive(struct end *end, uint64_t tag, uint64_t ignore)
{
	struct weft_sge sge = {(uintptr_t)end->buffer, BUFFER_BYTES, end->mr->lkey};
	struct weft_tag_recv_wr wr = {.sg_list = &sge,
				      .num_sge = 1,
				      .src_qpn = WEFT_TAG_ANY_QPN,
				      .tag = tag,
				      .ignore = ignore};
	struct weft_wc wc;
	int err = weft_tag_recv(end->ep, &wr, NULL);

	if (err)
		fail("weft_tag_recv", err);
	wc = await(end, "receive");
	printf("tag %llu: %.*s\n", (unsigned long long)wc.tag, (int)wc.bytes, end->buffer);
}

/* A message that is too long to be buffered: the receiver's NIC fetches it when it matches. */
static void send_long(struct end *from, struct weft_ah *ah, struct end *to)
{
	struct weft_sge out = {(uintptr_t)from->buffer, BUFFER_BYTES, from->mr->lkey};
	struct weft_sge in = {(uintptr_t)to->buffer, BUFFER_BYTES, to->mr->lkey};
	struct weft_tag_send_wr send = {
	    .sg_list = &out, .num_sge = 1, .ah = ah, .dst_qpn = to->ep->qp->qpn, .tag = 3};
	struct weft_tag_recv_wr recv = {.sg_list = &in, .num_sge = 1, .tag = 3};
	struct weft_wc wc;
	int err;

	memset(from->buffer, 'x', BUFFER_BYTES);
	err = weft_tag_send(from->ep, &send);
	if (!err)
		err = weft_tag_recv(to->ep, &recv, NULL);
	if (err)
		fail("posting", err);
	/* A program would compute here: both NICs go on by themselves. */
	wc = await(to, "receive");
	await(from, "send");
	printf("tag %llu: %u bytes\n", (unsigned long long)wc.tag, wc.bytes);
}

int main(int argc, char **argv)
{
	struct weft_port_attr port;
	struct end a, b;
	struct weft_av av;
	struct weft_ah *ah;
	int err;

	end_open(&a, argc > 2 ? argv[1] : "weft0");
	end_open(&b, argc > 2 ? argv[2] : "weft1");
	err = weft_query_port(b.nic, &port);
	if (err)
		fail("weft_query_port", err);
	av = weft_av_ip(port.ip);
	ah = must(weft_create_ah(a.pd, &av), "weft_create_ah");
	send_text(&a, ah, &b, 1, "the first message");
	send_text(&a, ah, &b, 2, "the second one");
	/* The NIC has kept both; they are received by tag, then in the order of their arrival. */
	receive(&b, 2, 0);
	receive(&b, 0, ~UINT64_C(0));
	send_long(&a, ah, &b);
	end_close(&a);
	end_close(&b);
	return 0;
}
