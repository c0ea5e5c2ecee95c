/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * top on a terminal, by ncurses. See top.h. Calls top_text().
 */
#include <curses.h>
#include <string.h>

#include "tools/weftctl/top.h"

enum {
	CELL_CHARS = 40,
	PAIR_BAD = 1,
	GAP = 2,
};

bool top_screen_begin(void)
{
	if (!initscr())
		return false;
	cbreak();
	noecho();
	curs_set(0);
	if (has_colors()) {
		start_color();
		use_default_colors();
		init_pair(PAIR_BAD, COLOR_RED, -1);
	}
	return true;
}

void top_screen_end(void)
{
	endwin();
}

static size_t columns_of(const struct top_table *table)
{
	size_t n = 0;

	while (n < sizeof(table->columns) / sizeof(table->columns[0]) && table->columns[n].key)
		n++;
	return n;
}

static int width_of(const struct out_column *column, const json_t *rows)
{
	int width = (int)strlen(column->title);
	char text[CELL_CHARS];
	json_t *row;
	size_t i;

	json_array_foreach (rows, i, row) {
		top_text(column->key, json_object_get(row, column->key), text, sizeof(text));
		if ((int)strlen(text) > width)
			width = (int)strlen(text);
	}
	return width;
}

/* Draws a table from line y on. Returns the next line; the screen's end cuts it. */
static int draw(const struct top_table *table, const json_t *rows, int y)
{
	int x = 0;

	if (!json_array_size(rows) || y + 2 >= LINES)
		return y;
	attron(A_BOLD);
	mvaddnstr(y, 0, table->title, COLS);
	attroff(A_BOLD);
	for (size_t i = 0; i < columns_of(table) && x < COLS; i++) {
		const struct out_column *column = &table->columns[i];
		int width = width_of(column, rows), line = y + 1;
		json_t *row;
		size_t r;

		attron(A_REVERSE);
		mvprintw(line++, x, "%-*.*s", width + GAP, COLS - x, column->title);
		attroff(A_REVERSE);
		json_array_foreach (rows, r, row) {
			const json_t *cell = json_object_get(row, column->key);
			attr_t look = top_is_bad(column->key, cell)
					  ? A_BOLD | (attr_t)COLOR_PAIR(PAIR_BAD)
					  : A_NORMAL;
			char text[CELL_CHARS];

			if (line >= LINES)
				break;
			top_text(column->key, cell, text, sizeof(text));
			attron(look);
			if (json_is_string(cell))
				mvprintw(line++, x, "%-*.*s", width, COLS - x, text);
			else
				mvprintw(line++, x, "%*.*s", width, COLS - x, text);
			attroff(look);
		}
		x += width + GAP;
	}
	y += 3 + (int)json_array_size(rows);
	return y < LINES ? y : LINES;
}

int top_screen_show(const json_t *picture, const char *head, double wait_s)
{
	int y = 2, key;

	erase();
	mvaddnstr(0, 0, head, COLS);
	for (size_t i = 0; i < top_num_tables; i++)
		y = draw(&top_tables[i], json_object_get(picture, top_tables[i].key), y);
	refresh();
	timeout((int)(wait_s * 1000));
	key = getch();
	return key == ERR || key == KEY_RESIZE ? 0 : key;
}
