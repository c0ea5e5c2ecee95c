/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Limits that the kernel imposes on weftd and that its users share, and owners of uids: the parts
 * of user.c that read files. Read once at the start, on the control thread.
 */
#ifndef WEFT_APP_USER_TABLES_H
#define WEFT_APP_USER_TABLES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* Reads /etc/subuid. */
void user_tables_read_subuids(void);

/*
 * Returns the user for whose share a uid counts: the owner of the range in /etc/subuid (user
 * namespaces), otherwise the uid itself. A user has one share, however many uids it maps.
 */
uid_t user_tables_owner(uid_t uid);

/* For tests: reads the ranges of uids from such a file. */
void user_tables_read_ranges(FILE *file);

/* Returns the bytes still available, on the machine and in every cgroup of weftd. */
uint64_t user_tables_memory_bytes(void);

/* Likewise, the total bytes. */
uint64_t user_tables_memory_total(void);

/*
 * Returns the value of "key: N kB" in a text such as /proc/meminfo, in bytes; 0: no such line.
 * Pure.
 */
uint64_t user_tables_kb(const char *text, const char *key);

/*
 * Stores the path of weftd's cgroup from a text such as /proc/self/cgroup: controller "memory" for
 * version 1, "" for version 2. Returns false if there is none. Pure.
 */
bool user_tables_cgroup(const char *text, const char *controller, char *path, size_t chars);

#endif /* WEFT_APP_USER_TABLES_H */
