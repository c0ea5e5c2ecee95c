/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NICs and ports come and go; see plug.h.
 *
 * A NIC is removed in two steps. At once its name goes, and its processes get the fatal event that
 * the end of weftd gives; a moment later, when no connection is left and its firmware holds no
 * frame of the wire, its slot is emptied. The tool that sent the request may be connected to that
 * NIC.
 *
 * Calls nic_slot.c, client.c, control.c and the firmware by msg_call().
 */
#include "dpdk_app/control/plug.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "dpdk_app/args/args_port.h"
#include "dpdk_app/args/args_value.h"
#include "dpdk_app/client/client.h"
#include "dpdk_app/client/irq.h"
#include "dpdk_app/client/msg.h"
#include "dpdk_app/control/capture.h"
#include "dpdk_app/control/change.h"
#include "dpdk_app/control/control.h"
#include "dpdk_app/control/telemetry.h"
#include "dpdk_app/nic_slot.h"
#include "dpdk_app/wire/wire.h"

enum {
	PLUG_LOOK_MS = 10,
	PLUG_RETRY_US = 100, /* a core's ring is full: it drains while the core runs */
	PLUG_LINE_CHARS = 256,
	PLUG_WHY_CHARS = 240,
};

#define PLUG_TOOLS_NS UINT64_C(2000000000) /* that tools have to leave by themselves */

/* ---- to add */

static uint32_t count_nics(const struct app *app, bool added)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < app->num_nics; i++)
		n += app_has_nic(app, i) && !app->nic[i].leaves && (!added || app->nic[i].added);
	return n;
}

static const struct nic *nic_with_ip(const struct app *app, uint32_t ip)
{
	for (uint32_t i = 0; i < app->num_nics; i++) {
		if (app_has_nic(app, i) && app->nic[i].conf->ip == ip)
			return &app->nic[i];
	}
	return NULL;
}

static const struct nic *nic_with_port(const struct app *app, const struct conf_nic *conf)
{
	for (uint32_t i = 0; i < app->num_nics; i++) {
		if (app_has_nic(app, i) && app->nic[i].conf->wire == conf->wire &&
		    !strcmp(app->nic[i].conf->device, conf->device))
			return &app->nic[i];
	}
	return NULL;
}

/* The first address of the switch's subnet that no NIC has; 0: none. */
static uint32_t free_ip(const struct app *app)
{
	uint32_t host_bits = 32u - app->conf.subnet_prefix;
	uint32_t base = ntohl(app->conf.subnet) >> host_bits << host_bits;

	for (uint32_t i = 1; i <= CONF_MAX_NICS && i < (UINT32_C(1) << host_bits) - 1; i++) {
		if (!nic_with_ip(app, htonl(base + i)))
			return htonl(base + i);
	}
	return 0;
}

/* Returns 0, or an errno with the reason in why. */
static int refuse_add(const struct app *app, const struct conf_nic *conf, char why[PLUG_WHY_CHARS])
{
	const struct nic *other;

	if (conf->wire != CONF_WIRE_SWITCH && conf->wire != CONF_WIRE_NETDEV) {
		snprintf(why, PLUG_WHY_CHARS,
			 "cards, taps and memifs are opened when weftd starts: systemctl restart "
			 "weftd");
		return ENOTSUP;
	}
	if (conf->wire == CONF_WIRE_NETDEV && !app->conf.keep_port_rights) {
		snprintf(why, PLUG_WHY_CHARS,
			 "weftd has given up the rights to open an interface: start it with "
			 "--port-rights keep");
		return EPERM;
	}
	if (count_nics(app, true) >= app->conf.spare_nics || nic_slot_free(app) == CONF_MAX_NICS) {
		snprintf(why, PLUG_WHY_CHARS,
			 "there is no room for more: start weftd with a larger --spare-nics, %d "
			 "NICs at most",
			 CONF_MAX_NICS);
		return ENOSPC;
	}
	if (!conf->ip) {
		snprintf(why, PLUG_WHY_CHARS, "it has no address: say ip A.B.C.D/LEN");
		return EINVAL;
	}
	other = nic_with_ip(app, conf->ip);
	if (!other && conf->wire == CONF_WIRE_NETDEV)
		other = nic_with_port(app, conf);
	if (!other)
		return 0;
	snprintf(why, PLUG_WHY_CHARS, "%s has that %s", other->name,
		 other->conf->ip == conf->ip ? "address" : "port");
	return EADDRINUSE;
}

/* On the core: its processes are notified, as at the end of weftd. */
static void shut(struct shard *shard, void *arg)
{
	(void)arg;
	shard->ops->now(shard->fw, shard->core->now_ns);
	shard->ops->shutdown(shard->fw);
	shard->stats.irq_submits += irq_flush(&shard->core->irqs);
}

/* The first step of a removal; plug_serve() does the rest. */
static void take_away(struct nic *nic)
{
	(void)unlinkat(nic->app->run_fd, nic->name, 0);
	close(nic->listen_fd);
	nic->listen_fd = -1;
	nic->leaves = true;
	nic->leave_ns = app_clock_ns();
	for (uint32_t s = 0; s < nic->num_shards; s++) {
		while (msg_call(&nic->shard[s], shut, NULL))
			usleep(PLUG_RETRY_US);
	}
	client_doom_all(nic, false);
}

static int add(struct app *app, const struct conf_nic *conf, struct change_report *report)
{
	const char *device = conf->wire == CONF_WIRE_SWITCH ? "NIC" : conf->device;
	char why[PLUG_WHY_CHARS] = "", ip[INET_ADDRSTRLEN];
	uint32_t index = nic_slot_free(app);
	int err = refuse_add(app, conf, why);

	if (!err && !telemetry_pause()) {
		snprintf(why, sizeof(why), "a request of DPDK's telemetry is under way: again");
		err = EAGAIN;
	} else if (!err) {
		err = -nic_slot_fill(app, index, conf, why, sizeof(why));
		telemetry_resume();
	}
	if (!err) {
		err = -control_add_nic(&app->nic[index]);
		snprintf(why, sizeof(why), "its socket is not served: %s", strerror(err));
		if (err)
			take_away(&app->nic[index]);
	}
	if (err) {
		change_say(report, "%s: not added: %s", device, why);
		return err;
	}
	inet_ntop(AF_INET, &conf->ip, ip, sizeof(ip));
	change_say(report, "%s: added, %s/%u on %s", app->nic[index].name, ip, conf->ip_prefix,
		   app->nic[index].wire->how);
	return 0;
}

/* ---- to remove */

/* Returns 0, or an errno with the reason in why. */
static int refuse_remove(const struct nic *nic, bool force, char why[PLUG_WHY_CHARS])
{
	const struct client *c = client_blocking(nic);

	if (nic->conf->wire != CONF_WIRE_SWITCH && nic->conf->wire != CONF_WIRE_NETDEV) {
		snprintf(why, PLUG_WHY_CHARS,
			 "cards, taps and memifs are closed when weftd ends: systemctl restart "
			 "weftd");
		return ENOTSUP;
	}
	if (count_nics(nic->app, false) == 1) {
		snprintf(why, PLUG_WHY_CHARS, "it is the last NIC: systemctl stop weftd");
		return EBUSY;
	}
	if (!c || force)
		return 0;
	snprintf(why, PLUG_WHY_CHARS,
		 "process %d (%s) is attached: end it first, or say force, which gives it a fatal "
		 "event",
		 (int)c->pid, c->name);
	return EBUSY;
}

static int remove_nic(struct nic *nic, bool force, struct change_report *report)
{
	char why[PLUG_WHY_CHARS];
	int err = refuse_remove(nic, force, why);

	if (err) {
		change_say(report, "%s: not removed: %s", nic->name, why);
		return err;
	}
	take_away(nic);
	change_say(report, "%s: removed", nic->name);
	return 0;
}

/*
 * On the core: frames of the wire that wait in the firmware for others before them. Those of RD are
 * copied, and wait as long as their sender likes.
 */
static void count_held(struct shard *shard, void *arg)
{
	uint64_t *held = arg, value;
	const char *name;

	for (uint32_t i = 0; shard->ops->stat(shard->fw, i, &name, &value); i++) {
		if (!strcmp(name, "esp_held_used"))
			*held += value;
	}
}

static bool may_go(struct nic *nic)
{
	uint64_t held = 0;

	if (nic->num_clients)
		return false;
	for (uint32_t s = 0; s < nic->num_shards; s++) {
		client_drain_unmap(&nic->shard[s]);
		held += nic->shard[s].num_mappings;
		/* Its core has no room for a message now: later. */
		if (msg_call(&nic->shard[s], count_held, &held))
			return false;
	}
	return !held;
}

void plug_serve(struct app *app, uint64_t now_ns)
{
	for (uint32_t i = 0; i < app->num_nics; i++) {
		struct nic *nic = &app->nic[i];

		if (!nic->leaves)
			continue;
		if (now_ns - nic->leave_ns >= PLUG_TOOLS_NS)
			client_doom_all(nic, true);
		if (!may_go(nic) || !telemetry_pause())
			continue;
		capture_stop(nic);
		change_forget(nic);
		nic_slot_empty(nic);
		telemetry_resume();
	}
}

int plug_wait_ms(const struct app *app)
{
	for (uint32_t i = 0; i < app->num_nics; i++) {
		if (app->nic[i].leaves)
			return PLUG_LOOK_MS;
	}
	return -1;
}

/* ---- lines */

bool plug_handles(const char *line)
{
	size_t chars = strcspn(line, " \t=");

	return (chars == 3 && !strncmp(line, "nic", 3)) ||
	       (chars == 4 && !strncmp(line, "port", 4));
}

/* Takes "ip A.B.C.D/LEN" and "gw A.B.C.D" in any order. */
static bool take_addresses(char **rest, struct conf_nic *conf)
{
	const char *word;

	while ((word = strtok_r(NULL, " \t", rest)) != NULL) {
		const char *value = strtok_r(NULL, " \t", rest);

		if (value && !strcmp(word, "ip") &&
		    value_ip_prefix(value, &conf->ip, &conf->ip_prefix))
			continue;
		if (value && !strcmp(word, "gw") && value_ip(value, &conf->gateway))
			continue;
		return false;
	}
	return true;
}

static int wrong(const char *line, struct change_report *report)
{
	change_say(report,
		   "\"%.80s\": say nic = add [ip A.B.C.D/LEN] [gw A.B.C.D], port = add NETDEV ip "
		   "A.B.C.D/LEN [gw A.B.C.D], or nic = remove NIC [force]",
		   line);
	return EINVAL;
}

static int add_line(struct app *app, const char *line, bool port, char **rest,
		    struct change_report *report)
{
	struct conf_nic conf = {.wire = CONF_WIRE_SWITCH};
	char error[CONF_ERROR_CHARS] = "";
	const char *device = port ? strtok_r(NULL, " \t", rest) : "";

	if (!device)
		return wrong(line, report);
	if (port && !port_parse(&app->conf, device, &conf, error)) {
		change_say(report, "%s", error);
		return EINVAL;
	}
	if (!take_addresses(rest, &conf))
		return wrong(line, report);
	if (!port && !conf.ip) {
		conf.ip = free_ip(app);
		conf.ip_prefix = app->conf.subnet_prefix;
	}
	/* The name is that of the lowest free slot, whichever was removed before. */
	if (plug_wait_ms(app) >= 0) {
		change_say(report, "not added: another NIC is still being removed: again");
		return EAGAIN;
	}
	return add(app, &conf, report);
}

static int remove_line(struct app *app, const char *line, char **rest, struct change_report *report)
{
	const char *name = strtok_r(NULL, " \t", rest), *force = strtok_r(NULL, " \t", rest);

	if (!name || (force && strcmp(force, "force")) || strtok_r(NULL, " \t", rest))
		return wrong(line, report);
	for (uint32_t i = 0; i < app->num_nics; i++) {
		if (app_has_nic(app, i) && !app->nic[i].leaves && !strcmp(app->nic[i].name, name))
			return remove_nic(&app->nic[i], force, report);
	}
	change_say(report, "there is no NIC '%.40s'", name);
	return ENOENT;
}

int plug_line(struct app *app, const char *line, struct change_report *report)
{
	char copy[PLUG_LINE_CHARS], *rest;
	const char *object, *verb;

	snprintf(copy, sizeof(copy), "%s", line);
	object = strtok_r(copy, " \t=", &rest);
	verb = object ? strtok_r(NULL, " \t=", &rest) : NULL;
	if (verb && !strcmp(verb, "add"))
		return add_line(app, line, !strcmp(object, "port"), &rest, report);
	if (verb && !strcmp(verb, "remove"))
		return remove_line(app, line, &rest, report);
	return wrong(line, report);
}

/* ---- the configuration as a whole */

void plug_match(const struct conf *conf, uint32_t has, const struct conf *want,
		uint32_t slot[CONF_MAX_NICS])
{
	/* Ports, then addresses of the switch, then the rest of the switch in order. */
	for (uint32_t i = 0; i < want->num_nics; i++)
		slot[i] = PLUG_NEW;
	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < want->num_nics; i++) {
			const struct conf_nic *w = &want->nic[i];

			for (uint32_t s = 0; slot[i] == PLUG_NEW && s < CONF_MAX_NICS; s++) {
				const struct conf_nic *c = &conf->nic[s];

				if (!(has >> s & 1) || c->wire != w->wire ||
				    strcmp(c->device, w->device) != 0 ||
				    (!pass && w->wire == CONF_WIRE_SWITCH && c->ip != w->ip))
					continue;
				slot[i] = s;
				has &= ~(UINT32_C(1) << s);
			}
		}
	}
}

/* Removes what is not wanted. Returns the errno of the last one that stays. */
static int remove_rest(struct app *app, uint32_t rest, struct change_report *report)
{
	int err = 0;

	for (uint32_t s = 0; s < app->num_nics; s++) {
		int rc = rest >> s & 1 ? remove_nic(&app->nic[s], false, report) : 0;

		err = rc ? rc : err;
	}
	return err;
}

int plug_reload(struct app *app, struct conf *conf, struct change_report *report)
{
	static struct conf want;
	uint32_t slot[CONF_MAX_NICS], rest = 0;
	int err;

	for (uint32_t s = 0; s < app->num_nics; s++)
		rest |= (uint32_t)(app_has_nic(app, s) && !app->nic[s].leaves) << s;
	plug_match(&app->conf, rest, conf, slot);
	want = *conf;
	/* Slots without a wish stay as they are: what cannot be removed goes on. */
	memcpy(conf->nic, app->conf.nic, sizeof(conf->nic));
	for (uint32_t i = 0; i < want.num_nics; i++) {
		if (slot[i] == PLUG_NEW)
			continue;
		conf->nic[slot[i]] = want.nic[i];
		rest &= ~(UINT32_C(1) << slot[i]);
	}
	app->conf.mtu = conf->mtu;
	app->conf.subnet = conf->subnet;
	app->conf.subnet_prefix = conf->subnet_prefix;
	err = remove_rest(app, rest, report);
	for (uint32_t i = 0; i < want.num_nics; i++) {
		uint32_t s = nic_slot_free(app);
		int rc = slot[i] == PLUG_NEW ? add(app, &want.nic[i], report) : 0;

		if (slot[i] == PLUG_NEW && !rc)
			conf->nic[s] = want.nic[i];
		err = rc ? rc : err;
	}
	conf->num_nics = app->num_nics;
	return err;
}
