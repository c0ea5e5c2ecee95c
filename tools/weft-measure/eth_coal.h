/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads and sets the interrupt coalescing of a Linux interface, as `ethtool -c` and `ethtool -C`
 * do, over netlink (family "ethtool", Documentation/networking/ethtool-netlink.rst) with libmnl.
 *
 * A driver reports the parameters that it has, and only these can be set. One thread.
 */
#ifndef WEFT_MEASURE_ETH_COAL_H
#define WEFT_MEASURE_ETH_COAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared_defs/hw_coalesce.h"

struct nlmsghdr;

struct eth_coal {
	uint32_t there; /* bit i: enum hw_coalesce_param; then ETH_COAL_ADAPTIVE_* */
	uint32_t value[HW_COALESCE_NUM_PARAMS];
	bool adaptive_rx, adaptive_tx;
};
#define ETH_COAL_PARAMS      ((UINT32_C(1) << HW_COALESCE_NUM_PARAMS) - 1)
#define ETH_COAL_ADAPTIVE_RX (UINT32_C(1) << 16)
#define ETH_COAL_ADAPTIVE_TX (UINT32_C(1) << 17)
#define ETH_COAL_ADAPTIVE    (ETH_COAL_ADAPTIVE_RX | ETH_COAL_ADAPTIVE_TX)

enum {
	ETH_COAL_MSG_BYTES = 8192, /* room for a request, and for an answer */
	ETH_COAL_ERROR_CHARS = 256,
};

/*
 * Reads the settings of the interface. -ENODEV: no such interface; -EOPNOTSUPP: its driver has no
 * coalescing. Every error leaves a line for the user in error.
 */
int eth_coal_get(const char *name, struct eth_coal *coal, char *error);

/* Sets the values that coal->there names. -EPERM, -EINVAL: the driver refuses it. */
int eth_coal_set(const char *name, const struct eth_coal *coal, char *error);

/*
 * Finds which parameters of coal->there can be set, and how far. Sets each to the highest value of
 * hw_coalesce.h, to less where the driver refuses that or reads back less, and puts coal's values
 * back. Returns bits of parameters, or a negative errno.
 */
int eth_coal_highest(const char *name, const struct eth_coal *coal,
		     uint32_t highest[HW_COALESCE_NUM_PARAMS], char *error);

/* The messages alone, for those above and for tests. */
struct nlmsghdr *eth_coal_build(void *buf, uint16_t family, uint32_t seq, const char *name,
				const struct eth_coal *set);
/* -EBADMSG: an attribute has the wrong size. */
int eth_coal_parse(const struct nlmsghdr *msg, struct eth_coal *coal);

#endif /* WEFT_MEASURE_ETH_COAL_H */
