/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command metrics: state, counters, processes and peers of NICs for Prometheus.
 *
 * Lists are bounded by --most, so that neither processes nor peers decide how long a scrape is.
 * Calls libweft's tool functions, then metrics_text.c or metrics_http.c.
 */
#include "tools/weftctl/metrics.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/clock.h"
#include "shared_defs/hw_cmd.h"

enum {
	NICS_MAX = 64,
	DEFAULT_MOST = 50,
	ERROR_CHARS = 320,
	REPORT_CHARS = 8192,
};

/* The metrics of one NIC. Threads of their own collect them, since a stuck weftd answers late. */
struct collect {
	const struct ctl *ctl;
	char name[32];
	char path[108];
	bool up;
	char error[ERROR_CHARS]; /* why it is not */
	struct metrics m;
	pthread_t thread;
	bool started;
};

struct place {
	struct weft_context *context;
	uint32_t shard;
	char labels[METRICS_LABELS_CHARS]; /* nic and shard */
};

static void label_number(char labels[METRICS_LABELS_CHARS], const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	metrics_label(labels, name, text);
}

static void add_stat(struct collect *c, const struct place *place, const struct weft_stat *stat)
{
	char labels[METRICS_LABELS_CHARS];
	struct stat_metric metric;

	/* A counter of a newer weftd has no row: it is left out, as OpenMetrics has no type for it.
	 */
	if (!stat_metric_of(stat->name, &metric))
		return;
	memcpy(labels, place->labels, sizeof(labels));
	if (metric.label)
		metrics_label(labels, metric.label, metric.value);
	metrics_add(&c->m, metric.name, metric.kind, metric.help, labels,
		    (double)stat->value * metric.scale);
}

static int add_stats(struct collect *c, const struct place *place)
{
	struct weft_stat stats[CTL_BATCH];
	uint32_t cursor = 0;
	int n;

	while ((n = weft_stats(place->context, place->shard, &cursor, stats, CTL_BATCH)) > 0) {
		for (int i = 0; i < n; i++) {
			stats[i].name[sizeof(stats[i].name) - 1] = '\0';
			add_stat(c, place, &stats[i]);
		}
	}
	return n;
}

static void add_client(struct collect *c, const struct place *place,
		       const struct weft_list_item *item)
{
	char labels[METRICS_LABELS_CHARS];
	json_t *user = shares_user(item->state);

	memcpy(labels, place->labels, sizeof(labels));
	label_number(labels, "client", item->id);
	label_number(labels, "pid", item->a);
	metrics_label(labels, "user", user ? json_string_value(user) : "?");
	metrics_label(labels, "program", item->name);
	json_decref(user);
	metrics_add(&c->m, "weft_client_objects", STAT_GAUGE, "Objects of an attached process",
		    labels, (double)item->b);
	metrics_add(&c->m, "weft_client_forged", STAT_COUNTER,
		    "Entries of a process's rings that were impossible", labels,
		    (double)item->forged);
}

static void add_peer(struct collect *c, const struct place *place,
		     const struct weft_list_item *item)
{
	char labels[METRICS_LABELS_CHARS], ip[INET_ADDRSTRLEN];

	inet_ntop(AF_INET, &item->id, ip, sizeof(ip));
	memcpy(labels, place->labels, sizeof(labels));
	metrics_label(labels, "peer", ip);
	label_number(labels, "peer_shard", item->type);
	metrics_add(&c->m, "weft_peer_srtt_seconds", STAT_GAUGE,
		    "Smoothed round-trip time of an RD session", labels, (double)item->a * 1e-9);
	metrics_add(&c->m, "weft_peer_in_flight", STAT_GAUGE,
		    "Packets of an RD session that wait for their acknowledgement", labels,
		    (double)item->b);
}

/* Adds a list's first items, and how many were left out. */
static int add_list(struct collect *c, const struct place *place, enum weft_list_kind kind,
		    void (*add)(struct collect *, const struct place *,
				const struct weft_list_item *),
		    const char *left_out)
{
	uint64_t most = c->ctl->most ? c->ctl->most : DEFAULT_MOST, seen = 0;
	struct weft_list_item items[CTL_BATCH];
	uint32_t cursor = 0;
	int n;

	while ((n = weft_list(place->context, kind, place->shard, &cursor, items, CTL_BATCH)) > 0) {
		for (int i = 0; i < n; i++) {
			items[i].name[sizeof(items[i].name) - 1] = '\0';
			if (seen++ < most)
				add(c, place, &items[i]);
		}
		/* Their number is a gauge of its own; a long list is not read to its end. */
		if (seen > most)
			break;
	}
	metrics_add(&c->m, left_out, STAT_GAUGE, "1 if the list is longer than what --most shows",
		    place->labels, seen > most);
	return n < 0 ? n : 0;
}

static int add_shard(struct collect *c, struct weft_context *context, uint32_t shard)
{
	struct place place = {.context = context, .shard = shard};
	int rc;

	metrics_label(place.labels, "nic", context->name);
	label_number(place.labels, "shard", shard);
	rc = add_stats(c, &place);
	if (!rc)
		rc = add_list(c, &place, WEFT_LIST_CLIENTS, add_client, "weft_clients_cut");
	if (!rc)
		rc = add_list(c, &place, WEFT_LIST_PEERS, add_peer, "weft_peers_cut");
	return rc;
}

static void add_port(struct collect *c, const struct weft_context *context,
		     const struct weft_port_attr *port)
{
	char labels[METRICS_LABELS_CHARS] = "", more[METRICS_LABELS_CHARS], ip[INET_ADDRSTRLEN];
	json_t *mac = out_mac(port->mac);

	inet_ntop(AF_INET, &port->ip, ip, sizeof(ip));
	metrics_label(labels, "nic", context->name);
	memcpy(more, labels, sizeof(more));
	metrics_label(more, "ip", ip);
	metrics_label(more, "mac", mac ? json_string_value(mac) : "?");
	metrics_label(more, "version", WEFT_VERSION);
	json_decref(mac);
	metrics_add(&c->m, "weft_nic_info", STAT_GAUGE, "Addresses of a NIC; always 1", more, 1);
	metrics_add(&c->m, "weft_link_up", STAT_GAUGE, "1 if the link is up", labels,
		    port->link_up);
	metrics_add(&c->m, "weft_link_bits_per_second", STAT_GAUGE, "Speed of the link; 0: unknown",
		    labels, (double)port->link_mbps * 1e6);
	metrics_add(&c->m, "weft_mtu_bytes", STAT_GAUGE, "Bytes of the largest IPv4 packet", labels,
		    port->mtu_bytes);
}

static void add_nic(struct collect *c, struct weft_context *context)
{
	struct weft_device_attr dev;
	struct weft_port_attr port;
	int rc = weft_query_device(context, &dev);

	if (!rc)
		rc = weft_query_port(context, &port);
	if (!rc)
		add_port(c, context, &port);
	for (uint32_t shard = 0; !rc && shard < dev.num_shards; shard++)
		rc = add_shard(c, context, shard);
	c->up = !rc;
	snprintf(c->name, sizeof(c->name), "%.31s", context->name);
	if (rc)
		snprintf(c->error, sizeof(c->error), "%s", strerror(-rc));
}

static void *collect_nic(void *arg)
{
	struct collect *c = arg;
	struct weft_context *context = weft_open_tool(c->path);
	char labels[METRICS_LABELS_CHARS] = "";

	if (context)
		add_nic(c, context);
	else
		snprintf(c->error, sizeof(c->error), "%s", ctl_open_error());
	if (context)
		weft_close_device(context);
	metrics_label(labels, "nic", c->name);
	metrics_add(&c->m, "weft_up", STAT_GAUGE, "1 if the NIC's weftd answers", labels, c->up);
	return NULL;
}

/* Names the NICs that are to be there. Returns their number. */
static size_t find_nics(const struct ctl *ctl, struct collect *nic)
{
	struct weft_device *list = NULL;
	int num = ctl->nic ? 1 : weft_get_device_list(&list);
	size_t n = num < 0 ? 0 : num > NICS_MAX ? NICS_MAX : (size_t)num;

	for (size_t i = 0; i < n; i++) {
		nic[i].ctl = ctl;
		snprintf(nic[i].name, sizeof(nic[i].name), "%.31s", list ? list[i].name : ctl->nic);
		snprintf(nic[i].path, sizeof(nic[i].path), "%.107s",
			 list ? list[i].path : ctl->nic);
	}
	if (list)
		weft_free_device_list(list);
	return n;
}

/* An exporter reports a failure when it begins and when it ends, not at every scrape. */
static void report(const struct collect *nic, size_t num, bool once)
{
	static char before[REPORT_CHARS];
	char now[REPORT_CHARS] = "";
	size_t at = 0;

	for (size_t i = 0; i < num; i++)
		if (!nic[i].up && at < sizeof(now))
			at += (size_t)snprintf(now + at, sizeof(now) - at, "weftctl: %s: %s\n",
					       nic[i].name, nic[i].error);
	if (!num)
		snprintf(now, sizeof(now),
			 "weftctl: no NIC here; start weftd, or give its "
			 "--run-dir\n");
	if (once || strcmp(before, now))
		fputs(now[0] || once ? now : "weftctl: every NIC answers\n", stderr);
	memcpy(before, now, sizeof(before));
}

static void collect_all(struct collect *nic, size_t num)
{
	for (size_t i = 0; i < num; i++) {
		nic[i].started = !pthread_create(&nic[i].thread, NULL, collect_nic, &nic[i]);
		if (!nic[i].started)
			collect_nic(&nic[i]);
	}
	for (size_t i = 0; i < num; i++)
		if (nic[i].started)
			pthread_join(nic[i].thread, NULL);
}

static char *print_all(struct collect *nic, size_t num, double begin_s)
{
	struct metrics all = {0};
	size_t bytes, up = 0;
	char *text = NULL;
	bool whole;
	FILE *to;

	for (size_t i = 0; i < num; i++) {
		up += nic[i].up;
		metrics_take(&all, &nic[i].m);
	}
	metrics_add(&all, "weft_nics", STAT_GAUGE, "NICs that answered", "", (double)up);
	metrics_add(&all, "weft_scrape_seconds", STAT_GAUGE, "Time that this collection took", "",
		    clock_now_s() - begin_s);
	to = open_memstream(&text, &bytes);
	whole = to && metrics_print(&all, to);
	if ((to && fclose(to)) || !whole) {
		free(text);
		text = NULL;
	}
	metrics_free(&all);
	return text;
}

char *metrics_collect(const struct ctl *ctl, int *rc)
{
	struct collect *nic = calloc(NICS_MAX, sizeof(*nic));
	double begin_s = clock_now_s();
	char *text;
	size_t num;

	if (!nic)
		return NULL;
	num = find_nics(ctl, nic);
	collect_all(nic, num);
	report(nic, num, !ctl->listen);
	*rc = num ? CTL_OK : CTL_FAILED;
	for (size_t i = 0; i < num; i++)
		if (!nic[i].up)
			*rc = CTL_FAILED;
	text = print_all(nic, num, begin_s);
	free(nic);
	return text;
}

/* Replaces the file in one step, since node_exporter may read it at any time. */
static int write_file(const char *path, const char *text)
{
	char *temporary = NULL;
	int rc = CTL_FAILED;
	FILE *to;

	if (asprintf(&temporary, "%s.%d", path, (int)getpid()) < 0)
		return fail("out of memory");
	to = fopen(temporary, "wx");
	if (!to) {
		rc = fail("cannot write %s: %s", temporary, strerror(errno));
		free(temporary);
		return rc;
	}
	fputs(text, to);
	if (ferror(to) | fclose(to) || rename(temporary, path)) {
		rc = fail("cannot write %s: %s", path, strerror(errno));
		(void)unlink(temporary);
	} else {
		rc = CTL_OK;
	}
	free(temporary);
	return rc;
}

int run_metrics(const struct ctl *ctl)
{
	int rc;
	char *text;

	if (ctl->listen)
		return metrics_serve(ctl);
	text = metrics_collect(ctl, &rc);
	if (!text)
		return fail("out of memory");
	if (ctl->textfile)
		rc = write_file(ctl->textfile, text) == CTL_OK ? rc : CTL_FAILED;
	else
		fputs(text, stdout);
	free(text);
	return rc;
}
