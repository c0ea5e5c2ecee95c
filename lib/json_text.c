/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * JSON that is written piece by piece; see json_text.h.
 */
#include "lib/json_text.h"

void json_text_string(FILE *f, const char *text)
{
	if (!text) {
		fputs("null", f);
		return;
	}
	fputc('"', f);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fprintf(f, "\\%c", *text);
		else if ((unsigned char)*text < ' ')
			fprintf(f, "\\u%04x", (unsigned int)*text);
		else
			fputc(*text, f);
	}
	fputc('"', f);
}
