/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tagged messages: the calls of fi_tagged(3), each a wf_send() or a wf_recv() (wf_send.c).
 */
#include "host_driver/fabric/fi_weft.h"

static ssize_t tagged_recv(struct fid_ep *fid, void *buf, size_t len, void *desc,
			   fi_addr_t src_addr, uint64_t tag, uint64_t ignore, void *context)
{
	struct wf_ep *ep = container_of(fid, struct wf_ep, fid);
	struct iovec iov = {buf, len};
	struct wf_msg msg = {.iov = &iov,
			     .desc = &desc,
			     .count = 1,
			     .addr = src_addr,
			     .context = context,
			     .tag = tag,
			     .ignore = ignore,
			     .tagged = true};

	return wf_recv(ep, &msg, wf_ep_rx_flags(ep));
}

static ssize_t tagged_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			    fi_addr_t src_addr, uint64_t tag, uint64_t ignore, void *context)
{
	struct wf_ep *ep = container_of(fid, struct wf_ep, fid);
	struct wf_msg msg = {.iov = iov,
			     .desc = desc,
			     .count = count,
			     .addr = src_addr,
			     .context = context,
			     .tag = tag,
			     .ignore = ignore,
			     .tagged = true};

	return wf_recv(ep, &msg, wf_ep_rx_flags(ep));
}

static ssize_t tagged_recvmsg(struct fid_ep *fid, const struct fi_msg_tagged *m, uint64_t flags)
{
	struct wf_ep *ep = container_of(fid, struct wf_ep, fid);
	struct wf_msg msg = {.iov = m->msg_iov,
			     .desc = m->desc,
			     .count = m->iov_count,
			     .addr = m->addr,
			     .data = m->data,
			     .context = m->context,
			     .tag = m->tag,
			     .ignore = m->ignore,
			     .tagged = true};

	return wf_recv(ep, &msg, wf_ep_rx_msg_flags(ep, flags));
}

static ssize_t tagged_send(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			   fi_addr_t dest_addr, uint64_t tag, void *context)
{
	struct wf_ep *ep = container_of(fid, struct wf_ep, fid);
	struct iovec iov = {(void *)(uintptr_t)buf, len};
	struct wf_msg msg = {.iov = &iov,
			     .desc = &desc,
			     .count = 1,
			     .addr = dest_addr,
			     .context = context,
			     .tag = tag,
			     .tagged = true};

	return wf_send(ep, &msg, wf_ep_tx_flags(ep));
}

static ssize_t tagged_sendv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			    fi_addr_t dest_addr, uint64_t tag, void *context)
{
	struct wf_ep *ep = container_of(fid, struct wf_ep, fid);
	struct wf_msg msg = {.iov = iov,
			     .desc = desc,
			     .count = count,
			     .addr = dest_addr,
			     .context = context,
			     .tag = tag,
			     .tagged = true};

	return wf_send(ep, &msg, wf_ep_tx_flags(ep));
}

static ssize_t tagged_sendmsg(struct fid_ep *fid, const struct fi_msg_tagged *m, uint64_t flags)
{
	struct wf_ep *ep = container_of(fid, struct wf_ep, fid);
	struct wf_msg msg = {.iov = m->msg_iov,
			     .desc = m->desc,
			     .count = m->iov_count,
			     .addr = m->addr,
			     .data = m->data,
			     .context = m->context,
			     .tag = m->tag,
			     .tagged = true};

	return wf_send(ep, &msg, wf_ep_tx_msg_flags(ep, flags));
}

static ssize_t tagged_inject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t dest_addr,
			     uint64_t tag)
{
	struct wf_ep *ep = container_of(fid, struct wf_ep, fid);
	struct iovec iov = {(void *)(uintptr_t)buf, len};
	struct wf_msg msg = {
	    .iov = &iov, .count = 1, .addr = dest_addr, .tag = tag, .tagged = true};

	return wf_send(ep, &msg, FI_INJECT);
}

static ssize_t tagged_senddata(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			       uint64_t data, fi_addr_t dest_addr, uint64_t tag, void *context)
{
	struct wf_ep *ep = container_of(fid, struct wf_ep, fid);
	struct iovec iov = {(void *)(uintptr_t)buf, len};
	struct wf_msg msg = {.iov = &iov,
			     .desc = &desc,
			     .count = 1,
			     .addr = dest_addr,
			     .data = data,
			     .context = context,
			     .tag = tag,
			     .tagged = true};

	return wf_send(ep, &msg, wf_ep_tx_flags(ep) | FI_REMOTE_CQ_DATA);
}

static ssize_t tagged_injectdata(struct fid_ep *fid, const void *buf, size_t len, uint64_t data,
				 fi_addr_t dest_addr, uint64_t tag)
{
	struct wf_ep *ep = container_of(fid, struct wf_ep, fid);
	struct iovec iov = {(void *)(uintptr_t)buf, len};
	struct wf_msg msg = {
	    .iov = &iov, .count = 1, .addr = dest_addr, .data = data, .tag = tag, .tagged = true};

	return wf_send(ep, &msg, FI_INJECT | FI_REMOTE_CQ_DATA);
}

struct fi_ops_tagged wf_tagged_ops = {
    .size = sizeof(struct fi_ops_tagged),
    .recv = tagged_recv,
    .recvv = tagged_recvv,
    .recvmsg = tagged_recvmsg,
    .send = tagged_send,
    .sendv = tagged_sendv,
    .sendmsg = tagged_sendmsg,
    .inject = tagged_inject,
    .senddata = tagged_senddata,
    .injectdata = tagged_injectdata,
};
