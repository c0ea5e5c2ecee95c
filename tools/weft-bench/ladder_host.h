/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The process of the ladder that answers datagrams. Calls libweft.
 */
#ifndef WEFT_BENCH_LADDER_HOST_H
#define WEFT_BENCH_LADDER_HOST_H

#include "tools/weft-bench/bench.h"

/*
 * Opens the device, writes the number of its queue pair to qpn_fd (4 bytes), and answers datagrams
 * of peer_ip (network byte order) until it is killed. Returns an exit code after an error message.
 */
int ladder_host(const char *device, uint32_t peer_ip, int qpn_fd);

#endif /* WEFT_BENCH_LADDER_HOST_H */
