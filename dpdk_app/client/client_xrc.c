/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records which shard holds the XRC domain of a file.
 *
 * A domain belongs to a shard, like all objects, and a process has its shard before it names a
 * file. A process in another shard than the file's domain would get a separate domain there and
 * wait for messages that never arrive, so it gets an error instead (EXDEV). weftd therefore records
 * each opening of a file's domain from its command to its end. Control thread.
 */
#include <errno.h>
#include <stdlib.h>

#include "dpdk_app/client/client.h"
#include "dpdk_app/log.h"

#define PENDING UINT32_MAX /* handle of an opening that the shard has not answered yet */

struct client_xrcd {
	struct client_xrcd *next;
	const struct client *client;
	uint64_t dev, ino;
	uint32_t handle;
};

int client_xrcd_open(const struct client *c, const struct hw_cmd_open_xrcd *open)
{
	struct client_xrcd *xrcd;

	if (!(open->flags & HW_XRCD_F_FILE))
		return 0;
	for (xrcd = c->nic->xrcds; xrcd; xrcd = xrcd->next) {
		if (xrcd->dev != open->file_dev || xrcd->ino != open->file_ino ||
		    xrcd->client->shard == c->shard)
			continue;
		log_at(LOG_LEVEL_DEBUG, LOG_HERE, CLIENT_SUBJECT(c),
		       "process %d (%s) is in shard %u but opens the XRC domain of a file "
		       "that process %d (%s) has in shard %u: start both with WEFT_SHARD=%u",
		       (int)c->pid, c->name, c->shard->number, (int)xrcd->client->pid,
		       xrcd->client->name, xrcd->client->shard->number,
		       xrcd->client->shard->number);
		return EXDEV;
	}
	xrcd = malloc(sizeof(*xrcd));
	if (!xrcd)
		return ENOMEM;
	*xrcd = (struct client_xrcd){c->nic->xrcds, c, open->file_dev, open->file_ino, PENDING};
	c->nic->xrcds = xrcd;
	return 0;
}

/* All openings of this file that wait for an answer are equivalent. */
void client_xrcd_opened(const struct client *c, const struct hw_cmd_open_xrcd *open,
			const struct hw_cmd_resp *resp)
{
	struct client_xrcd **link;

	for (link = &c->nic->xrcds; *link; link = &(*link)->next) {
		struct client_xrcd *xrcd = *link;

		if (xrcd->client != c || xrcd->handle != PENDING || xrcd->dev != open->file_dev ||
		    xrcd->ino != open->file_ino)
			continue;
		if (!resp->status) {
			xrcd->handle = resp->u.handle;
			return;
		}
		*link = xrcd->next;
		free(xrcd);
		return;
	}
}

/* Ends the matching openings of a client; all of them if no handle is given. */
static void forget(const struct client *c, const uint32_t *handle)
{
	struct client_xrcd **link = &c->nic->xrcds;

	while (*link) {
		struct client_xrcd *xrcd = *link;

		if (xrcd->client == c && (!handle || xrcd->handle == *handle)) {
			*link = xrcd->next;
			free(xrcd);
		} else {
			link = &xrcd->next;
		}
	}
}

void client_xrcd_closed(const struct client *c, uint32_t handle)
{
	if (handle != PENDING)
		forget(c, &handle);
}

void client_xrcd_forget_all(const struct client *c)
{
	forget(c, NULL);
}
