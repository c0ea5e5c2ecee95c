/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Address handles: destinations of UD and RD requests.
 *
 * weft_post.c stores the handle's number in requests. Calls the channel; nic_fw/host/ah.c is the
 * NIC's side.
 */
#include <errno.h>
#include <stdlib.h>

#include "host_driver/weft_priv.h"

struct weft_ah *weft_create_ah(struct weft_pd *pd, const struct weft_av *av)
{
	struct weft_ctx *ctx = weft_ctx_of(pd->context);
	struct hw_cmd cmd = {.op = HW_CMD_CREATE_AH};
	struct hw_cmd_resp resp;
	struct weft_ah_obj *ah;
	int rc;

	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return NULL;
	cmd.u.create_ah.pd = pd->handle;
	weft_av_to_hw(&cmd.u.create_ah.av, av);
	rc = weft_ctx_command(ctx, &cmd, -1, &resp, NULL);
	if (rc < 0) {
		free(ah);
		errno = -rc;
		return NULL;
	}
	ah->pub.context = pd->context;
	ah->pub.pd = pd;
	ah->pub.handle = resp.u.handle;
	pthread_mutex_lock(&ctx->lock);
	weft_link_add(&ctx->ah_list, &ah->node);
	pthread_mutex_unlock(&ctx->lock);
	return &ah->pub;
}

int weft_destroy_ah(struct weft_ah *pub)
{
	struct weft_ah_obj *ah = weft_container_of(pub, struct weft_ah_obj, pub);
	struct weft_ctx *ctx = weft_ctx_of(pub->context);
	int rc;

	if (weft_ctx_state(ctx) == WEFT_CTX_FORKED)
		return -EIO;
	rc = weft_ctx_command_obj(ctx, HW_CMD_DESTROY_AH, pub->handle);
	if (rc < 0 && rc != -EIO)
		return rc;
	pthread_mutex_lock(&ctx->lock);
	weft_link_del(&ah->node);
	pthread_mutex_unlock(&ctx->lock);
	free(ah);
	return 0;
}
