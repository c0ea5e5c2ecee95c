/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Classes of receives of one shape, and their chains in the keyed table.
 *
 * Any number of equal keys costs one step (base/multi.h), and unequal keys share a chain by chance
 * alone: places come from a hash with a secret (base/hash.h).
 */
#include <assert.h>
#include <stddef.h>

#include "nic_fw/tag/tag_match.h"

enum {
	NUMBERS_IN_LINE = 8, /* a power of two */
};

/* The bits that a receive does not compare. */
static uint64_t ignored_bits(const struct tag_want *want)
{
	return want->key.msg ? UINT64_MAX : want->ignore;
}

bool tag_want_takes(const struct tag_want *want, const struct tag_key *key)
{
	if (want->key.msg != key->msg || ((want->key.tag ^ key->tag) & ~ignored_bits(want)) != 0)
		return false;
	return want->any_src ||
	       (want->key.src_ip == key->src_ip && want->key.src_qpn == key->src_qpn);
}

bool tag_wants_overlap(const struct tag_want *a, const struct tag_want *b)
{
	uint64_t compared = ~ignored_bits(a) & ~ignored_bits(b);

	if (a->key.msg != b->key.msg || ((a->key.tag ^ b->key.tag) & compared) != 0)
		return false;
	return a->any_src || b->any_src ||
	       (a->key.src_ip == b->key.src_ip && a->key.src_qpn == b->key.src_qpn);
}

void tag_class_set(struct tag_class *cls, const struct tag_want *want)
{
	assert(cls->count == 0);
	cls->ignore = ignored_bits(want);
	cls->any_src = want->any_src;
	cls->msg = want->key.msg;
	cls->in_use = true;
}

struct tag_class *tag_class_find(struct tag_class *classes, uint32_t num,
				 const struct tag_want *want)
{
	uint64_t ignore = ignored_bits(want);
	uint32_t i;

	for (i = 0; i < num; i++) {
		struct tag_class *cls = &classes[i];

		if (cls->in_use && cls->ignore == ignore && cls->any_src == want->any_src &&
		    cls->msg == want->key.msg)
			return cls;
	}
	return NULL;
}

struct tag_recv *tag_hook_recv(struct tag_hook *hook)
{
	if (hook->cls->kind == TAG_CLASS_NUMBER)
		return FW_CONTAINER(hook, struct tag_recv, number_hook);
	assert(hook->cls->kind == TAG_CLASS_POSTED);
	return FW_CONTAINER(hook, struct tag_recv, hook);
}

struct tag_msg *tag_hook_msg(struct tag_hook *hook)
{
	assert(hook->cls->kind == TAG_CLASS_INDEX);
	return FW_CONTAINER(hook - hook->cls->slot, struct tag_msg, hook);
}

/* True if the node's key is equal to this one in what its class compares. */
static bool hook_has(struct tag_hook *hook, const struct tag_key *key)
{
	const struct tag_class *cls = hook->cls;
	const struct tag_key *own;

	if (cls->kind == TAG_CLASS_NUMBER)
		return tag_hook_recv(hook)->number == key->tag;
	own = cls->kind == TAG_CLASS_POSTED ? &tag_hook_recv(hook)->want.key
					    : &tag_hook_msg(hook)->key;
	return ((own->tag ^ key->tag) & ~cls->ignore) == 0 &&
	       (cls->any_src || (own->src_ip == key->src_ip && own->src_qpn == key->src_qpn));
}

/* Numbers follow each other: a group of eight has buckets of one cache line. */
static struct fw_multi **bucket_of(struct tag_table *table, const struct tag_class *cls,
				   const struct tag_key *key)
{
	uint32_t ip = cls->any_src ? 0 : key->src_ip, qpn = cls->any_src ? 0 : key->src_qpn;
	uint64_t tag = key->tag & ~cls->ignore;
	uint32_t within = 0;

	if (cls->kind == TAG_CLASS_NUMBER) {
		within = (uint32_t)tag & (NUMBERS_IN_LINE - 1);
		tag -= within;
	}
	return &table->bucket[(fw_hash_keyed5(&table->key, (uint32_t)tag, (uint32_t)(tag >> 32), ip,
					      qpn, cls->salt) ^
			       within) &
			      (table->buckets - 1)];
}

static struct tag_hook *find_in(struct fw_multi *chain, const struct tag_class *cls,
				const struct tag_key *key)
{
	struct fw_multi *at;

	fw_multi_for_each(at, chain)
	{
		struct tag_hook *hook = FW_CONTAINER(at, struct tag_hook, at);

		if (hook->cls == cls && hook_has(hook, key))
			return hook;
	}
	return NULL;
}

struct tag_hook *tag_class_first(struct tag_table *table, struct tag_class *cls,
				 const struct tag_key *key)
{
	if (cls->count == 0)
		return NULL;
	return find_in(*bucket_of(table, cls, key), cls, key);
}

void tag_class_add(struct tag_table *table, struct tag_class *cls, struct tag_hook *hook)
{
	struct tag_key key = {0};
	struct fw_multi **bucket;
	struct tag_hook *first;

	assert(!hook->cls);
	hook->cls = cls;
	if (cls->kind == TAG_CLASS_NUMBER)
		key.tag = tag_hook_recv(hook)->number;
	else
		key = cls->kind == TAG_CLASS_POSTED ? tag_hook_recv(hook)->want.key
						    : tag_hook_msg(hook)->key;
	bucket = bucket_of(table, cls, &key);
	first = cls->count > 0 ? find_in(*bucket, cls, &key) : NULL;
	fw_multi_add(bucket, first ? &first->at : NULL, &hook->at);
	cls->count++;
}

void tag_class_del(struct tag_hook *hook)
{
	struct tag_class *cls = hook->cls;

	assert(cls && cls->count > 0);
	fw_multi_del(&hook->at);
	hook->cls = NULL;
	cls->count--;
}
