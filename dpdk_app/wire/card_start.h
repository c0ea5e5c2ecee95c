/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The start of a card: what it offers, and what of it is used. card.c calls it.
 */
#ifndef WEFT_APP_CARD_START_H
#define WEFT_APP_CARD_START_H

#include <stdbool.h>

struct wire;

/*
 * Configures and starts the card at wire->port. may_wake: its interrupts reach programs. *wakes is
 * set where its driver can wake the cores. Returns 0 or -errno.
 */
int card_start(struct wire *wire, bool may_wake, bool *wakes) __attribute__((warn_unused_result));

#endif /* WEFT_APP_CARD_START_H */
