/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A desk between port and firmware: see run_desk.h.
 */
#include "tests/sim/run_desk.h"

#include <string.h>

#include "nic_fw/base/crc32c.h"
#include "nic_fw/fw_nic.h"
#include "tests/ut.h"

enum {
	DESK_BYTES = 1 << 20,
	DESK_QUEUE = 64,
};

static struct {
	struct sim_nic *nic;
	struct fw_port port; /* the original one */
	const struct desk_row *row;
	bool cut;
	uint32_t seen; /* runs */
	struct desk_count count;
	struct desk_item queue[DESK_QUEUE];
	uint32_t num_queue;
	struct desk_item held;
	bool holds;
	uint8_t memory[DESK_BYTES];
	uint32_t used;
} desk;

static uint8_t *take(uint32_t bytes)
{
	uint8_t *memory = desk.memory + desk.used;

	CU_ASSERT_FATAL(bytes <= DESK_BYTES - desk.used);
	desk.used += bytes;
	return memory;
}

static void copy_in(const struct fw_rx_frame *frame, struct desk_item *item)
{
	struct eth_cursor cursor;
	uint32_t crc_bytes = frame->run * WIRE_DGRAM_CRC_BYTES;

	*item = (struct desk_item){.hdr = take(frame->bytes), .flags = frame->flags};
	eth_cursor_init(&cursor, frame, 0, frame->bytes);
	eth_cursor_copy(&cursor, item->hdr, frame->bytes);
	item->hdr_bytes = frame->bytes;
	item->other = frame->run <= 1;
	if (item->other)
		return;
	item->hdr_bytes = frame->seg[0].bytes;
	item->payload = item->hdr + item->hdr_bytes;
	item->run = (struct fw_run){.packets = frame->run,
				    .segment_bytes = frame->run_bytes,
				    .bytes = frame->bytes - item->hdr_bytes - crc_bytes};
	item->crcs = item->payload + item->run.bytes;
}

static uint32_t part_bytes(const struct desk_item *item, uint32_t i)
{
	uint32_t at = i * item->run.segment_bytes;

	return i + 1 < item->run.packets ? item->run.segment_bytes : item->run.bytes - at;
}

/* Makes the headers of a packet of a run. */
static void part_hdr(const struct desk_item *item, uint32_t i, uint8_t *hdr)
{
	memcpy(hdr, item->hdr, item->hdr_bytes);
	fw_run_hdr(hdr, i, &item->run);
}

/* Returns where the bytes begin that the CRC32C covers: behind the headers of IPv4 or TCP. */
static uint32_t crc_at(const struct desk_item *item)
{
	const struct wire_ip *ip = (const void *)(item->hdr + DESK_IP_AT);
	const struct wire_tcp *tcp = (const void *)(ip + 1);

	return DESK_UDP_AT + (ip->proto == WIRE_IPPROTO_TCP ? (tcp->data_offset >> 4) * 4u : 0);
}

static void seal_packets(struct desk_item *item)
{
	uint32_t from = crc_at(item);

	for (uint32_t i = 0; i < item->run.packets; i++) {
		uint8_t hdr[FW_TX_HDR_BYTES];
		struct be32 wire;
		uint32_t crc;

		part_hdr(item, i, hdr);
		crc = fw_crc32c(FW_CRC32C_INIT, hdr + from, item->hdr_bytes - from);
		crc = fw_crc32c(crc, item->payload + (size_t)i * item->run.segment_bytes,
				part_bytes(item, i));
		wire = fw_crc32c_wire(crc);
		memcpy(item->crcs + (size_t)i * sizeof(wire), &wire, sizeof(wire));
	}
}

static void seal_ip(struct desk_item *item)
{
	struct wire_ip *ip = (void *)(item->hdr + DESK_IP_AT);

	ip->checksum = be16_put(0);
	ip->checksum = be16_put(wire_sum_fold(wire_sum_add(0, ip, sizeof(*ip))));
}

static void push(const struct desk_item *item)
{
	CU_ASSERT_FATAL(desk.num_queue < DESK_QUEUE);
	desk.queue[desk.num_queue++] = *item;
}

/* A run has come: the second one meets what its row says. */
static void put_run(struct desk_item *item)
{
	const struct desk_row *row = desk.row;

	if (++desk.seen == 2) {
		if (row->change) {
			row->change(item);
			seal_ip(item);
			seal_packets(item);
		}
		for (uint32_t i = 0; i < item->run.packets; i++)
			if ((row->bad >> i) & 1)
				item->crcs[i * WIRE_DGRAM_CRC_BYTES] ^= 0x10;
		if (row->late) {
			desk.held = *item;
			desk.holds = true;
		}
		if (row->late || row->lost)
			return;
		if (row->twice)
			push(item);
	}
	push(item);
	if (desk.holds && desk.seen > 2) {
		push(&desk.held);
		desk.holds = false;
	}
}

static void show_whole(const struct desk_item *item, struct fw_rx_frame *frame)
{
	uint32_t crc_bytes = item->run.packets * WIRE_DGRAM_CRC_BYTES;

	*frame = (struct fw_rx_frame){.num_seg = 1, .run = 1, .flags = item->flags};
	frame->seg[0] = (struct fw_rx_seg){item->hdr, item->hdr_bytes};
	frame->bytes = item->hdr_bytes;
	if (item->other)
		return;
	frame->seg[1] = (struct fw_rx_seg){item->payload, item->run.bytes};
	frame->seg[2] = (struct fw_rx_seg){item->crcs, crc_bytes};
	frame->num_seg = 3;
	frame->bytes += item->run.bytes + crc_bytes;
	frame->run = (uint16_t)item->run.packets;
	frame->run_bytes = (uint16_t)item->run.segment_bytes;
	desk.count.shown++;
}

static void show_part(const struct desk_item *item, uint32_t i, struct fw_rx_frame *frame)
{
	uint8_t *hdr = take(item->hdr_bytes);
	const uint8_t *payload = item->payload + (size_t)i * item->run.segment_bytes;

	part_hdr(item, i, hdr);
	*frame = (struct fw_rx_frame){.num_seg = 3, .run = 1, .flags = item->flags};
	frame->seg[0] = (struct fw_rx_seg){hdr, item->hdr_bytes};
	frame->seg[1] = (struct fw_rx_seg){payload, part_bytes(item, i)};
	frame->seg[2] =
	    (struct fw_rx_seg){item->crcs + (size_t)i * WIRE_DGRAM_CRC_BYTES, WIRE_DGRAM_CRC_BYTES};
	frame->bytes = item->hdr_bytes + part_bytes(item, i) + WIRE_DGRAM_CRC_BYTES;
}

static void take_burst(uint32_t n)
{
	struct fw_rx_frame got[FW_BURST];
	uint32_t count = desk.port.rx_burst(desk.port.ctx, got, n);

	for (uint32_t i = 0; i < count; i++) {
		struct desk_item item;

		copy_in(&got[i], &item);
		if (item.other)
			push(&item);
		else
			put_run(&item);
	}
	desk.port.rx_free(desk.port.ctx, got, count);
}

static uint32_t desk_burst(void *ctx, struct fw_rx_frame *frames, uint32_t n)
{
	uint32_t packets = 0, count = 0, i;

	(void)ctx;
	if (!desk.num_queue) {
		/* Frames shown before are read no more, but for a run that is held back. */
		if (!desk.holds)
			desk.used = 0;
		take_burst(n);
	}
	for (i = 0; i < desk.num_queue; i++) {
		const struct desk_item *item = &desk.queue[i];
		uint32_t more = item->other ? 1 : item->run.packets;

		if (packets + more > n)
			break;
		packets += more;
		if (item->other || !desk.cut) {
			show_whole(item, &frames[count++]);
			continue;
		}
		for (uint32_t k = 0; k < more; k++)
			show_part(item, k, &frames[count++]);
	}
	desk.num_queue -= i;
	memmove(desk.queue, desk.queue + i, desk.num_queue * sizeof(desk.queue[0]));
	if (desk.num_queue)
		sim_nic_wake(desk.nic);
	return count;
}

static void desk_free(void *ctx, struct fw_rx_frame *frames, uint32_t n)
{
	const struct fw_nic *fw = sim_nic_fw(desk.nic, 0);

	(void)ctx;
	if (!n || frames[n - 1].run <= 1)
		return;
	desk.count.looked++;
	desk.count.taken += fw->net.run_taken == frames[n - 1].run;
}

void desk_open(struct sim_nic *nic, const struct desk_row *row, bool cut)
{
	struct fw_nic *fw = sim_nic_fw(nic, 0);

	memset(&desk, 0, sizeof(desk));
	desk.nic = nic;
	desk.port = fw->port;
	desk.row = row;
	desk.cut = cut;
	fw->port.rx_burst = desk_burst;
	fw->port.rx_free = desk_free;
}

struct desk_count desk_close(void)
{
	struct fw_nic *fw = sim_nic_fw(desk.nic, 0);

	CU_ASSERT(!desk.num_queue);
	fw->port.rx_burst = desk.port.rx_burst;
	fw->port.rx_free = desk.port.rx_free;
	return desk.count;
}

void desk_other_mac(struct desk_item *item)
{
	item->hdr[5] ^= 0x7;
}

void desk_other_target(struct desk_item *item)
{
	item->hdr[DESK_IP_AT + 19] ^= 0x20;
}

void desk_fragment(struct desk_item *item)
{
	item->hdr[DESK_IP_AT + 6] |= 0x20;
}

void desk_congested(struct desk_item *item)
{
	item->hdr[DESK_IP_AT + 1] |= WIRE_IP_CE;
}

void desk_other_port(struct desk_item *item)
{
	item->hdr[DESK_UDP_AT + 3] ^= 0x10;
}
