/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations and types of MPI as those of libgoal. Calls mc_user.c for those of the program's own.
 *
 * All ranks of a reduction give the same operation and the same basic type, so all decide alike.
 */
#include "host_driver/ompi/cw.h"

#include <ompi/datatype/ompi_datatype_internal.h>
#include <opal/datatype/opal_datatype_internal.h>

/* Returns the operation; GOAL_COPY: libgoal has none for elements of that type. */
static GOAL_Op op_of(const ompi_op_t *op, GOAL_DataType type)
{
	bool integers = type == GOAL_SINT || type == GOAL_UINT;
	bool pairs = type == GOAL_SINT_PAIR || type == GOAL_FLOAT_PAIR;
	bool numbers = integers || type == GOAL_FLOAT;

	switch (op->op_type) {
	case OMPI_OP_MAX:
		return numbers ? GOAL_MAX : GOAL_COPY;
	case OMPI_OP_MIN:
		return numbers ? GOAL_MIN : GOAL_COPY;
	case OMPI_OP_SUM:
		return pairs ? GOAL_COPY : GOAL_ADD;
	case OMPI_OP_PROD:
		return pairs ? GOAL_COPY : GOAL_MUL;
	case OMPI_OP_BAND:
		return integers ? GOAL_AND : GOAL_COPY;
	case OMPI_OP_BOR:
		return integers ? GOAL_OR : GOAL_COPY;
	case OMPI_OP_BXOR:
		return integers ? GOAL_XOR : GOAL_COPY;
	case OMPI_OP_LAND:
		return integers ? GOAL_LAND : GOAL_COPY;
	case OMPI_OP_LOR:
		return integers ? GOAL_LOR : GOAL_COPY;
	case OMPI_OP_LXOR:
		return integers ? GOAL_LXOR : GOAL_COPY;
	case OMPI_OP_MAXLOC:
		return pairs ? GOAL_MAX : GOAL_COPY;
	case OMPI_OP_MINLOC:
		return pairs ? GOAL_MIN : GOAL_COPY;
	case OMPI_OP_NULL:
	case OMPI_OP_REPLACE:
	case OMPI_OP_NUM_OF_TYPES:
		break;
	}
	return GOAL_COPY;
}

/* Pairs of two Fortran reals have an index that is no integer: libgoal has no such type. */
static bool set_pair(struct cw_call *call, const ompi_datatype_t *type)
{
	call->mc.goal.width = 64;
	call->mc.goal.type = GOAL_SINT_PAIR;
	switch (type->id) {
	case OMPI_DATATYPE_MPI_2INT:
		return true;
	case OMPI_DATATYPE_MPI_2INTEGER:
		return type->super.size == 2 * sizeof(int32_t);
	case OMPI_DATATYPE_MPI_FLOAT_INT:
		call->mc.goal.type = GOAL_FLOAT_PAIR;
		return true;
	case OMPI_DATATYPE_MPI_SHORT_INT:
		call->pair = CW_PAIR_SHORT_INT;
		return true;
	case OMPI_DATATYPE_MPI_LONG_INT:
		call->pair = CW_PAIR_LONG_INT;
		call->mc.goal.width = 128;
		return true;
	case OMPI_DATATYPE_MPI_DOUBLE_INT:
		call->pair = CW_PAIR_DOUBLE_INT;
		call->mc.goal.type = GOAL_FLOAT_PAIR;
		call->mc.goal.width = 128;
		return true;
	default:
		return false;
	}
}

/* Sets type and width; false: libgoal has no such type. */
static bool set_type(GOAL_CollectiveCall *goal, const ompi_datatype_t *type)
{
	switch (type->super.id) {
	case OPAL_DATATYPE_INT1:
	case OPAL_DATATYPE_INT2:
	case OPAL_DATATYPE_INT4:
	case OPAL_DATATYPE_INT8:
	case OPAL_DATATYPE_LONG:
		goal->type = GOAL_SINT;
		break;
	case OPAL_DATATYPE_UINT1:
	case OPAL_DATATYPE_UINT2:
	case OPAL_DATATYPE_UINT4:
	case OPAL_DATATYPE_UINT8:
	case OPAL_DATATYPE_UNSIGNED_LONG:
	case OPAL_DATATYPE_BOOL:
		goal->type = GOAL_UINT;
		break;
	case OPAL_DATATYPE_FLOAT4:
	case OPAL_DATATYPE_FLOAT8:
		goal->type = GOAL_FLOAT;
		break;
	case OPAL_DATATYPE_FLOAT_COMPLEX:
	case OPAL_DATATYPE_DOUBLE_COMPLEX:
		goal->type = GOAL_COMPLEX;
		break;
	default:
		return false;
	}
	goal->width = (int)type->super.size * 8;
	return true;
}

void cw_op_set(struct cw_call *call, const struct cw_module *m, const ompi_op_t *op,
	       const ompi_datatype_t *type)
{
	if (!(op->o_flags & OMPI_OP_FLAGS_INTRINSIC)) {
		mc_user_set(&call->mc, m->mc, op->o_flags & OMPI_OP_FLAGS_COMMUTE,
			    cw_type_bytes(type, 1));
		return;
	}
	if (!ompi_datatype_is_predefined(type) ||
	    (!set_pair(call, type) && !set_type(&call->mc.goal, type))) {
		call->mc.reason = MC_REASON_TYPE;
		return;
	}
	call->mc.goal.op = op_of(op, call->mc.goal.type);
	if (call->mc.goal.op == GOAL_COPY)
		call->mc.reason = MC_REASON_OP;
}
