/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buffers of MPI types as contiguous memory, and predefined operations and types as libgoal's.
 *
 * The NIC sees bytes. Where a type is not a predefined one without gaps the host packs before the
 * run and unpacks after it. A call must not be handed on for that: another rank may describe the
 * same signature by another type. Calls MPICH's PMPI_ functions.
 */
#include <limits.h>
#include <stdlib.h>

#include "host_driver/mpich/mw.h"

uint64_t mw_type_bytes(struct mw_call *call, int count, MPI_Datatype type)
{
	int bytes;

	if (count < 0 || type == MPI_DATATYPE_NULL || PMPI_Type_size(type, &bytes) ||
	    bytes == MPI_UNDEFINED) {
		call->mc.reason = MC_REASON_ARGUMENT;
		return 0;
	}
	return (uint64_t)bytes * (uint64_t)count;
}

/* True if elements follow each other without gaps, in the order of memory. */
static bool is_dense(MPI_Datatype type)
{
	int integers, addresses, types, combiner, bytes;
	MPI_Aint lb, extent;

	return !PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner) &&
	       combiner == MPI_COMBINER_NAMED && !PMPI_Type_size(type, &bytes) &&
	       !PMPI_Type_get_extent(type, &lb, &extent) && lb == 0 && extent == bytes;
}

/* A type is a number, and none of them 0. */
static struct mc_part part(void *user, int count, MPI_Datatype type)
{
	return (struct mc_part){user, count, (void *)(uintptr_t)(unsigned int)type};
}

static MPI_Datatype type_of(const struct mc_part *part)
{
	return (MPI_Datatype)(unsigned int)(uintptr_t)part->type;
}

void mw_side_set_part(struct mc_side *side, const struct mc_entry *entry)
{
	*side = (struct mc_side){.addr = entry->at, .bytes = entry->bytes};
	if (entry->bytes && !entry->at)
		side->one = entry->part;
}

void mw_entry_set(struct mw_call *call, struct mc_entry *e, const void *buf, int64_t displ,
		  int64_t bytes, int count, MPI_Datatype type)
{
	MPI_Aint lb, extent;

	e->bytes = mw_type_bytes(call, count, type);
	if (call->mc.reason != MC_TAKEN || PMPI_Type_get_extent(type, &lb, &extent))
		return;
	e->part = part((char *)(uintptr_t)buf + displ * (int64_t)extent + bytes, count, type);
	if (e->bytes && is_dense(type))
		e->at = e->part.user;
}

void mw_side_set(struct mw_call *call, struct mc_side *side, const void *buf, int64_t count,
		 MPI_Datatype type)
{
	int bytes;

	if (call->mc.reason != MC_TAKEN)
		return;
	if (count < 0 || type == MPI_DATATYPE_NULL || PMPI_Type_size(type, &bytes)) {
		call->mc.reason = MC_REASON_ARGUMENT;
		return;
	}
	side->bytes = (uint64_t)bytes * (uint64_t)count;
	if (!side->bytes)
		return;
	if (count > INT_MAX || side->bytes > INT_MAX) {
		call->mc.reason = MC_REASON_SIZE;
		return;
	}
	if (is_dense(type)) {
		side->addr = (void *)(uintptr_t)buf;
		if (!buf)
			call->mc.reason = MC_REASON_ARGUMENT;
		return;
	}
	side->one = part((void *)(uintptr_t)buf, (int)count, type);
}

static struct mc_part *parts_of(struct mc_side *side, uint32_t *num)
{
	*num = side->one.type ? 1 : side->num_parts;
	return side->one.type ? &side->one : side->parts;
}

/* Packs the parts, or unpacks them; false: MPICH refuses. */
static bool copy(struct mc_side *side, bool pack)
{
	struct mc_part *parts;
	char *to = side->addr;
	uint32_t num, i;

	parts = parts_of(side, &num);
	for (i = 0; i < num; i++) {
		MPI_Datatype type = type_of(&parts[i]);
		int bytes, at = 0, rc;

		if (PMPI_Type_size(type, &bytes) || (int64_t)bytes * parts[i].count > INT_MAX)
			return false;
		bytes *= parts[i].count;
		if (pack)
			rc = PMPI_Pack(parts[i].user, parts[i].count, type, to, bytes, &at,
				       MPI_COMM_SELF);
		else
			rc = PMPI_Unpack(to, bytes, &at, parts[i].user, parts[i].count, type,
					 MPI_COMM_SELF);
		if (rc != MPI_SUCCESS)
			return false;
		to += bytes;
	}
	return true;
}

/* The program may free its types before the last run is over. False: MPICH refuses. */
static bool keep(struct mc_side *side)
{
	struct mc_part *parts;
	uint32_t num, i;

	parts = parts_of(side, &num);
	for (i = 0; i < num; i++) {
		MPI_Datatype type;

		if (PMPI_Type_dup(type_of(&parts[i]), &type)) {
			side->num_parts = i;
			side->one.type = NULL;
			return false;
		}
		parts[i] = part(parts[i].user, parts[i].count, type);
	}
	return true;
}

/* Makes the packed copy, filled if fill is set. False: no memory. */
static bool begin(struct mc_side *side, bool fill)
{
	uint32_t num;

	(void)parts_of(side, &num);
	/* A list whose messages are all empty. */
	if (!num)
		return true;
	side->addr = malloc(side->bytes);
	return side->addr && (!fill || copy(side, true));
}

/* Spreads the packed copy if wanted, and frees it. */
static void end(struct mc_side *side, bool spread)
{
	uint32_t num;

	(void)parts_of(side, &num);
	if (!num)
		return;
	if (side->addr && spread)
		(void)copy(side, false);
	free(side->addr);
	side->addr = NULL;
}

static void release(struct mc_side *side)
{
	struct mc_part *parts;
	uint32_t num, i;

	parts = parts_of(side, &num);
	for (i = 0; i < num; i++) {
		MPI_Datatype type = type_of(&parts[i]);

		(void)PMPI_Type_free(&type);
	}
	free(side->parts);
	side->parts = NULL;
}

void mw_sides_take(struct mw_sides *sides, const struct mw_call *call)
{
	bool kept;

	*sides = (struct mw_sides){.send = call->send, .recv = call->recv};
	sides->filled = call->mc.goal.in_place || call->mc.coll == MC_BCAST;
	kept = keep(&sides->send);
	sides->kept = keep(&sides->recv) && kept;
}

int mw_sides_begin(struct mw_sides *sides, struct mc_run *run)
{
	bool ok = begin(&sides->send, true);

	ok = begin(&sides->recv, sides->filled) && ok && sides->kept;
	run->send = sides->send.addr;
	run->recv = sides->recv.addr;
	return ok ? GOAL_SUCCESS : GOAL_ERR_NO_MEMORY;
}

void mw_sides_end(struct mw_sides *sides, bool success)
{
	end(&sides->send, false);
	end(&sides->recv, success);
}

void mw_sides_release(struct mw_sides *sides)
{
	release(&sides->send);
	release(&sides->recv);
}

/* ---- operations ----------------------------------------------------------------------------- */

/* Types on which MPI allows arithmetic. Those of Fortran and of C are handles of their own. */
static const struct {
	MPI_Datatype type;
	GOAL_DataType goal;
} types[] = {
    {MPI_INT, GOAL_SINT},         {MPI_DOUBLE, GOAL_FLOAT},
    {MPI_FLOAT, GOAL_FLOAT},      {MPI_LONG, GOAL_SINT},
    {MPI_UNSIGNED, GOAL_UINT},    {MPI_UNSIGNED_LONG, GOAL_UINT},
    {MPI_LONG_LONG, GOAL_SINT},   {MPI_UNSIGNED_LONG_LONG, GOAL_UINT},
    {MPI_SHORT, GOAL_SINT},       {MPI_UNSIGNED_SHORT, GOAL_UINT},
    {MPI_SIGNED_CHAR, GOAL_SINT}, {MPI_UNSIGNED_CHAR, GOAL_UINT},
    {MPI_INT8_T, GOAL_SINT},      {MPI_INT16_T, GOAL_SINT},
    {MPI_INT32_T, GOAL_SINT},     {MPI_INT64_T, GOAL_SINT},
    {MPI_UINT8_T, GOAL_UINT},     {MPI_UINT16_T, GOAL_UINT},
    {MPI_UINT32_T, GOAL_UINT},    {MPI_UINT64_T, GOAL_UINT},
    {MPI_AINT, GOAL_SINT},        {MPI_OFFSET, GOAL_SINT},
    {MPI_COUNT, GOAL_SINT},       {MPI_INTEGER, GOAL_SINT},
    {MPI_REAL, GOAL_FLOAT},       {MPI_DOUBLE_PRECISION, GOAL_FLOAT},
    {MPI_INTEGER1, GOAL_SINT},    {MPI_INTEGER2, GOAL_SINT},
    {MPI_INTEGER4, GOAL_SINT},    {MPI_INTEGER8, GOAL_SINT},
    {MPI_REAL4, GOAL_FLOAT},      {MPI_REAL8, GOAL_FLOAT},
};

static bool set_type(GOAL_CollectiveCall *goal, MPI_Datatype type)
{
	int bytes;

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i].type == type && type != MPI_DATATYPE_NULL) {
			goal->type = types[i].goal;
			goal->width = PMPI_Type_size(type, &bytes) ? 0 : bytes * 8;
			return goal->width == 8 || goal->width == 16 || goal->width == 32 ||
			       goal->width == 64;
		}
	return false;
}

static GOAL_Op op_of(MPI_Op op, bool floats)
{
	switch (op) {
	case MPI_SUM:
		return GOAL_ADD;
	case MPI_PROD:
		return GOAL_MUL;
	case MPI_MAX:
		return GOAL_MAX;
	case MPI_MIN:
		return GOAL_MIN;
	case MPI_BAND:
		return floats ? GOAL_COPY : GOAL_AND;
	case MPI_BOR:
		return floats ? GOAL_COPY : GOAL_OR;
	case MPI_BXOR:
		return floats ? GOAL_COPY : GOAL_XOR;
	default:
		return GOAL_COPY;
	}
}

static bool is_predefined(MPI_Op op)
{
	static const MPI_Op ops[] = {MPI_OP_NULL, MPI_MAX,    MPI_MIN,    MPI_SUM,     MPI_PROD,
				     MPI_LAND,    MPI_BAND,   MPI_LOR,    MPI_BOR,     MPI_LXOR,
				     MPI_BXOR,    MPI_MINLOC, MPI_MAXLOC, MPI_REPLACE, MPI_NO_OP};

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (ops[i] == op)
			return true;
	return false;
}

void mw_op_set(struct mw_call *call, const struct mc_comm *mc, MPI_Op op, MPI_Datatype type)
{
	GOAL_CollectiveCall *goal = &call->mc.goal;
	int commutes, bytes;

	if (!is_predefined(op)) {
		if (type == MPI_DATATYPE_NULL || PMPI_Op_commutative(op, &commutes) ||
		    PMPI_Type_size(type, &bytes))
			call->mc.reason = MC_REASON_ARGUMENT;
		else
			mc_user_set(&call->mc, mc, commutes, (uint64_t)bytes);
		return;
	}
	if (!set_type(goal, type)) {
		call->mc.reason = MC_REASON_TYPE;
		return;
	}
	goal->op = op_of(op, goal->type == GOAL_FLOAT);
	if (goal->op == GOAL_COPY)
		call->mc.reason = MC_REASON_OP;
}
