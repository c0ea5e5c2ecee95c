/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command top: rates of NICs, QP types, processes and peers, again and again.
 *
 * top.c decides when and in which form, top_sample.c makes one picture of the NICs as JSON,
 * top_screen.c shows it on a terminal by ncurses.
 */
#ifndef WEFT_CTL_TOP_H
#define WEFT_CTL_TOP_H

#include "tools/weftctl/ctl.h"

/* Earlier values, for rates. */
struct top_past {
	json_t *values; /* name: value */
	double time_s;
	bool missing; /* a NIC did not answer */
};

/*
 * One of the tables of a picture: its key in the JSON object, its heading and its columns. The
 * column sorted by is the first number that is a rate, unless the user says another.
 */
struct top_table {
	const char *key;
	const char *title;
	struct out_column columns[12];
	const char *sort; /* NULL: as the NICs list them */
};

extern const struct top_table top_tables[];
extern const size_t top_num_tables;

/*
 * Makes a picture: {"time": seconds, "nics": [...], "types": [...], "processes": [...],
 * "peers": [...]}, rates per second since the values of past, which is renewed. sort: a column by
 * which tables that have it are sorted, greatest first, NULL: theirs. A NIC that does not answer
 * has "link": "gone". NULL: out of memory. The caller drops the picture.
 */
json_t *top_sample(const struct ctl *ctl, struct top_past *past, const char *sort);

/* True if a cell deserves attention: drops, retransmissions, a link that is not up. */
bool top_is_bad(const char *column, const json_t *cell);

/* The text of a cell: a rate with a prefix of 1,000, "1.25G". */
void top_text(const char *column, const json_t *cell, char *text, size_t bytes);

/* The terminal: begin, show (returns the key pressed within wait_s, 0: none), end. */
bool top_screen_begin(void);
int top_screen_show(const json_t *picture, const char *head, double wait_s);
void top_screen_end(void);

#endif /* WEFT_CTL_TOP_H */
