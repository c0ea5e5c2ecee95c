/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ports of the connection manager: bindings and listeners.
 *
 * One table serves all shards of a NIC (fw_port.cm_ports), since a request may arrive at any of
 * them and a port belongs to the NIC: a word per (space, port), changed by compare-and-swap and
 * never held. The rules are those of bind(2) with SO_REUSEADDR, as the kernel's cma_check_port()
 * has them. After these, a word for each TCP port names its shard, from its first listener or
 * connection on, and after the last. Calls port->tcp_port().
 */
#include "nic_fw/fw_nic.h"

enum {
	WORD_BINDERS = 0xffff, /* how many endpoints are bound to it */
	WORD_REUSE = 1 << 16,  /* all of them share it */
	WORD_LISTEN = 1 << 17, /* one of them listens, which is then the only one */
	WORD_ENDED = 1 << 18,  /* a listener ended at this time */
	WORD_SHARD_SHIFT = 20, /* in this shard */
	WORD_SHARD_MASK = 7,
	WORD_TIME_SHIFT = 23, /* in units of 2^30 ns; comes round in 9 minutes */
	TIME_SHIFT = 30,
	TIME_MASK = 0x1ff,
	RECENT = 5, /* five to six seconds: less than what CM_TRIES take */
	/* Flags that outlive binding and release. */
	WORD_PAST = WORD_ENDED | (int)((uint32_t)TIME_MASK << WORD_TIME_SHIFT),
};
static_assert(WIRE_DGRAM_SHARDS <= WORD_SHARD_MASK + 1, "");

static const uint16_t spaces[L4_SPACES] = {HW_CM_TCP, HW_CM_UDP, HW_CM_IB, HW_CM_IPOIB};

static uint32_t l4_port_place_of(uint32_t space)
{
	uint32_t i = 0;

	while (i < L4_SPACES && spaces[i] != space)
		i++;
	return i;
}

bool l4_port_space_ok(uint32_t space)
{
	return l4_port_place_of(space) < L4_SPACES;
}

static uint32_t *word_of(struct fw_nic *nic, uint16_t space, uint16_t port)
{
	uint32_t *table = nic->port.cm_ports ? nic->port.cm_ports : nic->net.l4_ports;
	uint32_t place = l4_port_place_of(space);

	assert(place < L4_SPACES);
	return &table[place << 16 | port];
}

static bool change(uint32_t *word, uint32_t *old, uint32_t new)
{
	return __atomic_compare_exchange_n(word, old, new, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
}

static int bind_one(struct fw_nic *nic, uint16_t space, uint16_t port, bool reuse)
{
	uint32_t *word = word_of(nic, space, port);
	uint32_t old = __atomic_load_n(word, __ATOMIC_ACQUIRE), new;

	do {
		new = old + 1;
		if (!(old & WORD_BINDERS))
			new |= reuse ? WORD_REUSE : 0;
		else if (!reuse || !(old & WORD_REUSE) || old & WORD_LISTEN)
			return FW_EADDRINUSE;
		if ((old & WORD_BINDERS) == WORD_BINDERS)
			return FW_EADDRINUSE;
	} while (!change(word, &old, new));
	return 0;
}

/* Tries a TCP port: conflicts with other shards or the kernel show only when it is held. */
static int try_hold(struct fw_nic *nic, uint16_t port)
{
	int err = l4_port_hold(nic, port);

	if (!err)
		l4_port_drop(nic, port);
	return err;
}

/* True for a port whose frames a device may bring to this shard by a rule on its low bits. */
static bool l4_port_is_near(const struct fw_nic *nic, uint16_t space, uint16_t port)
{
	return space != HW_CM_TCP ||
	       (port & fw_tcp_port_bits(nic->config.num_shards)) == nic->config.shard;
}

int l4_port_bind(struct fw_nic *nic, uint16_t space, uint16_t *port, bool reuse)
{
	const uint32_t span = HW_CM_EPHEMERAL_END - HW_CM_EPHEMERAL;
	uint32_t start, i;
	int err;

	if (*port)
		return bind_one(nic, space, *port, reuse);
	start = (uint32_t)(nic->port.random64(nic->port.ctx) % span);
	/* The ports of this shard first, then the others. */
	for (i = 0; i < 2 * span; i++) {
		*port = (uint16_t)(HW_CM_EPHEMERAL + (start + i) % span);
		if (l4_port_is_near(nic, space, *port) != (i < span) ||
		    bind_one(nic, space, *port, false))
			continue;
		err = space == HW_CM_TCP ? try_hold(nic, *port) : 0;
		if (!err)
			return 0;
		l4_port_release(nic, space, *port, false);
		/* Another port would give the same error, after as many system calls. */
		if (err != FW_EADDRINUSE) {
			*port = 0;
			return err;
		}
	}
	*port = 0;
	return FW_EADDRNOTAVAIL;
}

int l4_port_listen(struct fw_nic *nic, uint16_t space, uint16_t port)
{
	uint32_t *word = word_of(nic, space, port);
	uint32_t old = __atomic_load_n(word, __ATOMIC_ACQUIRE), new;

	do {
		if (old & WORD_LISTEN || (old & WORD_BINDERS) != 1)
			return FW_EADDRINUSE;
		new = (old & ~(uint32_t)WORD_PAST) | WORD_LISTEN |
		      (uint32_t)nic->config.shard << WORD_SHARD_SHIFT;
	} while (!change(word, &old, new));
	return 0;
}

/* ---- owners of TCP ports --------------------------------------------------------------------- */

static uint32_t *owner_of(struct fw_nic *nic, uint16_t port)
{
	uint32_t *table = nic->port.cm_ports ? nic->port.cm_ports : nic->net.l4_ports;

	return &table[(uint32_t)L4_SPACES << 16 | port];
}

static void l4_port_let_go(uint32_t *word)
{
	uint32_t old = __atomic_load_n(word, __ATOMIC_ACQUIRE);

	do {
		assert(old & WORD_BINDERS);
	} while (!change(word, &old, old - 1));
}

int l4_port_hold(struct fw_nic *nic, uint16_t port)
{
	uint32_t *word = owner_of(nic, port);
	uint32_t old = __atomic_load_n(word, __ATOMIC_ACQUIRE), new;
	int err = 0;

	do {
		if (old & WORD_BINDERS &&
		    (old >> WORD_SHARD_SHIFT & WORD_SHARD_MASK) != nic->config.shard)
			return FW_EADDRINUSE;
		assert((old & WORD_BINDERS) != WORD_BINDERS);
		new = ((old & WORD_BINDERS) + 1) | (uint32_t)nic->config.shard << WORD_SHARD_SHIFT;
	} while (!change(word, &old, new));
	if (!(old & WORD_BINDERS) && nic->port.tcp_port)
		err = nic->port.tcp_port(nic->port.ctx, port, true);
	if (err) {
		FW_COUNT(nic, cm_port_refused);
		l4_port_let_go(word);
	}
	return err;
}

void l4_port_drop(struct fw_nic *nic, uint16_t port)
{
	uint32_t *word = owner_of(nic, port);

	/* While this shard holds the port, no other shard changes the word. */
	if ((__atomic_load_n(word, __ATOMIC_ACQUIRE) & WORD_BINDERS) == 1 && nic->port.tcp_port)
		(void)nic->port.tcp_port(nic->port.ctx, port, false);
	l4_port_let_go(word);
}

uint32_t l4_port_owner(const uint32_t *table, uint16_t port)
{
	uint32_t word = __atomic_load_n(&table[(uint32_t)L4_SPACES << 16 | port], __ATOMIC_RELAXED);

	return word >> WORD_SHARD_SHIFT & WORD_SHARD_MASK;
}

static uint32_t time_of(const struct fw_nic *nic)
{
	return (uint32_t)(nic->now_ns >> TIME_SHIFT) & TIME_MASK;
}

void l4_port_release(struct fw_nic *nic, uint16_t space, uint16_t port, bool listening)
{
	uint32_t *word = word_of(nic, space, port);
	uint32_t old = __atomic_load_n(word, __ATOMIC_ACQUIRE), new;

	do {
		assert(old & WORD_BINDERS);
		new = old - 1;
		if (listening)
			new = (new &(WORD_BINDERS | WORD_REUSE)) | WORD_ENDED |
			      time_of(nic) << WORD_TIME_SHIFT;
		if (!(new &WORD_BINDERS))
			new &= (uint32_t)WORD_PAST;
	} while (!change(word, &old, new));
}

void l4_port_unlisten(struct fw_nic *nic, uint16_t space, uint16_t port)
{
	uint32_t *word = word_of(nic, space, port);
	uint32_t old = __atomic_load_n(word, __ATOMIC_ACQUIRE);

	while (!change(word, &old, old & (WORD_BINDERS | WORD_REUSE)))
		;
}

/*
 * In any space: perftest's first listener is a stream's, its next one may be for datagrams. The
 * client connects to that one as soon as the server reports it, when the first may still be open.
 */
bool l4_port_early(struct fw_nic *nic, uint16_t port, bool datagram)
{
	uint32_t i, word;

	for (i = 0; i < L4_SPACES; i++) {
		word = __atomic_load_n(word_of(nic, spaces[i], port), __ATOMIC_ACQUIRE);
		if (datagram && word & WORD_LISTEN)
			return true;
		if (word & WORD_ENDED &&
		    ((time_of(nic) - (word >> WORD_TIME_SHIFT)) & TIME_MASK) <= RECENT)
			return true;
	}
	return false;
}

uint32_t l4_port_shard(struct fw_nic *nic, uint16_t space, uint16_t port)
{
	uint32_t word = __atomic_load_n(word_of(nic, space, port), __ATOMIC_ACQUIRE);

	return word & WORD_LISTEN ? word >> WORD_SHARD_SHIFT & WORD_SHARD_MASK : FW_NONE;
}
