/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/goal/file/goal_text.c, goal_text_write.c, goal_set.c, goal_label.c: schedules as
 * text.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/host_driver/goal_help.h"
#include "tests/tmp.h"
#include "tests/ut.h"

/* Reads, writes, and compares the text. */
static void writes_as(const char *text, const char *strict)
{
	struct goal_set set;
	char *written;

	help_read_ok(text, &set);
	written = help_write(&set);
	CU_ASSERT_STRING_EQUAL(written, strict);
	if (strcmp(written, strict))
		fprintf(stderr, "--- written:\n%s--- wanted:\n%s", written, strict);
	free(written);
	goal_set_free(&set);
}

static void strict_form_is_kept(void)
{
	static const char *const names[] = {
	    "ping.goal",      "pingpong.goal",   "dissemination4.goal",
	    "started.goal",   "two_nics.goal",   "two_cpus.goal",
	    "wildcards.goal", "no_partner.goal", "order.goal"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *text = help_golden(names[i]);

		writes_as(text, text);
		free(text);
	}
}

static void wider_form(void)
{
	writes_as("// a comment\r\n/* and\n another */ num_ranks /*2*/ 2 // ranks\n"
		  "\trank 0 { first : send 8 b to 1 nic 3 cpu 2 tag 1 // trailing\n"
		  "  calc 5 cpu 255\r\n\n"
		  "  x_1:calc 18446744073709551615 }\n"
		  "rank 1{recv 0b from -1 cpu 0/**/nic 255\n"
		  " requires: recv 8b from 0 tag -1 /* no\n end */\n"
		  " a: calc 1\n a irequires requires\n a requires requires /* x */}  // end",
		  "num_ranks 2\n"
		  "\nrank 0 {\n"
		  "l1: send 8b to 1 tag 1 cpu 2 nic 3\n"
		  "l2: calc 5 cpu 255\n"
		  "l3: calc 18446744073709551615\n"
		  "}\n"
		  "\nrank 1 {\n"
		  "l1: recv 0b from -1 tag 0 nic 255\n"
		  "l2: recv 8b from 0 tag -1\n"
		  "l3: calc 1\n"
		  "l3 requires l2\n"
		  "l3 irequires l2\n"
		  "}\n");
}

/* A dependency on an operation below is written behind that operation. */
static void dependencies_in_any_order(void)
{
	writes_as("num_ranks 1\nrank 0 {\na: calc 1\nb: calc 2\nc: calc 3\n"
		  "a requires c\nb requires c\nb requires c\nb irequires a\na requires c\n}",
		  "num_ranks 1\n"
		  "\nrank 0 {\n"
		  "l1: calc 1\n"
		  "l2: calc 2\n"
		  "l2 irequires l1\n"
		  "l3: calc 3\n"
		  "l1 requires l3\n"
		  "l1 requires l3\n"
		  "l2 requires l3\n"
		  "l2 requires l3\n"
		  "}\n");
}

static void arrays(void)
{
	struct goal_set set;

	help_read_ok("num_ranks 3\nrank 0 {\n}\nrank 1 {\na: send 4b to 1\n\nb: calc 7\n"
		     "c: calc 8\nc requires a\nb requires a\nc irequires b\n}\nrank 2 {\n"
		     "a: recv 1b from 1 tag 4294967294\n}\n",
		     &set);
	CU_ASSERT_EQUAL(set.num_ranks, 3);
	CU_ASSERT_EQUAL(set.num_ops, 4);
	CU_ASSERT_EQUAL(set.rank_first[1], 0);
	CU_ASSERT_EQUAL(set.rank_first[2], 3);
	CU_ASSERT_EQUAL(set.rank_first[3], 4);
	CU_ASSERT_EQUAL(set.ops[0].line, 5);
	CU_ASSERT_EQUAL(set.ops[1].line, 7);
	CU_ASSERT_EQUAL(set.ops[3].tag, GOAL_MAX_TAG);
	/* Successors ascend, whatever the order of the lines. */
	CU_ASSERT_EQUAL(set.edges[GOAL_WAIT_END].first[1], 2);
	CU_ASSERT_EQUAL(set.edges[GOAL_WAIT_END].target[0], 1);
	CU_ASSERT_EQUAL(set.edges[GOAL_WAIT_END].target[1], 2);
	CU_ASSERT_EQUAL(set.edges[GOAL_WAIT_START].first[2], 1);
	CU_ASSERT_EQUAL(set.num_waits[2], 2);
	CU_ASSERT_EQUAL(goal_set_rank(&set, 0), 1);
	CU_ASSERT_EQUAL(goal_set_rank(&set, 2), 1);
	CU_ASSERT_EQUAL(goal_set_rank(&set, 3), 2);
	goal_set_free(&set);
}

#define ONE_RANK "num_ranks 1\nrank 0 {\n"

static const struct {
	const char *text, *error;
} bad[] = {
    {"", "x:1: expected 'num_ranks', found the end of the file"},
    {"rank 0 {\n}\n", "x:1: expected 'num_ranks', found 'rank'"},
    {"num_ranks 0\n", "x:1: num_ranks must be at least 1"},
    {"num_ranks -1\n", "x:1: expected the number of ranks, found '-1'"},
    {"num_ranks 4194305\n", "x:1: the number of ranks is more than 4194304"},
    {"num_ranks 2\nrank 0 {\n}\n", "x:4: the file ends before rank 1 of 2 ranks"},
    {"num_ranks 2\nrank 1 {\n}\n", "x:2: rank 1 stands where rank 0 must"},
    {"num_ranks 2\nrank 0 {\n}\nrank 0 {\n}\n", "x:4: rank 0 stands where rank 1 must"},
    {"num_ranks 1\nrank 0 {\n}\nrank 1 {\n}\n", "x:4: the file goes on after the last"},
    {"num_ranks 1\nrank 0\n{\n}\n", "x:2: expected '{', found the end of the line"},
    {ONE_RANK "calc 1\n", "x:2: rank 0 has no end"},
    {ONE_RANK "calc 1\nrank 1 {\n}\n}\n", "x:4: expected an operation, a label or '}' before"},
    {ONE_RANK "calc\n}", "x:3: expected the time in ns, found the end of the line"},
    {ONE_RANK "calc 1b\n}", "x:3: expected 'cpu' or the end of the line, found 'b'"},
    {ONE_RANK "calc 1 tag 3\n}", "x:3: expected 'cpu' or the end of the line, found 'tag'"},
    {ONE_RANK "calc 1 nic 3\n}", "x:3: expected 'cpu' or the end of the line, found 'nic'"},
    {ONE_RANK "calc 1 calc 2\n}", "x:3: expected 'cpu' or the end"},
    {ONE_RANK "calc 1; calc 2\n}", "x:3: expected the end of the line, found ';'"},
    {ONE_RANK "calc 18446744073709551616\n}",
     "x:3: the time in ns is more than 18446744073709551615"},
    {ONE_RANK "calc -1\n}", "x:3: expected the time in ns, found '-1'"},
    {ONE_RANK "calc 1 cpu 256\n}", "x:3: the number of the cpu is more than 255"},
    {ONE_RANK "send 1b to 0 nic 256\n}", "x:3: the number of the nic is more than 255"},
    {ONE_RANK "send 1b to 0 tag 4294967295\n}", "x:3: the tag is more than 4294967294"},
    {ONE_RANK "send 1b to 0 tag 1 tag 1\n}", "x:3: expected 'tag', 'cpu', 'nic' (each once)"},
    {ONE_RANK "send 1 to 0\n}", "x:3: expected 'b', found 'to'"},
    {ONE_RANK "send 1b from 0\n}", "x:3: expected 'to', found 'from'"},
    {ONE_RANK "recv 1b to 0\n}", "x:3: expected 'from', found 'to'"},
    {ONE_RANK "send 1b to -1\n}", "x:3: expected the rank of the peer, found '-1'"},
    {ONE_RANK "recv 1b from -2\n}", "x:3: expected the rank of the peer, found '-2'"},
    {ONE_RANK "recv 1b from -10\n}", "x:3: expected the rank of the peer, found '-10'"},
    {ONE_RANK "calc 1\nsend 1b to 1\n}", "x:4: send to rank 1: the ranks are 0 to 0"},
    {ONE_RANK "calc 1\nrecv 1b from 9\n}", "x:4: recv from rank 9: the ranks are 0 to 0"},
    {ONE_RANK "_a: calc 1\n}", "x:3: expected an operation, a label or '}', found '_a:'"},
    {ONE_RANK "a calc 1\n}", "x:3: expected ':', 'requires' or 'irequires'"},
    {ONE_RANK "a: b: calc 1\n}", "x:3: expected 'send', 'recv' or 'calc', found 'b:'"},
    {ONE_RANK "send: calc 1\n}", "x:3: expected the size in bytes, found ':'"},
    {ONE_RANK "a: calc 1\nb: calc 2\na: calc 3\n}", "x:5: the label 'a' is that of line 3"},
    {ONE_RANK "a: calc 1\na requires b\n}",
     "x:4: no operation above in this rank has the label 'b'"},
    {ONE_RANK "a: calc 1\nb requires a\nb: calc 1\n}",
     "x:4: no operation above in this rank has the label 'b'"},
    {"num_ranks 2\nrank 0 {\na: calc 1\n}\nrank 1 {\nb: calc 1\nb requires a\n}",
     "x:7: no operation above in this rank has the label 'a'"},
    {ONE_RANK "a: calc 1\na requires a\n}", "x:4: an operation cannot wait for itself: 'a'"},
    {ONE_RANK "a: calc 1\nb: calc 1\nb requires a, a\n}", "x:5: one label in each line"},
    {ONE_RANK "a: calc 1\nb: calc 1\nb requires\n}", "x:5: expected a label, found the end"},
    {ONE_RANK "x: calc 1\na: calc 1\nb: calc 1\nc: calc 1\n"
	      "a requires x\na requires c\nb requires a\nc irequires b\n}",
     "x:4: this operation waits for itself, by way of line 6, line 5"},
    {ONE_RANK "/* a\n*\nb /", "x:3: this comment has no end ('*/')"},
    {"num_ranks 1 /*/\n", "x:1: this comment has no end ('*/')"},
    {ONE_RANK "calc 1\r}", "x:3: expected the end of the line, found the end of the line"},
    {ONE_RANK "\x80\n}", "x:3: expected an operation, a label or '}', found a byte 0x80"},
    {ONE_RANK "\x1b[2J\n}", "x:3: expected an operation, a label or '}', found a byte 0x1b"},
};

static void errors_name_the_line(void)
{
	struct goal_error err;
	struct goal_set set;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CU_ASSERT_EQUAL(help_read(bad[i].text, strlen(bad[i].text), &set, &err), -EINVAL);
		CU_ASSERT(strncmp(err.text, bad[i].error, strlen(bad[i].error)) == 0);
		if (strncmp(err.text, bad[i].error, strlen(bad[i].error)))
			fprintf(stderr, "wanted: %s\ngot:    %s\n", bad[i].error, err.text);
	}
	/* A byte 0 does not end the text. */
	CU_ASSERT_EQUAL(help_read("num_ranks 1\nrank 0 {\n\0}\n", 24, &set, &err), -EINVAL);
	CU_ASSERT_STRING_EQUAL(err.text,
			       "x:3: expected an operation, a label or '}', found a byte 0x00");
}

/* Long names neither overflow nor fill the error. */
static void long_names(void)
{
	static const char front[] = ONE_RANK "a: calc 1\na requires ";
	char name[400], *text = calloc(1, 100000);
	struct goal_error err;
	struct goal_set set;

	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	memset(text, 'b', 99990);
	memcpy(text, front, sizeof(front) - 1);
	CU_ASSERT_EQUAL(help_read(text, 99990, &set, &err), -EINVAL);
	CU_ASSERT(strlen(err.text) < 200);
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	CU_ASSERT_EQUAL(goal_text_read(text, 99990, name, &set, &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "no operation above"));
	free(text);
}

/* Many ranks and operations; labels of one rank are unknown in the next. */
static void many(void)
{
	enum {
		RANKS = 65536,
		OPS = 20000
	};
	char *text = NULL;
	size_t bytes = 0;
	FILE *f = open_memstream(&text, &bytes);
	struct goal_set set, again;

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fprintf(f, "num_ranks %d\n", RANKS);
	for (int r = 0; r < RANKS; r++) {
		fprintf(f, "\nrank %d {\n", r);
		for (int i = 1; i <= (r == 7 ? OPS : 2); i++) {
			fprintf(f, "l%d: calc %d\n", i, i);
			if (i > 1)
				fprintf(f, "l%d requires l%d\n", i, i - 1);
		}
		fprintf(f, "}\n");
	}
	fclose(f);
	help_read_ok(text, &set);
	CU_ASSERT_EQUAL(set.num_ranks, RANKS);
	CU_ASSERT_EQUAL(set.num_ops, 2 * (RANKS - 1) + OPS);
	free(text);
	text = help_write(&set);
	help_read_ok(text, &again);
	CU_ASSERT(help_equal(&set, &again));
	free(text);
	goal_set_free(&set);
	goal_set_free(&again);
}

/* A count of ranks takes no memory, and a long chain takes no stack. */
static void hostile_sizes(void)
{
	enum {
		CHAIN = 100000
	};
	static const char few[] = "num_ranks 4194304\nrank 0 {\n}\n";
	char *text = NULL;
	size_t bytes = 0;
	struct goal_error err;
	struct goal_set set;
	FILE *f;

	CU_ASSERT_EQUAL(help_read(few, sizeof(few) - 1, &set, &err), -EINVAL);
	f = open_memstream(&text, &bytes);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fprintf(f, ONE_RANK);
	for (int i = 0; i < CHAIN; i++)
		fprintf(f, "l%d: calc 1\n", i);
	for (int i = 0; i < CHAIN; i++)
		fprintf(f, "l%d requires l%d\n", i, (i + 1) % CHAIN);
	fprintf(f, "}\n");
	fclose(f);
	CU_ASSERT_EQUAL(help_read(text, bytes, &set, &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "waits for itself, by way of line 4, line 5, "
						"line 6, line 7 and others"));
	free(text);
}

/* A label's place depends on all of its bytes, also behind a multiple of eight. */
static void labels_of_all_lengths(void)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *f = open_memstream(&text, &bytes);
	struct goal_set set;

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fprintf(f, ONE_RANK);
	for (int n = 1; n <= 40; n++)
		for (char last = 'a'; last <= 'z'; last++)
			fprintf(f, "%.*s%c: calc %d\n", n - 1,
				"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", last, n);
	fprintf(f, "aaaaaaaaab requires aaaaaaaab\n}\n");
	fclose(f);
	help_read_ok(text, &set);
	CU_ASSERT_EQUAL(set.num_ops, 40 * 26);
	CU_ASSERT_EQUAL(set.num_waits[9 * 26 + 1], 1);
	CU_ASSERT_EQUAL(set.edges[GOAL_WAIT_END].first[8 * 26 + 2], 1);
	CU_ASSERT_EQUAL(set.edges[GOAL_WAIT_END].first[8 * 26 + 1], 0);
	free(text);
	goal_set_free(&set);
}

static void broken_texts(void)
{
	static const char *const names[] = {"started.goal", "wildcards.goal", "two_nics.goal",
					    "dissemination4.goal"};
	unsigned int good = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *text = help_golden(names[i]);

		good += help_torture(text, strlen(text), 4000, 0x9e3779b97f4a7c15 + i);
		free(text);
	}
	/* Some changes, of a number or of blanks, leave a valid schedule. */
	CU_ASSERT(good > 500 && good < 15000);
}

static void files(void)
{
	char path[TMP_PATH_BYTES];
	int fd = tmp_file(path);
	struct goal_error err;
	struct goal_set set;

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL(write(fd, "num_ranks 1\nrank 0 {\n}", 22), 22);
	close(fd);
	CU_ASSERT_EQUAL(goal_file_load(path, &set, &err), 0);
	CU_ASSERT_EQUAL(set.num_ranks, 1);
	CU_ASSERT_EQUAL(set.num_ops, 0);
	goal_set_free(&set);
	unlink(path);
	CU_ASSERT_EQUAL(goal_file_load(path, &set, &err), -ENOENT);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "No such file"));
	CU_ASSERT_EQUAL(goal_file_load("build", &set, &err), -EISDIR);
	CU_ASSERT_STRING_EQUAL(err.text, "build: Is a directory");
}

static void full_disk(void)
{
	FILE *full = fopen("/dev/full", "w");
	struct goal_set set;

	CU_ASSERT_PTR_NOT_NULL_FATAL(full);
	help_read_ok(ONE_RANK "calc 1\n}", &set);
	CU_ASSERT_EQUAL(goal_text_write(&set, full), -ENOSPC);
	fclose(full);
	goal_set_free(&set);
}

UT_MAIN("host_driver/goal_text", UT(strict_form_is_kept), UT(wider_form),
	UT(dependencies_in_any_order), UT(arrays), UT(errors_name_the_line), UT(long_names),
	UT(many), UT(hostile_sizes), UT(labels_of_all_lengths), UT(broken_texts), UT(files),
	UT(full_disk))
