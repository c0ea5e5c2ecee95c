/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Echoes answered by the port, on the shard's core.
 */
#ifndef WEFT_APP_ECHO_H
#define WEFT_APP_ECHO_H

#include <stdbool.h>

#include "dpdk_app/app.h"

/*
 * Returns true if the frame was an echo to WIRE_EDP_PORT_ECHO; it was then answered or dropped, and
 * freed.
 */
bool echo_answered(struct shard *shard, struct rte_mbuf *m);

#endif /* WEFT_APP_ECHO_H */
