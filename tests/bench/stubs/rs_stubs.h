/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbours of rs_end.c and rs_stream.c in programs that link neither the CM nor a NIC. A program
 * writes each list that it needs once, at file scope; the lists define functions.
 *
 * Source: host_driver/rdmacm/rs.h, rdma/rdma_cma.h, infiniband/verbs.h.
 */
#ifndef TESTS_BENCH_STUBS_RS_STUBS_H
#define TESTS_BENCH_STUBS_RS_STUBS_H

#include <stdio.h>
#include <stdlib.h>

#include "host_driver/rdmacm/rs_dgram.h"

/* A macro of the verbs, whose function is defined here. */
#undef ibv_query_port

/* A function that the code under test does not call on its data path. A call ends the program. */
#define RS_UNCALLED(type, name, ...)                                                               \
	type name(__VA_ARGS__)                                                                     \
	{                                                                                          \
		fprintf(stderr, #name " is called\n");                                             \
		abort();                                                                           \
	}
#define RS_STUBS_BEGIN                                                                             \
	_Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wunused-parameter\"")
#define RS_STUBS_END _Pragma("GCC diagnostic pop")

/* The making and closing of an end of datagrams. */
#define RS_STUBS_OF_END                                                                            \
	RS_STUBS_BEGIN                                                                             \
	RS_UNCALLED(int, rs_cm_id, struct rs *r, enum rdma_port_space ps, struct rdma_cm_id **i)   \
	RS_UNCALLED(bool, rs_share_has, const struct sockaddr_in *addr)                            \
	RS_UNCALLED(void, rs_share_add, struct rs *r, struct rs_end *e)                            \
	RS_UNCALLED(void, rs_share_remove, struct rs_end *e)                                       \
	RS_UNCALLED(int, rdma_bind_addr, struct rdma_cm_id *i, struct sockaddr *addr)              \
	RS_UNCALLED(int, rdma_listen, struct rdma_cm_id *i, int backlog)                           \
	RS_UNCALLED(int, rdma_destroy_id, struct rdma_cm_id *i)                                    \
	RS_STUBS_END

/* The objects of verbs, without memory regions. */
#define RS_STUBS_OF_VERBS                                                                          \
	RS_STUBS_BEGIN                                                                             \
	RS_UNCALLED(int, rdma_create_qp, struct rdma_cm_id *i, struct ibv_pd *pd,                  \
		    struct ibv_qp_init_attr *attr)                                                 \
	RS_UNCALLED(void, rdma_destroy_qp, struct rdma_cm_id *i)                                   \
	RS_UNCALLED(struct ibv_comp_channel *, ibv_create_comp_channel, struct ibv_context *c)     \
	RS_UNCALLED(int, ibv_destroy_comp_channel, struct ibv_comp_channel *c)                     \
	RS_UNCALLED(struct ibv_cq *, ibv_create_cq, struct ibv_context *c, int n, void *user,      \
		    struct ibv_comp_channel *channel, int vector)                                  \
	RS_UNCALLED(int, ibv_destroy_cq, struct ibv_cq *c)                                         \
	RS_UNCALLED(struct ibv_pd *, ibv_alloc_pd, struct ibv_context *c)                          \
	RS_UNCALLED(int, ibv_dealloc_pd, struct ibv_pd *pd)                                        \
	RS_UNCALLED(struct ibv_qp *, ibv_create_qp, struct ibv_pd *pd,                             \
		    struct ibv_qp_init_attr *attr)                                                 \
	RS_UNCALLED(int, ibv_destroy_qp, struct ibv_qp *q)                                         \
	RS_UNCALLED(int, ibv_modify_qp, struct ibv_qp *q, struct ibv_qp_attr *attr, int mask)      \
	RS_UNCALLED(int, rdma_init_qp_attr, struct rdma_cm_id *i, struct ibv_qp_attr *attr,        \
		    int *mask)                                                                     \
	RS_UNCALLED(int, ibv_query_port, struct ibv_context *c, uint8_t port,                      \
		    struct _compat_ibv_port_attr *attr)                                            \
	RS_STUBS_END

/* Looks at completion queues: the stand-in of ibv_poll_cq() answers whether something waits. */
#define RS_STUBS_OF_LOOKS                                                                          \
	struct weft_cq *weft_cm_cq(struct ibv_cq *ibv)                                             \
	{                                                                                          \
		return (struct weft_cq *)(void *)ibv;                                              \
	}                                                                                          \
	bool weft_cq_waiting(struct weft_cq *looked)                                               \
	{                                                                                          \
		return looked != NULL;                                                             \
	}                                                                                          \
	void weft_poll_again(void)                                                                 \
	{                                                                                          \
	}

/* A program with streams alone: what rs_wait.c asks of any socket is asked of the stream. */
#define RS_STUBS_OF_STREAMS                                                                        \
	void rs_share_forked(void)                                                                 \
	{                                                                                          \
	}                                                                                          \
	void rs_cm_forked(void)                                                                    \
	{                                                                                          \
	}                                                                                          \
	bool rs_arm(struct rs *rs)                                                                 \
	{                                                                                          \
		return rs_stream_arm(rs);                                                          \
	}                                                                                          \
	void rs_events(struct rs *rs)                                                              \
	{                                                                                          \
		rs_stream_event(rs);                                                               \
	}                                                                                          \
	void rs_progress(struct rs *rs)                                                            \
	{                                                                                          \
		(void)rs_stream_progress(rs);                                                      \
	}

#endif
