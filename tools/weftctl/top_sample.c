/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One picture of all NICs for top. See top.h. Calls libweft's tool functions and shares.c.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/clock.h"
#include "shared_defs/hw_cmd.h"
#include "tools/weftctl/top.h"

enum {
	KEY_CHARS = 96,
	QPS_MAX = 4096, /* queue pairs of a shard that a picture looks at */
};

const struct top_table top_tables[] = {
    {"nics",
     "NICs",
     {{"nic", "NIC"},
      {"link", "LINK"},
      {"rx_bits", "RX bit/s"},
      {"tx_bits", "TX bit/s"},
      {"rx_frames", "RX frame/s"},
      {"tx_frames", "TX frame/s"},
      {"cqes", "COMPL/s"},
      {"irqs", "IRQ/s"},
      {"busy", "BUSY %"},
      {"drops", "DROP/s"},
      {"again", "RESENT/s"}},
     NULL},
    {"types",
     "Queue pairs",
     {{"nic", "NIC"}, {"type", "TYPE"}, {"qps", "QPS"}, {"tx_bits", "TX bit/s"}},
     "tx_bits"},
    {"processes",
     "Processes",
     {{"nic", "NIC"},
      {"pid", "PID"},
      {"user", "USER"},
      {"program", "PROGRAM"},
      {"objects", "OBJECTS"},
      {"qps", "QPS"},
      {"tx_bits", "TX bit/s"}},
     "tx_bits"},
    {"peers",
     "Peers by RD",
     {{"nic", "NIC"},
      {"peer", "PEER"},
      {"state", "STATE"},
      {"in_flight", "IN FLIGHT"},
      {"srtt_us", "SRTT us"}},
     "in_flight"},
};
const size_t top_num_tables = sizeof(top_tables) / sizeof(top_tables[0]);

struct sample {
	const struct ctl *ctl;
	json_t *picture;
	const struct top_past *past;
	json_t *values; /* for the next picture */
	double now_s;
};

/* The rate of a value that grows; 0 where there is no earlier one. */
static double rate_of(struct sample *s, const char *key, double value)
{
	const json_t *before = s->past->values ? json_object_get(s->past->values, key) : NULL;
	double span_s = s->now_s - s->past->time_s;

	json_object_set_new(s->values, key, json_real(value));
	if (!before || span_s <= 0 || value < json_real_value(before))
		return 0;
	return (value - json_real_value(before)) / span_s;
}

static void put(json_t *row, const char *key, double value)
{
	json_object_set_new(row, key, json_real(value));
}

/* True if the row is one that --filter asks for. */
static bool is_wanted(const struct sample *s, const json_t *row)
{
	const char *key;
	json_t *cell;

	if (!s->ctl->filter)
		return true;
	json_object_foreach ((json_t *)(uintptr_t)row, key, cell)
		if (json_is_string(cell) && strstr(json_string_value(cell), s->ctl->filter))
			return true;
	return false;
}

static void add_row(struct sample *s, const char *table, json_t *row)
{
	if (is_wanted(s, row))
		json_array_append_new(json_object_get(s->picture, table), row);
	else
		json_decref(row);
}

/* Sums of counters whose rates the NIC's row shows. */
struct sums {
	double rx_bytes, tx_bytes, rx_frames, tx_frames, cqes, irqs, drops, again;
	double busy_ns; /* the busiest core */
};

static void sum_stat(struct sums *sums, const struct weft_stat *stat)
{
	static const struct {
		const char *name;
		size_t offset;
	} fields[] = {
	    {"rx_bytes", offsetof(struct sums, rx_bytes)},
	    {"tx_bytes", offsetof(struct sums, tx_bytes)},
	    {"rx_frames", offsetof(struct sums, rx_frames)},
	    {"tx_frames", offsetof(struct sums, tx_frames)},
	    {"cqes", offsetof(struct sums, cqes)},
	    {"port_irqs", offsetof(struct sums, irqs)},
	    {"rd_tx_retransmits", offsetof(struct sums, again)},
	    {"tcp_tx_retransmits", offsetof(struct sums, again)},
	    {"esp_tx_retransmits", offsetof(struct sums, again)},
	    {"mgrp_tx_repairs", offsetof(struct sums, again)},
	};

	if (!strncmp(stat->name, "drop_", 5) || !strncmp(stat->name, "port_drop_", 10))
		sums->drops += (double)stat->value;
	if (!strcmp(stat->name, "core_busy_ns"))
		sums->busy_ns = fmax(sums->busy_ns, (double)stat->value);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (!strcmp(stat->name, fields[i].name))
			*(double *)(void *)((char *)sums + fields[i].offset) += (double)stat->value;
}

static int sum_stats(struct weft_context *context, uint32_t shards, struct sums *sums)
{
	struct weft_stat stats[CTL_BATCH];
	int n = 0;

	for (uint32_t shard = 0; shard < shards && n >= 0; shard++) {
		uint32_t cursor = 0;

		while ((n = weft_stats(context, shard, &cursor, stats, CTL_BATCH)) > 0) {
			for (int i = 0; i < n; i++) {
				stats[i].name[sizeof(stats[i].name) - 1] = '\0';
				sum_stat(sums, &stats[i]);
			}
		}
	}
	return n;
}

static double nic_rate(struct sample *s, const char *nic, const char *what, double value)
{
	char key[KEY_CHARS];

	snprintf(key, sizeof(key), "%s %s", nic, what);
	return rate_of(s, key, value);
}

static int add_nic_row(struct sample *s, struct weft_context *context, uint32_t shards)
{
	const char *nic = context->name;
	struct weft_port_attr port;
	struct sums sums = {0};
	json_t *row;
	int rc = weft_query_port(context, &port);

	if (!rc)
		rc = sum_stats(context, shards, &sums);
	if (rc)
		return rc;
	row = json_pack("{s:s, s:s}", "nic", nic, "link", port.link_up ? "up" : "down");
	put(row, "rx_bits", 8 * nic_rate(s, nic, "rx_bytes", sums.rx_bytes));
	put(row, "tx_bits", 8 * nic_rate(s, nic, "tx_bytes", sums.tx_bytes));
	put(row, "rx_frames", nic_rate(s, nic, "rx_frames", sums.rx_frames));
	put(row, "tx_frames", nic_rate(s, nic, "tx_frames", sums.tx_frames));
	put(row, "cqes", nic_rate(s, nic, "cqes", sums.cqes));
	put(row, "irqs", nic_rate(s, nic, "irqs", sums.irqs));
	put(row, "busy", 1e-7 * nic_rate(s, nic, "busy_ns", sums.busy_ns));
	put(row, "drops", nic_rate(s, nic, "drops", sums.drops));
	put(row, "again", nic_rate(s, nic, "again", sums.again));
	add_row(s, "nics", row);
	return 0;
}

/* Adds to the numbers of obj[key]: a queue pair, and the bytes that it has sent. */
static void count_qp(json_t *obj, const char *key, double bytes)
{
	json_t *entry = json_object_get(obj, key);

	if (!entry) {
		entry = json_pack("{s:i, s:f}", "qps", 0, "bytes", 0.0);
		json_object_set_new(obj, key, entry);
	}
	json_object_set_new(entry, "qps",
			    json_integer(json_integer_value(json_object_get(entry, "qps")) + 1));
	json_object_set_new(entry, "bytes",
			    json_real(json_real_value(json_object_get(entry, "bytes")) + bytes));
}

/* Queue pairs by type, and by the number of their process's attachment. */
static int count_qps(struct weft_context *context, uint32_t shard, json_t *types, json_t *clients)
{
	struct weft_list_item items[CTL_BATCH];
	uint32_t cursor = 0, seen = 0;
	char key[16];
	int n;

	while (seen < QPS_MAX &&
	       (n = weft_list(context, WEFT_LIST_QPS, shard, &cursor, items, CTL_BATCH)) != 0) {
		if (n < 0)
			return n;
		for (int i = 0; i < n; i++, seen++) {
			snprintf(key, sizeof(key), "%u", items[i].client);
			count_qp(types, weft_qp_type_str((enum weft_qp_type)items[i].type),
				 (double)items[i].b);
			count_qp(clients, key, (double)items[i].b);
		}
	}
	return 0;
}

static void add_process(struct sample *s, const char *nic, uint32_t shard, const json_t *clients,
			const struct weft_list_item *item)
{
	char key[KEY_CHARS], number[16];
	const json_t *qps;
	json_t *row;

	if (item->type & HW_CLIENT_TOOL)
		return;
	snprintf(number, sizeof(number), "%u", item->id);
	qps = json_object_get(clients, number);
	snprintf(key, sizeof(key), "%s %u client %u %" PRIu64, nic, shard, item->id, item->a);
	row = json_pack("{s:s, s:I, s:o, s:s, s:I, s:I}", "nic", nic, "pid", (json_int_t)item->a,
			"user", shares_user(item->state), "program", item->name, "objects",
			(json_int_t)item->b, "qps",
			qps ? json_integer_value(json_object_get(qps, "qps")) : (json_int_t)0);
	put(row, "tx_bits",
	    8 * rate_of(s, key, qps ? json_real_value(json_object_get(qps, "bytes")) : 0));
	add_row(s, "processes", row);
}

static void add_peer(struct sample *s, const char *nic, const struct weft_list_item *item)
{
	static const char *const states[] = {"?", "closed", "resolving", "hello sent", "open"};
	char ip[INET_ADDRSTRLEN];

	inet_ntop(AF_INET, &item->id, ip, sizeof(ip));
	add_row(s, "peers",
		json_pack("{s:s, s:s, s:s, s:I, s:f}", "nic", nic, "peer", ip, "state",
			  states[item->state < 5 ? item->state : 0], "in_flight",
			  (json_int_t)item->b, "srtt_us", (double)item->a * 1e-3));
}

/* Adds the rows of a shard's list. Returns 0 or -errno. */
static int add_items(struct sample *s, struct weft_context *context, uint32_t shard,
		     enum weft_list_kind kind, const json_t *clients)
{
	struct weft_list_item items[CTL_BATCH];
	uint32_t cursor = 0, seen = 0;
	int n;

	while ((n = weft_list(context, kind, shard, &cursor, items, CTL_BATCH)) > 0 &&
	       seen < QPS_MAX) {
		for (int i = 0; i < n; i++, seen++) {
			items[i].name[sizeof(items[i].name) - 1] = '\0';
			if (kind == WEFT_LIST_CLIENTS)
				add_process(s, context->name, shard, clients, &items[i]);
			else
				add_peer(s, context->name, &items[i]);
		}
	}
	return n < 0 ? n : 0;
}

static void add_types(struct sample *s, const char *nic, json_t *types)
{
	const char *type;
	json_t *entry;

	json_object_foreach (types, type, entry) {
		char key[KEY_CHARS];
		json_t *row = json_pack("{s:s, s:s, s:O}", "nic", nic, "type", type, "qps",
					json_object_get(entry, "qps"));

		snprintf(key, sizeof(key), "%s type %s", nic, type);
		put(row, "tx_bits",
		    8 * rate_of(s, key, json_real_value(json_object_get(entry, "bytes"))));
		add_row(s, "types", row);
	}
}

static int add_nic(struct weft_context *context, void *arg)
{
	struct weft_device_attr dev;
	struct sample *s = arg;
	json_t *types = json_object();
	int rc = weft_query_device(context, &dev);

	if (!rc)
		rc = add_nic_row(s, context, dev.num_shards);
	for (uint32_t shard = 0; !rc && shard < dev.num_shards; shard++) {
		json_t *clients = json_object();

		rc = count_qps(context, shard, types, clients);
		if (!rc)
			rc = add_items(s, context, shard, WEFT_LIST_CLIENTS, clients);
		if (!rc)
			rc = add_items(s, context, shard, WEFT_LIST_PEERS, NULL);
		json_decref(clients);
	}
	if (!rc)
		add_types(s, context->name, types);
	json_decref(types);
	return rc ? fail("%s: %s", context->name, strerror(-rc)) : CTL_OK;
}

static int compare(const json_t *a, const json_t *b)
{
	double x = json_number_value(a), y = json_number_value(b);

	if (json_is_string(a) && json_is_string(b))
		return strcmp(json_string_value(a), json_string_value(b));
	return x < y ? 1 : x > y ? -1 : 0;
}

/* By insertion, which keeps the order of equal rows; tables are short or nearly sorted. */
static void sort_rows(json_t *rows, const char *column)
{
	for (size_t i = 1; i < json_array_size(rows); i++) {
		json_t *row = json_incref(json_array_get(rows, i));
		size_t at = i;

		while (at && compare(json_object_get(json_array_get(rows, at - 1), column),
				     json_object_get(row, column)) > 0)
			at--;
		if (at != i) {
			json_array_remove(rows, i);
			json_array_insert(rows, at, row);
		}
		json_decref(row);
	}
}

json_t *top_sample(const struct ctl *ctl, struct top_past *past, const char *sort)
{
	struct sample s = {.ctl = ctl,
			   .picture = json_object(),
			   .past = past,
			   .values = json_object(),
			   .now_s = clock_now_s()};
	bool some;

	json_object_set_new(s.picture, "time", json_real(s.now_s));
	for (size_t i = 0; i < top_num_tables; i++)
		json_object_set_new(s.picture, top_tables[i].key, json_array());
	past->missing = each_nic(ctl, add_nic, &s, &some) != CTL_OK;
	if (past->missing && !some) {
		json_decref(s.picture);
		json_decref(s.values);
		return NULL;
	}
	json_decref(past->values);
	past->values = s.values;
	past->time_s = s.now_s;
	for (size_t i = 0; i < top_num_tables; i++)
		if (sort || top_tables[i].sort)
			sort_rows(json_object_get(s.picture, top_tables[i].key),
				  sort ? sort : top_tables[i].sort);
	return s.picture;
}

bool top_is_bad(const char *column, const json_t *cell)
{
	if (!strcmp(column, "link"))
		return !json_is_string(cell) || strcmp(json_string_value(cell), "up") != 0;
	return (!strcmp(column, "drops") || !strcmp(column, "again")) &&
	       json_number_value(cell) > 0;
}

void top_text(const char *column, const json_t *cell, char *text, size_t bytes)
{
	static const char prefixes[] = " kMGT";
	double value = json_number_value(cell);
	size_t i = 0;

	if (json_is_string(cell)) {
		snprintf(text, bytes, "%s", json_string_value(cell));
	} else if (json_is_integer(cell)) {
		snprintf(text, bytes, "%" JSON_INTEGER_FORMAT, json_integer_value(cell));
	} else if (!strcmp(column, "busy") || !strcmp(column, "srtt_us")) {
		snprintf(text, bytes, "%.1f", value);
	} else {
		for (; value >= 1000 && i + 2 < sizeof(prefixes); i++)
			value /= 1000;
		snprintf(text, bytes, i ? "%.2f%c" : "%.0f", value, prefixes[i]);
	}
}
