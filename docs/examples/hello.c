/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hello: a message from one NIC to another, and a word of memory that the peer reads by itself: a
 * program of libweft in full. One process plays both ends, so nothing has to be exchanged first.
 *
 *	weftd --nics 2 &
 *	cc hello.c -o hello $(pkg-config --cflags --libs weft)
 *	./hello [NIC NIC]
 *
 * Started by users; docs/programming.md. Calls libweft alone.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>

enum {
	QKEY = 0x11111111, /* whoever knows it may send to our queue pairs */
	BUFFER_BYTES = 4096,
};

struct end {
	struct weft_context *nic;
	struct weft_pd *pd;
	struct weft_cq *cq;
	struct weft_qp *qp;
	struct weft_mr *mr;
	char *buffer;
};

static void fail(const char *what, int err)
{
	fprintf(stderr, "hello: %s: %s\n", what, strerror(err < 0 ? -err : err));
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
	struct weft_qp_init_attr init = {
	    .type = WEFT_QPT_RD, /* reliable datagrams: one queue pair for all peers */
	    .cap = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1},
	};
	int err;

	end->nic = must(weft_open_device(name), name);
	end->pd = must(weft_alloc_pd(end->nic), "weft_alloc_pd");
	end->buffer = must(weft_alloc(end->nic, BUFFER_BYTES), "weft_alloc");
	end->mr = must(weft_reg_mr(end->pd, end->buffer, BUFFER_BYTES,
				   WEFT_ACCESS_LOCAL_WRITE | WEFT_ACCESS_REMOTE_READ),
		       "weft_reg_mr");
	end->cq = must(weft_create_cq(end->nic, 64, NULL, NULL), "weft_create_cq");
	init.send_cq = init.recv_cq = end->cq;
	end->qp = must(weft_create_qp(end->pd, &init), "weft_create_qp");
	err = weft_activate_qp(end->qp, QKEY, WEFT_ACCESS_REMOTE_READ);
	if (err)
		fail("weft_activate_qp", err);
}

/* All that is left in a context goes with it. */
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
		fprintf(stderr, "hello: %s: %s (%s)\n", what, weft_wc_status_str(wc.status),
			weft_vendor_err_str(wc.vendor_err));
		exit(1);
	}
	return wc;
}

static void send_hello(struct end *from, struct end *to, struct weft_ah *ah)
{
	struct weft_sge in = {(uintptr_t)to->buffer, BUFFER_BYTES, to->mr->lkey};
	struct weft_sge out = {(uintptr_t)from->buffer, 0, from->mr->lkey};
	struct weft_recv_wr recv = {.sg_list = &in, .num_sge = 1};
	struct weft_send_wr send = {.sg_list = &out,
				    .num_sge = 1,
				    .opcode = WEFT_WR_SEND,
				    .flags = WEFT_SEND_SIGNALED,
				    .ah = ah,
				    .dst_qpn = to->qp->qpn,
				    .qkey = QKEY};
	struct weft_wc wc;
	int err;

	strcpy(from->buffer, "hello from the other NIC");
	out.bytes = (uint32_t)strlen(from->buffer);
	err = weft_post_recv(to->qp, &recv, NULL);
	if (!err)
		err = weft_post_send(from->qp, &send, NULL);
	if (err)
		fail("posting", err);
	wc = await(to, "receive");
	await(from, "send");
	printf("received %u bytes: %.*s\n", wc.bytes, (int)wc.bytes, to->buffer);
}

/* The peer's process takes no part: its NIC reads the memory. */
static void read_word(struct end *reader, struct end *owner, struct weft_ah *ah)
{
	struct weft_sge sink = {(uintptr_t)reader->buffer, 8, reader->mr->lkey};
	struct weft_send_wr read = {.sg_list = &sink,
				    .num_sge = 1,
				    .opcode = WEFT_WR_READ,
				    .flags = WEFT_SEND_SIGNALED,
				    .rkey = owner->mr->rkey,
				    .remote_addr = (uintptr_t)owner->buffer + 1024,
				    .ah = ah,
				    .dst_qpn = owner->qp->qpn,
				    .qkey = QKEY};
	uint64_t word = 42;
	int err;

	memcpy(owner->buffer + 1024, &word, sizeof(word));
	err = weft_post_send(reader->qp, &read, NULL);
	if (err)
		fail("posting", err);
	await(reader, "read");
	memcpy(&word, reader->buffer, sizeof(word));
	printf("read %llu\n", (unsigned long long)word);
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
	/* The peer is named by its address; between processes a socket or rdma_cm carries the QPN.
	 */
	err = weft_query_port(b.nic, &port);
	if (err)
		fail("weft_query_port", err);
	av = weft_av_ip(port.ip);
	ah = must(weft_create_ah(a.pd, &av), "weft_create_ah");
	send_hello(&a, &b, ah);
	read_word(&a, &b, ah);
	end_close(&a);
	end_close(&b);
	return 0;
}
