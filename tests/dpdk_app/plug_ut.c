/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NICs that come and go: which slot each NIC of a configuration has, which core a further one gets,
 * and which lines are NICs.
 *
 * Runs dpdk_app/control/plug.c and nic_slot.c.
 */
#include "dpdk_app/control/plug.h"

#include <string.h>

#include "dpdk_app/nic_slot.h"
#include "tests/ut.h"

static struct conf conf, want;

static void on_switch(struct conf *c, uint32_t index, uint32_t ip)
{
	c->nic[index] = (struct conf_nic){.wire = CONF_WIRE_SWITCH, .ip = ip};
	c->num_nics = c->num_nics > index ? c->num_nics : index + 1;
}

static void on_port(struct conf *c, uint32_t index, const char *device)
{
	c->nic[index] = (struct conf_nic){.wire = CONF_WIRE_NETDEV, .ip = 99};
	strcpy(c->nic[index].device, device);
	c->num_nics = c->num_nics > index ? c->num_nics : index + 1;
}

static void match(uint32_t has, uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t slot[CONF_MAX_NICS] = {0};

	plug_match(&conf, has, &want, slot);
	CU_ASSERT_EQUAL(slot[0], a);
	CU_ASSERT_EQUAL(slot[1], b);
	CU_ASSERT_EQUAL(slot[2], c);
}

static void slots_of_a_configuration(void)
{
	memset(&conf, 0, sizeof(conf));
	memset(&want, 0, sizeof(want));
	on_switch(&conf, 0, 1);
	on_switch(&conf, 1, 2);
	on_port(&conf, 2, "eth1");
	on_switch(&conf, 3, 3);
	/* A third one of the switch stands before the port in a file. */
	on_switch(&want, 0, 1);
	on_switch(&want, 1, 2);
	on_switch(&want, 2, 3);
	match(0xf, 0, 1, 3);
	/* Slot 1 is empty, or its NIC leaves. */
	match(0xd, 0, PLUG_NEW, 3);
	/* Other addresses: in order. */
	want.nic[0].ip = 11;
	want.nic[1].ip = 12;
	match(0xf, 0, 1, 3);
	match(0x7, 0, 1, PLUG_NEW);
	/* A port is known by its device; another kind of wire is another port. */
	on_port(&want, 0, "eth1");
	on_port(&want, 2, "eth2");
	match(0xf, 2, 0, PLUG_NEW);
	want.nic[0].wire = CONF_WIRE_TAP;
	match(0xf, PLUG_NEW, 0, PLUG_NEW);
}

static void cores_of_a_further_nic(void)
{
	static struct app app;
	static struct core core[4];
	static struct shard shards[4];
	struct rte_ring *lane = (struct rte_ring *)&core[0];

	for (uint32_t i = 0; i < 4; i++) {
		core[i].polls = i != 3; /* the last one had no shard at the start */
		core[i].role = i == 2 ? CONF_ROLE_COLL : CONF_ROLE_IO;
		core[i].shard[0] = &shards[i];
		app.core[i] = &core[i];
	}
	core[0].num_shards = 2;
	core[1].num_shards = 1;
	app.num_cores = 4;
	CU_ASSERT_EQUAL(nic_slot_reach(&app, CONF_WIRE_SWITCH), 7);
	CU_ASSERT_PTR_EQUAL(nic_slot_core(&app, 7, CONF_ROLE_IO), &core[1]);
	CU_ASSERT_PTR_EQUAL(nic_slot_core(&app, 7, CONF_ROLE_COLL), &core[2]);
	CU_ASSERT_PTR_NULL(nic_slot_core(&app, 3, CONF_ROLE_COLL));
	/* A NIC of the switch without a lane from core 1 forbids that one; a port may have it. */
	app.num_nics = 1;
	app.nic[0].on_switch = true;
	app.nic[0].shard[0].in.from[0] = app.nic[0].shard[0].in.from[2] = lane;
	CU_ASSERT_EQUAL(nic_slot_reach(&app, CONF_WIRE_SWITCH), 5);
	CU_ASSERT_EQUAL(nic_slot_reach(&app, CONF_WIRE_NETDEV), 7);
	CU_ASSERT_PTR_EQUAL(nic_slot_core(&app, 5, CONF_ROLE_IO), &core[0]);
	CU_ASSERT_EQUAL(nic_slot_free(&app), 0);
	app.nic[0].wire = (struct wire *)&core[0];
	CU_ASSERT_EQUAL(nic_slot_free(&app), 1);
}

static void lines(void)
{
	CU_ASSERT_TRUE(plug_handles("nic = add"));
	CU_ASSERT_TRUE(plug_handles("port=add eth1"));
	CU_ASSERT_FALSE(plug_handles("nics = 3"));
	CU_ASSERT_FALSE(plug_handles("port-rights = keep"));
	CU_ASSERT_FALSE(plug_handles(""));
}

UT_MAIN("dpdk_app/plug", UT(slots_of_a_configuration), UT(cores_of_a_further_nic), UT(lines))
