/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages as records of systemd's journal, whose fields journalctl(1) selects by: MESSAGE,
 * PRIORITY, SYSLOG_IDENTIFIER, CODE_FILE, CODE_FUNC, CODE_LINE, and the subject's WEFT_NIC,
 * WEFT_PID, WEFT_UID, WEFT_PROGRAM.
 */
#ifndef WEFT_APP_LOG_JOURNAL_H
#define WEFT_APP_LOG_JOURNAL_H

#include <stdbool.h>

#include "dpdk_app/log.h"

#define LOG_JOURNAL_SOCKET "/run/systemd/journal/socket"

/*
 * Opens a socket for records and looks whether a journal is there. Returns 0, or -errno. Call it
 * before threads and the filter of system calls exist.
 */
int log_journal_open(void) __attribute__((warn_unused_result));

/*
 * Sends a record; priority is a digit of syslog(3), subject may be NULL. Returns false if the
 * journal does not take it now. Never waits. Any thread.
 */
bool log_journal_send(char priority, struct log_place place, const struct log_subject *subject,
		      const char *text) __attribute__((warn_unused_result));

#endif /* WEFT_APP_LOG_JOURNAL_H */
