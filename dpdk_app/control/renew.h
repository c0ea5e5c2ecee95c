/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Another address or MTU for a NIC that no process is attached to, while weftd runs.
 *
 * Control thread. docs/operating.md, "Addresses and MTU".
 */
#ifndef WEFT_APP_RENEW_H
#define WEFT_APP_RENEW_H

#include "dpdk_app/app.h"
#include "dpdk_app/control/change_apply.h"

/*
 * Gives the NICs the addresses and MTUs of conf, whose NICs stand in the slots of app; app->conf
 * follows. Reports each change. Returns 0, or the errno of the last one that failed, which is
 * reported too: EBUSY: a process is attached, or has left connections that still close; ERANGE: the
 * port was opened with a smaller MTU; EADDRINUSE.
 */
int renew_apply(struct app *app, const struct conf *conf, struct change_report *report);

/* Takes a line "mtu = [NIC] N", "ip = NIC A.B.C.D/LEN" or "gw = NIC A.B.C.D|none" into conf. */
bool renew_line(const struct app *app, const char *line, struct conf *conf, char *error);

/* Returns true if a line begins with a word of renew_line(). */
bool renew_handles(const char *line);

/* Reports mtu, ip and gw of a NIC, as such lines. */
void renew_show(const struct nic *nic, const char *word, struct change_report *report);

#endif /* WEFT_APP_RENEW_H */
