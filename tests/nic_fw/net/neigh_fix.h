/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fixture of the tests of neighbours, included by neigh*_ut.c: frames of ARP that come in. A test
 * that includes it includes tests/bench/stubs/net.h itself.
 */
#ifndef WEFT_TESTS_NEIGH_FIX_H
#define WEFT_TESTS_NEIGH_FIX_H

#include "tests/bench/stubs/net.h"

static const uint8_t other_mac[6] = {0x02, 0, 0, 0, 0, 0x77};
static uint8_t mac[6];

static inline void rx_arp(uint16_t op, uint32_t sender_ip, const uint8_t *sender_mac,
			  uint32_t target_ip)
{
	struct frame f;

	net_put_arp(&f, op, sender_ip, sender_mac, target_ip);
	net_rx(&f);
}

#endif /* WEFT_TESTS_NEIGH_FIX_H */
