/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Atomics that the NIC does not have, by its compare-and-swap: the word of 8 bytes that holds the
 * element is read; then the new word is swapped in, with what the word turned out to be as the next
 * guess, until no one was faster. So they are atomic with all others. Each step is begun when the
 * last one's completion is polled: domains have them only with FI_PROGRESS_MANUAL. fi_atomic(3).
 */
#include "host_driver/fabric/wf_atomic.h"

#include <complex.h>
#include <stdlib.h>
#include <string.h>

enum {
	WORD = sizeof(uint64_t)
};

/* An operation under way. */
struct wf_cas {
	struct wf_cas *next; /* free ones; those that wait for the send queue */
	struct wf_op *op;
	uint64_t *slot; /* registered: the NIC writes the word here */
	struct weft_ah *ah;
	uint32_t dst_qpn, rkey;
	uint64_t word; /* its address */
	uint64_t operand, compare;
	uint64_t expected, desired;
	void *result;
	enum fi_datatype type;
	enum fi_op fi_op;
	uint8_t offset, bytes; /* of the element in the word */
	bool swapping;         /* the word was read */
};

size_t wf_cas_bytes(enum fi_datatype type)
{
	switch (type) {
	case FI_INT8:
	case FI_UINT8:
		return 1;
	case FI_INT16:
	case FI_UINT16:
		return 2;
	case FI_INT32:
	case FI_UINT32:
	case FI_FLOAT:
		return 4;
	case FI_INT64:
	case FI_UINT64:
	case FI_DOUBLE:
	case FI_FLOAT_COMPLEX:
		return 8;
	case FI_DOUBLE_COMPLEX:
	case FI_LONG_DOUBLE:
	case FI_LONG_DOUBLE_COMPLEX:
	case FI_INT128: /* the same number as FI_DATATYPE_LAST */
	case FI_UINT128:
	case FI_VOID:
		break;
	}
	return 0;
}

bool wf_cas_supports(enum wf_atomic_kind kind, enum fi_datatype type, enum fi_op op)
{
	bool real = type == FI_FLOAT || type == FI_DOUBLE, is_complex = type == FI_FLOAT_COMPLEX;

	if (!wf_cas_bytes(type))
		return false;
	if (kind == WF_ATOMIC_COMPARE ? op < FI_CSWAP || op > FI_MSWAP : op > FI_ATOMIC_WRITE)
		return false;
	if (kind == WF_ATOMIC_PLAIN && op == FI_ATOMIC_READ)
		return false;
	if ((real || is_complex) &&
	    (op == FI_BOR || op == FI_BAND || op == FI_BXOR || op == FI_MSWAP))
		return false;
	return !is_complex ||
	       (op != FI_MIN && op != FI_MAX && (op < FI_CSWAP_LE || op > FI_CSWAP_GT));
}

/* Operations of all types; t: target, o: operand, c: compare. */
#define COMMON(T)                                                                                  \
	case FI_LOR:                                                                               \
		t = (T)(t != 0 || o != 0);                                                         \
		break;                                                                             \
	case FI_LAND:                                                                              \
		t = (T)(t != 0 && o != 0);                                                         \
		break;                                                                             \
	case FI_LXOR:                                                                              \
		t = (T)((t != 0) != (o != 0));                                                     \
		break;                                                                             \
	case FI_ATOMIC_WRITE:                                                                      \
		t = o;                                                                             \
		break;                                                                             \
	case FI_CSWAP:                                                                             \
		write = c == t;                                                                    \
		t = o;                                                                             \
		break;                                                                             \
	case FI_CSWAP_NE:                                                                          \
		write = c != t;                                                                    \
		t = o;                                                                             \
		break;                                                                             \
	case FI_ATOMIC_READ:                                                                       \
	case FI_ATOMIC_OP_LAST:                                                                    \
	case FI_NOOP:                                                                              \
		write = false;                                                                     \
		break;

/* Operations of types with an order. */
#define ORDERED()                                                                                  \
	case FI_MIN:                                                                               \
		write = o < t;                                                                     \
		t = o;                                                                             \
		break;                                                                             \
	case FI_MAX:                                                                               \
		write = o > t;                                                                     \
		t = o;                                                                             \
		break;                                                                             \
	case FI_CSWAP_LE:                                                                          \
		write = c <= t;                                                                    \
		t = o;                                                                             \
		break;                                                                             \
	case FI_CSWAP_LT:                                                                          \
		write = c < t;                                                                     \
		t = o;                                                                             \
		break;                                                                             \
	case FI_CSWAP_GE:                                                                          \
		write = c >= t;                                                                    \
		t = o;                                                                             \
		break;                                                                             \
	case FI_CSWAP_GT:                                                                          \
		write = c > t;                                                                     \
		t = o;                                                                             \
		break;

/* Types of integers; sums wrap around. */
#define INTEGER(name, T)                                                                           \
	static bool name(enum fi_op op, void *target, const void *operand, const void *compare)    \
	{                                                                                          \
		bool write = true;                                                                 \
		T t, o, c;                                                                         \
                                                                                                   \
		memcpy(&t, target, sizeof(T));                                                     \
		memcpy(&o, operand, sizeof(T));                                                    \
		memcpy(&c, compare, sizeof(T));                                                    \
		switch (op) {                                                                      \
			COMMON(T)                                                                  \
			ORDERED()                                                                  \
		case FI_SUM:                                                                       \
			t = (T)((uint64_t)t + (uint64_t)o);                                        \
			break;                                                                     \
		case FI_PROD:                                                                      \
			t = (T)((uint64_t)t * (uint64_t)o);                                        \
			break;                                                                     \
		case FI_BOR:                                                                       \
			t = (T)(t | o);                                                            \
			break;                                                                     \
		case FI_BAND:                                                                      \
			t = (T)(t & o);                                                            \
			break;                                                                     \
		case FI_BXOR:                                                                      \
			t = (T)(t ^ o);                                                            \
			break;                                                                     \
		case FI_MSWAP:                                                                     \
			t = (T)((o & c) | (t & ~c));                                               \
			break;                                                                     \
		}                                                                                  \
		memcpy(target, &t, sizeof(T));                                                     \
		return write;                                                                      \
	}

#define REAL(name, T, MORE, REST)                                                                  \
	static bool name(enum fi_op op, void *target, const void *operand, const void *compare)    \
	{                                                                                          \
		bool write = true;                                                                 \
		T t, o, c;                                                                         \
                                                                                                   \
		memcpy(&t, target, sizeof(T));                                                     \
		memcpy(&o, operand, sizeof(T));                                                    \
		memcpy(&c, compare, sizeof(T));                                                    \
		switch (op) {                                                                      \
			COMMON(T)                                                                  \
			MORE()                                                                     \
		case FI_SUM:                                                                       \
			t += o;                                                                    \
			break;                                                                     \
		case FI_PROD:                                                                      \
			t *= o;                                                                    \
			break;                                                                     \
			REST case FI_BOR : case FI_BAND : case FI_BXOR : case FI_MSWAP             \
			    : write = false;                                                       \
			break;                                                                     \
		}                                                                                  \
		memcpy(target, &t, sizeof(T));                                                     \
		return write;                                                                      \
	}
#define NONE()
#define NO_ORDER                                                                                   \
	case FI_MIN:                                                                               \
	case FI_MAX:                                                                               \
	case FI_CSWAP_LE:                                                                          \
	case FI_CSWAP_LT:                                                                          \
	case FI_CSWAP_GE:                                                                          \
	case FI_CSWAP_GT:

INTEGER(apply_i8, int8_t)
INTEGER(apply_u8, uint8_t)
INTEGER(apply_i16, int16_t)
INTEGER(apply_u16, uint16_t)
INTEGER(apply_i32, int32_t)
INTEGER(apply_u32, uint32_t)
INTEGER(apply_i64, int64_t)
INTEGER(apply_u64, uint64_t)
REAL(apply_float, float, ORDERED, )
REAL(apply_double, double, ORDERED, )
REAL(apply_complex, float complex, NONE, NO_ORDER)

bool wf_cas_apply(enum fi_datatype type, enum fi_op op, uint64_t target, uint64_t operand,
		  uint64_t compare, uint64_t *result)
{
	static bool (*const apply[])(enum fi_op, void *, const void *,
				     const void *) = {[FI_INT8] = apply_i8,
						      [FI_UINT8] = apply_u8,
						      [FI_INT16] = apply_i16,
						      [FI_UINT16] = apply_u16,
						      [FI_INT32] = apply_i32,
						      [FI_UINT32] = apply_u32,
						      [FI_INT64] = apply_i64,
						      [FI_UINT64] = apply_u64,
						      [FI_FLOAT] = apply_float,
						      [FI_DOUBLE] = apply_double,
						      [FI_FLOAT_COMPLEX] = apply_complex};
	bool write = apply[type](op, &target, &operand, &compare);

	*result = target;
	return write;
}

/* Posts the next step. 0 or a negative errno. */
static int post_step(struct wf_cas *cas)
{
	struct wf_qp *qp = cas->op->qp;
	struct weft_sge sge = {(uintptr_t)cas->slot, WORD, qp->domain->scratch_mr->lkey};
	struct weft_send_wr wr = {.wr_id = (uintptr_t)cas->op,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = cas->swapping ? WEFT_WR_CMP_SWAP : WEFT_WR_READ,
				  .flags = WEFT_SEND_SIGNALED,
				  .rkey = cas->rkey,
				  .remote_addr = cas->word,
				  .compare_add = cas->expected,
				  .swap = cas->desired,
				  .ah = cas->ah,
				  .dst_qpn = cas->dst_qpn,
				  .qkey = UINT32_C(1) << 31};

	return weft_post_send(qp->ep->qp, &wr, NULL);
}

/* Takes an operation and its slot of the registered page; NULL: all are under way. */
static struct wf_cas *cas_get(struct wf_domain *domain)
{
	const size_t slots = WF_SCRATCH_BYTES / WORD;
	struct wf_cas *cas;
	size_t i;

	pthread_mutex_lock(&domain->lock);
	if (!domain->cas) {
		domain->cas = calloc(slots, sizeof(*domain->cas));
		/* The first word takes results that were not requested. */
		for (i = 1; domain->cas && i < slots; i++) {
			domain->cas[i].slot = domain->scratch + i;
			domain->cas[i].next = domain->cas_free;
			domain->cas_free = &domain->cas[i];
		}
	}
	cas = domain->cas_free;
	if (cas)
		domain->cas_free = cas->next;
	pthread_mutex_unlock(&domain->lock);
	return cas;
}

void wf_cas_put(struct wf_domain *domain, struct wf_cas *cas)
{
	pthread_mutex_lock(&domain->lock);
	cas->next = domain->cas_free;
	domain->cas_free = cas;
	pthread_mutex_unlock(&domain->lock);
}

/* Posts it, or lets it wait for a place in the send queue. The queue's lock is held. */
static void go_on(struct wf_cq *cq, struct wf_cas *cas)
{
	int rc = post_step(cas);

	if (!rc)
		return;
	/* Any other reason will be the same next time, and the NIC is gone or the QP in error. */
	cas->next = cq->cas_waiting;
	cq->cas_waiting = cas;
}

void wf_cas_retry(struct wf_cq *cq)
{
	struct wf_cas *list = cq->cas_waiting, *cas;

	cq->cas_waiting = NULL;
	while ((cas = list)) {
		list = cas->next;
		go_on(cq, cas);
	}
}

void wf_cas_forget(struct wf_cq *cq, const struct wf_qp *qp)
{
	struct wf_cas **link = &cq->cas_waiting;

	while (*link) {
		if ((*link)->op->qp == qp)
			*link = (*link)->next;
		else
			link = &(*link)->next;
	}
}

bool wf_cas_step(struct wf_cq *cq, struct wf_cas *cas)
{
	uint64_t was = *cas->slot, element = 0, next;
	bool over = cas->swapping && was == cas->expected;

	memcpy(&element, (const char *)&was + cas->offset, cas->bytes);
	if (!over &&
	    wf_cas_apply(cas->type, cas->fi_op, element, cas->operand, cas->compare, &next)) {
		cas->expected = was;
		cas->desired = was;
		memcpy((char *)&cas->desired + cas->offset, &next, cas->bytes);
		cas->swapping = true;
		go_on(cq, cas);
		return false;
	}
	if (cas->result)
		memcpy(cas->result, &element, cas->bytes);
	return true;
}

ssize_t wf_cas_post(struct wf_ep *ep, const struct wf_atomic *a, const struct wf_peer *peer,
		    uint64_t flags)
{
	struct wf_qp *qp = ep->qp;
	size_t bytes = wf_cas_bytes(a->type);
	struct wf_cas *cas;
	struct wf_op *op;
	int rc;

	if (a->remote % bytes)
		return -FI_EINVAL;
	cas = cas_get(qp->domain);
	if (!cas)
		return -FI_EAGAIN;
	op = wf_op_get(qp, qp->tx_cq, 1);
	if (!op) {
		wf_cas_put(qp->domain, cas);
		return -FI_EAGAIN;
	}
	op->context = a->context;
	op->buf = NULL;
	op->flags = FI_ATOMIC | (a->kind == WF_ATOMIC_PLAIN ? FI_WRITE : FI_READ);
	op->count = a->kind == WF_ATOMIC_PLAIN ? WF_WRITES : WF_READS;
	op->silent = !(flags & FI_COMPLETION);
	op->cas = cas;
	*cas = (struct wf_cas){.op = op,
			       .slot = cas->slot,
			       .ah = peer->ah,
			       .dst_qpn = peer->addr.qpn,
			       .rkey = (uint32_t)a->key,
			       .word = a->remote & ~(uint64_t)(WORD - 1),
			       .result = a->kind == WF_ATOMIC_PLAIN ? NULL : a->result,
			       .type = a->type,
			       .fi_op = a->op,
			       .offset = (uint8_t)(a->remote % WORD),
			       .bytes = (uint8_t)bytes};
	if (a->op != FI_ATOMIC_READ)
		memcpy(&cas->operand, a->operand, bytes);
	if (a->kind == WF_ATOMIC_COMPARE)
		memcpy(&cas->compare, a->compare, bytes);
	rc = post_step(cas);
	if (rc)
		wf_op_drop(op);
	return wf_post_result(rc);
}
