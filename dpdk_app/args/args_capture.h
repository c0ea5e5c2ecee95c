/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --capture: files that frames of NICs are written into.
 */
#ifndef WEFT_APP_ARGS_CAPTURE_H
#define WEFT_APP_ARGS_CAPTURE_H

#include <stdbool.h>

#include "dpdk_app/args/args.h"

/*
 * Adds a line of --capture; a later one of a NIC replaces an earlier one. False: error
 * (CONF_ERROR_CHARS) holds the reason.
 */
bool conf_capture_add(struct conf *conf, const char *text, char *error);

/* Checks that every line names a NIC that there is. */
bool conf_capture_check(const struct conf *conf, char *error);

/* Returns the line of one NIC; NULL: none. */
const struct conf_capture *conf_capture_of(const struct conf *conf, uint32_t index);

/* Adds a copy of the line; there is none of its NIC. */
void conf_capture_put(struct conf *conf, const struct conf_capture *line);

/* Removes the line of one NIC, if there is one. */
void conf_capture_remove(struct conf *conf, uint32_t index);

#endif /* WEFT_APP_ARGS_CAPTURE_H */
