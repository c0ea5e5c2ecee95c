/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs of TCP segments given to a card as one frame, which it divides (TCP segmentation offload).
 *
 * The same runs go to a card as to the kernel (gso_run.h), those of a burst at most: frames join in
 * a chain of mbufs whose first has the headers, and become single ones again if the card has no
 * room. Only where the driver offers it (RTE_ETH_TX_OFFLOAD_TCP_TSO), and within its limits.
 *
 * DPDK programmer's guide, "Mbuf Library", Meta Information; "Poll Mode Driver".
 */
#ifndef WEFT_APP_TSO_H
#define WEFT_APP_TSO_H

#include <stdint.h>

struct rte_eth_conf;
struct rte_eth_dev_info;
struct rte_mbuf;
struct tso;
struct wire;

/*
 * Adds to the request what the port offers of it, and sets wire->tso_frames. Control thread; no
 * core uses the port. tso_free(): no core may run.
 */
void tso_request(struct wire *wire, const struct rte_eth_dev_info *info, struct rte_eth_conf *eth);
void tso_free(struct wire *wire);

/*
 * Sends as many of the first n <= FW_BURST frames as there is room for, in order; returns their
 * number. On the core that has the queue.
 */
uint32_t tso_tx(struct wire *wire, uint16_t queue, struct rte_mbuf **frames, uint32_t n);

struct tso_stats {
	uint64_t runs;
	uint64_t frames;  /* of those runs */
	uint64_t refused; /* runs that the driver refused; the queue has sent singly since */
};
/* The sum of all queues. */
struct tso_stats tso_stats(const struct tso *tso);

#endif /* WEFT_APP_TSO_H */
