/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private objects of librdmacm's stand-in, behind the pointers that applications hold.
 *
 * The stand-in has librdmacm's SONAME and symbol versions (tools/verbs_symbols.sh). Each object
 * begins with the public struct of <rdma/rdma_cma.h>. The code calls libibverbs' public functions,
 * and host_driver/weft_cm.h for the connection manager of a NIC, which our libibverbs.so.1 exports.
 * Return values are those of rdma-core 44: -1 and errno.
 *
 * Locks: cm_lock protects the owner of each endpoint and the event counts of each identifier. It is
 * not held across commands to the NIC. A channel's lock protects its queue and its sources. A
 * device's events lock is held from the command that takes an event until the event is counted as
 * reported, and across the destruction of an endpoint, whose number may be reused at once. It is
 * taken before cm_lock.
 */
#ifndef WEFT_RDMACM_CM_H
#define WEFT_RDMACM_CM_H

#include <errno.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host_driver/weft_cancel.h"
#include "host_driver/weft_cm.h"

#define CM_API __attribute__((visibility("default")))

enum {
	CM_PORT_NUM = 1,
	CM_SGID_INDEX = 1, /* the IPv4-mapped GID */
	CM_HOP_LIMIT = 64,
	CM_PKEY = 0xffff,
	/*
	 * ACK timeout of a connection's queue pair: 4.096 us * 2^19 = 2.1 s, Linux's value for
	 * RoCE.
	 */
	CM_ACK_TIMEOUT = 19,
	CM_MIN_RNR_TIMER = 12,
	CM_RETRY_COUNT = 7,
	CM_EP_TIMEOUT_MS = 2000, /* limit of address resolution in rdma_create_ep() */
};

struct cm_id;

/* A NIC, opened once and never closed. */
struct cm_device {
	struct ibv_context *verbs;
	struct weft_context *weft;
	struct ibv_pd *pd;     /* for identifiers created without a PD */
	struct ibv_xrcd *xrcd; /* for identifiers created without an XRC domain */
	uint32_t ip;           /* network byte order */
	uint32_t prefix;
	uint32_t mtu;
	uint8_t max_rd_atomic;
	bool is_ib;         /* appears as a RoCE device */
	bool has_tcp;       /* its stream connections use MPA over TCP */
	bool is_dead;       /* its weftd is gone */
	struct cm_id **ids; /* HW_MAX_CM entries, indexed by endpoint */
	pthread_mutex_t events;
};

/*
 * Source of the events of a channel's identifiers on one NIC. It stays in its channel's list for
 * the lifetime of the channel, because threads walk the list without the lock.
 */
struct cm_source {
	struct cm_source *next;
	struct cm_device *dev;
	struct weft_comp_channel *comp;
	bool is_gone; /* its NIC is gone and the channel no longer watches it; under the lock */
};

struct cm_event {
	struct rdma_cm_event pub;
	struct cm_event *next;
	/* Identifier in whose count the event is; for a request, the listener. */
	struct cm_id *owner;
	struct cm_mcast *mcast;
	uint8_t data[HW_CM_EVENT_BYTES + 1];
};

struct cm_channel {
	struct rdma_event_channel pub; /* fd: an epoll set of the sources and local_fd */
	pthread_mutex_t lock;
	struct cm_source *sources;
	struct cm_event *first, **last; /* events made by the library, not by a NIC */
	int local_fd;                   /* readable while such events are queued */
	bool local_told;                /* local_fd is readable */
};

/* Progress of an identifier, as in the kernel's rdma_cm. */
enum cm_id_state {
	CM_ID_IDLE,
	CM_ID_BOUND,
	CM_ID_ADDR_QUERY,
	CM_ID_ADDR_RESOLVED,
	CM_ID_ROUTE_RESOLVED,
	CM_ID_CONNECT,
	CM_ID_DISCONNECT,
	CM_ID_LISTEN,
};

/* One endpoint. An identifier not bound to an address has one on each NIC. */
struct cm_leg {
	struct cm_device *dev;
	uint32_t ep;
};

struct cm_mcast {
	struct cm_mcast *next;
	struct sockaddr_storage addr;
	union ibv_gid mgid;
	void *context;
	bool attached;
	bool send_only;
};

struct cm_id {
	struct rdma_cm_id pub;
	struct cm_device *dev; /* NULL: not bound to a NIC */
	struct cm_leg *legs;
	int num_legs;
	enum cm_id_state state;
	bool sync;       /* synchronous: calls wait for their event on a private channel */
	bool passive;    /* created by a connection request */
	bool reuse;      /* RDMA_OPTION_ID_REUSEADDR */
	bool any_port;   /* the library chose the port */
	bool over_tcp;   /* its connection uses TCP */
	bool conn_error; /* the end of this connection was already reported */
	bool removed;    /* DEVICE_REMOVAL was reported */
	uint8_t tos;
	uint8_t ack_timeout;
	uint8_t responder_resources, initiator_depth;
	uint8_t retry_count; /* set by the active side */
	struct hw_cm_param peer;
	uint32_t local_psn;
	struct ibv_pd *ep_pd;             /* given to rdma_create_ep(), for requests */
	struct ibv_qp_init_attr *ep_attr; /* likewise */
	void *connect_data;               /* from rdma_addrinfo.ai_connect, likewise */
	size_t connect_bytes;
	struct cm_mcast *mcasts;
	uint32_t reported, acked; /* events; under cm_lock */
	pthread_cond_t all_acked;
};

extern pthread_mutex_t cm_lock;

static inline struct cm_id *cm_id_of(struct rdma_cm_id *id)
{
	return (struct cm_id *)id;
}

static inline struct cm_channel *cm_channel_of(struct rdma_event_channel *channel)
{
	return (struct cm_channel *)channel;
}

static inline struct cm_event *cm_event_of(struct rdma_cm_event *event)
{
	return (struct cm_event *)event;
}

/* Returns -1 with errno set. */
static inline int cm_error(int err)
{
	errno = err;
	return -1;
}

/* Converts libweft's 0 or negative errno to librdmacm's 0 or -1. */
static inline int cm_result(int rc)
{
	return rc < 0 ? cm_error(-rc) : 0;
}

static inline bool cm_is_ud(const struct cm_id *id)
{
	return id->pub.qp_type == IBV_QPT_UD;
}

/* Returns true if the identifier's connections on that NIC use TCP. */
static inline bool cm_is_tcp(const struct cm_id *id, const struct cm_device *dev)
{
	return dev->has_tcp && id->pub.ps == RDMA_PS_TCP && id->pub.qp_type == IBV_QPT_RC;
}

/* ---- cm_device.c */

/*
 * Returns the NICs present and stores their number. They stay open. NULL and errno: none can be
 * opened.
 */
struct cm_device *const *cm_devices(int *count);
/* Returns the NIC with this address (network byte order), or NULL. */
struct cm_device *cm_device_by_ip(uint32_t ip);
/* Returns the NIC with a route to ip; NULL: there is no NIC. */
struct cm_device *cm_device_towards(uint32_t ip);
/* Returns the library's own protection domain, created on first use; NULL and errno. */
struct ibv_pd *cm_device_pd(struct cm_device *dev);
/* Returns the library's own XRC domain, created on first use; NULL and errno. */
struct ibv_xrcd *cm_device_xrcd(struct cm_device *dev);
enum ibv_mtu cm_mtu(uint32_t bytes);

/* ---- cm_addr.c */

/*
 * Extracts an IPv4 address, also from an IPv4-mapped or wildcard IPv6 one. Returns 0 or an errno.
 */
int cm_addr_get(const struct sockaddr *addr, uint32_t *ip, uint16_t *port);
void cm_addr_set(struct sockaddr *addr, uint32_t ip, uint16_t port);
void cm_addr_set_port(struct sockaddr *addr, uint16_t port);
uint16_t cm_addr_port(const struct sockaddr *addr);
void cm_gid(uint32_t ip, union ibv_gid *gid);
/* Fills the address vector for packets of an identifier to ip. */
void cm_ah_attr(const struct cm_id *id, uint32_t ip, struct ibv_ah_attr *attr);

/* ---- cm_channel.c */

/* Returns the source of a NIC's events on a channel, created on first use; NULL and errno. */
struct cm_source *cm_source_get(struct cm_channel *channel, struct cm_device *dev);
/* Stops the channel from polling the source. Under channel->lock. */
void cm_source_unwatch(const struct cm_channel *channel, const struct cm_source *source);
/* Queues an event made by the library. Takes ownership. */
void cm_channel_put(struct cm_channel *channel, struct cm_event *event);
/* Drops the queued events of an identifier, or moves them to another channel. */
void cm_channel_forget(struct cm_channel *channel, struct cm_id *id, struct cm_channel *to);

/* ---- cm_event.c */

/* Allocates an event for an identifier without queueing it; NULL and errno. */
struct cm_event *cm_event_new(struct cm_id *id, enum rdma_cm_event_type type, int status);
/* Allocates and queues an event. Returns 0, or -1 and errno. */
int cm_event_local(struct cm_id *id, enum rdma_cm_event_type type, int status);
/* Acknowledges the event that a synchronous identifier holds. */
void cm_event_drop(struct cm_id *id);

/* ---- cm_id.c */

/* Creates an identifier on a channel. NULL and errno on failure. */
struct cm_id *cm_id_new(struct cm_channel *channel, void *context, enum rdma_port_space ps,
			enum ibv_qp_type type);
/* Frees an identifier that has neither endpoints nor events. */
void cm_id_free(struct cm_id *id);
/* Creates an endpoint on a NIC and adds it to the identifier. Returns 0, or -1 and errno. */
int cm_leg_add(struct cm_id *id, struct cm_device *dev);
/* Adds an endpoint that the NIC has created. */
int cm_leg_adopt(struct cm_id *id, struct cm_device *dev, uint32_t ep);
void cm_legs_drop(struct cm_id *id);
/* Destroys all endpoints except the one on dev. */
void cm_legs_keep(struct cm_id *id, struct cm_device *dev);
/* Binds the identifier to a NIC. Returns 0, or -1 and errno. */
int cm_id_attach(struct cm_id *id, struct cm_device *dev);
/* Waits for the event if the identifier is synchronous. Returns 0, or -1 and errno. */
int cm_complete(struct cm_id *id);

/* ---- cm_qp.c */
int cm_qp_connect(struct cm_id *id);
void cm_qp_fail(struct cm_id *id);

/* ---- cm_mcast.c */
int cm_mcast_joined(struct cm_event *event);
void cm_mcast_leave_all(struct cm_id *id);

#endif /* WEFT_RDMACM_CM_H */
