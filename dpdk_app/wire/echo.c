/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Echoes that the port answers before the firmware: the first step of weft-bench ladder, which
 * measures only the input and output of a frame. Requires --port-echo.
 *
 * Runs on the shard's core; calls accel.c and the wire. docs/wire-esp.md, EDP.
 */
#include "dpdk_app/wire/echo.h"

#include <rte_mbuf.h>
#include <string.h>

#include "dpdk_app/accel.h"
#include "dpdk_app/wire/wire.h"
#include "nic_fw/base/crc32c.h"
#include "shared_defs/wire_esp.h"
#include "shared_defs/wire_eth.h"

enum {
	EDP_OFFSET = sizeof(struct wire_eth),
};

/* Returns true for an EDP echo to the port's own number in a single writable segment. */
static bool is_echo(const struct nic *nic, const struct rte_mbuf *m, uint32_t *bytes)
{
	const struct wire_eth *eth = rte_pktmbuf_mtod(m, const struct wire_eth *);
	const struct wire_edp *edp = (const struct wire_edp *)((const uint8_t *)eth + EDP_OFFSET);
	struct be32 crc;

	if (m->nb_segs != 1 || m->data_len < EDP_OFFSET + sizeof(*edp) ||
	    rte_mbuf_refcnt_read(m) != 1 || be16_get(eth->type) != WIRE_ETHERTYPE_ESP ||
	    edp->ver_type != (WIRE_EDP_VERSION << 4 | WIRE_EDP_ECHO) ||
	    be16_get(edp->dst_port) != WIRE_EDP_PORT_ECHO)
		return false;
	*bytes = be16_get(edp->bytes);
	if (*bytes < sizeof(*edp) || EDP_OFFSET + *bytes + WIRE_EDP_CRC_BYTES > m->data_len ||
	    memcmp(eth->dst, nic->mac, WIRE_MAC_BYTES) || eth->src[0] & 1)
		return false;
	crc = fw_crc32c_wire(accel_crc32c(FW_CRC32C_INIT, edp, *bytes));
	return !memcmp((const uint8_t *)edp + *bytes, &crc, sizeof(crc));
}

bool echo_answered(struct shard *shard, struct rte_mbuf *m)
{
	struct wire_eth *eth = rte_pktmbuf_mtod(m, struct wire_eth *);
	struct wire_edp *edp = (struct wire_edp *)((uint8_t *)eth + EDP_OFFSET);
	struct be16 port;
	struct be32 crc;
	uint32_t bytes;

	if (!is_echo(shard->nic, m, &bytes))
		return false;
	memcpy(eth->dst, eth->src, WIRE_MAC_BYTES);
	memcpy(eth->src, shard->nic->mac, WIRE_MAC_BYTES);
	edp->ver_type = WIRE_EDP_VERSION << 4 | WIRE_EDP_ECHO_REPLY;
	port = edp->dst_port;
	edp->dst_port = edp->src_port;
	edp->src_port = port;
	crc = fw_crc32c_wire(accel_crc32c(FW_CRC32C_INIT, edp, bytes));
	memcpy((uint8_t *)edp + bytes, &crc, sizeof(crc));
	/* Without room the requester repeats the echo. */
	if (shard->nic->wire->ops->tx(shard, &m, 1))
		shard->stats.echoes++;
	else
		rte_pktmbuf_free(m);
	return true;
}
