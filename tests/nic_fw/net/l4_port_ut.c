/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ports that a shard draws for connections of TCP: their low bits are its number, as long as one of
 * these is free, so that a device steers their frames by one rule for each shard.
 */
#include <stdlib.h>

#include "shared_defs/hw_cm.h"
#include "tests/bench/stubs/net.h"

/* A shard of a NIC; its ports are all free. */
static void shard_begin(uint8_t shard, uint8_t num_shards)
{
	net_init(0);
	net.nic->config.num_shards = num_shards;
	net.nic->config.shard = shard;
	net.nic->net.l4_ports = calloc(FW_CM_PORT_WORDS, sizeof(uint32_t));
	CU_ASSERT_PTR_NOT_NULL_FATAL(net.nic->net.l4_ports);
}

static void shard_end(void)
{
	free(net.nic->net.l4_ports);
	net_end();
}

static void bits_name_the_shard(void)
{
	static const uint16_t want[] = {0, 0, 1, 3, 3, 7, 7, 7, 7};
	uint16_t port;

	for (uint32_t n = 1; n < sizeof(want) / sizeof(want[0]); n++)
		CU_ASSERT_EQUAL(fw_tcp_port_bits(n), want[n]);
	for (uint32_t shard = 0; shard < 4; shard++) {
		shard_begin((uint8_t)shard, 4);
		for (uint32_t i = 0; i < 100; i++) {
			port = 0;
			CU_ASSERT_EQUAL(l4_port_bind(net.nic, HW_CM_TCP, &port, false), 0);
			CU_ASSERT_TRUE(port >= HW_CM_EPHEMERAL && port < HW_CM_EPHEMERAL_END);
			CU_ASSERT_EQUAL(port & 3, shard);
		}
		shard_end();
	}
}

/* Makes every port of TCP whose low bit is this one a bound one. */
static void bind_all(uint32_t bit)
{
	for (uint32_t port = HW_CM_EPHEMERAL; port < HW_CM_EPHEMERAL_END; port++) {
		if ((port & 1) == bit)
			net.nic->net.l4_ports[port] = 1;
	}
}

static void other_ports_come_last(void)
{
	uint16_t port = 0;

	shard_begin(1, 2);
	bind_all(1);
	CU_ASSERT_EQUAL(l4_port_bind(net.nic, HW_CM_TCP, &port, false), 0);
	CU_ASSERT_TRUE(port >= HW_CM_EPHEMERAL && port < HW_CM_EPHEMERAL_END);
	CU_ASSERT_EQUAL(port & 1, 0);
	bind_all(0);
	port = 0;
	CU_ASSERT_EQUAL(l4_port_bind(net.nic, HW_CM_TCP, &port, false), FW_EADDRNOTAVAIL);
	CU_ASSERT_EQUAL(port, 0);
	shard_end();
}

/* A port belongs to the shard that holds it, until that has dropped it as often as it held it. */
static void one_shard_holds_a_port(void)
{
	const uint16_t port = 0x1234;
	uint32_t shard, other;

	shard_begin(0, 8);
	for (shard = 0; shard < 8; shard++) {
		net.nic->config.shard = (uint8_t)shard;
		CU_ASSERT_EQUAL_FATAL(l4_port_hold(net.nic, port), 0);
		CU_ASSERT_EQUAL(l4_port_hold(net.nic, port), 0);
		l4_port_drop(net.nic, port);
		CU_ASSERT_EQUAL(l4_port_owner(net.nic->net.l4_ports, port), shard);
		for (other = 0; other < 8; other++) {
			if (other == shard)
				continue;
			net.nic->config.shard = (uint8_t)other;
			CU_ASSERT_EQUAL(l4_port_hold(net.nic, port), FW_EADDRINUSE);
			CU_ASSERT_EQUAL(l4_port_owner(net.nic->net.l4_ports, port), shard);
		}
		net.nic->config.shard = (uint8_t)shard;
		l4_port_drop(net.nic, port);
	}
	shard_end();
}

static struct {
	uint32_t calls, on;
	uint16_t port;
	int status;
} asked;

static int ask_port(void *ctx, uint16_t port, bool on)
{
	(void)ctx;
	asked.calls++;
	asked.on += on;
	asked.port = port;
	return asked.status;
}

/* The port of the NIC hears of the first that holds a port and of the last that drops it. */
static void the_port_is_told(void)
{
	const uint16_t port = 0x4321;

	shard_begin(0, 2);
	memset(&asked, 0, sizeof(asked));
	net.nic->port.tcp_port = ask_port;
	CU_ASSERT_EQUAL(l4_port_hold(net.nic, port), 0);
	CU_ASSERT(asked.calls == 1 && asked.on == 1 && asked.port == port);
	CU_ASSERT_EQUAL(l4_port_hold(net.nic, port), 0);
	CU_ASSERT_EQUAL(asked.calls, 1);
	l4_port_drop(net.nic, port);
	CU_ASSERT_EQUAL(asked.calls, 1);
	l4_port_drop(net.nic, port);
	CU_ASSERT(asked.calls == 2 && asked.on == 1 && asked.port == port);
	/* It refuses: nobody holds the port, and another shard may. */
	asked.status = FW_EADDRINUSE;
	CU_ASSERT_EQUAL(l4_port_hold(net.nic, port), FW_EADDRINUSE);
	CU_ASSERT_EQUAL(CNT(cm_port_refused), 1);
	CU_ASSERT_EQUAL(asked.calls, 3);
	asked.status = 0;
	net.nic->config.shard = 1;
	CU_ASSERT_EQUAL(l4_port_hold(net.nic, port), 0);
	CU_ASSERT_EQUAL(CNT(cm_port_refused), 1);
	l4_port_drop(net.nic, port);
	CU_ASSERT_EQUAL(asked.calls, 5);
	shard_end();
}

UT_MAIN("nic_fw/net/l4_port", UT(the_port_is_told), UT(bits_name_the_shard),
	UT(other_ports_come_last), UT(one_shard_holds_a_port))
