/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sequential matcher: two lists, searched from their beginnings. It receives the order of
 * arrival, and returns which receive takes which message. MPI 4.1, section 3.5.
 */
#include "sim_harness/sim_tag_model.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
	REF_MAX = 1024, /* receives, and messages, that wait */
};

struct sim_tag_ref {
	struct sim_tag_op *posted[REF_MAX];
	uint32_t num_posted;
	struct sim_tag_msg *arrived[REF_MAX];
	uint32_t num_arrived;
};

struct sim_tag_ref *sim_tag_ref_new(void)
{
	struct sim_tag_ref *ref = calloc(1, sizeof(*ref));

	assert(ref);
	return ref;
}

void sim_tag_ref_free(struct sim_tag_ref *ref)
{
	free(ref);
}

static void remove_op(struct sim_tag_ref *ref, uint32_t i)
{
	ref->num_posted--;
	memmove(&ref->posted[i], &ref->posted[i + 1],
		(ref->num_posted - i) * sizeof(ref->posted[0]));
}

struct sim_tag_op *sim_tag_ref_arrive(struct sim_tag_ref *ref, struct sim_tag_msg *msg)
{
	struct sim_tag_op *op;
	uint32_t i;

	for (i = 0; i < ref->num_posted; i++) {
		op = ref->posted[i];
		if (sim_tag_op_takes(op, msg)) {
			remove_op(ref, i);
			return op;
		}
	}
	assert(ref->num_arrived < REF_MAX);
	ref->arrived[ref->num_arrived++] = msg;
	return NULL;
}

static uint32_t find(const struct sim_tag_ref *ref, const struct sim_tag_op *op)
{
	uint32_t i = 0;

	while (i < ref->num_arrived && !sim_tag_op_takes(op, ref->arrived[i]))
		i++;
	return i;
}

struct sim_tag_msg *sim_tag_ref_post(struct sim_tag_ref *ref, struct sim_tag_op *op)
{
	uint32_t i = find(ref, op);
	struct sim_tag_msg *msg;

	if (i == ref->num_arrived) {
		assert(ref->num_posted < REF_MAX);
		ref->posted[ref->num_posted++] = op;
		return NULL;
	}
	msg = ref->arrived[i];
	ref->num_arrived--;
	memmove(&ref->arrived[i], &ref->arrived[i + 1],
		(ref->num_arrived - i) * sizeof(ref->arrived[0]));
	return msg;
}

struct sim_tag_msg *sim_tag_ref_peek(const struct sim_tag_ref *ref, const struct sim_tag_op *op)
{
	uint32_t i = find(ref, op);

	return i < ref->num_arrived ? ref->arrived[i] : NULL;
}

bool sim_tag_ref_cancel(struct sim_tag_ref *ref, const struct sim_tag_op *op)
{
	uint32_t i;

	for (i = 0; i < ref->num_posted; i++) {
		if (ref->posted[i] == op) {
			remove_op(ref, i);
			return true;
		}
	}
	return false;
}
