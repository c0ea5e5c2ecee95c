/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses and MTUs of NICs that no process is attached to: each shard gets a new instance of the
 * firmware in place of the old one, between two turns of its core; see renew.h and fw_renew().
 *
 * The port stays open, since weftd has given up the rights to open another: so the MTU is at most
 * the one that its buffers were made for. MAC addresses stay. Tools that are connected are attached
 * to the new instance. Calls the firmware by msg_call(), wire_netdev.c and client.c.
 */
#include "dpdk_app/control/renew.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dpdk_app/args/args_value.h"
#include "dpdk_app/client/client.h"
#include "dpdk_app/client/msg.h"
#include "dpdk_app/nic.h"
#include "dpdk_app/wire/wire.h"

enum {
	RENEW_WORD_CHARS = 64,
	RENEW_RETRY_US = 100, /* a core's ring is full: it drains while the core runs */
};

/* ---- one NIC */

struct renew_call {
	struct fw_net net;
	void *arena;
	int err;
};

/* Tools get the numbers that the new instance gives them. */
static void attach_tools(struct shard *shard)
{
	struct client *tool[HW_MAX_CLIENTS];
	uint32_t count = 0;

	for (uint32_t i = 0; i < HW_MAX_CLIENTS; i++) {
		if (shard->client[i])
			tool[count++] = shard->client[i];
		shard->client[i] = NULL;
	}
	for (uint32_t i = 0; i < count; i++) {
		struct fw_client_params params = client_params(tool[i]);
		struct hw_resp_attach resp;
		uint32_t number = 0;

		/* They fit, as they did before. */
		if (shard->ops->client_attach(shard->fw, &params, &number, &resp)) {
			atomic_store_explicit(&tool[i]->dead, true, memory_order_relaxed);
			continue;
		}
		shard->client[number] = tool[i];
		tool[i]->fw_client[shard->number] = number;
	}
}

/* On the core, between two turns. Leaves the arena that is not needed any more in call->arena. */
static void renew_shard(struct shard *shard, void *arg)
{
	struct renew_call *call = arg;
	struct fw_nic *heir;
	void *arena = call->arena;
	bool busy = shard->num_pending || shard->attaching;

	for (uint32_t i = 0; i < HW_MAX_CLIENTS; i++)
		busy |= shard->detaching[i] != NULL;
	shard->ops->now(shard->fw, shard->core->now_ns);
	heir = busy ? NULL : shard->ops->renew(shard->fw, &call->net, arena, shard->arena_bytes);
	call->err = heir ? 0 : EBUSY;
	if (!heir)
		return;
	call->arena = shard->arena;
	shard->arena = arena;
	shard->fw = heir;
	attach_tools(shard);
}

/* Returns 0 or a positive errno. */
static int renew_one(struct shard *shard, const struct fw_net *net)
{
	struct renew_call call = {.net = *net};

	call.arena = nic_arena(shard->nic, shard->arena_bytes);
	if (!call.arena)
		return ENOMEM;
	if (msg_call(shard, renew_shard, &call))
		call.err = EAGAIN;
	munmap(call.arena, shard->arena_bytes);
	return call.err;
}

struct renew_ip {
	uint32_t index, ip;
};

static void set_nic_ip(struct shard *shard, void *arg)
{
	const struct renew_ip *of = arg;

	shard->ops->set_nic_ip(shard->fw, of->index, of->ip);
}

/* Peers that are given by QPN alone. */
static void notify_others(struct nic *nic)
{
	struct app *app = nic->app;
	struct renew_ip of = {nic->index, nic->conf->ip};

	for (uint32_t i = 0; i < app->num_nics; i++) {
		for (uint32_t s = 0; i != nic->index && s < app->nic[i].num_shards; s++)
			while (msg_call(&app->nic[i].shard[s], set_nic_ip, &of))
				usleep(RENEW_RETRY_US);
	}
}

static struct fw_net net_of(const struct nic *nic)
{
	return (struct fw_net){.mtu = (uint16_t)nic->ip_mtu,
			       .ip = nic->conf->ip,
			       .ip_prefix = nic->conf->ip_prefix,
			       .gateway = nic->conf->gateway};
}

/* All shards or none: no process can attach meanwhile, since this thread would have to admit it. */
static int renew_all(struct nic *nic, const struct fw_net *net)
{
	const struct fw_net before = net_of(nic);
	struct conf_nic *conf = &nic->app->conf.nic[nic->index];
	uint32_t done = 0;
	int err = 0;

	while (!err && done < nic->num_shards) {
		err = renew_one(&nic->shard[done], net);
		done += !err;
	}
	if (err) {
		while (done && !renew_one(&nic->shard[done - 1], &before))
			done--;
		return err;
	}
	nic->ip_mtu = net->mtu;
	conf->ip_prefix = net->ip_prefix;
	conf->gateway = net->gateway;
	if (conf->ip == net->ip)
		return 0;
	conf->ip = net->ip;
	if (conf->wire == CONF_WIRE_NETDEV)
		wire_netdev_readdress(nic->wire);
	notify_others(nic);
	return 0;
}

static void describe(const struct fw_net *net, char *text, size_t bytes)
{
	char ip[INET_ADDRSTRLEN], gw[INET_ADDRSTRLEN];

	inet_ntop(AF_INET, &net->ip, ip, sizeof(ip));
	inet_ntop(AF_INET, &net->gateway, gw, sizeof(gw));
	snprintf(text, bytes, "%s/%u%s%s, mtu %u", ip, net->ip_prefix, net->gateway ? " gw " : "",
		 net->gateway ? gw : "", net->mtu);
}

/* Returns 0, or a positive errno with the reason in why. */
static int refuse(const struct nic *nic, const struct fw_net *net, char *why, size_t bytes)
{
	const struct client *c = client_blocking(nic);
	const struct app *app = nic->app;

	if (net->mtu > nic->mtu) {
		snprintf(
		    why, bytes,
		    "its port was opened for packets of %u bytes at most: systemctl restart weftd",
		    nic->mtu);
		return ERANGE;
	}
	for (uint32_t i = 0; i < app->num_nics; i++) {
		if (i == nic->index || app->nic[i].conf->ip != net->ip)
			continue;
		snprintf(why, bytes, "%s has that address", app->nic[i].name);
		return EADDRINUSE;
	}
	if (!c)
		return 0;
	snprintf(why, bytes, "process %d (%s) is attached: end it first", (int)c->pid, c->name);
	return EBUSY;
}

static int change_nic(struct nic *nic, const struct fw_net *net, struct change_report *report)
{
	char text[80], why[160];
	int err = refuse(nic, net, why, sizeof(why));

	describe(net, text, sizeof(text));
	if (!err) {
		err = renew_all(nic, net);
		snprintf(
		    why, sizeof(why), "%s",
		    err == EBUSY
			? "connections of processes that have ended still close: again in a moment"
			: strerror(err));
	}
	if (err)
		change_say(report, "%s: not %s: %s", nic->name, text, why);
	else
		change_say(report, "%s: %s", nic->name, text);
	return err;
}

/* ---- all of them */

int renew_apply(struct app *app, const struct conf *conf, struct change_report *report)
{
	int err = 0;

	for (uint32_t i = 0; i < app->num_nics; i++) {
		struct nic *nic = &app->nic[i];
		const struct conf_nic *want = &conf->nic[i];
		uint32_t mtu = want->mtu ? want->mtu : conf->mtu ? conf->mtu : nic->default_mtu;
		struct fw_net net = {.mtu = (uint16_t)mtu,
				     .ip = want->ip,
				     .ip_prefix = want->ip_prefix,
				     .gateway = want->gateway};
		int rc = 0;

		if (!app_has_nic(app, i) || nic->leaves)
			continue;
		if (mtu != nic->ip_mtu || net.ip != nic->conf->ip ||
		    net.ip_prefix != nic->conf->ip_prefix || net.gateway != nic->conf->gateway)
			rc = change_nic(nic, &net, report);
		/* The values in force, for changes to come. */
		app->conf.nic[i].mtu = nic->ip_mtu;
		err = rc ? rc : err;
	}
	app->conf.mtu = conf->mtu;
	return err;
}

/* ---- lines */

bool renew_handles(const char *line)
{
	static const char *const words[] = {"mtu", "ip", "gw"};
	size_t chars = strcspn(line, " \t=");

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strlen(words[i]) == chars && !strncmp(line, words[i], chars))
			return true;
	}
	return false;
}

/* The NIC of this name; false: there is none. */
static bool find_nic(const struct app *app, const char *name, uint32_t *index)
{
	for (*index = 0; *index < app->num_nics; ++*index) {
		if (app_has_nic(app, *index) && !strcmp(app->nic[*index].name, name))
			return true;
	}
	return false;
}

static bool take_mtu(const struct app *app, uint32_t first, const char *text, struct conf *conf)
{
	uint32_t end = first == UINT32_MAX ? app->num_nics : first + 1;
	uint64_t mtu;

	if (!value_u64(text, HW_MIN_MTU, HW_MAX_MTU, &mtu))
		return false;
	for (uint32_t i = first == UINT32_MAX ? 0 : first; i < end; i++)
		conf->nic[i].mtu = (uint32_t)mtu;
	return true;
}

static bool take_gw(const char *text, struct conf_nic *nic)
{
	if (strcmp(text, "none") != 0)
		return value_ip(text, &nic->gateway);
	nic->gateway = 0;
	return true;
}

bool renew_line(const struct app *app, const char *line, struct conf *conf, char *error)
{
	char word[RENEW_WORD_CHARS] = "", first[RENEW_WORD_CHARS] = "",
	     second[RENEW_WORD_CHARS] = "", more;
	uint32_t nic = UINT32_MAX;
	const char *value = first;
	int n = sscanf(line, "%63[a-z] = %63s %63s %c", word, first, second, &more);

	if (n == 3) {
		value = second;
		if (!find_nic(app, first, &nic)) {
			snprintf(error, CONF_ERROR_CHARS, "there is no NIC '%.40s'", first);
			return false;
		}
	}
	if (!strcmp(word, "mtu") && (n == 2 || n == 3) && take_mtu(app, nic, value, conf))
		return true;
	if (!strcmp(word, "ip") && n == 3 &&
	    value_ip_prefix(value, &conf->nic[nic].ip, &conf->nic[nic].ip_prefix) &&
	    conf->nic[nic].ip)
		return true;
	if (!strcmp(word, "gw") && n == 3 && take_gw(value, &conf->nic[nic]))
		return true;
	snprintf(error, CONF_ERROR_CHARS,
		 "\"%.60s\": say mtu = [NIC] N with N from %d to %d, ip = NIC A.B.C.D/LEN with LEN "
		 "from 1 to 30, or gw = NIC A.B.C.D, or none",
		 line, HW_MIN_MTU, HW_MAX_MTU);
	return false;
}

void renew_show(const struct nic *nic, const char *word, struct change_report *report)
{
	char text[INET_ADDRSTRLEN];

	if (!*word || !strcmp(word, "mtu"))
		change_say(report, "mtu = %s %u", nic->name, nic->ip_mtu);
	inet_ntop(AF_INET, &nic->conf->ip, text, sizeof(text));
	if (!*word || !strcmp(word, "ip"))
		change_say(report, "ip = %s %s/%u", nic->name, text, nic->conf->ip_prefix);
	inet_ntop(AF_INET, &nic->conf->gateway, text, sizeof(text));
	if (!*word || !strcmp(word, "gw"))
		change_say(report, "gw = %s %s", nic->name, nic->conf->gateway ? text : "none");
}
