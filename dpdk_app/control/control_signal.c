/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signals of the control thread, and the counters that SIGUSR1 logs. Calls msg.c: the cores read
 * their own counters and answer.
 */
#include "dpdk_app/control/control_signal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "dpdk_app/control/change.h"
#include "dpdk_app/log.h"
#include "dpdk_app/client/msg.h"
#include "dpdk_app/control/stats.h"
#include "dpdk_app/wire/wire.h"

enum {
	SIGNAL_LINE_CHARS = 160,
};

static bool signal_has_terminal;
/* Shards that have not answered the last SIGUSR1. */
static uint32_t signal_awaited;

static void signal_set(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGHUP);
	sigaddset(set, SIGUSR1);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGINT);
}

int control_signal_init(void)
{
	struct sigaction hup;
	sigset_t set;
	int fd = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);

	/*
	 * Without a terminal, SIGHUP comes from a service manager or logrotate. nohup(1) makes its
	 * programs ignore it, so that they outlive their terminal; signalfd() would still return
	 * it, since the kernel keeps blocked signals that are ignored.
	 */
	signal_has_terminal =
	    fd >= 0 && sigaction(SIGHUP, NULL, &hup) == 0 && hup.sa_handler != SIG_IGN;
	if (fd >= 0)
		close(fd);
	signal_set(&set);
	signal(SIGPIPE, SIG_IGN);
	return sigprocmask(SIG_BLOCK, &set, NULL) ? -errno : 0;
}

int control_signal_open(void)
{
	sigset_t set;
	int fd;

	signal_set(&set);
	fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Logs nonzero counters, as many per line as fit. */
static void signal_log_stats(struct msg *msg, void *arg)
{
	const struct shard *shard = msg->shard;
	char line[SIGNAL_LINE_CHARS];
	uint32_t used = 0;

	(void)arg;
	for (uint32_t i = 0; i < msg->stats->count; i++) {
		const struct hw_stat *stat = &msg->stats->stat[i];
		char item[sizeof(stat->name) + 24];
		int n = snprintf(item, sizeof(item), " %.*s %llu", (int)sizeof(stat->name),
				 stat->name, (unsigned long long)stat->value);

		if (!stat->value)
			continue;
		if (used + (uint32_t)n >= sizeof(line)) {
			log_info("%s shard %u:%s", shard->nic->name,
				 (uint32_t)(shard - shard->nic->shard), line);
			used = 0;
		}
		used += (uint32_t)snprintf(line + used, sizeof(line) - used, "%s", item);
	}
	if (used)
		log_info("%s shard %u:%s", shard->nic->name, (uint32_t)(shard - shard->nic->shard),
			 line);
	signal_awaited--;
	msg_free(msg);
}

static void signal_request_stats(struct shard *shard)
{
	struct msg *msg = msg_new(MSG_STATS, shard, NULL);

	if (msg)
		msg->stats = calloc(1, sizeof(*msg->stats) + STATS_MAX * sizeof(struct hw_stat));
	if (!msg || !msg->stats) {
		log_error("no memory for the counters of %s", shard->nic->name);
		msg_free(msg);
		return;
	}
	msg->stats->max = STATS_MAX;
	msg->answered = signal_log_stats;
	if (msg_send(msg)) {
		log_nic_error(shard->nic->name, "shard %u is too busy to report its counters",
			      (uint32_t)(shard - shard->nic->shard));
		msg_free(msg);
		return;
	}
	signal_awaited++;
}

static void signal_request_all(struct app *app)
{
	/* Signals may arrive faster than lines are read, so only one is answered at a time. */
	if (signal_awaited)
		return;
	for (uint32_t i = 0; i < app->num_nics; i++) {
		const struct nic *nic = &app->nic[i];

		if (!nic->wire)
			continue;
		log_nic_info(nic->name, "link %s, %s", atomic_load(&nic->link_up) ? "up" : "down",
			     nic->wire->how);
		for (uint32_t s = 0; s < nic->num_shards; s++)
			signal_request_stats(&app->nic[i].shard[s]);
	}
}

bool control_signal_take(int fd, struct app *app)
{
	struct signalfd_siginfo info;

	if (read(fd, &info, sizeof(info)) != sizeof(info))
		return false;
	switch (info.ssi_signo) {
	case SIGUSR1:
		signal_request_all(app);
		return false;
	case SIGHUP:
		if (signal_has_terminal) {
			log_info("SIGHUP: the terminal is gone: ending");
			return true;
		}
		if (log_reopen())
			log_info("SIGHUP: the log was reopened");
		if (change_has_file())
			change_reload();
		else
			log_info("SIGHUP: there is no --config to read again; weftd continues");
		return false;
	default:
		log_info("%s: ending", info.ssi_signo == SIGINT ? "SIGINT" : "SIGTERM");
		return true;
	}
}
