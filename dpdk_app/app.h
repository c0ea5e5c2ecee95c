/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The objects of one weftd, and the threads that may access them.
 *
 * 	struct app	the process
 * 	struct nic	one NIC: an address, a wire, a socket, one or more shards
 * 	struct shard	one firmware instance; once it runs, only its core accesses it
 * 	struct core	one poll-mode thread and the shards it runs
 *
 * The control thread (control.c) creates and destroys the objects and serves processes. It accesses
 * a running shard only through messages (msg.c). Fields marked "core:" are used only by the core
 * after the start, fields marked "control:" only by the control thread.
 *
 * Each structure that several threads touch is divided by APP_PART marks into parts with one writer
 * each, and a part begins on a line of its own: no core's fast path writes a line that another
 * core's fast path reads or writes, but for the tails of lanes (lanes.h), which are made for that.
 * tests/dpdk_app/lanes_ut.c holds it.
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
#include "dpdk_app/lanes.h"
#include "dpdk_app/line.h"
#include "dpdk_app/load.h"
#include "dpdk_app/log.h"
#include "dpdk_app/place.h"
#include "dpdk_app/random.h"
#include "dpdk_app/runner.h"
#include "dpdk_app/turns.h"
#include "nic_fw/fw.h"
#include "nic_fw/fw_pace.h"
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
	APP_MAX_SHARDS = CONF_MAX_NICS * CONF_MAX_SHARDS,
	APP_MAX_PENDING = 1024, /* commands of a shard that the firmware answers later */
	APP_MAX_BORROWED = 128, /* frames of a shard under way whose payload is not copied */
	APP_PORT_FDS = 33,      /* descriptors of a port that can wake a core */
	APP_CACHE_LINE_BYTES = 64,
	/* Processors fetch lines in pairs: a write disturbs no line that is this far away. */
	APP_APART_BYTES = 128,
};

/* Begins a part of a structure, on a line of its own. Takes no room itself. */
#define APP_PART(name)                                                                             \
	_Alignas(APP_APART_BYTES) struct {                                                         \
	} name

/* Counters of one shard's port, written by the shard's core. */
struct port_stats {
	uint64_t rx_frames;
	uint64_t rx_bytes;
	uint64_t tx_frames;
	uint64_t tx_bytes;
	uint64_t rx_linearised;
	uint64_t drop_rx_short;
	uint64_t drop_rx_segments;
	uint64_t drop_rx_ring_full; /* frames that this shard passed to one whose lane was full */
	uint64_t tx_no_mbuf;
	uint64_t tx_host_faults;
	uint64_t tx_host_busy; /* payload that could not be read in time */
	uint64_t tx_bad_frames;
	uint64_t tx_loop_frames;
	uint64_t drop_loop_full;
	uint64_t tx_borrowed; /* frames passed on with their payload in the process's memory */
	uint64_t tx_settled;  /* of those, copied after all because the memory was to be released */
	uint64_t placed_bytes;   /* long payload, copied into mapped memory of processes */
	uint64_t streamed_bytes; /* of those, past the caches: place.h */
	uint64_t host_reads;
	uint64_t host_writes;
	uint64_t host_atomics;
	uint64_t host_faults;
	struct hostcopy_stats host;
	uint64_t irqs;
	uint64_t irq_submits;
	uint64_t irqs_late;         /* of all shards of the core: irq.h */
	uint64_t wire_pauses;       /* a receiver's ring was full: frames for it wait */
	uint64_t drop_wire_full;    /* dropped because too many frames waited for it */
	uint64_t drop_wire_stuck;   /* dropped because it accepted none for SWITCH_HOLD_NS */
	uint64_t drop_wire_unknown; /* no NIC has the destination MAC address */
	uint64_t drop_wire_down;    /* no link */
	uint64_t rx_ring;           /* frames received from cores: through this shard's lanes */
	uint64_t rx_passed;         /* frames of other shards that this one has received */
	uint64_t echoes;            /* answered by the port itself: --port-echo */
	uint64_t tx_ring;           /* frames sent through a lane to the core that owns the port */
};

/* Counters of one core, written by the core. */
struct core_stats {
	uint64_t turns;
	uint64_t busy_turns;
	uint64_t busy_ns; /* of those turns */
	uint64_t yields;
	uint64_t yields_long; /* yields that gave the CPU away for longer than a wake-up takes */
	uint64_t sleeps;
	uint64_t wakes_doorbell;
	uint64_t wakes_frame;
	uint64_t wakes_message;
	uint64_t wakes_timer;
	uint64_t power_pauses;   /* waits of the processor between two turns (power.c), */
	uint64_t power_monitors; /* and those that a frame could end */
	uint64_t calls;          /* runners that left the core to its poller */
	uint64_t runners;        /* threads on the CPUs of processes */
	uint64_t runners_rt;     /* of these, with a real-time priority */
	uint64_t shared;         /* 1: another thread runs on this CPU */
	uint64_t cpu;
	uint64_t role; /* enum conf_role */
	/* From the end of the sleep to the end of the first turn that did work. */
	uint64_t wake_serve_ns_last;
	uint64_t wake_serve_ns_max;
	/* From the process's doorbell (hw_bar_header.wake_ns) to the same point. */
	uint64_t wake_doorbell_ns_last;
	uint64_t wake_doorbell_ns_max;
};

/* A command that fw_cmd() left pending; its index is the tag passed to the firmware. */
struct shard_pending {
	struct msg *msg; /* NULL: unused */
};

struct shard {
	APP_PART(fixed); /* constant after the start; read by any core */
	struct nic *nic;
	struct core *core;
	uint32_t number; /* within the NIC; shards for collectives come last */
	uint32_t stream; /* within the weftd */
	struct fw_nic *fw;
	void *arena;
	size_t arena_bytes;
	uint32_t num_fw_stats;
	bool stages;           /* the firmware counts cycles per stage */
	bool faulty;           /* core: frames of the wire pass through impair: faults.c */
	struct impair *impair; /* core; NULL: it never had faults */
	struct switch_holds
	    *holds;             /* core: frames that wait for receivers; NULL: not on the switch */
	struct rte_ring *unmap; /* core to control: mappings that the firmware released */
	struct lanes in;        /* frames from other cores and from the switch */
	struct lanes loop;      /* frames to the NIC's own address, from the NIC's cores */

	APP_PART(of_core);
	const struct fw_ops *ops; /* of the firmware that runs fw; an upgrade changes it */
	struct line line;         /* of a card */
	uint32_t in_next;         /* lanes to look at first */
	uint32_t loop_next;
	struct load load;
	struct client *client[HW_MAX_CLIENTS];
	struct client *attaching; /* set while the firmware attaches it; otherwise NULL */
	struct shard_pending pending[APP_MAX_PENDING];
	/* By client number: the firmware is still freeing it. */
	struct msg *detaching[HW_MAX_CLIENTS];
	uint32_t num_pending;
	struct port_stats stats;
	struct random random;
	struct place place; /* the way of long payload into memory of processes */
	/* Frames of the firmware for which the wire had no room. */
	struct rte_mbuf *backlog[FW_BURST];
	uint32_t num_backlog;
	/* Frames under way with borrowed payload, one reference each: borrow.c. */
	struct rte_mbuf *borrowed[APP_MAX_BORROWED];
	uint32_t num_borrowed;
	/* Received frames that the turn before has left; the first rest_loop are the NIC's own. */
	struct rte_mbuf *rest[FW_BURST];
	uint32_t num_rest, rest_loop;
	bool link_up; /* last state reported to the firmware */

	APP_PART(seldom); /* written by the core once in a while, read by the control thread */
	_Atomic(uint32_t) load_permille;

	APP_PART(of_control);
	uint32_t num_mappings;  /* created and not yet unmapped */
	uint32_t num_processes; /* attached, without tools */
};

struct core {
	APP_PART(fixed);
	struct app *app;
	unsigned lcore; /* EAL's number */
	int cpu;
	enum conf_role role;  /* io or coll */
	bool crowded;         /* another core is a thread on the same CPU: always yields */
	bool polls;           /* it had shards at the start, and may get more */
	bool power_pauses;    /* power.c: the processor can wait with less power, */
	bool power_monitors;  /* and until a line changes, */
	uint64_t power_ticks; /* for so long */
	uint32_t number;
	struct shard *shard[APP_MAX_SHARDS];
	uint32_t num_shards;
	/* Wires whose port this core owns: their descriptors wake it, and it polls their links. */
	struct wire *wire[CONF_MAX_NICS];
	uint32_t num_wires;
	struct rte_ring *msgs; /* control to core */
	struct runner runner[RUNNER_MAX];
	uint32_t num_runners; /* at least 1 */

	APP_PART(of_core);
	uint64_t now_ns;
	struct turns turns;
	struct fw_pace pace;
	struct irq_batch irqs;
	struct core_stats stats;
	uint32_t work[APP_MAX_SHARDS]; /* of the turn, by place in shard[] */
	uint32_t all_work;             /* their sum */
	bool worked;                   /* the turn before had work of any kind */
	uint64_t load_ns;              /* begin of the load's period */
	uint64_t idle_since_ns;        /* 0: busy */
	uint64_t woke_ns;              /* end of the last sleep, until its first work is done */
	uint64_t rung_ns;              /* time of the doorbell that ended it; 0: unknown */
	uint64_t share_checked_ns;
	uint64_t share_until_ns;
	uint64_t met_ns;         /* when it last found that another thread had used its CPU */
	uint64_t looked_ns;      /* its last yield to look for one */
	uint64_t crowd_until_ns; /* until then it sleeps instead of yielding (idle.c), and */
	uint64_t crowd_sleeps;   /* until it has slept so often */
	uint64_t yield_turns;    /* its busy turns at its last long yield */
	uint64_t run_ns;         /* runners: time that is counted in window_busy_ns */
	uint64_t window_ns;      /* begin of the window in which it is counted */
	uint64_t window_busy_ns;
	uint64_t window_sleeps; /* its sleeps that are counted in it */
	uint64_t switches_seen;
	uint64_t links_checked_ns;
	bool asleep;            /* published to processes and to other cores */
	bool armed;             /* its ports announce frames */
	struct runner *watcher; /* while it is asleep: has the descriptors of the ports */
	uint64_t alarm_ns;      /* a runner's timer expires then; UINT64_MAX: none */
	_Atomic(bool) quit;

	/* Read by each core that passes frames to this one; written around a sleep. */
	APP_PART(of_wakers);
	_Atomic(uint32_t) sleeping;

	/* Written when a runner takes the core or gives it back. */
	APP_PART(of_runners);
	_Atomic(uint32_t) owner; /* runner.h */

	/* Written in each turn, read by the control thread while it waits. */
	APP_PART(of_quiesce);
	_Atomic(uint64_t) rounds; /* number of quiescent points passed */
};

struct nic {
	APP_PART(fixed);
	struct app *app;
	const struct conf_nic *conf;
	char name[16];
	uint32_t index;
	uint8_t mac[6];
	uint32_t mtu; /* bytes of the largest IPv4 packet that the port and its buffers take */
	uint32_t link_mbps;
	struct rte_mempool *pool;
	struct wire *wire;
	struct mac_table *macs; /* mac_filter.c: group addresses that its shards receive */
	uint32_t *cm_ports;     /* fw_port.cm_ports */
	uint64_t senders;       /* cores that send to it, a bit each */
	uint32_t num_shards;
	uint32_t num_coll; /* of num_shards, the last ones: reserved for collectives */
	/* Its MAC is one of the built-in switch: false while the NIC is made or removed. */
	bool on_switch;
	bool added; /* while weftd runs */

	/* Read by the shards in each turn; written when a link changes or a capture begins. */
	APP_PART(seldom);
	_Atomic(uint32_t) line_mbps; /* of a card whose link is up; 0: not known */
	_Atomic(uint32_t) link_up;
	_Atomic(struct capture *) capture;

	/*
	 * Time when the line to this NIC is free again; impair.c. With a limited rate the shards
	 * write it for each frame: they share the line that it stands for.
	 */
	APP_PART(of_line);
	_Atomic(uint64_t) line_busy_ns;

	APP_PART(of_control);
	/* Descriptors rejected because they were not the process's memory. */
	_Atomic(uint64_t) memory_refused;
	struct hw_fault fault;   /* in force */
	uint32_t ip_mtu;         /* the firmware's, mtu at most */
	uint32_t default_mtu;    /* where the configuration names none */
	bool link_reported_down; /* last link state that was logged */
	struct log_limit link_said;
	bool leaves;                     /* it is removed once no connection is left */
	uint64_t leave_ns;               /* time when that began */
	struct rte_mempool *switch_pool; /* its own on the switch, kept when it is removed */
	int lock_fd;
	int listen_fd;
	int card_fd;        /* keeps other weftds off a card; -1: none */
	bool card_physical; /* a card's DMA takes physical addresses */
	char socket_path[108];
	char lock_path[112];
	uint32_t next_shard; /* where the search for a process's shard begins */
	uint32_t next_coll;  /* likewise for processes with collectives */
	uint32_t num_clients;
	struct client_xrcd *xrcds; /* client_xrc.c */

	struct shard shard[CONF_MAX_SHARDS];
};

struct app {
	APP_PART(fixed);
	struct conf conf;
	uint32_t num_nics;                 /* slots in use; some may be empty */
	struct core *core[CONF_MAX_CORES]; /* cores with role io first, then coll */
	uint32_t num_cores;
	uint32_t num_io_cores;
	bool hugepages;
	bool all_cpus;         /* the operator has named no cores */
	uint8_t switch_id;     /* of the built-in switch, random; 0: not drawn yet */
	int run_fd;            /* the run directory; -1: none */
	int control_fd;        /* eventfd: wakes the control thread */
	struct rte_ring *done; /* core to control: finished messages */

	/* Written by the control thread and by cores that answer its messages. */
	APP_PART(of_messages);
	/* Set when it was woken and has not looked yet: no further wake-up is needed. */
	_Atomic bool control_notified;
	/* Messages in progress on cores: incremented by msg_send(), decremented on their return. */
	_Atomic uint32_t awaited;
	/* Set while the control thread polls done: cores need not wake it. */
	_Atomic bool control_looks;

	/*
	 * Slots: a NIC that was removed leaves its slot empty, and the next one takes it. Slots and
	 * num_nics change while all cores are parked (park.h).
	 */
	struct nic nic[CONF_MAX_NICS];
};

/* Returns the runner that doorbell i of a process wakes. Any thread. */
static inline struct runner *core_doorbell_runner(struct core *core, uint32_t i)
{
	return &core->runner[core->num_runners > 1 ? i + 1 : RUNNER_POLLER];
}

/* Returns true if this slot has a NIC. Control thread, once NICs are open. */
static inline bool app_has_nic(const struct app *app, uint32_t index)
{
	return index < app->num_nics && app->nic[index].wire;
}

/*
 * Allocates zeroed memory that shares no line with other memory; NULL: out of memory. free()
 * releases it.
 */
void *app_alloc_apart(size_t bytes);

/* Returns CLOCK_MONOTONIC in ns, the clock of fw_poll(), which processes can read too. */
uint64_t app_clock_ns(void);

/*
 * Makes another core check its rings (core_wake.c). Any thread; costs a system call if the core
 * sleeps.
 */
void core_wake(struct core *core);

/* Wakes the control thread. May be called from any thread and from a signal handler. */
void app_wake_control(struct app *app);

#endif /* WEFT_APP_H */
