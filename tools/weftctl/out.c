/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables and JSON.
 */
#include "tools/weftctl/ctl.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The numbers of an array, with commas between them. */
static const char *list_text(const json_t *list, char *buf, size_t bytes)
{
	size_t at = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < json_array_size(list) && at < bytes; i++)
		at += (size_t)snprintf(buf + at, bytes - at, "%s%" JSON_INTEGER_FORMAT,
				       i ? "," : "", json_integer_value(json_array_get(list, i)));
	return buf;
}

/* The text of a cell. */
static const char *cell_text(const json_t *cell, char *buf, size_t bytes)
{
	if (json_is_string(cell))
		return json_string_value(cell);
	if (json_is_array(cell))
		return list_text(cell, buf, bytes);
	if (json_is_integer(cell))
		snprintf(buf, bytes, "%" JSON_INTEGER_FORMAT, json_integer_value(cell));
	else if (json_is_real(cell))
		snprintf(buf, bytes, "%.1f", json_real_value(cell));
	else if (json_is_boolean(cell))
		snprintf(buf, bytes, "%s", json_is_true(cell) ? "yes" : "no");
	else
		snprintf(buf, bytes, "-");
	return buf;
}

static void print_line(const struct out_column *columns, size_t num, const size_t *width,
		       const json_t *row)
{
	const char *text;
	char buf[64];
	size_t i;

	for (i = 0; i < num; i++) {
		text = row ? cell_text(json_object_get(row, columns[i].key), buf, sizeof(buf))
			   : columns[i].title;
		if (i + 1 == num)
			printf("%s\n", text);
		else
			printf("%-*s  ", (int)width[i], text);
	}
}

int out_table(const struct ctl *ctl, const struct out_column *columns, size_t num_columns,
	      json_t *rows)
{
	size_t width[16], i, r, chars;
	char buf[64];

	if (ctl->json)
		return out_json(rows);
	for (i = 0; i < num_columns; i++) {
		width[i] = strlen(columns[i].title);
		for (r = 0; r < json_array_size(rows); r++) {
			chars = strlen(
			    cell_text(json_object_get(json_array_get(rows, r), columns[i].key), buf,
				      sizeof(buf)));
			if (chars > width[i])
				width[i] = chars;
		}
	}
	print_line(columns, num_columns, width, NULL);
	for (r = 0; r < json_array_size(rows); r++)
		print_line(columns, num_columns, width, json_array_get(rows, r));
	json_decref(rows);
	return CTL_OK;
}

int out_rows(const struct ctl *ctl, int rc, bool some, const struct out_column *columns,
	     size_t num_columns, json_t *rows)
{
	if (!some) {
		json_decref(rows);
		return rc;
	}
	return out_table(ctl, columns, num_columns, rows) == CTL_OK ? rc : CTL_FAILED;
}

int out_json(json_t *value)
{
	char *text = json_dumps(value, JSON_INDENT(2) | JSON_REAL_PRECISION(9));

	json_decref(value);
	if (!text)
		return fail("cannot write this as JSON: not UTF-8, or out of memory");
	puts(text);
	free(text);
	return CTL_OK;
}

json_t *out_ip(uint32_t ip)
{
	char text[INET_ADDRSTRLEN];

	return json_string(inet_ntop(AF_INET, &ip, text, sizeof(text)));
}

json_t *out_mac(const uint8_t mac[6])
{
	char text[18];

	snprintf(text, sizeof(text), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2],
		 mac[3], mac[4], mac[5]);
	return json_string(text);
}

json_t *out_hex(uint64_t value)
{
	char text[19];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	return json_string(text);
}
