/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UPGRADE: the instances of all NICs go on with another firmware, between two of their turns.
 *
 * Everything that can fail is done first, while the cores go on: the image is loaded and its layout
 * compared. The change itself cannot fail: a core that has no room for a message yet gets it again.
 * Shards follow each other, so for a moment some run the new firmware and others still the old one,
 * as NICs of two machines may.
 *
 * Calls firmware.c and msg.c. Control thread. docs/upgrade.md.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "dpdk_app/client/client.h"
#include "dpdk_app/client/msg.h"
#include "dpdk_app/firmware.h"
#include "dpdk_app/log.h"

enum {
	UPGRADE_RETRY_US = 100, /* a core's ring is full: it drains while the core runs */
};

struct upgrade {
	const struct fw_image *image;
	uint64_t longest_ns;
	uint32_t shards;
};

/* On the core, between two turns: nothing of the firmware before is on a stack. */
static void change(struct shard *shard, void *arg)
{
	struct upgrade *upgrade = arg;
	uint64_t begin_ns = app_clock_ns(), ns;

	shard->ops = &upgrade->image->ops;
	shard->ops->adopt(shard->fw);
	ns = app_clock_ns() - begin_ns;
	if (ns > upgrade->longest_ns)
		upgrade->longest_ns = ns;
	upgrade->shards++;
}

static void change_all(struct app *app, struct upgrade *upgrade)
{
	for (uint32_t i = 0; i < app->num_nics; i++) {
		struct nic *nic = &app->nic[i];

		for (uint32_t s = 0; s < nic->num_shards; s++) {
			while (msg_call(&nic->shard[s], change, upgrade))
				usleep(UPGRADE_RETRY_US);
		}
	}
	firmware_set_current(upgrade->image);
}

/* Returns 0 or a positive errno. */
static int run(struct client *c, const struct hw_cmd *cmd, int fd, struct hw_resp_upgrade *r)
{
	const struct fw_image *own = firmware_current();
	struct upgrade upgrade = {NULL, 0, 0};
	const char *why = NULL;

	if (c->uid != 0 && c->uid != geteuid())
		return EPERM;
	if (cmd->u.upgrade.flags & ~(uint32_t)HW_UPGRADE_F_CHECK)
		return EINVAL;
	upgrade.image = firmware_load(fd, &why);
	r->pid = (uint32_t)getpid();
	memcpy(r->version, own->version, sizeof(r->version));
	if (!upgrade.image) {
		snprintf(r->why, sizeof(r->why), "%s", why);
		log_error("upgrade refused, nothing was changed: %s", why);
		return ENOEXEC;
	}
	memcpy(r->version_new, upgrade.image->version, sizeof(r->version_new));
	if (cmd->u.upgrade.flags & HW_UPGRADE_F_CHECK)
		return 0;
	change_all(c->nic->app, &upgrade);
	r->longest_ns = upgrade.longest_ns;
	r->shards = upgrade.shards;
	log_info("firmware %s goes on in place of %s, in %u shard%s", r->version_new, r->version,
		 r->shards, r->shards == 1 ? "" : "s");
	return 0;
}

void client_upgrade(struct client *c, const struct hw_cmd *cmd, int fd)
{
	struct hw_cmd_resp resp = {0};

	resp.status = run(c, cmd, fd, &resp.u.upgrade);
	client_answer(c, cmd->op, cmd->tag, &resp, NULL, 0);
}
