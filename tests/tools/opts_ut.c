/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weft-bench's command line: defaults, limits, and refusal of invalid ones with exit code 2 before
 * anything is opened.
 */
#include "tools/weft-bench/opts.c"
#include "tools/weft-bench/util.c"

#include "tests/tools/words.h"
#include "tests/ut.h"

static int parse(struct opts *o, const char *line)
{
	struct words *w = words_of(line);

	return opts_parse(o, w->argc, w->argv);
}

static void defaults(void)
{
	struct opts o;

	CU_ASSERT_EQUAL(parse(&o, "lat --server"), -1);
	CU_ASSERT_EQUAL(o.mode, BENCH_LAT);
	CU_ASSERT_EQUAL(o.qp, WEFT_QPT_RD);
	CU_ASSERT_EQUAL(o.op, BENCH_SEND);
	CU_ASSERT_EQUAL(o.size, 64);
	CU_ASSERT_EQUAL(o.window, 128);
	CU_ASSERT_EQUAL(o.iters, 10000);
	CU_ASSERT_EQUAL(o.warmup, 100);
	CU_ASSERT_EQUAL(o.port, BENCH_TCP_PORT);
	CU_ASSERT(o.server);
	CU_ASSERT(!o.loop);
	CU_ASSERT_EQUAL(parse(&o, "rate --connect h"), -1);
	CU_ASSERT_EQUAL(o.iters, 1000000);
	CU_ASSERT_EQUAL(o.warmup, 128);
	CU_ASSERT_EQUAL(parse(&o, "loop bw --op write"), -1);
	CU_ASSERT(o.loop);
	CU_ASSERT_EQUAL(o.size, 65536);
	CU_ASSERT_EQUAL(o.window, 64);
	CU_ASSERT_EQUAL(parse(&o, "loop bw --size 16M"), -1);
	CU_ASSERT_EQUAL(o.window, 4);
	CU_ASSERT_EQUAL(parse(&o, "loop lat --op atomic"), -1);
	CU_ASSERT_EQUAL(o.size, 8);
}

static void numbers(void)
{
	struct opts o;

	CU_ASSERT_EQUAL(parse(&o, "bw --connect h --size 1M --iters 7 --warmup 0 --window 3"), -1);
	CU_ASSERT_EQUAL(o.size, 1 << 20);
	CU_ASSERT_EQUAL(o.iters, 7);
	CU_ASSERT_EQUAL(o.warmup, 0);
	CU_ASSERT_EQUAL(o.window, 3);
	CU_ASSERT_EQUAL(parse(&o, "bw --connect h --size 1G --window 2"), -1);
	CU_ASSERT_EQUAL(parse(&o, "bw --connect h --duration 0.25 --timeout 2"), -1);
	CU_ASSERT_DOUBLE_EQUAL(o.duration_s, 0.25, 0);
	CU_ASSERT_EQUAL(parse(&o, "bw --server --port 0"), -1);
	CU_ASSERT_EQUAL(parse(&o, "mem --pid 12 --peers 3 --peer-ip 10.1.2.3"), -1);
	CU_ASSERT_EQUAL(o.peer_ip, 0x0a010203);
	CU_ASSERT_EQUAL(parse(&o, "lat --connect h --event --wakes f"), -1);
	CU_ASSERT_STRING_EQUAL(o.wakes_file, "f");
	CU_ASSERT_EQUAL(parse(&o, "stages --device a --device2 b --duration 0.1 --json"), -1);
	CU_ASSERT_EQUAL(o.mode, BENCH_STAGES);
	CU_ASSERT_EQUAL(parse(&o, "ladder --netdev e0 --device weft0 --peer-ip 10.1.2.3"), -1);
	CU_ASSERT_EQUAL(o.mode, BENCH_LADDER);
	CU_ASSERT_EQUAL(o.iters, 2000);
	CU_ASSERT_EQUAL(parse(&o, "reg --part table2 --device2 weft1"), -1);
	CU_ASSERT_EQUAL(o.size, 16 << 20);
	CU_ASSERT_STRING_EQUAL(o.part, "table2");
	CU_ASSERT_EQUAL(parse(&o, "mpi3 --part overlap --json"), -1);
	CU_ASSERT_EQUAL(o.size, 1 << 20);
	CU_ASSERT_EQUAL(parse(&o, "srq"), -1);
	CU_ASSERT(o.peers == 64 && o.recvs == 32 && o.size == 2048);
}

/* Command lines that must be refused. */
static const char *const wrong[] = {
    "",
    "nonsense",
    "loop",
    "loop file",
    "loop mem",
    "lat",
    "lat --server --connect h",
    "lat --connect",
    "lat --connect h --port 0",
    "lat --connect h --port 65536",
    "lat --server extra",
    "lat --server --bogus",
    "lat --server --json=1",
    "lat --server --device2 weft1",
    "lat --server --event --wakes f",
    "lat --connect h --wakes f",
    "loop lat --event --wakes f",
    "bw --connect h --event --wakes f",
    "loop lat --server",
    "lat --server --qp uc",
    "lat --server --op swap",
    "lat --server --size 0",
    "lat --server --size -1",
    "lat --server --size 1x",
    "lat --server --size 1KK",
    "lat --server --size 1025M",
    "lat --server --size 99999999999999999999",
    "lat --server --size 99999999999999999G",
    "lat --server --iters 0",
    "lat --server --iters +5",
    "lat --server --duration 0",
    "lat --server --duration -1",
    "lat --server --duration nan",
    "lat --server --duration x",
    "lat --server --window 0",
    "lat --server --window 4097",
    "lat --server --sge 17",
    "lat --server --sge 4 --size 3",
    "lat --server --mem heap",
    "bw --server --size 1G --window 3",
    "lat --server --qp ud --op read",
    "lat --server --qp ud --op atomic",
    "lat --server --qp ud --op cas",
    "lat --server --qp ud --op write --size 7",
    "lat --server --op atomic --size 16",
    "lat --server --op atomic --sge 2",
    "lat --server --send f",
    "lat --server --pid 1",
    "lat --server --qps 5",
    "file --server",
    "file --server --send f",
    "file --connect h --recv f",
    "file --server --send f --recv g",
    "file --server --recv f --qp ud",
    "counter --server --qp ud",
    "counter --server --clients 0",
    "counter --server --qp rc",
    "mem --pid 5 --qps 5 --qp rc-esp",
    "mem --pid 5 --qps 5 --qp rc-tcp",
    "lat --connect h --mpa crc",
    "lat --connect h --qp rc-tcp --mpa crc,none",
    "mem --pid 5 --peers 5 --peer-ip 10.0.0.1 --qp rc-tcp --device2 weft1",
    "create --qps 5 --qp rc",
    "mem --qps 5",
    "mem --pid 5",
    "mem --pid 0 --qps 5",
    "mem --pid 5 --qps 5 --peers 5 --peer-ip 10.0.0.1",
    "mem --pid 5 --peers 5",
    "mem --pid 5 --peers 5 --peer-ip 10.0.0",
    "mem --pid 5 --qps 5 --server",
    "stages --server",
    "ladder",
    "ladder --netdev e0 --server",
    "ladder --netdev e0 --qps 5",
    "lat --connect h --netdev e0",
    "stages --connect h",
    "stages --qps 5",
    "loop stages",
    "loop reg",
    "reg --part basic",
    "reg --server",
    "reg --qp rc",
    "mpi3 --part cost",
    "lat --server --part cost",
    "srq --part cost",
    "srq --peers 1",
    "srq --peers 4001",
    "srq --size 63",
    "srq --recvs 0",
    "reg --peers 5",
};

static void refusals(void)
{
	struct opts o;
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		int rc = parse(&o, wrong[i]);

		if (rc != BENCH_USAGE)
			printf("\n'%s' gives %d\n", wrong[i], rc);
		CU_ASSERT_EQUAL(rc, BENCH_USAGE);
	}
}

static void help_ends_well(void)
{
	struct opts o;

	CU_ASSERT_EQUAL(parse(&o, "--help"), BENCH_OK);
	CU_ASSERT_EQUAL(parse(&o, "lat --size 1 --help"), BENCH_OK);
	CU_ASSERT_EQUAL(parse(&o, "--version"), BENCH_OK);
}

UT_MAIN("tools/opts", UT(defaults), UT(numbers), UT(refusals), UT(help_ends_well))
