/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Matching of tagged messages: posted receives and unexpected messages of one endpoint.
 *
 * A message takes the first posted receive that fits, a receive takes the first arrived message
 * that fits. Receives of one shape (ignore mask, any source or one, space) form a class. All
 * classes share a hash table whose places depend on a secret, so no peer and no process chooses
 * the length of a chain; equal keys stand behind one place of a chain, in their order. Up to
 * TAG_CLASSES classes of posted receives are found by a lookup each; receives beyond are searched
 * one by one, at most TAG_LINEAR_MAX. Unexpected messages stand in the order of their arrival and
 * in an index of each of the first TAG_INDEXES shapes that looked for one.
 *
 * Nothing here allocates, calls the port, or knows queue pairs. Nodes are parts of the caller's
 * objects and stay his; the table may serve many endpoints. docs/tagged.md, section Matching.
 *
 * tag_match.c	posted receives, unexpected messages
 * tag_class.c	classes, chains of the table
 */
#ifndef WEFT_FW_TAG_MATCH_H
#define WEFT_FW_TAG_MATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/base/hash.h"
#include "nic_fw/base/list.h"
#include "nic_fw/base/multi.h"

enum {
	TAG_CLASSES = 16,     /* shapes of posted receives that are found by a lookup */
	TAG_LINEAR_MAX = 256, /* posted receives of other shapes */
	TAG_INDEXES = 4,      /* shapes by which unexpected messages are found by a lookup */
};

/* The envelope by which a message is matched. */
struct tag_key {
	uint32_t src_ip; /* network byte order */
	uint32_t src_qpn;
	uint64_t tag;
	bool msg; /* untagged: the tag is not compared */
};

/* The messages that a receive or a peek accepts. */
struct tag_want {
	struct tag_key key; /* the source counts unless any_src */
	uint64_t ignore;    /* bits of the tag that are not compared */
	bool any_src;
};

/* A place in a chain of the table. */
struct tag_hook {
	struct tag_class *cls; /* NULL: in no class */
	struct fw_multi at;
};

/* A posted receive. The caller sets want and number, and zeroes the rest before the first post. */
struct tag_recv {
	struct tag_want want;
	uint64_t serial;           /* order of posting */
	uint32_t number;           /* its place in the queue: tag_match_find_number() */
	uint32_t same_unannounced; /* first of its key: receives of this key without announcement */
	bool announced;
	bool linear;         /* in tag_match.linear */
	struct fw_list node; /* tag_match.posted */
	struct tag_hook hook;
	struct tag_hook number_hook;
};

/* An unexpected message. The caller sets key, and zeroes the rest before the first add. */
struct tag_msg {
	struct tag_key key;
	struct fw_list node; /* tag_match.arrived */
	struct tag_hook hook[TAG_INDEXES];
};

enum tag_class_kind {
	TAG_CLASS_POSTED,
	TAG_CLASS_INDEX,
	TAG_CLASS_NUMBER, /* posted receives by their number */
};

/* Receives of one shape, or the index of unexpected messages for them. */
struct tag_class {
	uint64_t ignore;
	uint64_t last_used;   /* INDEX: tag_match.looks at the last search */
	uint32_t count;       /* hooks in it */
	uint32_t unannounced; /* POSTED */
	uint32_t salt;        /* keeps classes and endpoints apart in the table */
	uint8_t kind;         /* enum tag_class_kind */
	uint8_t slot;         /* INDEX: tag_msg.hook[] */
	bool in_use;
	bool any_src;
	bool msg;
	/*
	 * INDEX: it has the messages up to this one, tag_match.arrived itself for none; NULL: it
	 * has all.
	 */
	struct fw_list *built;
};

/* Places of many endpoints' nodes. All zero is empty. */
struct tag_table {
	struct fw_multi **bucket;
	uint32_t buckets; /* power of two */
	struct fw_hash_key key;
};

/* Matching of one endpoint. */
struct tag_match {
	struct tag_table *table;
	uint64_t next_serial;
	uint64_t looks; /* searches for a message */
	uint32_t num_posted;
	uint32_t num_linear;
	uint32_t num_arrived;
	uint32_t used;          /* bit for each class of posted that has receives */
	struct fw_list posted;  /* tag_recv.node, in the order of posting */
	struct fw_list linear;  /* tag_recv.hook.at.same, in the order of posting */
	struct fw_list arrived; /* tag_msg.node, in the order of arrival */
	/*
	 * The last message that a search of the arrivals one by one has looked at, arrived itself
	 * for none; NULL: no search is under way.
	 */
	struct fw_list *search;
	struct tag_class classes[TAG_CLASSES];
	struct tag_class indexes[TAG_INDEXES];
	struct tag_class numbers;
};

enum tag_found {
	TAG_FOUND,
	TAG_NONE,
	TAG_MORE, /* the units are used up: call again with the same want */
};

/* buckets is a power of two; bucket points at that many NULLs. secret is random. */
void tag_table_init(struct tag_table *table, struct fw_multi **bucket, uint32_t buckets,
		    const uint64_t secret[2]);

/* owner: a number that no other matcher of the table has, less than 2^24 (a QPN's index). */
void tag_match_init(struct tag_match *m, struct tag_table *table, uint32_t owner);

/* ---- posted receives */

/* True if want has a place: tag_match_post() will succeed. */
bool tag_match_has_room(struct tag_match *m, const struct tag_want *want);
/*
 * Posts a receive behind all others. Call tag_match_find_msg() before, until it finds nothing.
 * Returns false when no class is free and TAG_LINEAR_MAX receives stand outside of classes.
 */
bool tag_match_post(struct tag_match *m, struct tag_recv *r);
/* Withdraws a posted receive: matched, cancelled or flushed. */
void tag_match_unpost(struct tag_match *m, struct tag_recv *r);
/* Finds the first posted receive that takes such a message; NULL. It stays posted. */
struct tag_recv *tag_match_find_recv(struct tag_match *m, const struct tag_key *key);
/* Finds the posted receive of this number; NULL. Of several, the first. */
struct tag_recv *tag_match_find_number(struct tag_match *m, uint32_t number);
/* First posted receive; NULL. */
struct tag_recv *tag_match_first_recv(struct tag_match *m);

/*
 * True if each posted receive that could take a message meant for want was announced: then want,
 * which is posted next and names its source, may be announced. May return false without need where
 * the masks of two shapes overlap only in part.
 */
bool tag_match_may_announce(struct tag_match *m, const struct tag_want *want);
/* Marks a posted receive as announced, or no longer. */
void tag_match_set_announced(struct tag_match *m, struct tag_recv *r, bool announced);

/* ---- unexpected messages */

/* Adds a message that no posted receive took, behind all others. */
void tag_match_add_msg(struct tag_match *m, struct tag_msg *msg);
/* Removes an unexpected message: received, claimed, discarded or flushed. */
void tag_match_remove_msg(struct tag_match *m, struct tag_msg *msg);
/*
 * Looks for the first message that want takes, and leaves it where it is. *units are reduced by the
 * messages that were looked at; at 0 returns TAG_MORE. One search is under way at a time, messages
 * may come and go meanwhile; tag_match_search_end() gives it up.
 */
enum tag_found tag_match_find_msg(struct tag_match *m, const struct tag_want *want, uint32_t *units,
				  struct tag_msg **found);
void tag_match_search_end(struct tag_match *m);
/* First arrived message; NULL. */
struct tag_msg *tag_match_first_msg(struct tag_match *m);

/* ---- tag_class.c */

/* True if want accepts a message of this key. */
bool tag_want_takes(const struct tag_want *want, const struct tag_key *key);
/* True if a message exists that both accept. */
bool tag_wants_overlap(const struct tag_want *a, const struct tag_want *b);

/* Gives a class the shape of want. It has no nodes. */
void tag_class_set(struct tag_class *cls, const struct tag_want *want);
/* The class of this shape among num; NULL. */
struct tag_class *tag_class_find(struct tag_class *classes, uint32_t num,
				 const struct tag_want *want);
/* The first of the nodes of this class whose key is equal in what the class compares; NULL. */
struct tag_hook *tag_class_first(struct tag_table *table, struct tag_class *cls,
				 const struct tag_key *key);
/* Puts a node behind those of equal key. */
void tag_class_add(struct tag_table *table, struct tag_class *cls, struct tag_hook *hook);
/* Takes a node out; the next of equal key becomes the first. */
void tag_class_del(struct tag_hook *hook);

/* The object that contains a node, by the kind of its class. */
struct tag_recv *tag_hook_recv(struct tag_hook *hook);
struct tag_msg *tag_hook_msg(struct tag_hook *hook);

#endif /* WEFT_FW_TAG_MATCH_H */
