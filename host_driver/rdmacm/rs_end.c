/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An end of a datagram socket: a UD QP on one NIC with its buffers.
 *
 * Received messages stay in their buffers until they are read. A message that arrives while all
 * buffers are in use is lost. Calls rs_parts.c, rdma_cm and libibverbs.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "host_driver/rdmacm/rs_dgram.h"
#include "host_driver/verbs/vb_private.h"
#include "host_driver/weft_cm.h"

enum {
	WR_SEND_BIT = 1 << 16, /* in wr_id, together with the buffer's number */
	MTU_BYTES_BY_ENUM = 128,
};

static uint8_t *recv_slot(const struct rs_end *end, uint32_t i)
{
	return end->mem + (size_t)i * end->slot_bytes;
}

static uint8_t *send_slot(const struct rs_end *end, uint32_t i)
{
	return end->mem + (size_t)(end->num_recv + i) * end->slot_bytes;
}

static int post_recv(struct rs_end *end, uint32_t i)
{
	struct ibv_sge sge = {(uintptr_t)recv_slot(end, i), end->slot_bytes, end->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = i, .sg_list = &sge, .num_sge = 1}, *bad;

	return -ibv_post_recv(end->id->qp, &wr, &bad);
}

/* ---- making ---------------------------------------------------------------------------------- */

static int make_qp(struct rs *rs, struct rs_end *end)
{
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_UD, .sq_sig_all = 1};
	struct ibv_context *verbs = end->id->verbs;
	int flags;

	end->num_recv = rs->opts.rqsize;
	end->num_send = rs->opts.sqsize;
	end->channel = ibv_create_comp_channel(verbs);
	if (!end->channel)
		return -errno;
	flags = fcntl(end->channel->fd, F_GETFL);
	if (flags < 0 || fcntl(end->channel->fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	end->cq = ibv_create_cq(verbs, (int)(end->num_recv + end->num_send), end, end->channel, 0);
	if (!end->cq)
		return -errno;
	init.send_cq = init.recv_cq = end->cq;
	init.cap = (struct ibv_qp_cap){.max_send_wr = end->num_send,
				       .max_recv_wr = end->num_recv,
				       .max_send_sge = 1,
				       .max_recv_sge = 1};
	return rdma_create_qp(end->id, NULL, &init) < 0 ? -errno : 0;
}

static int make_memory(struct rs *rs, struct rs_end *end)
{
	struct ibv_port_attr port;
	uint32_t mtu;
	int rc;

	if (ibv_query_port(end->id->verbs, end->id->port_num, &port))
		return -errno;
	mtu = (uint32_t)MTU_BYTES_BY_ENUM << port.active_mtu;
	if (!rs->dgram->part_bytes || rs->dgram->part_bytes > mtu - sizeof(struct rs_wire_dgram))
		rs->dgram->part_bytes = mtu - (uint32_t)sizeof(struct rs_wire_dgram);
	end->slot_bytes = mtu + RS_GRH_BYTES;
	end->mem_bytes = (size_t)(end->num_recv + end->num_send) * end->slot_bytes;
	end->mem =
	    mmap(NULL, end->mem_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (end->mem == MAP_FAILED) {
		end->mem = NULL;
		return -errno;
	}
	end->mr = ibv_reg_mr(end->id->qp->pd, end->mem, end->mem_bytes, IBV_ACCESS_LOCAL_WRITE);
	if (!end->mr)
		return -errno;
	end->free_sends = calloc(end->num_send, sizeof(uint32_t));
	end->packets = calloc(end->num_recv, sizeof(struct rs_packet));
	if (!end->free_sends || !end->packets)
		return -ENOMEM;
	for (uint32_t i = 0; i < end->num_send; i++)
		end->free_sends[end->num_free++] = i;
	for (uint32_t i = 0; i < end->num_recv; i++) {
		rc = post_recv(end, i);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* If another socket of this process has the port, the QP uses any other port. */
static int bind_end(struct rs *rs, struct rs_end *end, const struct sockaddr_in *to)
{
	struct sockaddr_in any = *to;

	if (rdma_bind_addr(end->id, (struct sockaddr *)&any) == 0) {
		end->listen_id = end->id;
		memcpy(&end->addr, rdma_get_local_addr(end->id), sizeof(end->addr));
		return 0;
	}
	if (errno != EADDRINUSE || !rs->opts.reuseaddr || !rs_share_has(to))
		return -errno;
	any.sin_port = 0;
	end->addr = *to;
	return rdma_bind_addr(end->id, (struct sockaddr *)&any) < 0 ? -errno : 0;
}

int rs_end_open(struct rs *rs, struct sockaddr_in *bind_to)
{
	struct rs_end *end = calloc(1, sizeof(*end));
	struct rdma_cm_id *ids[RS_IDS_OF_END];
	int rc, n;

	if (!end)
		return -ENOMEM;
	rc = rs_cm_id(rs, RDMA_PS_UDP, &end->id);
	if (rc == 0)
		rc = bind_end(rs, end, bind_to);
	if (rc == 0 && !end->id->verbs)
		rc = -ENODEV;
	if (rc == 0)
		rc = make_qp(rs, end);
	if (rc == 0)
		rc = make_memory(rs, end);
	if (rc == 0) {
		/* Before requests for the port can arrive. */
		rs_share_add(rs, end);
		if (end->listen_id && rdma_listen(end->listen_id, RS_BACKLOG_MAX) < 0)
			rc = -errno;
	}
	if (rc < 0) {
		/* No operation was started on this id, so it can be destroyed under the lock. */
		n = rs_end_close(end, ids);
		while (n--)
			(void)rdma_destroy_id(ids[n]);
		return rc;
	}
	bind_to->sin_port = end->addr.sin_port;
	rs->dgram->ends[rs->dgram->num_ends++] = end;
	return 0;
}

int rs_end_close(struct rs_end *end, struct rdma_cm_id *ids[RS_IDS_OF_END])
{
	struct rdma_cm_id *id = end->id;
	int n = 0;

	rs_share_remove(end);
	if (id)
		ids[n++] = id;
	if (end->listen_id && end->listen_id != id)
		ids[n++] = end->listen_id;
	if (id && id->qp)
		rdma_destroy_qp(id);
	if (end->mr)
		(void)ibv_dereg_mr(end->mr);
	if (end->cq)
		(void)ibv_destroy_cq(end->cq);
	if (end->channel)
		(void)ibv_destroy_comp_channel(end->channel);
	if (end->mem)
		munmap(end->mem, end->mem_bytes);
	free(end->free_sends);
	free(end->packets);
	free(end);
	return n;
}

struct rs_end *rs_end_of(const struct rs_dgram *dg, const struct ibv_context *verbs)
{
	for (int i = 0; i < dg->num_ends; i++)
		if (dg->ends[i]->id->verbs == verbs)
			return dg->ends[i];
	return NULL;
}

/* ---- sending --------------------------------------------------------------------------------- */

struct cursor {
	const struct iovec *iov;
	size_t skip;
};

static void gather(struct cursor *c, uint8_t *to, uint32_t bytes)
{
	while (bytes) {
		size_t here = c->iov->iov_len - c->skip, n = here < bytes ? here : bytes;

		if (n)
			memcpy(to, (const uint8_t *)c->iov->iov_base + c->skip, n);
		to += n;
		bytes -= (uint32_t)n;
		c->skip += n;
		if (bytes) {
			c->iov++;
			c->skip = 0;
		}
	}
}

static int send_part(struct rs_end *end, const struct rs_dest *dest, struct rs_wire_dgram *h,
		     struct cursor *from)
{
	uint32_t slot = end->free_sends[end->num_free - 1], part = be16_get(h->part_bytes);
	uint8_t *mem = send_slot(end, slot);
	struct ibv_sge sge = {(uintptr_t)mem, (uint32_t)sizeof(*h) + part, end->mr->lkey};
	struct ibv_send_wr wr = {
	    .wr_id = WR_SEND_BIT | slot,
	    .sg_list = &sge,
	    .num_sge = 1,
	    .opcode = IBV_WR_SEND,
	    .send_flags = IBV_SEND_SIGNALED,
	    .wr.ud = {.ah = dest->ah, .remote_qpn = dest->qpn, .remote_qkey = dest->qkey},
	};
	struct ibv_send_wr *bad;
	int rc;

	memcpy(mem, h, sizeof(*h));
	gather(from, mem + sizeof(*h), part);
	rc = ibv_post_send(end->id->qp, &wr, &bad);
	if (rc)
		return -rc;
	end->num_free--;
	return 0;
}

int rs_end_send(struct rs *rs, const struct rs_dest *dest, const struct iovec *iov, int iovcnt,
		uint32_t bytes)
{
	struct rs_end *end = dest->end;
	uint32_t longest = rs->dgram->part_bytes, at = 0;
	uint32_t parts = bytes ? (bytes + longest - 1) / longest : 1;
	struct cursor from = {iov, 0};
	struct rs_wire_dgram h = {
	    .magic = be32_put(RS_WIRE_DGRAM_MAGIC),
	    .src_port = {{0}},
	    .bytes = be16_put((uint16_t)bytes),
	    .id = be32_put(rs->dgram->next_id),
	    .src_ip = {[10] = 0xff, [11] = 0xff},
	};

	(void)iovcnt;
	if (parts > end->num_send)
		return -EMSGSIZE;
	if (parts > end->num_free)
		return 0;
	rs->dgram->next_id++;
	memcpy(&h.src_port, &end->addr.sin_port, sizeof(h.src_port));
	memcpy(h.src_ip + 12, &end->addr.sin_addr, sizeof(end->addr.sin_addr));
	do {
		uint32_t part = bytes - at < longest ? bytes - at : longest;
		int rc;

		h.offset = be16_put((uint16_t)at);
		h.part_bytes = be16_put((uint16_t)part);
		rc = send_part(end, dest, &h, &from);
		if (rc < 0)
			return rc;
		at += part;
	} while (at < bytes);
	return 1;
}

/* ---- receiving ------------------------------------------------------------------------------- */

static void queue(struct rs_dgram *dg, struct rs_packet *p)
{
	p->next = NULL;
	*dg->queue_end = p;
	dg->queue_end = &p->next;
}

/* A connected socket accepts datagrams from its peer only. */
static bool from_peer(const struct rs *rs, const struct sockaddr_in *src)
{
	struct sockaddr_storage plain;
	const struct sockaddr_in *peer = (const struct sockaddr_in *)&plain;

	if (!rs->peer.ss_family)
		return true;
	return rs_addr_in((const struct sockaddr *)&rs->peer, sizeof(rs->peer), &plain) &&
	       peer->sin_port == src->sin_port && peer->sin_addr.s_addr == src->sin_addr.s_addr;
}

/*
 * Checks that the source address in the message is the packet's, as reported by the NIC. Otherwise
 * any host that can send to the NIC could forge addresses. The port is not verified.
 */
static bool from_there(const struct rs_wire_dgram *h, const struct ibv_wc *wc, const uint8_t *grh)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	const uint8_t *ip = grh + RS_GRH_IP;

	return wc->wc_flags & IBV_WC_GRH && ip[0] >> 4 == 4 &&
	       !memcmp(h->src_ip, mapped, sizeof(mapped)) &&
	       !memcmp(h->src_ip + sizeof(mapped), ip + RS_IP_SRC, sizeof(struct in_addr));
}

/* Returns true if the packet keeps the buffer. */
static bool received(struct rs *rs, struct rs_end *end, const struct ibv_wc *wc)
{
	struct rs_dgram *dg = rs->dgram;
	uint8_t *mem = recv_slot(end, (uint32_t)wc->wr_id);
	struct sockaddr_in src = {.sin_family = AF_INET};
	struct rs_wire_dgram h;
	struct rs_packet *p;

	if (wc->byte_len < RS_GRH_BYTES + sizeof(h))
		return false;
	memcpy(&h, mem + RS_GRH_BYTES, sizeof(h));
	if (!rs_parts_valid(&h, wc->byte_len - RS_GRH_BYTES))
		return false;
	if (!from_there(&h, wc, mem)) {
		dg->num_forged++;
		weft_cm_count_forged(weft_cm_context(end->id->verbs));
		return false;
	}
	memcpy(&src.sin_port, &h.src_port, sizeof(src.sin_port));
	memcpy(&src.sin_addr, h.src_ip + 12, sizeof(src.sin_addr));
	if (!from_peer(rs, &src))
		return false;
	if (be16_get(h.part_bytes) == be16_get(h.bytes)) {
		p = &end->packets[wc->wr_id];
		*p = (struct rs_packet){.end = end,
					.src = src,
					.bytes = be16_get(h.bytes),
					.data = mem + RS_GRH_BYTES + sizeof(h)};
		queue(dg, p);
		return true;
	}
	p = rs_parts_add(&dg->parts, &h, &src, mem + RS_GRH_BYTES + sizeof(h));
	if (p && dg->queue_bytes + p->bytes > rs->opts.rcvbuf) {
		free(p);
	} else if (p) {
		dg->queue_bytes += p->bytes;
		queue(dg, p);
	}
	return false;
}

int rs_end_progress(struct rs *rs, struct rs_end *end)
{
	struct ibv_wc wc[RS_POLL_BATCH];
	int n, all = 0;

	while (weft_cq_waiting(weft_cm_cq(end->cq))) {
		n = ibv_poll_cq(end->cq, RS_POLL_BATCH, wc);
		for (int i = 0; i < n; i++) {
			if (wc[i].status != IBV_WC_SUCCESS)
				rs->error = ENETDOWN;
			if (wc[i].wr_id & WR_SEND_BIT)
				end->free_sends[end->num_free++] =
				    (uint32_t)wc[i].wr_id & ~(uint32_t)WR_SEND_BIT;
			else if (wc[i].status == IBV_WC_SUCCESS && !received(rs, end, &wc[i]) &&
				 post_recv(end, (uint32_t)wc[i].wr_id) < 0)
				rs->error = ENETDOWN;
		}
		if (n < 0)
			rs->error = ENETDOWN;
		if (n <= 0)
			break;
		all += n;
	}
	return all;
}

void rs_packet_done(struct rs *rs, struct rs_packet *p)
{
	if (!p->end) {
		rs->dgram->queue_bytes -= p->bytes;
		free(p);
		return;
	}
	if (post_recv(p->end, (uint32_t)(p - p->end->packets)) < 0)
		rs->error = ENETDOWN;
}
