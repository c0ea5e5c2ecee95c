/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/rdmacm/rs_flow.c: rings, credits, sizes; and rs_parts.c: datagrams in parts.
 *
 * The test plays both ends of a stream; the wire between them is a queue of the messages in flight,
 * in which credits arrive late.
 */
#include <stdlib.h>
#include <string.h>

#include "host_driver/rdmacm/rs_flow.c"
#include "host_driver/rdmacm/rs_parts.c"
#include "tests/ut.h"

static uint32_t lcg = 12345;

static uint32_t random_below(uint32_t n)
{
	lcg = lcg * 1664525 + 1013904223;
	return (lcg >> 8) % n;
}

/* The bytes of a stream are a function of their place in it. */
static uint8_t byte_at(uint64_t i)
{
	return (uint8_t)(i * 167 >> 3 ^ i);
}

struct play {
	struct rs_tx_flow tx;
	struct rs_rx_flow rx;
	uint8_t *ring;
	uint64_t sent, read;
	uint32_t credits[RS_CTL_MSGS]; /* not yet received by the sender */
	uint32_t num_credits, most_credits;
};

static void play_init(struct play *p, uint32_t ring_bytes, uint32_t msgs)
{
	*p = (struct play){.ring = malloc(ring_bytes)};
	CU_ASSERT_EQUAL_FATAL(rs_tx_init(&p->tx, ring_bytes, msgs), 0);
	CU_ASSERT_EQUAL_FATAL(rs_rx_init(&p->rx, ring_bytes, msgs), 0);
}

static void play_free(struct play *p)
{
	rs_fifo_free(&p->tx.msgs);
	rs_fifo_free(&p->rx.msgs);
	free(p->ring);
}

static bool play_send(struct play *p, uint32_t want)
{
	uint32_t bytes = rs_tx_piece(&p->tx, want), at;

	if (!bytes)
		return false;
	at = rs_tx_sent(&p->tx, bytes);
	for (uint32_t i = 0; i < bytes; i++)
		p->ring[at + i] = byte_at(p->sent + i);
	p->sent += bytes;
	CU_ASSERT_EQUAL_FATAL(rs_rx_arrived(&p->rx, bytes), 0);
	return true;
}

static void play_read(struct play *p, uint32_t most)
{
	uint32_t offset = 0, bytes = rs_rx_stretch(&p->rx, 0, &offset), n, wrong = 0;

	if (bytes > most)
		bytes = most;
	for (uint32_t i = 0; i < bytes; i++)
		wrong += p->ring[offset + i] != byte_at(p->read + i);
	CU_ASSERT_EQUAL_FATAL(wrong, 0);
	p->read += bytes;
	rs_rx_read(&p->rx, bytes);
	n = rs_rx_take_credits(&p->rx);
	if (n) {
		CU_ASSERT_FATAL(p->num_credits < RS_CTL_MSGS);
		p->credits[p->num_credits++] = n;
	}
	if (p->num_credits > p->most_credits)
		p->most_credits = p->num_credits;
}

static void play_credit(struct play *p)
{
	if (!p->num_credits)
		return;
	CU_ASSERT_EQUAL_FATAL(rs_tx_credit(&p->tx, p->credits[0]), 0);
	p->num_credits--;
	memmove(p->credits, p->credits + 1, p->num_credits * sizeof(uint32_t));
}

/*
 * Any interleaving keeps the order and ends: credits are never too few, nor more than can be
 * received.
 */
static void flows(void)
{
	static const uint32_t rings[] = {4096, 5000, 65536, 1 << 20}, rooms[] = {4, 7, 384};

	for (unsigned int k = 0; k < 12; k++) {
		uint32_t ring = rings[k % 4], longest = k % 2 ? ring * 2 : ring / 50;
		struct play p;

		play_init(&p, ring, rooms[k / 4]);
		for (int step = 0; step < 20000; step++) {
			switch (random_below(4)) {
			case 0:
			case 1:
				(void)play_send(&p, 1 + random_below(longest));
				break;
			case 2:
				play_read(&p, 1 + random_below(longest));
				break;
			default:
				if (random_below(4) == 0)
					play_credit(&p);
			}
		}
		CU_ASSERT_TRUE(p.sent > ring);
		/*
		 * Once all is read and all credits have arrived, a message of any size can be sent.
		 */
		while (p.read < p.sent)
			play_read(&p, UINT32_MAX);
		while (p.num_credits)
			play_credit(&p);
		CU_ASSERT_TRUE(rs_tx_piece(&p.tx, UINT32_MAX) > 0);
		CU_ASSERT_TRUE(p.most_credits <= 4);
		play_free(&p);
	}
}

/* The sender stops at the end of the ring and continues at its start. */
static void around_the_end(void)
{
	struct rs_tx_flow tx;

	CU_ASSERT_EQUAL_FATAL(rs_tx_init(&tx, 4096, 16), 0);
	CU_ASSERT_EQUAL(rs_tx_piece(&tx, 5000), 1024);
	CU_ASSERT_EQUAL(rs_tx_sent(&tx, 1000), 0);
	CU_ASSERT_EQUAL(rs_tx_sent(&tx, 1000), 1000);
	CU_ASSERT_EQUAL(rs_tx_sent(&tx, 1000), 2000);
	CU_ASSERT_EQUAL(rs_tx_sent(&tx, 1000), 3000);
	CU_ASSERT_EQUAL(rs_tx_piece(&tx, 500), 96);
	CU_ASSERT_EQUAL(rs_tx_sent(&tx, 96), 4000);
	CU_ASSERT_EQUAL(tx.at, 0);
	CU_ASSERT_EQUAL(rs_tx_piece(&tx, 1), 0);
	CU_ASSERT_EQUAL(rs_tx_credit(&tx, 1), 0);
	CU_ASSERT_EQUAL(rs_tx_piece(&tx, 1001), 0);
	CU_ASSERT_EQUAL(rs_tx_piece(&tx, 1000), 1000);
	CU_ASSERT_EQUAL(rs_tx_credit(&tx, 5), -EPROTO);
	rs_fifo_free(&tx.msgs);
}

/* Messages that a peer must not send. */
static void hostile_peer(void)
{
	struct rs_rx_flow rx;

	CU_ASSERT_EQUAL_FATAL(rs_rx_init(&rx, 4096, 4), 0);
	CU_ASSERT_EQUAL(rs_rx_arrived(&rx, 4097), -EPROTO);
	CU_ASSERT_EQUAL(rs_rx_arrived(&rx, UINT32_MAX), -EPROTO);
	CU_ASSERT_EQUAL(rs_rx_arrived(&rx, 4000), 0);
	CU_ASSERT_EQUAL(rs_rx_arrived(&rx, 97), -EPROTO); /* wraps around the end */
	CU_ASSERT_EQUAL(rs_rx_arrived(&rx, 96), 0);
	CU_ASSERT_EQUAL(rs_rx_arrived(&rx, 1), -EPROTO); /* overwrites unread bytes */
	rs_rx_read(&rx, 3999);
	CU_ASSERT_EQUAL(rs_rx_arrived(&rx, 1), -EPROTO); /* not freed yet */
	rs_rx_read(&rx, 1);
	CU_ASSERT_EQUAL(rs_rx_arrived(&rx, 1), -EPROTO);
	CU_ASSERT_EQUAL(rs_rx_take_credits(&rx), 1);
	CU_ASSERT_EQUAL(rs_rx_arrived(&rx, 1), 0);
	CU_ASSERT_EQUAL(rs_rx_arrived(&rx, 1), 0);
	CU_ASSERT_EQUAL(rs_rx_arrived(&rx, 1), 0);
	CU_ASSERT_EQUAL(rs_rx_arrived(&rx, 1), -EPROTO); /* a fifth message */
	rs_fifo_free(&rx.msgs);
}

/* Messages without bytes count as messages, and are read along with the bytes before them. */
static void empty_messages(void)
{
	struct rs_rx_flow rx;
	uint32_t offset;

	CU_ASSERT_EQUAL_FATAL(rs_rx_init(&rx, 4096, 4), 0);
	CU_ASSERT_EQUAL(rs_rx_arrived(&rx, 0), 0);
	CU_ASSERT_EQUAL(rx.credits, 1);
	CU_ASSERT_EQUAL(rs_rx_arrived(&rx, 10), 0);
	CU_ASSERT_EQUAL(rs_rx_arrived(&rx, 0), 0);
	CU_ASSERT_EQUAL(rx.credits, 1);
	CU_ASSERT_EQUAL(rs_rx_stretch(&rx, 4, &offset), 6);
	CU_ASSERT_EQUAL(offset, 4);
	CU_ASSERT_EQUAL(rs_rx_stretch(&rx, 10, &offset), 0);
	rs_rx_read(&rx, 10);
	CU_ASSERT_EQUAL(rs_rx_take_credits(&rx), 3);
	CU_ASSERT_EQUAL(rs_rx_take_credits(&rx), 0);
	rs_fifo_free(&rx.msgs);
}

static void send_buffer(void)
{
	struct rs_tx_buf buf;

	rs_buf_init(&buf, 100);
	CU_ASSERT_EQUAL(rs_buf_room(&buf, 1000), 100);
	CU_ASSERT_EQUAL(rs_buf_take(&buf, 60), 0);
	CU_ASSERT_EQUAL(rs_buf_room(&buf, 1000), 40);
	CU_ASSERT_EQUAL(rs_buf_take(&buf, 40), 60);
	CU_ASSERT_EQUAL(rs_buf_room(&buf, 1), 0);
	rs_buf_release(&buf, 60);
	CU_ASSERT_EQUAL(rs_buf_room(&buf, 1000), 60);
	CU_ASSERT_EQUAL(rs_buf_take(&buf, 10), 0);
	rs_buf_release(&buf, 40);
	CU_ASSERT_EQUAL(rs_buf_room(&buf, 1000), 90);
}

/* ---- parts ----------------------------------------------------------------------------------- */

static struct rs_wire_dgram header(uint32_t id, uint32_t bytes, uint32_t offset, uint32_t part)
{
	return (struct rs_wire_dgram){.magic = be32_put(RS_WIRE_DGRAM_MAGIC),
				      .bytes = be16_put((uint16_t)bytes),
				      .id = be32_put(id),
				      .offset = be16_put((uint16_t)offset),
				      .part_bytes = be16_put((uint16_t)part)};
}

static void parts_in_order(void)
{
	struct sockaddr_in a = {.sin_port = 1}, b = {.sin_port = 2};
	struct rs_wire_dgram first = header(7, 6, 0, 4), second = header(7, 6, 4, 2);
	struct rs_packet *list = NULL, *p;

	CU_ASSERT_PTR_NULL(
	    rs_parts_add(&list, &second, &a, (const uint8_t *)"ef")); /* lost before */
	CU_ASSERT_PTR_NULL(list);
	CU_ASSERT_PTR_NULL(rs_parts_add(&list, &first, &a, (const uint8_t *)"abcd"));
	CU_ASSERT_PTR_NULL(rs_parts_add(&list, &first, &b, (const uint8_t *)"ABCD"));
	CU_ASSERT_PTR_NULL(rs_parts_add(&list, &first, &b, (const uint8_t *)"ABCD")); /* twice */
	p = rs_parts_add(&list, &second, &a, (const uint8_t *)"ef");
	CU_ASSERT_PTR_NOT_NULL_FATAL(p);
	CU_ASSERT_EQUAL(p->bytes, 6);
	CU_ASSERT_EQUAL(memcmp(p->data, "abcdef", 6), 0);
	free(p);
	p = rs_parts_add(&list, &second, &b, (const uint8_t *)"EF");
	CU_ASSERT_PTR_NOT_NULL_FATAL(p);
	CU_ASSERT_EQUAL(memcmp(p->data, "ABCDEF", 6), 0);
	CU_ASSERT_EQUAL(p->src.sin_port, 2);
	free(p);
	CU_ASSERT_PTR_NULL(list);
}

/* Datagrams that never become complete make room for others. */
static void parts_bounded(void)
{
	struct sockaddr_in src = {.sin_port = 1};
	struct rs_packet *list = NULL;
	int n = 0;

	for (uint32_t id = 0; id < 100; id++) {
		struct rs_wire_dgram h = header(id, 6, 0, 4);

		CU_ASSERT_PTR_NULL(rs_parts_add(&list, &h, &src, (const uint8_t *)"abcd"));
	}
	for (struct rs_packet *p = list; p; p = p->next)
		n++;
	CU_ASSERT_EQUAL(n, RS_PARTS_MAX);
	CU_ASSERT_EQUAL(list->id, 99);
	rs_parts_free(&list);
	CU_ASSERT_PTR_NULL(list);
}

static void part_headers(void)
{
	struct rs_wire_dgram h = header(1, 100, 90, 10);

	CU_ASSERT_TRUE(rs_parts_valid(&h, sizeof(h) + 10));
	CU_ASSERT_FALSE(rs_parts_valid(&h, sizeof(h) + 11));
	CU_ASSERT_FALSE(rs_parts_valid(&h, sizeof(h) - 1));
	h = header(1, 100, 91, 10);
	CU_ASSERT_FALSE(rs_parts_valid(&h, sizeof(h) + 10));
	h = header(1, RS_DGRAM_BYTES_MAX + 1, 0, 10);
	CU_ASSERT_FALSE(rs_parts_valid(&h, sizeof(h) + 10));
	h = header(1, 0, 0, 0);
	CU_ASSERT_TRUE(rs_parts_valid(&h, sizeof(h)));
	h.magic = be32_put(0);
	CU_ASSERT_FALSE(rs_parts_valid(&h, sizeof(h)));
}

UT_MAIN("rdmacm/rs_flow", UT(flows), UT(around_the_end), UT(hostile_peer), UT(empty_messages),
	UT(send_buffer), UT(parts_in_order), UT(parts_bounded), UT(part_headers))
