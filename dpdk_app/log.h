/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What weftd says to its operator: one line per message on standard error.
 *
 * Used by every file of dpdk_app outside the data path. Implemented in log.c.
 */
#ifndef WEFT_APP_LOG_H
#define WEFT_APP_LOG_H

#include <stdbool.h>

/* Something the operator should know. Any thread. */
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Something is wrong; the message also says how to mend it. Any thread. */
void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Detail, printed only with --verbose. Any thread. */
void log_verbose(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Turns log_verbose() on or off. Called once, before threads exist. */
void log_set_verbose(bool verbose);

#endif /* WEFT_APP_LOG_H */
