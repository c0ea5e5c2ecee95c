/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Settings of interrupt moderation: checked, kept by vector, given to its event queues.
 *
 * A change applies at once, also to completions that wait. fw_coalesce() and fw_vector() serve
 * weftd itself; the commands are the same for processes. Calls moder.c.
 */
#include "nic_fw/fw_nic.h"

#define NS_PER_US UINT64_C(1000)

static_assert(HW_COALESCE_tx_frames_irq - HW_COALESCE_rx_usecs_irq == 3, "they are neighbours");

static const uint32_t highest[HW_COALESCE_NUM_PARAMS] = {
#define X(field, word, most) [HW_COALESCE_##field] = (most),
    HW_COALESCE_PARAMS(X)
#undef X
};

bool moder_check(const struct hw_coalesce *coalesce, uint32_t set)
{
	uint32_t i;

	if (set & ~HW_COALESCE_SET_ALL || coalesce->reserved)
		return false;
	for (i = 0; i < HW_COALESCE_NUM_PARAMS; i++)
		if (set & UINT32_C(1) << i && coalesce->param[i] > highest[i])
			return false;
	if (!(set & HW_COALESCE_SET_MODE))
		return true;
	if (coalesce->mode >= HW_COALESCE_MODES)
		return false;
	return coalesce->mode != HW_COALESCE_TARGET ||
	       (coalesce->target_ns >= HW_COALESCE_MIN_TARGET_NS &&
		coalesce->target_ns <= HW_COALESCE_MAX_TARGET_NS &&
		coalesce->target_percentile >= HW_COALESCE_MIN_PERCENTILE &&
		coalesce->target_percentile <= HW_COALESCE_MAX_PERCENTILE);
}

struct moder_limits moder_limits_of(uint32_t usecs, uint32_t frames)
{
	struct moder_limits limits = {usecs * NS_PER_US, frames};

	if (!usecs && !frames)
		return limits;
	if (!usecs)
		limits.ns = HW_COALESCE_BOUND_US * NS_PER_US;
	if (!frames)
		limits.frames = MODER_NEVER;
	return limits;
}

static uint32_t usecs_of(const struct moder_limits *limits)
{
	return limits->ns == UINT64_MAX ? 0 : (uint32_t)((limits->ns + NS_PER_US - 1) / NS_PER_US);
}

static uint32_t frames_of(const struct moder_limits *limits)
{
	return limits->frames == MODER_NEVER ? 0 : limits->frames;
}

void moder_chosen(struct fw_nic *nic, const struct fw_eq *eq, const struct moder_limits *rx,
		  const struct moder_limits *tx)
{
	struct hw_coalesce *now = &nic->host.vectors[eq->vector].now;

	now->param[HW_COALESCE_rx_usecs] = usecs_of(rx);
	now->param[HW_COALESCE_rx_frames] = frames_of(rx);
	now->param[HW_COALESCE_tx_usecs] = usecs_of(tx);
	now->param[HW_COALESCE_tx_frames] = frames_of(tx);
}

static void moder_cmd_apply(struct fw_nic *nic, struct fw_eq *eq)
{
	const struct hw_coalesce *c = &nic->host.vectors[eq->vector].coalesce;
	struct fw_moder *m = &eq->moder;
	const uint32_t *p = c->param;
	bool begin = m->mode != c->mode;

	m->mode = (uint8_t)c->mode;
	m->irq[MODER_RX] =
	    moder_limits_of(p[HW_COALESCE_rx_usecs_irq], p[HW_COALESCE_rx_frames_irq]);
	m->irq[MODER_TX] =
	    moder_limits_of(p[HW_COALESCE_tx_usecs_irq], p[HW_COALESCE_tx_frames_irq]);
	switch ((enum hw_coalesce_mode)c->mode) {
	case HW_COALESCE_FIXED:
		m->limits[MODER_RX] =
		    moder_limits_of(p[HW_COALESCE_rx_usecs], p[HW_COALESCE_rx_frames]);
		m->limits[MODER_TX] =
		    moder_limits_of(p[HW_COALESCE_tx_usecs], p[HW_COALESCE_tx_frames]);
		break;
	case HW_COALESCE_ADAPTIVE:
		if (begin)
			moder_adapt_begin(nic, eq);
		break;
	case HW_COALESCE_TARGET:
		if (begin)
			moder_target_begin(nic, eq);
		break;
	case HW_COALESCE_MODES:
		assert(false);
	}
	moder_look(nic, eq);
}

void moder_join(struct fw_nic *nic, struct fw_eq *eq, uint32_t vector)
{
	eq->vector = vector;
	nic->host.vectors[vector].event_queues++;
	eq->moder.mode = HW_COALESCE_MODES;
	moder_cmd_apply(nic, eq);
}

void moder_leave(struct fw_nic *nic, struct fw_eq *eq)
{
	struct moder_vector *vector = &nic->host.vectors[eq->vector];

	vector->event_queues--;
	vector->counter[HW_VECTOR_completions] += eq->moder.completions;
	eq->moder.completions = eq->moder.completions_reported = 0;
}

static void set_vector(struct fw_nic *nic, uint32_t number, uint32_t set,
		       const struct hw_coalesce *coalesce)
{
	struct moder_vector *vector = &nic->host.vectors[number];
	struct hw_coalesce *c = &vector->coalesce;
	uint32_t i;

	for (i = 0; i < HW_COALESCE_NUM_PARAMS; i++)
		if (set & UINT32_C(1) << i)
			c->param[i] = coalesce->param[i];
	if (set & HW_COALESCE_SET_MODE) {
		bool target = coalesce->mode == HW_COALESCE_TARGET;

		c->mode = coalesce->mode;
		c->target_percentile = target ? coalesce->target_percentile : 0;
		c->target_ns = target ? coalesce->target_ns : 0;
	}
	/* The choice of an engine stays until its next choice. */
	if (c->mode == HW_COALESCE_FIXED || set & HW_COALESCE_SET_MODE)
		vector->now = *c;
	else
		memcpy(&vector->now.param[HW_COALESCE_rx_usecs_irq],
		       &c->param[HW_COALESCE_rx_usecs_irq], 4 * sizeof(c->param[0]));
	for (i = 0; i < nic->host.eq_ids.high; i++) {
		struct fw_eq *eq = &nic->host.eqs[i];

		if (!eq->used || eq->vector != number)
			continue;
		/* The engine starts anew with its new bounds. */
		if (set & HW_COALESCE_SET_MODE)
			eq->moder.mode = HW_COALESCE_MODES;
		moder_cmd_apply(nic, eq);
	}
}

int fw_coalesce(struct fw_nic *nic, const struct hw_cmd_coalesce *cmd,
		struct hw_resp_coalesce *resp)
{
	bool all = cmd->vector == HW_COALESCE_ALL_VECTORS;
	uint32_t i;

	if ((!all && cmd->vector >= HW_NUM_VECTORS) || !moder_check(&cmd->coalesce, cmd->set))
		return FW_EINVAL;
	for (i = 0; cmd->set && i < HW_NUM_VECTORS; i++)
		if (all || i == cmd->vector)
			set_vector(nic, i, cmd->set, &cmd->coalesce);
	i = all ? 0 : cmd->vector;
	memset(resp, 0, sizeof(*resp));
	resp->coalesce = nic->host.vectors[i].coalesce;
	resp->now = nic->host.vectors[i].now;
	resp->num_vectors = HW_NUM_VECTORS;
	return 0;
}

int cmd_coalesce(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		 const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	(void)client;
	(void)aux;
	return fw_coalesce(nic, &cmd->u.coalesce, &resp->u.coalesce);
}

int cmd_vector(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
	       const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	(void)client;
	(void)aux;
	return fw_vector(nic, cmd->u.obj.handle, &resp->u.vector);
}
