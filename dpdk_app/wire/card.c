/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A card: see card.h.
 *
 * A card that goes, or is to be reset, is left in steps: the control thread sets CARD_STOPS, the
 * owner's core ceases to use it and reports that, then the control thread closes it. vfio keeps a
 * card that is unplugged until its program has closed it, and reports that by DPDK's device events.
 *
 * Calls rte_ethdev, rte_dev and card_start.c. DPDK programmer's guide, "Poll Mode Driver",
 * "Interrupt mode".
 */
#define ALLOW_EXPERIMENTAL_API /* rte_dev_event_callback_register(), rte_power_monitor() */

#include "dpdk_app/wire/card.h"

#include <errno.h>
#include <pthread.h>
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_power_intrinsics.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dpdk_app/control/stats.h"
#include "dpdk_app/lcore.h"
#include "dpdk_app/log.h"
#include "dpdk_app/wire/card_start.h"
#include "dpdk_app/wire/mac_filter.h"
#include "dpdk_app/wire/pci_card.h"
#include "dpdk_app/wire/tso.h"
#include "dpdk_app/wire/vlan.h"
#include "dpdk_app/wire/wire.h"

enum {
	CARD_MACS_MAX = 128, /* of the list that is given to the driver */
	CARD_LOOK_NS = 100000000,
	CARD_STATS_NS = 1000000, /* counters are read from the device at most so often */
	CARD_OWN_STATS = 3,
};

enum card_state {
	CARD_RUNS,
	CARD_STOPS, /* the core has to leave it */
	CARD_LEFT,  /* by the core */
	CARD_GONE,  /* closed */
};

enum card_wish {
	CARD_WISH_NONE,
	CARD_WISH_REMOVE,
	CARD_WISH_RESET,
};

/* A receive queue, as the core that polls it sees it. */
struct card_queue {
	_Alignas(APP_APART_BYTES) struct rte_mbuf *early[FW_BURST];
	uint32_t num_early;
	bool armed;
	uint64_t num_interrupts; /* that have come */
	uint64_t num_other_vlan; /* frames without the NIC's tag, which were dropped */
};

struct card {
	struct wire *wire;
	_Atomic(uint32_t) state; /* enum card_state */
	_Atomic(uint32_t) wish;  /* enum card_wish: of DPDK's threads to the control thread */
	bool filters;            /* control: groups are filtered by the card */
	bool vfio;               /* bound to vfio-pci, which gives programs its interrupts */
	bool interrupts;         /* its driver reports that it can wake the core */
	uint64_t look_ns;        /* control: when it is due */
	pthread_mutex_t admin;   /* calls of the driver besides bursts; cores only try it */

	struct card_queue queue[CONF_MAX_SHARDS];

	/* the owner's core: */
	uint64_t stats_ns; /* when the counters below were read */
	struct rte_eth_stats stats;
	struct rte_eth_xstat_name *name;
	struct rte_eth_xstat *value;
	uint32_t num_xstats, num_values;
};

/* ---- the state */

static uint32_t card_state(const struct card *card)
{
	return atomic_load_explicit(&card->state, memory_order_acquire);
}

static void card_set_state(struct card *card, enum card_state state)
{
	atomic_store_explicit(&card->state, state, memory_order_release);
}

static void card_wake_cores(const struct nic *nic)
{
	for (uint32_t s = 0; s < nic->num_shards; s++)
		core_wake(nic->shard[s].core);
}

static void card_wish(struct card *card, enum card_wish wish)
{
	atomic_store_explicit(&card->wish, wish, memory_order_release);
	app_wake_control(card->wire->nic->app);
}

/* A thread of DPDK's. */
static void card_event(const char *name, enum rte_dev_event_type type, void *arg)
{
	(void)name;
	if (type == RTE_DEV_EVENT_REMOVE)
		card_wish(arg, CARD_WISH_REMOVE);
}

/* A thread of DPDK's, or the control thread. */
static int card_port_event(uint16_t port, enum rte_eth_event_type type, void *arg, void *ret)
{
	(void)port;
	(void)ret;
	if (type == RTE_ETH_EVENT_INTR_RMV)
		card_wish(arg, CARD_WISH_REMOVE);
	else if (type == RTE_ETH_EVENT_INTR_RESET)
		card_wish(arg, CARD_WISH_RESET);
	return 0;
}

static void card_listen(struct card *card)
{
	uint16_t port = card->wire->port;

	(void)rte_eth_dev_callback_register(port, RTE_ETH_EVENT_INTR_RMV, card_port_event, card);
	(void)rte_eth_dev_callback_register(port, RTE_ETH_EVENT_INTR_RESET, card_port_event, card);
	/* By name: DPDK keeps the text. */
	(void)rte_dev_event_callback_register(card->wire->nic->conf->device, card_event, card);
}

/* Before the port is closed: its number may be another's afterwards. */
static void card_deafen(struct card *card)
{
	uint16_t port = card->wire->port;

	(void)rte_eth_dev_callback_unregister(port, RTE_ETH_EVENT_INTR_RMV, card_port_event, card);
	(void)rte_eth_dev_callback_unregister(port, RTE_ETH_EVENT_INTR_RESET, card_port_event,
					      card);
	(void)rte_dev_event_callback_unregister(card->wire->nic->conf->device, card_event, card);
}

/* ---- the control thread */

/* Reads the link; returns true if it has changed. */
static bool card_link(struct card *card)
{
	struct nic *nic = card->wire->nic;
	struct rte_eth_link link = {0};
	bool up;

	if (rte_eth_link_get_nowait(card->wire->port, &link))
		return false;
	up = link.link_status == RTE_ETH_LINK_UP;
	if (up == (bool)atomic_load_explicit(&nic->link_up, memory_order_relaxed))
		return false;
	atomic_store_explicit(&nic->line_mbps,
			      link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN ? 0 : link.link_speed,
			      memory_order_relaxed);
	atomic_store_explicit(&nic->link_up, up, memory_order_release);
	return true;
}

/* Gives the card the list of groups, or opens it for all if it takes no list so long. */
static void card_filter(struct card *card)
{
	uint8_t macs[CARD_MACS_MAX][RTE_ETHER_ADDR_LEN];
	struct wire *wire = card->wire;
	uint32_t n;

	if (!atomic_exchange_explicit(&wire->macs_changed, false, memory_order_acquire) ||
	    !card->filters)
		return;
	n = mac_filter_list(wire->nic, macs, CARD_MACS_MAX);
	if (n < CARD_MACS_MAX &&
	    !rte_eth_dev_set_mc_addr_list(wire->port, (struct rte_ether_addr *)(void *)macs, n))
		return;
	if (!rte_eth_allmulticast_enable(wire->port) || !rte_eth_promiscuous_enable(wire->port))
		card->filters = false;
	else
		log_nic_error(wire->nic->name, "%s lets no frames to groups in", wire->how);
}

static void card_begin_stop(struct card *card)
{
	struct nic *nic = card->wire->nic;

	atomic_store_explicit(&nic->link_up, 0, memory_order_release);
	card_set_state(card, CARD_STOPS);
	card_wake_cores(nic);
}

static void card_remove(struct card *card)
{
	struct wire *wire = card->wire;
	struct rte_eth_dev_info info = {0};

	(void)rte_eth_dev_info_get(wire->port, &info);
	card_deafen(card);
	(void)rte_eth_dev_stop(wire->port);
	(void)rte_eth_dev_close(wire->port);
	if (info.device)
		(void)rte_dev_remove(info.device);
	wire->num_fds = 0;
	atomic_store(&wire->gone, true);
	card_set_state(card, CARD_GONE);
	log_nic_error(wire->nic->name, "the card %s is gone; restart weftd once it is back",
		      wire->nic->conf->device);
}

/* The driver needs a reset: the same queues, filters and link as at the start. */
static void card_reset(struct card *card)
{
	struct wire *wire = card->wire;
	int err;

	(void)rte_eth_dev_stop(wire->port);
	err = rte_eth_dev_reset(wire->port);
	/* Some drivers begin anew whenever they are started. */
	if (!err || err == -ENOTSUP)
		err = card_start(wire, card->vfio, &card->interrupts);
	if (err) {
		log_nic_error(wire->nic->name, "the card %s could not be reset: %s; restart weftd",
			      wire->nic->conf->device, strerror(-err));
		card_deafen(card);
		(void)rte_eth_dev_close(wire->port);
		atomic_store(&wire->gone, true);
		card_set_state(card, CARD_GONE);
		return;
	}
	log_nic_info(wire->nic->name, "the card %s was reset", wire->nic->conf->device);
	card->filters = true;
	atomic_store(&wire->macs_changed, true);
	card_set_state(card, CARD_RUNS);
}

static void card_left(struct card *card)
{
	uint32_t wish = atomic_exchange(&card->wish, CARD_WISH_NONE);

	/* Other cores than the owner's poll queues, too: they have seen by their next turn. */
	lcore_quiesce(card->wire->nic->app);
	pthread_mutex_lock(&card->admin);
	if (wish == CARD_WISH_RESET)
		card_reset(card);
	else
		card_remove(card);
	pthread_mutex_unlock(&card->admin);
}

static void card_serve(struct card *card, uint64_t now_ns)
{
	switch ((enum card_state)card_state(card)) {
	case CARD_RUNS:
		if (atomic_load_explicit(&card->wish, memory_order_acquire)) {
			card_begin_stop(card);
			break;
		}
		pthread_mutex_lock(&card->admin);
		card_filter(card);
		if (now_ns >= card->look_ns) {
			card->look_ns = now_ns + CARD_LOOK_NS;
			if (card_link(card))
				card_wake_cores(card->wire->nic);
		}
		pthread_mutex_unlock(&card->admin);
		break;
	case CARD_LEFT:
		card_left(card);
		break;
	case CARD_STOPS:
	case CARD_GONE:
		break;
	}
}

void card_serve_all(struct app *app, uint64_t now_ns)
{
	for (uint32_t i = 0; i < app->num_nics; i++) {
		if (app_has_nic(app, i) && app->nic[i].wire->card)
			card_serve(app->nic[i].wire->card, now_ns);
	}
}

int card_wait_ms(const struct app *app, uint64_t now_ns)
{
	int wait_ms = -1;

	for (uint32_t i = 0; i < app->num_nics; i++) {
		const struct wire *wire = app->nic[i].wire;
		const struct card *card = wire ? wire->card : NULL;
		uint64_t ms;

		if (!card || card_state(card) == CARD_GONE)
			continue;
		ms = now_ns >= card->look_ns ? 0 : (card->look_ns - now_ns) / 1000000 + 1;
		if (card_state(card) != CARD_RUNS)
			ms = CARD_LOOK_NS / 1000000;
		if (wait_ms < 0 || (int)ms < wait_ms)
			wait_ms = (int)ms;
	}
	return wait_ms;
}

void card_filter_changed(struct wire *wire)
{
	atomic_store_explicit(&wire->macs_changed, true, memory_order_release);
	app_wake_control(wire->nic->app);
}

/* ---- begin and end */

/* The card's own counters, of which there are as many as it had when it was opened. */
static void card_open_stats(struct card *card)
{
	int n = rte_eth_xstats_get_names(card->wire->port, NULL, 0);

	if (n <= 0)
		return;
	card->name = calloc((size_t)n, sizeof(*card->name));
	card->value = calloc((size_t)n, sizeof(*card->value));
	if (card->name && card->value &&
	    rte_eth_xstats_get_names(card->wire->port, card->name, (unsigned)n) == n)
		card->num_xstats = (uint32_t)n;
}

int card_open(struct wire *wire)
{
	struct nic *nic = wire->nic;
	struct card *card = app_alloc_apart(sizeof(*card));
	struct rte_ether_addr mac;
	struct pci_card seen;
	int err;

	if (!card)
		return -ENOMEM;
	wire->card = card;
	wire->vlan = nic->conf->vlan;
	card->wire = wire;
	card->filters = true;
	pthread_mutex_init(&card->admin, NULL);
	card->vfio =
	    !pci_card_read(PCI_CARD_SYS, nic->conf->device, &seen) && strstr(seen.driver, "vfio");
	err = card_start(wire, card->vfio, &card->interrupts);
	if (!err)
		err = rte_eth_macaddr_get(wire->port, &mac);
	if (err)
		return err;
	memcpy(nic->mac, mac.addr_bytes, sizeof(nic->mac));
	card_open_stats(card);
	(void)card_link(card);
	if (atomic_load(&nic->line_mbps))
		nic->link_mbps = atomic_load(&nic->line_mbps);
	card_listen(card);
	return 0;
}

void card_close(struct wire *wire)
{
	struct card *card = wire->card;

	for (uint32_t q = 0; q < CONF_MAX_SHARDS; q++)
		rte_pktmbuf_free_bulk(card->queue[q].early, card->queue[q].num_early);
	if (card_state(card) != CARD_GONE && wire->num_rx_queues) {
		card_deafen(card);
		(void)rte_eth_dev_stop(wire->port);
		(void)rte_eth_dev_close(wire->port);
	}
	pthread_mutex_destroy(&card->admin);
	tso_free(wire);
	free(card->name);
	free(card->value);
	free(card);
	wire->card = NULL;
}

/* ---- the cores */

void card_turn(struct wire *wire)
{
	struct card *card = wire->card;
	uint32_t state = card_state(card);
	bool settled =
	    state == CARD_RUNS && atomic_load_explicit(&wire->nic->link_up, memory_order_relaxed);

	if (settled != atomic_load_explicit(&wire->settled, memory_order_relaxed))
		atomic_store_explicit(&wire->settled, settled, memory_order_release);
	if (state != CARD_STOPS)
		return;
	card_set_state(card, CARD_LEFT);
	app_wake_control(wire->nic->app);
}

/* Frames that card_arm() found. */
static uint32_t card_early(struct card_queue *queue, struct rte_mbuf **frames, uint32_t n)
{
	if (n > queue->num_early)
		n = queue->num_early;
	memcpy(frames, queue->early, n * sizeof(*frames));
	queue->num_early -= n;
	memmove(queue->early, queue->early + n, queue->num_early * sizeof(*frames));
	return n;
}

uint32_t card_rx(struct wire *wire, uint16_t number, struct rte_mbuf **frames, uint32_t n)
{
	struct card_queue *queue = &wire->card->queue[number];

	if (__builtin_expect(queue->num_early, 0))
		n = card_early(queue, frames, n);
	else
		n = rte_eth_rx_burst(wire->port, number, frames, (uint16_t)n);
	return wire->vlan ? vlan_in(wire, frames, n, &queue->num_other_vlan) : n;
}

bool card_arm(struct wire *wire, uint16_t number)
{
	struct card *card = wire->card;
	struct card_queue *queue = &card->queue[number];
	uint32_t state = card_state(card);

	if (state != CARD_RUNS)
		return state == CARD_GONE;
	if (queue->num_early || !card->interrupts)
		return !queue->num_early;
	if (pthread_mutex_trylock(&card->admin))
		return false;
	/* A core that is about to sleep is not waited for: the card may have stopped meanwhile. */
	if (card_state(card) == CARD_RUNS) {
		queue->armed = !rte_eth_dev_rx_intr_enable(wire->port, number);
		/* A frame from before the interrupt was enabled raises none. */
		queue->num_early = rte_eth_rx_burst(wire->port, number, queue->early, FW_BURST);
	}
	pthread_mutex_unlock(&card->admin);
	if (queue->num_early)
		card_disarm(wire, number);
	return queue->armed && !queue->num_early;
}

void card_disarm(struct wire *wire, uint16_t number)
{
	struct card *card = wire->card;
	struct card_queue *queue = &card->queue[number];
	uint64_t count;

	if (!queue->armed || pthread_mutex_trylock(&card->admin))
		return;
	queue->armed = false;
	if (card_state(card) == CARD_RUNS) {
		/* Non-blocking; empty if something else ended the sleep. */
		if (read(wire->fd[number], &count, sizeof(count)) == (ssize_t)sizeof(count))
			queue->num_interrupts += count;
		/*
		 * Some drivers enable interrupts that their device then sends nowhere: cores keep
		 * looking until one has come.
		 */
		if (queue->num_interrupts &&
		    atomic_load_explicit(&wire->naps, memory_order_relaxed))
			atomic_store_explicit(&wire->naps, false, memory_order_relaxed);
		(void)rte_eth_dev_rx_intr_disable(wire->port, number);
	}
	pthread_mutex_unlock(&card->admin);
}

bool card_monitor(struct wire *wire, uint16_t number, uint64_t until_ticks)
{
	struct rte_power_monitor_cond next;
	const struct card *card = wire->card;

	/* The control thread stops the card only when this core has left the turn. */
	return card_state(card) == CARD_RUNS && !card->queue[number].num_early &&
	       !rte_eth_get_monitor_addr(wire->port, number, &next) &&
	       !rte_power_monitor(&next, until_ticks);
}

/* Counters are many and may be requested often: the device is read once per CARD_STATS_NS. */
static void card_read_stats(struct card *card)
{
	uint64_t now_ns = card->wire->nic->shard[0].core->now_ns;
	int n;

	if (card->stats_ns && now_ns - card->stats_ns < CARD_STATS_NS)
		return;
	if (pthread_mutex_trylock(&card->admin))
		return;
	if (card_state(card) == CARD_RUNS) {
		card->stats_ns = now_ns;
		(void)rte_eth_stats_get(card->wire->port, &card->stats);
		n = rte_eth_xstats_get(card->wire->port, card->value, card->num_xstats);
		card->num_values = n < 0 || (uint32_t)n > card->num_xstats ? 0 : (uint32_t)n;
	}
	pthread_mutex_unlock(&card->admin);
}

void card_port_stats(const struct wire *wire, struct rte_eth_stats *stats)
{
	card_read_stats(wire->card);
	*stats = wire->card->stats;
}

uint32_t card_stats(const struct wire *wire, struct hw_stat *stat, uint32_t max)
{
	const struct card *card = wire->card;
	uint64_t interrupts = 0, others = 0;
	uint32_t n = 0;

	if (max < CARD_OWN_STATS)
		return 0;
	for (uint16_t q = 0; q < wire->num_rx_queues; q++) {
		interrupts += card->queue[q].num_interrupts;
		others += card->queue[q].num_other_vlan;
	}
	stats_put(&stat[n++], "wire_", "rx_interrupts", interrupts);
	stats_put(&stat[n++], "wire_", "polled_idle", wire->naps);
	stats_put(&stat[n++], "wire_", "drop_vlan", others);
	for (uint32_t i = 0; i < card->num_values && n < max; i++) {
		if (card->value[i].id < card->num_xstats)
			stats_put(&stat[n++], "card_", card->name[card->value[i].id].name,
				  card->value[i].value);
	}
	return n;
}
