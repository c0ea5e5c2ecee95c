/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups of UD queue pairs over several NICs. Without faults every QP in a group receives every
 * datagram to it, in order. With loss each receives some of them, none twice, none of another
 * group. QPs that come and go do not disturb those that stay. IBA 10.5.2.
 */
#include "tests/sim/sim_fix.h"

#include <arpa/inet.h>

enum {
	NICS = 5,
	PER_NIC = 2, /* endpoints: the first in group 0, the second in group 1 */
	ENDS = NICS * PER_NIC,
	GROUPS = 2,
	RECEIVES = 64,
	SLOT = 2048,
	GRH = 40,
	BYTES = 700,
	COUNT = 400, /* datagrams to each group */
	NEVER = -1,
};

struct net {
	struct sim *sim;
	struct sim_end end[ENDS];
	struct weft_ah *ah[ENDS]; /* of the end's group */
	uint32_t got[ENDS];
	int64_t last[ENDS];
};

static uint32_t group_ip(uint32_t group)
{
	return htonl(0xef010200u + group);
}

static uint32_t group_of(uint32_t i)
{
	return i % PER_NIC;
}

static int attach(struct net *n, uint32_t i, bool in)
{
	uint8_t gid[16];

	weft_mcast_gid(group_ip(group_of(i)), gid);
	return in ? weft_attach_mcast(n->end[i].qp, gid) : weft_detach_mcast(n->end[i].qp, gid);
}

static void net_open(struct net *n, uint64_t seed, uint32_t shards)
{
	const struct sim_end_attr attr = {.type = WEFT_QPT_UD};
	struct sim_config config;
	uint32_t i, k;

	memset(n, 0, sizeof(*n));
	sim_config_default(&config);
	config.num_shards = shards;
	n->sim = sim_new(&config, seed);
	CU_ASSERT_FATAL(n->sim != NULL);
	for (i = 0; i < NICS; i++)
		(void)sim_nic_new(n->sim);
	for (i = 0; i < ENDS; i++) {
		struct weft_av av = weft_av_mcast(group_ip(group_of(i)));

		FIX_REQUIRE(n,
			    sim_end_open(&n->end[i], sim_nic_at(n->sim, i / PER_NIC), &attr) == 0);
		n->ah[i] = weft_create_ah(n->end[i].pd, &av);
		FIX_REQUIRE(n, n->ah[i] != NULL);
		FIX_REQUIRE(n, attach(n, i, true) == 0);
		n->last[i] = NEVER;
		for (k = 0; k < RECEIVES; k++)
			FIX_REQUIRE(n, sim_end_recv(&n->end[i], k, k * SLOT, SLOT) == 0);
	}
	sim_run_for(n->sim, FIX_MS);
}

/*
 * Destroys everything; when leaving has been reported no frame and no mapping is left in any NIC.
 */
static void net_close(struct net *n)
{
	const struct sim_nic_counts *c;
	struct sim_nic *nic;
	uint32_t i;

	for (i = 0; i < ENDS; i++)
		sim_end_close(&n->end[i]);
	sim_faults_off(n->sim);
	sim_run_for(n->sim, 3000 * FIX_MS);
	for (i = 0; (nic = sim_nic_at(n->sim, i)); i++) {
		c = sim_nic_counts(nic);
		FIX_CHECK(n, c->frames_held == 0);
		FIX_CHECK(n, c->maps == c->unmaps);
	}
	sim_free(n->sim);
}

/* Polls completed receives: each is whole, of its group, and new. */
static void take(struct net *n, uint32_t i)
{
	struct sim_end *end = &n->end[i];
	struct weft_wc wc;

	while (weft_poll_cq(end->cq, 1, &wc) == 1) {
		const uint8_t *slot = end->buf + wc.wr_id * SLOT;
		uint32_t group, number;

		FIX_REQUIRE(n, wc.status == WEFT_WC_SUCCESS);
		if (wc.opcode != WEFT_WC_RECV)
			continue;
		memcpy(&group, slot + GRH, sizeof(group));
		memcpy(&number, slot + GRH + sizeof(group), sizeof(number));
		FIX_CHECK(n, wc.bytes == GRH + BYTES && group == group_of(i));
		FIX_CHECK(n, all_bytes(slot + GRH + 8, (uint8_t)number, BYTES - 8));
		/*
		 * One sender at a time, and no datagram overtakes: a number comes once, and in
		 * order.
		 */
		FIX_CHECK(n, (int64_t)number > n->last[i]);
		n->last[i] = number;
		n->got[i]++;
		FIX_REQUIRE(n, sim_end_recv(end, wc.wr_id, wc.wr_id * SLOT, SLOT) == 0);
	}
}

/* Sends datagram number to a group, from an end of it that changes with the number. */
static void send_to(struct net *n, uint32_t group, uint32_t number)
{
	uint32_t i = number % NICS * PER_NIC + group;
	struct sim_end *end = &n->end[i];
	uint8_t *data = end->buf + RECEIVES * SLOT;
	struct post request = {.opcode = WEFT_WR_SEND,
			       .wr_id = number,
			       .offset = RECEIVES * SLOT,
			       .bytes = BYTES,
			       .dst_qpn = WEFT_MCAST_QPN};

	memcpy(data, &group, sizeof(group));
	memcpy(data + sizeof(group), &number, sizeof(number));
	memset(data + 8, (int)(uint8_t)number, BYTES - 8);
	FIX_REQUIRE(n, post(end, n->ah[i], NULL, &request) == 0);
}

/* Sends both groups' datagram of this number. */
static void send_both(struct net *n, uint32_t number)
{
	uint32_t i;

	for (i = 0; i < GROUPS; i++)
		send_to(n, i, number);
}

/* Checks the result. */
static void take_all(struct net *n)
{
	uint32_t i;

	sim_run_for(n->sim, FIX_MS / 5);
	for (i = 0; i < ENDS; i++)
		take(n, i);
}

static void round_of(struct net *n, uint32_t number)
{
	send_both(n, number);
	take_all(n);
}

static uint64_t stat_of_all(struct net *n, const char *name)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < NICS; i++)
		sum += sim_nic_stat(sim_nic_at(n->sim, i), name);
	return sum;
}

/* Each copy that a NIC made is one that a QP received: none is lost or invented within. */
static void check_copies(struct net *n)
{
	uint64_t got = 0;
	uint32_t i;

	for (i = 0; i < ENDS; i++)
		got += n->got[i];
	FIX_CHECK(n, stat_of_all(n, "mcast_rx_copies") == got);
	FIX_CHECK(n, stat_of_all(n, "drop_ud_no_receive") == 0);
	FIX_CHECK(n, stat_of_all(n, "drop_qkey") == 0);
}

static void everybody_gets_all(void)
{
	uint64_t seed;
	uint32_t i;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		struct net n;

		net_open(&n, seed, 1 + seed % 2);
		for (i = 0; i < COUNT; i++)
			round_of(&n, i);
		for (i = 0; i < ENDS; i++)
			FIX_CHECK(&n, n.got[i] == COUNT);
		FIX_CHECK(&n, stat_of_all(&n, "mcast_tx_msgs") == GROUPS * COUNT);
		check_copies(&n);
		net_close(&n);
	}
}

static void loss(void)
{
	char message[160];
	uint64_t seed;
	uint32_t i;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		struct net n;

		net_open(&n, seed, 1 + seed % 2);
		CU_ASSERT_FATAL(sim_faults_parse(n.sim, "loss=5", message, sizeof(message)) == 0);
		for (i = 0; i < COUNT; i++)
			round_of(&n, i);
		/* 4 of 5 datagrams cross a link that loses; 16 of 320 are expected to be lost. */
		for (i = 0; i < ENDS; i++)
			FIX_CHECK(&n, n.got[i] > COUNT * 3 / 4 && n.got[i] < COUNT);
		check_copies(&n);
		net_close(&n);
	}
}

/*
 * Ends come and go while datagrams are in flight: each receives the datagrams of its time, and may
 * receive the one in flight when it came or went; ends that stay receive all.
 */
static void coming_and_going(void)
{
	uint64_t seed;
	uint32_t i, j, k;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		uint32_t sure[ENDS] = {0}, unsure[ENDS] = {0};
		bool in[ENDS];
		struct sim_prng prng;
		struct net n;

		net_open(&n, seed, 1 + seed % 2);
		sim_prng_for(n.sim, &prng, SIM_STREAM_TEST, 0);
		for (i = 0; i < ENDS; i++)
			in[i] = true;
		for (k = 0; k < COUNT; k++) {
			/* The ends of the first NIC stay. */
			i = PER_NIC + (uint32_t)(sim_prng_next(&prng) % (ENDS - PER_NIC));
			send_both(&n, k);
			sim_run_for(n.sim, sim_prng_next(&prng) % 20000);
			FIX_REQUIRE(&n, attach(&n, i, !in[i]) == 0);
			FIX_CHECK(&n, attach(&n, i, !in[i]) == (in[i] ? -EINVAL : 0));
			for (j = 0; j < ENDS; j++) {
				sure[j] += in[j] && j != i;
				unsure[j] += j == i;
			}
			in[i] = !in[i];
			take_all(&n);
		}
		for (i = 0; i < ENDS; i++)
			FIX_CHECK(&n, n.got[i] >= sure[i] && n.got[i] <= sure[i] + unsure[i]);
		FIX_CHECK(&n, n.got[0] == COUNT && n.got[1] == COUNT);
		check_copies(&n);
		net_close(&n);
	}
}

UT_MAIN("sim/mcast", UT(everybody_gets_all), UT(loss), UT(coming_and_going))
