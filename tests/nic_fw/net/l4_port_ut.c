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

static int bind_to(uint16_t space, uint16_t port, bool reuse)
{
	uint16_t at = port;
	int err = l4_port_bind(net.nic, space, &at, reuse);

	CU_ASSERT_EQUAL(at, port);
	return err;
}

/* Endpoints share a port if all of them allow it and none listens, as sockets with SO_REUSEADDR. */
static void who_may_share_a_port(void)
{
	const uint16_t port = 0x2345;

	shard_begin(0, 1);
	/* An endpoint that does not share it has it alone, whether the next would share it or not.
	 */
	CU_ASSERT_EQUAL(bind_to(HW_CM_TCP, port, false), 0);
	CU_ASSERT_EQUAL(bind_to(HW_CM_TCP, port, false), FW_EADDRINUSE);
	CU_ASSERT_EQUAL(bind_to(HW_CM_TCP, port, true), FW_EADDRINUSE);
	l4_port_release(net.nic, HW_CM_TCP, port, false);
	/* Sharers do so until the last has gone. */
	CU_ASSERT_EQUAL(bind_to(HW_CM_TCP, port, true), 0);
	CU_ASSERT_EQUAL(bind_to(HW_CM_TCP, port, false), FW_EADDRINUSE);
	CU_ASSERT_EQUAL(bind_to(HW_CM_TCP, port, true), 0);
	CU_ASSERT_EQUAL(l4_port_listen(net.nic, HW_CM_TCP, port), FW_EADDRINUSE);
	l4_port_release(net.nic, HW_CM_TCP, port, false);
	CU_ASSERT_EQUAL(bind_to(HW_CM_TCP, port, false), FW_EADDRINUSE);
	/* A listener is the only one. */
	CU_ASSERT_EQUAL(l4_port_listen(net.nic, HW_CM_TCP, port), 0);
	CU_ASSERT_EQUAL(bind_to(HW_CM_TCP, port, true), FW_EADDRINUSE);
	CU_ASSERT_EQUAL(l4_port_listen(net.nic, HW_CM_TCP, port), FW_EADDRINUSE);
	/* It stays bound, and shared, when it no longer listens. */
	l4_port_unlisten(net.nic, HW_CM_TCP, port);
	CU_ASSERT_EQUAL(bind_to(HW_CM_TCP, port, true), 0);
	l4_port_release(net.nic, HW_CM_TCP, port, false);
	l4_port_release(net.nic, HW_CM_TCP, port, false);
	CU_ASSERT_EQUAL(l4_port_listen(net.nic, HW_CM_TCP, port), FW_EADDRINUSE);
	/* Nothing of it is left to the next one. */
	CU_ASSERT_EQUAL(bind_to(HW_CM_TCP, port, false), 0);
	CU_ASSERT_EQUAL(bind_to(HW_CM_TCP, port, true), FW_EADDRINUSE);
	shard_end();
}

/* As many endpoints as a word counts, and no more: the next bind would look as if the port were
 * free. */
static void the_last_binder(void)
{
	const uint16_t port = 0x2345;

	shard_begin(0, 1);
	for (uint32_t i = 0; i < 0xffff; i++)
		CU_ASSERT_EQUAL_FATAL(bind_to(HW_CM_UDP, port, true), 0);
	CU_ASSERT_EQUAL(bind_to(HW_CM_UDP, port, true), FW_EADDRINUSE);
	l4_port_release(net.nic, HW_CM_UDP, port, false);
	CU_ASSERT_EQUAL(bind_to(HW_CM_UDP, port, true), 0);
	shard_end();
}

/* A port of one space says nothing of the same number in another, nor of the next number. */
static void spaces_are_apart(void)
{
	static const uint16_t spaces[] = {HW_CM_TCP, HW_CM_UDP, HW_CM_IB, HW_CM_IPOIB};
	const uint16_t port = 0x2345;

	shard_begin(0, 1);
	CU_ASSERT_FALSE(l4_port_space_ok(0));
	CU_ASSERT_FALSE(l4_port_space_ok(HW_CM_TCP + 0x1000));
	for (uint32_t i = 0; i < L4_SPACES; i++) {
		CU_ASSERT_TRUE(l4_port_space_ok(spaces[i]));
		CU_ASSERT_EQUAL(bind_to(spaces[i], port, false), 0);
		CU_ASSERT_EQUAL(l4_port_listen(net.nic, spaces[i], port), 0);
		CU_ASSERT_EQUAL(l4_port_shard(net.nic, spaces[i], port), 0);
		CU_ASSERT_EQUAL(l4_port_shard(net.nic, spaces[i], port + 1), FW_NONE);
		for (uint32_t j = i + 1; j < L4_SPACES; j++)
			CU_ASSERT_EQUAL(l4_port_shard(net.nic, spaces[j], port), FW_NONE);
	}
	for (uint32_t i = 0; i < L4_SPACES; i++) {
		l4_port_release(net.nic, spaces[i], port, true);
		for (uint32_t j = 0; j < L4_SPACES; j++)
			CU_ASSERT_EQUAL(l4_port_shard(net.nic, spaces[j], port),
					j <= i ? FW_NONE : 0);
	}
	shard_end();
}

/* A listener is found at its shard, and at no other time than while it listens. */
static void the_shard_of_a_listener(void)
{
	const uint16_t port = 0x2345;

	for (uint32_t shard = 0; shard < 8; shard++) {
		shard_begin((uint8_t)shard, 8);
		CU_ASSERT_EQUAL(bind_to(HW_CM_UDP, port, true), 0);
		CU_ASSERT_EQUAL(l4_port_shard(net.nic, HW_CM_UDP, port), FW_NONE);
		CU_ASSERT_EQUAL(l4_port_listen(net.nic, HW_CM_UDP, port), 0);
		CU_ASSERT_EQUAL(l4_port_shard(net.nic, HW_CM_UDP, port), shard);
		l4_port_unlisten(net.nic, HW_CM_UDP, port);
		CU_ASSERT_EQUAL(l4_port_shard(net.nic, HW_CM_UDP, port), FW_NONE);
		shard_end();
	}
}

/*
 * A peer may be early for five seconds after a listener has ended, in whatever space it was; a
 * datagram also while one of another space is still there. The clock of these seconds comes round.
 */
static void early_for_some_seconds(void)
{
	const uint64_t unit_ns = UINT64_C(1) << 30;
	static const uint64_t begins[] = {0, 7, 0x1fd, 0x1ff, 0x3fe};
	const uint16_t port = 0x2345;

	for (uint32_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
		shard_begin(0, 1);
		net.nic->now_ns = begins[i] * unit_ns;
		CU_ASSERT_EQUAL(bind_to(HW_CM_IB, port, false), 0);
		CU_ASSERT_FALSE(l4_port_early(net.nic, port, true));
		CU_ASSERT_EQUAL(l4_port_listen(net.nic, HW_CM_IB, port), 0);
		CU_ASSERT_TRUE(l4_port_early(net.nic, port, true));
		CU_ASSERT_FALSE(l4_port_early(net.nic, port, false));
		CU_ASSERT_FALSE(l4_port_early(net.nic, port + 1, true));
		l4_port_release(net.nic, HW_CM_IB, port, true);
		for (uint64_t past = 0; past < 20; past++) {
			net.nic->now_ns = (begins[i] + past) * unit_ns;
			CU_ASSERT_EQUAL(l4_port_early(net.nic, port, false), past <= 5);
			CU_ASSERT_EQUAL(l4_port_early(net.nic, port, true), past <= 5);
		}
		/* The end of one that does not listen is none; the next listener takes it back. */
		net.nic->now_ns = begins[i] * unit_ns;
		CU_ASSERT_EQUAL(bind_to(HW_CM_IB, port, false), 0);
		CU_ASSERT_TRUE(l4_port_early(net.nic, port, false));
		CU_ASSERT_EQUAL(l4_port_listen(net.nic, HW_CM_IB, port), 0);
		CU_ASSERT_FALSE(l4_port_early(net.nic, port, false));
		l4_port_unlisten(net.nic, HW_CM_IB, port);
		l4_port_release(net.nic, HW_CM_IB, port, false);
		CU_ASSERT_FALSE(l4_port_early(net.nic, port, true));
		shard_end();
	}
}

/* A drawn port that the world refuses is not kept, nor is its shard's hold of it. */
static void a_drawn_port_is_given_back(void)
{
	uint16_t port = 0;

	shard_begin(0, 2);
	memset(&asked, 0, sizeof(asked));
	net.nic->port.tcp_port = ask_port;
	CU_ASSERT_EQUAL(l4_port_bind(net.nic, HW_CM_TCP, &port, false), 0);
	/* It was tried, and is held again when it is used. */
	CU_ASSERT(asked.calls == 2 && asked.on == 1 && asked.port == port);
	CU_ASSERT_EQUAL(bind_to(HW_CM_TCP, port, false), FW_EADDRINUSE);
	net.nic->config.shard = 1;
	CU_ASSERT_EQUAL(l4_port_hold(net.nic, port), 0);
	l4_port_drop(net.nic, port);
	net.nic->config.shard = 0;
	/* An error other than that the port is in use ends the search. */
	asked.calls = 0;
	asked.status = FW_EPERM;
	port = 0;
	CU_ASSERT_EQUAL(l4_port_bind(net.nic, HW_CM_TCP, &port, false), FW_EPERM);
	CU_ASSERT_EQUAL(port, 0);
	CU_ASSERT_EQUAL(asked.calls, 1);
	CU_ASSERT_EQUAL(bind_to(HW_CM_TCP, asked.port, false), 0);
	/* One in use goes on to each port once. */
	asked.calls = 0;
	asked.status = FW_EADDRINUSE;
	port = 0;
	CU_ASSERT_EQUAL(l4_port_bind(net.nic, HW_CM_TCP, &port, false), FW_EADDRNOTAVAIL);
	CU_ASSERT_EQUAL(port, 0);
	CU_ASSERT_EQUAL(asked.calls, HW_CM_EPHEMERAL_END - HW_CM_EPHEMERAL - 2);
	/* Other spaces have no owner. */
	asked.calls = 0;
	CU_ASSERT_EQUAL(l4_port_bind(net.nic, HW_CM_UDP, &port, false), 0);
	CU_ASSERT_NOT_EQUAL(port, 0);
	CU_ASSERT_EQUAL(asked.calls, 0);
	shard_end();
}

UT_MAIN("nic_fw/net/l4_port", UT(who_may_share_a_port), UT(the_last_binder), UT(spaces_are_apart),
	UT(the_shard_of_a_listener), UT(early_for_some_seconds), UT(a_drawn_port_is_given_back),
	UT(the_port_is_told), UT(bits_name_the_shard), UT(other_ports_come_last),
	UT(one_shard_holds_a_port))
