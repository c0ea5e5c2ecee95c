/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rings of a memif between a client and a server in one process, over the same memory: every byte
 * of frames of all lengths, far past the end of 16-bit indices; then the test plays one of the two
 * and writes values that a valid peer would not.
 */
#include <rte_eal.h>
#include <rte_mbuf.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dpdk_app/client/hostmem.h"
#include "dpdk_app/wire/memif.h"
#include "tests/ut.h"

enum {
	FRAMES = 8192,
	ROOM = 9344,
	LOG2 = 7,
	SLOTS = 1 << LOG2,
	BUFFER = 2048,
	LARGEST = 9234,
	BURST = 32,
};

static struct rte_mempool *pool;
static struct memif_link *client, *server;
static struct memif_counts of_client, of_server;
static uint64_t now_ns;

/* Connects both ends, with buffers of the given size. */
static void begin(uint32_t buffer_bytes)
{
	static char *args[] = {"memif_ring_ut",  "--no-huge",   "-m", "128", "--no-pci",
			       "--no-telemetry", "--no-shconf", "-l", "0",   "--log-level=error"};
	struct memif_conf conf = {.frame_bytes = LARGEST, .buffer_bytes = buffer_bytes};
	struct memif_add_region region = {0};
	struct memif_add_ring ring = {.flags = MEMIF_RING_S2M, .log2_slots = LOG2};
	int fd;

	if (!pool) {
		CU_ASSERT_EQUAL_FATAL(hostmem_init(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), 0);
		CU_ASSERT_FATAL(rte_eal_init(sizeof(args) / sizeof(args[0]), args) >= 0);
		pool = rte_pktmbuf_pool_create("memif", FRAMES, 0, 0, RTE_PKTMBUF_HEADROOM + ROOM,
					       SOCKET_ID_ANY);
		CU_ASSERT_PTR_NOT_NULL_FATAL(pool);
	}
	client = memif_link_new(&conf);
	conf.server = true;
	server = memif_link_new(&conf);
	CU_ASSERT_FATAL(client && server && !memif_link_make(client, LOG2, &fd));
	region.bytes = client->region[0].bytes;
	CU_ASSERT_PTR_NULL_FATAL(memif_link_region(server, &region, fd));
	CU_ASSERT_PTR_NULL_FATAL(memif_link_ring(server, &ring, dup(client->tx.fd)));
	ring.flags = 0;
	ring.offset = (uint32_t)memif_ring_bytes(LOG2);
	CU_ASSERT_PTR_NULL_FATAL(memif_link_ring(server, &ring, dup(client->rx.fd)));
	memif_ring_begin(server);
	memif_ring_begin(client);
	memset(&of_client, 0, sizeof(of_client));
	memset(&of_server, 0, sizeof(of_server));
	now_ns = 1;
}

/* No frame is lost in between, and no buffer of the pool. */
static void end(void)
{
	memif_link_free(client);
	memif_link_free(server);
	CU_ASSERT_EQUAL(rte_mempool_avail_count(pool), FRAMES);
}

static uint8_t byte(uint64_t number, uint32_t at)
{
	return (uint8_t)(number * 31 + at * 7 + at / 256);
}

static uint32_t length(uint64_t number)
{
	return number % 3 ? 14 + (uint32_t)(number % 200) : 14 + (uint32_t)(number * 911 % 9220);
}

static struct rte_mbuf *frame(uint64_t number)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
	uint32_t bytes = length(number);

	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	for (uint32_t i = 0; i < bytes; i++)
		rte_pktmbuf_mtod(m, uint8_t *)[i] = byte(number, i);
	m->data_len = (uint16_t)bytes;
	m->pkt_len = bytes;
	return m;
}

static bool is_frame(const struct rte_mbuf *m, uint64_t number)
{
	bool same = m->pkt_len == length(number) && m->data_len == m->pkt_len && m->nb_segs == 1;

	for (uint32_t i = 0; same && i < m->pkt_len; i++)
		same = rte_pktmbuf_mtod(m, const uint8_t *)[i] == byte(number, i);
	return same;
}

static uint32_t receive(struct memif_link *link, struct memif_counts *counts,
			struct rte_mbuf **frames, uint32_t n)
{
	return memif_ring_rx(link, pool, counts, frames, n);
}

/* n frames from one to the other, in bursts of changing size. */
static void pass(struct memif_link *from, struct memif_link *to, uint64_t n)
{
	struct memif_counts out = {0}, in = {0};
	struct rte_mbuf *held[BURST], *got[BURST];
	uint64_t sent = 0, made = 0, received = 0;
	uint32_t holds = 0, wrong = 0;
	bool signal;

	for (uint64_t turn = 0; received < n && turn < n * 4; turn++) {
		uint32_t want = 1 + (uint32_t)(turn * 7 % BURST), k;

		while (holds < want && made < n)
			held[holds++] = frame(made++);
		k = memif_ring_tx(from, &out, held, holds, now_ns++, &signal);
		sent += k;
		holds -= k;
		memmove(held, held + k, holds * sizeof(held[0]));
		k = receive(to, &in, got, 1 + (uint32_t)(turn * 5 % BURST));
		for (uint32_t i = 0; i < k; i++)
			wrong += !is_frame(got[i], received++);
		rte_pktmbuf_free_bulk(got, k);
	}
	CU_ASSERT_EQUAL(received, n);
	CU_ASSERT_EQUAL(sent, n);
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_EQUAL(out.tx, n);
	CU_ASSERT_EQUAL(in.rx, n);
	CU_ASSERT_FALSE(from->broken || to->broken);
}

static void every_byte(void)
{
	static const uint32_t buffers[] = {10240, BUFFER, 704};

	for (uint32_t i = 0; i < 3; i++) {
		/* More than 65536 slots: the indices come round. */
		begin(buffers[i]);
		pass(client, server, 70000);
		pass(server, client, 70000);
		end();
	}
}

/* A frame of several pieces, sent as an answer to one that arrived so. */
static void pieces(void)
{
	struct rte_mbuf *m, *tail, *got[BURST];
	bool signal;

	begin(BUFFER);
	m = frame(4);
	tail = frame(6);
	m->next = tail;
	m->nb_segs = 2;
	m->pkt_len += tail->pkt_len;
	CU_ASSERT_EQUAL(memif_ring_tx(server, &of_server, &m, 1, now_ns, &signal), 1);
	CU_ASSERT_EQUAL_FATAL(receive(client, &of_client, got, BURST), 1);
	CU_ASSERT_EQUAL(got[0]->pkt_len, length(4) + length(6));
	for (uint32_t i = 0; i < got[0]->pkt_len; i++)
		CU_ASSERT_EQUAL(rte_pktmbuf_mtod(got[0], uint8_t *)[i],
				i < length(4) ? byte(4, i) : byte(6, i - length(4)));
	rte_pktmbuf_free(got[0]);
	end();
}

static void sleeper_is_signalled(void)
{
	struct rte_mbuf *m[BURST];
	bool signal;

	begin(10240);
	m[0] = frame(1);
	CU_ASSERT_EQUAL(memif_ring_tx(client, &of_client, m, 1, now_ns, &signal), 1);
	CU_ASSERT_FALSE(signal);
	/* It polls before it sleeps. */
	CU_ASSERT_TRUE(memif_ring_waiting(server));
	CU_ASSERT_EQUAL(receive(server, &of_server, m, BURST), 1);
	CU_ASSERT_FALSE(memif_ring_waiting(server));
	CU_ASSERT_EQUAL(memif_ring_tx(client, &of_client, m, 1, now_ns, &signal), 1);
	CU_ASSERT_TRUE(signal);
	CU_ASSERT_TRUE(memif_ring_waiting(server));
	CU_ASSERT_EQUAL(receive(server, &of_server, m, BURST), 1);
	CU_ASSERT_EQUAL(memif_ring_tx(client, &of_client, m, 1, now_ns, &signal), 1);
	CU_ASSERT_FALSE(signal);
	CU_ASSERT_EQUAL(receive(server, &of_server, m, BURST), 1);
	rte_pktmbuf_free(m[0]);
	end();
}

/* Waits a while for a peer that takes no frames, then drops. */
static void full_ring(struct memif_link *from, struct memif_counts *counts)
{
	struct rte_mbuf *m[SLOTS + 2];
	uint32_t sent = 0;
	bool signal;

	for (uint32_t i = 0; i < SLOTS + 2; i++)
		m[i] = frame(1);
	while (sent < SLOTS)
		sent += memif_ring_tx(from, counts, m + sent, BURST, now_ns, &signal);
	CU_ASSERT_EQUAL(sent, SLOTS);
	CU_ASSERT_EQUAL(memif_ring_tx(from, counts, m + sent, 2, now_ns, &signal), 0);
	now_ns += MEMIF_PAUSE_NS - 1;
	CU_ASSERT_EQUAL(memif_ring_tx(from, counts, m + sent, 2, now_ns, &signal), 0);
	now_ns += 1;
	CU_ASSERT_EQUAL(memif_ring_tx(from, counts, m + sent, 2, now_ns, &signal), 2);
	CU_ASSERT_EQUAL(counts->tx_full, 2);
	CU_ASSERT_FALSE(from->broken);
}

static void peer_takes_nothing(void)
{
	begin(10240);
	full_ring(client, &of_client);
	full_ring(server, &of_server);
	end();
}

/* Puts a descriptor into the client's ring unchanged, and publishes it. */
static void put(uint16_t flags, uint16_t region, uint32_t bytes, uint32_t offset)
{
	struct memif_ring_shared *shared = server->rx.shared;

	shared->desc[shared->head % SLOTS] = (struct memif_desc){flags, region, bytes, offset, 0};
	shared->head++;
}

static uint32_t received(struct memif_link *link, struct memif_counts *counts)
{
	struct rte_mbuf *got[BURST];
	uint32_t n = receive(link, counts, got, BURST);

	rte_pktmbuf_free_bulk(got, n);
	return n;
}

static void wrong_descriptors(void)
{
	uint32_t at;

	begin(BUFFER);
	at = (uint32_t)(client->tx.buffers - client->region[0].base);
	put(0, 1, 60, at);
	put(0, 0, 60, (uint32_t)server->region[0].bytes - 59);
	put(0, 0, 0x20, 0xfffffff0);
	put(0, 0, 0xffffffff, at);
	put(0, 0, 60, at);
	CU_ASSERT_EQUAL(received(server, &of_server), 1);
	CU_ASSERT_EQUAL(of_server.rx_bad_buffer, 4);
	put(0, 0, 13, at);
	put(0, 0, LARGEST + 1, at);
	put(0, 0, 0, at);
	put(MEMIF_DESC_NEXT, 0, LARGEST, at);
	put(0, 0, 1, at);
	put(MEMIF_DESC_NEXT, 0, LARGEST - 1, at);
	put(0, 0, 1, at);
	CU_ASSERT_EQUAL(received(server, &of_server), 1);
	CU_ASSERT_EQUAL(of_server.rx_bad_length, 4);
	/* One wrong piece spoils the frame, and no other. */
	put(MEMIF_DESC_NEXT, 0, 60, at);
	put(MEMIF_DESC_NEXT, 9, 60, at);
	put(0, 0, 60, at);
	put(0, 0, 60, at);
	CU_ASSERT_EQUAL(received(server, &of_server), 1);
	CU_ASSERT_EQUAL(of_server.rx_bad_buffer, 5);
	CU_ASSERT_EQUAL(of_server.rx, 3);
	CU_ASSERT_EQUAL(server->rx.shared->tail, server->rx.shared->head);
	CU_ASSERT_FALSE(server->broken);
	end();
}

static void chains(void)
{
	uint32_t at;

	begin(BUFFER);
	at = (uint32_t)(client->tx.buffers - client->region[0].base);
	for (uint32_t i = 0; i < MEMIF_CHAIN_MAX; i++)
		put(i + 1 < MEMIF_CHAIN_MAX, 0, 10, at);
	CU_ASSERT_EQUAL(received(server, &of_server), 1);
	/* One chain too long, dropped whole; the next frame is right. */
	for (uint32_t i = 0; i < 3 * MEMIF_CHAIN_MAX; i++)
		put(i + 1 < 3 * MEMIF_CHAIN_MAX, 0, 10, at);
	put(0, 0, 60, at);
	CU_ASSERT_EQUAL(received(server, &of_server), 1);
	CU_ASSERT_EQUAL(of_server.rx_bad_chain, 1);
	/* Flags left in a slot by a sender are cleared. */
	CU_ASSERT_EQUAL(server->rx.shared->desc[0].flags, 0);
	/* A chain without an end, then no further one. */
	put(MEMIF_DESC_NEXT, 0, 60, at);
	CU_ASSERT_EQUAL(received(server, &of_server), 0);
	CU_ASSERT_EQUAL(of_server.rx_bad_chain, 2);
	put(0, 0, 60, at);
	CU_ASSERT_EQUAL(received(server, &of_server), 1);
	end();
}

/* A ring full of useless slots takes several calls, each with a bound. */
static void bounded(void)
{
	struct memif_desc desc = {.flags = MEMIF_DESC_NEXT};
	uint16_t first;

	begin(BUFFER);
	for (uint32_t i = 0; i < SLOTS; i++)
		server->rx.shared->desc[i] = desc;
	server->rx.shared->head = SLOTS;
	first = server->rx.next;
	CU_ASSERT_EQUAL(received(server, &of_server), 0);
	CU_ASSERT_TRUE((uint16_t)(server->rx.next - first) <= MEMIF_BURST_SLOTS + MEMIF_CHAIN_MAX);
	while (server->rx.next != SLOTS)
		CU_ASSERT_EQUAL(received(server, &of_server), 0);
	CU_ASSERT_EQUAL(of_server.rx_bad_chain, 1);
	end();
}

static void indices_that_cannot_be(void)
{
	struct rte_mbuf *m;
	bool signal;

	for (uint32_t i = 0; i < 4; i++) {
		struct memif_link *link;
		struct memif_counts *counts = i < 2 ? &of_server : &of_client;

		begin(BUFFER);
		link = i < 2 ? server : client;
		if (i == 0)
			server->rx.shared->head = SLOTS + 1;
		else if (i == 1)
			server->tx.shared->head = SLOTS + 1;
		else if (i == 2)
			client->rx.shared->tail = SLOTS + 1;
		else
			client->tx.shared->tail = 1;
		if (i % 2) {
			m = frame(1);
			CU_ASSERT_EQUAL(memif_ring_tx(link, counts, &m, 1, now_ns, &signal), 0);
			rte_pktmbuf_free(m);
		} else {
			CU_ASSERT_EQUAL(received(link, counts), 0);
		}
		CU_ASSERT_TRUE(link->broken);
		CU_ASSERT_EQUAL(counts->bad_index, 1);
		CU_ASSERT_EQUAL(received(link, counts), 0);
		CU_ASSERT_FALSE(memif_ring_waiting(link));
		CU_ASSERT_EQUAL(counts->bad_index, 1);
		end();
	}
}

/* A client offers buffers outside its regions: the server writes to none of them. */
static void wrong_room(void)
{
	struct memif_ring_shared *shared;
	struct rte_mbuf *m;
	uint8_t *canary;
	bool signal;

	begin(BUFFER);
	shared = server->tx.shared;
	canary = client->region[0].base;
	shared->desc[0].offset = 0xfffffff0;
	shared->desc[1].region = 3;
	shared->desc[2].bytes = 0;
	shared->desc[3].offset = (uint32_t)server->region[0].bytes - BUFFER + 1;
	CU_ASSERT_EQUAL(canary[0], (uint8_t)MEMIF_COOKIE);
	m = frame(1);
	CU_ASSERT_EQUAL(memif_ring_tx(server, &of_server, &m, 1, now_ns, &signal), 1);
	CU_ASSERT_EQUAL(of_server.tx_bad_buffer, 4);
	CU_ASSERT_EQUAL(of_server.tx, 1);
	CU_ASSERT_EQUAL(shared->tail, 5);
	CU_ASSERT_EQUAL(shared->desc[3].bytes, 0);
	CU_ASSERT_EQUAL(shared->desc[4].bytes, length(1));
	/* A frame in more buffers than a chain has. */
	for (uint32_t i = 0; i < SLOTS; i++)
		shared->desc[i].bytes = 1;
	m = frame(4);
	CU_ASSERT_EQUAL(memif_ring_tx(server, &of_server, &m, 1, now_ns, &signal), 1);
	CU_ASSERT_EQUAL(of_server.tx_no_room, 1);
	CU_ASSERT_EQUAL(shared->tail, 5);
	end();
}

/* The server overwrites the client's descriptors: the client remembers where its buffers are. */
static void client_believes_no_place(void)
{
	struct rte_mbuf *got[BURST], *m;
	bool signal;

	begin(BUFFER);
	m = frame(5);
	CU_ASSERT_EQUAL(memif_ring_tx(server, &of_server, &m, 1, now_ns, &signal), 1);
	client->rx.shared->desc[0].offset = 0xfffffff0;
	client->rx.shared->desc[0].region = 99;
	CU_ASSERT_EQUAL_FATAL(receive(client, &of_client, got, BURST), 1);
	CU_ASSERT_TRUE(is_frame(got[0], 5));
	rte_pktmbuf_free(got[0]);
	client->rx.shared->desc[1].bytes = BUFFER + 1;
	client->rx.shared->tail = 2;
	CU_ASSERT_EQUAL(received(client, &of_client), 0);
	CU_ASSERT_EQUAL(of_client.rx_bad_buffer, 1);
	/* Both belong to the server again, unchanged. */
	CU_ASSERT_EQUAL(client->rx.shared->head, SLOTS + 2);
	CU_ASSERT_EQUAL(client->rx.shared->desc[0].region, 0);
	CU_ASSERT_EQUAL(client->rx.shared->desc[1].bytes, BUFFER);
	end();
}

/* The page at this place of a region cannot be allocated, as where memory is exhausted. */
static void lose_page(const struct memif_link *link, const void *at)
{
	uint64_t offset = (uint64_t)((const uint8_t *)at - link->region[0].base) & ~UINT64_C(4095);
	int fd = memfd_create("lost", MFD_CLOEXEC);
	void *page;

	CU_ASSERT_FATAL(fd >= 0 && !ftruncate(fd, 4096));
	page = mmap(link->region[0].base + offset, 4096, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_FIXED, fd, 0);
	CU_ASSERT_FATAL(page != MAP_FAILED && !ftruncate(fd, 0));
	close(fd);
}

/* A peer that punches its memory where none is left loses its connection, and no more. */
static void memory_goes(void)
{
	struct rte_mbuf *got[BURST], *m;
	bool signal;

	/* A buffer to read, one to write, and a ring. */
	for (uint32_t i = 0; i < 3; i++) {
		begin(BUFFER);
		m = frame(5);
		CU_ASSERT_EQUAL(memif_ring_tx(client, &of_client, &m, 1, now_ns, &signal), 1);
		if (i == 0)
			lose_page(server,
				  server->region[0].base + client->tx.shared->desc[0].offset);
		else if (i == 1)
			lose_page(server,
				  server->region[0].base + client->rx.shared->desc[0].offset);
		else
			lose_page(server, server->rx.shared);
		m = frame(6);
		CU_ASSERT_EQUAL(memif_ring_tx(server, &of_server, &m, 1, now_ns, &signal), i < 2);
		if (i == 2)
			rte_pktmbuf_free(m);
		else if (i == 0)
			rte_pktmbuf_free_bulk(got, receive(server, &of_server, got, BURST));
		CU_ASSERT_EQUAL(receive(server, &of_server, got, BURST), 0);
		CU_ASSERT_TRUE(server->broken);
		CU_ASSERT_EQUAL(of_server.bad_memory + of_server.bad_index, 1);
		CU_ASSERT_TRUE(hostmem_any_failed());
		end();
	}
}

UT_MAIN("dpdk_app/memif_ring", UT(every_byte), UT(pieces), UT(sleeper_is_signalled),
	UT(peer_takes_nothing), UT(wrong_descriptors), UT(chains), UT(bounded),
	UT(indices_that_cannot_be), UT(wrong_room), UT(client_believes_no_place), UT(memory_goes))
