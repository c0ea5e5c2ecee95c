/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Echoes answered by the port. Called by port_rx.c on the shard's core.
 */
#ifndef WEFT_APP_ECHO_H
#define WEFT_APP_ECHO_H

#include <stdbool.h>

#include "dpdk_app/app.h"

/* True when the frame was an echo to WIRE_EDP_PORT_ECHO: it is answered, or dropped, and gone. */
bool echo_answered(struct shard *shard, struct rte_mbuf *m);

#endif /* WEFT_APP_ECHO_H */
