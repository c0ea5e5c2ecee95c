/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * STags to memory: the only place that checks an access of a request or of a peer.
 *
 * Calls port->host_read() and host_write() for memory that is not mapped. RFC 5040 section 5 and
 * 8.2, RFC 5041 7.1, IBA 10.6.
 */
#include "nic_fw/fw_nic.h"

enum {
	REMOTE_RIGHTS = HW_ACCESS_REMOTE_WRITE | HW_ACCESS_REMOTE_READ | HW_ACCESS_REMOTE_ATOMIC,
};

/* Returns the region or window that an STag names, whatever its PD; NULL: none, or an old key. */
static inline struct fw_mr *mem_find(struct fw_nic *nic, uint32_t stag)
{
	uint32_t index = stag_index(stag);
	struct fw_mr *mr;

	/* Higher numbers were never given out: their pages stay untouched. */
	if (index >= nic->host.mr_ids.high)
		return NULL;
	mr = &nic->host.mrs[index];
	/* An object that was never taken is all zero, and so is STag 0. */
	if (mr->stag != stag || mr->kind == FW_MR_FREE)
		return NULL;
	/* Objects of a leaving process are invisible at once, though they are freed in slices. */
	if (nic->host.clients[mr->client].closing)
		return NULL;
	return mr;
}

/* A window grants rights to peers only: it is no lkey (IBA 10.6.7). */
static enum hw_vendor_err check_window(const struct fw_mr *mw, uint32_t qpn, uint32_t need)
{
	if (!mw->bound || (mw->mw_type == 2 && mw->qpn != qpn))
		return HW_VENDOR_ERR_LKEY;
	if (!(need & REMOTE_RIGHTS))
		return HW_VENDOR_ERR_ACCESS;
	return HW_VENDOR_ERR_NONE;
}

enum hw_vendor_err mem_check(struct fw_nic *nic, uint32_t pd, uint32_t qpn, uint32_t stag,
			     uint64_t to, uint64_t bytes, uint32_t need, struct fw_mem *mem)
{
	const struct fw_mr *mr;
	uint64_t offset;

	if (!bytes) {
		memset(mem, 0, sizeof(*mem));
		return HW_VENDOR_ERR_NONE;
	}
	mr = mem_find(nic, stag);
	if (!mr || mr->pd != pd)
		return HW_VENDOR_ERR_LKEY;
	if (mr->kind == FW_MR_WINDOW) {
		enum hw_vendor_err err = check_window(mr, qpn, need);

		if (err != HW_VENDOR_ERR_NONE)
			return err;
	}
	/* A TO below iova wraps to an offset beyond any region, since none wraps itself. */
	offset = to - mr->iova;
	if (offset > mr->bytes || bytes > mr->bytes - offset)
		return HW_VENDOR_ERR_BOUNDS;
	if ((mr->access & need) != need)
		return HW_VENDOR_ERR_ACCESS;
	mem->ptr = mr->mapping ? mr->mapping + offset : NULL;
	mem->addr = mr->addr + offset;
	mem->client = mr->client;
	return HW_VENDOR_ERR_NONE;
}

/* Counts the port's result of an access to memory that is not mapped. */
static bool reached(struct fw_nic *nic, int err)
{
	if (!err)
		return true;
	nic->host.mem_busy = err == -FW_EBUSY;
	if (nic->host.mem_busy)
		FW_COUNT(nic, host_busy);
	else
		FW_COUNT(nic, host_faults);
	return false;
}

bool mem_read(struct fw_nic *nic, const struct fw_mem *mem, uint64_t offset, void *dst,
	      uint32_t bytes)
{
	if (!bytes)
		return true;
	if (mem->ptr) {
		memcpy(dst, mem->ptr + offset, bytes);
		return true;
	}
	FW_COUNT(nic, host_reads);
	FW_ADD(nic, host_read_bytes, bytes);
	fw_dear_copy(nic, bytes);
	return reached(
	    nic, nic->port.host_read(nic->port.ctx, mem->client, dst, mem->addr + offset, bytes));
}

/* Hands the first bytes of the scratch to the port: one copy. */
static bool write_scratch(struct fw_nic *nic, const struct fw_mem *mem, uint64_t addr,
			  uint32_t bytes)
{
	FW_COUNT(nic, host_writes);
	FW_ADD(nic, host_write_bytes, bytes);
	fw_dear_copy(nic, bytes);
	if (reached(nic,
		    nic->port.host_write(nic->port.ctx, mem->client, addr, nic->scratch, bytes)))
		return true;
	nic->host.clients[mem->client].may_be_late |= nic->host.mem_busy;
	return false;
}

bool mem_write(struct fw_nic *nic, const struct fw_mem *mem, uint64_t offset, const void *src,
	       uint32_t bytes)
{
	const uint8_t *from = src;
	uint32_t n;

	if (!bytes)
		return true;
	if (mem->ptr) {
		/* The source may be memory of the same process and may overlap. */
		memmove(mem->ptr + offset, src, bytes);
		return true;
	}
	for (; bytes; offset += n, from += n, bytes -= n) {
		n = bytes < FW_SCRATCH_BYTES ? bytes : FW_SCRATCH_BYTES;
		/* The source may lie in the scratch itself. */
		memmove(nic->scratch, from, n);
		if (!write_scratch(nic, mem, mem->addr + offset, n))
			return false;
	}
	return true;
}

bool mem_write_frame(struct fw_nic *nic, const struct fw_mem *mem, uint64_t offset,
		     struct eth_cursor *cursor, uint32_t bytes)
{
	uint32_t n;

	if (__builtin_expect(mem->ptr != NULL, 1)) {
		uint8_t *to = mem->ptr + offset;

		for (; bytes; to += n, bytes -= n) {
			const uint8_t *piece = eth_cursor_next(cursor, bytes, &n);

			memmove(to, piece, n);
		}
		return true;
	}
	for (; bytes; offset += n, bytes -= n) {
		n = bytes < FW_SCRATCH_BYTES ? bytes : FW_SCRATCH_BYTES;
		eth_cursor_copy(cursor, nic->scratch, n);
		if (!write_scratch(nic, mem, mem->addr + offset, n))
			return false;
	}
	return true;
}

static bool may_place(const struct fw_nic *nic, const struct fw_mem *mem, uint32_t bytes)
{
	return mem->ptr && bytes >= FW_PLACE_BYTES && nic->port.place;
}

bool mem_place(struct fw_nic *nic, const struct fw_mem *mem, uint64_t offset, const void *src,
	       uint32_t bytes)
{
	const struct fw_rx_seg piece = {src, bytes};

	if (!may_place(nic, mem, bytes))
		return mem_write(nic, mem, offset, src, bytes);
	nic->port.place(nic->port.ctx, mem->ptr + offset, &piece, 1);
	return true;
}

bool mem_place_frame(struct fw_nic *nic, const struct fw_mem *mem, uint64_t offset,
		     struct eth_cursor *cursor, uint32_t bytes)
{
	struct fw_rx_seg piece[FW_RUN_MAX];
	uint32_t i, n, sum;
	uint8_t *to;

	if (!may_place(nic, mem, bytes))
		return mem_write_frame(nic, mem, offset, cursor, bytes);
	for (to = mem->ptr + offset; bytes; to += sum, bytes -= sum) {
		sum = 0;
		for (i = 0; i < FW_RUN_MAX && sum < bytes; i++, sum += n) {
			piece[i].data = eth_cursor_next(cursor, bytes - sum, &n);
			piece[i].bytes = n;
		}
		nic->port.place(nic->port.ctx, to, piece, i);
	}
	return true;
}

int mem_atomic_host(struct fw_nic *nic, const struct fw_mem *mem, const struct fw_atomic *op,
		    uint64_t *original)
{
	uint32_t element = hw_atomic_bytes(op->type);
	int err;

	FW_COUNT(nic, host_reads);
	FW_COUNT(nic, host_writes);
	FW_ADD(nic, host_read_bytes, element);
	FW_ADD(nic, host_write_bytes, element);
	fw_dear_copy(nic, element);
	err = nic->port.host_atomic(nic->port.ctx, mem->client, mem->addr, op, original);
	(void)reached(nic, err == -FW_EINPROGRESS ? -FW_EBUSY : err);
	nic->host.clients[mem->client].may_be_late |= err == -FW_EINPROGRESS;
	return err;
}

int mem_atomic_host_over(struct fw_nic *nic, uint32_t client, uint64_t *original)
{
	int err = nic->port.host_atomic_over(nic->port.ctx, client, original);

	(void)reached(nic, err);
	return err;
}

uint64_t mem_late(struct fw_nic *nic, uint32_t client, uint64_t since)
{
	struct fw_client *owner = &nic->host.clients[client];
	uint64_t late;

	if (__builtin_expect(!owner->may_be_late, 1))
		return 0;
	late = nic->port.host_late ? nic->port.host_late(nic->port.ctx, client, since) : 0;
	owner->may_be_late = late || since;
	return late;
}

void mem_unbind(struct fw_nic *nic, struct fw_mr *mw)
{
	if (!mw->bound)
		return;
	eth_tx_settle(nic);
	assert(nic->host.mrs[mw->parent].windows > 0);
	nic->host.mrs[mw->parent].windows--;
	fw_list_del(&mw->qp_node);
	mw->bound = false;
	mw->mapping = NULL;
	mw->bytes = 0;
	mw->access = 0;
	mw->qpn = 0;
}

bool mem_unbind_step(struct fw_nic *nic, struct fw_qp *qp)
{
	while (!fw_list_empty(&qp->windows)) {
		if (!slice_take(nic, 1))
			return false;
		mem_unbind(nic, FW_CONTAINER(qp->windows.next, struct fw_mr, qp_node));
	}
	return true;
}

/*
 * Only objects that are open to peers can be invalidated: a peer that may send cannot take away a
 * region's local use by guessing its number.
 */
bool mem_invalidate(struct fw_nic *nic, uint32_t pd, uint32_t qpn, uint32_t stag)
{
	struct fw_mr *mr = mem_find(nic, stag);

	if (!mr || mr->pd != pd)
		return false;
	if (mr->kind == FW_MR_WINDOW) {
		/* A type 1 window is unbound by a bind of 0 bytes (IBA 10.6.7.2.1). */
		if (mr->mw_type != 2 || !mr->bound || mr->qpn != qpn)
			return false;
		mem_unbind(nic, mr);
		return true;
	}
	if (mr->windows || !(mr->access & REMOTE_RIGHTS))
		return false;
	eth_tx_settle(nic);
	mr->kind = FW_MR_DEAD;
	mr->stag = mem_stag_void(stag_index(stag));
	return true;
}

static enum hw_vendor_err check_bind(const struct fw_mr *mr, uint32_t pd, uint64_t addr,
				     uint64_t bytes, uint32_t access)
{
	if (!mr || mr->kind != FW_MR_REGION || mr->pd != pd)
		return HW_VENDOR_ERR_LKEY;
	if (!(mr->access & HW_ACCESS_MW_BIND) ||
	    access & ~(uint32_t)(REMOTE_RIGHTS | HW_ACCESS_ZERO_BASED))
		return HW_VENDOR_ERR_ACCESS;
	if (access & (HW_ACCESS_REMOTE_WRITE | HW_ACCESS_REMOTE_ATOMIC) &&
	    !(mr->access & HW_ACCESS_LOCAL_WRITE))
		return HW_VENDOR_ERR_ACCESS;
	if (addr < mr->iova || addr - mr->iova > mr->bytes || bytes > mr->bytes - (addr - mr->iova))
		return HW_VENDOR_ERR_BOUNDS;
	return HW_VENDOR_ERR_NONE;
}

static void set_binding(struct fw_mr *mw, struct fw_mr *mr, uint32_t parent, uint64_t addr,
			uint64_t bytes, uint32_t access)
{
	uint64_t offset = addr - mr->iova;

	mw->mapping = mr->mapping ? mr->mapping + offset : NULL;
	mw->iova = access & HW_ACCESS_ZERO_BASED ? 0 : addr;
	mw->addr = mr->addr + offset;
	mw->bytes = bytes;
	mw->access = access;
	mw->parent = parent;
	mw->bound = true;
	mr->windows++;
}

/*
 * Type 1: rkey is the current one, and the next key (ibv_inc_rkey) names the new binding; 0
 * bytes unbind. Type 2: rkey is the new one, the process chose its key; the window must be
 * unbound. IBA 10.6.7.2.
 */
enum hw_vendor_err mem_bind(struct fw_nic *nic, uint32_t pd, uint32_t qpn, uint32_t rkey,
			    uint32_t mr_lkey, uint64_t addr, uint64_t bytes, uint32_t access)
{
	uint32_t index = stag_index(rkey);
	enum hw_vendor_err err;
	struct fw_mr *mw, *mr;

	if (rkey & STAG_SINK_FLAG || index >= nic->host.mr_ids.high)
		return HW_VENDOR_ERR_LKEY;
	mw = &nic->host.mrs[index];
	if (mw->kind != FW_MR_WINDOW || mw->pd != pd || !qp_find(nic, qpn))
		return HW_VENDOR_ERR_LKEY;
	if (mw->mw_type == 1 ? mw->key != stag_key(rkey)
			     : mw->bound || !bytes || (mw->key ^ stag_key(rkey)) >> 8)
		return HW_VENDOR_ERR_LKEY;
	if (bytes) {
		mr = mem_find(nic, mr_lkey);
		err = check_bind(mr, pd, addr, bytes, access);
		if (err != HW_VENDOR_ERR_NONE)
			return err;
	}
	mem_unbind(nic, mw);
	if (bytes)
		set_binding(mw, mr, stag_index(mr_lkey), addr, bytes, access);
	if (mw->mw_type == 1) {
		mw->key = (uint16_t)((mw->key & 0x7f00) | ((mw->key + 1) & 0xff));
	} else {
		mw->key = stag_key(rkey);
		mw->qpn = qpn;
		fw_list_add_tail(&qp_find(nic, qpn)->windows, &mw->qp_node);
	}
	mw->stag = stag_make(index, mw->key);
	return HW_VENDOR_ERR_NONE;
}
