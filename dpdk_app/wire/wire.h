/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A wire: what the frames of one NIC go out to and come in from.
 *
 * Called by port_rx.c, port_tx.c, lcore.c and idle.c on the cores; made by nic.c. Two kinds
 * exist: the built-in switch (wire_switch.c), and a port (wire_ethdev.c): of DPDK, AF_XDP sockets
 * or a memif, which wire_netdev.c, wire_memif.c, wire_tap.c and wire_pci.c find or make.
 */
#ifndef WEFT_APP_WIRE_H
#define WEFT_APP_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "dpdk_app/app.h"

struct hw_stat;
struct gso;
struct memif;
struct xdp;
struct xsk;

struct wire_ops {
	/* Up to n frames for this shard. On the shard's core. */
	uint32_t (*rx)(struct shard *shard, struct rte_mbuf **frames, uint32_t n);
	/*
	 * Takes the first frames of the array, as many as there is room for, and owns what it
	 * took. On the shard's core.
	 */
	uint32_t (*tx)(struct shard *shard, struct rte_mbuf **frames, uint32_t n);
	/*
	 * Whether the station with this MAC takes frames as they are on this very core, so
	 * that their payload need not be copied; NULL: never. On the shard's core.
	 */
	bool (*near)(const struct shard *shard, const uint8_t *mac);
	/*
	 * Sends what the wire took and keeps until its receiver has room. Returns how many frames
	 * went; NULL: it keeps none. On the shard's core, once a turn.
	 */
	uint32_t (*flush)(struct shard *shard);
	/* Work for all shards: frames of other cores to send. On the owner's core. */
	uint32_t (*pump)(struct wire *wire);
	/* Something waits that no descriptor will announce. On the shard's core. */
	bool (*waiting)(const struct shard *shard);
	/* When a frame that waits becomes due; UINT64_MAX: never. On the shard's core. */
	uint64_t (*next_ns)(const struct shard *shard);
	/* Looks at the link, now and then. On the owner's core; NULL: it never changes. */
	bool (*link)(struct wire *wire);
	/* Counters of the wire itself, up to max. On the owner's core. */
	uint32_t (*stats)(const struct wire *wire, struct hw_stat *stats, uint32_t max);
	/*
	 * Some shard wants frames to this group from now on, or none does any more; ip: the IPv4
	 * group that is meant, 0: the MAC for any protocol. Lets more in when it has no room. Any
	 * core, one at a time. NULL: all groups come in.
	 */
	void (*group)(struct wire *wire, const uint8_t mac[6], uint32_t ip, bool in);
	/* See fw_port.tcp_port. Any core. NULL: there is nobody to ask. */
	int (*tcp_port)(struct wire *wire, uint16_t port, bool in);
	/* Frees the port. No core runs any more. */
	void (*close)(struct wire *wire);
};

struct wire {
	const struct wire_ops *ops;
	struct nic *nic;
	char how[96]; /* for the operator: "AF_XDP on eth1" */

	/* A port of DPDK: */
	uint16_t port;
	uint16_t num_rx_queues;
	uint16_t next_rx_queue;
	uint16_t num_tx_queues;
	struct rte_ring *tx_ring;         /* frames of shards on other cores; NULL: one shard */
	struct rte_mbuf *stuck[FW_BURST]; /* owner: from tx_ring, not yet sent */
	uint32_t num_stuck;
	char vdev[32];        /* to remove at the end; "": not a vdev */
	int ifindex;          /* the kernel's interface; 0: none */
	int fd[APP_PORT_FDS]; /* readable when frames wait */
	uint32_t num_fds;
	bool naps;           /* no such descriptors */
	bool trusted;        /* frames come from this weftd's memory, and their CRC32Cs are right */
	bool tx_csum;        /* the device puts the checksum of TCP in */
	bool partial_csum;   /* kernels send frames without it: csum_is_partial() */
	bool settled;        /* the link is up: the port may be used */
	uint64_t drop_down;  /* owner: frames of other cores dropped: no link */
	struct memif *memif; /* NULL: the port is none */
	struct xdp *xdp;     /* NULL: no program of ours */
	struct gso *gso;     /* runs of TCP segments go by it; NULL: one by one */
	struct xsk *xsk;     /* the port is AF_XDP sockets, none of DPDK's; NULL: it is DPDK's */
	/* A packet socket: groups are joined with it, and what XDP leaves to the kernel though */
	int group_fd;               /* the NIC wants it comes in by it; -1: none */
	bool group_rx;              /* such frames come in by group_fd */
	uint64_t group_looked_ns;   /* owner: when it was read last */
	bool filters;               /* the device filters group MACs */
	_Atomic(bool) macs_changed; /* for the owner: the device does not know them yet */
	int claim_fd;               /* keeps other weftds off the interface; -1: none */
	bool shared;                /* control: the NIC's address is the kernel's, too */
	_Atomic(bool) gone;         /* the interface is, for good */
};

/* Joins a NIC to the built-in switch. 0 or -errno. */
int wire_switch_open(struct nic *nic) __attribute__((warn_unused_result));

/* How a DPDK port is to be set up. */
struct wire_ethdev_conf {
	uint16_t rx_queues;
	uint16_t rx_descs;
	uint16_t tx_descs;
	bool set_mtu; /* tell the device the MTU; its PMD knows what to do with it */
};

/* Makes the virtual device and finds its port. 0 or -errno. */
int wire_vdev_make(struct wire *wire, const char *vdev, const char *args)
    __attribute__((warn_unused_result));
/* Makes the ring by which other cores send, where there are some. 0 or -errno. */
int wire_ethdev_ring(struct wire *wire) __attribute__((warn_unused_result));
/* Configures and starts wire->port, and makes that ring. 0 or -errno. */
int wire_ethdev_start(struct wire *wire, const struct wire_ethdev_conf *conf)
    __attribute__((warn_unused_result));
/* Counters of the port; wire_stats.c. */
uint32_t wire_ethdev_stats(const struct wire *wire, struct hw_stat *stat, uint32_t max);
/* Undoes both. */
void wire_ethdev_close(struct wire *wire);
extern const struct wire_ops wire_ethdev_ops;

/*
 * Descriptors of this process that are of the given socket domain (AF_XDP, AF_PACKET), or,
 * with domain 0, stand for path. DPDK's drivers do not hand theirs out. How many.
 */
uint32_t wire_find_fds(int domain, const char *path, int *fd, uint32_t max);

/*
 * Groups on a kernel's interface: the socket that joins them; 0 or -errno. Joins or leaves
 * one, any core. Copies of frames that the XDP program left to the kernel, on the owner's core.
 */
int wire_netdev_group_open(struct wire *wire) __attribute__((warn_unused_result));
void wire_netdev_group(struct wire *wire, const uint8_t mac[6], uint32_t ip, bool in);
uint32_t wire_netdev_copies(struct wire *wire, struct rte_mbuf **frames, uint32_t n);

/* Looks whether the NIC's address is the kernel's too. Control thread. */
void wire_netdev_addresses(struct wire *wire);

/* Each opens nic->conf's device as nic->wire and says so in wire->how. 0 or -errno. */
int wire_netdev_open(struct nic *nic) __attribute__((warn_unused_result));
int wire_memif_open(struct nic *nic) __attribute__((warn_unused_result));
/* The port's frames, as wire_ops has them. On the owner's core. */
uint32_t wire_memif_rx(struct wire *wire, struct rte_mbuf **frames, uint32_t n);
uint32_t wire_memif_tx(struct wire *wire, struct rte_mbuf **frames, uint32_t n);
bool wire_memif_waiting(const struct wire *wire);
/* Takes the connection that the control thread offers, or leaves the last one: whether it did. */
bool wire_memif_turn(struct wire *wire);
int wire_tap_open(struct nic *nic) __attribute__((warn_unused_result));
int wire_pci_open(struct nic *nic) __attribute__((warn_unused_result));

/*
 * The MTU and the MAC of the kernel's interface, asked before the pool is made; device
 * "eth1". 0 or -errno. max_xdp_mtu is the largest that AF_XDP carries.
 */
int wire_netdev_query(const char *device, uint32_t *mtu, uint8_t mac[6], int *ifindex);
enum {
	/* A chunk of AF_XDP's memory is a page; headrooms and mbuf headers are in it. */
	WIRE_XDP_MAX_MTU = 3072,
	/* Frames of AF_PACKET's ring, its headers included; buffers must be as large. */
	WIRE_PACKET_FRAME_SMALL = 3584, /* MTUs that AF_XDP could have carried */
	WIRE_PACKET_FRAME_LARGE = 10240,
};

/* An empty wire of the NIC, or NULL. */
struct wire *wire_new(struct nic *nic, const struct wire_ops *ops);

#endif /* WEFT_APP_WIRE_H */
