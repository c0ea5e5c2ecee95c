/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A card besides its frames: which offloads are asked for, its link, groups, counters, tags of its
 * VLAN, and the steps in which the core leaves it when it is removed or reset.
 *
 * Runs dpdk_app/wire/card.c over DPDK's net_ring and net_null; the core and the control thread are
 * this thread. tests/nodes/pci.sh runs it on emulated cards.
 */
#define ALLOW_EXPERIMENTAL_API /* rte_dev_event_callback_process(), rte_power_monitor() */

#include "dpdk_app/wire/card.h"

#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_cpuflags.h>
#include <rte_mbuf.h>
#include <rte_power_intrinsics.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dpdk_app/power.h"
#include "dpdk_app/wire/mac_filter.h"
#include "dpdk_app/wire/vlan.h"
#include "dpdk_app/wire/wire.h"
#include "lib/stat_rows.h"
#include "shared_defs/hw_cmd.h"
#include "tests/ut.h"

/* They belong to drivers of DPDK: its installed headers do not have them. */
struct rte_eth_dev;
extern uint8_t rte_eth_devices[];
int rte_eth_dev_callback_process(struct rte_eth_dev *dev, enum rte_eth_event_type event,
				 void *ret_param);

enum {
	STATS = 64,
	MBUFS = 4095,
	FRAME_BYTES = 100,
	TYPE_AT = 12,
};

static struct app app;
static struct core core;
static struct conf_nic conf;
static struct wire wire;
static struct nic *const nic = &app.nic[0];

static bool has_line; /* the driver says which line the next frame changes */
static uint32_t num_pauses, num_monitors;
static uint64_t line;

/* In the place of DPDK's. */
void rte_cpu_get_intrinsics_support(struct rte_cpu_intrinsics *can)
{
	can->power_pause = can->power_monitor = 1;
}

int rte_eth_get_monitor_addr(uint16_t port, uint16_t queue, struct rte_power_monitor_cond *next)
{
	(void)port;
	(void)queue;
	*next = (struct rte_power_monitor_cond){.addr = &line, .size = sizeof(line)};
	return has_line ? 0 : -ENOTSUP;
}

int rte_power_monitor(const struct rte_power_monitor_cond *next, const uint64_t until)
{
	CU_ASSERT_PTR_EQUAL(next->addr, &line);
	CU_ASSERT_TRUE(until < rte_rdtsc() + rte_get_tsc_hz());
	num_monitors++;
	return 0;
}

int rte_power_pause(const uint64_t until)
{
	(void)until;
	num_pauses++;
	return 0;
}

static void eal(void)
{
	static char *args[] = {(char *)(uintptr_t) "card_ut",
			       (char *)(uintptr_t) "--no-pci",
			       (char *)(uintptr_t) "--no-huge",
			       (char *)(uintptr_t) "--no-shconf",
			       (char *)(uintptr_t) "--no-telemetry",
			       (char *)(uintptr_t) "-m",
			       (char *)(uintptr_t) "64",
			       (char *)(uintptr_t) "--log-level",
			       (char *)(uintptr_t) "critical"};
	static bool done;

	if (!done)
		CU_ASSERT_FATAL(rte_eal_init(sizeof(args) / sizeof(args[0]), args) >= 0);
	done = true;
}

/* Opens a virtual device as a card, with buffers for frames of so many bytes. */
static void open_card(const char *device, uint32_t room, uint32_t mtu)
{
	char name[32];
	static int number;

	eal();
	memset(&app, 0, sizeof(app));
	memset(&core, 0, sizeof(core));
	memset(&wire, 0, sizeof(wire));
	app.num_nics = 1;
	app.control_fd = -1;
	app.conf.mtu = mtu;
	core.app = &app;
	core.runner[RUNNER_POLLER].wake_fd = -1;
	nic->app = &app;
	nic->conf = &conf;
	nic->num_shards = 1;
	nic->shard[0].nic = nic;
	nic->shard[0].core = &core;
	nic->mtu = mtu;
	nic->wire = &wire;
	snprintf(nic->name, sizeof(nic->name), "weft0");
	snprintf(conf.device, sizeof(conf.device), "%s", device);
	snprintf(name, sizeof(name), "pool%d", number++);
	nic->pool = rte_pktmbuf_pool_create(name, MBUFS, 0, 0,
					    (uint16_t)(room + RTE_PKTMBUF_HEADROOM), SOCKET_ID_ANY);
	CU_ASSERT_PTR_NOT_NULL_FATAL(nic->pool);
	CU_ASSERT_EQUAL_FATAL(mac_filter_init(nic), 0);
	wire.nic = nic;
	wire.ops = &wire_ethdev_ops;
	wire.filters = true;
	wire.claim_fd = wire.group_fd = -1;
	CU_ASSERT_EQUAL_FATAL(rte_eal_hotplug_add("vdev", device, ""), 0);
	CU_ASSERT_EQUAL_FATAL(rte_eth_dev_get_port_by_name(device, &wire.port), 0);
	CU_ASSERT_EQUAL_FATAL(card_open(&wire), 0);
}

static void close_card(bool gone)
{
	card_close(&wire);
	if (!gone)
		rte_eal_hotplug_remove("vdev", conf.device);
	mac_filter_free(nic);
	rte_mempool_free(nic->pool);
}

static uint64_t stat_of(const char *name)
{
	struct hw_stat stat[STATS];
	uint32_t n = card_stats(&wire, stat, STATS);

	for (uint32_t i = 0; i < n; i++) {
		if (!strcmp(stat[i].name, name))
			return stat[i].value;
	}
	return UINT64_MAX;
}

static uint64_t offloads(void)
{
	struct rte_eth_conf eth;

	CU_ASSERT_EQUAL(rte_eth_dev_conf_get(wire.port, &eth), 0);
	return eth.rxmode.offloads | eth.txmode.offloads;
}

/* Offloads that a driver lacks are not asked for. */
static void offers_little(void)
{
	open_card("net_null0", 2048, 1500);
	CU_ASSERT_FALSE(wire.tx_csum);
	CU_ASSERT_EQUAL(offloads() & (RTE_ETH_RX_OFFLOAD_TCP_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM),
			0);
	CU_ASSERT_TRUE(wire.naps);
	CU_ASSERT_EQUAL(wire.num_fds, 0);
	CU_ASSERT_EQUAL(stat_of("wire_polled_idle"), 1);
	CU_ASSERT_EQUAL(stat_of("wire_rx_interrupts"), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(wire.how, "net_null0 by net_null"));
	close_card(false);
}

/* Scattered receives cost drivers time: only where a frame does not fit a buffer. */
static void scatters(void)
{
	open_card("net_ring0", 2048, 1500);
	CU_ASSERT_EQUAL(offloads() & RTE_ETH_RX_OFFLOAD_SCATTER, 0);
	close_card(false);
	open_card("net_ring1", 10240, 9000);
	/* Some drivers use 8 KiB of 10. */
	CU_ASSERT_EQUAL(offloads() & RTE_ETH_RX_OFFLOAD_SCATTER, RTE_ETH_RX_OFFLOAD_SCATTER);
	close_card(false);
}

static void link_state(void)
{
	open_card("net_null0", 2048, 1500);
	card_serve_all(&app, 1);
	card_turn(&wire);
	CU_ASSERT_EQUAL(atomic_load(&nic->link_up), 1);
	CU_ASSERT_TRUE(wire.settled);
	CU_ASSERT_TRUE(card_wait_ms(&app, 1) > 0);
	/* DPDK's net_null has no link when it is stopped. */
	CU_ASSERT_EQUAL(rte_eth_dev_stop(wire.port), 0);
	card_serve_all(&app, UINT64_C(10000000000));
	card_turn(&wire);
	CU_ASSERT_EQUAL(atomic_load(&nic->link_up), 0);
	CU_ASSERT_FALSE(wire.settled);
	CU_ASSERT_EQUAL(rte_eth_dev_start(wire.port), 0);
	card_serve_all(&app, UINT64_C(20000000000));
	CU_ASSERT_EQUAL(atomic_load(&nic->link_up), 1);
	close_card(false);
}

/* A driver without a list of groups lets all frames in. */
static void groups(void)
{
	open_card("net_ring0", 2048, 1500);
	CU_ASSERT_EQUAL(rte_eth_promiscuous_disable(wire.port), 0);
	CU_ASSERT_EQUAL(rte_eth_allmulticast_disable(wire.port), 0);
	card_serve_all(&app, 1);
	CU_ASSERT_EQUAL(rte_eth_allmulticast_get(wire.port), 0);
	card_filter_changed(&wire);
	CU_ASSERT_EQUAL(rte_eth_allmulticast_get(wire.port), 0);
	card_serve_all(&app, 2);
	CU_ASSERT_EQUAL(rte_eth_allmulticast_get(wire.port), 1);
	close_card(false);
}

static void removed(void)
{
	uint16_t port;

	open_card("net_null0", 2048, 1500);
	card_serve_all(&app, 1);
	card_turn(&wire);
	rte_dev_event_callback_process("net_null0", RTE_DEV_EVENT_REMOVE);
	/* Until the core has left it, it is there. */
	card_serve_all(&app, 2);
	card_serve_all(&app, 3);
	CU_ASSERT_EQUAL(atomic_load(&nic->link_up), 0);
	CU_ASSERT_FALSE(atomic_load(&wire.gone));
	CU_ASSERT_FALSE(card_arm(&wire, 0));
	card_turn(&wire);
	CU_ASSERT_FALSE(wire.settled);
	CU_ASSERT_FALSE(card_arm(&wire, 0));
	card_serve_all(&app, 4);
	CU_ASSERT_TRUE(atomic_load(&wire.gone));
	CU_ASSERT_NOT_EQUAL(rte_eth_dev_get_port_by_name("net_null0", &port), 0);
	/* The core sleeps as it likes, and counters are still those of the end. */
	CU_ASSERT_TRUE(card_arm(&wire, 0));
	card_disarm(&wire, 0);
	card_turn(&wire);
	CU_ASSERT_EQUAL(stat_of("wire_polled_idle"), 1);
	CU_ASSERT_EQUAL(card_wait_ms(&app, 5), -1);
	close_card(true);
}

static void reset(void)
{
	open_card("net_null0", 2048, 1500);
	CU_ASSERT_EQUAL_FATAL(wire.port, 0);
	card_serve_all(&app, 1);
	card_turn(&wire);
	rte_eth_dev_callback_process((struct rte_eth_dev *)(void *)rte_eth_devices,
				     RTE_ETH_EVENT_INTR_RESET, NULL);
	card_serve_all(&app, 2);
	card_turn(&wire);
	CU_ASSERT_FALSE(wire.settled);
	card_serve_all(&app, 3);
	card_serve_all(&app, UINT64_C(10000000000));
	card_turn(&wire);
	CU_ASSERT_FALSE(atomic_load(&wire.gone));
	CU_ASSERT_EQUAL(atomic_load(&nic->link_up), 1);
	CU_ASSERT_TRUE(wire.settled);
	close_card(false);
}

/* Sends a frame with its EtherType and a byte of payload, on the wire of a card that is up. */
static struct rte_mbuf *frame_of(uint16_t type)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(nic->pool);
	uint8_t *at = (uint8_t *)(m ? rte_pktmbuf_append(m, FRAME_BYTES) : NULL);

	CU_ASSERT_PTR_NOT_NULL_FATAL(at);
	for (uint32_t i = 0; i < FRAME_BYTES; i++)
		at[i] = (uint8_t)i;
	at[TYPE_AT] = (uint8_t)(type >> 8);
	at[TYPE_AT + 1] = (uint8_t)type;
	return m;
}

/* Returns true if the frame is as frame_of(0x0800) made it, with so many bytes more at the type. */
static bool frame_is_whole(const struct rte_mbuf *m, uint32_t more)
{
	const uint8_t *at = rte_pktmbuf_mtod(m, const uint8_t *);

	if (m->pkt_len != FRAME_BYTES + more || m->data_len != m->pkt_len)
		return false;
	for (uint32_t i = 0; i < FRAME_BYTES; i++) {
		uint8_t is = at[i < TYPE_AT ? i : i + more];

		if (i != TYPE_AT && i != TYPE_AT + 1 && is != (uint8_t)i)
			return false;
	}
	return at[TYPE_AT + more] == 8 && at[TYPE_AT + more + 1] == 0;
}

static void open_vlan(void)
{
	conf.vlan = 5;
	open_card("net_ring0", 2048, 1500);
	conf.vlan = 0;
	card_serve_all(&app, 1);
	card_turn(&wire);
	CU_ASSERT_TRUE(wire.settled);
}

/* net_ring gives back what it sends, and knows no tags: the core handles them. */
static void tags_of_a_vlan(void)
{
	static const uint8_t tag[] = {0x81, 0, 0, 5};
	struct rte_mbuf *m, *copy;

	open_vlan();
	m = frame_of(0x0800);
	m->ol_flags |= RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_TCP_CKSUM;
	m->l2_len = TYPE_AT + 2;
	/* Frames for which there was no room come again. */
	CU_ASSERT_EQUAL(vlan_out(&wire, 0, &m, 1), 1);
	CU_ASSERT_EQUAL(wire_ethdev_ops.tx(&nic->shard[0], &m, 1), 1);
	CU_ASSERT_EQUAL_FATAL(rte_eth_rx_burst(wire.port, 0, &m, 1), 1);
	CU_ASSERT_TRUE(frame_is_whole(m, sizeof(tag)));
	CU_ASSERT_EQUAL(memcmp(rte_pktmbuf_mtod_offset(m, uint8_t *, TYPE_AT), tag, sizeof(tag)),
			0);
	CU_ASSERT_EQUAL(m->l2_len, TYPE_AT + 2 + sizeof(tag));
	CU_ASSERT_EQUAL(rte_eth_tx_burst(wire.port, 0, &m, 1), 1);
	CU_ASSERT_EQUAL_FATAL(wire_ethdev_ops.rx(&nic->shard[0], &m, 1), 1);
	CU_ASSERT_TRUE(frame_is_whole(m, 0));
	/* The NIC's own loop has the frame, too, and sees no tag. */
	copy = m;
	rte_mbuf_refcnt_update(m, 1);
	CU_ASSERT_EQUAL(vlan_out(&wire, 0, &copy, 1), 1);
	CU_ASSERT_PTR_NOT_EQUAL(copy, m);
	CU_ASSERT_TRUE(frame_is_whole(m, 0));
	CU_ASSERT_TRUE(frame_is_whole(copy, sizeof(tag)));
	CU_ASSERT_EQUAL(rte_mbuf_refcnt_read(m), 1);
	rte_pktmbuf_free(copy);
	rte_pktmbuf_free(m);
	close_card(false);
}

static void frames_of_others(void)
{
	struct rte_mbuf *m[4], *got[4];

	open_vlan();
	m[0] = frame_of(0x0800);
	m[1] = frame_of(0x8100);
	rte_pktmbuf_mtod(m[1], uint8_t *)[TYPE_AT + 3] = 6;
	m[2] = frame_of(0x8100);
	rte_pktmbuf_trim(m[2], FRAME_BYTES - TYPE_AT - 2);
	m[3] = frame_of(0x0800);
	m[3]->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
	m[3]->vlan_tci = 3 << 13 | 5; /* with a priority, as a card reports it */
	CU_ASSERT_EQUAL(rte_eth_tx_burst(wire.port, 0, m, 4), 4);
	CU_ASSERT_EQUAL_FATAL(wire_ethdev_ops.rx(&nic->shard[0], got, 4), 1);
	CU_ASSERT_PTR_EQUAL(got[0], m[3]);
	CU_ASSERT_EQUAL(stat_of("wire_drop_vlan"), 3);
	/* A card that inserts tags itself. */
	wire.vlan_inserts = true;
	CU_ASSERT_EQUAL(vlan_out(&wire, 0, got, 1), 1);
	CU_ASSERT_NOT_EQUAL(got[0]->ol_flags & RTE_MBUF_F_TX_VLAN, 0);
	CU_ASSERT_EQUAL(got[0]->vlan_tci, 5);
	CU_ASSERT_TRUE(frame_is_whole(got[0], 0));
	rte_pktmbuf_free(got[0]);
	close_card(false);
}

/* Inserts the tags that a frame asks for, as net_virtio does. */
static uint16_t prepare(void *queue, struct rte_mbuf **frames, uint16_t n)
{
	(void)queue;
	for (uint16_t i = 0; i < n; i++) {
		if (frames[i]->ol_flags & RTE_MBUF_F_TX_VLAN)
			CU_ASSERT_EQUAL(rte_vlan_insert(&frames[i]), 0);
	}
	return n;
}

static uint16_t prepare_none(void *queue, struct rte_mbuf **frames, uint16_t n)
{
	(void)queue;
	(void)frames;
	(void)n;
	return 0;
}

/* Each frame that leaves has one tag, whoever inserts it. */
static void tags_by_the_driver(void)
{
	static const eth_tx_prep_t by[] = {prepare, prepare_none};
	static const uint8_t tag[] = {0x81, 0, 0, 5};
	struct rte_mbuf *m;

	for (size_t i = 0; i < 2; i++) {
		open_vlan();
		wire.vlan_inserts = true;
		rte_eth_fp_ops[wire.port].tx_pkt_prepare = by[i];
		m = frame_of(0x0800);
		/* Frames for which there was no room come again. */
		CU_ASSERT_EQUAL(vlan_out(&wire, 0, &m, 1), 1);
		CU_ASSERT_EQUAL(wire_ethdev_ops.tx(&nic->shard[0], &m, 1), 1);
		CU_ASSERT_EQUAL_FATAL(rte_eth_rx_burst(wire.port, 0, &m, 1), 1);
		CU_ASSERT_TRUE(frame_is_whole(m, sizeof(tag)));
		CU_ASSERT_EQUAL(
		    memcmp(rte_pktmbuf_mtod_offset(m, uint8_t *, TYPE_AT), tag, sizeof(tag)), 0);
		CU_ASSERT_EQUAL(m->ol_flags & RTE_MBUF_F_TX_VLAN, 0);
		rte_pktmbuf_free(m);
		rte_eth_fp_ops[wire.port].tx_pkt_prepare = NULL;
		close_card(false);
	}
}

/* weftctl and the metrics have a description of each. */
static void described(void)
{
	struct hw_stat stat[STATS];
	uint32_t n;

	open_card("net_null0", 2048, 1500);
	n = card_stats(&wire, stat, STATS);
	CU_ASSERT_TRUE(n >= 3);
	for (uint32_t i = 0; i < n; i++) {
		struct stat_metric metric;

		CU_ASSERT_TRUE(stat_metric_of(stat[i].name, &metric));
	}
	close_card(false);
}

/* A core with one queue awaits its next frame, others time alone. */
static void monitors(void)
{
	open_card("net_null0", 2048, 1500);
	card_serve_all(&app, 1);
	num_pauses = num_monitors = 0;
	core.shard[0] = &nic->shard[0];
	core.num_shards = 1;
	power_init(&core);
	core.idle_since_ns = 1;
	core.now_ns = 1 + POWER_AFTER_NS;
	has_line = true;
	power_wait(&core);
	CU_ASSERT_EQUAL(num_monitors, 1);
	CU_ASSERT_EQUAL(core.stats.power_monitors, 1);
	has_line = false;
	power_wait(&core);
	has_line = true;
	core.num_shards = 2;
	power_wait(&core);
	core.num_shards = 1;
	wire.num_rx_queues = 2;
	power_wait(&core);
	wire.num_rx_queues = 1;
	CU_ASSERT_EQUAL(num_pauses, 3);
	CU_ASSERT_EQUAL(core.stats.power_pauses, 3);
	/* The control thread is to close the card. */
	rte_dev_event_callback_process("net_null0", RTE_DEV_EVENT_REMOVE);
	card_serve_all(&app, 2);
	power_wait(&core);
	CU_ASSERT_EQUAL(num_monitors, 1);
	CU_ASSERT_EQUAL(num_pauses, 4);
	close_card(false);
}

UT_MAIN("dpdk_app/card", UT(offers_little), UT(scatters), UT(link_state), UT(groups), UT(removed),
	UT(reset), UT(monitors), UT(tags_of_a_vlan), UT(frames_of_others), UT(tags_by_the_driver),
	UT(described))
