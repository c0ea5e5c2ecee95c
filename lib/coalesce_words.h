/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interrupt moderation in words, ethtool's: "rx-usecs 5 rx-frames 16", "adaptive on",
 * "target p99=20us", "off"; read and printed. weftd's configuration and the tools share this
 * parser; docs/tuning.md describes the words. Calls libc; thread-safe.
 */
#ifndef WEFT_LIB_COALESCE_WORDS_H
#define WEFT_LIB_COALESCE_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared_defs/hw_coalesce.h"

enum {
	COALESCE_ERROR_CHARS = 240, /* room for every message */
	COALESCE_TEXT_CHARS = 192,  /* room for what coalesce_print() writes */
	COALESCE_NIC_CHARS = 16,
};

/* "[NIC] [vector N] WORD VALUE ..." */
struct coalesce_line {
	char nic[COALESCE_NIC_CHARS]; /* "": every NIC */
	struct hw_cmd_coalesce cmd;
};

/* The word of a parameter, and its highest value; "" and 0 of a number that is none. */
const char *coalesce_word(uint32_t param);
uint32_t coalesce_highest(uint32_t param);

/*
 * Reads words and values into cmd->set and cmd->coalesce; cmd->vector is the caller's. False: error
 * (COALESCE_ERROR_CHARS) holds what is wrong and what is right, in one line.
 */
bool coalesce_parse(const char *text, struct hw_cmd_coalesce *cmd, char *error, size_t error_chars);

/* A line of a configuration file. Without a NIC or a vector it concerns all of them. */
bool coalesce_parse_line(const char *text, struct coalesce_line *line, char *error,
			 size_t error_chars);

/* Prints a setting in words that coalesce_parse() reads. text: COALESCE_TEXT_CHARS. */
void coalesce_print(const struct hw_coalesce *c, char *text, size_t chars);

#endif /* WEFT_LIB_COALESCE_WORDS_H */
