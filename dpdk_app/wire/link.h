/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The links of the kernel's interfaces, as the kernel tells them.
 */
#ifndef WEFT_APP_LINK_H
#define WEFT_APP_LINK_H

#include "dpdk_app/app.h"

/*
 * A netlink socket that becomes readable when a link changes, the present state of each
 * NIC's interface being noted; -1: no NIC has one.
 */
int link_open(struct app *app);

/* Takes what the kernel said to the NICs. */
void link_read(int fd, struct app *app);

/* Logs which NICs' links have changed since the last call. Control thread. */
void link_tell(struct app *app);

#endif /* WEFT_APP_LINK_H */
