/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weft-irqs' reports as text, JSON and CSV, of a report in this file.
 */
#include "tools/weft-irqs/hist.c"
#include "tools/weft-irqs/irqs_report.c"
#include "tools/weft-irqs/out.c"
#include "tools/weft-irqs/out_json.c"

#include <stdarg.h>

#include "tests/ut.h"

int fail(const char *fmt, ...)
{
	CU_ASSERT_STRING_EQUAL(fmt, "nothing fails");
	return TOOL_FAILED;
}

static char *words[] = {"bench", "--event", NULL};
static struct irqs_wake_row wakes[2];
static struct irqs_netdev_row netdevs[2];
static const char *const missing[] = {"napi_poll"};

static void add_latency(struct irqs_hist *hist, uint64_t ns)
{
	hist->count++;
	hist->sum_ns += ns;
	hist->max_ns = ns > hist->max_ns ? ns : hist->max_ns;
	hist->bucket[irqs_bucket(ns)]++;
}

static struct irqs_report *make_report(void)
{
	struct irqs_report *r = calloc(1, sizeof(*r));
	struct irqs_slot_counts *c;

	CU_ASSERT_PTR_NOT_NULL_FATAL(r);
	memset(wakes, 0, sizeof(wakes));
	memset(netdevs, 0, sizeof(netdevs));
	r->time_ns = 2500000000;
	r->num_rows = IRQS_SLOT_FIRST + 2; /* the second one has no data */
	r->row[IRQS_SLOT_FIRST].proc = (struct irqs_proc){.pid = 42, .comm = "a \"b\""};
	c = &r->row[IRQS_SLOT_FIRST].counts;
	c->cpu_ns = 1500000;
	c->voluntary = 10;
	c->involuntary = 3;
	c->wakeups = 9;
	c->wakes_given = 4;
	c->softirqs[IRQS_NET_RX] = 7;
	c->softirq_ns[IRQS_NET_RX] = 2000000;
	r->row[IRQS_SLOT_REST].counts.softirqs[IRQS_NET_RX] = 5;
	wakes[0].key = (struct irqs_wake_key){IRQS_SLOT_FIRST, IRQS_BY_PROCESS, 77};
	wakes[0].selected = true;
	memcpy(wakes[0].wake.comm, "weftd", 6);
	add_latency(&wakes[0].wake.latency, 3000);
	add_latency(&wakes[0].wake.latency, 5000);
	wakes[1].key = (struct irqs_wake_key){IRQS_SLOT_FIRST, IRQS_BY_SOFTIRQ, IRQS_TIMER};
	add_latency(&wakes[1].wake.latency, 9000);
	r->wake = wakes;
	r->num_wakes = 2;
	netdevs[0].key = (struct irqs_netdev_key){.ifindex = 2, .netns = 9};
	netdevs[0].netdev =
	    (struct irqs_netdev){.name = "eth0", .polls = 4, .packets = 10, .full = 1};
	netdevs[1].key = (struct irqs_netdev_key){.ifindex = 3, .netns = 9};
	netdevs[1].netdev = (struct irqs_netdev){.name = "eth1", .polls = 1};
	r->netdev = netdevs;
	r->num_netdevs = 2;
	r->missing = missing;
	return r;
}

/* Returns the output, to be freed. */
static char *print(struct tool *tool, const struct irqs_report *report, bool last)
{
	struct tool_print p = {
	    .tool = tool, .report = report, .at_s = 2.5, .last = last, .status = 3};
	char *text = NULL;
	size_t bytes;

	tool->out = open_memstream(&text, &bytes);
	CU_ASSERT_PTR_NOT_NULL_FATAL(tool->out);
	CU_ASSERT_EQUAL(out_print(&p), 0);
	fclose(tool->out);
	return text;
}

/* Runs of blanks as one: column widths are not tested. */
static char *squeeze(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++)
		if (*from != ' ' || (to > text && to[-1] != ' '))
			*to++ = *from;
	*to = '\0';
	return text;
}

static void text(void)
{
	struct tool tool = {.netns = 9, .command = words};
	struct irqs_report *r = make_report();
	char *t = squeeze(print(&tool, r, true));

	CU_ASSERT_PTR_NOT_NULL(strstr(t, "weft-irqs: bench --event, 2.500 s\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(t, " a \"b\" 42 1.500 10 3 9 0 4 7 2.000 0\n"));
	CU_ASSERT_PTR_NULL(strstr(t, "all of these 1.500")); /* equals the one row */
	CU_ASSERT_PTR_NOT_NULL(strstr(t, " NET_RX 7 2.000 12 2.000\n"));
	CU_ASSERT_PTR_NULL(strstr(t, "TIMER"));
	CU_ASSERT_PTR_NOT_NULL(strstr(t, " eth0 4 10 2.5 1\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(t, " a \"b\" 42 weftd 77 2 4.0 2.8 4.6 4.6 5.0\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(t, " 2048 -> 4095 : 1 |****"));
	CU_ASSERT_PTR_NOT_NULL(strstr(t, " 4096 -> 8191 : 1 |****"));
	CU_ASSERT_PTR_NULL(strstr(t, "lost:"));
	free(t);

	r->lost.wakes = 5;
	r->num_missing = 1;
	t = squeeze(print(&tool, r, true));
	CU_ASSERT_PTR_NOT_NULL(
	    strstr(t, "lost: 0 processes, 5 wake-ups' times, 0 polls, 0 switches, 0 events\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(t, "does not report: napi_poll\n"));
	free(t);
	free(r);
}

static void interfaces(void)
{
	struct tool tool = {.netns = 9, .num_ifaces = 1, .ifindex = {3}};
	struct irqs_report *r = make_report();
	char *t = print(&tool, r, true);

	CU_ASSERT_PTR_NOT_NULL(strstr(t, "eth1"));
	CU_ASSERT_PTR_NULL(strstr(t, "eth0"));
	free(t);
	/* The same number in another namespace is another process. */
	tool.netns = 8;
	t = print(&tool, r, true);
	CU_ASSERT_PTR_NULL(strstr(t, "eth1"));
	CU_ASSERT_PTR_NOT_NULL(strstr(t, "no NAPI polls"));
	free(t);
	free(r);
}

/* Several processes of one name: one row. */
static void many(void)
{
	struct tool tool = {.netns = 9};
	struct irqs_report *r = make_report();
	char *t;

	for (uint32_t i = 0; i < 20; i++) {
		struct irqs_row *row = &r->row[IRQS_SLOT_FIRST + 1 + i];

		row->proc = (struct irqs_proc){.pid = 100 + i, .comm = "sh"};
		row->counts.voluntary = 2;
	}
	r->num_rows = IRQS_SLOT_FIRST + 21;
	t = squeeze(print(&tool, r, true));
	CU_ASSERT_PTR_NOT_NULL(strstr(t, " sh x 20 0.000 40 0 "));
	CU_ASSERT_PTR_NOT_NULL(strstr(t, " all of these 1.500 50 3 "));
	CU_ASSERT_PTR_NOT_NULL(strstr(t, " a \"b\" weftd 2 "));
	free(t);
	free(r);
}

static json_int_t number(const json_t *object, const char *a, const char *b)
{
	const json_t *value = json_object_get(json_object_get(object, a), b);

	CU_ASSERT_TRUE(json_is_integer(value));
	return json_integer_value(value);
}

static void json(void)
{
	struct tool tool = {.netns = 9, .command = words, .format = TOOL_JSON};
	struct irqs_report *r = make_report();
	json_t *j, *process, *latency;
	char *t;

	r->lost.switches = 6;
	t = print(&tool, r, true);
	j = json_loads(t, 0, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(j);
	CU_ASSERT_PTR_EQUAL(strchr(t, '\n'), t + strlen(t) - 1);
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(j, "status")), 3);
	CU_ASSERT_EQUAL(json_array_size(json_object_get(j, "command")), 2);
	CU_ASSERT_EQUAL(json_array_size(json_object_get(j, "processes")), 1);
	process = json_array_get(json_object_get(j, "processes"), 0);
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(process, "comm")), "a \"b\"");
	CU_ASSERT_EQUAL(number(process, "softirqs", "NET_RX"), 7);
	CU_ASSERT_EQUAL(number(j, "all", "voluntary"), 10);
	CU_ASSERT_EQUAL(number(j, "lost", "wakes"), 0);
	CU_ASSERT_EQUAL(number(j, "lost", "switches"), 6);
	latency = json_object_get(json_object_get(j, "all"), "wake_latency");
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(latency, "count")), 2);
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(latency, "max_ns")), 5000);
	CU_ASSERT_EQUAL(json_array_size(json_object_get(latency, "buckets")), 2);
	/* Processes without times have a row, too, which says so. */
	CU_ASSERT_EQUAL(json_array_size(json_object_get(j, "wakes")), 2);
	CU_ASSERT_TRUE(json_is_false(
	    json_object_get(json_array_get(json_object_get(j, "wakes"), 1), "selected")));
	json_decref(j);
	free(t);
	free(r);
}

static void csv(void)
{
	struct tool tool = {.netns = 9, .format = TOOL_CSV};
	struct irqs_report *r = make_report();
	char *t = print(&tool, r, true);

	CU_ASSERT_EQUAL(strncmp(t, "seconds,what,name,id,counter,value\n", 35), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(t, "\n2.500000,process,\"a \"\"b\"\"\",42,voluntary,10\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(t, "\n2.500000,all,\"\",0,softirqs_NET_RX,7\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(t, "\n2.500000,rest,\"\",0,softirqs_NET_RX,5\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(t, "\n2.500000,interface,\"eth0\",2,napi_packets,10\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(t, "\n2.500000,waker,\"weftd\",77,wake_max_ns,5000\n"));
	CU_ASSERT_PTR_NULL(strstr(t, "waker,\"TIMER\""));
	free(t);
	/* The head comes once. */
	tool.interval_s = 1;
	r->time_ns = 1000000000;
	t = print(&tool, r, false);
	CU_ASSERT_PTR_NULL(strstr(t, "seconds,what"));
	free(t);
	r->time_ns = 2500000000;
	t = print(&tool, r, false);
	CU_ASSERT_PTR_NOT_NULL(strstr(t, "seconds,what"));
	free(t);
	t = print(&tool, r, true);
	CU_ASSERT_PTR_NULL(strstr(t, "seconds,what"));
	free(t);
	free(r);
}

/* A process may have any bytes for a name, and the kernel cuts UTF-8 in the middle of a letter. */
static void names(void)
{
	struct tool tool = {.netns = 9, .format = TOOL_JSON};
	struct irqs_report *r = make_report();
	json_t *object, *process;
	char *t;

	memcpy(r->row[IRQS_SLOT_FIRST].proc.comm, "\033[2Jm\xc3\xbcll\xc3", 11);
	memcpy(wakes[0].wake.comm, "\xff", 2);
	memcpy(netdevs[0].netdev.name, "e\x9b", 3);
	irqs_report_plain(r);
	t = print(&tool, r, true);
	object = json_loads(t, 0, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(object);
	process = json_array_get(json_object_get(object, "processes"), 0);
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(process, "comm")), "?[2Jm??ll?");
	CU_ASSERT_EQUAL(json_array_size(json_object_get(object, "wakes")), 2);
	CU_ASSERT_EQUAL(json_array_size(json_object_get(object, "interfaces")), 2);
	json_decref(object);
	free(t);
	free(r);
}

UT_MAIN("tools/irqs_out", UT(text), UT(interfaces), UT(many), UT(json), UT(csv), UT(names))
