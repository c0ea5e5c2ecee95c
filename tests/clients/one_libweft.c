/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that one of weft's libraries has moved is mapped for the others of the process.
 *
 *	one_libweft
 *
 * Registers buffers on the heap, in the middle of a page and in a mapping of their own, by
 * libibverbs on the first NIC, then by libweft: the regions of the second, too, are mapped. Run by
 * tests/int/one_libweft.sh. Calls libibverbs, weft.h.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "host_driver/weft.h"

enum {
	BYTES = 64 << 10,
	OTHER = 200, /* bytes of a buffer that shares its page */
};

static void check(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "one_libweft: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Both keep their region, as libraries with caches do. */
static void both(struct ibv_pd *verbs, struct weft_pd *weft, void *buffer, size_t bytes,
		 const char *what)
{
	struct weft_mr *mr;

	check(ibv_reg_mr(verbs, buffer, bytes, IBV_ACCESS_LOCAL_WRITE) != NULL, what);
	mr = weft_reg_mr(weft, buffer, bytes, WEFT_ACCESS_LOCAL_WRITE);
	check(mr != NULL, what);
	errno = 0;
	check(mr->mapped, what);
}

int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *verbs = list && list[0] ? ibv_open_device(list[0]) : NULL;
	struct weft_context *weft = weft_open_device(NULL);
	struct ibv_pd *verbs_pd = verbs ? ibv_alloc_pd(verbs) : NULL;
	struct weft_pd *weft_pd = weft ? weft_alloc_pd(weft) : NULL;
	void *area = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(verbs_pd && weft_pd && area != MAP_FAILED, "no NIC");
	both(verbs_pd, weft_pd, malloc(BYTES), BYTES, "a buffer on the heap is not mapped");
	both(verbs_pd, weft_pd, malloc(OTHER), OTHER, "a part of a page is not mapped");
	both(verbs_pd, weft_pd, area, BYTES, "a mapping is not mapped");
	return 0;
}
