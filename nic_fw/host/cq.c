/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion queues on the data path: entries out, arming.
 *
 * cq_post() writes a completion of a request or a receive; cq_arm() handles the doorbell. An entry
 * of an armed CQ becomes an event, and that an interrupt, when moder.c decides. Calls moder.c and
 * eq.c. docs/host-interface.md, pairs C1 and C2. Creation and resizing are in cq_cmd.c.
 */
#include "nic_fw/fw_nic.h"

enum {
	CQ_RETRIES = 16, /* CQs checked in a step: as many timers as CQs may expire in a turn */
};

/*
 * Reads the process's consumer index; the acquire pairs with the release after the last entry was
 * read. False: still full, or an impossible index.
 */
static bool cq_make_room(struct fw_cq *cq)
{
	uint32_t entries = cq->mask + 1;
	uint32_t cons = __atomic_load_n(&cq->record->cons, __ATOMIC_ACQUIRE);

	if (cq->prod - cons > entries)
		return false;
	cq->cons = cons;
	return cq->prod - cons < entries;
}

static bool overrun(struct fw_nic *nic, struct fw_cq *cq)
{
	FW_COUNT(nic, cq_overruns);
	if (!cq->overrun) {
		cq->overrun = true;
		eq_async(nic, cq->client, HW_EVENT_CQ_ERR, cq->index);
	}
	return false;
}

/* Pair C1: the word with the phase is stored last. */
static void cq_write_entry(const struct fw_nic *nic, struct fw_cq *cq, const struct hw_cqe *cqe)
{
	struct hw_cqe *slot = &cq->ring[cq->prod & cq->mask];
	uint32_t phase = !(cq->prod & (cq->mask + 1));
	uint32_t word = (uint32_t)cqe->status | (uint32_t)cqe->opcode << 8 |
			(uint32_t)cqe->flags << 16 | phase << 24;

	/*
	 * Field by field: the caller has just stored them one by one. A wider load of recent
	 * narrower stores stalls until they have drained.
	 */
	slot->wr_id = cqe->wr_id;
	slot->timestamp_ns = nic->now_ns;
	slot->bytes = cqe->bytes;
	slot->imm_inv = cqe->imm_inv;
	slot->qpn = cqe->qpn;
	slot->src_qpn = cqe->src_qpn;
	slot->vendor_err = cqe->vendor_err;
	slot->sq_index = cqe->sq_index;
	slot->src_ip = cqe->src_ip;
	slot->record_to = cqe->record_to;
	slot->record_map = cqe->record_map;
	__atomic_store_n((uint32_t *)(void *)&slot->status, word, __ATOMIC_RELEASE);
}

bool cq_tell(struct fw_nic *nic, struct fw_cq *cq)
{
	struct hw_eqe eqe = {
	    .id = cq->index,
	    .aux = cq->arm_index & HW_CQ_ARM_INDEX,
	    .type = HW_EVENT_COMPLETION,
	};

	if (!eq_write(nic, cq->event_queue, &eqe))
		return false;
	cq->armed = false;
	return true;
}

/* Passes the entry that was just written to moderation. */
static void moderate(struct fw_nic *nic, struct fw_cq *cq, const struct hw_cqe *cqe, bool due)
{
	struct moder_news news;

	news.at[0].ns = nic->now_ns;
	news.at[0].frames = 1;
	news.at[0].class = moder_class_of(cqe->opcode);
	news.count = 1;
	news.cqe = cqe;
	news.cause = HW_VECTOR_by_event;
	if (cqe->status != HW_STATUS_SUCCESS)
		news.cause = HW_VECTOR_by_error;
	else if (cqe->flags & HW_CQE_F_SOLICITED)
		news.cause = HW_VECTOR_by_solicited;
	if (due)
		moder_due(nic, cq, &news);
	else
		moder_cqe(nic, cq, &news);
}

/*
 * Passes the entries after the index of arming to moderation. Of many entries a few represent their
 * neighbours. The ring is the process's; false content harms only its own moderation.
 */
static void moderate_untold(struct fw_nic *nic, struct fw_cq *cq, enum hw_vector_counter cause)
{
	uint32_t entries = cq->prod - cq->arm_index, i, from, to;
	struct moder_news news = {.cause = cause};

	news.count = entries < MODER_NEWS ? entries : MODER_NEWS;
	for (i = 0, from = 0; i < news.count; i++, from = to) {
		const struct hw_cqe *cqe = &cq->ring[(cq->arm_index + from) & cq->mask];
		uint64_t ns = __atomic_load_n(&cqe->timestamp_ns, __ATOMIC_RELAXED);

		to = (uint32_t)((uint64_t)entries * (i + 1) / news.count);
		news.at[i].ns = ns < nic->now_ns ? ns : nic->now_ns;
		news.at[i].frames = to - from;
		news.at[i].class = moder_class_of(__atomic_load_n(&cqe->opcode, __ATOMIC_RELAXED));
	}
	moder_due(nic, cq, &news);
}

static bool post(struct fw_nic *nic, struct fw_cq *cq, const struct hw_cqe *cqe)
{
	bool urgent = cqe->flags & HW_CQE_F_SOLICITED || cqe->status != HW_STATUS_SUCCESS;

	if (__builtin_expect(cq->overrun, 0))
		return overrun(nic, cq);
	if (nic->host.clients[cq->client].closing)
		return true; /* no reader */
	if (cq->prod - cq->cons > cq->mask && !cq_make_room(cq))
		return overrun(nic, cq);
	cq_write_entry(nic, cq, cqe);
	cq->prod++;
	__atomic_store_n(&cq->record->prod, cq->prod, __ATOMIC_RELAXED);
	FW_COUNT(nic, cqes);
	if (urgent)
		cq->solicited_prod = cq->prod;
	if (!cq->event_queue)
		return true;
	cq->event_queue->moder.completions++;
	if (cq->armed && (urgent || !cq->armed_solicited))
		moderate(nic, cq, cqe, true);
	else if (cq->event_queue->moder.open)
		moderate(nic, cq, cqe, false);
	return true;
}

bool cq_post(struct fw_nic *nic, struct fw_cq *cq, const struct hw_cqe *cqe)
{
	uint8_t stage = fw_stage_enter(nic, FW_STAGE_CQ);
	bool ok = post(nic, cq, cqe);

	(void)fw_stage_enter(nic, stage);
	return ok;
}

/*
 * Pair C2: the word holds the index up to which the process had polled when it armed. Entries
 * written beyond it meanwhile raise the event here, so that none is lost in between.
 */
void cq_arm(struct fw_nic *nic, struct fw_cq *cq)
{
	uint32_t arm = __atomic_load_n(&cq->record->arm, __ATOMIC_ACQUIRE);
	uint32_t unpolled = (cq->prod - arm) & HW_CQ_ARM_INDEX;
	bool solicited = arm & HW_CQ_ARM_SOLICITED;

	if (!(arm & HW_CQ_ARM_ARMED) || !cq->event_queue)
		return;
	/* An impossible index costs the process a superfluous event. */
	if (unpolled > cq->mask + 1)
		unpolled = cq->mask + 1;
	/*
	 * Arming for solicited completions does not downgrade an earlier arm for any completion
	 * (IBA 11.4.2.2).
	 */
	cq->armed_solicited = solicited && !(cq->armed && !cq->armed_solicited);
	cq->armed = true;
	cq->arm_index = cq->prod - unpolled;
	/* Keeps the signed distance meaningful after 2^31 entries none of which was solicited. */
	if (cq->prod - cq->solicited_prod > cq->mask + 1)
		cq->solicited_prod = cq->prod - (cq->mask + 1);
	if (cq_is_due(cq))
		moderate_untold(nic, cq,
				(int32_t)(cq->solicited_prod - cq->arm_index) > 0
				    ? HW_VECTOR_by_solicited
				    : HW_VECTOR_by_event);
	else
		moder_unhide(nic, cq);
	/* The handler has polled up to here: events hidden because of it become visible. */
	if (cq->event_queue->moder.open)
		moder_look(nic, cq->event_queue);
}

bool cq_retry_events(struct fw_nic *nic, struct fw_eq *eq, uint32_t *at)
{
	uint32_t end = *at + CQ_RETRIES;

	for (; *at < end && *at < nic->host.cq_ids.high; ++*at) {
		struct fw_cq *cq = &nic->host.cqs[*at];

		if (cq->used && cq->event_queue == eq && cq->armed && cq_is_due(cq))
			moderate_untold(nic, cq, HW_VECTOR_by_retry);
	}
	return *at < nic->host.cq_ids.high;
}
