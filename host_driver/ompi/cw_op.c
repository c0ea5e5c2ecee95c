/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Predefined operations and types of MPI as those of libgoal.
 *
 * All ranks of a reduction give the same operation and the same basic type, so all decide alike.
 */
#include "host_driver/ompi/cw.h"

#include <opal/datatype/opal_datatype_internal.h>

/* Returns the operation; GOAL_COPY: libgoal has none. */
static GOAL_Op op_of(const ompi_op_t *op, bool floats)
{
	switch (op->op_type) {
	case OMPI_OP_MAX:
		return GOAL_MAX;
	case OMPI_OP_MIN:
		return GOAL_MIN;
	case OMPI_OP_SUM:
		return GOAL_ADD;
	case OMPI_OP_PROD:
		return GOAL_MUL;
	case OMPI_OP_BAND:
		return floats ? GOAL_COPY : GOAL_AND;
	case OMPI_OP_BOR:
		return floats ? GOAL_COPY : GOAL_OR;
	case OMPI_OP_BXOR:
		return floats ? GOAL_COPY : GOAL_XOR;
	case OMPI_OP_NULL:
	case OMPI_OP_LAND:
	case OMPI_OP_LOR:
	case OMPI_OP_LXOR:
	case OMPI_OP_MAXLOC:
	case OMPI_OP_MINLOC:
	case OMPI_OP_REPLACE:
	case OMPI_OP_NUM_OF_TYPES:
		break;
	}
	return GOAL_COPY;
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
		goal->type = GOAL_UINT;
		break;
	case OPAL_DATATYPE_FLOAT4:
	case OPAL_DATATYPE_FLOAT8:
		goal->type = GOAL_FLOAT;
		break;
	default:
		return false;
	}
	goal->width = (int)type->super.size * 8;
	return true;
}

void cw_op_set(struct cw_call *call, const ompi_op_t *op, const ompi_datatype_t *type)
{
	if (!ompi_datatype_is_predefined(type) || !set_type(&call->goal, type)) {
		call->reason = CW_REASON_TYPE;
		return;
	}
	call->goal.op = op->o_flags & OMPI_OP_FLAGS_INTRINSIC
			    ? op_of(op, call->goal.type == GOAL_FLOAT)
			    : GOAL_COPY;
	if (call->goal.op == GOAL_COPY)
		call->reason = CW_REASON_OP;
}
