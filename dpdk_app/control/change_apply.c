/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The difference between two configurations, applied: faults, interrupt moderation, shares, the
 * level of the log, addresses and MTUs, captures. See change_apply.h.
 *
 * Control thread. Calls faults.c, user.c, log.c, renew.c, capture_conf.c, and the firmware by
 * msg_call().
 */
#include "dpdk_app/control/change_apply.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "dpdk_app/args/args_coalesce.h"
#include "dpdk_app/args/args_fault.h"
#include "dpdk_app/args/args_quota.h"
#include "dpdk_app/client/msg.h"
#include "dpdk_app/client/user.h"
#include "dpdk_app/control/capture_conf.h"
#include "dpdk_app/control/renew.h"
#include "dpdk_app/wire/faults.h"
#include "lib/fault.h"

/* ---- faults */

static bool same_fault(const struct hw_fault *a, const struct hw_fault *b)
{
	if (!fault_wanted(a) && !fault_wanted(b))
		return true;
	return !memcmp(a, b, sizeof(*a));
}

static int apply_faults(struct app *app, const struct conf *conf, struct change_report *report)
{
	char words[FAULT_WORDS_CHARS];
	struct hw_fault fault;
	int err = 0;

	for (uint32_t i = 0; i < app->num_nics; i++) {
		struct nic *nic = &app->nic[i];
		int rc;

		conf_fault_of(conf, i, &fault);
		if (!app_has_nic(app, i) || same_fault(&fault, &nic->fault))
			continue;
		fault_words_print(&fault, words, sizeof(words));
		rc = faults_set(nic, &fault, true);
		if (rc)
			change_say(report, "%s: fault %s: %s", nic->name, words, strerror(-rc));
		else
			change_say(report, "%s: fault %s", nic->name, words);
		err = rc ? -rc : err;
	}
	app->conf.fault = conf->fault;
	memcpy(app->conf.faults, conf->faults, sizeof(conf->faults));
	app->conf.num_faults = conf->num_faults;
	return err;
}

/* ---- interrupt moderation */

struct coalesce_call {
	struct hw_coalesce want[HW_NUM_VECTORS];
	uint32_t changed;
	int err;
};

static bool same_coalesce(const struct hw_coalesce *a, const struct hw_coalesce *b)
{
	if (a->mode != b->mode || memcmp(a->param, b->param, sizeof(a->param)) != 0)
		return false;
	return a->mode != HW_COALESCE_TARGET ||
	       (a->target_percentile == b->target_percentile && a->target_ns == b->target_ns);
}

static void set_coalesce(struct shard *shard, void *arg)
{
	struct coalesce_call *call = arg;

	shard->ops->now(shard->fw, shard->core->now_ns);
	for (uint32_t v = 0; v < HW_NUM_VECTORS; v++) {
		struct hw_cmd_coalesce cmd = {.vector = v};
		struct hw_resp_coalesce resp = {0};

		if (shard->ops->coalesce(shard->fw, &cmd, &resp) ||
		    same_coalesce(&resp.coalesce, &call->want[v]))
			continue;
		cmd.set = HW_COALESCE_SET_ALL;
		cmd.coalesce = call->want[v];
		call->err = shard->ops->coalesce(shard->fw, &cmd, &resp);
		call->changed++;
	}
}

static int apply_coalesce(struct app *app, const struct conf *conf, struct change_report *report)
{
	int err = 0;

	for (uint32_t i = 0; i < app->num_nics; i++) {
		struct nic *nic = &app->nic[i];
		struct coalesce_call call = {.changed = 0};

		coalesce_of_nic(conf, i, call.want);
		for (uint32_t s = 0; !call.err && s < nic->num_shards; s++)
			call.err = -msg_call(&nic->shard[s], set_coalesce, &call);
		if (call.err)
			change_say(report, "%s: coalesce: %s", nic->name, strerror(call.err));
		else if (call.changed)
			change_say(report, "%s: coalesce: changed", nic->name);
		err = call.err ? call.err : err;
	}
	memcpy(app->conf.coalesce, conf->coalesce, sizeof(conf->coalesce));
	app->conf.num_coalesce = conf->num_coalesce;
	return err;
}

/* ---- shares */

static void set_limits(struct shard *shard, void *arg)
{
	shard->ops->set_limits(shard->fw, arg);
}

static int apply_quota(struct app *app, const struct conf *conf, struct change_report *report)
{
	struct hw_share_limits limits;
	int err = 0;

	if (!memcmp(&conf->quota, &app->conf.quota, sizeof(conf->quota)))
		return 0;
	user_change(&conf->quota);
	limits = *user_limits();
	for (uint32_t i = 0; i < app->num_nics; i++) {
		for (uint32_t s = 0; !err && s < app->nic[i].num_shards; s++)
			err = -msg_call(&app->nic[i].shard[s], set_limits, &limits);
	}
	app->conf.quota = conf->quota;
	if (err)
		change_say(report, "quota: %s", strerror(err));
	else
		change_say(report, "quota: changed; weftctl users shows shares and limits");
	return err;
}

void change_quota_show(const struct conf *conf, struct change_report *report)
{
	for (uint32_t kind = 0; kind < HW_SHARES; kind++) {
		const char *word = quota_word((enum hw_share)kind);

		if (conf->quota.process[kind])
			change_say(report, "quota = %s=%llu", word,
				   (unsigned long long)conf->quota.process[kind]);
		if (conf->quota.user[kind])
			change_say(report, "quota = user:%s=%llu", word,
				   (unsigned long long)conf->quota.user[kind]);
	}
}

/* ---- the log */

static int apply_level(struct app *app, const struct conf *conf, struct change_report *report)
{
	static const char *const levels[] = {"error", "info", "debug"};
	enum log_level level = conf->verbose ? LOG_LEVEL_DEBUG : (enum log_level)conf->log_level;

	app->conf.log_level = conf->log_level;
	app->conf.verbose = conf->verbose;
	if (level == log_get_level())
		return 0;
	log_set_level(level);
	change_say(report, "log-level %s", levels[level]);
	return 0;
}

int change_apply(struct app *app, const struct conf *conf, struct change_report *report)
{
	static int (*const apply[])(struct app * app, const struct conf *conf,
				    struct change_report *report) = {
	    apply_level, apply_faults, apply_coalesce, apply_quota, renew_apply, capture_conf_apply,
	};
	int err = 0;

	for (size_t i = 0; i < sizeof(apply) / sizeof(apply[0]); i++) {
		int rc = apply[i](app, conf, report);

		err = rc ? rc : err;
	}
	return err;
}

bool change_handles(const char *line)
{
	static const char *const live[] = {"fault", "coalesce", "quota", "log-level"};
	size_t chars = strcspn(line, " \t=");

	for (size_t i = 0; i < sizeof(live) / sizeof(live[0]); i++) {
		if (strlen(live[i]) == chars && !strncmp(line, live[i], chars))
			return true;
	}
	return false;
}

/* ---- the rest */

static const struct {
	const char *word;
	size_t offset, bytes;
} fixed[] = {
#define FIXED(word, member)                                                                        \
	{                                                                                          \
		word, offsetof(struct conf, member), sizeof(((struct conf *)NULL)->member)         \
	}
    FIXED("spare-nics", spare_nics),
    FIXED("port-rights", keep_port_rights),
    FIXED("crc", switch_crc),
    FIXED("cores", core),
    FIXED("shared-core, own-core", share),
    FIXED("netdev", netdev),
    FIXED("idle-us", idle_ns),
    FIXED("no-cc", no_cc),
    FIXED("no-bundle", no_bundle),
    FIXED("esp-burst", esp_burst),
    FIXED("esp-initial-burst", esp_initial_burst),
    FIXED("mpa-crc, mpa-markers, mpa-revision, mpa-rtr", mpa),
    FIXED("unmapped", no_unmapped),
    FIXED("stages", stages),
    FIXED("port-echo", port_echo),
    FIXED("seccomp", no_seccomp),
    FIXED("native-ops", no_native_ops),
    FIXED("user", user),
    FIXED("log", log),
    FIXED("log-format", log_format),
    FIXED("run-dir", run_dir),
    FIXED("name", name),
#undef FIXED
};

bool change_left(const struct conf *requested, const struct conf *conf,
		 struct change_report *report)
{
	bool some = false;

	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
		if (!memcmp((const char *)requested + fixed[i].offset,
			    (const char *)conf + fixed[i].offset, fixed[i].bytes))
			continue;
		change_say(report, "%s: not while weftd runs: systemctl restart weftd",
			   fixed[i].word);
		some = true;
	}
	return some;
}
