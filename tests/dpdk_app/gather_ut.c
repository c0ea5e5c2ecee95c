/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gathering frames: pieces in order, CRC32C and checksum in their places, padding, and frames that
 * must be refused.
 *
 * Runs dpdk_app/gather.c; the memory of a process is an array here.
 */
#include <errno.h>

#include "dpdk_app/accel.h"
#include "dpdk_app/gather.h"
#include "shared_defs/wire_ip.h"
#include "tests/ut.h"

static uint8_t host[4096];
static uint8_t mapped[4096];
static uint8_t out[8192];
static struct fw_tx_frame frame;
static uint32_t reads;

static int read_host(void *ctx, uint32_t client, void *dst, uint64_t addr, uint32_t bytes)
{
	CU_ASSERT_PTR_EQUAL(ctx, host);
	reads++;
	if (client != 3 || addr > sizeof(host) || bytes > sizeof(host) - addr)
		return -EFAULT;
	memcpy(dst, host + addr, bytes);
	return 0;
}

static int gather(uint32_t room)
{
	memset(out, 0xee, sizeof(out));
	reads = 0;
	return gather_frame(&frame, true, out, room, read_host, host);
}

static struct fw_tx_seg *seg(enum fw_tx_kind kind, uint64_t addr, uint32_t bytes, uint8_t flags)
{
	struct fw_tx_seg *s = &frame.seg[frame.num_seg++];

	*s = (struct fw_tx_seg){
	    .addr = addr, .bytes = bytes, .kind = (uint8_t)kind, .flags = flags, .client = 3};
	if (kind == FW_TX_MEM)
		s->mem = mapped + addr;
	frame.bytes += bytes + (flags & FW_TX_F_CRC_END ? 4 : 0);
	return s;
}

static void begin(void)
{
	accel_init();
	memset(&frame, 0, sizeof(frame));
	for (uint32_t i = 0; i < sizeof(host); i++) {
		host[i] = (uint8_t)(i * 7);
		mapped[i] = (uint8_t)(i * 11 + 3);
	}
	for (uint32_t i = 0; i < FW_TX_HDR_BYTES; i++)
		frame.hdr[i] = (uint8_t)(0x80 + i);
}

static void pieces_in_order_with_crc(void)
{
	uint8_t wire[4];

	begin();
	seg(FW_TX_HDR, 0, 34, 0);
	seg(FW_TX_HDR, 34, 40, FW_TX_F_CRC_BEGIN);
	seg(FW_TX_MEM, 100, 1000, 0);
	seg(FW_TX_HOST, 500, 333, 0);
	seg(FW_TX_HDR, 80, 3, FW_TX_F_CRC_END);
	CU_ASSERT_EQUAL(gather(sizeof(out)), 34 + 40 + 1000 + 333 + 3 + 4);
	CU_ASSERT_EQUAL(memcmp(out, frame.hdr, 74), 0);
	CU_ASSERT_EQUAL(memcmp(out + 74, mapped + 100, 1000), 0);
	CU_ASSERT_EQUAL(memcmp(out + 1074, host + 500, 333), 0);
	CU_ASSERT_EQUAL(memcmp(out + 1407, frame.hdr + 80, 3), 0);
	accel_crc32c_wire(wire, accel_crc32c_portable(FW_CRC32C_INIT, out + 34, 1376));
	CU_ASSERT_EQUAL(memcmp(out + 1410, wire, 4), 0);
	CU_ASSERT_EQUAL(out[1414], 0xee);
	CU_ASSERT_EQUAL(reads, 1);
}

/* Two FPDUs in one segment: each has a CRC of its own. */
static void two_crcs(void)
{
	uint8_t wire[4];

	begin();
	seg(FW_TX_HDR, 0, 20, 0);
	seg(FW_TX_MEM, 0, 200, FW_TX_F_CRC_BEGIN | FW_TX_F_CRC_END);
	seg(FW_TX_MEM, 300, 100, FW_TX_F_CRC_BEGIN | FW_TX_F_CRC_END);
	CU_ASSERT_EQUAL(gather(sizeof(out)), 20 + 204 + 104);
	accel_crc32c_wire(wire, accel_crc32c_portable(FW_CRC32C_INIT, mapped, 200));
	CU_ASSERT_EQUAL(memcmp(out + 220, wire, 4), 0);
	accel_crc32c_wire(wire, accel_crc32c_portable(FW_CRC32C_INIT, mapped + 300, 100));
	CU_ASSERT_EQUAL(memcmp(out + 324, wire, 4), 0);
}

static void short_frames_are_padded(void)
{
	begin();
	seg(FW_TX_HDR, 0, 42, 0);
	CU_ASSERT_EQUAL(gather(sizeof(out)), 60);
	for (int i = 42; i < 60; i++)
		CU_ASSERT_EQUAL(out[i], 0);
	CU_ASSERT_EQUAL(out[60], 0xee);
	CU_ASSERT_EQUAL(gather(59), -EMSGSIZE);
}

static void unreachable_memory(void)
{
	begin();
	seg(FW_TX_HDR, 0, 42, 0);
	seg(FW_TX_HOST, sizeof(host) - 10, 11, 0);
	CU_ASSERT_EQUAL(gather(sizeof(out)), -EFAULT);
	begin();
	seg(FW_TX_HDR, 0, 42, FW_TX_F_CRC_BEGIN);
	seg(FW_TX_HOST, 0, 100, FW_TX_F_CRC_END)->client = 4;
	CU_ASSERT_EQUAL(gather(sizeof(out)), -EFAULT);
}

static void what_does_not_fit(void)
{
	begin();
	seg(FW_TX_HDR, 0, 40, FW_TX_F_CRC_BEGIN);
	seg(FW_TX_MEM, 0, 100, FW_TX_F_CRC_END);
	CU_ASSERT_EQUAL(gather(144), 144);
	CU_ASSERT_EQUAL(gather(143), -EMSGSIZE); /* the CRC */
	CU_ASSERT_EQUAL(gather(139), -EMSGSIZE); /* the piece */
	CU_ASSERT_EQUAL(out[139], 0xee);
	frame.bytes++;
	CU_ASSERT_EQUAL(gather(sizeof(out)), -EMSGSIZE); /* the sum */
	begin();
	seg(FW_TX_HDR, FW_TX_HDR_BYTES - 10, 11, 0);
	CU_ASSERT_EQUAL(gather(sizeof(out)), -EMSGSIZE);
	begin();
	seg(FW_TX_HDR, UINT64_MAX, 1, 0);
	CU_ASSERT_EQUAL(gather(sizeof(out)), -EMSGSIZE);
	begin();
	frame.num_seg = FW_TX_SEGS_MAX + 1;
	CU_ASSERT_EQUAL(gather(sizeof(out)), -EMSGSIZE);
}

/* The checksum covers the CRC32C; its field holds the pseudo header's sum before. */
static void checksum_comes_last(void)
{
	uint32_t sum;

	begin();
	frame.csum_start = 34;
	frame.csum_at = 50;
	seg(FW_TX_HDR, 0, 54, 0);
	seg(FW_TX_HDR, 54, 18, FW_TX_F_CRC_BEGIN);
	seg(FW_TX_HOST, 500, 333, 0);
	seg(FW_TX_HDR, 80, 1, FW_TX_F_CRC_END);
	CU_ASSERT_EQUAL(gather(sizeof(out)), 54 + 18 + 333 + 1 + 4);
	CU_ASSERT_EQUAL(memcmp(out, frame.hdr, 50), 0);
	CU_ASSERT_EQUAL(memcmp(out + 52, frame.hdr + 52, 20), 0);
	/* With the pseudo header, which its field held, the whole sums to zero. */
	sum = (uint32_t)frame.hdr[50] << 8 | frame.hdr[51];
	CU_ASSERT_EQUAL(wire_sum_fold(wire_sum_add(sum, out + 34, 54 + 18 + 333 + 1 + 4 - 34)), 0);
	/* Left out: everything but the field is equal. */
	CU_ASSERT_EQUAL(gather_frame(&frame, false, out + 1000, 1000, read_host, host), 410);
	CU_ASSERT_EQUAL(memcmp(out + 1000, out, 50), 0);
	CU_ASSERT_EQUAL(memcmp(out + 1050, frame.hdr + 50, 2), 0);
	CU_ASSERT_EQUAL(memcmp(out + 1052, out + 52, 410 - 52), 0);
}

static void checksum_within_the_frame(void)
{
	begin();
	seg(FW_TX_HDR, 0, 54, 0);
	frame.csum_start = 34;
	frame.csum_at = 52;
	CU_ASSERT_EQUAL(gather(sizeof(out)), 60);
	CU_ASSERT_NOT_EQUAL(memcmp(out + 52, frame.hdr + 52, 2), 0);
	frame.csum_at = 53;
	CU_ASSERT_EQUAL(gather(sizeof(out)), -EMSGSIZE);
	frame.csum_at = 33;
	CU_ASSERT_EQUAL(gather(sizeof(out)), -EMSGSIZE);
	frame.csum_start = UINT16_MAX;
	frame.csum_at = UINT16_MAX;
	CU_ASSERT_EQUAL(gather(sizeof(out)), -EMSGSIZE);
}

UT_MAIN("dpdk_app/gather", UT(pieces_in_order_with_crc), UT(two_crcs), UT(short_frames_are_padded),
	UT(unreachable_memory), UT(what_does_not_fit), UT(checksum_comes_last),
	UT(checksum_within_the_frame))
