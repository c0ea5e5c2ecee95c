/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Simulated NICs: firmware instances, and the cores that poll them.
 *
 * A core sleeps like weftd's: after a turn without work it publishes that it sleeps and checks the
 * doorbells once more. A frame, a doorbell, a command or the firmware's next timer wakes it. A turn
 * takes virtual time, during which frames queue up.
 *
 * Calls fw_init(), fw_poll() and fw_sleep(). sim_port.c is the environment of the instances.
 */
#include "sim_harness/sim_int.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "shared_defs/be.h"

enum {
	/* Limit of the QPN encoding; further NICs share numbers and are found by IP address. */
	NIC_NUMBERS = 32,
};

static uint32_t ip_of(uint32_t index)
{
	return htonl(10u << 24 | 77u << 16 | (index / 250) << 8 | (1 + index % 250));
}

uint32_t sim_nic_by_ip(uint32_t ip)
{
	uint32_t host = ntohl(ip);

	return (host >> 8 & 0xff) * 250 + (host & 0xff) - 1;
}

uint64_t sim_nic_clock_ns(const struct sim_nic *nic)
{
	return nic->sim->now_ns + nic->clock_offset_ns;
}

static void shard_poll(struct sim *sim, void *ctx, uint64_t when_ns);

/* Makes the core poll again at when_ns, or when its turn is over. */
static void schedule(struct sim_shard *shard, uint64_t when_ns)
{
	struct sim_nic *nic = shard->nic;

	if (nic->dead)
		return;
	if (when_ns < shard->busy_until_ns)
		when_ns = shard->busy_until_ns;
	if (when_ns < nic->paused_until_ns)
		when_ns = nic->paused_until_ns;
	if (when_ns < nic->sim->now_ns)
		when_ns = nic->sim->now_ns;
	if (when_ns >= shard->poll_at_ns)
		return;
	/* An earlier event for a later time becomes stale and has no effect. */
	shard->poll_at_ns = when_ns;
	sim_at(nic->sim, when_ns, shard_poll, shard, when_ns);
}

void sim_shard_wake(struct sim_shard *shard, uint64_t when_ns)
{
	shard->drowsy = false;
	schedule(shard, when_ns);
}

/* Returns the time of the firmware's next timer on the simulation's clock. */
static uint64_t next_timer_ns(const struct sim_shard *shard)
{
	uint64_t at_ns = fw_next_timer_ns(shard->fw);

	if (at_ns == UINT64_MAX)
		return UINT64_MAX;
	return at_ns > shard->nic->clock_offset_ns ? at_ns - shard->nic->clock_offset_ns : 0;
}

static uint64_t bytes_ns(const struct sim_cost *cost, uint32_t bytes)
{
	return bytes * cost->byte_ps / 1000;
}

/* Accounts for operations started since the last call, before later work. */
static void pay_ops(struct sim_shard *shard)
{
	const char *name;
	uint64_t ops;

	if (!shard->nic->sim->config.cost.op_ns ||
	    !fw_stat(shard->fw, shard->ops_index, &name, &ops))
		return;
	shard->tx_at_ns += (ops - shard->paid_ops) * shard->nic->sim->config.cost.op_ns;
	shard->paid_ops = ops;
}

void sim_shard_pay_tx(struct sim_shard *shard, uint32_t bytes)
{
	const struct sim_cost *cost = &shard->nic->sim->config.cost;

	pay_ops(shard);
	shard->tx_at_ns += cost->tx_ns + bytes_ns(cost, bytes);
}

/*
 * Models the core reading frames before the firmware handles them, at most one turn's worth.
 * Returns the required time; 0: already elapsed.
 */
static uint64_t read_ns(struct sim_shard *shard)
{
	const struct sim_config *config = &shard->nic->sim->config;
	const struct sim_pkt *pkt = shard->rx_head;
	uint64_t ns = 0;
	uint32_t i;

	if (shard->paid_rx || !config->cost.rx_ns)
		return 0;
	for (i = 0; pkt && i < config->poll_budget; i++, pkt = pkt->next)
		ns += config->cost.rx_ns + bytes_ns(&config->cost, pkt->bytes);
	shard->paid_rx = i;
	return ns;
}

/*
 * One turn of the firmware. Doorbells rung during it need no wake-up, because the core does not
 * sleep yet.
 */
static void turn(struct sim_shard *shard)
{
	struct sim_nic *nic = shard->nic;
	struct sim *sim = nic->sim;
	const struct sim_config *config = &sim->config;
	uint32_t work;

	assert(!shard->in_poll);
	if (shard->asleep) {
		fw_sleep(shard->fw, false);
		shard->asleep = false;
	}
	shard->tx_at_ns = sim->now_ns + config->poll_ns;
	shard->in_poll = true;
	shard->ran = true;
	work = fw_poll(shard->fw, sim_nic_clock_ns(nic), config->poll_budget);
	shard->in_poll = false;
	assert(!shard->in_burst || !"fw_poll() returned without rx_free()");
	nic->counts.polls++;
	nic->counts.idle_polls += !work;
	pay_ops(shard);
	shard->paid_rx = 0;
	shard->busy_until_ns = shard->tx_at_ns + work * config->poll_work_ns +
			       sim_prng_below(&shard->poll_prng, config->poll_jitter_ns + 1);
	shard->drowsy = !work && !shard->rx_head;
	schedule(shard, shard->busy_until_ns);
}

/* Ends a turn without work: sleeps, unless a doorbell was rung meanwhile. */
static bool fall_asleep(struct sim_shard *shard)
{
	shard->drowsy = false;
	if (shard->rx_head)
		return false;
	if (!fw_sleep(shard->fw, true)) {
		fw_sleep(shard->fw, false);
		return false;
	}
	shard->asleep = true;
	if (next_timer_ns(shard) != UINT64_MAX)
		schedule(shard, next_timer_ns(shard));
	return true;
}

static void shard_poll(struct sim *sim, void *ctx, uint64_t when_ns)
{
	struct sim_shard *shard = ctx;
	uint64_t ns;

	if (shard->nic->dead || shard->poll_at_ns != when_ns)
		return;
	shard->poll_at_ns = UINT64_MAX;
	if (sim->now_ns < shard->nic->paused_until_ns) {
		schedule(shard, shard->nic->paused_until_ns);
	} else if ((ns = read_ns(shard))) {
		shard->busy_until_ns = sim->now_ns + ns;
		schedule(shard, shard->busy_until_ns);
	} else if (!shard->drowsy || !fall_asleep(shard)) {
		turn(shard);
	}
}

void sim_shard_enter(struct sim_shard *shard)
{
	struct sim *sim = shard->nic->sim;

	shard->ran = true;
	if (sim->now_ns < shard->nic->paused_until_ns)
		sim_run_for(sim, shard->nic->paused_until_ns - sim->now_ns);
	assert(!shard->in_poll);
	fw_now(shard->fw, sim_nic_clock_ns(shard->nic));
}

void sim_nic_wake(struct sim_nic *nic)
{
	uint32_t s;

	for (s = 0; s < nic->num_shards; s++)
		sim_shard_wake(&nic->shard[s], nic->sim->now_ns);
}

/* Puts a frame into the queue of a shard, which has room or drops it. Takes ownership of pkt. */
static void take_frame(struct sim_shard *shard, struct sim_pkt *pkt)
{
	struct sim *sim = shard->nic->sim;

	if (shard->rx_frames >= sim->config.rx_queue_frames) {
		shard->nic->counts.drop_rx_queue++;
		sim_pkt_free(sim, pkt);
		return;
	}
	pkt->next = NULL;
	if (shard->rx_tail)
		shard->rx_tail->next = pkt;
	else
		shard->rx_head = pkt;
	shard->rx_tail = pkt;
	shard->rx_frames++;
	sim_shard_wake(shard, sim->now_ns);
}

void sim_nic_rx(struct sim_nic *nic, struct sim_pkt *pkt)
{
	struct sim *sim = nic->sim;
	bool all = false;
	uint32_t first, s;

	if (nic->dead) {
		nic->counts.drop_dead++;
		sim_pkt_free(sim, pkt);
		return;
	}
	sim_pcap_frame(nic, pkt, sim->now_ns, false);
	first = fw_steer(pkt->data, pkt->bytes, nic->num_shards, nic->cm_ports, &all);
	assert(first < nic->num_shards);
	if (!all) {
		take_frame(&nic->shard[first], pkt);
		return;
	}
	for (s = 0; s < nic->num_shards; s++)
		take_frame(&nic->shard[s], sim_pkt_same(sim, pkt));
	sim_pkt_free(sim, pkt);
}

void sim_inject(struct sim_nic *nic, const void *frame, size_t bytes)
{
	assert(bytes <= SIM_MAX_FRAME_BYTES);
	sim_nic_rx(nic, sim_pkt_new(nic->sim, frame, (uint32_t)bytes));
}

static void shard_start(struct sim_shard *shard)
{
	struct sim_nic *nic = shard->nic;
	struct sim *sim = nic->sim;
	struct fw_config config = {.ip_prefix = 8,
				   .nic_index = (uint8_t)(nic->index % NIC_NUMBERS),
				   .shard = (uint8_t)shard->index,
				   .num_shards = (uint8_t)nic->num_shards,
				   .mtu = (uint16_t)nic->mtu,
				   .ip = nic->ip,
				   .link_mbps = 25000,
				   .cc_off = sim->config.cc_off,
				   .bundle = !sim->config.no_bundle,
				   .tcp_awake = sim->config.tcp_awake};
	uint64_t shard_number = (uint64_t)nic->incarnation << 32 | nic->index << 8 | shard->index;
	struct sim_prng secret;
	struct fw_port port;
	const char *name;
	uint32_t i;

	memcpy(config.name, nic->name, sizeof(config.name));
	memcpy(config.mac, nic->mac, sizeof(config.mac));
	for (i = 0; i < NIC_NUMBERS; i++)
		config.nic_ip[i] = ip_of(i);
	sim_prng_init(&shard->port_prng, sim->seed, SIM_STREAM_PORT, shard_number);
	/* A stream of its own, so that the numbers of a run do not depend on it. */
	sim_prng_init(&secret, sim->seed, SIM_STREAM_SECRET, shard_number);
	config.hash_secret[0] = sim_prng_next(&secret) | 1;
	config.hash_secret[1] = sim_prng_next(&secret) | 1;
	shard->arena_bytes = fw_arena_bytes();
	shard->arena = mmap(NULL, shard->arena_bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert(shard->arena != MAP_FAILED);
	shard->asleep = false;
	shard->drowsy = false;
	shard->ran = true;
	shard->poll_at_ns = UINT64_MAX;
	shard->busy_until_ns = 0;
	shard->tx_at_ns = 0;
	sim_port_fill(shard, &port);
	shard->fw = fw_init(&config, &port, shard->arena, shard->arena_bytes);
	assert(shard->fw || !"fw_init() refused the simulator's configuration");
	for (shard->ops_index = 0; fw_stat(shard->fw, shard->ops_index, &name, &shard->paid_ops);
	     shard->ops_index++)
		if (!strcmp(name, "goal_ops"))
			break;
	shard->paid_rx = 0;
	sim_trace_attach(shard);
	sim_shard_wake(shard, sim->now_ns);
}

/* Power off: the instance's state is lost without notification. */
static void shard_stop(struct sim_shard *shard)
{
	struct sim *sim = shard->nic->sim;
	struct sim_pkt *pkt, *next;

	/* Frames that have left keep their bytes. */
	sim_loan_settle(shard);
	for (pkt = shard->rx_head; pkt; pkt = next) {
		next = pkt->next;
		sim_pkt_free(sim, pkt);
	}
	for (pkt = shard->lent; pkt; pkt = next) {
		next = pkt->next;
		sim_pkt_free(sim, pkt);
		shard->nic->counts.frames_held--;
	}
	shard->rx_head = shard->rx_tail = shard->lent = NULL;
	shard->rx_frames = 0;
	while (shard->maps)
		sim_mem_unmap(shard, shard->maps->client, shard->maps->addr);
	memset(shard->procs, 0, sizeof(shard->procs));
	sim_shard_forget_leaving(shard);
	sim_mac_clear(shard);
	assert(!shard->loans);
	munmap(shard->arena, shard->arena_bytes);
	shard->poll_at_ns = UINT64_MAX;
}

/* link NULL, mtu 0: the simulation's. */
static struct sim_nic *sim_nic_new_with(struct sim *sim, const struct sim_link *link, uint32_t mtu)
{
	struct sim_nic *nic = calloc(1, sizeof(*nic));
	struct sim_prng clock;
	uint32_t i = sim->num_nics, s;

	assert(nic && i < SIM_MAX_NICS);
	nic->sim = sim;
	nic->index = i;
	nic->ip = ip_of(i);
	memcpy(nic->mac, (uint8_t[]){0x02, 0x57, 0x46, 0, (uint8_t)(i >> 8), (uint8_t)i}, 6);
	nic->mtu = mtu ? mtu : sim->config.mtu;
	snprintf(nic->name, sizeof(nic->name), "weft%u", i);
	nic->link = link ? *link : sim->config.link;
	nic->num_shards = sim->config.num_shards;
	sim_prng_init(&nic->link_prng, sim->seed, SIM_STREAM_LINK, i);
	fault_init(&nic->fault, &nic->link_prng.x);
	/* Clocks of NICs are unrelated; on some, 32-bit time stamps wrap early in a run. */
	sim_prng_init(&clock, sim->seed, SIM_STREAM_CLOCK, i);
	nic->clock_offset_ns = sim_prng_below(&clock, 2)
				   ? UINT32_MAX - sim_prng_below(&clock, 20000000)
				   : sim_prng_below(&clock, UINT64_C(1) << 40);
	sim->nics[sim->num_nics++] = nic;
	if (nic->num_shards > 1) {
		nic->cm_ports = calloc(FW_CM_PORT_WORDS, sizeof(*nic->cm_ports));
		assert(nic->cm_ports);
	}
	for (s = 0; s < nic->num_shards; s++) {
		nic->shard[s].nic = nic;
		nic->shard[s].index = s;
		sim_prng_init(&nic->shard[s].poll_prng, sim->seed, SIM_STREAM_POLL,
			      (uint64_t)i << 8 | s);
		shard_start(&nic->shard[s]);
	}
	return nic;
}

struct sim_nic *sim_nic_new(struct sim *sim)
{
	return sim_nic_new_with(sim, NULL, 0);
}

void sim_nic_free(struct sim_nic *nic)
{
	uint32_t s;

	for (s = 0; s < nic->num_shards; s++)
		shard_stop(&nic->shard[s]);
	sim_link_free(nic);
	free(nic->cm_ports);
	free(nic);
}

void sim_nic_kill(struct sim_nic *nic)
{
	nic->dead = true;
}

bool sim_nic_dead(const struct sim_nic *nic)
{
	return nic->dead;
}

void sim_nic_restart(struct sim_nic *nic)
{
	struct sim_proc *proc;
	uint32_t s;

	for (proc = nic->sim->procs; proc; proc = proc->next) {
		if (proc->nic == nic) {
			proc->dead = true;
			proc->attached = false;
		}
	}
	nic->dead = false;
	nic->incarnation++;
	if (nic->cm_ports)
		memset(nic->cm_ports, 0, FW_CM_PORT_WORDS * sizeof(*nic->cm_ports));
	for (s = 0; s < nic->num_shards; s++) {
		assert(!nic->shard[s].in_poll);
		shard_stop(&nic->shard[s]);
		shard_start(&nic->shard[s]);
	}
}

void sim_nic_pause(struct sim_nic *nic, uint64_t ns)
{
	if (nic->sim->now_ns + ns > nic->paused_until_ns)
		nic->paused_until_ns = nic->sim->now_ns + ns;
}

struct sim_nic *sim_nic_at(struct sim *sim, uint32_t i)
{
	return i < sim->num_nics ? sim->nics[i] : NULL;
}

uint32_t sim_nic_count(const struct sim *sim)
{
	return sim->num_nics;
}

uint32_t sim_nic_index(const struct sim_nic *nic)
{
	return nic->index;
}

uint32_t sim_nic_ip(const struct sim_nic *nic)
{
	return nic->ip;
}

const uint8_t *sim_nic_mac(const struct sim_nic *nic)
{
	return nic->mac;
}

struct sim *sim_nic_sim(const struct sim_nic *nic)
{
	return nic->sim;
}

struct sim_link *sim_nic_link(struct sim_nic *nic)
{
	return &nic->link;
}

struct fw_nic *sim_nic_fw(struct sim_nic *nic, uint32_t shard)
{
	return shard < nic->num_shards ? nic->shard[shard].fw : NULL;
}

bool sim_nic_ran(struct sim_nic *nic, uint32_t shard)
{
	bool ran = nic->shard[shard].ran;

	nic->shard[shard].ran = false;
	return ran;
}

const struct sim_nic_counts *sim_nic_counts(const struct sim_nic *nic)
{
	return &nic->counts;
}

/* Sums counters with this name, or with this prefix. */
static uint64_t stat_sum(const struct sim_nic *nic, const char *want, bool prefix, uint32_t *found)
{
	/* A name has one number in every shard: workloads ask for the same one again and again. */
	static _Thread_local uint32_t hint;
	uint64_t sum = 0, value;
	const char *name;
	uint32_t s, i;

	*found = 0;
	for (s = 0; s < nic->num_shards; s++) {
		bool known = !prefix && fw_stat(nic->shard[s].fw, hint, &name, &value) &&
			     !strcmp(name, want);

		for (i = known ? hint : 0; fw_stat(nic->shard[s].fw, i, &name, &value); i++) {
			if (prefix ? strncmp(name, want, strlen(want)) : strcmp(name, want))
				continue;
			sum += value;
			++*found;
			if (prefix)
				continue;
			hint = i;
			break;
		}
	}
	return sum;
}

uint64_t sim_nic_stat(const struct sim_nic *nic, const char *name)
{
	uint32_t found;
	uint64_t sum = stat_sum(nic, name, false, &found);

	assert(found == nic->num_shards || !"no counter has this name");
	return sum;
}

uint64_t sim_nic_stat_sum(const struct sim_nic *nic, const char *prefix)
{
	uint32_t found;

	return stat_sum(nic, prefix, true, &found);
}
