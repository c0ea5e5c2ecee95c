/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One tagged endpoint of a test program: its objects, posting, waiting, and the content of
 * messages.
 *
 * Included by test programs only. Calls host_driver/weft_tag.h. A wait that lasts LIMIT_S ends the
 * program.
 */
#ifndef WEFT_TESTS_TAG_END_H
#define WEFT_TESTS_TAG_END_H

#include "host_driver/weft_tag.h"
#include "lib/clock.h"
#include "tests/int/host.h"

enum {
	TAG_END_LIMIT_S = 50,
	TAG_END_CQ = 1024,
};

struct tag_end {
	struct host_end h;
	struct weft_cq *send_cq, *recv_cq;
	struct weft_tag_ep *ep;
	uint32_t ip, qpn;
};

/* An endpoint at ip that messages go to. */
struct tag_peer {
	struct weft_ah *ah;
	uint32_t ip, qpn;
};

static inline void tag_end_open(struct tag_end *e, const char *nic, size_t bytes,
				uint64_t pool_bytes)
{
	struct weft_tag_attr attr = {.qkey = HOST_QKEY,
				     .access = HOST_ACCESS_ALL & ~WEFT_ACCESS_MW_BIND,
				     .pool_bytes = pool_bytes,
				     .pool_low_bytes = pool_bytes / 2};
	struct weft_port_attr port;

	host_open(&e->h, nic, bytes);
	e->send_cq = weft_create_cq(e->h.ctx, TAG_END_CQ, NULL, NULL);
	e->recv_cq = weft_create_cq(e->h.ctx, TAG_END_CQ, NULL, NULL);
	host_check(e->send_cq && e->recv_cq);
	attr.send_cq = e->send_cq;
	attr.recv_cq = e->recv_cq;
	e->ep = weft_open_tag_ep(e->h.pd, &attr);
	host_check(e->ep);
	host_check(weft_query_port(e->h.ctx, &port) == 0);
	e->ip = port.ip;
	e->qpn = e->ep->qp->qpn;
}

static inline void tag_end_close(struct tag_end *e)
{
	weft_close_tag_ep(e->ep);
	host_check(weft_destroy_cq(e->send_cq) == 0);
	host_check(weft_destroy_cq(e->recv_cq) == 0);
	host_close(&e->h);
}

static inline struct tag_peer tag_end_peer(struct tag_end *from, uint32_t ip, uint32_t qpn)
{
	struct weft_av av = weft_av_ip(ip);
	struct tag_peer peer = {.ah = weft_create_ah(from->h.pd, &av), .ip = ip, .qpn = qpn};

	host_check(peer.ah);
	return peer;
}

/* Polls one completion; false if there is none. */
static inline bool tag_end_poll(struct weft_cq *cq, struct weft_wc *wc)
{
	int n = weft_poll_cq(cq, 1, wc);

	host_check(n >= 0);
	return n == 1;
}

static inline struct weft_wc tag_end_wait(struct weft_cq *cq, const char *what)
{
	double end = clock_now_s() + TAG_END_LIMIT_S;
	struct weft_wc wc;

	while (!tag_end_poll(cq, &wc))
		if (clock_now_s() > end)
			host_die("%s did not complete", what);
	return wc;
}

#define tag_end_ok(wc)                                                                             \
	do {                                                                                       \
		if ((wc).status != WEFT_WC_SUCCESS)                                                \
			host_die("%s:%d: %s: %s (%s)", __FILE__, __LINE__,                         \
				 weft_wc_opcode_str((wc).opcode), weft_wc_status_str((wc).status), \
				 weft_vendor_err_str((wc).vendor_err));                            \
	} while (0)

/* Byte i of message seed: all places and all messages differ. */
static inline uint8_t tag_end_byte(uint64_t seed, size_t i)
{
	uint64_t x = (seed + 1) * 0x9e3779b97f4a7c15u + (i / 8) * 0xbf58476d1ce4e5b9u;

	return (uint8_t)(x >> (i % 8 * 8) ^ x >> 29);
}

static inline void tag_end_fill(char *p, size_t bytes, uint64_t seed)
{
	for (size_t i = 0; i < bytes; i++)
		p[i] = (char)tag_end_byte(seed, i);
}

static inline void tag_end_check(const char *p, size_t bytes, uint64_t seed)
{
	for (size_t i = 0; i < bytes; i++)
		if ((uint8_t)p[i] != tag_end_byte(seed, i))
			host_die("message %llu of %zu bytes is wrong at byte %zu",
				 (unsigned long long)seed, bytes, i);
}

/* Posts while the queue may be full for a moment. */
static inline void tag_end_send(struct tag_end *e, const struct tag_peer *to, size_t at,
				size_t bytes, uint64_t tag, uint32_t flags, uint64_t wr_id)
{
	struct weft_sge sge = {(uintptr_t)e->h.mem + at, (uint32_t)bytes, e->h.mr->lkey};
	struct weft_tag_send_wr wr = {.wr_id = wr_id,
				      .sg_list = &sge,
				      .num_sge = bytes ? 1 : 0,
				      .flags = flags,
				      .ah = to->ah,
				      .dst_qpn = to->qpn,
				      .tag = tag,
				      .data = ~tag};
	double end = clock_now_s() + TAG_END_LIMIT_S;
	int rc;

	while ((rc = weft_tag_send(e->ep, &wr)) == -ENOMEM && clock_now_s() < end)
		;
	if (rc)
		host_die("posting a send: %s", strerror(-rc));
}

/* from NULL: any source. Returns the receive's number. */
static inline uint32_t tag_end_recv(struct tag_end *e, const struct tag_peer *from, size_t at,
				    size_t bytes, uint64_t tag, uint64_t ignore, uint32_t flags,
				    uint64_t wr_id)
{
	struct weft_sge sge = {(uintptr_t)e->h.mem + at, (uint32_t)bytes, e->h.mr->lkey};
	struct weft_tag_recv_wr wr = {.wr_id = wr_id,
				      .sg_list = &sge,
				      .num_sge = bytes ? 1 : 0,
				      .flags = flags,
				      .src_ip = from ? from->ip : 0,
				      .src_qpn = from ? from->qpn : WEFT_TAG_ANY_QPN,
				      .tag = tag,
				      .ignore = ignore,
				      .min_free_bytes = 1000};
	double end = clock_now_s() + TAG_END_LIMIT_S;
	uint32_t number = 0;
	int rc;

	while ((rc = weft_tag_recv(e->ep, &wr, &number)) == -ENOMEM && clock_now_s() < end)
		;
	if (rc)
		host_die("posting a receive: %s", strerror(-rc));
	return number;
}

static inline struct weft_tag_stats tag_end_stats(const struct tag_end *e)
{
	struct weft_tag_stats stats;

	host_check(weft_query_tag_ep(e->ep, &stats) == 0);
	return stats;
}

/* Waits until the NIC has that many messages without a receive, or receives without a message. */
static inline void tag_end_await_unexpected(const struct tag_end *e, uint32_t count)
{
	double end = clock_now_s() + TAG_END_LIMIT_S;

	while (tag_end_stats(e).unexpected != count)
		if (clock_now_s() > end)
			host_die("%u messages wait, not %u", tag_end_stats(e).unexpected, count);
}

static inline void tag_end_await_posted(const struct tag_end *e, uint32_t count)
{
	double end = clock_now_s() + TAG_END_LIMIT_S;

	while (tag_end_stats(e).posted != count)
		if (clock_now_s() > end)
			host_die("%u receives are posted, not %u", tag_end_stats(e).posted, count);
}

#endif /* WEFT_TESTS_TAG_END_H */
