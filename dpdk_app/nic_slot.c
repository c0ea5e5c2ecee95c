/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fills and empties slots of app->nic while the cores run; see nic_slot.h.
 *
 * All that takes time is done before or after: the cores are parked while shards, ports and members
 * of the switch change places, so their loops need neither locks nor marks. A core reaches a NIC of
 * the switch through a lane that is made with the NIC, so a further NIC gets a core that all others
 * have a lane from.
 *
 * Calls nic.c, opener.c, park.c, switch_hold.c and the firmware. docs/operating.md, "NICs and
 * ports".
 */
#include "dpdk_app/nic_slot.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "dpdk_app/client/msg.h"
#include "dpdk_app/client/park.h"
#include "dpdk_app/log.h"
#include "dpdk_app/nic.h"
#include "dpdk_app/opener.h"
#include "dpdk_app/wire/switch_hold.h"
#include "dpdk_app/wire/wire.h"

enum {
	SLOT_RETRY_US = 100, /* a core's ring is full: it drains while the core runs */
};

uint32_t nic_slot_free(const struct app *app)
{
	uint32_t i = 0;

	while (i < CONF_MAX_NICS && app_has_nic(app, i))
		i++;
	return i;
}

uint64_t nic_slot_reach(const struct app *app, enum conf_wire wire)
{
	uint64_t cores = 0;

	for (uint32_t i = 0; i < app->num_cores; i++) {
		bool may = app->core[i]->polls;

		for (uint32_t n = 0; n < app->num_nics && wire == CONF_WIRE_SWITCH; n++)
			may = may && (!app->nic[n].on_switch || app->nic[n].shard[0].in.from[i]);
		cores |= (uint64_t)may << i;
	}
	return cores;
}

struct core *nic_slot_core(const struct app *app, uint64_t cores, enum conf_role role)
{
	struct core *least = NULL;

	for (uint32_t i = 0; i < app->num_cores; i++) {
		struct core *core = app->core[i];

		if (cores >> i & 1 && core->role == role &&
		    (!least || core->num_shards < least->num_shards))
			least = core;
	}
	return least;
}

static void place_one(struct nic *nic, struct core *core)
{
	struct shard *shard = &nic->shard[nic->num_shards];

	shard->nic = nic;
	shard->core = core;
	shard->number = nic->num_shards++;
	shard->stream = nic->index * CONF_MAX_SHARDS + shard->number;
	nic->senders |= UINT64_C(1) << core->number;
}

static int place(struct nic *nic)
{
	const struct app *app = nic->app;
	uint64_t reach = nic_slot_reach(app, nic->conf->wire);
	struct core *io = nic_slot_core(app, reach, CONF_ROLE_IO);
	struct core *coll = nic_slot_core(app, reach, CONF_ROLE_COLL);

	if (!io)
		return -ENODEV;
	place_one(nic, io);
	if (coll)
		place_one(nic, coll);
	nic->num_coll = coll != NULL;
	/* Cores that run no NIC of the switch now may run one later. */
	if (nic->conf->wire == CONF_WIRE_SWITCH)
		nic->senders = reach;
	else if (!coll)
		nic->senders = 0;
	return 0;
}

/* ---- what the cores see; they are parked */

static void join(void *arg)
{
	struct nic *nic = arg;
	struct app *app = nic->app;

	for (uint32_t i = 0; i < nic->num_shards; i++) {
		struct core *core = nic->shard[i].core;

		core->shard[core->num_shards++] = &nic->shard[i];
	}
	nic_join(nic);
	if (nic->index >= app->num_nics)
		app->num_nics = app->conf.num_nics = nic->index + 1;
}

static void leave_core(struct core *core, const struct nic *nic)
{
	uint32_t shards = 0, wires = 0;

	for (uint32_t i = 0; i < core->num_shards; i++) {
		if (core->shard[i]->nic != nic)
			core->shard[shards++] = core->shard[i];
	}
	core->num_shards = shards;
	for (uint32_t i = 0; i < core->num_wires; i++) {
		if (core->wire[i] != nic->wire)
			core->wire[wires++] = core->wire[i];
	}
	core->num_wires = wires;
}

static void leave(void *arg)
{
	struct nic *nic = arg;
	struct app *app = nic->app;

	nic->on_switch = false;
	for (uint32_t i = 0; i < app->num_cores; i++)
		leave_core(app->core[i], nic);
	for (uint32_t i = 0; i < app->num_nics; i++) {
		for (uint32_t s = 0; s < app->nic[i].num_shards; s++) {
			if (app->nic[i].shard[s].holds)
				switch_hold_forget(app->nic[i].shard[s].holds, nic->index);
		}
	}
}

/* Leaves nothing in the slot but the pool that NICs of the switch may use. */
static void blank(void *arg)
{
	struct nic *nic = arg;
	struct app *app = nic->app;
	uint32_t index = nic->index;
	struct rte_mempool *pool = nic->switch_pool;

	memset(nic, 0, sizeof(*nic));
	nic->app = app;
	nic->conf = &app->conf.nic[index];
	nic->index = index;
	nic->switch_pool = pool;
	nic->lock_fd = nic->listen_fd = nic->card_fd = -1;
	app->conf.nic[index] = (struct conf_nic){.wire = CONF_WIRE_NONE};
}

/* ---- */

struct set_ip {
	uint32_t index, ip;
};

static void set_nic_ip(struct shard *shard, void *arg)
{
	const struct set_ip *set = arg;

	shard->ops->set_nic_ip(shard->fw, set->index, set->ip);
}

/* Peers that are given by QPN alone. */
static void notify_others(struct app *app, uint32_t index, uint32_t ip)
{
	struct set_ip set = {index, ip};

	for (uint32_t i = 0; i < app->num_nics; i++) {
		for (uint32_t s = 0; i != index && s < app->nic[i].num_shards; s++)
			while (msg_call(&app->nic[i].shard[s], set_nic_ip, &set))
				usleep(SLOT_RETRY_US);
	}
}

static void free_slot(struct nic *nic)
{
	nic_close(nic);
	nic_free_pool(nic);
	if (nic->lock_fd >= 0)
		close(nic->lock_fd);
	park_run(nic->app, blank, nic);
}

/* A NIC whose address was changed still has the MAC that follows from the earlier one. */
static void own_mac(struct nic *nic)
{
	const struct app *app = nic->app;

	for (uint32_t i = 0; i < app->num_nics && nic->conf->wire == CONF_WIRE_SWITCH; i++) {
		if (i != nic->index && !memcmp(app->nic[i].mac, nic->mac, sizeof(nic->mac)))
			nic->mac[1] = (uint8_t)(nic->mac[1] + 1 + nic->index);
	}
}

struct opening {
	struct nic *nic;
	char *why;
	size_t chars;
};

/* On the thread that may open interfaces. */
static int open_one(void *arg)
{
	const struct opening *of = arg;
	int err;

	log_catch(of->why, of->chars);
	err = nic_plan_wire(of->nic);
	own_mac(of->nic);
	if (!err)
		err = nic_open(of->nic);
	log_catch(NULL, 0);
	return err;
}

/* Its name and what it is made of. */
static int make(struct nic *nic, char *why, size_t chars)
{
	struct opening of = {nic, why, chars};
	int err;

	log_catch(why, chars);
	err = nic_lock(nic);
	if (!err)
		err = opener_run(open_one, &of);
	log_catch(why, chars);
	if (!err)
		err = nic_listen(nic);
	log_catch(NULL, 0);
	return err;
}

int nic_slot_fill(struct app *app, uint32_t index, const struct conf_nic *conf, char *why,
		  size_t chars)
{
	struct nic *nic = &app->nic[index];
	int err;

	nic->app = app;
	nic->index = index;
	park_run(app, blank, nic);
	app->conf.nic[index] = *conf;
	snprintf(nic->name, sizeof(nic->name), "%s%u", app->conf.name, (uint8_t)index);
	nic->added = true;
	*why = '\0';
	err = place(nic);
	if (err)
		snprintf(why, chars, "no core of the role io is reached by all NICs of the switch");
	else
		err = make(nic, why, chars);
	if (err) {
		if (!*why)
			snprintf(why, chars, "%s", strerror(-err));
		free_slot(nic);
		return err;
	}
	park_run(app, join, nic);
	notify_others(app, index, conf->ip);
	return 0;
}

void nic_slot_empty(struct nic *nic)
{
	park_run(nic->app, leave, nic);
	notify_others(nic->app, nic->index, 0);
	free_slot(nic);
}
