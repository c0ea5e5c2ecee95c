/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reports weftd's state to the service manager, as sd_notify(3) does.
 */
#ifndef WEFT_APP_NOTIFY_H
#define WEFT_APP_NOTIFY_H

/* Sends a state such as "READY=1" to $NOTIFY_SOCKET, if set. */
void notify_send(const char *state);

#endif /* WEFT_APP_NOTIFY_H */
