/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Helpers of the programs of this folder that use libweft: need() ends the program with a message,
 * numbers come from a seed, an end of a connection has its objects in one struct.
 *
 * Included by test programs only. Calls host_driver/weft.h only.
 */
#ifndef WEFT_TESTS_HOST_H
#define WEFT_TESTS_HOST_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host_driver/weft.h"

enum {
	HOST_QKEY = 0x4711,
	HOST_ACCESS_ALL = WEFT_ACCESS_LOCAL_WRITE | WEFT_ACCESS_REMOTE_WRITE |
			  WEFT_ACCESS_REMOTE_READ | WEFT_ACCESS_REMOTE_ATOMIC | WEFT_ACCESS_MW_BIND,
};

static void host_die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

static inline void host_die(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

/* Ends the program with the place if the condition is false. */
#define host_check(cond)                                                                           \
	do {                                                                                       \
		if (!(cond))                                                                       \
			host_die("%s:%d: not so: %s (errno %s)", __FILE__, __LINE__, #cond,        \
				 strerror(errno));                                                 \
	} while (0)

/* Finds the eventfds of this process, among its first 64 descriptors. Returns how many, up to max.
 */
static inline int host_eventfds(int *fd, int max)
{
	char path[64], name[64];
	int num = 0;

	for (int i = 0; i < 64 && num < max; i++) {
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", i);
		n = readlink(path, name, sizeof(name) - 1);
		if (n <= 0)
			continue;
		name[n] = '\0';
		if (!strcmp(name, "anon_inode:[eventfd]"))
			fd[num++] = i;
	}
	host_check(num > 0);
	return num;
}

/* Opens a context with the least that traffic needs. */
struct host_end {
	struct weft_context *ctx;
	struct weft_pd *pd;
	struct weft_ah *ah; /* leaves it to the QPN */
	char *mem;          /* memory of weft_alloc() */
	size_t bytes;
	struct weft_mr *mr;
};

static inline void host_open(struct host_end *end, const char *nic, size_t bytes)
{
	struct weft_av av = weft_av_qpn();

	end->ctx = weft_open_device(nic);
	host_check(end->ctx);
	end->pd = weft_alloc_pd(end->ctx);
	host_check(end->pd);
	end->ah = weft_create_ah(end->pd, &av);
	host_check(end->ah);
	end->bytes = bytes;
	end->mem = weft_alloc(end->ctx, bytes);
	host_check(end->mem);
	end->mr = weft_reg_mr(end->pd, end->mem, bytes, HOST_ACCESS_ALL);
	host_check(end->mr);
}

/* Frees all objects in order, as a program that frees everything does. */
static inline void host_close(struct host_end *end)
{
	host_check(weft_dereg_mr(end->mr) == 0);
	weft_free(end->mem, end->bytes);
	host_check(weft_destroy_ah(end->ah) == 0);
	host_check(weft_dealloc_pd(end->pd) == 0);
	weft_close_device(end->ctx);
}

/* Makes a QP of wr requests each way that is ready to send. */
static inline struct weft_qp *host_qp(struct host_end *end, enum weft_qp_type type,
				      struct weft_cq *cq, struct weft_srq *srq, uint32_t wr)
{
	struct weft_qp_init_attr init = {
	    .type = type,
	    .send_cq = cq,
	    .recv_cq = cq,
	    .srq = srq,
	    .cap = {.max_send_wr = wr,
		    .max_recv_wr = wr,
		    .max_send_sge = 2,
		    .max_recv_sge = 2,
		    .max_inline_bytes = 64},
	};
	struct weft_qp *qp = weft_create_qp(end->pd, &init);

	host_check(qp);
	host_check(weft_activate_qp(qp, HOST_QKEY, type == WEFT_QPT_RD ? HOST_ACCESS_ALL : 0) == 0);
	return qp;
}

#endif /* WEFT_TESTS_HOST_H */
