/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * EDP: datagrams between ports over raw Ethernet, echo, and the report that a port does not exist.
 *
 * Calls esp_rx(), esp_rx_syn() and stream_up. Ports of a shard are its streams' and the master
 * port, where streams are opened. Unreachable answers are sent for packets of streams only, never
 * for another unreachable, and are accepted only when they quote the incarnation of the stream.
 * ESPGOAL 3; docs/wire-esp.md.
 */
#include "nic_fw/stream/esp_stream.h"
#include "nic_fw/fw_nic.h"

enum {
	EDP_OFFSET = sizeof(struct wire_eth),
	ESP_OFFSET = EDP_OFFSET + sizeof(struct wire_edp),
	DATA_OFFSET = ESP_OFFSET + sizeof(struct wire_esp),
	ECHO_MAX_BYTES = 1024,
};
static_assert((int)DATA_OFFSET == (int)ESP_HDR_BYTES, "what stands before the payload");

static uint16_t edp_master_port(const struct fw_nic *nic)
{
	return (uint16_t)(WIRE_EDP_PORT_BASE + nic->config.shard * WIRE_EDP_PORT_SPAN);
}

struct fw_tx_frame *edp_tx_begin(struct fw_nic *nic, const uint8_t *mac, uint16_t dst_port,
				 uint16_t src_port, uint8_t type)
{
	struct fw_tx_frame *frame = eth_tx_begin(nic);
	struct wire_eth *eth;
	struct wire_edp *edp;

	if (!frame)
		return NULL;
	eth = (struct wire_eth *)frame->hdr;
	memcpy(eth->dst, mac, WIRE_MAC_BYTES);
	memcpy(eth->src, nic->config.mac, WIRE_MAC_BYTES);
	eth->type = be16_put(WIRE_ETHERTYPE_ESP);
	if (!memcmp(mac, nic->config.mac, WIRE_MAC_BYTES))
		frame->flags |= FW_TX_LOOP;
	edp = (struct wire_edp *)(frame->hdr + EDP_OFFSET);
	edp->ver_type = (uint8_t)(WIRE_EDP_VERSION << 4 | type);
	edp->reserved = 0;
	edp->dst_port = be16_put(dst_port);
	edp->src_port = be16_put(src_port);
	eth_tx_hdr(frame, 0, EDP_OFFSET, 0);
	return frame;
}

/*
 * True for a frame from a station to a station, or to a group that has members here. An answer to
 * any other frame for a group's address would be multiplied by the network.
 */
static bool is_addressed(struct fw_nic *nic, const struct fw_rx_frame *frame,
			 const struct wire_eth *eth, uint8_t type)
{
	if (eth->src[0] & 1)
		return false;
	return !(eth->dst[0] & 1) || (type == WIRE_EDP_GROUP && stream_up.group_wants(nic, frame));
}

/* The pieces after the Ethernet header are complete: sets length and CRC32C, and sends. */
bool edp_tx_end(struct fw_nic *nic, struct fw_tx_frame *frame, bool control)
{
	struct wire_edp *edp = (struct wire_edp *)(frame->hdr + EDP_OFFSET);
	uint32_t bytes = 0, i;
	bool host = false;

	assert(frame->num_seg >= 2);
	for (i = 1; i < frame->num_seg; i++) {
		bytes += frame->seg[i].bytes;
		host |= frame->seg[i].kind == FW_TX_HOST;
	}
	/* The length is that of the first packet of a run. */
	if (frame->run > 1)
		bytes = frame->seg[1].bytes + frame->run_bytes;
	edp->bytes = be16_put((uint16_t)bytes);
	frame->seg[1].flags |= FW_TX_F_CRC_BEGIN;
	frame->seg[frame->num_seg - 1].flags |= FW_TX_F_CRC_END;
	if (control)
		frame->flags |= FW_TX_F_CONTROL;
	if (host)
		return eth_tx_commit_now(nic, frame) != -FW_EFAULT;
	eth_tx_commit(nic, frame);
	return true;
}

static void echo(struct fw_nic *nic, const struct fw_rx_frame *frame, const struct wire_eth *eth,
		 const struct wire_edp *edp, uint32_t bytes)
{
	uint32_t data_bytes = bytes - (uint32_t)sizeof(*edp);
	struct fw_tx_frame *reply;
	struct eth_cursor cursor;

	if (data_bytes > ECHO_MAX_BYTES) {
		FW_DROP(nic, drop_esp_malformed);
		return;
	}
	reply = edp_tx_begin(nic, eth->src, be16_get(edp->src_port), be16_get(edp->dst_port),
			     WIRE_EDP_ECHO_REPLY);
	if (!reply)
		return;
	FW_COUNT(nic, edp_echo_rx);
	eth_tx_hdr(reply, EDP_OFFSET, sizeof(*edp), 0);
	eth_cursor_init(&cursor, frame, ESP_OFFSET, data_bytes);
	eth_cursor_copy(&cursor, nic->scratch, data_bytes);
	if (data_bytes)
		reply->seg[reply->num_seg++] =
		    (struct fw_tx_seg){.mem = nic->scratch, .bytes = data_bytes, .kind = FW_TX_MEM};
	((struct wire_edp *)(reply->hdr + EDP_OFFSET))->bytes = be16_put((uint16_t)bytes);
	reply->seg[1].flags |= FW_TX_F_CRC_BEGIN;
	reply->seg[reply->num_seg - 1].flags |= FW_TX_F_CRC_END;
	/*
	 * The next stage reuses the scratch memory. Without room the answer is dropped; the peer
	 * repeats its request.
	 */
	(void)eth_tx_try_now(nic, reply);
}

/* Reports to the sender that the stream does not exist, quoting its packet. */
static void unreachable(struct fw_nic *nic, const struct wire_eth *eth, const struct wire_edp *edp,
			const struct wire_esp *esp)
{
	struct fw_tx_frame *frame;

	/* An RST already ends the stream. The limit bounds the answers of a turn. */
	if (esp->flags & WIRE_ESP_RST || nic->esp.unreachables >= 64)
		return;
	frame = edp_tx_begin(nic, eth->src, be16_get(edp->src_port), be16_get(edp->dst_port),
			     WIRE_EDP_UNREACHABLE);
	if (!frame)
		return;
	nic->esp.unreachables++;
	FW_COUNT(nic, edp_unreachable_tx);
	memcpy(frame->hdr + ESP_OFFSET, edp, sizeof(*edp));
	memcpy(frame->hdr + ESP_OFFSET + sizeof(*edp), esp, sizeof(*esp));
	eth_tx_hdr(frame, EDP_OFFSET, 2 * sizeof(*edp) + sizeof(*esp), 0);
	(void)edp_tx_end(nic, frame, true);
}

static void edp_rx_unreachable(struct fw_nic *nic, const struct fw_rx_frame *frame,
			       const struct wire_eth *eth, uint32_t bytes)
{
	struct eth_cursor cursor;
	struct wire_edp edp;
	struct wire_esp esp;

	if (bytes < 2 * sizeof(edp) + sizeof(esp)) {
		FW_DROP(nic, drop_esp_malformed);
		return;
	}
	eth_cursor_init(&cursor, frame, ESP_OFFSET, sizeof(edp) + sizeof(esp));
	eth_cursor_copy(&cursor, &edp, sizeof(edp));
	eth_cursor_copy(&cursor, &esp, sizeof(esp));
	esp_rx_unreachable(nic, eth->src, &edp, &esp);
}

static void rx_esp(struct fw_nic *nic, const struct fw_rx_frame *frame, const struct wire_eth *eth,
		   const struct wire_edp *edp, uint32_t bytes)
{
	const struct wire_esp *esp = (const struct wire_esp *)(frame->seg[0].data + ESP_OFFSET);
	uint16_t port = be16_get(edp->dst_port);
	struct esp_stream *s;

	if (bytes < sizeof(*edp) + sizeof(*esp) || frame->seg[0].bytes < DATA_OFFSET ||
	    esp->numbered > WIRE_ESP_BEHIND) {
		FW_DROP(nic, drop_esp_malformed);
		return;
	}
	bytes -= (uint32_t)(sizeof(*edp) + sizeof(*esp));
	if (port == edp_master_port(nic)) {
		esp_rx_syn(nic, eth->src, edp, esp, frame, DATA_OFFSET, bytes);
		return;
	}
	s = esp_by_port(nic, port);
	if (!s || memcmp(s->peer_mac, eth->src, WIRE_MAC_BYTES)) {
		FW_DROP(nic, drop_esp_no_stream);
		unreachable(nic, eth, edp, esp);
		return;
	}
	if (be32_get(esp->dst_inc) != s->src_inc) {
		FW_DROP(nic, drop_esp_incarnation);
		unreachable(nic, eth, edp, esp);
		return;
	}
	if (esp->flags & WIRE_ESP_SYN) {
		esp_rx_syn(nic, eth->src, edp, esp, frame, DATA_OFFSET, bytes);
		return;
	}
	if (s->state == ESP_SYN_SENT || be32_get(esp->src_inc) != s->dst_inc ||
	    be16_get(edp->src_port) != s->remote_port) {
		FW_DROP(nic, drop_esp_incarnation);
		return;
	}
	esp_rx(nic, s, esp, frame, DATA_OFFSET, bytes);
}

/* True if the packet, or each one of the run, is right; else it is dropped, or declined. */
static bool edp_crc_ok(struct fw_nic *nic, const struct fw_rx_frame *frame, uint32_t bytes)
{
	if (__builtin_expect(frame->run > 1, 0)) {
		if (eth_run_crc_ok(nic, frame))
			return true;
		eth_run_decline(nic);
		return false;
	}
	if (eth_crc32c_ok(nic, frame, EDP_OFFSET, bytes + WIRE_EDP_CRC_BYTES))
		return true;
	FW_DROP(nic, drop_esp_crc);
	return false;
}

void edp_rx(struct fw_nic *nic, const struct fw_rx_frame *frame)
{
	const struct wire_eth *eth = (const struct wire_eth *)frame->seg[0].data;
	const struct wire_edp *edp;
	uint32_t bytes;

	if (frame->seg[0].bytes < ESP_OFFSET) {
		FW_DROP(nic, drop_esp_malformed);
		return;
	}
	edp = (const struct wire_edp *)(frame->seg[0].data + EDP_OFFSET);
	bytes = be16_get(edp->bytes);
	if (__builtin_expect(frame->run > 1, 0))
		bytes = frame->bytes - EDP_OFFSET - frame->run * WIRE_EDP_CRC_BYTES;
	if (edp->ver_type >> 4 != WIRE_EDP_VERSION || edp->reserved || bytes < sizeof(*edp) ||
	    !is_addressed(nic, frame, eth, edp->ver_type & 0x0f) ||
	    frame->bytes < EDP_OFFSET + bytes + WIRE_EDP_CRC_BYTES) {
		FW_DROP(nic, drop_esp_malformed);
		return;
	}
	if (!(frame->flags & FW_RX_CRC_OK) && !edp_crc_ok(nic, frame, bytes))
		return;
	switch ((enum wire_edp_type)(edp->ver_type & 0x0f)) {
	case WIRE_EDP_ESP:
		rx_esp(nic, frame, eth, edp, bytes);
		return;
	case WIRE_EDP_ECHO:
		echo(nic, frame, eth, edp, bytes);
		return;
	case WIRE_EDP_UNREACHABLE:
		edp_rx_unreachable(nic, frame, eth, bytes);
		return;
	case WIRE_EDP_GROUP:
		stream_up.group_rx(nic, frame, bytes);
		return;
	case WIRE_EDP_ECHO_REPLY:
	case WIRE_EDP_TYPES:
		break;
	}
	FW_DROP(nic, drop_esp_malformed);
}
