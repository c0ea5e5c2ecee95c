/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The objects behind the pointers that librdmacm's callers hold.
 *
 * The stand-in has librdmacm's SONAME and symbol versions (tools/verbs_symbols.sh). Each object
 * begins with the public struct of <rdma/rdma_cma.h>. Called by programs through cm_*.c; calls
 * libibverbs' public functions, and for the connection manager of a NIC host_driver/weft_cm.h,
 * which our libibverbs.so.1 exports. Return values are those of rdma-core 44: -1 and errno.
 *
 * cm_lock guards which endpoint is whose, and each identifier's counts of events; it is not held
 * over commands to the NIC. A channel's lock guards its queue and its sources. A device's events
 * lock is held from the command that takes an event until its identifier is counted as told, and
 * over the end of an endpoint, whose number is another's at once: it comes before cm_lock.
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
	CM_SGID_INDEX = 1, /* the IPv4-mapped one */
	CM_HOP_LIMIT = 64,
	CM_PKEY = 0xffff,
	/* Of a connection's queue pair: 4.096 us * 2^19, 2.1 s, as Linux has it for RoCE. */
	CM_ACK_TIMEOUT = 19,
	CM_MIN_RNR_TIMER = 12,
	CM_RETRY_COUNT = 7,
	CM_EP_TIMEOUT_MS = 2000, /* of what rdma_create_ep() resolves */
};

struct cm_id;

/* A NIC, opened once and for good. */
struct cm_device {
	struct ibv_context *verbs;
	struct weft_context *weft;
	struct ibv_pd *pd;     /* of identifiers whose program brings none */
	struct ibv_xrcd *xrcd; /* likewise */
	uint32_t ip;           /* network byte order */
	uint32_t prefix;
	uint32_t mtu;
	uint8_t max_rd_atomic;
	bool is_ib;         /* shows itself as a RoCE device */
	bool has_tcp;       /* its streams' connections are MPA's, over TCP */
	bool is_dead;       /* its weftd is gone */
	struct cm_id **ids; /* HW_MAX_CM: by endpoint */
	pthread_mutex_t events;
};

/*
 * Where the events of a channel's identifiers on one NIC come from. It stays in its channel's list,
 * which threads walk without the lock, for as long as the channel lives.
 */
struct cm_source {
	struct cm_source *next;
	struct cm_device *dev;
	struct weft_comp_channel *comp;
	bool is_gone; /* its NIC is, and the channel no longer watches it; under the lock */
};

struct cm_event {
	struct rdma_cm_event pub;
	struct cm_event *next;
	struct cm_id *owner; /* whose count it is in: the listener of a request */
	struct cm_mcast *mcast;
	uint8_t data[HW_CM_EVENT_BYTES + 1];
};

struct cm_channel {
	struct rdma_event_channel pub; /* fd: an epoll set of the sources and local_fd */
	pthread_mutex_t lock;
	struct cm_source *sources;
	struct cm_event *first, **last; /* made here, not by a NIC */
	int local_fd;                   /* readable while there are such */
	bool local_told;                /* it is */
};

/* Progress of an identifier, as the kernel's rdma_cm has it. */
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

/* One endpoint; an identifier that is bound to no address has one on each NIC. */
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
	struct cm_device *dev; /* NULL: not bound to one */
	struct cm_leg *legs;
	int num_legs;
	enum cm_id_state state;
	bool sync;       /* calls wait for their event on a channel of its own */
	bool passive;    /* came by a request */
	bool reuse;      /* RDMA_OPTION_ID_REUSEADDR */
	bool any_port;   /* the library chose it, not the program */
	bool over_tcp;   /* its connection is */
	bool conn_error; /* the end of this connection was told already */
	bool removed;    /* DEVICE_REMOVAL was told */
	uint8_t tos;
	uint8_t ack_timeout;
	uint8_t responder_resources, initiator_depth;
	uint8_t retry_count; /* of the active end */
	struct hw_cm_param peer;
	uint32_t local_psn;
	struct ibv_pd *ep_pd;             /* of rdma_create_ep(), for requests */
	struct ibv_qp_init_attr *ep_attr; /* likewise */
	void *connect_data;               /* likewise, of rdma_addrinfo.ai_connect */
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

/* -1, with errno set. */
static inline int cm_error(int err)
{
	errno = err;
	return -1;
}

/* libweft's 0 or negative errno as librdmacm's 0 or -1. */
static inline int cm_result(int rc)
{
	return rc < 0 ? cm_error(-rc) : 0;
}

static inline bool cm_is_ud(const struct cm_id *id)
{
	return id->pub.qp_type == IBV_QPT_UD;
}

/* Whether connections that it asks for, or listens for, on that NIC are over TCP. */
static inline bool cm_is_tcp(const struct cm_id *id, const struct cm_device *dev)
{
	return dev->has_tcp && id->pub.ps == RDMA_PS_TCP && id->pub.qp_type == IBV_QPT_RC;
}

/* ---- cm_device.c */

/* The NICs there are; *count of them. They stay. NULL and errno: none can be opened. */
struct cm_device *const *cm_devices(int *count);
/* The one with this address (network byte order); NULL. */
struct cm_device *cm_device_by_ip(uint32_t ip);
/* The one that reaches it; NULL: there is none at all. */
struct cm_device *cm_device_towards(uint32_t ip);
/* A protection domain of the library's own, made when it is first wanted; NULL and errno. */
struct ibv_pd *cm_device_pd(struct cm_device *dev);
/* The same of an XRC domain. */
struct ibv_xrcd *cm_device_xrcd(struct cm_device *dev);
enum ibv_mtu cm_mtu(uint32_t bytes);

/* ---- cm_addr.c */

/* IPv4, or IPv6 where it is mapped or a wildcard. 0, or an errno. */
int cm_addr_get(const struct sockaddr *addr, uint32_t *ip, uint16_t *port);
void cm_addr_set(struct sockaddr *addr, uint32_t ip, uint16_t port);
void cm_addr_set_port(struct sockaddr *addr, uint16_t port);
uint16_t cm_addr_port(const struct sockaddr *addr);
void cm_gid(uint32_t ip, union ibv_gid *gid);
/* Where what an identifier sends goes. */
void cm_ah_attr(const struct cm_id *id, uint32_t ip, struct ibv_ah_attr *attr);

/* ---- cm_channel.c */

/* The source of a NIC's events on a channel, made when it is first wanted. NULL and errno. */
struct cm_source *cm_source_get(struct cm_channel *channel, struct cm_device *dev);
/* The channel is not readable by it any more. Under channel->lock. */
void cm_source_unwatch(const struct cm_channel *channel, const struct cm_source *source);
/* Queues an event made here. Takes it over. */
void cm_channel_put(struct cm_channel *channel, struct cm_event *event);
/* Drops those of an identifier, or moves them to another channel. */
void cm_channel_forget(struct cm_channel *channel, struct cm_id *id, struct cm_channel *to);

/* ---- cm_event.c */

/* An event for an identifier, not queued; NULL and errno. */
struct cm_event *cm_event_new(struct cm_id *id, enum rdma_cm_event_type type, int status);
/* Makes it and queues it. 0, or -1 and errno. */
int cm_event_local(struct cm_id *id, enum rdma_cm_event_type type, int status);
/* Gives back the event that a synchronous identifier holds. */
void cm_event_drop(struct cm_id *id);
/* Counts an event as given back. */
void cm_event_done(struct cm_id *id);

/* ---- cm_id.c */

/* An identifier on a channel. NULL and errno. */
struct cm_id *cm_id_new(struct cm_channel *channel, void *context, enum rdma_port_space ps,
			enum ibv_qp_type type);
/* For one that has neither endpoints nor events. */
void cm_id_free(struct cm_id *id);
/* Makes an endpoint on a NIC and takes it into the identifier. 0 or -1 and errno. */
int cm_leg_add(struct cm_id *id, struct cm_device *dev);
/* Takes over an endpoint that the NIC has made. */
int cm_leg_adopt(struct cm_id *id, struct cm_device *dev, uint32_t ep);
void cm_legs_drop(struct cm_id *id);
/* Lets go of all endpoints but that on one NIC. */
void cm_legs_keep(struct cm_id *id, struct cm_device *dev);
/* Binds the identifier to a NIC. 0 or -1 and errno. */
int cm_id_attach(struct cm_id *id, struct cm_device *dev);
/* A synchronous one waits for its event. 0 or -1 and errno. */
int cm_complete(struct cm_id *id);

/* ---- cm_qp.c */
int cm_qp_connect(struct cm_id *id);
void cm_qp_fail(struct cm_id *id);

/* ---- cm_mcast.c */
int cm_mcast_joined(struct cm_event *event);
void cm_mcast_leave_all(struct cm_id *id);

#endif /* WEFT_RDMACM_CM_H */
