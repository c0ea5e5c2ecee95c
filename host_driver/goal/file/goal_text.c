/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads GOAL schedules as text.
 *
 * docs/goal-format.md defines the grammar. The parser is recursive descent without recursion: a
 * file is a count followed by ranks, a rank is a list of lines, a line is an operation or a
 * dependency. Every function returns 0, or a negative errno with the error set. Calls goal_set.c
 * and goal_label.c.
 */
#include "host_driver/goal/file/goal_text.h"

#include <errno.h>
#include <string.h>

#include "host_driver/goal/compile/goal_label.h"

struct word {
	const char *at;
	size_t bytes; /* 0: no word at this place */
};

struct reader {
	const char *p, *end;
	uint64_t line;
	const char *name;
	struct goal_error *err;
	struct goal_build build;
	struct goal_labels labels;
};

#define MAX_LINES UINT32_MAX

static int fail_at(struct reader *r, uint64_t line, const char *what, struct word w)
{
	return goal_error_at(r->err, r->name, line, "%s '%.*s'", what,
			     (int)(w.bytes < 64 ? w.bytes : 64), w.at);
}

static bool is_alpha(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Reports a syntax error that names the expected token and the actual one. */
static int expected(struct reader *r, const char *what)
{
	char here[40];
	size_t n = 0;

	while (n < 24 && r->p + n < r->end && r->p[n] > ' ' && r->p[n] < 127)
		n++;
	if (n)
		snprintf(here, sizeof(here), "'%.*s'", (int)n, r->p);
	else if (r->p == r->end)
		snprintf(here, sizeof(here), "the end of the file");
	else if (*r->p == '\n' || *r->p == '\r')
		snprintf(here, sizeof(here), "the end of the line");
	else
		snprintf(here, sizeof(here), "a byte 0x%02x", (unsigned char)*r->p);
	return goal_error_at(r->err, r->name, r->line, "expected %s, found %s", what, here);
}

/* Skips a block comment that starts here. */
static int skip_comment(struct reader *r)
{
	uint64_t start = r->line;

	for (r->p += 2; r->end - r->p >= 2; r->p++) {
		if (r->p[0] == '*' && r->p[1] == '/') {
			r->p += 2;
			return 0;
		}
		if (*r->p == '\n')
			r->line++;
	}
	return goal_error_at(r->err, r->name, start, "this comment has no end ('*/')");
}

/* Skips blanks and comments, and line ends if lines is set. */
static int skip(struct reader *r, bool lines)
{
	while (r->p < r->end) {
		char c = *r->p;
		size_t left = (size_t)(r->end - r->p);

		if (c == ' ' || c == '\t' || (c == '\r' && left > 1 && r->p[1] == '\n')) {
			r->p++;
		} else if (c == '\n' && lines) {
			r->line++;
			r->p++;
		} else if (c == '/' && left > 1 && r->p[1] == '/') {
			const char *newline = memchr(r->p, '\n', left);

			r->p = newline ? newline : r->end;
		} else if (c == '/' && left > 1 && r->p[1] == '*') {
			int rc = skip_comment(r);

			if (rc)
				return rc;
		} else {
			break;
		}
	}
	if (r->line > MAX_LINES)
		return goal_error_at(r->err, r->name, MAX_LINES, "the file has too many lines");
	return 0;
}

static struct word take_word(struct reader *r)
{
	struct word w = {.at = r->p};

	if (r->p < r->end && is_alpha(*r->p))
		while (r->p < r->end && (is_alpha(*r->p) || is_digit(*r->p) || *r->p == '_'))
			r->p++;
	w.bytes = (size_t)(r->p - w.at);
	return w;
}

static bool word_is(struct word w, const char *text)
{
	return w.bytes == strlen(text) && !memcmp(w.at, text, w.bytes);
}

/* Skips blanks, then consumes exactly this word. */
static int take_exactly(struct reader *r, const char *text)
{
	int rc = skip(r, false);
	const char *before = r->p;

	if (rc)
		return rc;
	if (!word_is(take_word(r), text)) {
		char what[32];

		r->p = before;
		snprintf(what, sizeof(what), "'%s'", text);
		return expected(r, what);
	}
	return 0;
}

/* Skips blanks, then parses a number of at most max. */
static int take_number(struct reader *r, uint64_t max, const char *what, uint64_t *value)
{
	int rc = skip(r, false);
	uint64_t n = 0;

	if (rc)
		return rc;
	if (r->p == r->end || !is_digit(*r->p))
		return expected(r, what);
	for (; r->p < r->end && is_digit(*r->p); r->p++) {
		uint64_t digit = (uint64_t)(*r->p - '0');

		if (n > (max - digit) / 10)
			return goal_error_at(r->err, r->name, r->line, "%s is more than %llu", what,
					     (unsigned long long)max);
		n = n * 10 + digit;
	}
	*value = n;
	return 0;
}

/* As take_number(); also accepts -1, which becomes GOAL_ANY. */
static int take_number_or_any(struct reader *r, uint32_t max, const char *what, uint32_t *value)
{
	uint64_t number;
	int rc = skip(r, false);

	if (rc)
		return rc;
	if (r->end - r->p >= 2 && r->p[0] == '-' && r->p[1] == '1' &&
	    (r->end - r->p == 2 || !is_digit(r->p[2]))) {
		r->p += 2;
		*value = GOAL_ANY;
		return 0;
	}
	rc = take_number(r, max, what, &number);
	if (!rc)
		*value = (uint32_t)number;
	return rc;
}

/* Requires the end of the line. The brace that closes the rank may follow at once. */
static int end_of_line(struct reader *r)
{
	int rc = skip(r, false);

	if (rc)
		return rc;
	if (r->p < r->end && *r->p != '\n' && *r->p != '}')
		return expected(r, "the end of the line");
	return 0;
}

/* Parses tag N, cpu N and nic N in any order, each at most once. */
static int take_attributes(struct reader *r, struct goal_op *op)
{
	bool tag = false, cpu = false, nic = false;

	for (;;) {
		int rc = skip(r, false);
		const char *before = r->p;
		struct word w;
		uint64_t n = 0;

		if (rc)
			return rc;
		w = take_word(r);
		if (!w.bytes)
			return 0;
		if (word_is(w, "tag") && !tag && op->kind != GOAL_OP_CALC) {
			tag = true;
			rc = take_number_or_any(r, GOAL_MAX_TAG, "the tag", &op->tag);
		} else if (word_is(w, "cpu") && !cpu) {
			cpu = true;
			rc = take_number(r, GOAL_MAX_CPU, "the number of the cpu", &n);
			op->cpu = (uint8_t)n;
		} else if (word_is(w, "nic") && !nic && op->kind != GOAL_OP_CALC) {
			nic = true;
			rc = take_number(r, GOAL_MAX_CPU, "the number of the nic", &n);
			op->nic = (uint8_t)n;
		} else {
			r->p = before;
			return expected(
			    r, op->kind == GOAL_OP_CALC
				   ? "'cpu' or the end of the line"
				   : "'tag', 'cpu', 'nic' (each once) or the end of the line");
		}
		if (rc)
			return rc;
	}
}

/* Parses the rest of an operation after its first word. */
static int take_op(struct reader *r, enum goal_kind kind)
{
	struct goal_op op = {.kind = (uint8_t)kind, .line = (uint32_t)r->line};
	uint64_t n;
	int rc;

	if (kind == GOAL_OP_CALC) {
		rc = take_number(r, UINT64_MAX, "the time in ns", &op.size);
	} else {
		rc = take_number(r, UINT64_MAX, "the size in bytes", &op.size);
		if (!rc)
			rc = take_exactly(r, "b");
		if (!rc)
			rc = take_exactly(r, kind == GOAL_OP_SEND ? "to" : "from");
		if (!rc && kind == GOAL_OP_RECV) {
			rc =
			    take_number_or_any(r, GOAL_MAX_RANKS, "the rank of the peer", &op.peer);
		} else if (!rc) {
			rc = take_number(r, GOAL_MAX_RANKS, "the rank of the peer", &n);
			op.peer = rc ? 0 : (uint32_t)n;
		}
	}
	if (!rc)
		rc = take_attributes(r, &op);
	if (!rc)
		rc = end_of_line(r);
	if (!rc)
		rc = goal_build_op(&r->build, &op);
	return rc;
}

/* Returns true if w begins an operation, and stores its kind. */
static bool is_op(struct word w, enum goal_kind *kind)
{
	static const enum goal_kind kinds[] = {GOAL_OP_SEND, GOAL_OP_RECV, GOAL_OP_CALC};

	for (size_t i = 0; w.bytes == 4 && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (word_is(w, goal_kind_str(kinds[i]))) {
			*kind = kinds[i];
			return true;
		}
	return false;
}

/* Parses the second label of "LABEL requires LABEL". */
static int take_wait(struct reader *r, struct word label, enum goal_wait wait)
{
	uint32_t op, prereq;
	struct word other;
	int rc = skip(r, false);

	if (rc)
		return rc;
	other = take_word(r);
	if (!other.bytes)
		return expected(r, "a label");
	op = goal_labels_find(&r->labels, label.at, label.bytes);
	if (op == GOAL_NO_OP)
		return fail_at(r, r->line, "no operation above in this rank has the label", label);
	prereq = goal_labels_find(&r->labels, other.at, other.bytes);
	if (prereq == GOAL_NO_OP)
		return fail_at(r, r->line, "no operation above in this rank has the label", other);
	if (op == prereq)
		return fail_at(r, r->line, "an operation cannot wait for itself:", label);
	rc = skip(r, false);
	if (!rc && r->p < r->end && *r->p == ',')
		return goal_error_at(
		    r->err, r->name, r->line,
		    "one label in each line of dependencies: write a line for each");
	if (!rc)
		rc = end_of_line(r);
	if (!rc)
		rc = goal_build_wait(&r->build, wait, op, prereq);
	return rc;
}

/* Parses the operation of "LABEL: operation" after the colon. */
static int take_labelled(struct reader *r, struct word label)
{
	uint32_t op = (uint32_t)r->build.num_ops, other;
	uint64_t line = r->line;
	enum goal_kind kind;
	struct word w;
	int rc = skip(r, false);

	if (rc)
		return rc;
	w = take_word(r);
	if (!is_op(w, &kind)) {
		r->p = w.at;
		return expected(r, "'send', 'recv' or 'calc'");
	}
	rc = take_op(r, kind);
	if (rc)
		return rc;
	other = goal_labels_add(&r->labels, label.at, label.bytes, op);
	if (other == GOAL_NO_OP)
		return goal_error_memory(r->err, r->name);
	if (other != op)
		return goal_error_at(
		    r->err, r->name, line, "the label '%.*s' is that of line %u already",
		    (int)(label.bytes < 64 ? label.bytes : 64), label.at, r->build.ops[other].line);
	return 0;
}

static int take_line(struct reader *r)
{
	struct word w = take_word(r), verb;
	enum goal_kind kind;
	int rc;

	if (!w.bytes)
		return expected(r, "an operation, a label or '}'");
	if (is_op(w, &kind))
		return take_op(r, kind);
	if (word_is(w, "rank") || word_is(w, "num_ranks")) {
		r->p = w.at;
		return expected(r, "an operation, a label or '}' before the next rank");
	}
	rc = skip(r, false);
	if (rc)
		return rc;
	if (r->p < r->end && *r->p == ':') {
		r->p++;
		return take_labelled(r, w);
	}
	verb = take_word(r);
	if (word_is(verb, "requires"))
		return take_wait(r, w, GOAL_WAIT_END);
	if (word_is(verb, "irequires"))
		return take_wait(r, w, GOAL_WAIT_START);
	r->p = verb.at;
	return expected(r, "':', 'requires' or 'irequires' after the label");
}

static int take_rank(struct reader *r, uint64_t rank, uint64_t num_ranks)
{
	uint64_t found, line = r->line;
	int rc;

	if (r->p == r->end)
		return goal_error_at(r->err, r->name, r->line,
				     "the file ends before rank %llu of %llu ranks",
				     (unsigned long long)rank, (unsigned long long)num_ranks);
	rc = take_exactly(r, "rank");
	if (!rc)
		rc = take_number(r, GOAL_MAX_RANKS, "the number of the rank", &found);
	if (rc)
		return rc;
	if (found != rank)
		return goal_error_at(
		    r->err, r->name, r->line,
		    "rank %llu stands where rank %llu must: ranks come in order from 0",
		    (unsigned long long)found, (unsigned long long)rank);
	rc = skip(r, false);
	if (rc)
		return rc;
	if (r->p == r->end || *r->p != '{')
		return expected(r, "'{'");
	r->p++;
	goal_labels_clear(&r->labels);
	rc = goal_build_rank(&r->build);
	while (!rc) {
		rc = skip(r, true);
		if (rc)
			break;
		if (r->p == r->end)
			return goal_error_at(r->err, r->name, line,
					     "rank %llu has no end: its '}' is missing",
					     (unsigned long long)rank);
		if (*r->p == '}') {
			r->p++;
			return 0;
		}
		rc = take_line(r);
	}
	return rc;
}

static int take_file(struct reader *r)
{
	uint64_t num_ranks;
	int rc = skip(r, true);

	if (!rc)
		rc = take_exactly(r, "num_ranks");
	if (!rc)
		rc = take_number(r, GOAL_MAX_RANKS, "the number of ranks", &num_ranks);
	if (rc)
		return rc;
	if (!num_ranks)
		return goal_error_at(r->err, r->name, r->line, "num_ranks must be at least 1");
	for (uint64_t rank = 0; rank < num_ranks; rank++) {
		rc = skip(r, true);
		if (!rc)
			rc = take_rank(r, rank, num_ranks);
		if (rc)
			return rc;
	}
	rc = skip(r, true);
	if (!rc && r->p < r->end)
		return goal_error_at(r->err, r->name, r->line,
				     "the file goes on after the last of %llu ranks",
				     (unsigned long long)num_ranks);
	return rc;
}

int goal_text_read(const char *text, size_t bytes, const char *name, struct goal_set *set,
		   struct goal_error *err)
{
	struct reader r = {.p = text, .end = text + bytes, .line = 1, .name = name, .err = err};
	int rc;

	*set = (struct goal_set){0};
	goal_build_init(&r.build, name, err);
	goal_labels_init(&r.labels);
	rc = take_file(&r);
	goal_labels_drop(&r.labels);
	if (!rc)
		rc = goal_build_finish(&r.build, set);
	else
		goal_build_drop(&r.build);
	return rc;
}
