/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The simulator's public face: many NICs in one process, a network between them, and time
 * that only moves when events say so.
 *
 *	struct sim *sim = sim_new(NULL, seed);
 *	struct sim_nic *a = sim_nic_new(sim), *b = sim_nic_new(sim);
 *	struct sim_proc *pa = sim_proc_new(a, "a"), *pb = sim_proc_new(b, "b");
 *	struct weft_context *ca = sim_open(pa), *cb = sim_open(pb);
 *	... create queue pairs and post with libweft ...
 *	sim_run_until(sim, done, &state, limit_ns);
 *	sim_free(sim);
 *
 * All that a run does follows from the seed and the calls made: the same program with the
 * same seed sends the same bytes at the same virtual nanosecond. One thread per struct sim;
 * there are no globals. Times are virtual nanoseconds, probabilities parts per million.
 *
 * Used by tests/sim and weft-sim (sim_main.c). README.md of this folder says which file does
 * what.
 */
#ifndef WEFT_SIM_H
#define WEFT_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nic_fw/fw.h"
#include "sim_harness/sim_prng.h"

struct sim;
struct sim_nic;
struct sim_proc;
struct weft_context;

enum {
	SIM_MAX_NICS = 4096,
	SIM_MAX_SHARDS = 8,
	SIM_MAX_FRAME_BYTES = 16384,
};

/*
 * One port of the switch, both directions. LogGP's words: latency L, gap per message g, gap
 * per byte G; its overhead o is sim_config.poll_* or sim_config.cost.
 */
struct sim_link {
	uint64_t latency_ns;      /* NIC to switch plus switch to NIC, half each */
	uint64_t jitter_ns;       /* up to this much more on the way in; keeps the order */
	uint64_t gap_ns;          /* least time between two frames */
	uint64_t gap_ps_per_byte; /* 10 Gb/s: 800 */
	uint32_t queue_bytes;     /* output queue of the switch towards this NIC; drop-tail */
	uint32_t ecn_bytes;       /* mark CE above this backlog; 0: never */
	/*
	 * The gap keeps the next frame away instead of delaying this one, and its bytes take time
	 * once, not on both lines: what LogGP says. Else store and forward, as switches do.
	 */
	bool cut_through;
	/* faults on the way from the switch to this NIC */
	uint32_t loss_ppm;
	uint32_t burst_ppm;    /* a burst of losses starts with this frame */
	uint32_t burst_frames; /* mean length of a burst, 1 ms at most */
	uint32_t dup_ppm;
	uint32_t reorder_ppm;
	uint64_t reorder_ns;  /* a reordered frame comes up to this much later */
	uint32_t forge_ppm;   /* a forged twin comes behind: bytes changed, CRC right */
	uint32_t corrupt_ppm; /* one to four bytes anywhere in the frame change */
};

/*
 * What a core's work costs, by kind: in a turn it reads frames, then carries out operations and
 * writes frames, each of which takes so long. All 0: the cost is sim_config.poll_work_ns alone.
 */
struct sim_cost {
	uint64_t rx_ns, tx_ns; /* for each frame, of any kind */
	uint64_t byte_ps;      /* and more for each of its bytes */
	uint64_t op_ns;        /* for each operation of a GOAL schedule that is started */
};

/* Poll cost and queues of every NIC; and the link that new NICs get. */
struct sim_config {
	struct sim_link link;
	struct sim_cost cost;
	uint32_t mtu;             /* IPv4 packet, bytes */
	uint32_t num_shards;      /* of each NIC */
	uint32_t poll_budget;     /* frames and requests of one fw_poll() */
	uint64_t poll_ns;         /* cost of a poll that finds nothing */
	uint64_t poll_work_ns;    /* and more per unit of work it reports */
	uint64_t poll_jitter_ns;  /* and up to this much at random */
	uint64_t doorbell_ns;     /* from the wake-up call to the poll */
	uint64_t loop_ns;         /* a frame to the NIC's own address */
	uint32_t rx_queue_frames; /* per shard; what comes beyond is dropped and counted */
	uint32_t tx_queue_frames; /* a NIC's own output queue: tx_burst takes fewer beyond it */
	uint32_t rx_split_ppm;    /* frames handed over in several segments, as mbuf chains come */
	uint64_t block_ns;        /* longest that a blocking call of a process runs the clock */
	bool cc_off;              /* RD without congestion control */
	bool arp_direct;          /* the switch hands ARP requests to whom they ask for alone */
	bool wrap_soon;           /* random numbers just below 2^32: PSNs wrap at once */
	bool tx_room;             /* the port says how many frames it takes; else some get lost */
	bool no_host_map;         /* memory of processes is never mapped: process_vm in effect */
	uint32_t host_busy_ppm;   /* accesses to it that answer "not now", as for a slow page */
};

/* The defaults: 25 Gb/s, 2 us, MTU 4096, 1 shard, no faults. */
void sim_config_default(struct sim_config *config);

/* A simulation. config NULL: the defaults. Returns NULL only when out of memory. */
struct sim *sim_new(const struct sim_config *config, uint64_t seed);

/* Closes what is open, frees everything. Contexts of sim_open() must be closed before. */
void sim_free(struct sim *sim);

/* Changes sim_config.host_busy_ppm from now on. */
void sim_host_busy(struct sim *sim, uint32_t ppm);

const struct sim_config *sim_get_config(const struct sim *sim);
uint64_t sim_seed(const struct sim *sim);
uint64_t sim_now_ns(const struct sim *sim);
uint64_t sim_events(const struct sim *sim); /* handled so far */

/* A stream of the run's randomness for the caller's own use. */
void sim_prng_for(const struct sim *sim, struct sim_prng *prng, enum sim_stream kind,
		  uint64_t index);

/* ---- time (sim.c) ------------------------------------------------------------------------- */

typedef void (*sim_fn)(struct sim *sim, void *ctx, uint64_t arg);

/* Calls fn at a virtual time; in the past means now. Same time: in order of the calls. */
void sim_at(struct sim *sim, uint64_t when_ns, sim_fn fn, void *ctx, uint64_t arg);

/* Handles the next event if it comes no later than limit_ns; false: none, now = limit_ns. */
bool sim_step(struct sim *sim, uint64_t limit_ns);

/* Runs until now + ns. */
void sim_run_for(struct sim *sim, uint64_t ns);

/*
 * Runs until pred(ctx) holds, which is looked at before the first event and after each one,
 * or for limit_ns. Returns whether pred holds.
 */
typedef bool (*sim_pred)(void *ctx);
bool sim_run_until(struct sim *sim, sim_pred pred, void *ctx, uint64_t limit_ns);

/* Runs until no event is left, at most limit_ns. Returns whether none is left. */
bool sim_run_idle(struct sim *sim, uint64_t limit_ns);

/* ---- NICs (sim_nic.c) --------------------------------------------------------------------- */

/* The next NIC: weft<i>, 10.77.<i/250>.<1 + i%250>, MAC 02:57:46:00:<i>. */
struct sim_nic *sim_nic_new(struct sim *sim);
/* The same with a link and an MTU of its own; link NULL, mtu 0: the simulation's. */
struct sim_nic *sim_nic_new_with(struct sim *sim, const struct sim_link *link, uint32_t mtu);

struct sim_nic *sim_nic_at(struct sim *sim, uint32_t i); /* NULL past the last */
uint32_t sim_nic_count(const struct sim *sim);
uint32_t sim_nic_index(const struct sim_nic *nic);
uint32_t sim_nic_ip(const struct sim_nic *nic); /* network byte order */
const uint8_t *sim_nic_mac(const struct sim_nic *nic);
struct sim *sim_nic_sim(const struct sim_nic *nic);
uint64_t sim_nic_clock_ns(const struct sim_nic *nic); /* the NIC's own clock, now */
struct sim_link *sim_nic_link(struct sim_nic *nic);   /* may be changed at any time */
struct fw_nic *sim_nic_fw(struct sim_nic *nic, uint32_t shard);

/* A counter of the firmware, all shards together. Asserts that there is one of that name. */
uint64_t sim_nic_stat(const struct sim_nic *nic, const char *name);
/* The sum of all counters whose names start with prefix. */
uint64_t sim_nic_stat_sum(const struct sim_nic *nic, const char *prefix);

/* What the harness itself counted. */
struct sim_nic_counts {
	uint64_t tx_frames, rx_frames, loop_frames;
	uint64_t drop_rx_queue;     /* the firmware did not keep up */
	uint64_t drop_switch_queue; /* drop-tail of the switch */
	uint64_t drop_fault, drop_partition, drop_dead;
	uint64_t to_nobody; /* sent to a station's MAC that no NIC has */
	uint64_t duplicated, reordered, corrupted, forged, ecn_marked;
	uint64_t polls, idle_polls, irqs, host_faults;
	uint64_t frames_held;  /* by the firmware, now */
	uint64_t maps, unmaps; /* of memory of processes */
};
const struct sim_nic_counts *sim_nic_counts(const struct sim_nic *nic);

/* Not polled any more, takes no frame, as if its power were cut; its processes stay. */
void sim_nic_kill(struct sim_nic *nic);
bool sim_nic_dead(const struct sim_nic *nic);
/*
 * Power cut and back: the firmware starts anew with other random numbers. All processes on
 * it are dead (their commands fail with EIO); new ones can be made.
 */
void sim_nic_restart(struct sim_nic *nic);
/* Not polled for so long: frames queue up, the clock jumps at the next poll. */
void sim_nic_pause(struct sim_nic *nic, uint64_t ns);
/* Its clock jumps ahead between two polls, while nothing else in the world takes time. */
void sim_nic_jump(struct sim_nic *nic, uint64_t ns);
/* Polls now, or as soon as the turn under way ends. */
void sim_nic_wake(struct sim_nic *nic);

/* ---- the network (sim_link.c, sim_faults.c) ----------------------------------------------- */

/* Puts a frame into a NIC's receive path now, as if the switch had delivered it. */
void sim_inject(struct sim_nic *nic, const void *frame, size_t bytes);

/*
 * Sees each frame that leaves a NIC, before the switch, and decides. It may change the bytes
 * in place. One per simulation; NULL takes it away.
 */
enum sim_verdict {
	SIM_PASS,
	SIM_DROP,
	SIM_TWICE,
};
typedef enum sim_verdict (*sim_filter)(void *ctx, struct sim_nic *from, uint8_t *frame,
				       size_t bytes);
void sim_set_filter(struct sim *sim, sim_filter fn, void *ctx);

/* The station that frames forged by the fault "forge" come from, where it is not who they name. */
extern const uint8_t sim_forger_mac[6];

/* One-way: frames from a do not reach b. */
void sim_block(struct sim_nic *a, struct sim_nic *b, bool blocked);
/* Two-way between all NICs whose bit in side (by index, first 64 NICs) differs. */
void sim_partition(struct sim *sim, uint64_t side);
void sim_heal(struct sim *sim);

/* Frames towards this NIC wait in the switch until it is unclogged; then all come at once. */
void sim_clog(struct sim_nic *nic, bool clogged);
/* Clogs NICs one after another, then frees them in random order, within duration_ns from now. */
void sim_swizzle(struct sim *sim, uint64_t duration_ns);

/*
 * Sets faults by a list: "loss,dup=2%,reorder,clog,kill", each with an optional =VALUE (per
 * cent, a decimal number; else a default), now and for NICs made later. sim_faults_help() has
 * the names. Returns 0, or -EINVAL with what is wrong in message.
 */
int sim_faults_parse(struct sim *sim, const char *list, char *message, size_t message_bytes);
/* Ends all faults, partitions and clogs. */
void sim_faults_off(struct sim *sim);

/*
 * The faults "kill" and "restart" do nothing but call this, from an event of its own, while
 * faults are on: who dies, and what is to be made of it, only the workload knows. NULL: nobody.
 */
enum sim_fault_event {
	SIM_FAULT_KILL,
	SIM_FAULT_RESTART,
};
typedef void (*sim_fault_fn)(void *ctx, enum sim_fault_event event, struct sim_nic *nic);
void sim_on_fault(struct sim *sim, sim_fault_fn fn, void *ctx);

/*
 * How long a process on the NIC's host waits that would wait for ns: many times as long where
 * the fault "slow" has made the host slow.
 */
uint64_t sim_slow_ns(const struct sim_nic *nic, uint64_t ns);

/* The names that sim_faults_parse() knows, with their meaning, one a line. */
const char *sim_faults_help(void);

/* ---- processes (sim_host.c, sim_mem.c) ---------------------------------------------------- */

/* A process on the NIC's host. It has no memory that the NIC can reach yet. */
struct sim_proc *sim_proc_new(struct sim_nic *nic, const char *name);

/*
 * Attaches it through libweft; NULL and errno. Closed with weft_close_device() as any context.
 * Blocking calls of libweft run the simulation until they are answered, or fail with EINTR
 * (commands: EIO) after sim_config.block_ns.
 */
struct weft_context *sim_open(struct sim_proc *proc);

/* SIGKILL: its QPs, memory and context are gone from the NIC's view. Its calls fail with EIO. */
void sim_proc_kill(struct sim_proc *proc);
bool sim_proc_dead(const struct sim_proc *proc);

struct sim_nic *sim_proc_nic(const struct sim_proc *proc);
/* Its BAR as the process maps it, for tests that scribble; NULL while it is not open. */
void *sim_proc_bar(const struct sim_proc *proc, uint64_t *bytes);
uint32_t sim_proc_client(const struct sim_proc *proc);
uint32_t sim_proc_shard(const struct sim_proc *proc);

/*
 * Memory of the process, zeroed, page-aligned, at an address that depends on the calls made
 * and not on the machine. mapped: registrations of it are mapped by the NIC; else it is
 * reached by host_read/host_write (process_vm). NULL: the address window is full.
 */
void *sim_mem_alloc(struct sim_proc *proc, size_t bytes, bool mapped);
/*
 * From now on its NIC reaches, unmapped, whatever memory this process registers: for layers
 * that allocate their own. What is not there is then a crash, not an error.
 */
void sim_proc_any_memory(struct sim_proc *proc);
/* Unmaps it in the process: host_read/host_write fail from now on. */
void sim_mem_free(struct sim_proc *proc, void *mem);

/* Called at each interrupt of the process's event queue eq. */
typedef void (*sim_irq_fn)(void *ctx, struct sim_proc *proc, uint32_t eq);
void sim_proc_on_irq(struct sim_proc *proc, sim_irq_fn fn, void *ctx);
/* Waiting for an event gives -EAGAIN at once, as with O_NONBLOCK. */
void sim_proc_set_nonblocking(struct sim_proc *proc, bool nonblocking);

/* ---- seeing (sim_pcap.c, sim_trace.c) ----------------------------------------------------- */

/* pcapng of every frame at every NIC with virtual time stamps; 0 or -errno. */
int sim_pcap_open(struct sim *sim, const char *path);
/* The firmware's trace events, one a line, into a file ("-": standard output); 0 or -errno. */
int sim_trace_open(struct sim *sim, const char *path);

/*
 * The digest of a run: every frame's bytes and time, every counter, and what the caller put
 * in. Same seed and same calls: same digest.
 */
void sim_digest_add(struct sim *sim, const void *data, size_t bytes);
uint64_t sim_digest(struct sim *sim);

#endif /* WEFT_SIM_H */
