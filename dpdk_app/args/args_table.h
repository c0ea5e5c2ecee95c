/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of weftd's options. It drives the command line, the configuration file and --help.
 * args.c parses by it; its rows set the fields of struct conf.
 */
#ifndef WEFT_APP_ARGS_TABLE_H
#define WEFT_APP_ARGS_TABLE_H

#include <stdbool.h>

#include "lib/cli.h"

/* State that passes from option to option. */
struct args_state {
	bool port_open; /* a --port stands before, whose --ip may follow */
};

/* weftd as the parser of lib/cli.c takes it: values are a struct conf, context a struct args_state.
 */
extern const struct cli_program args_program;

/* Filled in by args_parse(): the number is no text to the compiler. */
extern char args_version[48];

#endif /* WEFT_APP_ARGS_TABLE_H */
