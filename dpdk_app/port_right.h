/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which ports a process may bind: bind(2)'s rule for low ones, applied to the NIC's.
 *
 * A station that connects to a low port of the host, or of its NIC, expects a service that root
 * has started. Calls the kernel; docs/security.md "TCP ports".
 */
#ifndef WEFT_APP_PORT_RIGHT_H
#define WEFT_APP_PORT_RIGHT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The first port that the process at the other end of a connection may bind: 0 when it has
 * CAP_NET_BIND_SERVICE where weftd's network namespace belongs, else ip_unprivileged_port_start of
 * that namespace. uid: the process's when it connected; pid_fd: -1 when there is none, and no right
 * then. A process that has gained rights by executing a program since has none here. Control
 * thread.
 */
uint32_t port_right_first(pid_t pid, uid_t uid, int pid_fd);

/*
 * True when the text of /proc/PID/status has uid for all user ids, and CAP_NET_BIND_SERVICE among
 * the effective capabilities. Pure.
 */
bool port_right_in_status(const char *status, uid_t uid);

#endif /* WEFT_APP_PORT_RIGHT_H */
