/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Facts about a card for the operator: its speed, and what is used of it. card_start.c calls it.
 */
#ifndef WEFT_APP_CARD_INFO_H
#define WEFT_APP_CARD_INFO_H

#include <stdbool.h>
#include <stdint.h>

struct rte_eth_dev_info;
struct wire;

/* Returns the greatest speed that the card has, for as long as its link is down. */
uint32_t card_info_mbps(const struct rte_eth_dev_info *info);

/* Logs what is used of the card, and what the driver does not offer. */
void card_info_say(const struct wire *wire, const struct rte_eth_dev_info *info, bool interrupts);

#endif /* WEFT_APP_CARD_INFO_H */
