/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bursts on a port whose memory can vanish while they run.
 *
 * net_memif unmaps its rings on DPDK's interrupt thread when the peer goes, whatever a core is
 * doing on them. Here such a fault ends the burst instead of weftd. Called by
 * wire_ethdev.c on the owner's core.
 */
#ifndef WEFT_APP_GUARD_H
#define WEFT_APP_GUARD_H

#include <stdbool.h>
#include <stdint.h>

struct rte_mbuf;

/* Installs the signal handler; the second time does nothing. 0 or -errno. */
int guard_init(void) __attribute__((warn_unused_result));

/*
 * rte_eth_rx_burst() and rte_eth_tx_burst(). *fault is set when memory vanished meanwhile: then
 * 0 frames came in, and n count as sent, whose buffers are lost (32 at most; it happens once
 * per peer that dies).
 */
uint16_t guard_rx_burst(uint16_t port, uint16_t queue, struct rte_mbuf **frames, uint16_t n,
			bool *fault);
uint16_t guard_tx_burst(uint16_t port, uint16_t queue, struct rte_mbuf **frames, uint16_t n,
			bool *fault);

#endif /* WEFT_APP_GUARD_H */
