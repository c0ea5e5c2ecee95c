/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections: commands and events of the NIC's connection manager.
 *
 * Events are queued in the NIC; an event-queue entry reports that some are pending, and CM_EVENT
 * fetches them one by one. Calls the channel for commands and weft_eq.c to wait. nic_fw/cm is the
 * NIC's side.
 */
#include <errno.h>
#include <string.h>

#include "host_driver/weft_cm.h"
#include "host_driver/weft_eq.h"

enum {
	CM_DRAIN_PERIOD = 8, /* empty checks for an event between two drains of the descriptor */
};

static int command(struct weft_context *context, struct hw_cmd *cmd, struct hw_cmd_resp *resp)
{
	struct weft_ctx *ctx = weft_ctx_of(context);

	if (weft_ctx_state(ctx) == WEFT_CTX_FORKED)
		return -EIO;
	return weft_ctx_command(ctx, cmd, -1, resp, NULL);
}

static int simple(struct weft_context *context, enum hw_cmd_op op, uint32_t ep)
{
	struct hw_cmd cmd = {.op = op, .u.cm.ep = ep};
	struct hw_cmd_resp resp;

	return command(context, &cmd, &resp);
}

static struct weft_channel_obj *channel_of(struct weft_comp_channel *channel)
{
	return weft_container_of(channel, struct weft_channel_obj, pub);
}

int weft_cm_create(struct weft_comp_channel *channel, uint32_t *ep)
{
	struct hw_cmd cmd = {.op = HW_CMD_CM_CREATE, .u.cm.eq = channel_of(channel)->eq.number};
	struct hw_cmd_resp resp;
	int rc = command(channel->context, &cmd, &resp);

	if (rc == 0)
		*ep = resp.u.handle;
	return rc;
}

int weft_cm_destroy(struct weft_context *context, uint32_t ep)
{
	return simple(context, HW_CMD_CM_DESTROY, ep);
}

int weft_cm_bind(struct weft_context *context, uint32_t ep, enum hw_cm_space space, uint16_t *port,
		 bool reuse)
{
	struct hw_cmd cmd = {
	    .op = HW_CMD_CM_BIND,
	    .u.cm = {.ep = ep, .space = space, .port = *port, .flags = reuse ? HW_CM_F_REUSE : 0}};
	struct hw_cmd_resp resp;
	int rc = command(context, &cmd, &resp);

	if (rc == 0)
		*port = (uint16_t)resp.u.handle;
	return rc;
}

static void put_llp(struct hw_cmd *cmd, const struct weft_cm_llp *llp)
{
	if (!llp)
		return;
	cmd->u.cm.transport = (uint16_t)llp->transport;
	cmd->u.cm.mpa = llp->mpa;
}

int weft_cm_listen(struct weft_context *context, uint32_t ep, uint32_t backlog,
		   const struct weft_cm_llp *llp)
{
	struct hw_cmd cmd = {.op = HW_CMD_CM_LISTEN, .u.cm = {.ep = ep, .arg = backlog}};
	struct hw_cmd_resp resp;

	put_llp(&cmd, llp);
	return command(context, &cmd, &resp);
}

int weft_cm_resolve(struct weft_context *context, uint32_t ep, uint32_t ip, uint32_t timeout_ms)
{
	struct hw_cmd cmd = {.op = HW_CMD_CM_RESOLVE,
			     .u.cm = {.ep = ep, .ip = ip, .arg = timeout_ms}};
	struct hw_cmd_resp resp;

	return command(context, &cmd, &resp);
}

/* Sends private data within the command if it fits, otherwise in preceding commands. */
static int put_data(struct weft_context *context, struct hw_cmd *cmd,
		    const struct weft_cm_data *data)
{
	uint32_t at = 0, left = data ? data->bytes : 0;

	if (left > HW_CM_MAX_DATA)
		return -EINVAL;
	cmd->u.cm.data_bytes = (uint16_t)left;
	if (left <= HW_CM_INLINE_BYTES) {
		if (left)
			memcpy(cmd->u.cm.data, data->data, left);
		return 0;
	}
	cmd->u.cm.flags |= HW_CM_F_STORED;
	while (left) {
		uint32_t n = left < HW_CM_CHUNK_BYTES ? left : HW_CM_CHUNK_BYTES;
		struct hw_cmd chunk = {.op = HW_CMD_CM_DATA,
				       .u.cm_data = {.ep = cmd->u.cm.ep,
						     .offset = (uint16_t)at,
						     .bytes = (uint16_t)n}};
		struct hw_cmd_resp resp;
		int rc;

		memcpy(chunk.u.cm_data.data, (const uint8_t *)data->data + at, n);
		rc = command(context, &chunk, &resp);
		if (rc < 0)
			return rc;
		at += n;
		left -= n;
	}
	return 0;
}

static int with_data(struct weft_context *context, struct hw_cmd *cmd,
		     const struct weft_cm_data *data)
{
	struct hw_cmd_resp resp;
	int rc = put_data(context, cmd, data);

	return rc < 0 ? rc : command(context, cmd, &resp);
}

int weft_cm_connect(struct weft_context *context, uint32_t ep, uint32_t ip, uint16_t port,
		    bool datagram, const struct weft_cm_llp *llp, const struct hw_cm_param *param,
		    const struct weft_cm_data *data)
{
	struct hw_cmd cmd = {.op = HW_CMD_CM_CONNECT,
			     .u.cm = {.ep = ep,
				      .ip = ip,
				      .port = port,
				      .flags = datagram ? HW_CM_F_DATAGRAM : 0,
				      .param = *param}};

	put_llp(&cmd, llp);
	return with_data(context, &cmd, data);
}

int weft_cm_accept(struct weft_context *context, uint32_t ep, const struct hw_cm_param *param,
		   const struct weft_cm_data *data)
{
	struct hw_cmd cmd = {.op = HW_CMD_CM_ACCEPT, .u.cm.ep = ep};

	if (param)
		cmd.u.cm.param = *param;
	return with_data(context, &cmd, data);
}

int weft_cm_reject(struct weft_context *context, uint32_t ep, enum hw_cm_reason reason,
		   const struct weft_cm_data *data)
{
	struct hw_cmd cmd = {.op = HW_CMD_CM_REJECT, .u.cm = {.ep = ep, .arg = reason}};

	return with_data(context, &cmd, data);
}

int weft_cm_disconnect(struct weft_context *context, uint32_t ep)
{
	return simple(context, HW_CMD_CM_DISCONNECT, ep);
}

int weft_cm_move(struct weft_comp_channel *channel, uint32_t ep)
{
	struct hw_cmd cmd = {.op = HW_CMD_CM_MOVE,
			     .u.cm = {.ep = ep, .eq = channel_of(channel)->eq.number}};
	struct hw_cmd_resp resp;

	return command(channel->context, &cmd, &resp);
}

/*
 * Returns true if the NIC may have an event. Drains the descriptor at every CM_DRAIN_PERIOD-th call
 * in any case.
 */
static bool is_due(struct weft_channel_obj *c)
{
	struct hw_eqe eqe;

	if (!weft_eq_peek(&c->eq) && !c->cm_due && ++c->cm_idle % CM_DRAIN_PERIOD)
		return false;
	while (weft_eq_take(&c->eq, &eqe))
		c->cm_due = true;
	return c->cm_due;
}

/*
 * Keeps the descriptor readable while events are pending in the NIC, not only while entries are,
 * and unreadable otherwise: a program that polls it may block in its next call. An answer that
 * reports no further event means that the next one raises an entry. The interrupt of the current
 * event, whose entry may already have been taken, has arrived by then.
 */
static int next_event(struct weft_comp_channel *channel, struct hw_resp_cm_event *event)
{
	struct weft_channel_obj *c = channel_of(channel);
	struct hw_cmd cmd = {.op = HW_CMD_CM_EVENT, .u.cm.eq = c->eq.number};
	struct hw_cmd_resp resp;
	struct hw_eqe eqe;
	int rc;

	if (!is_due(c))
		return -EAGAIN;
	rc = command(channel->context, &cmd, &resp);
	if (rc < 0)
		return rc;
	*event = resp.u.cm_event;
	if (event->data_bytes > HW_CM_EVENT_BYTES ||
	    event->rest_bytes > HW_CM_MAX_DATA - HW_CM_EVENT_BYTES)
		return -EPROTO;
	c->cm_idle = 0;
	c->cm_due = (event->type != HW_CM_EVENT_NONE && event->more) || weft_eq_take(&c->eq, &eqe);
	if (c->cm_due)
		weft_eq_signal(&c->eq);
	return event->type == HW_CM_EVENT_NONE ? -EAGAIN : 0;
}

int weft_cm_get_event(struct weft_comp_channel *channel, struct hw_resp_cm_event *event)
{
	struct weft_channel_obj *c = channel_of(channel);
	struct weft_ctx *ctx = weft_ctx_of(channel->context);
	int rc;

	weft_ctx_look(ctx, false);
	if (weft_ctx_state(ctx) != WEFT_CTX_LIVE)
		return -EIO;
	pthread_mutex_lock(&c->eq.lock);
	rc = next_event(channel, event);
	pthread_mutex_unlock(&c->eq.lock);
	return rc;
}

int weft_cm_get_data(struct weft_context *context, const struct hw_resp_cm_event *event, void *data)
{
	struct hw_cmd cmd = {.op = HW_CMD_CM_REST, .u.cm.ep = event->ep};
	uint8_t *dst = data;
	struct hw_cmd_resp resp;
	int rc;

	memcpy(dst, event->data, event->data_bytes);
	if (!event->rest_bytes)
		return event->data_bytes;
	rc = command(context, &cmd, &resp);
	if (rc < 0)
		return rc;
	/* The endpoint's number was reused meanwhile. */
	if (resp.u.cm_rest.bytes != event->rest_bytes)
		return -ENOENT;
	memcpy(dst + event->data_bytes, resp.u.cm_rest.data, resp.u.cm_rest.bytes);
	return event->data_bytes + (int)resp.u.cm_rest.bytes;
}

int weft_cm_wait(struct weft_comp_channel *channel)
{
	struct weft_ctx *ctx = weft_ctx_of(channel->context);

	if (weft_ctx_state(ctx) != WEFT_CTX_LIVE)
		return -EIO;
	return weft_eq_wait(ctx, &channel_of(channel)->eq);
}

void weft_cm_count_forged(struct weft_context *context)
{
	struct weft_ctx *ctx = weft_ctx_of(context);

	__atomic_fetch_add(&((struct hw_bar_header *)ctx->bar)->forged, 1, __ATOMIC_RELAXED);
}
