/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults of a link in words: "loss 1% delay 50us reorder dup 0.5% rate 10G", "off"; read and
 * printed. weftd's configuration and weftctl share this parser; docs/faults.md describes the words.
 * Calls libc; thread-safe.
 */
#ifndef WEFT_LIB_FAULT_WORDS_H
#define WEFT_LIB_FAULT_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "shared_defs/hw_fault.h"

enum {
	FAULT_WORDS_ERROR_CHARS = 200, /* room for every message */
	FAULT_WORDS_CHARS = 256,       /* room for what fault_words_print() writes */
	FAULT_WORDS_NIC_CHARS = 16,
};

/* "[NIC] WORD [VALUE] ..." */
struct fault_line {
	char nic[FAULT_WORDS_NIC_CHARS]; /* "": every NIC */
	struct hw_fault fault;
};

/*
 * Reads words and values; what is not named is off. False: error (FAULT_WORDS_ERROR_CHARS) holds
 * what is wrong and what is right, in one line.
 */
bool fault_words_parse(const char *text, struct hw_fault *fault, char *error, size_t error_chars);

/* The same with the name of a NIC before the words. */
bool fault_words_parse_line(const char *text, struct fault_line *line, char *error,
			    size_t error_chars);

/* Returns true if this is one of the words, and not the name of a NIC. */
bool fault_words_is(const char *word);

/* Prints faults in words that fault_words_parse() reads. text: FAULT_WORDS_CHARS. */
void fault_words_print(const struct hw_fault *fault, char *text, size_t chars);

#endif /* WEFT_LIB_FAULT_WORDS_H */
