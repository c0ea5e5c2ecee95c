/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The objects of one weftd and who may touch them.
 *
 *	struct app	the process
 *	struct nic	one NIC: an address, a wire, a socket, one or more shards
 *	struct shard	one firmware instance; only its core touches it once it runs
 *	struct core	one poll-mode thread and the shards it runs
 *
 * The control thread (control.c) makes and ends them and speaks with processes; it reaches a
 * running shard only by messages (msg.c). Fields say "core:" when only the core uses them
 * after the start, "control:" when only the control thread does.
 */
#ifndef WEFT_APP_H
#define WEFT_APP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dpdk_app/args/args.h"
#include "dpdk_app/client/hostcopy.h"
#include "dpdk_app/client/irq.h"
#include "dpdk_app/log.h"
#include "dpdk_app/random.h"
#include "dpdk_app/turns.h"
#include "nic_fw/fw.h"
#include "shared_defs/hw_limits.h"

struct rte_mbuf;
struct rte_mempool;
struct rte_ring;

struct app;
struct capture;
struct client;
struct core;
struct mac_table;
struct msg;
struct nic;
struct shard;
struct switch_holds;
struct wire;

enum {
	APP_RING_FRAMES = 1024, /* frames that wait for a shard in one of its rings */
	APP_MAX_SHARDS = CONF_MAX_NICS * CONF_MAX_SHARDS,
	APP_MAX_PENDING = 1024, /* commands of a shard that the firmware answers later */
	APP_MAX_BORROWED = 128, /* frames of a shard under way whose payload is not copied */
	APP_PORT_FDS = 33,      /* descriptors of a port to sleep on */
	APP_CACHE_LINE_BYTES = 64,
};

/* Counters of one shard's port; the shard's core writes them. */
struct port_stats {
	uint64_t rx_frames;
	uint64_t rx_bytes;
	uint64_t tx_frames;
	uint64_t tx_bytes;
	uint64_t rx_linearised;
	uint64_t drop_rx_short;
	uint64_t drop_rx_segments;
	uint64_t drop_rx_ring_full; /* frames for a shard whose ring was full */
	uint64_t tx_no_mbuf;
	uint64_t tx_host_faults;
	uint64_t tx_host_busy; /* payload that could not be read in time */
	uint64_t tx_bad_frames;
	uint64_t tx_loop_frames;
	uint64_t drop_loop_full;
	uint64_t tx_borrowed; /* frames handed over with their payload in the process's memory */
	uint64_t tx_settled;  /* of them, copied after all: the memory was wanted back */
	uint64_t host_reads;
	uint64_t host_writes;
	uint64_t host_faults;
	struct hostcopy_stats host;
	uint64_t irqs;
	uint64_t irq_submits;
	uint64_t irqs_late;         /* of all shards of the core: irq.h */
	uint64_t wire_pauses;       /* a receiver's ring was full: frames for it wait */
	uint64_t drop_wire_full;    /* more would have waited for it than may */
	uint64_t drop_wire_stuck;   /* it took none for SWITCH_HOLD_NS: what waited is lost */
	uint64_t drop_wire_unknown; /* no NIC has the destination's MAC */
	uint64_t drop_wire_down;    /* no link */
	uint64_t rx_ring;           /* frames that came through this shard's ring */
	uint64_t echoes;            /* answered by the port itself: --port-echo */
	uint64_t tx_ring; /* frames that went through the port's, which another shard owns */
};

/* Counters of one core; the core writes them. */
struct core_stats {
	uint64_t turns;
	uint64_t busy_turns;
	uint64_t yields;
	uint64_t yields_long; /* that gave the CPU away for longer than a wake-up takes */
	uint64_t sleeps;
	uint64_t wakes_doorbell;
	uint64_t wakes_frame;
	uint64_t wakes_message;
	uint64_t wakes_timer;
	uint64_t shared; /* 1: somebody else runs on this CPU */
	uint64_t cpu;
	uint64_t role; /* enum conf_role */
	/* From the end of the sleep to the end of the first turn that did something. */
	uint64_t wake_serve_ns_last;
	uint64_t wake_serve_ns_max;
	/* From the process's doorbell (hw_bar_header.wake_ns) to the same point. */
	uint64_t wake_doorbell_ns_last;
	uint64_t wake_doorbell_ns_max;
};

/* A command that fw_cmd() left pending; the index is the tag the firmware sees. */
struct shard_pending {
	struct msg *msg; /* NULL: free */
};

struct shard {
	struct nic *nic;
	struct core *core;
	uint32_t number; /* within the NIC; those for collectives come last */
	uint32_t stream; /* within the weftd */
	struct fw_nic *fw;
	void *arena;
	size_t arena_bytes;
	uint32_t num_fw_stats;
	bool stages; /* the firmware counts cycles per stage */

	/* Frames from other cores, and from the switch; any core enqueues. */
	struct rte_ring *in;
	/* Frames to the NIC's own address; any core of the NIC enqueues. */
	struct rte_ring *loop;
	struct impair *impair; /* core: NULL: a perfect wire */

	/* core: */
	struct client *client[HW_MAX_CLIENTS];
	struct client *attaching; /* while the firmware admits it; else NULL */
	struct shard_pending pending[APP_MAX_PENDING];
	struct msg *detaching[HW_MAX_CLIENTS]; /* by number: the firmware still frees it */
	uint32_t num_pending;
	struct port_stats stats;
	struct random random;
	struct switch_holds *holds; /* frames that wait for receivers; NULL: not on the switch */
	/* Frames taken from the firmware that the wire had no room for. */
	struct rte_mbuf *backlog[FW_BURST];
	uint32_t num_backlog;
	/* Frames under way whose payload is borrowed, a reference to each: borrow.c. */
	struct rte_mbuf *borrowed[APP_MAX_BORROWED];
	uint32_t num_borrowed;
	bool link_up; /* as the firmware was told */

	/* core to control: mappings that the firmware gave back */
	struct rte_ring *unmap;
	uint32_t num_mappings; /* control: given out and not yet unmapped */
};

struct core {
	struct app *app;
	unsigned lcore; /* EAL's number */
	int cpu;
	enum conf_role role; /* io or coll */
	bool crowded;        /* another core is a thread on the same CPU: always yields */
	uint32_t number;
	struct shard *shard[APP_MAX_SHARDS];
	uint32_t num_shards;
	/* Wires whose port this core owns: their descriptors wake it, it polls their links. */
	struct wire *wire[CONF_MAX_NICS];
	uint32_t num_wires;

	struct rte_ring *msgs; /* control to core */
	int wake_fd;           /* eventfd of our own: messages, frames of other cores */
	int epoll_fd;

	/* core: */
	uint64_t now_ns;
	struct turns turns;
	struct irq_batch irqs;
	struct core_stats stats;
	uint64_t idle_since_ns; /* 0: busy */
	uint64_t woke_ns;       /* end of the last sleep while its first work is awaited */
	uint64_t rung_ns;       /* when the doorbell that ended it was rung; 0: unknown */
	uint64_t share_checked_ns;
	uint64_t share_until_ns;
	uint64_t yielded_long_ns; /* when the last long yield ended */
	uint64_t crowd_until_ns;  /* a yield lasts long: sleep instead (idle.c) */
	uint64_t switches_seen;
	uint64_t links_checked_ns;
	_Atomic(bool) quit;

	/* Read by others, so on a line of its own. */
	_Alignas(APP_CACHE_LINE_BYTES) _Atomic(uint32_t) sleeping;
	_Atomic(uint64_t) rounds; /* quiescent points passed */
};

struct nic {
	struct app *app;
	const struct conf_nic *conf;
	char name[16];
	uint32_t index;
	uint8_t mac[6];
	uint32_t mtu; /* bytes of the largest IPv4 packet */
	uint32_t link_mbps;
	struct rte_mempool *pool;
	struct wire *wire;
	struct mac_table *macs; /* mac_filter.c: groups that its shards want */
	uint32_t *cm_ports;     /* fw_port.cm_ports */
	struct shard shard[CONF_MAX_SHARDS];
	uint32_t num_shards;
	uint32_t num_coll; /* of them, the last ones: for collectives alone */
	_Atomic(uint32_t) link_up;
	/* When the line to this NIC is free again; impair.c. */
	_Atomic(uint64_t) line_busy_ns;
	_Atomic(struct capture *) capture;
	_Atomic(uint64_t) memory_refused; /* descriptors that were not their process's memory */

	/* control: */
	bool link_told_down; /* what the operator has heard last */
	struct log_limit link_said;
	int lock_fd;
	int listen_fd;
	char socket_path[108];
	char lock_path[112];
	uint32_t next_shard; /* round robin of attach */
	uint32_t next_coll;  /* the same, of processes with collectives */
	uint32_t num_clients;
	struct client_xrcd *xrcds; /* client_xrc.c */
};

struct app {
	struct conf conf;
	struct nic nic[CONF_MAX_NICS];
	uint32_t num_nics;
	struct core *core[CONF_MAX_CORES]; /* those with the role io first, then coll */
	uint32_t num_cores;
	uint32_t num_io_cores;
	bool several_cores;
	bool hugepages;
	int run_fd;     /* the run directory; -1 */
	int control_fd; /* eventfd: wakes the control thread */
	/* It has been woken and has not looked yet: nobody need wake it again. */
	_Atomic bool control_told;
	struct rte_ring *done; /* core to control: messages carried out */
	/* Messages that cores have; raised by msg_send(), lowered when they came back. */
	_Atomic uint32_t awaited;
	/* The control thread looks at done by itself: cores need not wake it. */
	_Atomic bool control_looks;
};

/* CLOCK_MONOTONIC in ns: the clock that fw_poll() sees and processes can read too. */
uint64_t app_clock_ns(void);

/* Makes another core look at its rings. Any thread; costs a system call if it sleeps. */
void core_wake(struct core *core);

/* Wakes the control thread. Any thread, and a signal handler. */
void app_wake_control(struct app *app);

#endif /* WEFT_APP_H */
