/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion queues on the data path: entries out, arming.
 *
 * cq_post() writes a completion of a request or a receive; cq_arm() handles the doorbell. An entry
 * of an armed CQ becomes an event, and that an interrupt, when moder.c decides. A failed entry
 * waits for a copy that may still change memory of its process (fw_port.h, host_late). Calls
 * moder.c and eq.c. docs/host-interface.md, pairs C1 and C2. Creation and resizing are in cq_cmd.c.
 */
#include "nic_fw/fw_nic.h"

enum {
	CQ_RETRIES = 16,    /* CQs checked in a step: as many timers as CQs may expire in a turn */
	CQ_LATE_LOOKS = 16, /* CQs with late copies that a call of the timer looks at */
};
#define CQ_LATE_NS UINT64_C(100000)

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

/* The last word of an entry, without its phase. */
static uint32_t cq_word_of(const struct hw_cqe *cqe)
{
	return (uint32_t)cqe->status | (uint32_t)cqe->opcode << 8 | (uint32_t)cqe->flags << 16;
}

/* The bits of a failed or a solicited entry. */
#define WORD_URGENT (UINT32_C(0xff) | (uint32_t)HW_CQE_F_SOLICITED << 16)
static_assert(HW_STATUS_SUCCESS == 0, "WORD_URGENT");

static inline void cq_show_slot(const struct fw_cq *cq, struct hw_cqe *slot, uint32_t index,
				uint32_t word)
{
	uint32_t phase = !(index & (cq->mask + 1));

	__atomic_store_n((uint32_t *)(void *)&slot->status, word | phase << 24, __ATOMIC_RELEASE);
}

static void cq_show(struct fw_cq *cq, uint32_t index, uint32_t word)
{
	cq_show_slot(cq, &cq->ring[index & cq->mask], index, word);
}

/* Pair C1: the word with the phase is stored last, by cq_show_slot(). */
static inline void cq_write_entry(const struct fw_nic *nic, struct hw_cqe *slot,
				  const struct hw_cqe *cqe)
{
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
}

bool cq_report(struct fw_nic *nic, struct fw_cq *cq)
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
static void moderate_unreported(struct fw_nic *nic, struct fw_cq *cq, enum hw_vector_counter cause)
{
	uint32_t entries = cq_visible(cq) - cq->arm_index, i, from, to;
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

/* ---- late copies ----------------------------------------------------------------------------- */

/*
 * True if the entry gives a buffer back to which a copy may still write. A receive that succeeded
 * may be one that lost an earlier message, and its own data needed no copy. Of other requests that
 * succeeded all copies are over, since accesses to a process's memory follow each other.
 */
static bool gives_buffer_back(const struct hw_cqe *cqe)
{
	return cqe->status != HW_STATUS_SUCCESS || cqe->opcode >= HW_CQE_RECV;
}

/* True if the entry stays invisible: behind another such one, or until a late copy is over. */
static bool waits_for_copy(struct fw_nic *nic, struct fw_cq *cq, const struct hw_cqe *cqe)
{
	uint64_t copy = gives_buffer_back(cqe) ? mem_late(nic, cq->client, 0) : 0;

	if (!copy)
		return cq->has_late;
	/* Entries behind the first one may need a later copy: all wait for the last. */
	cq->late.copy = copy;
	if (cq->has_late)
		return true;
	FW_COUNT(nic, cqes_late);
	cq->has_late = true;
	cq->late.at = cq->prod;
	cq->late.word = cq_word_of(cqe);
	cq->late.solicited_prod = cq->solicited_prod;
	fw_list_add_tail(&nic->host.late_cqs, &cq->late.node);
	if (!fw_timer_is_set(&nic->host.late_timer))
		fw_timer_set(&nic->timers, &nic->host.late_timer, nic->now_ns + CQ_LATE_NS);
	return true;
}

/* Enters an entry that waits. The process polls in order and does not see those behind the first.
 */
static void post_late(struct fw_cq *cq, uint32_t word, bool urgent)
{
	if (cq->prod != cq->late.at)
		cq_show(cq, cq->prod, word);
	cq->prod++;
	if (urgent)
		cq->late.solicited_prod = cq->prod;
}

/* The entries become visible, in the ring of a resize under way, too. */
static void cq_late_over(struct fw_nic *nic, struct fw_cq *cq)
{
	fw_list_del(&cq->late.node);
	cq->has_late = false;
	if (!fw_list_empty(&cq->late.flushes)) {
		fw_list_splice_tail(&nic->slices.flushes, &cq->late.flushes);
		slice_wait(&nic->slices, SLICE_FLUSH);
	}
	cq_show(cq, cq->late.at, cq->late.word);
	cq_resize_show(nic, cq, cq->late.at);
	cq->solicited_prod = cq->late.solicited_prod;
	__atomic_store_n(&cq->record->prod, cq->prod, __ATOMIC_RELAXED);
	if (!cq->event_queue)
		return;
	if (cq->armed && cq_is_due(cq))
		moderate_unreported(nic, cq, HW_VECTOR_by_error);
	else if (cq->event_queue->moder.open)
		moder_look(nic, cq->event_queue);
}

bool cq_settled(struct fw_nic *nic, struct fw_cq *cq)
{
	if (cq->has_late && !mem_late(nic, cq->client, cq->late.copy))
		cq_late_over(nic, cq);
	return !cq->has_late;
}

void cq_late_fire(struct fw_nic *nic, struct fw_timer *timer)
{
	struct fw_list *late = &nic->host.late_cqs;
	uint32_t looks;

	for (looks = 0; looks < CQ_LATE_LOOKS && !fw_list_empty(late); looks++) {
		struct fw_cq *cq = FW_CONTAINER(late->next, struct fw_cq, late.node);

		if (cq_settled(nic, cq))
			continue;
		fw_list_del(&cq->late.node);
		fw_list_add_tail(late, &cq->late.node);
	}
	if (!fw_list_empty(late))
		fw_timer_set(&nic->timers, timer, nic->now_ns + CQ_LATE_NS);
}

/* ---- entries --------------------------------------------------------------------------------- */

/* Reports a visible entry to the event queue. */
FW_APART bool cq_notify(struct fw_nic *nic, struct fw_cq *cq, const struct hw_cqe *cqe, bool urgent)
{
	cq->event_queue->moder.completions++;
	if (cq->armed && (urgent || !cq->armed_solicited))
		moderate(nic, cq, cqe, true);
	else if (cq->event_queue->moder.open)
		moderate(nic, cq, cqe, false);
	return true;
}

/* The entry was written; it becomes visible. */
static inline bool enter_visible(struct fw_nic *nic, struct fw_cq *cq, const struct hw_cqe *cqe,
				 struct hw_cqe *slot)
{
	const uint32_t prod = cq->prod;
	uint32_t word = cq_word_of(cqe);
	bool urgent = word & WORD_URGENT;

	cq_show_slot(cq, slot, prod, word);
	cq->prod = prod + 1;
	__atomic_store_n(&cq->record->prod, prod + 1, __ATOMIC_RELAXED);
	if (urgent)
		cq->solicited_prod = prod + 1;
	return cq->event_queue ? cq_notify(nic, cq, cqe, urgent) : true;
}

/* Likewise, unless it waits for a copy. */
FW_APART bool enter_late(struct fw_nic *nic, struct fw_cq *cq, const struct hw_cqe *cqe,
			 struct hw_cqe *slot)
{
	uint32_t word = cq_word_of(cqe);

	if (!waits_for_copy(nic, cq, cqe))
		return enter_visible(nic, cq, cqe, slot);
	if (cq->event_queue)
		cq->event_queue->moder.completions++;
	post_late(cq, word, word & WORD_URGENT);
	return true;
}

/* Writes an entry, for which there is room. */
static inline bool enter(struct fw_nic *nic, struct fw_cq *cq, const struct fw_client *owner,
			 const struct hw_cqe *cqe)
{
	struct hw_cqe *slot = &cq->ring[cq->prod & cq->mask];

	cq_write_entry(nic, slot, cqe);
	FW_COUNT(nic, cqes);
	if (__builtin_expect(owner->may_be_late || cq->has_late, 0))
		return enter_late(nic, cq, cqe, slot);
	return enter_visible(nic, cq, cqe, slot);
}

static bool post(struct fw_nic *nic, struct fw_cq *cq, const struct hw_cqe *cqe)
{
	const struct fw_client *owner = &nic->host.clients[cq->client];

	if (cq->overrun)
		return overrun(nic, cq);
	if (owner->closing)
		return true; /* no reader */
	if (cq->prod - cq->cons > cq->mask && !cq_make_room(cq))
		return overrun(nic, cq);
	return enter(nic, cq, owner, cqe);
}

FW_APART bool post_staged(struct fw_nic *nic, struct fw_cq *cq, const struct hw_cqe *cqe)
{
	uint8_t stage = fw_stage_enter(nic, FW_STAGE_CQ);
	bool ok = post(nic, cq, cqe);

	(void)fw_stage_enter(nic, stage);
	return ok;
}

bool cq_post(struct fw_nic *nic, struct fw_cq *cq, const struct hw_cqe *cqe)
{
	const struct fw_client *owner = &nic->host.clients[cq->client];

	/* Most entries find nothing to look at. */
	if (__builtin_expect(nic->stages.clock || cq->overrun || owner->closing ||
				 cq->prod - cq->cons > cq->mask,
			     0))
		return post_staged(nic, cq, cqe);
	return enter(nic, cq, owner, cqe);
}

/*
 * Pair C2: the word holds the index up to which the process had polled when it armed. Entries
 * written beyond it meanwhile raise the event here, so that none is lost in between.
 */
void cq_arm(struct fw_nic *nic, struct fw_cq *cq)
{
	uint32_t arm = __atomic_load_n(&cq->record->arm, __ATOMIC_ACQUIRE);
	uint32_t unpolled = (cq_visible(cq) - arm) & HW_CQ_ARM_INDEX;
	bool solicited = arm & HW_CQ_ARM_SOLICITED;

	if (!(arm & HW_CQ_ARM_ARMED) || !cq->event_queue)
		return;
	/* An impossible index, also of an entry that waits, costs a superfluous event. */
	if (unpolled > cq->mask + 1)
		unpolled = cq->mask + 1;
	/*
	 * Arming for solicited completions does not downgrade an earlier arm for any completion
	 * (IBA 11.4.2.2).
	 */
	cq->armed_solicited = solicited && !(cq->armed && !cq->armed_solicited);
	cq->armed = true;
	cq->arm_index = cq_visible(cq) - unpolled;
	/* Keeps the signed distance meaningful after 2^31 entries none of which was solicited. */
	if (cq->prod - cq->solicited_prod > cq->mask + 1)
		cq->solicited_prod = cq->prod - (cq->mask + 1);
	if (cq_is_due(cq))
		moderate_unreported(nic, cq,
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
			moderate_unreported(nic, cq, HW_VECTOR_by_retry);
	}
	return *at < nic->host.cq_ids.high;
}
