/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A PCI card that DPDK drives: its link, filters, interrupts, counters, and its end when it is
 * unplugged.
 *
 * The owner's core receives and sends; everything else that a driver does (link, filters, reset,
 * removal) is done on the control thread, since drivers wait for their devices there. wire_pci.c
 * opens it; wire_ethdev.c, wire_stats.c and control.c call it.
 */
#ifndef WEFT_APP_CARD_H
#define WEFT_APP_CARD_H

#include <stdbool.h>
#include <stdint.h>

#include "dpdk_app/app.h"

struct card;
struct hw_stat;
struct rte_eth_stats;
struct rte_mbuf;

/* Configures and starts the card at wire->port. Returns 0 or -errno, after a message. */
int card_open(struct wire *wire) __attribute__((warn_unused_result));

/* Stops and closes the card, unless it is gone, and frees wire->card. No core may run. */
void card_close(struct wire *wire);

/* Control thread: what has become due of all cards. */
void card_serve_all(struct app *app, uint64_t now_ns);

/* Returns the milliseconds until card_serve_all() is due; -1: there are no cards. */
int card_wait_ms(const struct app *app, uint64_t now_ns);

/* Wants the list of groups to be set anew. Any core. */
void card_filter_changed(struct wire *wire);

/* Once per turn of the owner's core: takes over the state, leaves a card that goes. */
void card_turn(struct wire *wire);

/* Receives up to n frames from a queue. On the core that polls it. */
uint32_t card_rx(struct wire *wire, uint16_t queue, struct rte_mbuf **frames, uint32_t n);

/*
 * Before the core that polls the queue sleeps: lets the card raise an interrupt for the next frame.
 * Returns false if frames came meanwhile. card_disarm() follows the sleep.
 */
bool card_arm(struct wire *wire, uint16_t queue);
void card_disarm(struct wire *wire, uint16_t queue);

/*
 * Waits until a frame comes to the queue, or until this time of the processor's clock. Returns
 * false at once where the driver does not say which line to monitor. On the core that polls the
 * queue.
 */
bool card_monitor(struct wire *wire, uint16_t queue, uint64_t until_ticks);

/* Writes up to max counters of the driver, called "card_". On the owner's core. */
uint32_t card_stats(const struct wire *wire, struct hw_stat *stat, uint32_t max);

/* Reads the port's counters, at most a millisecond old. On the owner's core. */
void card_port_stats(const struct wire *wire, struct rte_eth_stats *stats);

#endif /* WEFT_APP_CARD_H */
