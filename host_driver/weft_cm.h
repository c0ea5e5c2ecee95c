/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections: interface to the NIC's connection manager, the layer below librdmacm.
 *
 * An endpoint is a number within its context, returned by CM_CREATE. Its events arrive on the
 * completion channel on which it was created, which should serve no other purpose. Conventions as
 * in weft.h: negative errno, every call from any thread. Not installed; librdmacm.so.1 calls it in
 * our libibverbs.so.1, the simulator's tests in libweft.a. shared_defs/hw_cm.h,
 * docs/connection-manager.md.
 */
#ifndef WEFT_CM_H
#define WEFT_CM_H

#include "host_driver/weft.h"
#include "shared_defs/hw_cm.h"

/*
 * Sets the interface that weftctl clients shows for devices that ibv_open_device() opens from now
 * on: sockets (host_driver/sockets) reach the NIC by verbs.
 */
WEFT_API void weft_dev_set_use(enum weft_use use);

/*
 * Private data; -EINVAL beyond these limits: HW_CM_MAX_RD_DATA bytes over datagrams; HW_CM_MAX_DATA
 * over TCP, four bytes less with MPA revision 2 (all cases except HW_MPA_REVISION_1 and requests of
 * a peer that uses revision 1).
 */
struct weft_cm_data {
	const void *data;
	uint32_t bytes;
};

/* Lower layer of a connection. NULL selects datagrams. */
struct weft_cm_llp {
	enum hw_cm_transport transport;
	uint16_t mpa; /* over TCP: HW_MPA_*; 0: the NIC's setting */
};

/*
 * Creates an endpoint. -ENOSPC: the device has none left; -EDQUOT: the process or its user has
 * reached its quota.
 */
WEFT_API WEFT_CHECK_RET int weft_cm_create(struct weft_comp_channel *channel, uint32_t *ep);
/* Destroys an endpoint. The peer is notified; the number may be reused at once. */
WEFT_API int weft_cm_destroy(struct weft_context *context, uint32_t ep);
/* Binds an endpoint. *port is in host byte order; 0: any free port. -EADDRINUSE, -EADDRNOTAVAIL. */
WEFT_API WEFT_CHECK_RET int weft_cm_bind(struct weft_context *context, uint32_t ep,
					 enum hw_cm_space space, uint16_t *port, bool reuse);
/*
 * Listens; may be repeated. -EADDRINUSE. backlog 0: the device's limit. An endpoint that listens
 * over TCP (-EOPNOTSUPP in spaces other than HW_CM_TCP) also accepts connections over datagrams.
 */
WEFT_API WEFT_CHECK_RET int weft_cm_listen(struct weft_context *context, uint32_t ep,
					   uint32_t backlog, const struct weft_cm_llp *llp);
/* Resolves ip (network byte order). HW_CM_EVENT_RESOLVED follows. */
WEFT_API WEFT_CHECK_RET int weft_cm_resolve(struct weft_context *context, uint32_t ep, uint32_t ip,
					    uint32_t timeout_ms);
/* Connects a bound endpoint. RESPONSE (datagram: ESTABLISHED), REJECTED or UNREACHABLE follows. */
WEFT_API WEFT_CHECK_RET int weft_cm_connect(struct weft_context *context, uint32_t ep, uint32_t ip,
					    uint16_t port, bool datagram,
					    const struct weft_cm_llp *llp,
					    const struct hw_cm_param *param,
					    const struct weft_cm_data *data);
/*
 * Accepts after REQUEST. After RESPONSE, with neither param nor data, it reports that the queue
 * pair is ready. Over TCP, -EINVAL unless the queue pair of param (of CONNECT, of ACCEPT) is in RTS
 * with WEFT_QP_TRANSPORT_TCP.
 */
WEFT_API WEFT_CHECK_RET int weft_cm_accept(struct weft_context *context, uint32_t ep,
					   const struct hw_cm_param *param,
					   const struct weft_cm_data *data);
WEFT_API WEFT_CHECK_RET int weft_cm_reject(struct weft_context *context, uint32_t ep,
					   enum hw_cm_reason reason,
					   const struct weft_cm_data *data);
/* Disconnects. DISCONNECTED follows; the queue pair is in ERR. */
WEFT_API WEFT_CHECK_RET int weft_cm_disconnect(struct weft_context *context, uint32_t ep);
/* Moves the endpoint's events to another channel of its context. */
WEFT_API WEFT_CHECK_RET int weft_cm_move(struct weft_comp_channel *channel, uint32_t ep);
/*
 * Takes the next event. Does not block: -EAGAIN, usually without a system call; -EIO: the NIC is
 * gone; -EPROTO: it answers with more private data than fit. channel->fd can be polled.
 */
WEFT_API WEFT_CHECK_RET int weft_cm_get_event(struct weft_comp_channel *channel,
					      struct hw_resp_cm_event *event);
/*
 * Copies all private data of a taken event to data (HW_CM_MAX_DATA bytes); returns their number.
 * Data beyond an event's size is fetched from the NIC, which keeps it until the endpoint is
 * established or has new data: -ENOENT afterwards, also on a second call; -EINVAL: the endpoint was
 * destroyed.
 */
WEFT_API WEFT_CHECK_RET int weft_cm_get_data(struct weft_context *context,
					     const struct hw_resp_cm_event *event, void *data);
/*
 * Counts a datagram dropped because it named a source address other than its own; `weftctl clients`
 * shows the count. Any thread.
 */
WEFT_API void weft_cm_count_forged(struct weft_context *context);
/* Waits until an event may be pending. Returns 0, -EINTR or -EIO. */
WEFT_API WEFT_CHECK_RET int weft_cm_wait(struct weft_comp_channel *channel);

#endif /* WEFT_CM_H */
