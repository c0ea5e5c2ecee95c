/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Link states of kernel interfaces, as reported by the kernel.
 */
#ifndef WEFT_APP_LINK_H
#define WEFT_APP_LINK_H

#include "dpdk_app/app.h"

/*
 * Opens a netlink socket that becomes readable when a link changes, and records the present state
 * of each NIC's interface. -1: no NIC has one.
 */
int link_open(struct app *app);

/* Asks for the states of all links again, and reads the kernel's addresses: a NIC was added. */
void link_request(int fd, struct app *app);

/* Applies pending kernel messages to the NICs. */
void link_read(int fd, struct app *app);

/* Logs the NICs whose link state has changed since the last call. Control thread. */
void link_report(struct app *app);

#endif /* WEFT_APP_LINK_H */
