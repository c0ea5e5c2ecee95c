/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interrupt moderation in words; see coalesce_words.h.
 */
#include "lib/coalesce_words.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "shared_defs/hw_limits.h"

enum {
	COALESCE_WORD_CHARS = 24, /* no word of ours is as long */
};

const char *coalesce_word(uint32_t param)
{
	static const char *const words[] = {
#define X(field, word, highest) word,
	    HW_COALESCE_PARAMS(X)
#undef X
	};

	return param < HW_COALESCE_NUM_PARAMS ? words[param] : "";
}

uint32_t coalesce_highest(uint32_t param)
{
	static const uint32_t highest_of[] = {
#define X(field, word, highest) highest,
	    HW_COALESCE_PARAMS(X)
#undef X
	};

	return param < HW_COALESCE_NUM_PARAMS ? highest_of[param] : 0;
}

/* ---- reading */

struct coalesce_reader {
	const char *at;
	const char *word; /* the one read last, and its length */
	size_t chars;
	struct hw_cmd_coalesce *cmd;
	char *error;
	size_t error_chars;
};

static bool coalesce_next(struct coalesce_reader *r)
{
	r->word = r->at + strspn(r->at, " \t");
	r->chars = strcspn(r->word, " \t");
	r->at = r->word + r->chars;
	return r->chars > 0;
}

static bool coalesce_is(const struct coalesce_reader *r, const char *word)
{
	return r->chars == strlen(word) && !memcmp(r->word, word, r->chars);
}

/* As much of the word read last as messages quote. */
static int coalesce_shown(const struct coalesce_reader *r)
{
	return (int)(r->chars < 40 ? r->chars : 40);
}

/* The message; of a word that is there ", not" and the word follow. */
static bool coalesce_wrong(struct coalesce_reader *r, bool there, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool coalesce_wrong(struct coalesce_reader *r, bool there, const char *format, ...)
{
	va_list list;
	int n;

	va_start(list, format);
	n = vsnprintf(r->error, r->error_chars, format, list);
	va_end(list);
	if (there && n >= 0 && (size_t)n < r->error_chars)
		snprintf(r->error + n, r->error_chars - (size_t)n, ", not \"%.*s\"",
			 coalesce_shown(r), r->word);
	return false;
}

/* A decimal number of up to nine digits from *at on, which goes behind it. */
static bool coalesce_digits(const char **at, const char *end, uint32_t *value)
{
	const char *from = *at;

	*value = 0;
	while (*at < end && **at >= '0' && **at <= '9' && *at - from < 9)
		*value = *value * 10 + (uint32_t)(*(*at)++ - '0');
	return *at > from && (*at == end || **at < '0' || **at > '9');
}

/* "12" or "12.5" in units of 10^-places; digits below those are refused. */
static bool coalesce_decimal(const char **at, const char *end, uint32_t places, uint64_t *value)
{
	uint32_t whole;

	if (!coalesce_digits(at, end, &whole))
		return false;
	*value = whole;
	if (*at < end && **at == '.') {
		const char *from = ++*at;

		for (; *at < end && **at >= '0' && **at <= '9' && places; places--)
			*value = *value * 10 + (uint32_t)(*(*at)++ - '0');
		if (*at == from)
			return false;
	}
	while (places--)
		*value *= 10;
	return true;
}

static bool coalesce_read_param(struct coalesce_reader *r, uint32_t param)
{
	const char *at;
	uint32_t value;
	bool good;

	if (r->cmd->set & UINT32_C(1) << param)
		return coalesce_wrong(r, false, "%s is given twice", coalesce_word(param));
	good = coalesce_next(r);
	at = r->word;
	if (good && coalesce_digits(&at, r->at, &value) && at == r->at &&
	    value <= coalesce_highest(param)) {
		r->cmd->coalesce.param[param] = value;
		r->cmd->set |= UINT32_C(1) << param;
		return true;
	}
	return coalesce_wrong(r, good, "%s %s 0 to %" PRIu32 ", 0 for off", coalesce_word(param),
			      good ? "takes" : "needs a value from", coalesce_highest(param));
}

static bool coalesce_read_mode(struct coalesce_reader *r, enum hw_coalesce_mode mode)
{
	if (r->cmd->set & HW_COALESCE_SET_MODE && r->cmd->coalesce.mode != (uint32_t)mode)
		return coalesce_wrong(r, false,
				      "adaptive-rx and adaptive-tx go together, and target is "
				      "given instead of them: give one of these");
	r->cmd->coalesce.mode = mode;
	r->cmd->set |= HW_COALESCE_SET_MODE;
	return true;
}

static bool coalesce_read_adaptive(struct coalesce_reader *r)
{
	const char *word = r->word;
	size_t chars = r->chars;
	bool there = coalesce_next(r);

	if (there && coalesce_is(r, "on"))
		return coalesce_read_mode(r, HW_COALESCE_ADAPTIVE);
	if (there && coalesce_is(r, "off"))
		return coalesce_read_mode(r, HW_COALESCE_FIXED);
	return coalesce_wrong(r, there, "%.*s %s on or off", (int)chars, word,
			      there ? "takes" : "needs");
}

/* "p99=20us", "p99.9=1.5us", "p50=900ns", "p90=1ms"; us may be left away. */
static bool coalesce_target(const struct coalesce_reader *r, struct hw_coalesce *c)
{
	const char *at = r->word + 1;
	uint64_t percentile, time;
	uint32_t places = 3;

	if (r->chars < 2 || r->word[0] != 'p' || !coalesce_decimal(&at, r->at, 2, &percentile) ||
	    at == r->at || *at++ != '=')
		return false;
	/* ns and ms take other places than us, and are known by what stands behind the number. */
	if (r->chars > 2 && !memcmp(r->at - 2, "ns", 2))
		places = 0;
	else if (r->chars > 2 && !memcmp(r->at - 2, "ms", 2))
		places = 6;
	if (!coalesce_decimal(&at, r->at, places, &time))
		return false;
	if (at != r->at && (r->at - at != 2 || at[1] != 's' || !strchr("unm", at[0])))
		return false;
	if (percentile < HW_COALESCE_MIN_PERCENTILE || percentile > HW_COALESCE_MAX_PERCENTILE ||
	    time < HW_COALESCE_MIN_TARGET_NS || time > HW_COALESCE_MAX_TARGET_NS)
		return false;
	c->target_percentile = (uint32_t)percentile;
	c->target_ns = (uint32_t)time;
	return true;
}

static bool coalesce_read_target(struct coalesce_reader *r)
{
	bool there = coalesce_next(r);

	if (there && coalesce_is(r, "off"))
		return coalesce_read_mode(r, HW_COALESCE_FIXED);
	if (r->cmd->set & HW_COALESCE_SET_MODE && r->cmd->coalesce.target_ns)
		return coalesce_wrong(r, false, "target is given twice");
	if (there && coalesce_target(r, &r->cmd->coalesce))
		return coalesce_read_mode(r, HW_COALESCE_TARGET);
	return coalesce_wrong(r, there,
			      "target takes a percentile, p50 to p99.99, and 1us to 1000us, "
			      "such as p99=20us");
}

/* Letters to put in, take out or change until a is b. */
static uint32_t coalesce_distance(const char *a, size_t a_chars, const char *b)
{
	uint32_t row[COALESCE_WORD_CHARS + 1];
	size_t b_chars = strlen(b), i, j;

	if (b_chars > COALESCE_WORD_CHARS)
		return UINT32_MAX;
	for (j = 0; j <= b_chars; j++)
		row[j] = (uint32_t)j;
	for (i = 1; i <= a_chars; i++) {
		uint32_t diagonal = row[0];

		row[0] = (uint32_t)i;
		for (j = 1; j <= b_chars; j++) {
			uint32_t change = diagonal + (a[i - 1] != b[j - 1]);
			uint32_t one = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;

			diagonal = row[j];
			row[j] = change < one ? change : one;
		}
	}
	return row[b_chars];
}

static bool coalesce_unknown(struct coalesce_reader *r)
{
	static const char *const others[] = {"adaptive", "adaptive-rx", "adaptive-tx", "target",
					     "off"};
	const char *nearest = NULL;
	uint32_t least = 4, i;

	for (i = 0; i < HW_COALESCE_NUM_PARAMS + 5 && r->chars < COALESCE_WORD_CHARS; i++) {
		const char *word = i < HW_COALESCE_NUM_PARAMS ? coalesce_word(i)
							      : others[i - HW_COALESCE_NUM_PARAMS];
		uint32_t distance = coalesce_distance(r->word, r->chars, word);

		if (distance < least && distance < r->chars) {
			least = distance;
			nearest = word;
		}
	}
	if (nearest)
		return coalesce_wrong(r, false, "there is no \"%.*s\": did you mean %s?",
				      coalesce_shown(r), r->word, nearest);
	return coalesce_wrong(r, false,
			      "there is no \"%.*s\": use rx-usecs, rx-frames, tx-usecs, tx-frames, "
			      "each also with -irq appended, adaptive, target or off",
			      coalesce_shown(r), r->word);
}

/* Everything off. It leaves nothing for another word to say. */
static bool coalesce_read_off(struct coalesce_reader *r)
{
	if (r->cmd->set || coalesce_next(r))
		return coalesce_wrong(r, false, "off stands alone: it removes every limit");
	memset(&r->cmd->coalesce, 0, sizeof(r->cmd->coalesce));
	r->cmd->set = HW_COALESCE_SET_ALL;
	return true;
}

/* The word read last, and its value. */
static bool coalesce_read_word(struct coalesce_reader *r)
{
	uint32_t param;

	for (param = 0; param < HW_COALESCE_NUM_PARAMS; param++)
		if (coalesce_is(r, coalesce_word(param)))
			return coalesce_read_param(r, param);
	if (coalesce_is(r, "adaptive") || coalesce_is(r, "adaptive-rx") ||
	    coalesce_is(r, "adaptive-tx"))
		return coalesce_read_adaptive(r);
	if (coalesce_is(r, "target"))
		return coalesce_read_target(r);
	if (coalesce_is(r, "off"))
		return coalesce_read_off(r);
	return coalesce_unknown(r);
}

static bool coalesce_read_words(struct coalesce_reader *r)
{
	if (!r->chars)
		return coalesce_wrong(r, false,
				      "nothing is set: use, for example, rx-usecs 5, adaptive on "
				      "or off");
	do
		if (!coalesce_read_word(r))
			return false;
	while (coalesce_next(r));
	return true;
}

bool coalesce_parse(const char *text, struct hw_cmd_coalesce *cmd, char *error, size_t error_chars)
{
	struct coalesce_reader r = {
	    .at = text, .cmd = cmd, .error = error, .error_chars = error_chars};

	cmd->set = 0;
	memset(&cmd->coalesce, 0, sizeof(cmd->coalesce));
	(void)coalesce_next(&r);
	return coalesce_read_words(&r);
}

/* A NIC's name ends with its number; no word of ours does. */
static bool coalesce_is_nic(const struct coalesce_reader *r)
{
	return r->chars && r->word[r->chars - 1] >= '0' && r->word[r->chars - 1] <= '9';
}

bool coalesce_parse_line(const char *text, struct coalesce_line *line, char *error,
			 size_t error_chars)
{
	struct coalesce_reader r = {
	    .at = text, .cmd = &line->cmd, .error = error, .error_chars = error_chars};
	const char *at;

	memset(line, 0, sizeof(*line));
	line->cmd.vector = HW_COALESCE_ALL_VECTORS;
	(void)coalesce_next(&r);
	if (coalesce_is_nic(&r)) {
		if (r.chars >= sizeof(line->nic))
			return coalesce_unknown(&r);
		memcpy(line->nic, r.word, r.chars);
		(void)coalesce_next(&r);
	}
	if (coalesce_is(&r, "vector")) {
		bool there = coalesce_next(&r);

		at = r.word;
		if (!there || !coalesce_digits(&at, r.at, &line->cmd.vector) || at != r.at ||
		    line->cmd.vector >= HW_NUM_VECTORS)
			return coalesce_wrong(&r, there, "vector takes 0 to %d",
					      HW_NUM_VECTORS - 1);
		(void)coalesce_next(&r);
	}
	return coalesce_read_words(&r);
}

void coalesce_print(const struct hw_coalesce *c, char *text, size_t chars)
{
	size_t at = 0;
	uint32_t i;

	for (i = 0; i < HW_COALESCE_NUM_PARAMS && at < chars; i++)
		at += (size_t)snprintf(text + at, chars - at, "%s %" PRIu32 " ", coalesce_word(i),
				       c->param[i]);
	if (at >= chars)
		return;
	if (c->mode == HW_COALESCE_TARGET)
		snprintf(text + at, chars - at, "target p%.6g=%.7gus",
			 (double)c->target_percentile / 100, (double)c->target_ns / 1000);
	else
		snprintf(text + at, chars - at, "adaptive %s",
			 c->mode == HW_COALESCE_ADAPTIVE ? "on" : "off");
}
