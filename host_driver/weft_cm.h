/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections, as the NIC's connection manager offers them: the layer beneath librdmacm.
 *
 * An endpoint is a number of its context, as CM_CREATE gave it; its events come by the completion
 * channel that it was made on, which is best kept for them alone. Conventions as in weft.h:
 * negative errno, every call from any thread. Not installed; librdmacm.so.1 calls it in our
 * libibverbs.so.1, the simulator's tests in libweft.a. shared_defs/hw_cm.h,
 * docs/connection-manager.md.
 */
#ifndef WEFT_CM_H
#define WEFT_CM_H

#include "host_driver/weft.h"
#include "shared_defs/hw_cm.h"

/*
 * Private data, else -EINVAL: over datagrams at most HW_CM_MAX_RD_DATA bytes; over TCP
 * HW_CM_MAX_DATA, four less where MPA's revision 2 is spoken (all but HW_MPA_REVISION_1, and
 * requests of a peer that does not).
 */
struct weft_cm_data {
	const void *data;
	uint32_t bytes;
};

/* What carries a connection. NULL where one is asked for: datagrams. */
struct weft_cm_llp {
	enum hw_cm_transport transport;
	uint16_t mpa; /* over TCP: HW_MPA_*; 0: as the NIC was told */
};

/* -ENOSPC: the device has no more; -EDQUOT: the process or its user may have no more. */
WEFT_API WEFT_CHECK_RET int weft_cm_create(struct weft_comp_channel *channel, uint32_t *ep);
/* The peer hears of it; the number is another's soon. */
WEFT_API int weft_cm_destroy(struct weft_context *context, uint32_t ep);
/* *port 0: any free one (host byte order). -EADDRINUSE, -EADDRNOTAVAIL. */
WEFT_API WEFT_CHECK_RET int weft_cm_bind(struct weft_context *context, uint32_t ep,
					 enum hw_cm_space space, uint16_t *port, bool reuse);
/*
 * -EADDRINUSE. backlog 0: the device's limit. May be repeated. One that listens for connections
 * over TCP (-EOPNOTSUPP in other spaces than HW_CM_TCP) takes those over datagrams as well.
 */
WEFT_API WEFT_CHECK_RET int weft_cm_listen(struct weft_context *context, uint32_t ep,
					   uint32_t backlog, const struct weft_cm_llp *llp);
/* HW_CM_EVENT_RESOLVED follows. ip: network byte order. */
WEFT_API WEFT_CHECK_RET int weft_cm_resolve(struct weft_context *context, uint32_t ep, uint32_t ip,
					    uint32_t timeout_ms);
/* Of a bound endpoint; RESPONSE (datagram: ESTABLISHED), REJECTED or UNREACHABLE follows. */
WEFT_API WEFT_CHECK_RET int weft_cm_connect(struct weft_context *context, uint32_t ep, uint32_t ip,
					    uint16_t port, bool datagram,
					    const struct weft_cm_llp *llp,
					    const struct hw_cm_param *param,
					    const struct weft_cm_data *data);
/*
 * After REQUEST; after RESPONSE with neither param nor data: the queue pair is ready. Over TCP it
 * is param's (of CONNECT, of ACCEPT), in RTS with WEFT_QP_TRANSPORT_TCP: else -EINVAL.
 */
WEFT_API WEFT_CHECK_RET int weft_cm_accept(struct weft_context *context, uint32_t ep,
					   const struct hw_cm_param *param,
					   const struct weft_cm_data *data);
WEFT_API WEFT_CHECK_RET int weft_cm_reject(struct weft_context *context, uint32_t ep,
					   enum hw_cm_reason reason,
					   const struct weft_cm_data *data);
/* DISCONNECTED follows; the queue pair is in ERR. */
WEFT_API WEFT_CHECK_RET int weft_cm_disconnect(struct weft_context *context, uint32_t ep);
/* Its events come by another channel of its context from now on. */
WEFT_API WEFT_CHECK_RET int weft_cm_move(struct weft_comp_channel *channel, uint32_t ep);
/*
 * The next event. Does not block: -EAGAIN, mostly without a system call; -EIO: the NIC is gone.
 * channel->fd polls.
 */
WEFT_API WEFT_CHECK_RET int weft_cm_get_event(struct weft_comp_channel *channel,
					      struct hw_resp_cm_event *event);
/*
 * All private data of an event that was taken: HW_CM_MAX_DATA bytes at data. Returns how many. What
 * an event cannot hold is fetched from the NIC, which keeps it until the endpoint is established,
 * or has new ones: -ENOENT (also the second time), -EINVAL: it was destroyed.
 */
WEFT_API WEFT_CHECK_RET int weft_cm_get_data(struct weft_context *context,
					     const struct hw_resp_cm_event *event, void *data);
/*
 * Counts a datagram that was dropped since it named another address than it came from: `weftctl
 * clients` shows how many. Any thread.
 */
WEFT_API void weft_cm_count_forged(struct weft_context *context);
/* Waits until there may be one. 0, -EINTR, -EIO. */
WEFT_API WEFT_CHECK_RET int weft_cm_wait(struct weft_comp_channel *channel);

#endif /* WEFT_CM_H */
