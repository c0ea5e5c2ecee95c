/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/rdmacm/rs_end.c: forged datagrams, and those of its own sending half.
 *
 * The test plays the UD QP: it keeps posted requests and makes completions. A message is in an
 * allocation that ends with the slot, so that the sanitizers detect every byte too many.
 */
#include <stdlib.h>

/* The test plays the NIC, too. */
#define weft_cm_context      context_of
#define weft_cm_count_forged count_forged

#include "host_driver/rdmacm/rs_addr.c"
#include "host_driver/rdmacm/rs_end.c"
#include "host_driver/rdmacm/rs_parts.c"
#include "tests/bench/stubs/rs_stubs.h"
#include "tests/ut.h"

enum {
	SLOTS = 8,
	MTU = 1024,
	SENT_MAX = 128,
	WCS = SENT_MAX,
};

static struct ibv_context verbs;
static struct ibv_qp qp;
static struct ibv_cq cq;
static struct rdma_cm_id id;
static struct ibv_mr mr;
static struct rs_end end;
static struct rs_packet packets[SLOTS];
static uint32_t free_sends[SENT_MAX];
static struct rs_dgram dg;
static struct rs rs;

static bool posted[SLOTS]; /* receives */
static struct ibv_wc wcs[WCS];
static int num_wcs;
static struct {
	uint32_t bytes;
	uint8_t mem[MTU];
} sent[SENT_MAX];
static int num_sent;
static uint32_t comes_from; /* network byte order; 0: the address that the message names */
static bool no_grh;
static int fail_send;

struct weft_context *context_of(struct ibv_context *context)
{
	CU_ASSERT_PTR_EQUAL(context, &verbs);
	return (struct weft_context *)&verbs;
}

static uint32_t num_told; /* sent to the NIC */

void count_forged(struct weft_context *context)
{
	CU_ASSERT_PTR_EQUAL(context, &verbs);
	num_told++;
}

/* ---- verbs ----------------------------------------------------------------------------------- */

static int post_recv_fn(struct ibv_qp *q, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	CU_ASSERT_PTR_EQUAL(q, &qp);
	(void)bad;
	CU_ASSERT_FATAL(wr->wr_id < SLOTS);
	CU_ASSERT_FALSE(posted[wr->wr_id]); /* twice at once */
	CU_ASSERT_EQUAL(wr->sg_list->addr, (uintptr_t)end.mem + wr->wr_id * end.slot_bytes);
	CU_ASSERT_EQUAL(wr->sg_list->length, end.slot_bytes);
	posted[wr->wr_id] = true;
	return 0;
}

static int post_send_fn(struct ibv_qp *q, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	CU_ASSERT_PTR_EQUAL(q, &qp);
	(void)bad;
	if (fail_send)
		return fail_send;
	CU_ASSERT_FATAL(num_sent < SENT_MAX && wr->sg_list->length <= MTU);
	sent[num_sent].bytes = wr->sg_list->length;
	memcpy(sent[num_sent++].mem, (void *)(uintptr_t)wr->sg_list->addr, wr->sg_list->length);
	CU_ASSERT_FATAL(num_wcs < WCS);
	wcs[num_wcs++] = (struct ibv_wc){.wr_id = wr->wr_id, .status = IBV_WC_SUCCESS};
	return 0;
}

static int poll_cq_fn(struct ibv_cq *c, int n, struct ibv_wc *wc)
{
	CU_ASSERT_PTR_EQUAL(c, &cq);
	n = n < num_wcs ? n : num_wcs;
	memcpy(wc, wcs, (size_t)n * sizeof(*wc));
	num_wcs -= n;
	memmove(wcs, wcs + n, (size_t)num_wcs * sizeof(*wcs));
	return n;
}

/* Not called: tests/clients/rs_data.c makes and closes an end, on a NIC. */
RS_STUBS_OF_END
RS_STUBS_OF_VERBS
RS_STUBS_OF_LOOKS
#undef ibv_reg_mr
RS_STUBS_BEGIN
RS_UNCALLED(int, ibv_dereg_mr, struct ibv_mr *m)
RS_UNCALLED(struct ibv_mr *, ibv_reg_mr_iova2, struct ibv_pd *pd, void *addr, size_t bytes,
	    uint64_t iova, unsigned int access)
RS_UNCALLED(struct ibv_mr *, ibv_reg_mr, struct ibv_pd *pd, void *addr, size_t bytes, int access)
RS_STUBS_END

static void setup(uint32_t sends)
{
	verbs.ops.post_recv = post_recv_fn;
	verbs.ops.post_send = post_send_fn;
	verbs.ops.poll_cq = poll_cq_fn;
	qp.context = cq.context = &verbs;
	id.qp = &qp;
	id.verbs = &verbs;
	memset(&rs, 0, sizeof(rs));
	memset(&dg, 0, sizeof(dg));
	memset(posted, 0, sizeof(posted));
	num_wcs = num_sent = fail_send = 0;
	end = (struct rs_end){.id = &id,
			      .cq = &cq,
			      .mr = &mr,
			      .slot_bytes = MTU + RS_GRH_BYTES,
			      .num_recv = SLOTS,
			      .num_send = sends,
			      .free_sends = free_sends,
			      .packets = packets};
	end.addr = (struct sockaddr_in){
	    .sin_family = AF_INET, .sin_port = htons(7000), .sin_addr.s_addr = htonl(0x0a4d0001)};
	end.mem = malloc((size_t)(SLOTS + sends) * end.slot_bytes);
	CU_ASSERT_PTR_NOT_NULL_FATAL(end.mem);
	for (uint32_t i = 0; i < sends; i++)
		free_sends[end.num_free++] = i;
	for (uint32_t i = 0; i < SLOTS; i++)
		CU_ASSERT_EQUAL(post_recv(&end, i), 0);
	dg.queue_end = &dg.queue;
	dg.ends[dg.num_ends++] = &end;
	dg.part_bytes = MTU - sizeof(struct rs_wire_dgram);
	rs.dgram = &dg;
	rs.opts.rcvbuf = 1 << 16;
}

static void take_first(void)
{
	struct rs_packet *p = dg.queue;

	dg.queue = p->next;
	if (!p->next)
		dg.queue_end = &dg.queue;
	rs_packet_done(&rs, p);
}

static void teardown(void)
{
	while (dg.queue)
		take_first();
	for (int i = 0; i < SLOTS; i++)
		CU_ASSERT_TRUE(posted[i]);
	CU_ASSERT_EQUAL(dg.queue_bytes, 0);
	rs_parts_free(&dg.parts);
	free(end.mem);
}

/* A message of these bytes arrives in a posted receive; false: there is none. */
static bool arrives(const void *msg, uint32_t bytes)
{
	uint32_t i = 0;
	uint8_t *slot;

	while (i < SLOTS && !posted[i])
		i++;
	if (i == SLOTS)
		return false;
	posted[i] = false;
	slot = recv_slot(&end, i);
	memset(slot, 0xee, RS_GRH_BYTES);
	memcpy(slot + RS_GRH_BYTES, msg, bytes);
	slot[20] = 0x45;
	if (comes_from)
		memcpy(slot + 32, &comes_from, 4);
	else if (bytes >= sizeof(struct rs_wire_dgram))
		memcpy(slot + 32, ((const struct rs_wire_dgram *)msg)->src_ip + 12, 4);
	wcs[num_wcs++] = (struct ibv_wc){.wr_id = i,
					 .status = IBV_WC_SUCCESS,
					 .byte_len = bytes + RS_GRH_BYTES,
					 .wc_flags = no_grh ? 0 : IBV_WC_GRH};
	CU_ASSERT_EQUAL(rs_end_progress(&rs, &end), 1);
	return true;
}

static int queued(void)
{
	int n = 0;

	for (const struct rs_packet *p = dg.queue; p; p = p->next)
		n++;
	return n;
}

/* ---- tests ----------------------------------------------------------------------------------- */

struct message {
	struct rs_wire_dgram h;
	uint8_t data[MTU - sizeof(struct rs_wire_dgram)];
};

static struct message good(uint32_t bytes, uint32_t offset, uint32_t part)
{
	struct message m = {.h = {.magic = be32_put(RS_WIRE_DGRAM_MAGIC),
				  .bytes = be16_put((uint16_t)bytes),
				  .id = be32_put(5),
				  .offset = be16_put((uint16_t)offset),
				  .part_bytes = be16_put((uint16_t)part),
				  .src_ip = {[10] = 0xff, [11] = 0xff, 10, 77, 0, 9}}};

	m.h.src_port = be16_put(99);
	for (size_t i = 0; i < sizeof(m.data); i++)
		m.data[i] = (uint8_t)(offset + i);
	return m;
}

static void one_message(void)
{
	const uint32_t head = sizeof(struct rs_wire_dgram);
	struct message m = good(10, 0, 10);

	setup(4);
	CU_ASSERT_TRUE(arrives(&m, head + 10));
	CU_ASSERT_EQUAL_FATAL(queued(), 1);
	CU_ASSERT_EQUAL(dg.queue->bytes, 10);
	CU_ASSERT_EQUAL(memcmp(dg.queue->data, m.data, 10), 0);
	CU_ASSERT_EQUAL(dg.queue->src.sin_port, htons(99));
	CU_ASSERT_EQUAL(dg.queue->src.sin_addr.s_addr, htonl(0x0a4d0009));
	take_first();
	/* of no bytes, of the most bytes */
	m = good(0, 0, 0);
	CU_ASSERT_TRUE(arrives(&m, head));
	m = good(sizeof(m.data), 0, sizeof(m.data));
	CU_ASSERT_TRUE(arrives(&m, MTU));
	CU_ASSERT_EQUAL(queued(), 2);
	/* a connected socket receives only from its peer */
	rs.peer = (struct sockaddr_storage){.ss_family = AF_INET};
	CU_ASSERT_TRUE(arrives(&m, MTU));
	CU_ASSERT_EQUAL(queued(), 2);
	((struct sockaddr_in *)&rs.peer)->sin_port = htons(99);
	((struct sockaddr_in *)&rs.peer)->sin_addr.s_addr = htonl(0x0a4d0009);
	CU_ASSERT_TRUE(arrives(&m, MTU));
	CU_ASSERT_EQUAL(queued(), 3);
	teardown();
}

/* These are dropped, and each returns its buffer. */
static void made_up(void)
{
	const uint32_t head = sizeof(struct rs_wire_dgram);
	struct message m = good(10, 0, 10);

	setup(4);
	for (uint32_t bytes = 0; bytes < head; bytes++)
		CU_ASSERT_TRUE(arrives(&m, bytes));
	CU_ASSERT_TRUE(arrives(&m, head + 9));
	CU_ASSERT_TRUE(arrives(&m, head + 11));
	CU_ASSERT_TRUE(arrives(&m, MTU));
	m.h.magic = be32_put(RS_WIRE_MAGIC);
	CU_ASSERT_TRUE(arrives(&m, head + 10));
	m = good(9, 0, 10); /* a part longer than the whole */
	CU_ASSERT_TRUE(arrives(&m, head + 10));
	m = good(65535, 65530, 10); /* wraps around the end of the numbers */
	CU_ASSERT_TRUE(arrives(&m, head + 10));
	m = good(65535, 0, 10); /* longer than a datagram */
	CU_ASSERT_TRUE(arrives(&m, head + 10));
	m = good(65507, 65507, 10);
	CU_ASSERT_TRUE(arrives(&m, head + 10));
	CU_ASSERT_EQUAL(queued(), 0);
	CU_ASSERT_PTR_NULL(dg.parts);
	CU_ASSERT_EQUAL(rs.error, 0);
	/* parts without a first one, and a first one without bytes, again and again */
	m = good(65507, 20, 10);
	CU_ASSERT_TRUE(arrives(&m, head + 10));
	CU_ASSERT_PTR_NULL(dg.parts);
	m = good(65507, 0, 0);
	for (int i = 0; i < 100; i++)
		CU_ASSERT_TRUE(arrives(&m, head));
	CU_ASSERT_PTR_NOT_NULL_FATAL(dg.parts);
	CU_ASSERT_PTR_NULL(dg.parts->next);
	CU_ASSERT_EQUAL(queued(), 0);
	teardown();
}

/* Messages that name an address other than their source are dropped, whole ones and parts. */
static void forged(void)
{
	const uint32_t head = sizeof(struct rs_wire_dgram);
	struct message m = good(10, 0, 10), part = good(20, 0, 10);

	setup(4);
	comes_from = htonl(0x0a4d0008);
	CU_ASSERT_TRUE(arrives(&m, head + 10));
	CU_ASSERT_TRUE(arrives(&part, head + 10));
	((struct sockaddr_in *)&rs.peer)->sin_family = AF_INET;
	((struct sockaddr_in *)&rs.peer)->sin_port = htons(99);
	((struct sockaddr_in *)&rs.peer)->sin_addr.s_addr = htonl(0x0a4d0009);
	CU_ASSERT_TRUE(arrives(&m, head + 10));
	comes_from = 0;
	/* Likewise if the NIC reports no source, or no IPv4 address. */
	no_grh = true;
	CU_ASSERT_TRUE(arrives(&m, head + 10));
	no_grh = false;
	m.h.src_ip[0] = 0xfe;
	CU_ASSERT_TRUE(arrives(&m, head + 10));
	CU_ASSERT_EQUAL(queued(), 0);
	CU_ASSERT_PTR_NULL(dg.parts);
	CU_ASSERT_EQUAL(dg.num_forged, 5);
	CU_ASSERT_EQUAL(num_told, 5);
	m = good(10, 0, 10);
	CU_ASSERT_TRUE(arrives(&m, head + 10));
	CU_ASSERT_EQUAL(queued(), 1);
	teardown();
}

/* Random headers and right ones with flipped bits: memory stays bounded, buffers return. */
static void random_headers(void)
{
	uint32_t lcg = 1, heard = 0;

	setup(4);
	for (int i = 0; i < 200000; i++) {
		uint32_t part, bytes, parts = 0;
		struct message m;

		lcg = lcg * 1664525 + 1013904223;
		part = (lcg >> 8) % sizeof(m.data);
		m = good(part * (1 + (lcg >> 28)), part * (lcg >> 20 & 3), part);
		m.h.id = be32_put(lcg >> 30);
		if (lcg & 128)
			((uint8_t *)&m.h)[(lcg >> 12) % sizeof(m.h)] ^= (uint8_t)(lcg >> 16);
		bytes = lcg & 64 ? (lcg >> 9) % MTU : (uint32_t)sizeof(m.h) + part;
		if (!arrives(&m, bytes) || queued() > (int)(lcg >> 29)) {
			CU_ASSERT_FATAL(dg.queue != NULL);
			heard++;
			take_first();
		}
		for (const struct rs_packet *p = dg.parts; p; p = p->next)
			parts++;
		CU_ASSERT_FATAL(parts <= RS_PARTS_MAX);
		CU_ASSERT_FATAL(dg.queue_bytes <= rs.opts.rcvbuf);
	}
	CU_ASSERT_TRUE(heard > 1000);
	CU_ASSERT_EQUAL(rs.error, 0);
	teardown();
}

/* The receiving half reassembles every length that the sending half cuts. */
static void there_and_back(void)
{
	static const uint32_t lengths[] = {0, 1, 991, 992, 993, 1984, 1985, 65507};
	struct rs_dest dest = {.end = &end};
	uint8_t *data = malloc(RS_DGRAM_BYTES_MAX);

	CU_ASSERT_PTR_NOT_NULL_FATAL(data);
	setup(SENT_MAX);
	for (uint32_t i = 0; i < RS_DGRAM_BYTES_MAX; i++)
		data[i] = (uint8_t)(i * 31 >> 3);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		uint32_t n = lengths[i], third = n / 3;
		struct iovec iov[4] = {{data, third},
				       {NULL, 0},
				       {data + third, third},
				       {data + 2 * third, n - 2 * third}};

		num_sent = 0;
		CU_ASSERT_EQUAL(rs_end_send(&rs, &dest, iov, 4, n), 1);
		while (num_wcs)
			CU_ASSERT_TRUE(rs_end_progress(&rs, &end) > 0);
		CU_ASSERT_EQUAL(end.num_free, end.num_send);
		for (int k = 0; k < num_sent; k++)
			CU_ASSERT_TRUE(arrives(sent[k].mem, sent[k].bytes));
		CU_ASSERT_EQUAL_FATAL(queued(), 1);
		CU_ASSERT_EQUAL(dg.queue->bytes, n);
		CU_ASSERT_EQUAL(memcmp(dg.queue->data, data, n), 0);
		CU_ASSERT_EQUAL(dg.queue->src.sin_addr.s_addr, end.addr.sin_addr.s_addr);
		CU_ASSERT_EQUAL(dg.queue->src.sin_port, end.addr.sin_port);
		take_first();
	}
	teardown();
	free(data);
}

/* Too few buffers now, too few ever, a QP that refuses. */
static void sending_limits(void)
{
	struct rs_dest dest = {.end = &end};
	uint8_t data[4 * MTU] = {0};
	struct iovec iov = {data, sizeof(data)};

	setup(4);
	CU_ASSERT_EQUAL(rs_end_send(&rs, &dest, &iov, 1, 4 * 992 + 1), -EMSGSIZE);
	CU_ASSERT_EQUAL(rs_end_send(&rs, &dest, &iov, 1, 3 * 992), 1);
	CU_ASSERT_EQUAL(rs_end_send(&rs, &dest, &iov, 1, 992 + 1), 0);
	CU_ASSERT_EQUAL(rs_end_send(&rs, &dest, &iov, 1, 992), 1);
	CU_ASSERT_EQUAL(end.num_free, 0);
	CU_ASSERT_EQUAL(rs_end_progress(&rs, &end), 4);
	CU_ASSERT_EQUAL(end.num_free, 4);
	fail_send = ENOMEM;
	CU_ASSERT_EQUAL(rs_end_send(&rs, &dest, &iov, 1, 1), -ENOMEM);
	CU_ASSERT_EQUAL(end.num_free, 4);
	/* one that fails on the NIC returns its buffer, and is reported */
	fail_send = 0;
	CU_ASSERT_EQUAL(rs_end_send(&rs, &dest, &iov, 1, 1), 1);
	wcs[0].status = IBV_WC_GENERAL_ERR;
	CU_ASSERT_EQUAL(rs_end_progress(&rs, &end), 1);
	CU_ASSERT_EQUAL(end.num_free, 4);
	CU_ASSERT_EQUAL(rs.error, ENETDOWN);
	teardown();
}

/* Unread long datagrams take no more memory than the receive buffer's size. */
static void unread_bounded(void)
{
	struct rs_dest dest = {.end = &end};
	static uint8_t data[30000];
	struct iovec iov = {data, sizeof(data)};

	setup(SENT_MAX);
	for (int i = 0; i < 10; i++) {
		num_sent = 0;
		CU_ASSERT_EQUAL(rs_end_send(&rs, &dest, &iov, 1, sizeof(data)), 1);
		while (num_wcs)
			CU_ASSERT_TRUE(rs_end_progress(&rs, &end) > 0);
		for (int k = 0; k < num_sent; k++)
			CU_ASSERT_TRUE(arrives(sent[k].mem, sent[k].bytes));
	}
	CU_ASSERT_EQUAL(queued(), 2);
	CU_ASSERT_EQUAL(dg.queue_bytes, 2 * sizeof(data));
	teardown();
}

UT_MAIN("rdmacm/rs_end", UT(one_message), UT(made_up), UT(forged), UT(random_headers),
	UT(there_and_back), UT(sending_limits), UT(unread_bounded))
