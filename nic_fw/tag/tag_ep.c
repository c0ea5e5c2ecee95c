/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tagged endpoints: opened by a command, their turn, their end.
 *
 * HW_CMD_TAG_OPEN gives an RD queue pair its pool: memory of the process whose records (buddy.h)
 * are the NIC's. The end of the queue pair flushes all that the endpoint holds, in slices. Calls
 * the other files of tag/. docs/tagged.md.
 */
#include "nic_fw/fw_nic.h"

static void begin_turn(struct fw_nic *nic)
{
	nic->tag.copy_left = TAG_COPY_QUANTUM;
	nic->tag.ops_left = TAG_TURN_OPS;
	nic->tag.looks_left = TAG_TURN_LOOKS;
}

void tag_init(struct fw_nic *nic)
{
	fw_list_init(&nic->tag.work);
	fw_list_init(&nic->tag.downs);
	fw_list_init(&nic->tag.lost);
	begin_turn(nic);
}

bool tag_ep_is_live(const struct tag_ep *ep)
{
	return ep->open && ep->qp->state != HW_QPS_ERR && ep->qp->state != HW_QPS_RESET;
}

/* Processes are served in turn, and so are the endpoints of each. */
void tag_ep_work(struct fw_nic *nic, struct tag_ep *ep)
{
	struct fw_client *owner = &nic->host.clients[ep->qp->client];

	if (!fw_list_linked(&ep->work_node))
		fw_list_add_tail(&owner->tag_work, &ep->work_node);
	if (!fw_list_linked(&owner->tag_node))
		fw_list_add_tail(&nic->tag.work, &owner->tag_node);
}

static void tag_ep_work_over(struct fw_nic *nic, struct tag_ep *ep)
{
	struct fw_client *owner = &nic->host.clients[ep->qp->client];

	fw_list_del(&ep->work_node);
	if (fw_list_empty(&owner->tag_work))
		fw_list_del(&owner->tag_node);
}

bool tag_pending(const struct fw_nic *nic)
{
	return !fw_list_empty(&nic->tag.work);
}

static uint32_t tag_ep_run(struct fw_nic *nic, struct tag_ep *ep)
{
	if (!tag_ep_is_live(ep) || nic->host.clients[ep->qp->client].closing)
		return 0;
	tag_rtr_run(nic, ep);
	tag_arrival_copy_run(nic, ep);
	tag_rdv_run(nic, ep);
	if (!fw_timer_is_set(&ep->owing_timer))
		(void)tag_rdv_reply_run(nic, ep);
	return 1 + tag_rq_run(nic, ep);
}

/* Takes the endpoint whose turn it is off the lists; NULL: none has work. */
static struct tag_ep *next_in_turn(struct fw_nic *nic)
{
	struct fw_list *node = fw_list_pop(&nic->tag.work);
	struct fw_client *owner;
	struct tag_ep *ep;

	if (!node)
		return NULL;
	owner = FW_CONTAINER(node, struct fw_client, tag_node);
	ep = FW_CONTAINER(fw_list_take(&owner->tag_work), struct tag_ep, work_node);
	if (!fw_list_empty(&owner->tag_work))
		fw_list_add_tail(&nic->tag.work, &owner->tag_node);
	return ep;
}

uint32_t tag_run(struct fw_nic *nic)
{
	struct tag_ep *turn[TAG_EPS_QUANTUM];
	uint32_t done = 0, n = 0, i;

	begin_turn(nic);
	(void)fw_dear_take(nic);
	if (__builtin_expect(fw_list_empty(&nic->tag.work), 1))
		return 0;
	while (n < TAG_EPS_QUANTUM && (turn[n] = next_in_turn(nic)))
		n++;
	for (i = 0; i < n; i++)
		done += tag_ep_run(nic, turn[i]);
	return done;
}

bool tag_ep_flush(struct fw_nic *nic, struct fw_qp *qp)
{
	struct tag_ep *ep = qp->tag;

	ep->settled = false;
	if (!tag_rq_flush(nic, ep) || !tag_posted_flush(nic, ep) || !tag_context_flush(nic, ep) ||
	    !tag_arrival_flush(nic, ep) || !tag_send_flush(nic, ep) || !tag_peer_flush(nic, ep))
		return false;
	tag_context_leave(ep);
	return true;
}

/* The records lie in memory that the next endpoint gets, which must be zero. */
static bool clear_records(struct fw_nic *nic, struct tag_ep *ep)
{
	uint64_t end = (ep->pool.high / BUDDY_MIN_BYTES + 1) * sizeof(struct buddy_block);
	uint64_t bytes = ep->pool.bytes / BUDDY_MIN_BYTES * sizeof(struct buddy_block);

	if (end > bytes)
		end = bytes;
	while (ep->cleared < end) {
		uint64_t n = end - ep->cleared;

		if (!slice_take(nic, FW_SLICE_QP_UNITS))
			return false;
		if (n > TAG_CLOSE_BYTES)
			n = TAG_CLOSE_BYTES;
		memset((uint8_t *)ep->pool.blocks + ep->cleared, 0, n);
		ep->cleared += n;
	}
	return true;
}

bool tag_ep_close(struct fw_nic *nic, struct fw_qp *qp)
{
	struct tag_ep *ep = qp->tag;
	uint32_t i;

	for (i = 0; i < TAG_ARRIVAL_STATES; i++)
		assert(fw_list_empty(&ep->in_state[i]));
	assert(!ep->num_arrivals && !ep->num_sends && !ep->match.num_posted);
	assert(fw_list_empty(&ep->readers) && fw_list_empty(&ep->given_back));
	assert(!ep->num_members && ep->rx == ep);
	if (ep->records != BUDDY_NONE) {
		if (!clear_records(nic, ep))
			return false;
		nic->host.clients[qp->client].tag_records_bytes -=
		    buddy_free(&nic->tag.records, ep->records);
		ep->records = BUDDY_NONE;
	}
	tag_ep_work_over(nic, ep);
	ep->open = false;
	qp->tag = NULL;
	return true;
}

/* ---- commands ------------------------------------------------------------------------------ */

/* Gives the endpoint records for its pool, in the share of its process. */
static int open_pool(struct fw_nic *nic, struct tag_ep *ep, const struct hw_cmd_tag_open *arg)
{
	uint64_t bytes = arg->pool_bytes / BUDDY_MIN_BYTES * sizeof(struct buddy_block);
	struct fw_client *owner = &nic->host.clients[ep->qp->client];
	struct fw_mem mem;

	ep->records = BUDDY_NONE;
	if (!arg->pool_bytes) {
		buddy_init(&ep->pool, NULL, 0);
		return 0;
	}
	if (arg->pool_bytes > HW_TAG_MAX_POOL_BYTES || arg->pool_bytes % BUDDY_MIN_BYTES ||
	    arg->pool_addr % BUDDY_MIN_BYTES)
		return FW_EINVAL;
	if (mem_check(nic, ep->qp->pd, 0, arg->pool_stag, arg->pool_addr, arg->pool_bytes,
		      HW_ACCESS_LOCAL_WRITE, &mem) != HW_VENDOR_ERR_NONE)
		return FW_EFAULT;
	/* Messages are copied out of it within a turn. */
	if (!mem.ptr)
		return FW_EOPNOTSUPP;
	if (owner->tag_records_bytes / FW_HELD_PER_FREE >=
	    nic->tag.records.bytes - nic->tag.records.used)
		return FW_ENOMEM;
	ep->records = buddy_alloc(&nic->tag.records, bytes);
	if (ep->records == BUDDY_NONE)
		return FW_ENOMEM;
	owner->tag_records_bytes += buddy_block_bytes(&nic->tag.records, ep->records);
	ep->cleared = 0;
	buddy_init(&ep->pool, (void *)(nic->tag.records_base + ep->records), arg->pool_bytes);
	ep->pool_stag = arg->pool_stag;
	ep->pool_addr = arg->pool_addr;
	return 0;
}

/* Flags that exclude each other. */
static bool are_both(uint32_t flags, uint32_t both)
{
	return (flags & both) == both;
}

static bool is_open_sound(const struct hw_cmd_tag_open *arg)
{
	return !(arg->flags & ~(uint32_t)HW_TAG_OPEN_F_ALL) && !arg->reserved &&
	       !are_both(arg->flags, HW_TAG_OPEN_F_NO_ANNOUNCE | HW_TAG_OPEN_F_ANNOUNCE_ALWAYS) &&
	       !are_both(arg->flags, HW_TAG_OPEN_F_CONTEXT | HW_TAG_OPEN_F_MEMBER) &&
	       (arg->flags & HW_TAG_OPEN_F_MEMBER || !arg->context_qpn) &&
	       arg->eager_bytes <= HW_TAG_MAX_EAGER_BYTES;
}

static void init_lists(struct tag_ep *ep)
{
	uint32_t i;

	for (i = 0; i < TAG_ARRIVAL_STATES; i++)
		fw_list_init(&ep->in_state[i]);
	fw_list_init(&ep->sends);
	fw_list_init(&ep->peers);
	fw_list_init(&ep->readers);
	fw_list_init(&ep->given_back);
	fw_list_init(&ep->work_node);
	fw_list_init(&ep->members);
	fw_list_init(&ep->member_node);
}

int cmd_tag_open(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		 const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	const struct hw_cmd_tag_open *arg = &cmd->u.tag_open;
	struct fw_qp *qp = qp_own(nic, client, arg->qpn);
	struct tag_ep *ep, *context = NULL;
	int err;

	(void)aux;
	(void)resp;
	if (!qp || !(qp->flags & HW_QP_F_TAGGED) || qp->tag || qp->state != HW_QPS_INIT ||
	    !is_open_sound(arg))
		return FW_EINVAL;
	if (arg->flags & HW_TAG_OPEN_F_MEMBER) {
		context = tag_context_find(nic, qp, arg->context_qpn);
		if (!context)
			return FW_EINVAL;
	}
	if (!nic->tag.table.buckets) {
		uint64_t secret[2] = {nic->port.random64(nic->port.ctx),
				      nic->port.random64(nic->port.ctx)};

		tag_table_init(&nic->tag.table, nic->tag.buckets, TAG_BUCKETS, secret);
		buddy_init(&nic->tag.records, nic->tag.records_blocks, TAG_RECORDS_BYTES);
	}
	ep = &nic->tag.eps[qp - nic->host.qps];
	memset(ep, 0, sizeof(*ep));
	ep->qp = qp;
	err = open_pool(nic, ep, arg);
	if (err)
		return err;
	ep->open = true;
	ep->open_flags = arg->flags;
	ep->eager_bytes = arg->eager_bytes;
	ep->pool_low_bytes = arg->pool_low_bytes;
	tag_match_init(&ep->match, &nic->tag.table, qp->qpn & FW_QPN_INDEX_MASK);
	init_lists(ep);
	ep->rx = ep;
	if (context)
		tag_context_join(context, ep);
	fw_timer_init(&ep->owing_timer, FW_TIMER_TAG_OWING);
	qp->tag = ep;
	return 0;
}

int cmd_tag_query(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		  const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	const struct fw_qp *qp = qp_own(nic, client, cmd->u.obj.handle);
	const struct tag_ep *ep;

	(void)aux;
	if (!qp || !qp->tag)
		return FW_EINVAL;
	ep = qp->tag;
	resp->u.tag_query = (struct hw_resp_tag_query){
	    .posted = ep->rx->match.num_posted,
	    .unexpected = ep->rx->match.num_arrived,
	    .open_sends = ep->num_sends,
	    .claimed = ep->num_claimed,
	    .pool_bytes = ep->pool.bytes,
	    .pool_used_bytes = ep->pool.used,
	    .matched_posted = ep->matched_posted,
	    .matched_unexpected = ep->matched_unexpected,
	    .rendezvous = ep->rendezvous,
	    .pool_refused = ep->pool_refused,
	    .announced = ep->announced,
	    .announced_used = ep->announced_used,
	};
	return 0;
}
