/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A wire: destination and source of the frames of one NIC.
 *
 * port_rx.c, port_tx.c, lcore.c and idle.c call it on the cores; nic.c creates it. There are two
 * kinds: the built-in switch (wire_switch.c) and a port (wire_ethdev.c). A port belongs to DPDK,
 * AF_XDP sockets or a memif, opened by wire_netdev.c, wire_memif.c, wire_tap.c or wire_pci.c.
 */
#ifndef WEFT_APP_WIRE_H
#define WEFT_APP_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "dpdk_app/app.h"
#include "dpdk_app/lanes.h"

struct card;
struct hw_stat;
struct rte_eth_conf;
struct rte_eth_dev_info;
struct gso;
struct large;
struct memif;
struct tso;
struct xdp;
struct xsk;

struct wire_ops {
	/* Receives up to n frames for this shard. On the shard's core. */
	uint32_t (*rx)(struct shard *shard, struct rte_mbuf **frames, uint32_t n);
	/*
	 * Sends as many of the first frames as there is room for, and takes ownership of them. On
	 * the shard's core.
	 */
	uint32_t (*tx)(struct shard *shard, struct rte_mbuf **frames, uint32_t n);
	/*
	 * Returns true if the station with this MAC receives frames on this very core, so that
	 * their payload need not be copied; NULL: never. On the shard's core.
	 */
	bool (*near)(const struct shard *shard, const uint8_t *mac);
	/*
	 * Packets that a run to another station may have, FW_RUN_MAX at most (fw_port.tx_run): tx()
	 * takes such a frame (borrow.h). NULL: none. On the shard's core.
	 */
	uint32_t (*run)(const struct shard *shard, const uint8_t *mac);
	/*
	 * Sends frames that the wire has accepted and keeps until their receiver has room. Returns
	 * their number; NULL: it keeps none. On the shard's core, once per turn.
	 */
	uint32_t (*flush)(struct shard *shard);
	/* Does the work common to all shards: sends frames of other cores. On the owner's core. */
	uint32_t (*pump)(struct wire *wire);
	/* Returns true if frames wait that no descriptor will announce. On the shard's core. */
	bool (*waiting)(const struct shard *shard);
	/*
	 * Returns the time at which a waiting frame becomes due; UINT64_MAX: never. On the shard's
	 * core.
	 */
	uint64_t (*next_ns)(const struct shard *shard);
	/*
	 * Before the core sleeps: has the device signal wire->fd for the next frame. Returns false
	 * if frames have come. disarm() follows. On the shard's core; NULL: descriptors need no
	 * help.
	 */
	bool (*arm)(const struct shard *shard);
	void (*disarm)(const struct shard *shard);
	/* Checks the link periodically. On the owner's core; NULL: it never changes. */
	bool (*link)(struct wire *wire);
	/* Writes up to max counters of the wire itself. On the owner's core. */
	uint32_t (*stats)(const struct wire *wire, struct hw_stat *stats, uint32_t max);
	/*
	 * Notifies that the first shard has joined this group or the last one has left it; ip: the
	 * IPv4 group, 0: the MAC for any protocol. Accepts more groups if its filter is full. Any
	 * core, one at a time. NULL: all groups are received.
	 */
	void (*group)(struct wire *wire, const uint8_t mac[6], uint32_t ip, bool in);
	/* See fw_port.tcp_port. Any core. NULL: ports are not shared with the kernel. */
	int (*tcp_port)(struct wire *wire, uint16_t port, bool in);
	/* Frees the port. No core may run any more. */
	void (*close)(struct wire *wire);
};

struct wire {
	APP_PART(fixed); /* constant while the port is open; read by the cores of all shards */
	const struct wire_ops *ops;
	struct nic *nic;
	char how[96]; /* description for the operator: "AF_XDP on eth1" */

	/* A DPDK port: */
	uint16_t port;
	uint16_t num_rx_queues;
	uint16_t num_tx_queues;
	bool queue_each;                /* each shard has a queue of the port in both directions */
	uint16_t num_flows;             /* rules by which the device steers frames to them */
	struct lanes tx;                /* frames of shards on other cores; empty with queue_each */
	char vdev[32];                  /* to remove at the end; "": not a vdev */
	int ifindex;                    /* the kernel's interface; 0: none */
	int fd[APP_PORT_FDS];           /* readable when frames wait */
	uint8_t fd_shard[APP_PORT_FDS]; /* whose core it wakes */
	uint32_t num_fds;
	bool trusted;        /* frames come from this weftd's memory, with correct CRC32Cs */
	uint8_t switch_id;   /* the built-in switch's number; 0: frames cross a wire */
	bool tx_csum;        /* the device computes the TCP checksum */
	bool partial_csum;   /* kernels send frames without it: csum_is_partial() */
	struct card *card;   /* NULL: not a card */
	uint16_t vlan;       /* of a card's NIC (vlan.h); 0: its frames have no tag */
	bool vlan_inserts;   /* the card puts the tag into frames that are sent */
	struct tso *tso;     /* runs that a card divides (tso.h), */
	uint32_t tso_frames; /* of so many frames at most; 0: they go singly */
	struct memif *memif; /* NULL: not a memif */
	struct xdp *xdp;     /* NULL: no XDP program */
	struct gso *gso;     /* sends runs; NULL: frames are sent one by one */
	struct large
	    *large;      /* receives frames beyond the MTU with AF_PACKET; NULL: they are lost */
	struct xsk *xsk; /* AF_XDP sockets; NULL: a DPDK port */
	/*
	 * A packet socket that joins groups. It also receives the NIC's frames that the XDP
	 * program leaves to the kernel; -1: none.
	 */
	int group_fd;
	bool group_rx; /* group_fd receives such frames */
	bool filters;  /* the device filters group MACs */
	int claim_fd;  /* keeps other weftds off the interface; -1: none */

	/* Written when a link, a group or an address changes. */
	APP_PART(seldom);
	_Atomic(bool) naps;         /* there are no such descriptors, or they are not relied upon */
	_Atomic(bool) settled;      /* the link is up: the port may be used */
	_Atomic(bool) macs_changed; /* for the owner: the device's filter is outdated */
	_Atomic(bool) gone;         /* the interface was removed */
	bool shared;                /* control: the NIC's address is also the kernel's */

	APP_PART(of_owner);
	uint16_t next_rx_queue;
	uint32_t tx_next;                 /* lane of tx to look at first */
	struct rte_mbuf *stuck[FW_BURST]; /* from tx, not sent yet */
	uint32_t num_stuck;
	uint64_t drop_down;       /* frames of other cores dropped without a link */
	uint64_t group_looked_ns; /* time when group_fd was last read */
};

/* Connects a NIC to the built-in switch. Returns 0 or -errno. */
int wire_switch_open(struct nic *nic) __attribute__((warn_unused_result));

/* Configuration of a DPDK port. */
struct wire_ethdev_conf {
	uint16_t rx_queues;
	bool queue_each; /* a queue for each shard, in both directions, if the device has as many */
	bool rx_intr;    /* descriptors of the queues: rte_eth_dev_rx_intr_ctl_q_get_fd() */
	uint16_t rx_descs;
	uint16_t tx_descs;
	bool set_mtu; /* set the MTU of the device, which its PMD supports */
};

/* Creates the virtual device and finds its port. Returns 0 or -errno. */
int wire_vdev_make(struct wire *wire, const char *vdev, const char *args)
    __attribute__((warn_unused_result));
/* Creates the lanes through which other cores send, if there are any. Returns 0 or -errno. */
int wire_ethdev_lanes(struct wire *wire) __attribute__((warn_unused_result));
/* Configures and starts wire->port, and creates these lanes. Returns 0 or -errno. */
int wire_ethdev_start(struct wire *wire, const struct wire_ethdev_conf *conf)
    __attribute__((warn_unused_result));
/* Writes counters of the port; wire_stats.c. */
uint32_t wire_ethdev_stats(const struct wire *wire, struct hw_stat *stat, uint32_t max);
/*
 * Queues of a port for each shard; wire_queues.c. _plan() decides on them before the port is
 * configured, and requests RSS of it. _steer() gives the device rules that bring frames to the
 * queue of their shard; what it brings elsewhere is passed on. Both on the control thread.
 */
void wire_queues_plan(struct wire *wire, const struct rte_eth_dev_info *info,
		      struct rte_eth_conf *eth);
void wire_queues_steer(struct wire *wire);

/* Its close() undoes wire_vdev_make() and wire_ethdev_start(). */
extern const struct wire_ops wire_ethdev_ops;

/*
 * Groups on a kernel interface. _open() creates the socket that joins them and returns 0 or -errno.
 * _group() joins or leaves one, on any core. _copies() receives copies of frames that the XDP
 * program left to the kernel, on the owner's core.
 */
int wire_netdev_group_open(struct wire *wire) __attribute__((warn_unused_result));
void wire_netdev_group(struct wire *wire, const uint8_t mac[6], uint32_t ip, bool in);
uint32_t wire_netdev_copies(struct wire *wire, struct rte_mbuf **frames, uint32_t n);

/* Checks whether the NIC's address is also the kernel's. Control thread. */
void wire_netdev_addresses(struct wire *wire);
/* The NIC has another address (nic->conf->ip): its frames are taken. Control thread. */
void wire_netdev_readdress(struct wire *wire);
/* The same for frames that the kernel has, too. Returns 0 or -errno. */
int wire_netdev_group_readdress(struct wire *wire);

/* Each opens nic->conf's device as nic->wire and sets wire->how. Returns 0 or -errno. */
int wire_netdev_open(struct nic *nic) __attribute__((warn_unused_result));
int wire_memif_open(struct nic *nic) __attribute__((warn_unused_result));
/* Frames of the port, as in wire_ops. On the owner's core. */
uint32_t wire_memif_rx(struct wire *wire, struct rte_mbuf **frames, uint32_t n);
uint32_t wire_memif_tx(struct wire *wire, struct rte_mbuf **frames, uint32_t n);
bool wire_memif_waiting(const struct wire *wire);
/*
 * Adopts the connection that the control thread offers, or leaves the last one; returns true if it
 * did.
 */
bool wire_memif_turn(struct wire *wire);
int wire_tap_open(struct nic *nic) __attribute__((warn_unused_result));
int wire_pci_open(struct nic *nic) __attribute__((warn_unused_result));

/*
 * Queries MTU and MAC of the kernel interface ("eth1") before the pool is created. Returns 0 or
 * -errno.
 */
int wire_netdev_query(const char *device, uint32_t *mtu, uint8_t mac[6], int *ifindex);
/* Returns the interface's ETH_FLAG_* (linux/ethtool.h): offloads that are on. */
uint32_t wire_netdev_flags(const char *device);
enum {
	/* A chunk of AF_XDP's memory is a page; headroom and mbuf headers are part of it. */
	WIRE_XDP_MAX_MTU = 3072,
	/*
	 * Frame size of AF_PACKET's ring, including its headers; buffers must be at least as large.
	 */
	WIRE_PACKET_FRAME_SMALL = 3584, /* MTUs that AF_XDP could also carry */
	WIRE_PACKET_FRAME_LARGE = 10240,
};

/* Creates an empty wire of the NIC; NULL: out of memory. */
struct wire *wire_new(struct nic *nic, const struct wire_ops *ops);

#endif /* WEFT_APP_WIRE_H */
