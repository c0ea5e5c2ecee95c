/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages without tag: the calls of fi_msg(3), each a send or a receive by the endpoint's type
 * (wf_send.c, wf_dgram.c).
 */
#include "host_driver/fabric/fi_weft.h"

static ssize_t post_send(struct wf_ep *ep, const struct wf_msg *msg, uint64_t flags)
{
	return ep->qp->dgram ? wf_dgram_send(ep, msg, flags) : wf_send(ep, msg, flags);
}

static ssize_t post_recv(struct wf_ep *ep, const struct wf_msg *msg, uint64_t flags)
{
	return ep->qp->dgram ? wf_dgram_recv(ep, msg, flags) : wf_recv(ep, msg, flags);
}

static ssize_t msg_recv(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t src_addr,
			void *context)
{
	struct wf_ep *ep = container_of(fid, struct wf_ep, fid);
	struct iovec iov = {buf, len};
	struct wf_msg msg = {
	    .iov = &iov, .desc = &desc, .count = 1, .addr = src_addr, .context = context};

	return post_recv(ep, &msg, wf_ep_rx_flags(ep));
}

static ssize_t msg_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t src_addr, void *context)
{
	struct wf_ep *ep = container_of(fid, struct wf_ep, fid);
	struct wf_msg msg = {
	    .iov = iov, .desc = desc, .count = count, .addr = src_addr, .context = context};

	return post_recv(ep, &msg, wf_ep_rx_flags(ep));
}

static ssize_t msg_recvmsg(struct fid_ep *fid, const struct fi_msg *m, uint64_t flags)
{
	struct wf_ep *ep = container_of(fid, struct wf_ep, fid);
	struct wf_msg msg = {.iov = m->msg_iov,
			     .desc = m->desc,
			     .count = m->iov_count,
			     .addr = m->addr,
			     .data = m->data,
			     .context = m->context};

	return post_recv(ep, &msg, wf_ep_rx_msg_flags(ep, flags));
}

static ssize_t msg_send(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			fi_addr_t dest_addr, void *context)
{
	struct wf_ep *ep = container_of(fid, struct wf_ep, fid);
	struct iovec iov = {(void *)(uintptr_t)buf, len};
	struct wf_msg msg = {
	    .iov = &iov, .desc = &desc, .count = 1, .addr = dest_addr, .context = context};

	return post_send(ep, &msg, wf_ep_tx_flags(ep));
}

static ssize_t msg_sendv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t dest_addr, void *context)
{
	struct wf_ep *ep = container_of(fid, struct wf_ep, fid);
	struct wf_msg msg = {
	    .iov = iov, .desc = desc, .count = count, .addr = dest_addr, .context = context};

	return post_send(ep, &msg, wf_ep_tx_flags(ep));
}

static ssize_t msg_sendmsg(struct fid_ep *fid, const struct fi_msg *m, uint64_t flags)
{
	struct wf_ep *ep = container_of(fid, struct wf_ep, fid);
	struct wf_msg msg = {.iov = m->msg_iov,
			     .desc = m->desc,
			     .count = m->iov_count,
			     .addr = m->addr,
			     .data = m->data,
			     .context = m->context};

	return post_send(ep, &msg, wf_ep_tx_msg_flags(ep, flags));
}

static ssize_t msg_inject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t dest_addr)
{
	struct wf_ep *ep = container_of(fid, struct wf_ep, fid);
	struct iovec iov = {(void *)(uintptr_t)buf, len};
	struct wf_msg msg = {.iov = &iov, .count = 1, .addr = dest_addr};

	return post_send(ep, &msg, FI_INJECT);
}

static ssize_t msg_senddata(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			    uint64_t data, fi_addr_t dest_addr, void *context)
{
	struct wf_ep *ep = container_of(fid, struct wf_ep, fid);
	struct iovec iov = {(void *)(uintptr_t)buf, len};
	struct wf_msg msg = {.iov = &iov,
			     .desc = &desc,
			     .count = 1,
			     .addr = dest_addr,
			     .data = data,
			     .context = context};

	return post_send(ep, &msg, wf_ep_tx_flags(ep) | FI_REMOTE_CQ_DATA);
}

static ssize_t msg_injectdata(struct fid_ep *fid, const void *buf, size_t len, uint64_t data,
			      fi_addr_t dest_addr)
{
	struct wf_ep *ep = container_of(fid, struct wf_ep, fid);
	struct iovec iov = {(void *)(uintptr_t)buf, len};
	struct wf_msg msg = {.iov = &iov, .count = 1, .addr = dest_addr, .data = data};

	return post_send(ep, &msg, FI_INJECT | FI_REMOTE_CQ_DATA);
}

struct fi_ops_msg wf_msg_ops = {
    .size = sizeof(struct fi_ops_msg),
    .recv = msg_recv,
    .recvv = msg_recvv,
    .recvmsg = msg_recvmsg,
    .send = msg_send,
    .sendv = msg_sendv,
    .sendmsg = msg_sendmsg,
    .inject = msg_inject,
    .senddata = msg_senddata,
    .injectdata = msg_injectdata,
};
