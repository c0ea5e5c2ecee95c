/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults of a link in words; see fault_words.h. Calls lib/fault.h.
 */
#include "lib/fault_words.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/fault.h"

enum {
	NUMBER_CHARS = 32,
};

enum word {
	WORD_LOSS,
	WORD_BURST,
	WORD_DUP,
	WORD_REORDER,
	WORD_CORRUPT,
	WORD_DELAY,
	WORD_JITTER,
	WORD_RATE,
	WORD_SEED,
	WORD_OFF,
	WORDS
};

static const struct {
	const char *text;
	const char *takes; /* for messages; NULL: nothing */
	double initial;    /* percent, where no value follows; 0: one must */
} words[WORDS] = {
    [WORD_LOSS] = {"loss", "a percentage, such as 1%", 1},
    [WORD_BURST] = {"burst", "a percentage, such as 0.1%", 0.1},
    [WORD_DUP] = {"dup", "a percentage, such as 1%", 1},
    [WORD_REORDER] = {"reorder", "a percentage, such as 1%", 1},
    [WORD_CORRUPT] = {"corrupt", "a percentage, such as 0.1%", 0.1},
    [WORD_DELAY] = {"delay", "a time up to 10s, such as 50us", 0},
    [WORD_JITTER] = {"jitter", "a time up to 1s, such as 10us", 0},
    [WORD_RATE] = {"rate", "bits per second from 1M to 1000G, such as 10G", 0},
    [WORD_SEED] = {"seed", "a whole number", 0},
    [WORD_OFF] = {"off", NULL, 0},
};

struct reader {
	const char *at;
	char word[NUMBER_CHARS]; /* the one read last, cut off */
	char *error;
	size_t error_chars;
};

static bool next_word(struct reader *r)
{
	size_t chars;

	r->at += strspn(r->at, " \t");
	chars = strcspn(r->at, " \t");
	snprintf(r->word, sizeof(r->word), "%.*s", (int)chars, r->at);
	r->at += chars;
	return chars > 0;
}

static bool wrong(struct reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool wrong(struct reader *r, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(r->error, r->error_chars, format, list);
	va_end(list);
	return false;
}

static enum word find(const char *text)
{
	int i;

	for (i = 0; i < WORDS; i++)
		if (!strcmp(words[i].text, text))
			break;
	return (enum word)i;
}

bool fault_words_is(const char *word)
{
	return find(word) != WORDS;
}

/* Reads digits with a point; *end is what follows. False: there is no number. */
static bool number(const char *text, double *value, const char **end)
{
	size_t chars = strspn(text, "0123456789.");
	char digits[NUMBER_CHARS];
	char *rest;

	if (!chars || chars >= sizeof(digits))
		return false;
	memcpy(digits, text, chars);
	digits[chars] = '\0';
	*value = strtod(digits, &rest);
	*end = text + chars;
	return !*rest;
}

/* A number with one of these units behind it, from least to most. */
static bool scaled(const char *text, const char *const *unit, const double *scale, size_t units,
		   double least, double most, double *value)
{
	const char *end;

	if (!number(text, value, &end))
		return false;
	for (size_t i = 0; i < units; i++) {
		if (strcmp(end, unit[i]) != 0)
			continue;
		*value *= scale[i];
		return *value >= least && *value <= most;
	}
	return false;
}

static bool percent(const char *text, double *value)
{
	static const char *const unit[] = {"%", ""};
	static const double scale[] = {1, 1};

	return scaled(text, unit, scale, 2, 0, 100, value);
}

static bool time_ns(const char *text, double most, uint64_t *value)
{
	static const char *const unit[] = {"ns", "us", "ms", "s"};
	static const double scale[] = {1, 1e3, 1e6, 1e9};
	double ns;

	if (!scaled(text, unit, scale, 4, 0, most, &ns))
		return false;
	*value = (uint64_t)(ns + 0.5);
	return true;
}

static bool rate(const char *text, uint64_t *value)
{
	static const char *const unit[] = {"", "K", "M", "G", "T"};
	static const double scale[] = {1, 1e3, 1e6, 1e9, 1e12};
	double bps;

	if (!scaled(text, unit, scale, 5, (double)HW_FAULT_RATE_BPS_MIN,
		    (double)HW_FAULT_RATE_BPS_MAX, &bps))
		return false;
	*value = (uint64_t)(bps + 0.5);
	return true;
}

static bool whole(const char *text, uint64_t *value)
{
	char *end;

	if (!*text || strlen(text) > 19 || text[strspn(text, "0123456789")])
		return false;
	*value = strtoull(text, &end, 10);
	return true;
}

static uint32_t *chance_of(struct hw_fault *fault, enum word word)
{
	uint32_t *const field[WORDS] = {
	    [WORD_LOSS] = &fault->chance.loss_ppm,
	    [WORD_BURST] = &fault->chance.burst_ppm,
	    [WORD_DUP] = &fault->chance.dup_ppm,
	    [WORD_REORDER] = &fault->chance.reorder_ppm,
	    [WORD_CORRUPT] = &fault->chance.corrupt_ppm,
	};

	return field[word];
}

/* A chance, with or without a value. */
static bool read_chance(struct reader *r, enum word word, struct hw_fault *fault)
{
	const char *before = r->at;
	double value = words[word].initial;

	if (next_word(r) && fault_words_is(r->word))
		r->at = before;
	else if (*r->word && !percent(r->word, &value))
		return wrong(r, "%s takes %s, not \"%s\"", words[word].text, words[word].takes,
			     r->word);
	*chance_of(fault, word) = fault_ppm(value);
	if (word == WORD_BURST)
		fault->chance.burst_frames = HW_FAULT_BURST_FRAMES;
	return true;
}

static bool read_value(struct reader *r, enum word word, struct hw_fault *fault)
{
	bool good = next_word(r);

	if (good && word == WORD_DELAY)
		good = time_ns(r->word, (double)HW_FAULT_DELAY_NS_MAX, &fault->delay_ns);
	else if (good && word == WORD_JITTER)
		good = time_ns(r->word, HW_FAULT_JITTER_NS_MAX, &fault->jitter_ns);
	else if (good && word == WORD_RATE)
		good = rate(r->word, &fault->rate_bps);
	else if (good)
		good = whole(r->word, &fault->seed);
	return good || wrong(r, "%s takes %s%s%s%s", words[word].text, words[word].takes,
			     *r->word ? ", not \"" : "", r->word, *r->word ? "\"" : "");
}

bool fault_words_parse(const char *text, struct hw_fault *fault, char *error, size_t error_chars)
{
	struct reader r = {.at = text, .error = error, .error_chars = error_chars};
	uint32_t given = 0;

	*fault = (struct hw_fault){.seed = 1};
	while (next_word(&r)) {
		enum word word = find(r.word);

		if (word == WORDS)
			return wrong(&r,
				     "there is no fault \"%s\": use loss, burst, dup, reorder, "
				     "corrupt, delay, jitter, rate, seed, or off",
				     r.word);
		if (given & 1u << word)
			return wrong(&r, "%s is given twice", words[word].text);
		given |= 1u << word;
		if (word == WORD_OFF)
			continue;
		if (words[word].initial > 0 ? !read_chance(&r, word, fault)
					    : !read_value(&r, word, fault))
			return false;
	}
	if (!given)
		return wrong(&r, "which fault? loss 1%%, delay 50us, ... or off");
	if (given & 1u << WORD_OFF && given != 1u << WORD_OFF)
		return wrong(&r, "off stands alone: it ends every fault");
	return true;
}

bool fault_words_parse_line(const char *text, struct fault_line *line, char *error,
			    size_t error_chars)
{
	struct reader r = {.at = text, .error = error, .error_chars = error_chars};

	line->nic[0] = '\0';
	if (next_word(&r) && !fault_words_is(r.word)) {
		if (strlen(r.word) >= sizeof(line->nic))
			return wrong(&r, "\"%s\" is neither a NIC nor a fault", r.word);
		memcpy(line->nic, r.word, strlen(r.word) + 1);
		text = r.at;
	}
	return fault_words_parse(text, &line->fault, error, error_chars);
}

/* ---- printing */

struct printer {
	char *text;
	size_t chars, at;
};

static void print(struct printer *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void print(struct printer *p, const char *format, ...)
{
	va_list list;
	int n;

	if (p->at >= p->chars)
		return;
	va_start(list, format);
	n = vsnprintf(p->text + p->at, p->chars - p->at, format, list);
	va_end(list);
	p->at += n > 0 ? (size_t)n : 0;
}

static void print_time(struct printer *p, enum word word, uint64_t ns)
{
	if (!ns)
		return;
	print(p, "%s%s ", p->at ? " " : "", words[word].text);
	if (ns % 1000)
		print(p, "%" PRIu64 "ns", ns);
	else
		print(p, "%" PRIu64 "us", ns / 1000);
}

static void print_rate(struct printer *p, uint64_t bps)
{
	if (!bps)
		return;
	print(p, "%srate ", p->at ? " " : "");
	if (bps % 1000000)
		print(p, "%" PRIu64, bps);
	else if (bps % 1000000000)
		print(p, "%" PRIu64 "M", bps / 1000000);
	else
		print(p, "%" PRIu64 "G", bps / 1000000000);
}

void fault_words_print(const struct hw_fault *fault, char *text, size_t chars)
{
	struct hw_fault copy = *fault;
	struct printer p = {text, chars, 0};

	if (!chars)
		return;
	text[0] = '\0';
	for (int word = WORD_LOSS; word <= WORD_CORRUPT; word++) {
		uint32_t ppm = *chance_of(&copy, (enum word)word);

		if (ppm)
			print(&p, "%s%s %.6g%%", p.at ? " " : "", words[word].text, ppm / 10000.0);
	}
	print_time(&p, WORD_DELAY, fault->delay_ns);
	print_time(&p, WORD_JITTER, fault->jitter_ns);
	print_rate(&p, fault->rate_bps);
	if (!p.at)
		print(&p, "off");
	else if (fault->seed != 1)
		print(&p, " seed %" PRIu64, fault->seed);
}
