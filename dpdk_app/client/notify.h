/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Telling the service manager how weftd is, as sd_notify(3) does. Called by main.c.
 */
#ifndef WEFT_APP_NOTIFY_H
#define WEFT_APP_NOTIFY_H

/* Sends state, such as "READY=1", to $NOTIFY_SOCKET if there is one. */
void notify_send(const char *state);

#endif /* WEFT_APP_NOTIFY_H */
