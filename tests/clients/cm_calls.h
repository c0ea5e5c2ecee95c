/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parts of cm_calls.c: calls on endpoints, names and groups are in cm_calls_ep.c.
 */
#ifndef WEFT_TESTS_CM_CALLS_H
#define WEFT_TESTS_CM_CALLS_H

#include "tests/clients/cm_ends.h"

/* The NICs' addresses. */
extern struct in_addr addr[2];

/* rdma_create_ep() at both ends; refuse: the listener rejects the request. */
void endpoints(bool refuse);
/* rdma_getaddrinfo() */
void names(void);
void groups(void);

#endif /* WEFT_TESTS_CM_CALLS_H */
