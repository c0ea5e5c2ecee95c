/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Uses every function of weft.h and weft_tag.h at least once, in ways that succeed and in some that
 *fail, and frees everything. Under valgrind this finds reads of uninitialized bytes, writes out of
 *bounds, double frees and leaks in libweft.
 *
 *	every_call
 *
 * Run by memcheck.sh, which also checks that no function of them is missing here. Uses NICs weft0
 * and weft1. Calls host_driver.
 */
#include "host_driver/weft_cm.h"
#include "host_driver/weft_tag.h"
#include "tests/int/host.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum {
	PAGE = 4096,
	MEM = 16 * PAGE,
};

static struct host_end a, b;
static struct weft_cq *cq_a, *cq_b;
static struct weft_comp_channel *channel;

/* ---- completions */

/* Waits for one completion of the CQ by an event on the channel. */
static void await_event(void)
{
	struct weft_cq *cq;
	void *user;

	host_check(weft_get_cq_event(channel, &cq, &user) == 0);
	host_check(cq == cq_b && user == &b);
	weft_ack_cq_events(cq, 1);
}

static struct weft_wc await(struct weft_cq *cq, enum weft_wc_status status)
{
	struct weft_wc wc[2];
	int n;

	if (cq == cq_b) {
		host_check(weft_req_notify_cq(cq, false) == 0);
		await_event();
	}
	while (!weft_cq_waiting(cq))
		weft_poll_again();
	n = weft_poll_cq(cq, 1, wc);
	host_check(n == 1);
	if (wc[0].status != status)
		host_die("status %s (%s, %s), not %s", weft_wc_status_str(wc[0].status),
			 weft_vendor_err_str(wc[0].vendor_err), weft_wc_opcode_str(wc[0].opcode),
			 weft_wc_status_str(status));
	return wc[0];
}

/* ---- requests */

static struct weft_send_wr request(enum weft_wr_opcode opcode, const struct weft_sge *sge,
				   const struct weft_qp *to)
{
	return (struct weft_send_wr){.wr_id = 7,
				     .sg_list = sge,
				     .num_sge = sge ? 1 : 0,
				     .opcode = opcode,
				     .flags = WEFT_SEND_SIGNALED,
				     .ah = a.ah,
				     .dst_qpn = to->qpn,
				     .qkey = HOST_QKEY};
}

static void post_receive(struct weft_qp *qp)
{
	struct weft_sge sge = {(uintptr_t)(b.mem + 4 * PAGE), 4 * PAGE, b.mr->lkey};
	struct weft_recv_wr wr = {.wr_id = 9, .sg_list = &sge, .num_sge = 1}, *bad = NULL;

	host_check(weft_post_recv(qp, &wr, (const struct weft_recv_wr **)&bad) == 0);
}

static void every_request(struct weft_qp *from, struct weft_qp *to)
{
	static const enum weft_wr_opcode with_receive[] = {WEFT_WR_SEND, WEFT_WR_SEND_IMM,
							   WEFT_WR_WRITE_IMM};
	static const enum weft_wr_opcode without[] = {WEFT_WR_WRITE, WEFT_WR_READ,
						      WEFT_WR_FETCH_ADD, WEFT_WR_CMP_SWAP};
	struct weft_sge sge = {(uintptr_t)a.mem, 3 * PAGE, a.mr->lkey};
	const struct weft_send_wr *bad;
	struct weft_send_wr wr;

	memset(a.mem, 0x5a, 3 * PAGE);
	for (unsigned i = 0; i < sizeof(with_receive) / sizeof(with_receive[0]); i++) {
		post_receive(to);
		wr = request(with_receive[i], &sge, to);
		wr.imm = htonl(77);
		wr.rkey = b.mr->rkey;
		wr.remote_addr = (uintptr_t)b.mem;
		host_check(weft_post_send(from, &wr, &bad) == 0);
		await(cq_a, WEFT_WC_SUCCESS);
		await(cq_b, WEFT_WC_SUCCESS);
	}
	host_check(memcmp(a.mem, b.mem, 3 * PAGE) == 0);
	host_check(memcmp(a.mem, b.mem + 4 * PAGE, 3 * PAGE) == 0);
	for (unsigned i = 0; i < sizeof(without) / sizeof(without[0]); i++) {
		sge.bytes = i < 2 ? 2 * PAGE : 8;
		wr = request(without[i], &sge, to);
		wr.rkey = b.mr->rkey;
		wr.remote_addr = (uintptr_t)b.mem;
		host_check(weft_post_send(from, &wr, NULL) == 0);
		await(cq_a, WEFT_WC_SUCCESS);
	}
	/*
	 * Inline, by a list of two requests; then a request that the library refuses and one that
	 * the NIC refuses.
	 */
	struct weft_send_wr second = request(WEFT_WR_SEND, &sge, to);
	char text[40] = "inline";
	struct weft_sge inl = {(uintptr_t)text, sizeof(text), 0};

	post_receive(to);
	wr = request(WEFT_WR_SEND, &inl, to);
	wr.flags |= WEFT_SEND_INLINE | WEFT_SEND_SOLICITED;
	wr.next = &second;
	second.num_sge = 99;
	host_check(weft_post_send(from, &wr, &bad) == -EINVAL && bad == &second);
	await(cq_a, WEFT_WC_SUCCESS);
	host_check(await(cq_b, WEFT_WC_SUCCESS).bytes == sizeof(text));
	sge.lkey ^= 1;
	wr = request(WEFT_WR_SEND, &sge, to);
	host_check(weft_post_send(from, &wr, NULL) == 0);
	await(cq_a, WEFT_WC_LOC_PROT_ERR);
}

static void windows(struct weft_qp *from, struct weft_qp *to)
{
	struct weft_mw *mw = weft_alloc_mw(a.pd, 2);
	struct weft_sge range = {(uintptr_t)a.mem, PAGE, a.mr->lkey};
	struct weft_send_wr wr = request(WEFT_WR_BIND_MW, &range, to);
	struct weft_wc wc;

	host_check(mw);
	host_check(weft_modify_mr(a.mr, NULL, -1) == -EINVAL);
	wr.rkey = mw->rkey;
	wr.mw_access = WEFT_ACCESS_REMOTE_WRITE;
	host_check(weft_post_send(from, &wr, NULL) == 0);
	/* The NIC may bind the window or refuse it; both are answers. */
	while (weft_poll_cq(cq_a, 1, &wc) == 0)
		;
	host_check(weft_dealloc_mw(mw) == 0);
}

/* ---- objects */

/* Under valgrind the allocator keeps nothing: all memory is freed at release. */
static void cached_regions(char *p, size_t bytes)
{
	struct weft_mr_cache_attr attr = {.policy = WEFT_MR_CACHE_LRU};
	struct weft_mr_cache *cache = weft_create_mr_cache(a.pd, &attr);
	struct weft_mr_cache_stats stats;
	struct weft_mr *mr;

	host_check(cache);
	mr = weft_reg_mr_cached(cache, p, bytes, HOST_ACCESS_ALL & ~WEFT_ACCESS_MW_BIND);
	host_check(mr && !weft_mr_is_withdrawn(mr) && weft_dereg_mr(mr) == -EINVAL);
	host_check(weft_query_mr_cache(cache, &stats) == 0 && stats.in_use == 1);
	host_check(weft_destroy_mr_cache(cache) == -EBUSY);
	weft_release_mr(mr);
	host_check(weft_flush_mr_cache(cache) == 0);
	host_check(weft_destroy_mr_cache(cache) == 0);
}

static void memory(void)
{
	char *heap = malloc(5 * PAGE), stack[256] = {0};
	char *mapped =
	    mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct weft_mr *mr[4];

	host_check(heap && mapped != MAP_FAILED);
	memset(heap, 1, 5 * PAGE);
	memset(mapped, 2, 8 * PAGE);
	mr[0] = weft_reg_mr(a.pd, heap + 100, 4 * PAGE, HOST_ACCESS_ALL);
	mr[1] = weft_reg_mr(a.pd, mapped, 8 * PAGE, HOST_ACCESS_ALL);
	mr[2] = weft_reg_mr(a.pd, stack, sizeof(stack), 0);
	mr[3] = weft_reg_mr_iova(a.pd, mapped, PAGE, 0x1000, WEFT_ACCESS_LOCAL_WRITE);
	cached_regions(mapped, 8 * PAGE);
	for (int i = 0; i < 4; i++)
		host_check(mr[i]);
	printf("mapped: malloc %d, mmap %d, stack %d\n", mr[0]->mapped, mr[1]->mapped,
	       mr[2]->mapped);
	for (int i = 0; i < 5 * PAGE; i++)
		host_check(heap[i] == 1);
	for (int i = 0; i < 8 * PAGE; i++)
		host_check(mapped[i] == 2);
	for (int i = 0; i < 4; i++)
		host_check(weft_dereg_mr(mr[i]) == 0);
	host_check(!weft_reg_mr(a.pd, heap, 0, 0) && errno == EINVAL);
	host_check(!weft_reg_mr(a.pd, (void *)16, PAGE, 0) && errno == EFAULT);
	munmap(mapped, 8 * PAGE);
	free(heap);
}

static void shared_receives(void)
{
	struct weft_srq_attr attr = {.max_wr = 8, .max_sge = 2};
	struct weft_srq *srq = weft_create_srq(b.pd, &attr);
	struct weft_sge sge = {(uintptr_t)b.mem, PAGE, b.mr->lkey};
	struct weft_recv_wr recv = {.wr_id = 5, .sg_list = &sge, .num_sge = 1};
	struct weft_sge out = {(uintptr_t)a.mem, 100, a.mr->lkey};
	struct weft_async_event event;
	struct weft_qp *from, *to;
	struct weft_send_wr wr;

	host_check(srq && attr.max_wr >= 8);
	host_check(weft_post_srq_recv(srq, &recv, NULL) == 0);
	host_check(weft_query_srq(srq, &attr) == 0);
	from = host_qp(&a, WEFT_QPT_RD, cq_a, NULL, 8);
	to = host_qp(&b, WEFT_QPT_RD, cq_b, srq, 8);
	wr = request(WEFT_WR_SEND, &out, to);
	host_check(weft_post_send(from, &wr, NULL) == 0);
	await(cq_a, WEFT_WC_SUCCESS);
	await(cq_b, WEFT_WC_SUCCESS);
	/* Takes one event and acknowledges it. */
	host_check(weft_modify_srq(srq, &(struct weft_srq_attr){.limit = 3}, WEFT_SRQ_LIMIT) == 0);
	host_check(weft_get_async_event(b.ctx, &event) == 0);
	host_check(event.type == WEFT_EVENT_SRQ_LIMIT && event.srq == srq);
	host_check(strlen(weft_event_type_str(event.type)) > 0);
	host_check(weft_destroy_srq(srq) == -EBUSY);
	weft_ack_async_event(&event);
	host_check(fcntl(b.ctx->async_fd, F_SETFL, O_NONBLOCK) == 0);
	host_check(weft_get_async_event(b.ctx, &event) == -EAGAIN);
	host_check(weft_destroy_qp(from) == 0);
	host_check(weft_destroy_qp(to) == 0);
	host_check(weft_destroy_srq(srq) == 0);
}

/* Opens an XRC domain with one process at both ends, and a second handle at the receiving end. */
static void extended(void)
{
	struct weft_qp_init_attr init = {.type = WEFT_QPT_XRC_RECV};
	struct weft_srq_attr attr = {.max_wr = 8, .max_sge = 2};
	int file = open("/dev/null", O_RDONLY);
	struct weft_xrcd *xa = weft_open_xrcd(a.ctx, file, O_CREAT);
	struct weft_xrcd *xb = weft_open_xrcd(b.ctx, file, O_CREAT);
	struct weft_xrcd *xc = weft_open_xrcd(b.ctx, file, 0);
	struct weft_qp *recv, *again;
	struct weft_srq *srq;

	host_check(xa && xb && xc && file >= 0);
	srq = weft_create_xrc_srq(b.pd, xb, cq_b, &attr);
	init.xrcd = xb;
	/* It has no queues, and is not looked for behind the CQs that are named. */
	init.send_cq = init.recv_cq = cq_b;
	recv = weft_create_qp(NULL, &init);
	host_check(srq && srq->srqn && recv && !recv->send_cq && !recv->recv_cq);
	/* handles of another NIC, and a second handle in this process */
	host_check(!weft_open_qp(xa, recv->qpn, NULL) && errno == EINVAL);
	again = weft_open_qp(xc, recv->qpn, NULL);
	host_check(again && again != recv && again->qpn == recv->qpn);
	host_check(weft_close_xrcd(xb) == -EBUSY && weft_close_xrcd(xc) == -EBUSY);
	host_check(weft_destroy_qp(again) == 0);
	host_check(weft_destroy_srq(srq) == 0 && weft_destroy_qp(recv) == 0);
	host_check(weft_close_xrcd(xc) == 0 && weft_close_xrcd(xb) == 0 &&
		   weft_close_xrcd(xa) == 0);
	close(file);
}

static void to_a_group(struct weft_qp *from, struct weft_qp *to)
{
	uint32_t group_ip = inet_addr("239.1.2.3");
	struct weft_av av = weft_av_mcast(group_ip);
	struct weft_ah *ah = weft_create_ah(a.pd, &av);
	struct weft_sge out = {(uintptr_t)a.mem, 100, a.mr->lkey};
	struct weft_send_wr wr = request(WEFT_WR_SEND, &out, to);
	uint8_t gid[16];

	weft_mcast_gid(group_ip, gid);
	host_check(ah && weft_attach_mcast(to, gid) == 0);
	post_receive(to);
	wr.ah = ah;
	wr.dst_qpn = WEFT_MCAST_QPN;
	host_check(weft_post_send(from, &wr, NULL) == 0);
	await(cq_a, WEFT_WC_SUCCESS);
	host_check(await(cq_b, WEFT_WC_SUCCESS).bytes == 140);
	host_check(weft_detach_mcast(to, gid) == 0);
	host_check(weft_destroy_ah(ah) == 0);
}

static void datagrams(void)
{
	struct weft_qp *from = host_qp(&a, WEFT_QPT_UD, cq_a, NULL, 8);
	struct weft_qp *to = host_qp(&b, WEFT_QPT_UD, cq_b, NULL, 8);
	struct weft_sge out = {(uintptr_t)a.mem, 100, a.mr->lkey};
	struct weft_send_wr wr = request(WEFT_WR_SEND, &out, to);

	post_receive(to);
	host_check(weft_post_send(from, &wr, NULL) == 0);
	await(cq_a, WEFT_WC_SUCCESS);
	host_check(await(cq_b, WEFT_WC_SUCCESS).bytes == 140);
	to_a_group(from, to);
	host_check(weft_destroy_qp(from) == 0);
	host_check(weft_destroy_qp(to) == 0);
}

/* State changes: to error with requests in the queue, to RESET, and back to work. */
/* A message of an endpoint to itself; every operation of matching; memory of users. */
static void tagged(void)
{
	struct weft_tag_attr attr = {.send_cq = cq_a, .recv_cq = cq_a, .qkey = HOST_QKEY};
	struct weft_tag_recv_wr recv = {.wr_id = 5, .tag = 1};
	struct weft_tag_send_wr send = {.wr_id = 6, .num_sge = 1, .ah = a.ah, .tag = 1};
	struct weft_tag_mem *mem = weft_create_tag_mem(a.pd, NULL);
	struct weft_tag_mem_stats mem_stats;
	struct weft_tag_stats stats;
	struct weft_tag_ep *ep;
	struct weft_tag_buf buf;
	char text[1000] = "text";
	uint32_t number;

	ep = weft_open_tag_ep(a.pd, &attr);
	host_check(ep && mem);
	send.dst_qpn = ep->qp->qpn;
	host_check(weft_tag_recv(ep, &recv, &number) == 0);
	host_check(weft_tag_cancel(ep, number) == 0);
	host_check(await(cq_a, WEFT_WC_WR_FLUSH_ERR).wr_id == 5);
	host_check(weft_tag_peek(ep, &recv) == 0);
	(void)await(cq_a, WEFT_WC_GENERAL_ERR);
	host_check(weft_tag_get_buf(mem, text, sizeof(text), false, &buf) == 0);
	send.sg_list = &buf.sge;
	host_check(weft_tag_send(ep, &send) == 0);
	host_check(await(cq_a, WEFT_WC_SUCCESS).wr_id == 6);
	weft_tag_put_buf(mem, &buf, 0);
	recv.flags = WEFT_TAG_CLAIM;
	host_check(weft_tag_peek(ep, &recv) == 0);
	number = await(cq_a, WEFT_WC_SUCCESS).claim;
	host_check(weft_tag_get_buf(mem, text, sizeof(text), true, &buf) == 0);
	recv.flags = 0;
	recv.sg_list = &buf.sge;
	recv.num_sge = 1;
	memset(text, 0, sizeof(text));
	host_check(weft_tag_recv_claimed(ep, number, &recv) == 0);
	host_check(await(cq_a, WEFT_WC_SUCCESS).msg_bytes == sizeof(text));
	weft_tag_put_buf(mem, &buf, sizeof(text));
	host_check(!strcmp(text, "text"));
	weft_query_tag_mem(mem, &mem_stats);
	host_check(mem_stats.copied == 2);
	host_check(weft_query_tag_ep(ep, &stats) == 0 && stats.claimed == 0);
	host_check(weft_destroy_tag_mem(mem) == 0);
	weft_close_tag_ep(ep);
}

/* An endpoint that takes the receives of a context, and is closed before its completion is polled.
 */
static void shared(void)
{
	struct weft_cq *cq = weft_create_cq(a.ctx, 16, NULL, NULL);
	struct weft_tag_attr attr = {
	    .send_cq = cq_a, .recv_cq = cq_a, .qkey = HOST_QKEY, .context = true};
	struct weft_tag_recv_wr recv = {.wr_id = 5, .tag = 1};
	struct weft_tag_send_wr send = {.wr_id = 6, .ah = a.ah, .tag = 1};
	struct weft_tag_ep *context = weft_open_tag_ep(a.pd, &attr), *ep;
	struct weft_wc wc;

	attr.context = false;
	attr.receives_of = context;
	attr.recv_cq = cq;
	ep = weft_open_tag_ep(a.pd, &attr);
	host_check(cq && context && ep);
	host_check(weft_tag_recv(context, &recv, NULL) == 0);
	host_check(weft_tag_recv(ep, &recv, NULL) == -EINVAL);
	send.dst_qpn = ep->qp->qpn;
	host_check(weft_tag_send(context, &send) == -EINVAL);
	host_check(weft_tag_send(ep, &send) == 0);
	host_check(await(cq_a, WEFT_WC_SUCCESS).wr_id == 6);
	host_check(weft_take_tag_orphans(ep, 1, &wc) == 0);
	weft_close_tag_ep(ep);
	host_check(weft_take_tag_orphans(context, 1, &wc) == 1 && wc.wr_id == 5);
	host_check(wc.status == WEFT_WC_SUCCESS);
	host_check(weft_take_tag_orphans(context, 1, &wc) == 0);
	weft_close_tag_ep(context);
	host_check(weft_destroy_cq(cq) == 0);
}

static void states(void)
{
	struct weft_qp *qp = host_qp(&b, WEFT_QPT_RD, cq_b, NULL, 8);
	struct weft_qp_attr attr = {.state = WEFT_QPS_ERR};
	struct weft_qp_cap cap;

	post_receive(qp);
	host_check(weft_modify_qp(qp, &attr, WEFT_QP_STATE) == 0);
	await(cq_b, WEFT_WC_WR_FLUSH_ERR);
	host_check(weft_query_qp(qp, &attr, &cap) == 0 && attr.state == WEFT_QPS_ERR);
	host_check(strcmp(weft_qp_state_str(attr.state), weft_qp_state_str(WEFT_QPS_RESET)) != 0);
	host_check(strlen(weft_qp_type_str(qp->type)) > 0);
	attr.state = WEFT_QPS_RESET;
	host_check(weft_modify_qp(qp, &attr, WEFT_QP_STATE) == 0);
	host_check(weft_activate_qp(qp, HOST_QKEY, 0) == 0);
	post_receive(qp);
	host_check(weft_destroy_qp(qp) == 0);
}

/* Coalescing settings of a process and of a tool; the initial ones are restored at the end. */
static void moderation(struct weft_context *ctx)
{
	struct weft_coalesce set, now, back;
	struct weft_vector v;

	host_check(weft_query_coalesce(ctx, 7, &set, &now) == 0);
	host_check(set.mode == WEFT_COALESCE_FIXED && now.param[0] == set.param[0]);
	back = set;
	set.param[WEFT_COALESCE_RX_USECS] = 5;
	host_check(weft_set_coalesce(ctx, 7, WEFT_COALESCE_SET(WEFT_COALESCE_RX_USECS), &set) == 0);
	host_check(weft_query_coalesce(ctx, 7, NULL, &now) == 0 && now.param[0] == 5);
	set.param[WEFT_COALESCE_RX_USECS] = 1024;
	host_check(weft_set_coalesce(ctx, 7, WEFT_COALESCE_SET_PARAMS, &set) == -EINVAL);
	host_check(weft_set_coalesce(ctx, 8, WEFT_COALESCE_SET_ALL, &back) == -EINVAL);
	host_check(
	    weft_set_coalesce(ctx, WEFT_COALESCE_ALL_VECTORS, WEFT_COALESCE_SET_ALL, &back) == 0);
	host_check(weft_query_coalesce(ctx, 8, &set, NULL) == -EINVAL);
	host_check(weft_query_vector(ctx, 0, WEFT_COALESCE_ALL_SHARDS, &v) == 0);
	host_check(v.interrupts >= v.by_async);
	host_check(weft_vector_wait_ns(&v, 9900) <= weft_vector_bucket_ns(WEFT_VECTOR_BUCKETS));
	host_check(weft_query_vector(ctx, 0, 99, &v) == -EINVAL);
	host_check(weft_query_vector(ctx, 99, 0, &v) == -EINVAL);
}

/* ---- without objects */

/* The settings of a running weftd, and another firmware, which a file without an image is not. */
static void changes(struct weft_context *tool)
{
	char text[256];
	struct weft_upgrade upgrade;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	host_check(weft_change(tool, WEFT_CHANGE_SHOW, "fault", text, sizeof(text)) == 0);
	host_check(weft_change(tool, WEFT_CHANGE_LINE, "fault = nowhere", text, sizeof(text)) ==
		   EINVAL);
	host_check(*text && !memchr(text, '\n', strlen(text) - 1));
	host_check(weft_change(a.ctx, WEFT_CHANGE_SHOW, "fault", text, sizeof(text)) == -EPERM);
	host_check(fd >= 0 && weft_upgrade(tool, fd, true, &upgrade) == -ENOEXEC && *upgrade.why);
	close(fd);
}

static void tools(void)
{
	uint32_t forged = 0;
	struct weft_list_item items[WEFT_LIST_MIN];
	struct weft_device_attr device;
	struct weft_device *list;
	struct weft_stat stats[16];
	struct weft_port_attr port;
	struct weft_context *tool;
	struct weft_open_attr nowhere = {.shard = 7};
	uint32_t cursor = 0;
	char byte;
	int fd, n;

	host_check(strcmp(weft_version(), WEFT_VERSION) == 0);
	host_check(weft_get_device_list(&list) == 2 && strcmp(list[0].name, "weft0") == 0);
	weft_free_device_list(list);
	host_check(!weft_open_device("weft99") && errno == ENODEV);
	host_check(!weft_open_device_attr("weft0", &nowhere) && errno == ENXIO);
	host_check(weft_query_device(a.ctx, &device) == 0 && device.max_qp > 0);
	host_check(weft_query_port(a.ctx, &port) == 0 && port.link_up);
	tool = weft_open_tool("weft0");
	host_check(tool);
	while ((n = weft_stats(tool, 0, &cursor, stats, 16)) > 0)
		;
	host_check(n == 0);
	weft_cm_count_forged(a.ctx);
	for (int kind = WEFT_LIST_CLIENTS; kind <= WEFT_LIST_COLLS; kind++) {
		cursor = 0;
		while ((n = weft_list(tool, (enum weft_list_kind)kind, 0, &cursor, items,
				      WEFT_LIST_MIN)) > 0) {
			for (int i = 0; i < n; i++)
				forged += items[i].forged;
		}
		host_check(n == 0);
	}
	host_check(forged == 1);
	moderation(a.ctx);
	moderation(tool);
	host_check(weft_capture(tool, &fd) == 0 && read(fd, &byte, 1) == 1);
	close(fd);
	changes(tool);
	weft_close_device(tool);
}

/* Closing a context frees the objects left in it. */
static void left_behind(void)
{
	struct weft_context *ctx = weft_open_device("weft0");
	struct weft_comp_channel *events = weft_create_comp_channel(ctx, 0);
	struct weft_cq *cq = weft_create_cq(ctx, 16, events, NULL);
	struct weft_srq_attr attr = {.max_wr = 4, .max_sge = 1};
	struct weft_pd *pd = weft_alloc_pd(ctx);
	struct weft_av av = weft_av_ip(inet_addr("10.77.0.2"));
	struct host_end end = {.ctx = ctx, .pd = pd};
	struct weft_alloc_attr shared = {.must_be_shared = true};
	void *mem = weft_alloc_attr(ctx, PAGE, &shared);

	host_check(ctx && events && cq && pd && mem);
	host_check(weft_create_srq(pd, &attr) && weft_alloc_mw(pd, 1) && weft_create_ah(pd, &av));
	host_check(weft_reg_mr(pd, mem, PAGE, 0));
	(void)host_qp(&end, WEFT_QPT_RD, cq, NULL, 4);
	weft_close_device(ctx);
	weft_free(mem, PAGE);
}

/* The child ends by exec, as most children do, so valgrind does not look for leaks in a copy. */
static void forks(void)
{
	pid_t pid = fork();
	struct weft_wc wc;
	int status;

	host_check(pid >= 0);
	if (pid == 0) {
		memset(a.mem, 0, PAGE);
		if (weft_poll_cq(cq_a, 1, &wc) == -EIO)
			execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	host_check(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	host_check(WEXITSTATUS(status) == 0 && a.mem[0] == 0x5a);
}

int main(void)
{
	struct weft_qp *from, *to;

	host_open(&a, "weft0", MEM);
	host_open(&b, "weft1", MEM);
	channel = weft_create_comp_channel(b.ctx, 0);
	cq_a = weft_create_cq(a.ctx, 32, NULL, NULL);
	cq_b = weft_create_cq(b.ctx, 32, channel, &b);
	host_check(channel && cq_a && cq_b);
	host_check(weft_resize_cq(cq_a, 100) == 0 && weft_modify_cq(cq_b, 1, 0) == 0);
	from = host_qp(&a, WEFT_QPT_RD, cq_a, NULL, 16);
	to = host_qp(&b, WEFT_QPT_RD, cq_b, NULL, 16);
	every_request(from, to);
	windows(from, to);
	host_check(weft_destroy_qp(from) == 0 && weft_destroy_qp(to) == 0);
	memory();
	shared_receives();
	extended();
	datagrams();
	tagged();
	shared();
	states();
	tools();
	left_behind();
	memset(a.mem, 0x5a, PAGE);
	forks();
	host_check(weft_destroy_cq(cq_a) == 0 && weft_destroy_cq(cq_b) == 0);
	host_check(weft_mask_comp_channel(channel, true) == 0);
	host_check(weft_mask_comp_channel(channel, false) == 0);
	host_check(weft_destroy_comp_channel(channel) == 0);
	host_close(&a);
	host_close(&b);
	puts("every call made");
	return 0;
}
