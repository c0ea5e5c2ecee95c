/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists of NICs and of their objects. Calls libweft's tool functions. docs/host-interface.md
 * "Lists" has the meaning of an item's fields for each kind.
 */
#include "lib/clock.h"
#include "tools/weftctl/ctl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shared_defs/hw_cmd.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

const char *ctl_open_error(void)
{
	switch (errno) {
	case ENODEV:
		return "no such NIC; weftctl list shows all NICs";
	case ECONNREFUSED:
		return "its weftd has ended; start weftd again";
	case EACCES:
		return "permission denied; be root, or in the group weft";
	case EPROTO:
		return "its weftd is of another version of weft; use the weftctl installed with it";
	case EDQUOT:
		return "over quota: your process or user has all the attachments, connections or "
		       "memory that it may; weftctl users shows them, weftd --quota sets limits";
	case ETIMEDOUT:
		return "its weftd does not answer: it is stopped, or stuck; ps -C weftd -o "
		       "pid,stat,wchan shows which; "
		       "kill -CONT resumes one in state T";
	case EUSERS:
		return "the maximum number of processes is attached; weftctl clients lists them";
	default:
		return strerror(errno);
	}
}

static const char *run_dir(void)
{
	const char *dir = secure_getenv("WEFT_RUN_DIR");

	return dir && *dir ? dir : HW_SOCKET_DIR;
}

int each_nic(const struct ctl *ctl, int (*fn)(struct weft_context *context, void *arg), void *arg,
	     bool *some)
{
	struct weft_device *list = NULL;
	struct weft_context *context;
	int num = 1, i, rc = CTL_OK;

	*some = false;
	if (!ctl->nic) {
		num = weft_get_device_list(&list);
		if (num == -EACCES)
			return fail("%s: permission denied; be root, or in the group weft",
				    run_dir());
		if (num < 0)
			return fail("cannot look for NICs in %s: %s", run_dir(), strerror(-num));
		if (!num)
			return fail("no NIC in %s; start weftd, or give its --run-dir", run_dir());
	}
	for (i = 0; i < num; i++) {
		context = weft_open_tool(list ? list[i].path : ctl->nic);
		/* A NIC that was removed since it was listed. */
		if (!context && list && errno == ENODEV)
			continue;
		if (!context) {
			rc = fail("%s: %s", list ? list[i].name : ctl->nic, ctl_open_error());
			continue;
		}
		if (fn(context, arg) == CTL_OK)
			*some = true;
		else
			rc = CTL_FAILED;
		weft_close_device(context);
	}
	if (list)
		weft_free_device_list(list);
	return rc;
}

/* The load of each shard in percent: a new reference, or NULL with an error printed. */
static json_t *list_load(struct weft_context *context, uint32_t num_shards)
{
	json_t *load = json_array();

	for (uint32_t shard = 0; shard < num_shards; shard++) {
		uint64_t permille = 0;
		int rc = stats_value(context, shard, "shard_load_permille", &permille);

		if (rc) {
			fail("%s: load of shard %u: %s", context->name, shard, strerror(-rc));
			json_decref(load);
			return NULL;
		}
		json_array_append_new(load, json_integer((json_int_t)(permille + 5) / 10));
	}
	return load;
}

static int list_nic(struct weft_context *context, void *arg)
{
	struct weft_device_attr dev;
	struct weft_port_attr port;
	char ip[24];
	json_t *row, *rows = arg, *address, *load;
	int rc = weft_query_device(context, &dev);

	if (!rc)
		rc = weft_query_port(context, &port);
	if (rc)
		return fail("%s: %s", context->name, strerror(-rc));
	load = list_load(context, dev.num_shards);
	if (!load)
		return CTL_FAILED;
	address = out_ip(port.ip);
	snprintf(ip, sizeof(ip), "%s/%u", json_string_value(address), port.ip_prefix);
	json_decref(address);
	row = json_pack("{s:s, s:s, s:o, s:I, s:s, s:I, s:I}", "nic", dev.name, "ip", ip, "mac",
			out_mac(port.mac), "mtu", (json_int_t)port.mtu_bytes, "link",
			port.link_up ? "up" : "down", "mbps", (json_int_t)port.link_mbps, "shards",
			(json_int_t)dev.num_shards);
	json_object_update_new(
	    row,
	    json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "coll_shards",
		      (json_int_t)dev.num_coll_shards, "max_qp", (json_int_t)dev.max_qp, "max_cq",
		      (json_int_t)dev.max_cq, "max_mr", (json_int_t)dev.max_mr, "max_srq",
		      (json_int_t)dev.max_srq, "max_peers", (json_int_t)dev.max_peers, "max_wr",
		      (json_int_t)dev.max_wr, "max_msg_bytes", (json_int_t)dev.max_msg_bytes));
	json_object_set_new(row, "load_percent", load);
	return json_array_append_new(rows, row) ? fail("out of memory") : CTL_OK;
}

int run_list(const struct ctl *ctl)
{
	static const struct out_column columns[] = {
	    {"nic", "NIC"},       {"ip", "ADDRESS"},       {"mac", "MAC"},
	    {"mtu", "MTU"},       {"link", "LINK"},        {"mbps", "MBIT/S"},
	    {"shards", "SHARDS"}, {"coll_shards", "COLL"}, {"load_percent", "LOAD%"},
	};
	json_t *rows = json_array();
	bool some;
	int rc = each_nic(ctl, list_nic, rows, &some);

	return out_rows(ctl, rc, some, columns, COUNT(columns), rows);
}

/* An MR's access rights as "read|write" and so on. */
static json_t *access_text(uint32_t access)
{
	static const char *const names[] = {"local_write",   "remote_write", "remote_read",
					    "remote_atomic", "mw_bind",      "zero_based"};
	char text[96] = "";
	size_t i, at = 0;

	for (i = 0; i < COUNT(names); i++)
		if (access & 1u << i)
			at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", at ? "," : "",
					       names[i]);
	return json_string(at ? text : "local_read");
}

static const char *name_of(const char *const *names, size_t num, uint32_t value)
{
	return value < num && names[value] ? names[value] : "?";
}

static double seconds_since(uint64_t ns)
{
	return clock_now_s() - (double)ns * 1e-9;
}

static json_t *client_row(const struct weft_list_item *item)
{
	static const char *const uses[] = {
	    [WEFT_USE_LIBWEFT] = "libweft", [WEFT_USE_VERBS] = "verbs",
	    [WEFT_USE_SOCKETS] = "sockets", [WEFT_USE_LIBFABRIC] = "libfabric",
	    [WEFT_USE_GOAL] = "goal",
	};
	bool tool = item->type & HW_CLIENT_TOOL;

	return json_pack("{s:I, s:I, s:I, s:o, s:s, s:I, s:b, s:s, s:I}", "client",
			 (json_int_t)item->id, "pid", (json_int_t)item->a, "uid",
			 (json_int_t)item->state, "user", shares_user(item->state), "program",
			 item->name, "objects", (json_int_t)item->b, "tool", tool, "interface",
			 tool ? "-" : name_of(uses, COUNT(uses), item->type >> HW_CLIENT_USE_SHIFT),
			 "forged", (json_int_t)item->forged);
}

static json_t *qp_row(const struct weft_list_item *item)
{
	return json_pack("{s:o, s:s, s:s, s:I, s:o, s:I}", "qpn", out_hex(item->id), "type",
			 weft_qp_type_str((enum weft_qp_type)item->type), "state",
			 weft_qp_state_str((enum weft_qp_state)item->state), "client",
			 (json_int_t)item->client, "dst_qpn", out_hex(item->a), "tx_bytes",
			 (json_int_t)item->b);
}

static json_t *mr_row(const struct weft_list_item *item)
{
	static const char *const kinds[] = {[1] = "region", [2] = "window", [3] = "invalidated"};

	return json_pack("{s:o, s:I, s:s, s:s, s:o, s:I, s:o}", "stag", out_hex(item->id), "client",
			 (json_int_t)item->client, "kind",
			 name_of(kinds, COUNT(kinds), item->state), "way", item->name, "addr",
			 out_hex(item->a), "bytes", (json_int_t)item->b, "access",
			 access_text(item->type));
}

static json_t *cq_row(const struct weft_list_item *item)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:b}", "cq", (json_int_t)item->id, "client",
			 (json_int_t)item->client, "entries", (json_int_t)item->a, "produced",
			 (json_int_t)item->b, "overrun", item->state != 0);
}

static json_t *neigh_row(const struct weft_list_item *item)
{
	return json_pack("{s:o, s:o, s:s, s:f}", "ip", out_ip(item->id), "mac", out_mac(item->mac),
			 "state", item->state ? "reachable" : "incomplete", "confirmed_s",
			 item->a ? seconds_since(item->a) : 0.0);
}

static json_t *peer_row(const struct weft_list_item *item)
{
	static const char *const states[] = {
	    [1] = "closed", [2] = "resolving", [3] = "hello sent", [4] = "open"};

	return json_pack("{s:o, s:I, s:s, s:f, s:I, s:I, s:o}", "ip", out_ip(item->id),
			 "peer_shard", (json_int_t)item->type, "state",
			 name_of(states, COUNT(states), item->state), "srtt_us",
			 (double)item->a * 1e-3, "in_flight", (json_int_t)item->b, "packet_bytes",
			 (json_int_t)item->more[0], "mac", out_mac(item->mac));
}

static json_t *group_row(const struct weft_list_item *item)
{
	return json_pack("{s:o, s:o, s:s, s:I, s:I, s:I}", "group", out_ip(item->id), "mac",
			 out_mac(item->mac), "state", item->state ? "joined" : "leaving", "qps",
			 (json_int_t)item->a, "packets", (json_int_t)item->b, "reports_left",
			 (json_int_t)item->type);
}

struct objects {
	const char *command;
	enum weft_list_kind kind;
	json_t *(*row)(const struct weft_list_item *item);
	struct out_column columns[12];
};

static const struct objects all_objects[] = {
    {"clients",
     WEFT_LIST_CLIENTS,
     client_row,
     {{"nic", "NIC"},
      {"shard", "SHARD"},
      {"client", "CLIENT"},
      {"pid", "PID"},
      {"objects", "OBJECTS"},
      {"tool", "TOOL"},
      {"interface", "INTERFACE"},
      {"user", "USER"},
      {"share", "SHARE"},
      {"forged", "FORGED"},
      {"program", "PROGRAM"}}},
    {"qps",
     WEFT_LIST_QPS,
     qp_row,
     {{"nic", "NIC"},
      {"shard", "SHARD"},
      {"qpn", "QPN"},
      {"type", "TYPE"},
      {"state", "STATE"},
      {"client", "CLIENT"},
      {"dst_qpn", "DST_QPN"},
      {"tx_bytes", "TX_BYTES"}}},
    {"mrs",
     WEFT_LIST_MRS,
     mr_row,
     {{"nic", "NIC"},
      {"shard", "SHARD"},
      {"stag", "STAG"},
      {"client", "CLIENT"},
      {"kind", "KIND"},
      {"way", "WAY"},
      {"addr", "ADDR"},
      {"bytes", "BYTES"},
      {"access", "ACCESS"}}},
    {"cqs",
     WEFT_LIST_CQS,
     cq_row,
     {{"nic", "NIC"},
      {"shard", "SHARD"},
      {"cq", "CQ"},
      {"client", "CLIENT"},
      {"entries", "ENTRIES"},
      {"produced", "PRODUCED"},
      {"overrun", "OVERRUN"}}},
    {"neigh",
     WEFT_LIST_NEIGHBOURS,
     neigh_row,
     {{"nic", "NIC"},
      {"shard", "SHARD"},
      {"ip", "ADDRESS"},
      {"mac", "MAC"},
      {"state", "STATE"},
      {"confirmed_s", "CONFIRMED_S"}}},
    {"peers",
     WEFT_LIST_PEERS,
     peer_row,
     {{"nic", "NIC"},
      {"shard", "SHARD"},
      {"ip", "ADDRESS"},
      {"peer_shard", "PEER_SHARD"},
      {"state", "STATE"},
      {"srtt_us", "SRTT_US"},
      {"in_flight", "IN_FLIGHT"},
      {"packet_bytes", "PACKET"},
      {"mac", "MAC"}}},
    {"groups",
     WEFT_LIST_GROUPS,
     group_row,
     {{"nic", "NIC"},
      {"shard", "SHARD"},
      {"group", "GROUP"},
      {"mac", "MAC"},
      {"state", "STATE"},
      {"qps", "QPS"},
      {"packets", "PACKETS"},
      {"reports_left", "REPORTS_LEFT"}}},
};

static const struct objects *find_objects(const char *command)
{
	size_t i;

	for (i = 0; i < COUNT(all_objects); i++)
		if (!strcmp(all_objects[i].command, command))
			return &all_objects[i];
	return NULL;
}

bool is_objects(const char *command)
{
	return find_objects(command) != NULL;
}

struct collect {
	const struct objects *objects;
	json_t *rows;
};

static int collect_shard(struct weft_context *context, struct collect *c, uint32_t shard)
{
	struct weft_list_item items[CTL_BATCH];
	uint32_t cursor = 0;
	json_t *row, *shares = NULL;
	int n, i;

	if (c->objects->kind == WEFT_LIST_CLIENTS) {
		int rc = shares_of_processes(context, shard, &shares);

		if (rc != CTL_OK)
			return rc;
	}
	while ((n = weft_list(context, c->objects->kind, shard, &cursor, items, CTL_BATCH)) > 0) {
		for (i = 0; i < n; i++) {
			items[i].name[sizeof(items[i].name) - 1] = '\0';
			row = c->objects->row(&items[i]);
			if (!row) {
				json_decref(shares);
				return fail("%s: an item cannot be shown", context->name);
			}
			json_object_set_new(row, "nic", json_string(context->name));
			json_object_set_new(row, "shard", json_integer(shard));
			if (shares)
				json_object_set_new(
				    row, "share",
				    shares_largest(shares, items[i].state, (uint32_t)items[i].a));
			json_array_append_new(c->rows, row);
		}
	}
	json_decref(shares);
	return n ? fail("%s: %s", context->name, strerror(-n)) : CTL_OK;
}

static int collect_nic(struct weft_context *context, void *arg)
{
	struct weft_device_attr dev;
	int rc = weft_query_device(context, &dev);
	uint32_t shard;

	if (rc)
		return fail("%s: %s", context->name, strerror(-rc));
	for (shard = 0; shard < dev.num_shards && rc == CTL_OK; shard++)
		rc = collect_shard(context, arg, shard);
	return rc;
}

int run_objects(const struct ctl *ctl)
{
	const struct objects *o = find_objects(ctl->command);
	struct collect c = {.objects = o, .rows = json_array()};
	size_t num = 0;
	bool some;
	int rc = each_nic(ctl, collect_nic, &c, &some);

	while (num < COUNT(o->columns) && o->columns[num].key)
		num++;
	return out_rows(ctl, rc, some, o->columns, num, c.rows);
}
