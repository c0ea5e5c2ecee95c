/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tags of VLANs in frames of a card: see vlan.h.
 *
 * A frame of weft's own has no tag, so one whose EtherType is a tag's has got it from here. Calls
 * rte_ethdev and rte_mbuf.
 */
#define ALLOW_EXPERIMENTAL_API /* rte_eth_dev_conf_get() */

#include "dpdk_app/wire/vlan.h"

#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>
#include <string.h>

#include "dpdk_app/csum.h"
#include "dpdk_app/wire/wire.h"

enum {
	VLAN_MACS_BYTES = 2 * RTE_ETHER_ADDR_LEN,
	VLAN_TAG_BYTES = sizeof(struct rte_vlan_hdr),
	VLAN_ID_MASK = 0xfff,
};

void vlan_request(struct wire *wire, const struct rte_eth_dev_info *info, struct rte_eth_conf *eth)
{
	wire->vlan_inserts = false;
	if (!wire->vlan)
		return;
	eth->rxmode.offloads |= info->rx_offload_capa &
				(RTE_ETH_RX_OFFLOAD_VLAN_STRIP | RTE_ETH_RX_OFFLOAD_VLAN_FILTER);
	eth->txmode.offloads |= info->tx_offload_capa & RTE_ETH_TX_OFFLOAD_VLAN_INSERT;
	wire->vlan_inserts = eth->txmode.offloads & RTE_ETH_TX_OFFLOAD_VLAN_INSERT;
}

int vlan_let_in(const struct wire *wire)
{
	struct rte_eth_conf eth = {0};
	int err = wire->vlan ? rte_eth_dev_conf_get(wire->port, &eth) : 0;

	if (err || !(eth.rxmode.offloads & RTE_ETH_RX_OFFLOAD_VLAN_FILTER))
		return err;
	return rte_eth_dev_vlan_filter(wire->port, wire->vlan, 1);
}

static bool tagged(const struct rte_mbuf *m)
{
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, const struct rte_ether_hdr *);

	return eth->ether_type == rte_cpu_to_be_16(RTE_ETHER_TYPE_VLAN);
}

/* Returns the VLAN of a received frame, whose tag is taken off; 0: it has none. */
static uint16_t vlan_of(struct rte_mbuf *m)
{
	const struct rte_vlan_hdr *tag;
	uint16_t tci;
	char *frame;

	if (m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED)
		return m->vlan_tci & VLAN_ID_MASK;
	if (m->data_len < VLAN_MACS_BYTES + VLAN_TAG_BYTES + sizeof(uint16_t) || !tagged(m))
		return 0;
	frame = rte_pktmbuf_mtod(m, char *);
	tag = (const struct rte_vlan_hdr *)(const void *)(frame + sizeof(struct rte_ether_hdr));
	tci = rte_be_to_cpu_16(tag->vlan_tci);
	memmove(frame + VLAN_TAG_BYTES, frame, VLAN_MACS_BYTES);
	(void)rte_pktmbuf_adj(m, VLAN_TAG_BYTES);
	return tci & VLAN_ID_MASK;
}

uint32_t vlan_in(const struct wire *wire, struct rte_mbuf **frames, uint32_t n, uint64_t *others)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (vlan_of(frames[i]) == wire->vlan) {
			frames[kept++] = frames[i];
			continue;
		}
		rte_pktmbuf_free(frames[i]);
		(*others)++;
	}
	return kept;
}

/* The tag goes into the headroom, before which the MAC addresses move. */
static void insert(struct rte_mbuf *m, uint16_t vlan)
{
	char *frame = rte_pktmbuf_mtod(m, char *) - VLAN_TAG_BYTES;
	struct rte_ether_hdr *eth = (struct rte_ether_hdr *)(void *)frame;
	struct rte_vlan_hdr *tag = (struct rte_vlan_hdr *)(void *)(eth + 1);

	m->data_off -= VLAN_TAG_BYTES;
	m->data_len += VLAN_TAG_BYTES;
	m->pkt_len += VLAN_TAG_BYTES;
	memmove(frame, frame + VLAN_TAG_BYTES, VLAN_MACS_BYTES);
	eth->ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_VLAN);
	tag->vlan_tci = rte_cpu_to_be_16(vlan);
	if (csum_is_left(m))
		m->l2_len += VLAN_TAG_BYTES;
}

/*
 * Returns false if there is no buffer. Another holder of the frame, as the NIC's own loop, must not
 * see the tag.
 */
static bool own(const struct wire *wire, struct rte_mbuf **frame)
{
	struct rte_mbuf *copy;

	if (rte_mbuf_refcnt_read(*frame) == 1 && rte_pktmbuf_headroom(*frame) >= VLAN_TAG_BYTES)
		return true;
	copy = rte_pktmbuf_copy(*frame, wire->nic->pool, 0, UINT32_MAX);
	if (!copy)
		return false;
	rte_pktmbuf_free(*frame);
	*frame = copy;
	return true;
}

/*
 * Leaves the tag to the card. Some drivers, as net_virtio, insert it themselves when they are asked
 * to prepare the frame. A run is prepared where it is made (tso.c). Returns false if the driver
 * refuses.
 */
static bool leave(const struct wire *wire, uint16_t queue, struct rte_mbuf **frame)
{
	(*frame)->ol_flags |= RTE_MBUF_F_TX_VLAN;
	(*frame)->vlan_tci = wire->vlan;
	if ((*frame)->ol_flags & RTE_MBUF_F_TX_TCP_SEG ||
	    rte_eth_tx_prepare(wire->port, queue, frame, 1))
		return true;
	(*frame)->ol_flags &= ~RTE_MBUF_F_TX_VLAN;
	return false;
}

uint32_t vlan_out(const struct wire *wire, uint16_t queue, struct rte_mbuf **frames, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (frames[i]->ol_flags & RTE_MBUF_F_TX_VLAN || tagged(frames[i]))
			continue;
		if (!own(wire, &frames[i]))
			return i;
		if (!wire->vlan_inserts || !leave(wire, queue, &frames[i]))
			insert(frames[i], wire->vlan);
	}
	return n;
}
