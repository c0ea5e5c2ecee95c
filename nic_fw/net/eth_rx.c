/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ethernet, receiving: takes bursts from the port and hands each frame up by EtherType.
 *
 * Calls ip_rx(), neigh_rx_arp() and net_up.edp(), which are done with the frame when they return.
 * Frames for other stations are counted and dropped: a port in promiscuous mode shows many. IEEE
 * 802.3 clause 3.
 */
#include "nic_fw/base/crc32c.h"
#include "nic_fw/fw_nic.h"
#include "nic_fw/net/eth_join.h"
#include "nic_fw/net/known_rx.h"

const uint8_t *eth_cursor_advance(struct eth_cursor *cursor, uint32_t max, uint32_t *bytes)
{
	const struct fw_rx_seg *seg;
	const uint8_t *data;
	uint32_t n;

	assert(cursor->left && max && cursor->seg < cursor->frame->num_seg);
	seg = &cursor->frame->seg[cursor->seg];
	data = seg->data + cursor->offset;
	n = seg->bytes - cursor->offset;
	if (n > cursor->left)
		n = cursor->left;
	if (n > max)
		n = max;
	cursor->left -= n;
	cursor->offset += n;
	while (cursor->seg < cursor->frame->num_seg &&
	       cursor->offset >= cursor->frame->seg[cursor->seg].bytes) {
		cursor->offset -= cursor->frame->seg[cursor->seg].bytes;
		cursor->seg++;
	}
	*bytes = n;
	return data;
}

void eth_cursor_copy(struct eth_cursor *cursor, void *dst, uint32_t bytes)
{
	uint8_t *out = dst;

	assert(bytes <= cursor->left);
	while (bytes) {
		uint32_t n;
		const uint8_t *data = eth_cursor_next(cursor, bytes, &n);

		memcpy(out, data, n);
		out += n;
		bytes -= n;
	}
}

/* eth_crc32c_ok_from() of bytes in several pieces. */
FW_APART bool crc_of_pieces(struct fw_nic *nic, uint32_t crc, const struct fw_rx_frame *frame,
			    uint32_t offset, uint32_t bytes)
{
	struct eth_cursor cursor;
	uint32_t n;
	const uint8_t *data;
	struct be32 want, got;

	eth_cursor_init(&cursor, frame, offset, bytes);
	while (cursor.left > sizeof(got)) {
		data = eth_cursor_next(&cursor, cursor.left - (uint32_t)sizeof(got), &n);
		crc = nic->port.crc32c(crc, data, n);
	}
	eth_cursor_copy(&cursor, &got, sizeof(got));
	want = fw_crc32c_wire(crc);
	return memcmp(&want, &got, sizeof(got)) == 0;
}

bool eth_crc32c_ok_from(struct fw_nic *nic, uint32_t crc, const struct fw_rx_frame *frame,
			uint32_t offset, uint32_t bytes)
{
	const uint8_t *data = frame->seg[0].data + offset;
	struct be32 want;

	FW_COUNT(nic, rx_crc_checked);
	if (__builtin_expect(offset + bytes > frame->seg[0].bytes, 0))
		return crc_of_pieces(nic, crc, frame, offset, bytes);
	bytes -= (uint32_t)sizeof(want);
	want = fw_crc32c_wire(nic->port.crc32c(crc, data, bytes));
	return memcmp(&want, data + bytes, sizeof(want)) == 0;
}

bool eth_crc32c_ok(struct fw_nic *nic, const struct fw_rx_frame *frame, uint32_t offset,
		   uint32_t bytes)
{
	return eth_crc32c_ok_from(nic, FW_CRC32C_INIT, frame, offset, bytes);
}

static bool is_for_us(const struct fw_nic *nic, const uint8_t *dst)
{
	static const uint8_t broadcast[WIRE_MAC_BYTES] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

	return memcmp(dst, nic->config.mac, WIRE_MAC_BYTES) == 0 ||
	       memcmp(dst, broadcast, WIRE_MAC_BYTES) == 0 ||
	       ((dst[0] & 1) && mac_filter_has(nic, dst));
}

void eth_rx_frame(struct fw_nic *nic, const struct fw_rx_frame *frame)
{
	const struct wire_eth *eth;
	uint8_t before;

	if (!frame->num_seg || frame->seg[0].bytes < sizeof(*eth)) {
		FW_DROP(nic, drop_too_short);
		return;
	}
	if (known_rx(nic, frame))
		return;
	eth = (const struct wire_eth *)frame->seg[0].data;
	if (!is_for_us(nic, eth->dst)) {
		FW_DROP(nic, drop_not_our_mac);
		return;
	}
	switch (be16_get(eth->type)) {
	case WIRE_ETHERTYPE_IPV4:
		ip_rx(nic, frame);
		break;
	case WIRE_ETHERTYPE_ARP:
		neigh_rx_arp(nic, frame);
		break;
	case WIRE_ETHERTYPE_ESP:
		before = fw_stage_enter(nic, FW_STAGE_ESP);
		net_up.edp(nic, frame);
		(void)fw_stage_enter(nic, before);
		break;
	default:
		FW_DROP(nic, drop_ethertype);
		break;
	}
}

static uint32_t rx_most(const struct fw_nic *nic)
{
	return nic->net.rx_most ? nic->net.rx_most : FW_BURST;
}

/*
 * Frames whose payload goes to memory that is not mapped take the budget of many, and those that
 * were taken must be handled: the next burst has as many as the budget is for. Streams that put
 * frames off stay near the budget by themselves, and others' frames overtake theirs.
 */
static void set_burst(struct fw_nic *nic, uint32_t got, uint32_t dear)
{
	uint32_t most = rx_most(nic);

	if (dear > 2 * FW_DEAR_LONG)
		most = 1 + (got - 1) * FW_DEAR_LONG / dear;
	else if (dear <= FW_DEAR_LONG / 2)
		most = 2 * most < FW_BURST ? 2 * most : FW_BURST;
	nic->net.rx_most = most;
}

/* Handles the first of n frames, and others with it that belong to its run. Returns how many. */
static uint32_t rx_next(struct fw_nic *nic, struct fw_rx_frame *frames, uint32_t n)
{
	uint32_t joined;

	if (__builtin_expect(frames->run > 1, 0)) {
		eth_run_rx(nic, frames);
		return 1;
	}
	if (n > 1 && frames->bytes >= ETH_JOIN_LEAST) {
		joined = eth_join_rx(nic, frames, n);
		if (joined)
			return joined;
	}
	eth_rx_frame(nic, frames);
	return 1;
}

uint32_t eth_rx_poll(struct fw_nic *nic, uint32_t budget)
{
	uint32_t done = 0;

	(void)fw_dear_take(nic);
	while (done < budget) {
		uint32_t most = rx_most(nic), dear;
		uint32_t want = budget - done < most ? budget - done : most;
		uint8_t stage = fw_stage_enter(nic, FW_STAGE_PORT_RX);
		uint32_t got = nic->port.rx_burst(nic->port.ctx, nic->net.rx, want);
		uint32_t packets, i;
		uint64_t bytes = 0;

		(void)fw_stage_enter(nic, stage);
		if (!got)
			break;
		packets = got;
		for (i = 0; i < got; i++) {
			bytes += nic->net.rx[i].bytes;
			if (__builtin_expect(nic->net.rx[i].run > 1, 0)) {
				packets += nic->net.rx[i].run - 1u;
				bytes += fw_rx_packet_bytes(&nic->net.rx[i]) - nic->net.rx[i].bytes;
			}
		}
		FW_ADD(nic, rx_frames, packets);
		FW_ADD(nic, rx_bytes, bytes);
		fw_trace(nic, TRACE_ETH_RX, 0, bytes, packets);
		for (i = 0; i < got;)
			i += rx_next(nic, &nic->net.rx[i], got - i);
		(void)fw_stage_enter(nic, FW_STAGE_PORT_RX);
		nic->port.rx_free(nic->port.ctx, nic->net.rx, got);
		(void)fw_stage_enter(nic, stage);
		dear = fw_dear_take(nic);
		set_burst(nic, got, dear);
		done += packets + dear;
		if (packets < want)
			break;
	}
	return done;
}
