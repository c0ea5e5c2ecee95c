/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weftd --check: looks whether NICs of this configuration would start on this machine, and run
 * well, without starting any.
 *
 * main.c calls it in place of starting NICs. The checks of the machine are those of weftctl doctor.
 */
#ifndef WEFT_APP_CHECK_H
#define WEFT_APP_CHECK_H

#include "dpdk_app/args/args.h"

/*
 * After a wrong command line: returns true if --check stands anywhere in it, and takes --json,
 * since options behind the wrong one were not parsed.
 */
bool check_requested(int argc, char **argv, struct conf *conf);

/*
 * Prints findings, each with what to do, on standard output. error: what is wrong with the
 * configuration; "": nothing. Returns an exit status: 0; 1: something keeps it from starting; 2:
 * the configuration is wrong.
 */
int check_run(const struct conf *conf, const char *error);

#endif /* WEFT_APP_CHECK_H */
