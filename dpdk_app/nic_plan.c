/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plan of a weftd: its cores, and the names, addresses, MTUs, cards and shards of its NICs, by
 * the configuration.
 *
 * With at least as many cores as NICs, the cores are distributed evenly and a NIC has one shard on
 * each of its cores. With fewer cores, each core runs several NICs. Cores with the role coll are
 * distributed likewise, for shards of collectives after the others.
 *
 * Calls eal.c, pci_card.c and the kernel, for interfaces. Does not use DPDK.
 */
#include "dpdk_app/nic.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dpdk_app/eal.h"
#include "dpdk_app/log.h"
#include "dpdk_app/wire/pci_card.h"
#include "dpdk_app/wire/wire.h"

enum {
	NIC_DEFAULT_MTU = 1500, /* Ethernet's, for a wire shared with other stations */
};

static int plan_core(struct app *app, const struct conf_core *conf)
{
	struct core *core = app_alloc_apart(sizeof(*core));

	if (!core)
		return -ENOMEM;
	core->app = app;
	core->number = app->num_cores;
	core->cpu = conf->cpu;
	core->role = conf->role;
	core->lcore = core->number + 1; /* 0 is the control thread */
	core->num_runners = 1;
	for (uint32_t i = 0; i < RUNNER_MAX; i++)
		core->runner[i] = (struct runner){.core = core,
						  .number = i,
						  .cpu = core->cpu,
						  .wake_fd = -1,
						  .timer_fd = -1,
						  .epoll_fd = -1};
	core->stats.cpu = (uint64_t)conf->cpu;
	core->stats.role = conf->role;
	for (uint32_t i = 0; i < app->num_cores; i++) {
		if (app->core[i]->cpu == core->cpu)
			app->core[i]->crowded = core->crowded = true;
	}
	app->core[app->num_cores++] = core;
	return 0;
}

static int plan_role(struct app *app, enum conf_role role)
{
	const struct conf *conf = &app->conf;
	int err = 0;

	for (uint32_t i = 0; !err && i < conf->num_cores; i++) {
		if (conf->core[i].role == role)
			err = plan_core(app, &conf->core[i]);
	}
	return err;
}

/*
 * Uses the requested cores, or the last CPU: the kernel's own work runs mostly on the first ones.
 */
static int plan_cores(struct app *app)
{
	struct conf *conf = &app->conf;
	int cpu[CONF_MAX_CORES * 16];
	uint32_t n = eal_cpus(cpu, sizeof(cpu) / sizeof(cpu[0]));
	int err;

	if (!n)
		return -errno;
	app->all_cpus = !conf->num_cores;
	if (!conf->num_cores)
		conf->core[conf->num_cores++] = (struct conf_core){cpu[n - 1], CONF_ROLE_IO};
	for (uint32_t i = 0; i < conf->num_cores; i++) {
		bool allowed = false;

		for (uint32_t j = 0; j < n; j++)
			allowed |= cpu[j] == conf->core[i].cpu;
		if (!allowed) {
			log_error("--cores: CPU %d does not exist or is not permitted to this "
				  "process (taskset, cpuset)",
				  conf->core[i].cpu);
			return -EINVAL;
		}
	}
	err = plan_role(app, CONF_ROLE_IO);
	app->num_io_cores = app->num_cores;
	if (!err)
		err = plan_role(app, CONF_ROLE_COLL);
	return err;
}

/* MAC address for a wire that has none: locally administered, derived from the IP address. */
static void plan_mac(struct nic *nic)
{
	nic->mac[0] = 0x02;
	nic->mac[1] = 0x77;
	memcpy(&nic->mac[2], &nic->conf->ip, 4);
}

/*
 * Looks whether a card can be used, before DPDK touches it, and claims it: another weftd may drive
 * it.
 */
static int plan_card(struct nic *nic)
{
	const char *address = nic->conf->device;
	char advice[PCI_CARD_ADVICE_CHARS] = "";
	struct pci_card card;
	int err;

	if (nic->conf->wire != CONF_WIRE_PCI)
		return 0;
	err = pci_card_read(PCI_CARD_SYS, address, &card);
	if (err == -ENOENT)
		log_error("--port pci:%s: no device has this address; weftd --list-ports shows "
			  "those there are",
			  address);
	else if (err)
		log_error("--port pci:%s: that device is no network card; weftd --list-ports "
			  "shows those there are",
			  address);
	if (err)
		return err;
	nic->card_fd = pci_card_claim(PCI_CARD_SYS, address);
	if (nic->card_fd == -EBUSY) {
		log_error("--port pci:%s: another weftd uses it", address);
		return -EBUSY;
	}
	if (!pci_card_usable(&card, advice))
		err = -ENODEV;
	else
		err = pci_card_try(PCI_CARD_SYS, PCI_CARD_DEV, &card, advice);
	if (err)
		log_error("--port pci:%s: %s", address, advice);
	nic->card_physical = pci_card_physical(&card);
	return err;
}

static int plan_mtu(struct nic *nic)
{
	uint32_t mtu = nic->app->conf.mtu;
	uint32_t device_mtu;
	int ifindex, err;

	/* The switch is internal to this process, so no network equipment limits its frames. */
	nic->default_mtu = nic->conf->wire == CONF_WIRE_SWITCH ? HW_MAX_MTU : NIC_DEFAULT_MTU;
	nic->mtu = mtu ? mtu : nic->default_mtu;
	if (nic->conf->wire != CONF_WIRE_NETDEV)
		return 0;
	err = wire_netdev_query(nic->conf->device, &device_mtu, nic->mac, &ifindex);
	if (err) {
		log_error("--port %s: %s; ip link shows the interfaces of this namespace",
			  nic->conf->device, strerror(-err));
		return err;
	}
	nic->default_mtu = device_mtu < HW_MAX_MTU ? device_mtu : HW_MAX_MTU;
	if (!mtu)
		nic->mtu = nic->default_mtu;
	if (nic->mtu > device_mtu || nic->mtu < HW_MIN_MTU) {
		log_error("--port %s: its MTU is %u, %u is needed: ip link set %s mtu %u",
			  nic->conf->device, device_mtu,
			  nic->mtu < HW_MIN_MTU ? HW_MIN_MTU : nic->mtu, nic->conf->device,
			  nic->mtu < HW_MIN_MTU ? HW_MIN_MTU : nic->mtu);
		return -EINVAL;
	}
	return 0;
}

/* Number of shards of a NIC on cores of one role: one per core of its own, at least one. */
static uint32_t shards_on(const struct app *app, uint32_t cores, uint32_t max)
{
	uint32_t n = cores / app->num_nics;

	if (!cores)
		return 0;
	return n < 1 ? 1 : n > max ? max : n;
}

/* Adds count shards on the cores from first on, which the NICs share. */
static void plan_shards_on(struct nic *nic, uint32_t count, struct core **first, uint32_t cores)
{
	struct app *app = nic->app;

	for (uint32_t i = 0; i < count; i++) {
		struct shard *shard = &nic->shard[nic->num_shards];
		struct core *core = first[(nic->index + i * app->num_nics) % cores];

		shard->nic = nic;
		shard->core = core;
		shard->number = nic->num_shards++;
		shard->stream = nic->index * CONF_MAX_SHARDS + shard->number;
		core->shard[core->num_shards++] = shard;
	}
}

static void plan_shards(struct nic *nic)
{
	struct app *app = nic->app;
	uint32_t io = app->num_io_cores, coll = app->num_cores - io;

	nic->num_coll = shards_on(app, coll, CONF_MAX_SHARDS - 1);
	plan_shards_on(nic, shards_on(app, io, CONF_MAX_SHARDS - nic->num_coll), &app->core[0], io);
	plan_shards_on(nic, nic->num_coll, &app->core[io], coll);
}

int nic_plan_wire(struct nic *nic)
{
	int err;

	plan_mac(nic);
	err = plan_mtu(nic);
	return err ? err : plan_card(nic);
}

uint64_t nic_cores(const struct nic *nic)
{
	uint64_t cores = 0;

	for (uint32_t i = 0; i < nic->num_shards; i++)
		cores |= UINT64_C(1) << nic->shard[i].core->number;
	return cores;
}

/* The cores that send to this NIC: by the switch, or those that share its port. */
static void plan_senders(struct nic *nic)
{
	const struct app *app = nic->app;

	if (nic->conf->wire != CONF_WIRE_SWITCH)
		nic->senders = nic->num_shards > 1 ? nic_cores(nic) : 0;
	for (uint32_t i = 0; nic->conf->wire == CONF_WIRE_SWITCH && i < app->num_nics; i++) {
		if (app->nic[i].conf->wire == CONF_WIRE_SWITCH)
			nic->senders |= nic_cores(&app->nic[i]);
	}
}

int nic_plan(struct app *app)
{
	int err = plan_cores(app);

	app->num_nics = app->conf.num_nics;
	for (uint32_t i = 0; i < app->num_nics; i++)
		app->nic[i].lock_fd = app->nic[i].listen_fd = app->nic[i].card_fd = -1;
	for (uint32_t i = 0; !err && i < app->num_nics; i++) {
		struct nic *nic = &app->nic[i];

		nic->app = app;
		nic->conf = &app->conf.nic[i];
		nic->index = i;
		snprintf(nic->name, sizeof(nic->name), "%s%u", app->conf.name, (uint8_t)i);
		plan_shards(nic);
		err = nic_plan_wire(nic);
	}
	for (uint32_t i = 0; !err && i < app->num_nics; i++)
		plan_senders(&app->nic[i]);
	for (uint32_t i = 0; i < app->num_cores; i++)
		app->core[i]->polls = app->core[i]->num_shards;
	return err;
}
