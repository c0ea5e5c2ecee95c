/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Limits that the kernel sets for weftd, which its users share, and owners of uids: the parts of
 * user.c that read files. Read once at the start, on the control thread.
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
 * The user whose share a uid counts for: the one whom /etc/subuid gives it, for user namespaces,
 * else the uid itself. A user has one share, however many uids it maps.
 */
uid_t user_tables_owner(uid_t uid);

/* For tests: the ranges of uids in such a file. */
void user_tables_read_ranges(FILE *file);

/* Bytes that may still be used: of the machine, and of every cgroup that weftd is in. */
uint64_t user_tables_memory_bytes(void);

/* Bytes that there are, used or not: the same. */
uint64_t user_tables_memory_total(void);

/* "key: N kB" of a text such as /proc/meminfo, in bytes; 0: it has no such line. Pure. */
uint64_t user_tables_kb(const char *text, const char *key);

/*
 * The path of weftd's cgroup in a text such as /proc/self/cgroup: controller "memory" for version
 * 1, "" for version 2. False: there is none. Pure.
 */
bool user_tables_cgroup(const char *text, const char *controller, char *path, size_t chars);

#endif /* WEFT_APP_USER_TABLES_H */
