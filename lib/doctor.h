/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Findings about a machine that weft runs on, each with what to do about it, and the checks that
 * concern the machine alone. weftctl doctor adds checks of running NICs, weftd --check those of
 * its configuration.
 *
 * Calls libc. One thread.
 */
#ifndef WEFT_LIB_DOCTOR_H
#define WEFT_LIB_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum doctor_level {
	DOCTOR_OK,
	DOCTOR_NOTE, /* slower than need be */
	DOCTOR_WARN, /* something does not work, or will not under load */
	DOCTOR_FAIL, /* nothing works before it is mended */
	DOCTOR_LEVELS
};

struct doctor_finding {
	enum doctor_level level;
	char *subject, *finding, *cure; /* cure NULL: nothing is to be done */
};

struct doctor {
	const char *root; /* "" or a folder in which /proc and /sys are looked for */
	struct doctor_finding *findings;
	uint32_t num_findings;
	enum doctor_level worst;
};

/* Adds a finding. cure NULL: nothing is to be done. */
void doctor_add(struct doctor *d, enum doctor_level level, const char *subject, const char *cure,
		const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* Prints the findings, the worst first, or as a JSON array of {level, subject, finding, cure}. */
void doctor_print(const struct doctor *d, bool json, FILE *f);

/* Frees the findings. */
void doctor_free(struct doctor *d);

/*
 * Reads the first line of a file below the root, without its newline. False: it cannot be read;
 * text is "" then.
 */
bool doctor_line(const struct doctor *d, char *text, size_t bytes, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* True if number is in a list as the kernel writes it: "0-3,8". */
bool doctor_in_list(const char *list, unsigned long number);

/* Looks at kernel, limits, memory, group and firewall; adds at least one finding. */
void doctor_machine(struct doctor *d);

/* Compares the NUMA nodes of a device, by its folder in /sys, and of a CPU. */
void doctor_numa(struct doctor *d, const char *subject, const char *device, unsigned long cpu);

/* Offloads of an interface that are on, and that weft's frames may suffer from. */
enum {
	DOCTOR_OFFLOAD_LRO = 1,     /* received segments are joined */
	DOCTOR_OFFLOAD_RX_VLAN = 2, /* tags of received frames are taken off */
};
void doctor_offloads(struct doctor *d, const char *subject, const char *device, uint32_t offloads);

/* Looks at the frequency of a CPU on which weftd polls, or will. */
void doctor_cpu(struct doctor *d, const char *subject, unsigned long cpu);

#endif /* WEFT_LIB_DOCTOR_H */
