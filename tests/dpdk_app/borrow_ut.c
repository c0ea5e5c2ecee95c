/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Borrowed frames: when one is made, its content at the receiver, how long each side holds it, and
 * its settlement when the process takes its memory back.
 *
 * Runs dpdk_app/borrow.c on a small pool of DPDK; the memory of a process is an array here.
 */
#include <rte_eal.h>
#include <rte_mbuf.h>
#include <stdlib.h>

#include "dpdk_app/accel.h"
#include "dpdk_app/borrow.h"
#include "dpdk_app/gather.h"
#include "shared_defs/wire_dgram.h"
#include "shared_defs/wire_ip.h"
#include "shared_defs/wire_iwarp.h"
#include "shared_defs/wire_mpa.h"
#include "shared_defs/wire_tcp.h"
#include "tests/ut.h"

enum {
	FRAMES = 2 * APP_MAX_BORROWED,
	ROOM = 4096,
	HDR_BYTES = 100,
	IP_BYTES = 34,
};

static struct rte_mempool *pool;
static struct app app;
static struct nic nic;
static struct shard shard;
static struct fw_tx_frame frame;
static uint8_t memory[ROOM];

static void begin(void)
{
	static char *args[] = {"borrow_ut",      "--no-huge",   "-m", "32", "--no-pci",
			       "--no-telemetry", "--no-shconf", "-l", "0",  "--log-level=error"};

	if (!pool) {
		CU_ASSERT_FATAL(rte_eal_init(sizeof(args) / sizeof(args[0]), args) >= 0);
		pool = rte_pktmbuf_pool_create("borrow", FRAMES, 0, 0, RTE_PKTMBUF_HEADROOM + ROOM,
					       SOCKET_ID_ANY);
		CU_ASSERT_PTR_NOT_NULL_FATAL(pool);
		CU_ASSERT_EQUAL_FATAL(borrow_init(), 0);
		accel_init();
	}
	memset(&shard, 0, sizeof(shard));
	app.conf.switch_crc = false;
	nic.app = &app;
	shard.nic = &nic;
	memset(&frame, 0, sizeof(frame));
	for (uint32_t i = 0; i < sizeof(memory); i++)
		memory[i] = (uint8_t)(i * 11 + i / 256);
	for (uint32_t i = 0; i < FW_TX_HDR_BYTES; i++)
		frame.hdr[i] = (uint8_t)(0x80 + i);
	CU_ASSERT_EQUAL(rte_mempool_avail_count(pool), FRAMES);
}

static void end(void)
{
	CU_ASSERT_EQUAL(shard.num_borrowed, 0);
	CU_ASSERT_EQUAL(rte_mempool_avail_count(pool), FRAMES);
}

static struct fw_tx_seg *seg(enum fw_tx_kind kind, uint64_t at, uint32_t bytes, uint8_t flags)
{
	struct fw_tx_seg *s = &frame.seg[frame.num_seg++];

	*s = (struct fw_tx_seg){.addr = at, .bytes = bytes, .kind = (uint8_t)kind, .flags = flags};
	if (kind == FW_TX_MEM)
		s->mem = memory + at;
	frame.bytes += bytes + (flags & FW_TX_F_CRC_END ? 4 : 0);
	return s;
}

/* Headers as RD has them, and two pieces of memory. */
static void rd_frame(uint32_t first, uint32_t second)
{
	seg(FW_TX_HDR, 0, IP_BYTES, 0);
	seg(FW_TX_HDR, IP_BYTES, HDR_BYTES - IP_BYTES, FW_TX_F_CRC_BEGIN);
	seg(FW_TX_MEM, 0, first, 0);
	seg(FW_TX_MEM, 2048, second, FW_TX_F_CRC_END);
}

static struct rte_mbuf *send(void)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	/* Bytes left by an earlier frame. */
	memset(rte_pktmbuf_mtod(m, void *), 0xa5, ROOM);
	if (borrow_frame(&shard, &frame, app.conf.switch_crc, m)) {
		CU_ASSERT_TRUE(borrow_is_borrowed(m));
		CU_ASSERT_EQUAL(m->pkt_len, frame.bytes);
		return m;
	}
	CU_ASSERT_FALSE(borrow_is_borrowed(m));
	CU_ASSERT_EQUAL(rte_mbuf_refcnt_read(m), 1);
	rte_pktmbuf_free(m);
	return NULL;
}

static int no_host(void *ctx, uint32_t client, void *dst, uint64_t addr, uint32_t bytes)
{
	(void)ctx, (void)client, (void)dst, (void)addr, (void)bytes;
	return -1;
}

/* An ordinary frame, equal to one that was gathered when it was sent. */
static void check_gathered(const struct rte_mbuf *m)
{
	uint8_t want[ROOM];
	int bytes = gather_frame(&frame, true, want, sizeof(want), no_host, NULL);

	CU_ASSERT_FALSE(borrow_is_borrowed(m));
	CU_ASSERT_EQUAL(m->data_len, bytes);
	CU_ASSERT_EQUAL(m->pkt_len, (uint32_t)bytes);
	CU_ASSERT_EQUAL(memcmp(rte_pktmbuf_mtod(m, uint8_t *), want, (size_t)bytes), 0);
}

static void receiver_finds_the_pieces(void)
{
	struct fw_rx_seg got[FW_RX_SEGS_MAX];
	struct rte_mbuf *m;

	begin();
	rd_frame(1500, 333);
	m = send();
	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	CU_ASSERT_EQUAL_FATAL(borrow_pieces(m, got), 4);
	CU_ASSERT_EQUAL(got[0].bytes, HDR_BYTES);
	CU_ASSERT_EQUAL(memcmp(got[0].data, frame.hdr, HDR_BYTES), 0);
	CU_ASSERT_PTR_EQUAL(got[1].data, memory);
	CU_ASSERT_EQUAL(got[1].bytes, 1500);
	CU_ASSERT_PTR_EQUAL(got[2].data, memory + 2048);
	CU_ASSERT_EQUAL(got[2].bytes, 333);
	CU_ASSERT_EQUAL(got[3].bytes, 4);
	/* The sender keeps its reference until it checks. */
	borrow_sweep(&shard);
	CU_ASSERT_EQUAL(shard.num_borrowed, 1);
	rte_pktmbuf_free(m);
	borrow_sweep(&shard);
	end();
}

/* The CRC32C of the pieces up to its place, as the receiver computes it. */
static uint32_t crc_of_pieces(const struct fw_rx_seg *got, uint32_t n)
{
	uint32_t crc =
	    accel_crc32c(FW_CRC32C_INIT, got[0].data + IP_BYTES, got[0].bytes - IP_BYTES);

	for (uint32_t i = 1; i < n; i++)
		crc = accel_crc32c(crc, got[i].data, got[i].bytes - (i + 1 == n ? 4 : 0));
	return crc;
}

/* --crc on: the place of the CRC32C has it, padding included; off: zero. */
static void crc_if_wanted(void)
{
	for (int on = 0; on < 2; on++) {
		struct fw_rx_seg got[FW_RX_SEGS_MAX];
		uint8_t want[4] = {0};
		struct rte_mbuf *m;
		uint32_t n;

		begin();
		app.conf.switch_crc = on;
		seg(FW_TX_HDR, 0, IP_BYTES, 0);
		seg(FW_TX_HDR, IP_BYTES, HDR_BYTES - IP_BYTES, FW_TX_F_CRC_BEGIN);
		seg(FW_TX_MEM, 0, 1500, 0);
		seg(FW_TX_HDR, 8, 3, FW_TX_F_CRC_END);
		m = send();
		CU_ASSERT_PTR_NOT_NULL_FATAL(m);
		n = borrow_pieces(m, got);
		CU_ASSERT_EQUAL_FATAL(n, 3);
		CU_ASSERT_EQUAL(got[2].bytes, 3 + 4);
		if (on)
			accel_crc32c_wire(want, crc_of_pieces(got, n));
		CU_ASSERT_EQUAL(memcmp(got[2].data + 3, want, 4), 0);
		/* Copied, it is the frame that a wire would have carried. */
		borrow_settle(&shard);
		check_gathered(m);
		rte_pktmbuf_free(m);
		end();
	}
}

static void what_does_not_lend_itself(void)
{
	begin();
	rd_frame(500, 400); /* too short */
	CU_ASSERT_PTR_NULL(send());
	frame.num_seg = frame.bytes = 0;
	rd_frame(1500, 333);
	frame.bytes++;
	CU_ASSERT_PTR_NULL(send());
	frame.bytes = ROOM + 1;
	CU_ASSERT_PTR_NULL(send());
	/* Memory that must be read at once. */
	frame.num_seg = frame.bytes = 0;
	seg(FW_TX_HDR, 0, HDR_BYTES, FW_TX_F_CRC_BEGIN);
	seg(FW_TX_HOST, 0, 1500, FW_TX_F_CRC_END);
	CU_ASSERT_PTR_NULL(send());
	/* More than padding behind the payload, or payload behind that. */
	frame.num_seg = frame.bytes = 0;
	seg(FW_TX_HDR, 0, HDR_BYTES, FW_TX_F_CRC_BEGIN);
	seg(FW_TX_MEM, 0, 1500, 0);
	seg(FW_TX_HDR, 0, 17, FW_TX_F_CRC_END);
	CU_ASSERT_PTR_NULL(send());
	frame.num_seg = frame.bytes = 0;
	seg(FW_TX_HDR, 0, HDR_BYTES, FW_TX_F_CRC_BEGIN);
	seg(FW_TX_MEM, 0, 1500, 0);
	seg(FW_TX_HDR, 0, 8, 0);
	seg(FW_TX_MEM, 0, 50, FW_TX_F_CRC_END);
	CU_ASSERT_PTR_NULL(send());
	/* A CRC32C that begins in the payload, does not end with the frame, or was not begun. */
	frame.num_seg = frame.bytes = 0;
	seg(FW_TX_HDR, 0, HDR_BYTES, 0);
	seg(FW_TX_MEM, 0, 1500, FW_TX_F_CRC_BEGIN | FW_TX_F_CRC_END);
	CU_ASSERT_PTR_NULL(send());
	frame.num_seg = frame.bytes = 0;
	seg(FW_TX_HDR, 0, HDR_BYTES, FW_TX_F_CRC_BEGIN);
	seg(FW_TX_MEM, 0, 1500, FW_TX_F_CRC_END);
	seg(FW_TX_HDR, 0, 8, 0);
	CU_ASSERT_PTR_NULL(send());
	frame.num_seg = frame.bytes = 0;
	seg(FW_TX_HDR, 0, HDR_BYTES, 0);
	seg(FW_TX_MEM, 0, 1500, FW_TX_F_CRC_END);
	CU_ASSERT_PTR_NULL(send());
	/* More than the headers' room; a checksum at a place other than TCP's. */
	frame.num_seg = frame.bytes = 0;
	seg(FW_TX_HDR, 0, HDR_BYTES, FW_TX_F_CRC_BEGIN);
	seg(FW_TX_HDR, 0, HDR_BYTES, 0);
	seg(FW_TX_MEM, 0, 1500, FW_TX_F_CRC_END);
	CU_ASSERT_PTR_NULL(send());
	frame.num_seg = frame.bytes = 0;
	rd_frame(1500, 333);
	frame.csum_start = 34;
	frame.csum_at = 40;
	CU_ASSERT_PTR_NULL(send());
	end();
}

static void settled_frames_stay_as_they_are(void)
{
	struct rte_mbuf *m[3];

	begin();
	rd_frame(1500, 333);
	for (int i = 0; i < 3; i++) {
		m[i] = send();
		CU_ASSERT_PTR_NOT_NULL_FATAL(m[i]);
	}
	rte_pktmbuf_free(m[1]); /* received already */
	borrow_settle(&shard);
	CU_ASSERT_EQUAL(shard.num_borrowed, 0);
	CU_ASSERT_EQUAL(shard.stats.tx_settled, 2);
	check_gathered(m[0]);
	check_gathered(m[2]);
	/* Later writes of the process to its memory have no effect. */
	memset(memory, 0xee, sizeof(memory));
	CU_ASSERT_NOT_EQUAL(rte_pktmbuf_mtod(m[0], uint8_t *)[HDR_BYTES + 1], 0xee);
	rte_pktmbuf_free(m[0]);
	rte_pktmbuf_free(m[2]);
	end();
}

/* A capture at the receiver copies; the settlement then has nothing to do. */
static void copied_once_only(void)
{
	struct rte_mbuf *m;

	begin();
	rd_frame(1500, 333);
	m = send();
	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	borrow_copy(m);
	check_gathered(m);
	borrow_settle(&shard);
	CU_ASSERT_EQUAL(shard.stats.tx_settled, 0);
	check_gathered(m);
	rte_pktmbuf_free(m);
	end();
}

static void bounded(void)
{
	struct rte_mbuf *m[APP_MAX_BORROWED];

	begin();
	rd_frame(1500, 333);
	for (uint32_t i = 0; i < APP_MAX_BORROWED; i++) {
		m[i] = send();
		CU_ASSERT_PTR_NOT_NULL_FATAL(m[i]);
	}
	CU_ASSERT_PTR_NULL(send());
	/* Freed in any order: their slots are free again. */
	rte_pktmbuf_free(m[77]);
	borrow_sweep(&shard);
	m[77] = send();
	CU_ASSERT_PTR_NOT_NULL_FATAL(m[77]);
	CU_ASSERT_PTR_NULL(send());
	rte_pktmbuf_free_bulk(m, APP_MAX_BORROWED);
	CU_ASSERT_EQUAL(rte_mempool_avail_count(pool), FRAMES - APP_MAX_BORROWED);
	borrow_drop(&shard);
	end();
}

/* An FPDU in its segment: MPA's length and DDP's headers, payload, pad, CRC32C or its place. */
static void mpa_frame(uint32_t bytes, bool crc)
{
	frame.csum_start = IP_BYTES;
	frame.csum_at = IP_BYTES + 16;
	seg(FW_TX_HDR, 0, IP_BYTES + 20, 0);
	seg(FW_TX_HDR, IP_BYTES + 20, 20, crc ? FW_TX_F_CRC_BEGIN : 0);
	seg(FW_TX_MEM, 0, bytes, 0);
	seg(FW_TX_HDR, 100, crc ? 3 : 7, crc ? FW_TX_F_CRC_END : 0);
}

static void padded_and_with_checksum(void)
{
	for (int crc = 0; crc < 2; crc++) {
		struct fw_rx_seg got[FW_RX_SEGS_MAX];
		struct rte_mbuf *m;

		begin();
		mpa_frame(1501, crc);
		m = send();
		CU_ASSERT_PTR_NOT_NULL_FATAL(m);
		CU_ASSERT_EQUAL_FATAL(borrow_pieces(m, got), 3);
		CU_ASSERT_EQUAL(got[0].bytes, IP_BYTES + 40);
		CU_ASSERT_PTR_EQUAL(got[1].data, memory);
		CU_ASSERT_EQUAL(got[2].bytes, 7);
		CU_ASSERT_EQUAL(memcmp(got[2].data, frame.hdr + 100, crc ? 3 : 7), 0);
		borrow_settle(&shard);
		check_gathered(m);
		rte_pktmbuf_free(m);
		end();
	}
}

enum {
	RUN_PACKETS = 12,
	RUN_SEGMENT = 1408,
	RUN_BYTES = (RUN_PACKETS - 1) * RUN_SEGMENT + 77,
	RUN_HDR_BYTES = IP_BYTES + 8 + sizeof(struct wire_dgram) + sizeof(struct wire_rd) +
			sizeof(struct wire_ddp_tagged),
	RUN_FIRST = 4001, /* bytes of the first piece */
};

static uint8_t run_memory[RUN_BYTES];

/* A run of RD packets from two pieces of memory, as rd_tx.c makes it. */
static void run_frame(void)
{
	for (uint32_t i = 0; i < RUN_BYTES; i++)
		run_memory[i] = (uint8_t)(i * 13 + i / 256);
	memset(frame.hdr, 0, sizeof(frame.hdr));
	frame.hdr[14] = 0x45;
	frame.hdr[16] = (uint8_t)((RUN_HDR_BYTES - 14 + RUN_SEGMENT + 4) >> 8);
	frame.hdr[17] = (uint8_t)(RUN_HDR_BYTES - 14 + RUN_SEGMENT + 4);
	frame.hdr[RUN_HDR_BYTES - sizeof(struct wire_ddp_tagged)] = WIRE_DDP_TAGGED | WIRE_DDP_LAST;
	seg(FW_TX_HDR, 0, IP_BYTES, 0);
	seg(FW_TX_HDR, IP_BYTES, RUN_HDR_BYTES - IP_BYTES, FW_TX_F_CRC_BEGIN);
	seg(FW_TX_MEM, 0, RUN_FIRST, 0)->mem = run_memory;
	seg(FW_TX_MEM, 0, RUN_BYTES - RUN_FIRST, FW_TX_F_CRC_END)->mem = run_memory + RUN_FIRST;
	frame.bytes += (RUN_PACKETS - 1) * 4;
	frame.run = RUN_PACKETS;
	frame.run_bytes = RUN_SEGMENT;
}

/* Each packet as a wire would carry it: its own headers, a part of the payload, a CRC32C. */
static void check_packets(const struct rte_mbuf *m)
{
	static uint8_t packet[ROOM];
	uint32_t segment;

	CU_ASSERT_EQUAL(borrow_packets(m, &segment), RUN_PACKETS);
	CU_ASSERT_EQUAL(segment, RUN_SEGMENT);
	for (uint32_t i = 0; i < RUN_PACKETS; i++) {
		uint32_t payload = i + 1 < RUN_PACKETS ? RUN_SEGMENT : 77;
		uint32_t bytes = borrow_seal(m, i, packet);
		uint8_t crc[4];

		CU_ASSERT_EQUAL_FATAL(bytes, RUN_HDR_BYTES + payload + 4);
		CU_ASSERT_EQUAL(packet[16] << 8 | packet[17], bytes - 14);
		CU_ASSERT_EQUAL(packet[IP_BYTES + 8 + sizeof(struct wire_dgram) + 7], i); /* PSN */
		CU_ASSERT_EQUAL(
		    !(packet[RUN_HDR_BYTES - sizeof(struct wire_ddp_tagged)] & WIRE_DDP_LAST),
		    i + 1 < RUN_PACKETS);
		CU_ASSERT_EQUAL(
		    memcmp(packet + RUN_HDR_BYTES, run_memory + (size_t)i * RUN_SEGMENT, payload),
		    0);
		accel_crc32c_wire(
		    crc, accel_crc32c(FW_CRC32C_INIT, packet + IP_BYTES, bytes - IP_BYTES - 4));
		CU_ASSERT_EQUAL(memcmp(packet + bytes - 4, crc, 4), 0);
	}
}

enum {
	TCP_SEGMENT = 1428,
	TCP_LAST = 76,
	TCP_BYTES = (RUN_PACKETS - 1) * TCP_SEGMENT + TCP_LAST,
	TCP_END = IP_BYTES + sizeof(struct wire_tcp) + WIRE_TCP_TS_PADDED_BYTES,
	TCP_HDR_BYTES = TCP_END + sizeof(struct wire_mpa_fpdu) + sizeof(struct wire_ddp_tagged),
};

/* A run of segments of RC over TCP, as tcp_run.c makes it: without CRC32C there are zeros. */
static void tcp_run_frame(bool crc)
{
	static uint8_t data[TCP_BYTES];
	struct wire_ip *ip = (void *)(frame.hdr + 14);
	struct wire_tcp *tcp = (void *)(ip + 1);
	struct wire_mpa_fpdu *fpdu = (void *)(frame.hdr + TCP_END);
	struct wire_tcp_pseudo pseudo = {.proto = WIRE_IPPROTO_TCP};

	for (uint32_t i = 0; i < TCP_BYTES; i++)
		data[i] = (uint8_t)(i * 13 + i / 256);
	frame.hdr[12] = 8;
	frame.hdr[13] = 0;
	ip->version_ihl = WIRE_IP_VERSION_IHL;
	ip->proto = WIRE_IPPROTO_TCP;
	ip->total_bytes = be16_put(TCP_HDR_BYTES - 14 + TCP_SEGMENT + 4);
	tcp->seq = be32_put(UINT32_MAX - 2000);
	tcp->data_offset = (TCP_END - IP_BYTES) / 4 << 4;
	tcp->flags = WIRE_TCP_ACK | WIRE_TCP_PSH;
	pseudo.src = ip->src;
	pseudo.dst = ip->dst;
	pseudo.bytes = be16_put(TCP_HDR_BYTES - IP_BYTES + TCP_SEGMENT + 4);
	tcp->checksum = be16_put((uint16_t)wire_sum_add(0, &pseudo, sizeof(pseudo)));
	fpdu->ulpdu_bytes = be16_put(sizeof(struct wire_ddp_tagged) + TCP_SEGMENT);
	frame.hdr[TCP_END + 2] = WIRE_DDP_TAGGED | WIRE_DDP_LAST;
	frame.csum_start = IP_BYTES;
	frame.csum_at = IP_BYTES + offsetof(struct wire_tcp, checksum);
	seg(FW_TX_HDR, 0, TCP_END, 0);
	seg(FW_TX_HDR, TCP_END, TCP_HDR_BYTES - TCP_END, crc ? FW_TX_F_CRC_BEGIN : 0);
	seg(FW_TX_MEM, 0, RUN_FIRST, 0)->mem = data;
	seg(FW_TX_MEM, 0, TCP_BYTES - RUN_FIRST, crc ? FW_TX_F_CRC_END : 0)->mem = data + RUN_FIRST;
	frame.bytes = TCP_HDR_BYTES + TCP_BYTES + RUN_PACKETS * 4;
	frame.run = RUN_PACKETS;
	frame.run_bytes = TCP_SEGMENT;
}

/* Each segment as a wire would carry it, with a checksum that is right. */
static void check_segments(const struct rte_mbuf *m, bool crc)
{
	static uint8_t packet[ROOM];
	const struct wire_ip *ip = (const void *)(packet + 14);
	const struct wire_tcp *tcp = (const void *)(ip + 1);

	for (uint32_t i = 0; i < RUN_PACKETS; i++) {
		uint32_t payload = i + 1 < RUN_PACKETS ? TCP_SEGMENT : TCP_LAST;
		uint32_t bytes = borrow_seal(m, i, packet), at = i * TCP_SEGMENT;
		struct wire_tcp_pseudo pseudo = {.src = ip->src,
						 .dst = ip->dst,
						 .proto = WIRE_IPPROTO_TCP,
						 .bytes = be16_put((uint16_t)(bytes - IP_BYTES))};
		uint8_t want[4] = {0};

		CU_ASSERT_EQUAL_FATAL(bytes, TCP_HDR_BYTES + payload + 4);
		CU_ASSERT_EQUAL(be16_get(ip->total_bytes), bytes - 14);
		CU_ASSERT_EQUAL(be32_get(tcp->seq),
				UINT32_MAX - 2000 +
				    i * (TCP_HDR_BYTES - TCP_END + TCP_SEGMENT + 4));
		CU_ASSERT_EQUAL(tcp->flags,
				WIRE_TCP_ACK | (i + 1 < RUN_PACKETS ? 0 : WIRE_TCP_PSH));
		CU_ASSERT_EQUAL(wire_sum_fold(wire_sum_add(wire_sum_add(0, &pseudo, sizeof(pseudo)),
							   packet + IP_BYTES, bytes - IP_BYTES)),
				0);
		CU_ASSERT_EQUAL(packet[TCP_HDR_BYTES + 5],
				(uint8_t)((at + 5) * 13 + (at + 5) / 256));
		if (crc)
			accel_crc32c_wire(want, accel_crc32c(FW_CRC32C_INIT, packet + TCP_END,
							     bytes - TCP_END - 4));
		CU_ASSERT_EQUAL(memcmp(packet + bytes - 4, want, 4), 0);
	}
}

static void a_run_of_tcp(void)
{
	for (uint32_t i = 0; i < 4; i++) {
		bool crc = i & 1;
		struct fw_rx_seg got[FW_RX_SEGS_MAX];
		struct rte_mbuf *m;

		begin();
		tcp_run_frame(crc);
		m = send();
		CU_ASSERT_PTR_NOT_NULL_FATAL(m);
		CU_ASSERT_EQUAL_FATAL(borrow_pieces(m, got), 4);
		CU_ASSERT_EQUAL(got[0].bytes, TCP_HDR_BYTES);
		CU_ASSERT_EQUAL(got[3].bytes, 4 * RUN_PACKETS);
		if (i & 2)
			borrow_settle(&shard);
		check_segments(m, crc);
		rte_pktmbuf_free(m);
		borrow_sweep(&shard);
		end();
	}
}

/* The receiver gets the headers, the payload in the process's memory, a CRC32C for each packet. */
static void a_run_is_one_frame(void)
{
	for (int on = 0; on < 2; on++) {
		struct fw_rx_seg got[FW_RX_SEGS_MAX];
		static uint8_t packet[ROOM];
		struct rte_mbuf *m;

		begin();
		app.conf.switch_crc = on;
		run_frame();
		m = send();
		CU_ASSERT_PTR_NOT_NULL_FATAL(m);
		CU_ASSERT_EQUAL_FATAL(borrow_pieces(m, got), 4);
		CU_ASSERT_EQUAL(got[0].bytes, RUN_HDR_BYTES);
		CU_ASSERT_PTR_EQUAL(got[1].data, run_memory);
		CU_ASSERT_EQUAL(got[1].bytes + got[2].bytes, RUN_BYTES);
		CU_ASSERT_EQUAL(got[3].bytes, 4 * RUN_PACKETS);
		check_packets(m);
		for (uint32_t i = 0; on && i < RUN_PACKETS; i++) {
			uint32_t bytes = borrow_seal(m, i, packet);

			CU_ASSERT_EQUAL(memcmp(got[3].data + (size_t)i * 4, packet + bytes - 4, 4),
					0);
		}
		CU_ASSERT_EQUAL(borrow_count(&m, 1), RUN_PACKETS);
		rte_pktmbuf_free(m);
		borrow_sweep(&shard);
		end();
	}
}

/* Settled, it is still a run, which lies in buffers of its own; either end may free it last. */
static void a_run_is_settled(void)
{
	struct fw_rx_seg got[FW_RX_SEGS_MAX];
	struct rte_mbuf *m;
	uint32_t n, at = 0;

	begin();
	run_frame();
	m = send();
	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	borrow_settle(&shard);
	CU_ASSERT_EQUAL(shard.stats.tx_settled, RUN_PACKETS);
	check_packets(m);
	n = borrow_pieces(m, got);
	CU_ASSERT_FATAL(n <= FW_RX_SEGS_MAX);
	for (uint32_t i = 1; i + 1 < n; at += got[i++].bytes) {
		CU_ASSERT_FALSE(got[i].data >= run_memory && got[i].data < run_memory + RUN_BYTES);
		CU_ASSERT_EQUAL(memcmp(got[i].data, run_memory + at, got[i].bytes), 0);
	}
	CU_ASSERT_EQUAL(at, RUN_BYTES);
	rte_pktmbuf_free(m);
	end();
}

/* There are no buffers for the payload of a run: it is lost, as on a full line. */
static void a_run_without_buffers(void)
{
	struct rte_mbuf *m, *all[FRAMES];
	uint32_t n = 0, segment;

	begin();
	run_frame();
	m = send();
	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	while (n < FRAMES && (all[n] = rte_pktmbuf_alloc(pool)))
		n++;
	rte_pktmbuf_free(all[--n]); /* one is not enough */
	borrow_settle(&shard);
	CU_ASSERT_EQUAL(borrow_packets(m, &segment), 0);
	rte_pktmbuf_free(m);
	rte_pktmbuf_free_bulk(all, n);
	end();
}

UT_MAIN("dpdk_app/borrow", UT(receiver_finds_the_pieces), UT(crc_if_wanted),
	UT(what_does_not_lend_itself), UT(settled_frames_stay_as_they_are), UT(copied_once_only),
	UT(bounded), UT(a_run_is_one_frame), UT(a_run_is_settled), UT(a_run_without_buffers),
	UT(a_run_of_tcp), UT(padded_and_with_checksum))
