/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queries of tools: counters, lists of objects, captures; changes of weftd.
 *
 * Calls the channel. nic_fw/base/counters.c and nic_fw/up/cmd_query.c answer the first two; weftd
 * itself provides captures and makes changes.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host_driver/weft_priv.h"

int weft_stats(struct weft_context *context, uint32_t shard, uint32_t *cursor,
	       struct weft_stat *stats, uint32_t max)
{
	struct hw_cmd cmd = {.op = HW_CMD_STATS, .u.obj.shard = shard};
	const struct hw_resp_stats *r;
	struct hw_cmd_resp resp;
	uint32_t n = 0, i;
	int rc;

	while (n < max) {
		cmd.u.obj.cursor = *cursor;
		rc = weft_ctx_command(weft_ctx_of(context), &cmd, -1, &resp, NULL);
		if (rc < 0)
			return rc;
		r = &resp.u.stats;
		if (r->count == 0)
			break;
		if (r->count > HW_STATS_PER_RESP)
			return -EPROTO;
		for (i = 0; i < r->count && n < max; i++, n++) {
			memcpy(stats[n].name, r->stat[i].name, sizeof(stats[n].name));
			stats[n].name[sizeof(stats[n].name) - 1] = '\0';
			stats[n].value = r->stat[i].value;
		}
		/*
		 * The cursor is the number of a counter, so counters that did not fit are requested
		 * again.
		 */
		*cursor = i == r->count ? r->next : *cursor + i;
	}
	return (int)n;
}

static void fill_item(struct weft_list_item *item, const struct hw_list_item *hw)
{
	item->id = hw->id;
	item->client = hw->client;
	item->state = hw->state;
	item->type = hw->type;
	item->a = hw->a;
	item->b = hw->b;
	memcpy(item->mac, hw->mac, sizeof(item->mac));
	item->forged = hw->forged;
	/* Also hw->more, which is shorter. */
	_Static_assert(sizeof(item->more) < sizeof(item->name), "");
	memcpy(item->name, hw->name, sizeof(item->name));
	item->name[sizeof(item->name) - 1] = '\0';
}

int weft_list(struct weft_context *context, enum weft_list_kind kind, uint32_t shard,
	      uint32_t *cursor, struct weft_list_item *items, uint32_t max)
{
	struct hw_cmd cmd = {.op = HW_CMD_LIST};
	const struct hw_resp_list *r;
	struct hw_cmd_resp resp;
	uint32_t n = 0;
	int rc;

	/* An answer is used as a whole, because its cursor cannot address an item inside it. */
	_Static_assert(WEFT_LIST_MIN == HW_LIST_PER_RESP, "");
	if (max < WEFT_LIST_MIN)
		return -EINVAL;
	cmd.u.list.kind = (uint32_t)kind;
	cmd.u.list.shard = shard;
	while (n + HW_LIST_PER_RESP <= max) {
		cmd.u.list.cursor = *cursor;
		rc = weft_ctx_command(weft_ctx_of(context), &cmd, -1, &resp, NULL);
		if (rc < 0)
			return rc;
		r = &resp.u.list;
		if (r->count == 0)
			break;
		if (r->count > HW_LIST_PER_RESP)
			return -EPROTO;
		for (uint32_t i = 0; i < r->count; i++)
			fill_item(&items[n++], &r->item[i]);
		*cursor = r->next;
	}
	return (int)n;
}

int weft_capture(struct weft_context *context, int *fd)
{
	struct hw_cmd cmd = {.op = HW_CMD_CAPTURE};
	struct hw_cmd_resp resp;
	int fds[WEFT_CHAN_FDS];
	int rc;

	rc = weft_ctx_command(weft_ctx_of(context), &cmd, -1, &resp, fds);
	if (rc < 0)
		return rc;
	if (fds[0] < 0)
		return -EPROTO;
	*fd = fds[0];
	return 0;
}

/* Appends an answer's text. Returns its end, or -EPROTO. */
static int change_text(const struct hw_resp_change *r, char *text, size_t max, size_t at)
{
	if (r->bytes > sizeof(r->text))
		return -EPROTO;
	if (at + r->bytes + 1 > max)
		return -ENOSPC;
	memcpy(text + at, r->text, r->bytes);
	text[at + r->bytes] = '\0';
	return (int)(at + r->bytes);
}

int weft_change(struct weft_context *context, enum weft_change kind, const char *line, char *text,
		size_t max)
{
	struct hw_cmd cmd = {.op = HW_CMD_CHANGE, .u.change.kind = (uint32_t)kind};
	const struct hw_resp_change *r;
	struct hw_cmd_resp resp;
	int32_t outcome;
	int rc, end;

	if (strlen(line) >= sizeof(cmd.u.change.line) || !max)
		return -EINVAL;
	memcpy(cmd.u.change.line, line, strlen(line));
	text[0] = '\0';
	rc = weft_ctx_command(weft_ctx_of(context), &cmd, -1, &resp, NULL);
	if (rc < 0)
		return rc;
	r = &resp.u.change;
	outcome = r->outcome;
	end = change_text(r, text, max, 0);
	memset(&cmd.u.change, 0, sizeof(cmd.u.change));
	cmd.u.change.kind = HW_CHANGE_MORE;
	while (end >= 0 && r->bytes && (uint32_t)end < r->total) {
		cmd.u.change.cursor = (uint32_t)end;
		rc = weft_ctx_command(weft_ctx_of(context), &cmd, -1, &resp, NULL);
		if (rc < 0)
			return rc;
		end = change_text(r, text, max, (size_t)end);
	}
	if (end < 0)
		return end;
	return outcome > 0 ? outcome : 0;
}

int weft_upgrade(struct weft_context *context, int fd, bool check, struct weft_upgrade *upgrade)
{
	struct hw_cmd cmd = {.op = HW_CMD_UPGRADE,
			     .u.upgrade.flags = check ? HW_UPGRADE_F_CHECK : 0};
	struct hw_cmd_resp resp = {0};
	const struct hw_resp_upgrade *r = &resp.u.upgrade;
	int rc = weft_ctx_command(weft_ctx_of(context), &cmd, fd, &resp, NULL);

	*upgrade =
	    (struct weft_upgrade){.longest_ns = r->longest_ns, .pid = r->pid, .shards = r->shards};
	snprintf(upgrade->version, sizeof(upgrade->version), "%.31s", r->version);
	snprintf(upgrade->version_new, sizeof(upgrade->version_new), "%.31s", r->version_new);
	snprintf(upgrade->why, sizeof(upgrade->why), "%.95s", r->why);
	return rc;
}
