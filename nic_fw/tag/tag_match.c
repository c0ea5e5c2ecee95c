/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Posted receives and unexpected messages of one endpoint: adding, finding, removing, in MPI's
 * order. Calls tag_class.c for classes and chains. MPI 4.1, section 3.5.
 */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "nic_fw/base/keyed.h"
#include "nic_fw/tag/tag_match.h"

enum {
	OWNER_SHIFT = 8, /* tag_class.salt: owner, kind, place */
	KIND_SHIFT = 6,
	OWNERS = 1 << (32 - OWNER_SHIFT),
};
static_assert((int)TAG_CLASSES <= 1 << KIND_SHIFT && (int)TAG_INDEXES <= 1 << KIND_SHIFT, "");
static_assert(TAG_CLASSES <= 32, "tag_match.used has a bit for each");

void tag_table_init(struct tag_table *table, struct fw_multi **bucket, uint32_t buckets,
		    const uint64_t secret[2])
{
	assert(buckets > 0 && (buckets & (buckets - 1)) == 0);
	table->bucket = bucket;
	table->buckets = buckets;
	fw_hash_key_init(&table->key, secret);
}

static void class_init(struct tag_class *cls, enum tag_class_kind kind, uint32_t owner,
		       uint32_t place)
{
	cls->kind = (uint8_t)kind;
	cls->slot = (uint8_t)place;
	cls->salt = owner << OWNER_SHIFT | (uint32_t)kind << KIND_SHIFT | place;
}

void tag_match_init(struct tag_match *m, struct tag_table *table, uint32_t owner)
{
	uint32_t i;

	assert(owner < OWNERS);
	memset(m, 0, sizeof(*m));
	m->table = table;
	fw_list_init(&m->posted);
	fw_list_init(&m->linear);
	fw_list_init(&m->arrived);
	for (i = 0; i < TAG_CLASSES; i++)
		class_init(&m->classes[i], TAG_CLASS_POSTED, owner, i);
	for (i = 0; i < TAG_INDEXES; i++)
		class_init(&m->indexes[i], TAG_CLASS_INDEX, owner, i);
	class_init(&m->numbers, TAG_CLASS_NUMBER, owner, 0);
}

/* ---- posted receives */

/* A class of posted receives for this shape: its own, or one without receives; NULL. */
static struct tag_class *class_for(struct tag_match *m, const struct tag_want *want)
{
	struct tag_class *cls = tag_class_find(m->classes, TAG_CLASSES, want);
	uint32_t unused = ~m->used & ((1u << TAG_CLASSES) - 1);

	if (cls || unused == 0)
		return cls;
	cls = &m->classes[__builtin_ctz(unused)];
	tag_class_set(cls, want);
	return cls;
}

bool tag_match_has_room(struct tag_match *m, const struct tag_want *want)
{
	return m->num_linear < TAG_LINEAR_MAX || class_for(m, want);
}

static uint32_t class_bit(const struct tag_match *m, const struct tag_class *cls)
{
	return 1u << (uint32_t)(cls - m->classes);
}

/* The receive that keeps the count of its key. */
static struct tag_recv *first_of_key(struct tag_match *m, struct tag_recv *r)
{
	if (fw_multi_is_first(&r->hook.at))
		return r;
	return tag_hook_recv(tag_class_first(m->table, r->hook.cls, &r->want.key));
}

bool tag_match_post(struct tag_match *m, struct tag_recv *r)
{
	struct tag_class *cls = class_for(m, &r->want);

	if (!cls && m->num_linear == TAG_LINEAR_MAX)
		return false;
	r->serial = m->next_serial++;
	r->announced = false;
	r->linear = !cls;
	r->same_unannounced = 0;
	if (cls) {
		tag_class_add(m->table, cls, &r->hook);
		m->used |= class_bit(m, cls);
		cls->unannounced++;
		first_of_key(m, r)->same_unannounced++;
	} else {
		fw_list_add_tail(&m->linear, &r->hook.at.same);
		m->num_linear++;
	}
	tag_class_add(m->table, &m->numbers, &r->number_hook);
	fw_list_add_tail(&m->posted, &r->node);
	m->num_posted++;
	return true;
}

/* One receive more, or less (UINT32_MAX), without announcement. */
static void count_unannounced(struct tag_match *m, struct tag_recv *r, uint32_t change)
{
	if (r->linear)
		return;
	r->hook.cls->unannounced += change;
	first_of_key(m, r)->same_unannounced += change;
}

void tag_match_set_announced(struct tag_match *m, struct tag_recv *r, bool announced)
{
	if (r->announced == announced)
		return;
	r->announced = announced;
	count_unannounced(m, r, announced ? UINT32_MAX : 1);
}

void tag_match_unpost(struct tag_match *m, struct tag_recv *r)
{
	struct tag_class *cls = r->hook.cls;

	if (r->linear) {
		fw_list_del(&r->hook.at.same);
		m->num_linear--;
	} else {
		struct fw_multi *second = fw_multi_second(&r->hook.at);

		if (!r->announced)
			count_unannounced(m, r, UINT32_MAX);
		if (fw_multi_is_first(&r->hook.at) && second) {
			struct tag_hook *next = FW_CONTAINER(second, struct tag_hook, at);

			tag_hook_recv(next)->same_unannounced = r->same_unannounced;
		}
		tag_class_del(&r->hook);
		if (cls->count == 0)
			m->used &= ~class_bit(m, cls);
	}
	tag_class_del(&r->number_hook);
	fw_list_del(&r->node);
	m->num_posted--;
}

struct tag_recv *tag_match_find_recv(struct tag_match *m, const struct tag_key *key)
{
	struct tag_recv *best = NULL;
	struct fw_list *pos;
	uint32_t used;

	for (used = m->used; used; used &= used - 1) {
		struct tag_class *cls = &m->classes[__builtin_ctz(used)];
		struct tag_hook *hook =
		    cls->msg == key->msg ? tag_class_first(m->table, cls, key) : NULL;

		if (hook && (!best || tag_hook_recv(hook)->serial < best->serial))
			best = tag_hook_recv(hook);
	}
	fw_list_for_each (pos, &m->linear) {
		struct tag_recv *r = FW_CONTAINER(pos, struct tag_recv, hook.at.same);

		if (best && best->serial < r->serial)
			break;
		if (tag_want_takes(&r->want, key))
			return r;
	}
	return best;
}

struct tag_recv *tag_match_find_number(struct tag_match *m, uint32_t number)
{
	struct tag_key key = {.tag = number};
	struct tag_hook *hook = tag_class_first(m->table, &m->numbers, &key);

	return hook ? tag_hook_recv(hook) : NULL;
}

struct tag_recv *tag_match_first_recv(struct tag_match *m)
{
	if (fw_list_empty(&m->posted))
		return NULL;
	return FW_CONTAINER(m->posted.next, struct tag_recv, node);
}

/* True if a receive of this class without an announcement could take a message meant for want. */
static bool class_stands_before(struct tag_match *m, struct tag_class *cls,
				const struct tag_want *want)
{
	uint64_t ignore = want->key.msg ? UINT64_MAX : want->ignore;
	struct tag_hook *hook;

	if (cls->unannounced == 0 || cls->msg != want->key.msg)
		return false;
	/* All that want takes has one key here, unless this class compares bits that want ignores.
	 */
	if ((ignore & ~cls->ignore) != 0 || (want->any_src && !cls->any_src))
		return true;
	hook = tag_class_first(m->table, cls, &want->key);
	return hook && tag_hook_recv(hook)->same_unannounced > 0;
}

bool tag_match_may_announce(struct tag_match *m, const struct tag_want *want)
{
	struct fw_list *pos;
	uint32_t used;

	for (used = m->used; used; used &= used - 1)
		if (class_stands_before(m, &m->classes[__builtin_ctz(used)], want))
			return false;
	fw_list_for_each (pos, &m->linear) {
		struct tag_recv *r = FW_CONTAINER(pos, struct tag_recv, hook.at.same);

		if (!r->announced && tag_wants_overlap(&r->want, want))
			return false;
	}
	return true;
}

/* ---- unexpected messages */

void tag_match_add_msg(struct tag_match *m, struct tag_msg *msg)
{
	uint32_t i;

	fw_list_add_tail(&m->arrived, &msg->node);
	m->num_arrived++;
	for (i = 0; i < TAG_INDEXES; i++) {
		struct tag_class *cls = &m->indexes[i];

		if (cls->in_use && !cls->built && cls->msg == msg->key.msg)
			tag_class_add(m->table, cls, &msg->hook[i]);
	}
}

void tag_match_remove_msg(struct tag_match *m, struct tag_msg *msg)
{
	uint32_t i;

	if (m->search == &msg->node)
		m->search = msg->node.prev;
	for (i = 0; i < TAG_INDEXES; i++) {
		if (m->indexes[i].built == &msg->node)
			m->indexes[i].built = msg->node.prev;
		if (msg->hook[i].cls)
			tag_class_del(&msg->hook[i]);
	}
	fw_list_del(&msg->node);
	m->num_arrived--;
}

/* The index for this shape; without messages, one of another shape gives way. NULL: none. */
static struct tag_class *index_for(struct tag_match *m, const struct tag_want *want)
{
	struct tag_class *cls = tag_class_find(m->indexes, TAG_INDEXES, want);
	uint32_t i;

	if (cls)
		return cls;
	for (i = 0; i < TAG_INDEXES; i++)
		if (!cls || (cls->in_use &&
			     (!m->indexes[i].in_use || m->indexes[i].last_used < cls->last_used)))
			cls = &m->indexes[i];
	if (cls->in_use && m->num_arrived > 0)
		return NULL;
	tag_class_set(cls, want);
	cls->built = m->num_arrived > 0 ? &m->arrived : NULL;
	return cls;
}

/* Adds the next message to an index, which has all from the last one on. */
static void index_step(struct tag_match *m, struct tag_class *cls)
{
	struct tag_msg *msg = FW_CONTAINER(cls->built->next, struct tag_msg, node);

	if (msg->key.msg == cls->msg)
		tag_class_add(m->table, cls, &msg->hook[cls->slot]);
	cls->built = &msg->node;
}

/*
 * Looks in an index, and builds it as far as that needs. It is built in the order of arrival, so
 * the first that it has is the first of all.
 */
static enum tag_found find_in_index(struct tag_match *m, struct tag_class *cls,
				    const struct tag_want *want, uint32_t *units,
				    struct tag_msg **found)
{
	struct tag_hook *hook = tag_class_first(m->table, cls, &want->key);

	while (!hook && cls->built) {
		if (cls->built->next == &m->arrived) {
			cls->built = NULL;
			break;
		}
		if (*units == 0)
			return TAG_MORE;
		(*units)--;
		index_step(m, cls);
		if (tag_want_takes(want, &FW_CONTAINER(cls->built, struct tag_msg, node)->key))
			hook = &FW_CONTAINER(cls->built, struct tag_msg, node)->hook[cls->slot];
	}
	if (!hook)
		return TAG_NONE;
	*found = tag_hook_msg(hook);
	return TAG_FOUND;
}

enum tag_found tag_match_find_msg(struct tag_match *m, const struct tag_want *want, uint32_t *units,
				  struct tag_msg **found)
{
	struct tag_class *cls = m->search ? NULL : index_for(m, want);

	*found = NULL;
	if (cls) {
		cls->last_used = ++m->looks;
		return find_in_index(m, cls, want, units, found);
	}
	if (!m->search)
		m->search = &m->arrived;
	while (m->search->next != &m->arrived) {
		struct tag_msg *msg = FW_CONTAINER(m->search->next, struct tag_msg, node);

		if (*units == 0)
			return TAG_MORE;
		(*units)--;
		if (tag_want_takes(want, &msg->key)) {
			m->search = NULL;
			*found = msg;
			return TAG_FOUND;
		}
		m->search = &msg->node;
	}
	m->search = NULL;
	return TAG_NONE;
}

void tag_match_search_end(struct tag_match *m)
{
	m->search = NULL;
}

struct tag_msg *tag_match_first_msg(struct tag_match *m)
{
	if (fw_list_empty(&m->arrived))
		return NULL;
	return FW_CONTAINER(m->arrived.next, struct tag_msg, node);
}
