/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weftd --list-ports: the interfaces and cards of this machine that --port takes, and how.
 *
 * main.c calls it in place of starting NICs. Reads sysfs through pci_card.c.
 */
#ifndef WEFT_APP_LIST_PORTS_H
#define WEFT_APP_LIST_PORTS_H

#include <stdio.h>

/*
 * Prints a line for each interface and card, and below a card that cannot be used one with what to
 * do. sys, dev: "/sys", "/dev". Returns 0 or -errno.
 */
int list_ports(FILE *f, const char *sys, const char *dev) __attribute__((warn_unused_result));

#endif /* WEFT_APP_LIST_PORTS_H */
