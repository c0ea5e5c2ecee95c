/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parser and printer of interrupt moderation settings in ethtool's words: "rx-usecs 5 rx-frames
 * 16", "adaptive on", "target p99=20us", "off".
 *
 * weftd's configuration, weftctl and weft-tune share these inline functions because they have no
 * library in common. Calls only string.h. docs/tuning.md.
 */
#ifndef WEFT_COALESCE_WORDS_H
#define WEFT_COALESCE_WORDS_H

#include <stdbool.h>
#include <string.h>

#include "shared_defs/hw_coalesce.h"
#include "shared_defs/hw_limits.h"

enum {
	COALESCE_ERROR_CHARS = 240, /* room for every error message */
	COALESCE_TEXT_CHARS = 192,  /* room for the output of coalesce_print() */
	COALESCE_NIC_CHARS = 16,
	COALESCE_WORD_CHARS = 24, /* longer than every keyword */
};

/* Result of parsing "[NIC] [vector N] WORD VALUE ...". */
struct coalesce_line {
	char nic[COALESCE_NIC_CHARS]; /* "": every NIC */
	struct hw_cmd_coalesce cmd;
};

static inline const char *coalesce_word(uint32_t param)
{
	static const char *const words[] = {
#define X(field, word, highest) word,
	    HW_COALESCE_PARAMS(X)
#undef X
	};

	return param < HW_COALESCE_NUM_PARAMS ? words[param] : "";
}

static inline uint32_t coalesce_highest(uint32_t param)
{
	static const uint32_t highest_of[] = {
#define X(field, word, highest) highest,
	    HW_COALESCE_PARAMS(X)
#undef X
	};

	return param < HW_COALESCE_NUM_PARAMS ? highest_of[param] : 0;
}

/* ---- composed text; excess is truncated */

struct coalesce_text {
	char *at;
	size_t left; /* includes the terminating zero */
};

static inline void coalesce_put(struct coalesce_text *t, const char *text, size_t chars)
{
	if (!t->left)
		return;
	if (chars > t->left - 1)
		chars = t->left - 1;
	memcpy(t->at, text, chars);
	t->at += chars;
	t->left -= chars;
	*t->at = '\0';
}

static inline void coalesce_put_text(struct coalesce_text *t, const char *text)
{
	coalesce_put(t, text, strlen(text));
}

static inline void coalesce_put_number(struct coalesce_text *t, uint32_t n)
{
	char digits[10];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + n % 10);
	while (n /= 10);
	coalesce_put(t, digits + at, sizeof(digits) - at);
}

/* Appends n / 10^places, places at most 3: 9990 with two places is 99.9. */
static inline void coalesce_put_decimal(struct coalesce_text *t, uint32_t n, uint32_t places)
{
	static const uint32_t units[] = {1, 10, 100, 1000};

	coalesce_put_number(t, n / units[places]);
	n %= units[places];
	if (n)
		coalesce_put_text(t, ".");
	while (n && places--) {
		coalesce_put_number(t, n / units[places]);
		n %= units[places];
	}
}

/* ---- parsing */

struct coalesce_reader {
	const char *at;
	const char *word; /* the last word read, and its length */
	size_t chars;
	struct hw_cmd_coalesce *cmd;
	struct coalesce_text error;
};

static inline bool coalesce_next(struct coalesce_reader *r)
{
	r->word = r->at + strspn(r->at, " \t");
	r->chars = strcspn(r->word, " \t");
	r->at = r->word + r->chars;
	return r->chars > 0;
}

static inline bool coalesce_is(const struct coalesce_reader *r, const char *word)
{
	return r->chars == strlen(word) && !memcmp(r->word, word, r->chars);
}

/* Appends the last word read, in quotes, without unprintable characters. */
static inline void coalesce_put_word(struct coalesce_reader *r)
{
	coalesce_put_text(&r->error, "\"");
	coalesce_put(&r->error, r->word, r->chars < 40 ? r->chars : 40);
	coalesce_put_text(&r->error, "\"");
}

static inline bool coalesce_wrong(struct coalesce_reader *r, const char *text)
{
	coalesce_put_text(&r->error, text);
	return false;
}

/* Parses a decimal number of up to nine digits at *at and advances *at past it. */
static inline bool coalesce_digits(const char **at, const char *end, uint32_t *value)
{
	const char *from = *at;

	*value = 0;
	while (*at < end && **at >= '0' && **at <= '9' && *at - from < 9)
		*value = *value * 10 + (uint32_t)(*(*at)++ - '0');
	return *at > from && (*at == end || **at < '0' || **at > '9');
}

/* Parses "12" or "12.5" in units of 10^-places; rejects further digits. */
static inline bool coalesce_decimal(const char **at, const char *end, uint32_t places,
				    uint64_t *value)
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

static inline bool coalesce_read_param(struct coalesce_reader *r, uint32_t param)
{
	const char *at;
	uint32_t value;
	bool good;

	if (r->cmd->set & UINT32_C(1) << param) {
		coalesce_put_text(&r->error, coalesce_word(param));
		return coalesce_wrong(r, " is given twice");
	}
	good = coalesce_next(r);
	at = r->word;
	if (good && coalesce_digits(&at, r->at, &value) && at == r->at &&
	    value <= coalesce_highest(param)) {
		r->cmd->coalesce.param[param] = value;
		r->cmd->set |= UINT32_C(1) << param;
		return true;
	}
	coalesce_put_text(&r->error, coalesce_word(param));
	coalesce_put_text(&r->error, good ? " takes 0 to " : " needs a value from 0 to ");
	coalesce_put_number(&r->error, coalesce_highest(param));
	coalesce_put_text(&r->error, ", 0 for off");
	if (good) {
		coalesce_put_text(&r->error, ", not ");
		coalesce_put_word(r);
	}
	return false;
}

static inline bool coalesce_read_mode(struct coalesce_reader *r, enum hw_coalesce_mode mode)
{
	if (r->cmd->set & HW_COALESCE_SET_MODE && r->cmd->coalesce.mode != (uint32_t)mode)
		return coalesce_wrong(
		    r, "adaptive-rx and adaptive-tx go together, and target is instead of them: "
		       "say one of these");
	r->cmd->coalesce.mode = mode;
	r->cmd->set |= HW_COALESCE_SET_MODE;
	return true;
}

static inline bool coalesce_read_adaptive(struct coalesce_reader *r)
{
	const char *word = r->word;
	size_t chars = r->chars;
	bool there = coalesce_next(r);

	if (there && coalesce_is(r, "on"))
		return coalesce_read_mode(r, HW_COALESCE_ADAPTIVE);
	if (there && coalesce_is(r, "off"))
		return coalesce_read_mode(r, HW_COALESCE_FIXED);
	coalesce_put(&r->error, word, chars);
	if (!there)
		return coalesce_wrong(r, " needs on or off");
	coalesce_put_text(&r->error, " takes on or off, not ");
	coalesce_put_word(r);
	return false;
}

/* Parses "p99=20us", "p99.9=1.5us", "p50=900ns", "p90=1ms"; us may be omitted. */
static inline bool coalesce_target(const struct coalesce_reader *r, struct hw_coalesce *c)
{
	const char *at = r->word + 1;
	uint64_t percentile, time;
	uint32_t places = 3;

	if (r->chars < 2 || r->word[0] != 'p' || !coalesce_decimal(&at, r->at, 2, &percentile) ||
	    at == r->at || *at++ != '=')
		return false;
	/* ns and ms need other decimal places than us, so the suffix is examined first. */
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

static inline bool coalesce_read_target(struct coalesce_reader *r)
{
	bool there = coalesce_next(r);

	if (there && coalesce_is(r, "off"))
		return coalesce_read_mode(r, HW_COALESCE_FIXED);
	if (r->cmd->set & HW_COALESCE_SET_MODE && r->cmd->coalesce.target_ns)
		return coalesce_wrong(r, "target is given twice");
	if (there && coalesce_target(r, &r->cmd->coalesce))
		return coalesce_read_mode(r, HW_COALESCE_TARGET);
	coalesce_put_text(&r->error, "target takes a percentile, p50 to p99.99, and 1us to 1000us, "
				     "such as p99=20us");
	if (there) {
		coalesce_put_text(&r->error, ", not ");
		coalesce_put_word(r);
	}
	return false;
}

/* Edit distance: the number of letters to insert, delete or replace to turn a into b. */
static inline uint32_t coalesce_distance(const char *a, size_t a_chars, const char *b)
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

static inline bool coalesce_unknown(struct coalesce_reader *r)
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
	coalesce_put_text(&r->error, "there is no ");
	coalesce_put_word(r);
	if (nearest) {
		coalesce_put_text(&r->error, ": did you mean ");
		coalesce_put_text(&r->error, nearest);
		return coalesce_wrong(r, "?");
	}
	return coalesce_wrong(r, ": say rx-usecs, rx-frames, tx-usecs, tx-frames, each also with "
				 "-irq behind it, adaptive, target or off");
}

/* Parses "off", which disables everything and must be the only word. */
static inline bool coalesce_read_off(struct coalesce_reader *r)
{
	if (r->cmd->set || coalesce_next(r))
		return coalesce_wrong(r, "off stands alone: it takes every limit off");
	memset(&r->cmd->coalesce, 0, sizeof(r->cmd->coalesce));
	r->cmd->set = HW_COALESCE_SET_ALL;
	return true;
}

/* Parses the value of the last word read. */
static inline bool coalesce_read_word(struct coalesce_reader *r)
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

static inline bool coalesce_read_words(struct coalesce_reader *r)
{
	if (!r->chars)
		return coalesce_wrong(r, "nothing is set: say, for example, rx-usecs 5, adaptive "
					 "on or off");
	do
		if (!coalesce_read_word(r))
			return false;
	while (coalesce_next(r));
	return true;
}

/*
 * Parses words and values into cmd->set and cmd->coalesce; the caller sets cmd->vector. On failure
 * returns false, and error (COALESCE_ERROR_CHARS) holds a one-line message with the permitted
 * values.
 */
static inline bool coalesce_parse(const char *text, struct hw_cmd_coalesce *cmd, char *error,
				  size_t error_chars)
{
	struct coalesce_reader r = {
	    .at = text, .cmd = cmd, .error = {.at = error, .left = error_chars}};

	cmd->set = 0;
	memset(&cmd->coalesce, 0, sizeof(cmd->coalesce));
	(void)coalesce_next(&r);
	return coalesce_read_words(&r);
}

/* A NIC's name ends with its number; no keyword does. */
static inline bool coalesce_is_nic(const struct coalesce_reader *r)
{
	return r->chars && r->word[r->chars - 1] >= '0' && r->word[r->chars - 1] <= '9';
}

/* Parses a line of a configuration file. The NIC and the vector may be omitted, which means all. */
static inline bool coalesce_parse_line(const char *text, struct coalesce_line *line, char *error,
				       size_t error_chars)
{
	struct coalesce_reader r = {
	    .at = text, .cmd = &line->cmd, .error = {.at = error, .left = error_chars}};
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
		    line->cmd.vector >= HW_NUM_VECTORS) {
			coalesce_put_text(&r.error, "vector takes 0 to ");
			coalesce_put_number(&r.error, HW_NUM_VECTORS - 1);
			if (there) {
				coalesce_put_text(&r.error, ", not ");
				coalesce_put_word(&r);
			}
			return false;
		}
		(void)coalesce_next(&r);
	}
	return coalesce_read_words(&r);
}

/* Prints a setting in words that coalesce_parse() accepts. text: COALESCE_TEXT_CHARS. */
static inline void coalesce_print(const struct hw_coalesce *c, char *text, size_t chars)
{
	struct coalesce_text t = {.at = text, .left = chars};
	uint32_t i;

	for (i = 0; i < HW_COALESCE_NUM_PARAMS; i++) {
		coalesce_put_text(&t, coalesce_word(i));
		coalesce_put_text(&t, " ");
		coalesce_put_number(&t, c->param[i]);
		coalesce_put_text(&t, " ");
	}
	if (c->mode == HW_COALESCE_TARGET) {
		coalesce_put_text(&t, "target p");
		coalesce_put_decimal(&t, c->target_percentile, 2);
		coalesce_put_text(&t, "=");
		coalesce_put_decimal(&t, c->target_ns, 3);
		coalesce_put_text(&t, "us");
	} else {
		coalesce_put_text(&t,
				  c->mode == HW_COALESCE_ADAPTIVE ? "adaptive on" : "adaptive off");
	}
}

#endif /* WEFT_COALESCE_WORDS_H */
