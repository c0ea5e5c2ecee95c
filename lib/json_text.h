/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * JSON that is written piece by piece, without a library.
 */
#ifndef WEFT_LIB_JSON_TEXT_H
#define WEFT_LIB_JSON_TEXT_H

#include <stdio.h>

/* text in quotes, with what JSON escapes (RFC 8259, section 7). NULL is written as null. */
void json_text_string(FILE *f, const char *text);

#endif /* WEFT_LIB_JSON_TEXT_H */
