/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ports that a process may bind: bind(2)'s rule for privileged ports, applied to the NIC.
 *
 * A station that connects to a low port of the host or of its NIC expects a service started by
 * root. Calls the kernel; docs/security.md, "TCP ports".
 */
#ifndef WEFT_APP_PORT_RIGHT_H
#define WEFT_APP_PORT_RIGHT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Returns the first port that the connected process may bind: 0 if it has CAP_NET_BIND_SERVICE in
 * the user namespace of weftd's network namespace, otherwise that namespace's
 * ip_unprivileged_port_start. uid: that of the process when it connected; pid_fd: -1 if there is
 * none, and then no right. Rights gained later by executing a program do not count. Control thread.
 */
uint32_t port_right_first(pid_t pid, uid_t uid, int pid_fd);

/*
 * Returns true if the text of /proc/PID/status has uid for all user ids, and CAP_NET_BIND_SERVICE
 * among the effective capabilities. Pure.
 */
bool port_right_in_status(const char *status, uid_t uid);

#endif /* WEFT_APP_PORT_RIGHT_H */
