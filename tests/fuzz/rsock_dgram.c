/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target rsock, datagrams: messages of any length and content to the UD QP of a socket, with
 * right headers as the input says. A datagram that the program gets has the bytes of its parts and
 * the address of the packet; all buffers are posted again in the end, and the memory for datagrams
 * in parts is bounded.
 *
 * Runs rs_end.c and rs_parts.c over verbs that this file plays; called by rsock.c.
 */
#include <stdlib.h>

#include "tests/fuzz/rsock.h"
#include "tests/fuzz/take.h"

/* The NIC is played, too. */
#define weft_cm_context      rsock_context_of
#define weft_cm_count_forged rsock_count_forged

#include "host_driver/rdmacm/rs_addr.c"
#include "host_driver/rdmacm/rs_end.c"
#include "host_driver/rdmacm/rs_parts.c"
#include "tests/bench/stubs/rs_stubs.h"

enum {
	SLOTS = 8,
	MTU = 1024,
	RCVBUF = 1 << 16,
	STEPS = 200,
};

static struct {
	struct ibv_context verbs;
	struct ibv_qp qp;
	struct ibv_cq cq;
	struct rdma_cm_id id;
	struct ibv_mr mr;
	struct rs_end end;
	struct rs_packet packets[SLOTS];
	struct rs_dgram dg;
	struct rs rs;
	bool posted[SLOTS];
	struct ibv_wc wc;
	bool has_wc;
} d;

struct weft_context *rsock_context_of(struct ibv_context *context)
{
	return (struct weft_context *)context;
}

void rsock_count_forged(struct weft_context *context)
{
	(void)context;
}

RS_STUBS_OF_END

static int post_recv_fn(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)qp;
	(void)bad;
	take_check(wr->wr_id < SLOTS && !d.posted[wr->wr_id], "a buffer is posted twice");
	d.posted[wr->wr_id] = true;
	return 0;
}

static int poll_cq_fn(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	int got = d.has_wc;

	(void)cq;
	(void)n;
	*wc = d.wc;
	d.has_wc = false;
	return got;
}

static void open_socket(struct take *in)
{
	memset(&d, 0, sizeof(d));
	d.verbs.ops.post_recv = post_recv_fn;
	d.verbs.ops.poll_cq = poll_cq_fn;
	d.qp.context = d.cq.context = &d.verbs;
	d.id.qp = &d.qp;
	d.id.verbs = &d.verbs;
	d.end = (struct rs_end){.id = &d.id,
				.cq = &d.cq,
				.mr = &d.mr,
				.slot_bytes = MTU + RS_GRH_BYTES,
				.num_recv = SLOTS,
				.packets = d.packets};
	d.end.mem = malloc((size_t)SLOTS * d.end.slot_bytes);
	take_check(d.end.mem != NULL, "no memory");
	for (uint32_t i = 0; i < SLOTS; i++)
		(void)post_recv(&d.end, i);
	d.dg.queue_end = &d.dg.queue;
	d.dg.ends[d.dg.num_ends++] = &d.end;
	d.rs.dgram = &d.dg;
	d.rs.opts.rcvbuf = RCVBUF;
	/* A connected socket, in every fourth input. */
	if (!(take_u8(in) & 3)) {
		struct sockaddr_in *peer = (struct sockaddr_in *)&d.rs.peer;

		peer->sin_family = AF_INET;
		peer->sin_port = htons(7000);
		peer->sin_addr.s_addr = htonl(0x0a4d0002);
	}
}

/* Fills the header; right says which fields fit. */
static void header(struct take *in, uint8_t *mem, uint32_t bytes)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	uint8_t *grh = mem, right = take_u8(in);
	struct rs_wire_dgram h;
	uint32_t whole = take_u16(in);

	take_bytes(in, &h, right & 0x80 ? sizeof(h) : 0);
	if (!(right & 0x80))
		memset(&h, 0, sizeof(h));
	if (right & 1)
		h.magic = be32_put(RS_WIRE_DGRAM_MAGIC);
	if (right & 2 && bytes >= RS_GRH_BYTES + sizeof(h))
		h.part_bytes = be16_put((uint16_t)(bytes - RS_GRH_BYTES - sizeof(h)));
	if (right & 4)
		h.bytes = h.part_bytes;
	if (right & 8)
		h.bytes = be16_put((uint16_t)whole);
	if (right & 16) {
		h.id = be32_put(take_u8(in) & 3);
		h.offset = be16_put((uint16_t)(take_u8(in) * (MTU / 4)));
	}
	h.src_port = be16_put(7000);
	memset(grh, 0, RS_GRH_BYTES);
	grh[RS_GRH_IP] = 0x45;
	memcpy(grh + RS_GRH_IP + RS_IP_SRC, "\x0a\x4d\x00\x02", 4);
	if (right & 32) {
		memcpy(h.src_ip, mapped, sizeof(mapped));
		memcpy(h.src_ip + 12, grh + RS_GRH_IP + RS_IP_SRC, 4);
	}
	memcpy(mem + RS_GRH_BYTES, &h, sizeof(h));
}

/* A message in a buffer that is posted. */
static void arrives(struct take *in)
{
	uint32_t i = 0, bytes = take_u16(in) % (MTU + RS_GRH_BYTES + 1);
	uint8_t *mem;

	while (i < SLOTS && !d.posted[i])
		i++;
	if (i == SLOTS)
		return;
	d.posted[i] = false;
	mem = recv_slot(&d.end, i);
	/* Each byte tells its place in the message. */
	for (uint32_t k = 0; k < d.end.slot_bytes; k++)
		mem[k] = (uint8_t)(k * 7);
	header(in, mem, bytes);
	d.wc = (struct ibv_wc){.wr_id = i,
			       .byte_len = bytes,
			       .wc_flags = take_u8(in) == 0xff ? 0 : IBV_WC_GRH,
			       .status = IBV_WC_SUCCESS};
	d.has_wc = true;
	(void)rs_end_progress(&d.rs, &d.end);
	if (d.has_wc)
		take_check(0, "a completion is left");
}

static void take_first(void)
{
	struct rs_packet *p = d.dg.queue;
	uint32_t sum = 0;

	take_check(p->bytes <= RS_DGRAM_BYTES_MAX, "a datagram beyond UDP's limit");
	take_check(p->src.sin_addr.s_addr == htonl(0x0a4d0002), "a forged address");
	/* All of it is read, so that the sanitizer sees what lies outside. */
	for (uint32_t i = 0; i < p->bytes; i++)
		sum += p->data[i];
	for (uint32_t i = 0; p->end && i < p->bytes; i++)
		take_check(p->data[i] ==
			       (uint8_t)((RS_GRH_BYTES + sizeof(struct rs_wire_dgram) + i) * 7),
			   "bytes of another message");
	(void)sum;
	d.dg.queue = p->next;
	if (!p->next)
		d.dg.queue_end = &d.dg.queue;
	rs_packet_done(&d.rs, p);
}

void rsock_dgram(struct take *in)
{
	uint32_t steps = 0, parts;

	open_socket(in);
	while (in->left && steps++ < STEPS) {
		if (take_u8(in) & 3)
			arrives(in);
		else if (d.dg.queue)
			take_first();
		parts = 0;
		for (const struct rs_packet *p = d.dg.parts; p; p = p->next)
			take_check(p->have < p->bytes || !p->have, "a whole datagram is kept"),
			    parts++;
		take_check(parts <= RS_PARTS_MAX && d.dg.queue_bytes <= RCVBUF,
			   "more memory than a socket may hold");
	}
	while (d.dg.queue)
		take_first();
	for (uint32_t i = 0; i < SLOTS; i++)
		take_check(d.posted[i], "a buffer is lost");
	take_check(!d.dg.queue_bytes, "bytes of no datagram are counted");
	rs_parts_free(&d.dg.parts);
	free(d.end.mem);
}
