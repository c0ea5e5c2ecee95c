/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The connection manager as a process sees it: endpoints, their commands and their events.
 *
 * An endpoint is one end of a connection, a listener, or what will become either. CM_CREATE makes
 * one, its events go to one event queue of the process: HW_EVENT_CM there says that CM_EVENT has
 * something to give; the queue is told once until CM_EVENT has given the last one. Data that
 * does not fit a command is stored before it, by CM_DATA; what does not fit an event is fetched
 * behind it, by CM_REST. Included by hw_cmd.h; used by
 * nic_fw/cm*.c and host_driver/weft_cm.c. docs/connection-manager.md.
 */
#ifndef WEFT_HW_CM_H
#define WEFT_HW_CM_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

enum {
	HW_MAX_CM = 16384,          /* endpoints of a shard */
	HW_CM_MAX_DATA = 512,       /* bytes of private data, either way; over MPA, less what
				       revision 2 puts before it */
	HW_CM_MAX_RD_DATA = 255,    /* over datagrams, as rdma_cm has it */
	HW_CM_MAX_BACKLOG = 1024,   /* requests that wait for a listener's process */
	HW_CM_EPHEMERAL = 32768,    /* the first port that is given out unasked */
	HW_CM_EPHEMERAL_END = 61000 /* and the one behind the last */
};

/* The numbers of enum rdma_port_space. */
enum hw_cm_space {
	HW_CM_IPOIB = 0x0002,
	HW_CM_TCP = 0x0106,
	HW_CM_UDP = 0x0111,
	HW_CM_IB = 0x013f,
};

/* What carries the connection and its handshake. */
enum hw_cm_transport {
	HW_CM_TRANSPORT_RD = 0,  /* handshake in datagrams; RC and UD QPs */
	HW_CM_TRANSPORT_TCP = 1, /* MPA over TCP; RC QPs, HW_CM_TCP alone */
	HW_CM_TRANSPORTS
};

/*
 * How an end sets MPA up: of a NIC (fw_config.mpa), or of one endpoint (hw_cmd_cm.mpa); 0: the
 * default, or as the NIC has it.
 */
enum {
	HW_MPA_GIVEN = 0x8000, /* the others mean something */
	HW_MPA_CRC = 0x01, /* asks for CRCs; those that the peer asks for are made in any case */
	HW_MPA_CRC_REQUIRED = 0x02, /* and refuses a peer that does not agree */
	HW_MPA_MARKERS = 0x04,      /* wants markers in what it receives */
	HW_MPA_REVISION_1 = 0x08,   /* speaks RFC 5044 alone */
	/* The first frame of a peer-to-peer connection: what may be used; none: client and server.
	 */
	HW_MPA_RTR_SHIFT = 4, /* of WIRE_MPA_RTR_* */
	HW_MPA_RTR_SEND = 0x10,
	HW_MPA_RTR_WRITE = 0x20,
	HW_MPA_RTR_READ = 0x40,
	HW_MPA_ALL = 0x807f,
	HW_MPA_DEFAULT = HW_MPA_GIVEN | HW_MPA_CRC | HW_MPA_RTR_WRITE | HW_MPA_RTR_READ,
};

/* hw_cmd_cm.flags */
enum {
	HW_CM_F_DATAGRAM = 0x01, /* CONNECT: asks for a UD QP (SIDR), connects nothing */
	HW_CM_F_REUSE = 0x02,    /* BIND: with others that say so, while none of them listens */
	HW_CM_F_STORED = 0x04,   /* the private data was given by CM_DATA */
	HW_CM_F_SRQ = 0x08,      /* CONNECT, ACCEPT: the QP receives from an SRQ */
};

/* Why a request is rejected: numbers of IBA 12.6.7.2, and one of ours. */
enum hw_cm_reason {
	HW_CM_REJ_NONE = 0,
	HW_CM_REJ_NO_RESOURCES = 3,
	HW_CM_REJ_TIMEOUT = 4,
	HW_CM_REJ_INVALID_ID = 6,  /* the endpoint that a message names is not there */
	HW_CM_REJ_NO_LISTENER = 8, /* invalid service id */
	HW_CM_REJ_CONSUMER = 28,   /* the process said no */
	HW_CM_REJ_VENDOR_OPTION = 35,
	HW_CM_REJ_REDIRECT = 0x8001, /* on the wire only: another shard listens */
};

/* What the two ends tell each other about a QP. */
struct hw_cm_param {
	uint32_t qpn;
	uint32_t psn; /* the first one that it sends, 24 bits; chosen by the NIC in an event */
	uint32_t qkey;
	uint32_t mtu; /* bytes; 0: the NIC's */
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t retry_count;
	uint8_t rnr_retry_count;
	uint8_t flow_control;
	uint8_t srq;
	uint8_t qp_type; /* hw_qp_type */
	uint8_t reserved;
};
static_assert(sizeof(struct hw_cm_param) == 24, "");

enum {
	HW_CM_INLINE_BYTES = 56,
	HW_CM_CHUNK_BYTES = 96,
	HW_CM_EVENT_BYTES = 255, /* of private data in an event */
};

/* One struct for all commands on endpoints; what a command does not name is 0. */
struct hw_cmd_cm {
	uint32_t ep;              /* all but CREATE and EVENT */
	uint32_t eq;              /* CREATE, MOVE, EVENT: the event queue */
	uint32_t flags;           /* HW_CM_F_* */
	uint32_t space;           /* BIND, CONNECT: hw_cm_space */
	uint32_t ip;              /* RESOLVE, CONNECT: the peer's, network byte order */
	uint16_t port;            /* BIND: 0, or the port; CONNECT: the peer's; host byte order */
	uint16_t transport;       /* LISTEN, CONNECT: hw_cm_transport */
	uint32_t arg;             /* LISTEN: backlog; RESOLVE: ms; REJECT: hw_cm_reason */
	uint16_t data_bytes;      /* CONNECT, ACCEPT, REJECT: of private data */
	uint16_t mpa;             /* LISTEN, CONNECT over TCP: HW_MPA_* */
	struct hw_cm_param param; /* CONNECT, ACCEPT: the local QP's */
	uint8_t data[HW_CM_INLINE_BYTES];
};
static_assert(sizeof(struct hw_cmd_cm) == 112, "");
static_assert(offsetof(struct hw_cmd_cm, param) == 32, "");

struct hw_cmd_cm_data {
	uint32_t ep;
	uint16_t offset;
	uint16_t bytes;
	uint8_t data[HW_CM_CHUNK_BYTES];
};
static_assert(sizeof(struct hw_cmd_cm_data) == 104, "");

enum hw_cm_event_type {
	HW_CM_EVENT_NONE = 0,     /* none waits: the event queue will tell of the next one */
	HW_CM_EVENT_RESOLVED = 1, /* status 0, or an errno */
	HW_CM_EVENT_REQUEST = 2,  /* ep is new, listener the one that was asked */
	HW_CM_EVENT_RESPONSE = 3, /* the request was accepted; ACCEPT says that the QP is ready */
	HW_CM_EVENT_REJECTED = 4, /* status: hw_cm_reason */
	HW_CM_EVENT_UNREACHABLE = 5, /* status: an errno */
	HW_CM_EVENT_ESTABLISHED = 6, /* of the accepting end; of datagrams: the QP was found */
	HW_CM_EVENT_DISCONNECTED = 7,
	HW_CM_EVENT_TIMEWAIT_EXIT = 8,
	HW_CM_EVENTS
};

/* Answer to CM_EVENT. */
struct hw_resp_cm_event {
	uint32_t type; /* hw_cm_event_type */
	uint32_t status;
	uint32_t ep;
	uint32_t listener;  /* REQUEST */
	uint32_t more;      /* 1: others wait */
	uint32_t peer_ip;   /* network byte order */
	uint16_t peer_port; /* host byte order */
	uint16_t local_port;
	uint32_t local_psn; /* that the local QP has to start with */
	uint16_t data_bytes;
	uint16_t transport; /* hw_cm_transport */
	uint32_t space;
	struct hw_cm_param param; /* the peer's; REQUEST, RESPONSE, ESTABLISHED of datagrams */
	uint8_t data[HW_CM_EVENT_BYTES + 1];
	uint32_t rest_bytes; /* that do not fit: CM_REST gives them */
};
static_assert(sizeof(struct hw_resp_cm_event) == 324, "");
static_assert(offsetof(struct hw_resp_cm_event, param) == 40, "");
static_assert(offsetof(struct hw_resp_cm_event, data) == 64, "");
static_assert(offsetof(struct hw_resp_cm_event, rest_bytes) == 320, "");

/*
 * Answer to CM_REST: the rest of the private data of the endpoint's event, once, until it is
 * established, or has new ones.
 */
struct hw_resp_cm_rest {
	uint32_t bytes;
	uint8_t data[HW_CM_MAX_DATA - HW_CM_EVENT_BYTES + 3];
};
static_assert(sizeof(struct hw_resp_cm_rest) == 264, "");

#endif /* WEFT_HW_CM_H */
