/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes that make code for weftd: one compiles users' operations, one loads firmware.
 *
 * weftd forks them before it has threads, before DPDK starts and before system calls are filtered.
 * A helper writes into memory that weftd has mapped readable and executable, never writable, so
 * that no part of weftd's address space is both, and weftd itself makes no executable memory later.
 * Functions are at the same addresses in both. A helper ends with weftd.
 */
#ifndef WEFT_APP_HELPER_H
#define WEFT_APP_HELPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct helper {
	const char *name; /* of the process */
	size_t bytes;     /* of the shared memory */
	int (*filter)(void);
	/*
	 * Answers requests until the socket closes. memory: writable; code: where weftd executes
	 * it.
	 */
	void (*serve)(int fd, uint8_t *memory, const uint8_t *code);
};

/*
 * Starts a helper: main thread, while it is the only one. filter: of its system calls. Returns the
 * socket to it with *code, the shared memory in weftd; or -1 with errno.
 */
int helper_start(const struct helper *helper, bool filter, const uint8_t **code);

#endif /* WEFT_APP_HELPER_H */
