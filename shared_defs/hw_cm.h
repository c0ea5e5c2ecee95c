/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The connection manager's host interface: endpoints, their commands and their events.
 *
 * An endpoint is one end of a connection, a listener, or unused. CM_CREATE creates it and selects
 * the event queue for its events. HW_EVENT_CM in that queue reports that CM_EVENT can return an
 * event; it is raised once until CM_EVENT has returned the last one. Private data that does not fit
 * a command is sent before it by CM_DATA; private data that does not fit an event is fetched after
 * it by CM_REST. nic_fw/cm and host_driver/weft_cm.c use this header. docs/connection-manager.md.
 */
#ifndef WEFT_HW_CM_H
#define WEFT_HW_CM_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

enum {
	HW_MAX_CM = 16384,          /* endpoints per shard */
	HW_CM_MAX_DATA = 512,       /* private data, each way; revision 2 of MPA leaves less */
	HW_CM_MAX_RD_DATA = 255,    /* private data over datagrams, as in rdma_cm */
	HW_CM_MAX_BACKLOG = 1024,   /* requests queued for a listener's process */
	HW_CM_EPHEMERAL = 32768,    /* first port of the automatic range */
	HW_CM_EPHEMERAL_END = 61000 /* end of that range, exclusive */
};

/* The values of enum rdma_port_space. */
enum hw_cm_space {
	HW_CM_IPOIB = 0x0002,
	HW_CM_TCP = 0x0106,
	HW_CM_UDP = 0x0111,
	HW_CM_IB = 0x013f,
};

/* Lower layer of the connection and its handshake. */
enum hw_cm_transport {
	HW_CM_TRANSPORT_RD = 0,  /* handshake in datagrams; RC and UD QPs */
	HW_CM_TRANSPORT_TCP = 1, /* MPA over TCP; RC QPs, HW_CM_TCP only */
	HW_CM_TRANSPORTS
};

/*
 * MPA set-up options of a NIC (fw_config.mpa) or of one endpoint (hw_cmd_cm.mpa). 0: the default,
 * or the NIC's setting.
 */
enum {
	HW_MPA_GIVEN = 0x8000,      /* the other bits are valid */
	HW_MPA_CRC = 0x01,          /* request CRCs; CRCs requested by the peer are always sent */
	HW_MPA_CRC_REQUIRED = 0x02, /* and reject a peer that does not agree */
	HW_MPA_MARKERS = 0x04,      /* request markers in received data */
	HW_MPA_REVISION_1 = 0x08,   /* use RFC 5044 only */
	/*
	 * First frame of a peer-to-peer connection: the permitted kinds; none: client-server mode.
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
	HW_CM_F_DATAGRAM = 0x01, /* CONNECT: request a UD QP (SIDR) instead of a connection */
	/* BIND: share the port with others that set it, while none of them listens. */
	HW_CM_F_REUSE = 0x02,
	HW_CM_F_STORED = 0x04, /* the private data was sent by CM_DATA */
	HW_CM_F_SRQ = 0x08,    /* CONNECT, ACCEPT: the QP receives from an SRQ */
};

/* Reasons for a rejection: values of IBA 12.6.7.2, and one of weft. */
enum hw_cm_reason {
	HW_CM_REJ_NONE = 0,
	HW_CM_REJ_NO_RESOURCES = 3,
	HW_CM_REJ_TIMEOUT = 4,
	HW_CM_REJ_INVALID_ID = 6,  /* the endpoint that a message names does not exist */
	HW_CM_REJ_NO_LISTENER = 8, /* invalid service id */
	HW_CM_REJ_CONSUMER = 28,   /* the process rejected the request */
	HW_CM_REJ_VENDOR_OPTION = 35,
	HW_CM_REJ_REDIRECT = 0x8001, /* on the wire only: another shard listens */
};

/* QP parameters that the two ends exchange. */
struct hw_cm_param {
	uint32_t qpn;
	uint32_t psn; /* first PSN sent, 24 bits; in an event chosen by the NIC */
	uint32_t qkey;
	uint32_t mtu; /* bytes; 0: the NIC's MTU */
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
	HW_CM_EVENT_BYTES = 255, /* private data within an event */
};

/* Parameters of all commands on endpoints; unused fields are 0. */
struct hw_cmd_cm {
	uint32_t ep;              /* all commands except CREATE and EVENT */
	uint32_t eq;              /* CREATE, MOVE, EVENT: event queue */
	uint32_t flags;           /* HW_CM_F_* */
	uint32_t space;           /* BIND, CONNECT: hw_cm_space */
	uint32_t ip;              /* RESOLVE, CONNECT: the peer's address, network byte order */
	uint16_t port;            /* BIND: port or 0; CONNECT: the peer's port; host byte order */
	uint16_t transport;       /* LISTEN, CONNECT: hw_cm_transport */
	uint32_t arg;             /* LISTEN: backlog; RESOLVE: ms; REJECT: hw_cm_reason */
	uint16_t data_bytes;      /* CONNECT, ACCEPT, REJECT: length of the private data */
	uint16_t mpa;             /* LISTEN, CONNECT over TCP: HW_MPA_* */
	struct hw_cm_param param; /* CONNECT, ACCEPT: parameters of the local QP */
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
	HW_CM_EVENT_NONE = 0,     /* no event: the event queue will report the next one */
	HW_CM_EVENT_RESOLVED = 1, /* status 0, or an errno */
	HW_CM_EVENT_REQUEST = 2,  /* ep is new; listener received the request */
	/* The request was accepted; ACCEPT then reports that the QP is ready. */
	HW_CM_EVENT_RESPONSE = 3,
	HW_CM_EVENT_REJECTED = 4,    /* status: hw_cm_reason */
	HW_CM_EVENT_UNREACHABLE = 5, /* status: an errno */
	HW_CM_EVENT_ESTABLISHED = 6, /* for the accepting end; for datagrams: the QP was found */
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
	uint32_t more;      /* 1: more events are pending */
	uint32_t peer_ip;   /* network byte order */
	uint16_t peer_port; /* host byte order */
	uint16_t local_port;
	uint32_t local_psn; /* required start PSN of the local QP */
	uint16_t data_bytes;
	uint16_t transport; /* hw_cm_transport */
	uint32_t space;
	struct hw_cm_param param; /* the peer's; REQUEST, RESPONSE, ESTABLISHED for datagrams */
	uint8_t data[HW_CM_EVENT_BYTES + 1];
	uint32_t rest_bytes; /* length of the remainder, available through CM_REST */
};
static_assert(sizeof(struct hw_resp_cm_event) == 324, "");
static_assert(offsetof(struct hw_resp_cm_event, param) == 40, "");
static_assert(offsetof(struct hw_resp_cm_event, data) == 64, "");
static_assert(offsetof(struct hw_resp_cm_event, rest_bytes) == 320, "");

/*
 * Answer to CM_REST: the remaining private data of the endpoint's event. It is returned once, until
 * the endpoint is established or has new data.
 */
struct hw_resp_cm_rest {
	uint32_t bytes;
	uint8_t data[HW_CM_MAX_DATA - HW_CM_EVENT_BYTES + 3];
};
static_assert(sizeof(struct hw_resp_cm_rest) == 264, "");

#endif /* WEFT_HW_CM_H */
