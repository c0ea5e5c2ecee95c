/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The descriptor through which unmapped memory of a process is accessed.
 *
 * A process sends its own /proc/self/mem with ATTACH, opened with its own rights. weftd does not
 * open a process's memory itself: between its check of the process and the open(), a set-uid
 * program could take the process's place. The descriptor refers to one address space; a program
 * executed later has another one.
 */
#ifndef WEFT_APP_CLIENT_MEM_H
#define WEFT_APP_CLIENT_MEM_H

#include <sys/types.h>

/*
 * Checks that fd is /proc/<pid>/mem of this process, open for reading and writing. pid is a number
 * in weftd's /proc. A process in a container opened it through another procfs with other numbers;
 * the number must then be listed in the process's status (NSpid). Returns 0 or -EPERM. Never waits
 * for a file system. After the call the caller must check that the process still exists, because
 * only then does the pid identify it. Any thread.
 */
int client_mem_check(int fd, pid_t pid) __attribute__((warn_unused_result));

#endif /* WEFT_APP_CLIENT_MEM_H */
