/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The descriptor by which memory of a process is reached where it is not mapped.
 *
 * A process sends its own /proc/self/mem with ATTACH, which it opened with its own rights. weftd
 * opens no memory of a process itself: between its look at the process and the open() a set-uid
 * program could take the process's place. The descriptor stands for one address space; a program
 * that is executed later has another one.
 */
#ifndef WEFT_APP_CLIENT_MEM_H
#define WEFT_APP_CLIENT_MEM_H

#include <sys/types.h>

/*
 * Is fd /proc/<pid>/mem of this very process, open for reading and writing? pid counts as weftd's
 * /proc counts. A process in a container opened it through another procfs, which counts otherwise:
 * then the number must be one that the kernel names in the process's status (NSpid). 0; -EPERM:
 * no. Never waits for a file system. The caller sees to it that the process still lives, after
 * the call: while it does, its number is nobody else's. Any thread.
 */
int client_mem_check(int fd, pid_t pid) __attribute__((warn_unused_result));

#endif /* WEFT_APP_CLIENT_MEM_H */
