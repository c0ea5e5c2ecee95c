/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NICs on interfaces of the kernel by AF_XDP: the mode of the XDP program, its counts of received
 * frames, and each queue of the interface.
 *
 * All of it is among the counters of shard 0, whose core owns the port (docs/xdp.md).
 */
#include "tools/weftctl/ctl.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct xdp {
	json_t *nics; /* an object for each that is on AF_XDP */
};

static json_int_t value_of(const json_t *stats, const char *name)
{
	return json_integer_value(json_object_get(stats, name));
}

/* The counters of shard 0 that begin with "xdp_" or "xsk_"; NULL after an error message. */
static json_t *read_stats(struct weft_context *context)
{
	struct weft_stat stats[CTL_BATCH];
	json_t *all = json_object();
	uint32_t cursor = 0;
	int n, i;

	while ((n = weft_stats(context, 0, &cursor, stats, CTL_BATCH)) > 0) {
		for (i = 0; i < n; i++) {
			stats[i].name[sizeof(stats[i].name) - 1] = '\0';
			if (!strncmp(stats[i].name, "xdp_", 4) ||
			    !strncmp(stats[i].name, "xsk_", 4))
				json_object_set_new(all, stats[i].name,
						    json_integer((json_int_t)stats[i].value));
		}
	}
	if (!n)
		return all;
	json_decref(all);
	fail("%s: %s", context->name, strerror(-n));
	return NULL;
}

static json_int_t queue_value(const json_t *stats, uint32_t queue, const char *what)
{
	char name[64];

	snprintf(name, sizeof(name), "xsk_queue%" PRIu32 "_%s", queue, what);
	return value_of(stats, name);
}

static json_t *queue_rows(const json_t *stats)
{
	json_t *rows = json_array();
	uint32_t queue;
	char name[64];

	for (queue = 0;; queue++) {
		snprintf(name, sizeof(name), "xsk_queue%" PRIu32 "_rx", queue);
		if (!json_object_get(stats, name))
			return rows;
		json_array_append_new(
		    rows, json_pack("{s:I, s:I, s:s, s:I, s:I, s:I, s:I}", "queue",
				    (json_int_t)queue, "shard", (json_int_t)0, "buffers",
				    queue_value(stats, queue, "zero_copy") ? "zero-copy" : "copy",
				    "rx", queue_value(stats, queue, "rx"), "tx",
				    queue_value(stats, queue, "tx"), "rx_dropped",
				    queue_value(stats, queue, "rx_dropped"), "rx_ring_full",
				    queue_value(stats, queue, "rx_ring_full")));
	}
}

/* The counters by reason: names behind "xdp_". */
static json_t *frames_of(json_t *stats)
{
	json_t *frames = json_object();
	void *at;

	for (at = json_object_iter(stats); at; at = json_object_iter_next(stats, at)) {
		const char *name = json_object_iter_key(at);

		if (!strncmp(name, "xdp_taken_", 10) || !strncmp(name, "xdp_passed_", 11) ||
		    !strncmp(name, "xdp_dropped_", 12))
			json_object_set(frames, name + 4, json_object_iter_value(at));
	}
	return frames;
}

static int add_nic(struct weft_context *context, void *arg)
{
	struct xdp *xdp = arg;
	json_t *stats = read_stats(context);

	if (!stats)
		return CTL_FAILED;
	if (json_object_get(stats, "xdp_prog_id"))
		json_array_append_new(
		    xdp->nics,
		    json_pack("{s:s, s:I, s:s, s:s, s:I, s:I, s:I, s:I, s:o, s:o}", "nic",
			      context->name, "prog_id", value_of(stats, "xdp_prog_id"), "mode",
			      value_of(stats, "xdp_generic") ? "generic" : "native", "address",
			      value_of(stats, "xdp_shared_address") ? "shared" : "own", "tcp_ports",
			      value_of(stats, "xdp_tcp_ports"), "taken",
			      value_of(stats, "xdp_taken"), "passed", value_of(stats, "xdp_passed"),
			      "dropped", value_of(stats, "xdp_dropped"), "frames", frames_of(stats),
			      "queues", queue_rows(stats)));
	json_decref(stats);
	return CTL_OK;
}

static void print_queue(const json_t *row)
{
	printf("  queue %" JSON_INTEGER_FORMAT ": shard %" JSON_INTEGER_FORMAT
	       ", %s, rx %" JSON_INTEGER_FORMAT ", tx %" JSON_INTEGER_FORMAT
	       ", lost %" JSON_INTEGER_FORMAT " without a buffer, %" JSON_INTEGER_FORMAT
	       " without room\n",
	       value_of(row, "queue"), value_of(row, "shard"),
	       json_string_value(json_object_get(row, "buffers")), value_of(row, "rx"),
	       value_of(row, "tx"), value_of(row, "rx_dropped"), value_of(row, "rx_ring_full"));
}

/* "taken_udp 17, taken_tcp 4": the nonzero counters of one sort. */
static void print_frames(const json_t *nic, const char *sort)
{
	json_t *frames = json_object_get(nic, "frames");
	size_t chars = strlen(sort);
	const char *before = ": ";
	void *at;

	printf("  %s %" JSON_INTEGER_FORMAT, sort, value_of(nic, sort));
	for (at = json_object_iter(frames); at; at = json_object_iter_next(frames, at)) {
		json_int_t value = json_integer_value(json_object_iter_value(at));
		const char *name = json_object_iter_key(at);

		if (!value || strncmp(name, sort, chars))
			continue;
		printf("%s%s %" JSON_INTEGER_FORMAT, before, name + chars + 1, value);
		before = ", ";
	}
	printf("\n");
}

static void print_nic(const json_t *nic)
{
	json_t *queues = json_object_get(nic, "queues");
	size_t i;

	printf("%s: XDP program %" JSON_INTEGER_FORMAT ", %s, at %s; %" JSON_INTEGER_FORMAT
	       " ports of TCP in use\n",
	       json_string_value(json_object_get(nic, "nic")), value_of(nic, "prog_id"),
	       json_string_value(json_object_get(nic, "mode")),
	       strcmp(json_string_value(json_object_get(nic, "address")), "own")
		   ? "an address shared with the kernel"
		   : "an address of its own",
	       value_of(nic, "tcp_ports"));
	print_frames(nic, "taken");
	print_frames(nic, "passed");
	print_frames(nic, "dropped");
	for (i = 0; i < json_array_size(queues); i++)
		print_queue(json_array_get(queues, i));
}

int run_xdp(const struct ctl *ctl)
{
	struct xdp xdp = {.nics = json_array()};
	bool some;
	int rc = each_nic(ctl, add_nic, &xdp, &some);
	size_t i;

	if (rc == CTL_OK && ctl->nic && !json_array_size(xdp.nics))
		rc =
		    fail("%s: the NIC does not use AF_XDP on an interface of the kernel", ctl->nic);
	if (some && (rc == CTL_OK || !ctl->nic) && ctl->json)
		return out_json(xdp.nics) == CTL_OK ? rc : CTL_FAILED;
	for (i = 0; i < json_array_size(xdp.nics); i++)
		print_nic(json_array_get(xdp.nics, i));
	json_decref(xdp.nics);
	return rc;
}
