/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shares of stations: classes of MACs, limits, the rest that stays for others. Users of the shares
 * have tests of their own (docs/security.md "Exhaustion by a neighbour").
 */
#include "tests/bench/host.h"

enum {
	MAX = 300, /* elements of a table, in this test */
	MACS = 8000,
	MEAN = MACS / (STATIONS - 1),
};

static struct fw_ut ut;

static uint32_t drawn;

static uint64_t draw(void *ctx)
{
	(void)ctx;
	return ++drawn;
}

static void mac_of(uint32_t i, uint8_t mac[WIRE_MAC_BYTES])
{
	memset(mac, 2, WIRE_MAC_BYTES);
	memcpy(mac + 2, &i, sizeof(i));
}

/*
 * All classes are used, none by many, and none is that of unknown peers. A class costs no random
 * number: it would be missing in what the NIC sends.
 */
static void classes(void)
{
	uint32_t i, count[STATIONS] = {0}, most = 0, least = MACS;
	uint8_t mac[WIRE_MAC_BYTES];

	fw_ut_begin(&ut);
	ut.nic->port.random64 = draw;
	drawn = 0;
	for (i = 0; i < MACS; i++) {
		mac_of(i, mac);
		count[station_of(ut.nic, mac)]++;
		CU_ASSERT_EQUAL(station_of(ut.nic, mac), station_of(ut.nic, mac));
	}
	CU_ASSERT_EQUAL(drawn, 0);
	CU_ASSERT_EQUAL(count[STATION_NONE], 0);
	for (i = 1; i < STATIONS; i++) {
		most = count[i] > most ? count[i] : most;
		least = count[i] < least ? count[i] : least;
	}
	CU_ASSERT(least > MEAN / 4 && most < 2 * MEAN);
	fw_ut_end(&ut);
}

/* The secret of an instance decides which MACs share a class. */
static void classes_of_secrets(void)
{
	uint8_t mac[WIRE_MAC_BYTES], was[MACS];
	uint32_t i, same = 0;

	fw_ut_begin(&ut);
	for (i = 0; i < MACS; i++) {
		mac_of(i, mac);
		was[i] = station_of(ut.nic, mac);
	}
	ut.nic->config.hash_secret[1] ^= 2;
	for (i = 0; i < MACS; i++) {
		mac_of(i, mac);
		same += station_of(ut.nic, mac) == was[i];
	}
	CU_ASSERT(same < 2 * MEAN);
	fw_ut_end(&ut);
}

/* Takes all that a station may have; returns how much. */
static uint32_t fill(uint8_t station)
{
	uint32_t n = 0;

	while (station_may(ut.nic, station, STATION_RD_HELD, MAX)) {
		station_take(ut.nic, station, STATION_RD_HELD);
		n++;
	}
	return n;
}

/* One alone gets two thirds; the n-th gets 2 / (2n + 1) and leaves half as much. */
static void limits(void)
{
	uint32_t i, n[3];

	fw_ut_begin(&ut);
	for (i = 0; i < 3; i++)
		n[i] = fill((uint8_t)(i + 1));
	CU_ASSERT_EQUAL(n[0], MAX * 2 / 3);
	CU_ASSERT(n[1] >= MAX / 5 && n[1] <= MAX / 3 * 2 / 3 + 1);
	CU_ASSERT(n[2] > 0);
	/* A further station finds a place, and gets more as others give some back. */
	CU_ASSERT_TRUE(station_may(ut.nic, 200, STATION_RD_HELD, MAX));
	CU_ASSERT_FALSE(station_may(ut.nic, 1, STATION_RD_HELD, MAX));
	for (i = 0; i < n[0]; i++)
		station_give(ut.nic, 1, STATION_RD_HELD);
	CU_ASSERT(fill(200) > MAX / 3);
	fw_ut_end(&ut);
}

/* Many that hold little use a table to its last place. */
static void used_up_by_many(void)
{
	uint32_t i, n = 0;

	fw_ut_begin(&ut);
	for (i = 0; i < 2 * MAX; i++)
		if (station_may(ut.nic, (uint8_t)i, STATION_RD_HELD, MAX)) {
			station_take(ut.nic, (uint8_t)i, STATION_RD_HELD);
			n++;
		}
	CU_ASSERT_EQUAL(n, MAX);
	CU_ASSERT_FALSE(station_may(ut.nic, STATION_NONE, STATION_RD_HELD, MAX));
	fw_ut_end(&ut);
}

UT_MAIN("nic_fw/base/station", UT(classes), UT(classes_of_secrets), UT(limits), UT(used_up_by_many))
