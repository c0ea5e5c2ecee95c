/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cost of an interface to a Linux host: interrupts of its device, and time of all processors.
 *
 * Interrupts are those of /proc/interrupts whose numbers /sys/class/net/IFACE/device says are the
 * device's, or whose names hold the interface's; interfaces without a device have none.
 */
#ifndef WEFT_MEASURE_NET_HOST_H
#define WEFT_MEASURE_NET_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct net_host {
	uint64_t irqs;
	bool has_irqs;         /* there are lines of the interface at all */
	double busy_s, idle_s; /* of all processors together */
};

/* Reads both. name NULL: no interface. 0 or a negative errno (no /proc). */
int net_host_read(const char *name, struct net_host *host);

/*
 * Adds a line of /proc/interrupts to *sum when it is of the interface: its number is in numbers
 * (count of them), or, with none given, the interface's name is one of its names. Returns whether
 * it is.
 */
bool net_host_irq_line(const char *line, const char *name, const uint32_t *numbers, size_t count,
		       uint64_t *sum);

#endif /* WEFT_MEASURE_NET_HOST_H */
