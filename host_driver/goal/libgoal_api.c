/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Graphs of goal.h, and error texts.
 *
 * Calls goal_graph.c. The ESPGOAL paper, 2.2.2 to 2.2.5.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host_driver/goal/libgoal.h"

/* ---- errors --------------------------------------------------------------------------------- */

static __thread int last_error;
static __thread char last_detail[LIBGOAL_DETAIL];

int libgoal_error(int error, const char *detail)
{
	last_error = error;
	snprintf(last_detail, sizeof(last_detail), "%s", detail ? detail : "");
	return error;
}

int libgoal_errno(int rc)
{
	switch (-rc) {
	case 0:
		return GOAL_SUCCESS;
	case ENOMEM:
		return GOAL_ERR_NO_MEMORY;
	case ENOSPC:
	case EDQUOT:
		return GOAL_ERR_RESOURCES;
	case EOVERFLOW:
		return GOAL_ERR_LIMIT;
	case EIO:
		return libgoal_is_forked() ? GOAL_ERR_STATE : GOAL_ERR_NIC_GONE;
	case EBUSY:
		return GOAL_ERR_STATE;
	case EAGAIN:
		return GOAL_ERR_BUSY;
	case EFAULT:
		return GOAL_ERR_MEMORY;
	case ENODEV:
	case ECONNREFUSED:
	case ENOENT:
	case EACCES:
		return GOAL_ERR_NO_DEVICE;
	default:
		return GOAL_ERR_ARG;
	}
}

int GOAL_LastError(void)
{
	return last_error;
}

const char *GOAL_LastErrorDetail(void)
{
	return last_detail;
}

const char *GOAL_StrError(int error)
{
	switch (error) {
	case GOAL_SUCCESS:
		return "success";
	case GOAL_ERR_CANCELED:
		return "the run was cancelled";
	case GOAL_ERR_TIMEOUT:
		return "the run exceeded its time limit";
	case GOAL_ERR_TRUNCATED:
		return "a message was longer than its receive";
	case GOAL_ERR_MEMORY:
		return "a buffer is unmapped or deregistered";
	case GOAL_ERR_DIVIDE:
		return "integer division by zero, or of the minimum by -1";
	case GOAL_ERR_UNEXPECTED:
		return "more messages arrived before their receives than the pool holds, and they "
		       "wait for each other in a circle (WEFT_GOAL_POOL sets its bytes)";
	case GOAL_ERR_PEER_LOST:
		return "a rank has ended, or its NIC does not respond";
	case GOAL_ERR_UNREACHABLE:
		return "a rank's NIC was never reached";
	case GOAL_ERR_RESOURCES:
		return "the NIC has no memory left for this process";
	case GOAL_ERR_BAD_SCHEDULE:
		return "the NIC has not loaded this schedule";
	case GOAL_ERR_USER_OP:
		return "a user's operation was refused, differs between ranks, or reported a "
		       "failure";
	case GOAL_ERR_ARG:
		return "an argument is not allowed";
	case GOAL_ERR_STATE:
		return "not in this state: not initialised, initialised already, in use, or in a "
		       "child of fork";
	case GOAL_ERR_NO_MEMORY:
		return "out of memory";
	case GOAL_ERR_NO_DEVICE:
		return "no weft NIC can be opened: is weftd running, and WEFT_DEVICE right?";
	case GOAL_ERR_NIC_GONE:
		return "the NIC is gone: weftd has ended";
	case GOAL_ERR_CYCLE:
		return "operations wait for each other in a circle";
	case GOAL_ERR_LAUNCH:
		return "the ranks did not find each other: start the program with mpirun or srun, "
		       "or set WEFT_PEERS and WEFT_KEY";
	case GOAL_ERR_FILE:
		return "this file is not a compiled schedule, or is damaged";
	case GOAL_ERR_SCRATCHPAD:
		return "an offset lies outside the scratchpad";
	case GOAL_ERR_BUSY:
		return "too many runs are in flight";
	case GOAL_ERR_LIMIT:
		return "larger than the NIC allows";
	default:
		return "unknown error";
	}
}

/* ---- graphs --------------------------------------------------------------------------------- */

GOAL_Graph GOAL_CreateGraphOn(GOAL_Comm comm)
{
	GOAL_Graph g;

	if (!comm) {
		libgoal_error(GOAL_ERR_STATE, NULL);
		return NULL;
	}
	g = calloc(1, sizeof(*g));
	if (g) {
		g->comm = comm;
		g->graph = goal_graph_new(comm->rank, comm->size);
		if (g->graph) {
			g->graph->user_ops = &comm->user_ops;
			g->graph->near = comm->near;
		}
	}
	if (!g || !g->graph) {
		free(g);
		libgoal_error(GOAL_ERR_NO_MEMORY, NULL);
		return NULL;
	}
	return g;
}

GOAL_Graph GOAL_CreateGraph(void)
{
	return GOAL_CreateGraphOn(GOAL_CommWorld());
}

int GOAL_FreeGraph(GOAL_Graph g)
{
	if (!g)
		return libgoal_error(GOAL_ERR_ARG, "no graph");
	goal_graph_free(g->graph);
	free(g);
	return GOAL_SUCCESS;
}

int GOAL_AllocateScratchpad(GOAL_Graph g, size_t bytes)
{
	if (!g || bytes > GOAL_MAX_SCRATCH_BYTES)
		return libgoal_error(GOAL_ERR_ARG, "no graph, or more scratchpad than 256 MiB");
	g->graph->scratch_bytes = bytes;
	return GOAL_SUCCESS;
}

static GOAL_Vertex vertex(int64_t rc, const char *what)
{
	if (rc >= 0)
		return (GOAL_Vertex)rc;
	libgoal_error(libgoal_errno((int)rc), what);
	return GOAL_INVALID_VERTEX;
}

/*
 * Converts a list of pieces as ESPGOAL passes it. Returns NULL for exhausted memory or a negative
 * length.
 */
static struct goal_mem *pieces(void *const *offsets, const int *lengths, int count,
			       GOAL_MemType mem)
{
	struct goal_mem *mems = malloc(((size_t)(count > 0 ? count : 0) + 1) * sizeof(*mems));
	int i;

	for (i = 0; mems && i < count; i++) {
		if (lengths[i] < 0) {
			free(mems);
			return NULL;
		}
		mems[i] = (struct goal_mem){(uintptr_t)offsets[i], (uint64_t)lengths[i],
					    mem == GOAL_SCRATCHPAD};
	}
	return mems;
}

static const char *name_of(enum goal_insn_kind kind)
{
	static const char *const names[GOAL_INSN_KINDS] = {
	    [GOAL_INSN_SEND] = "GOAL_Send",
	    [GOAL_INSN_RECV] = "GOAL_Recv",
	    [GOAL_INSN_MCAST_SEND] = "GOAL_McastSend",
	    [GOAL_INSN_MCAST_RECV] = "GOAL_McastRecv",
	};

	return names[kind];
}

/* Rejects an invalid message; the detail names the wrong argument and the reason. */
static GOAL_Vertex bad_message(enum goal_insn_kind kind, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static GOAL_Vertex bad_message(enum goal_insn_kind kind, const char *format, ...)
{
	char detail[200];
	int n = snprintf(detail, sizeof(detail), "%s: ", name_of(kind));
	va_list ap;

	va_start(ap, format);
	vsnprintf(detail + n, sizeof(detail) - (size_t)n, format, ap);
	va_end(ap);
	return vertex(-EINVAL, detail);
}

static GOAL_Vertex message(GOAL_Graph g, enum goal_insn_kind kind, const struct goal_mem *mems,
			   int count, int peer, int tag)
{
	bool recv = kind == GOAL_INSN_RECV;
	int64_t rc;

	if (!g)
		return bad_message(kind, "no graph");
	/* -1 means "any", which is the largest number on the NIC's side. */
	if (peer < 0 ? !(recv && peer == GOAL_ANY_SOURCE) : (uint32_t)peer >= g->graph->num_ranks)
		return bad_message(kind, "rank %d is not in the communicator, which has %u ranks",
				   peer, g->graph->num_ranks);
	if (tag < 0 && !(recv && tag == GOAL_ANY_TAG))
		return bad_message(kind, "tag %d is negative", tag);
	if (kind == GOAL_INSN_MCAST_RECV && (uint32_t)peer == g->graph->rank)
		return bad_message(kind, "this rank, %d, is the root itself", peer);
	rc = goal_graph_msg(g->graph, kind, mems, (uint32_t)count, (uint32_t)peer, (uint32_t)tag);
	if (rc == -EINVAL)
		return bad_message(kind, "more than 2^40 bytes, more than 65,535 pieces, or memory "
					 "beyond the end of the address space");
	return vertex(rc, name_of(kind));
}

static bool is_mem(GOAL_MemType mem)
{
	return mem == GOAL_USERSPACE || mem == GOAL_SCRATCHPAD;
}

static GOAL_Vertex single(GOAL_Graph g, enum goal_insn_kind kind, uintptr_t at, int64_t count,
			  int peer, int tag, GOAL_MemType mem)
{
	struct goal_mem piece = {at, (uint64_t)count, mem == GOAL_SCRATCHPAD};

	if (count < 0)
		return bad_message(kind, "a negative length, %" PRId64, count);
	if (!is_mem(mem))
		return bad_message(kind, "%d is no memory type", (int)mem);
	return message(g, kind, &piece, 1, peer, tag);
}

GOAL_Vertex(GOAL_Send)(GOAL_Graph g, const void *buf, int64_t count, int dest, int tag,
		       GOAL_MemType mem)
{
	return single(g, GOAL_INSN_SEND, (uintptr_t)buf, count, dest, tag, mem);
}

GOAL_Vertex(GOAL_Recv)(GOAL_Graph g, void *buf, int64_t count, int source, int tag,
		       GOAL_MemType mem)
{
	return single(g, GOAL_INSN_RECV, (uintptr_t)buf, count, source, tag, mem);
}

GOAL_Vertex(GOAL_McastSend)(GOAL_Graph g, const void *buf, int64_t count, int tag, GOAL_MemType mem)
{
	int self = g ? (int)g->graph->rank : 0;

	return single(g, GOAL_INSN_MCAST_SEND, (uintptr_t)buf, count, self, tag, mem);
}

GOAL_Vertex(GOAL_McastRecv)(GOAL_Graph g, void *buf, int64_t count, int root, int tag,
			    GOAL_MemType mem)
{
	return single(g, GOAL_INSN_MCAST_RECV, (uintptr_t)buf, count, root, tag, mem);
}

static GOAL_Vertex vector(GOAL_Graph g, enum goal_insn_kind kind, void *const *offsets,
			  const int *lengths, int count, int peer, int tag, GOAL_MemType mem)
{
	struct goal_mem *mems;
	GOAL_Vertex v;

	if (!is_mem(mem))
		return bad_message(kind, "%d is no memory type", (int)mem);
	mems = pieces(offsets, lengths, count, mem);
	if (!mems || count < 0) {
		free(mems);
		return bad_message(kind, "a negative length, or a negative number of pieces");
	}
	v = message(g, kind, mems, count, peer, tag);
	free(mems);
	return v;
}

GOAL_Vertex(GOAL_SendVec)(GOAL_Graph g, void **offsets, const int *lengths, int num_elements,
			  int dest, int tag, GOAL_MemType mem)
{
	return vector(g, GOAL_INSN_SEND, offsets, lengths, num_elements, dest, tag, mem);
}

GOAL_Vertex(GOAL_RecvVec)(GOAL_Graph g, void **offsets, const int *lengths, int num_elements,
			  int source, int tag, GOAL_MemType mem)
{
	return vector(g, GOAL_INSN_RECV, offsets, lengths, num_elements, source, tag, mem);
}

GOAL_Vertex(GOAL_LocalOp)(GOAL_Graph g, const void *b1, const void *b2, void *bres, GOAL_Op op,
			  GOAL_DataType type, int width, int64_t count, GOAL_MemType b1_mem,
			  GOAL_MemType b2_mem, GOAL_MemType bres_mem)
{
	uint32_t user = g ? goal_user_elem_bytes(g->comm ? &g->comm->user_ops : NULL, (uint32_t)op,
						 (uint32_t)width)
			  : 0;
	uint64_t bytes = op == GOAL_WTIME ? 8
			 : user           ? (uint64_t)count * user
					  : (uint64_t)count * (uint32_t)(width / 8);
	struct goal_mem a = {(uintptr_t)b1, bytes, b1_mem == GOAL_SCRATCHPAD};
	struct goal_mem b = {(uintptr_t)b2, bytes, b2_mem == GOAL_SCRATCHPAD};
	struct goal_mem r = {(uintptr_t)bres, bytes, bres_mem == GOAL_SCRATCHPAD};
	const struct goal_mem *mems[3] = {&a, &b, &r};
	const uint32_t nums[3] = {1, 1, 1};

	if (!is_mem(b1_mem) || !is_mem(b2_mem) || !is_mem(bres_mem))
		return vertex(-EINVAL, "GOAL_LocalOp: no such memory type");
	/* Bounds the operands so that the product below cannot overflow. */
	if (!g || count < 0 || count > INT64_MAX / 64 || width < 0 ||
	    width > 8 * GOAL_OP_MAX_ELEM_BYTES)
		return vertex(-EINVAL,
			      "GOAL_LocalOp: no graph, or a width or number that cannot be");
	return vertex(goal_graph_local(g->graph, (uint32_t)op, (enum goal_type)type,
				       (uint32_t)width, (uint64_t)count, mems, nums),
		      "GOAL_LocalOp: no such operation on elements of this type and width");
}

GOAL_Vertex(GOAL_LocalOpVec)(GOAL_Graph g, void **buf1, const int *lengths1, int num1, void **buf2,
			     const int *lengths2, int num2, void **buf3, const int *lengths3,
			     int num3, char datatype, char width, char op, GOAL_MemType b1_mem,
			     GOAL_MemType b2_mem, GOAL_MemType b3_mem)
{
	struct goal_mem *a = pieces(buf1, lengths1, num1, b1_mem);
	struct goal_mem *b = pieces(buf2, lengths2, num2, b2_mem);
	struct goal_mem *r = pieces(buf3, lengths3, num3, b3_mem);
	const struct goal_mem *mems[3] = {a, b, r};
	const uint32_t nums[3] = {(uint32_t)num1, (uint32_t)num2, (uint32_t)num3};
	const uint32_t bits = (uint8_t)width; /* 128 is a negative char on some machines */
	uint32_t elem_bytes = bits / 8;
	uint64_t bytes = 0;
	int64_t rc = -EINVAL;
	int i;

	if (g && op >= (char)GOAL_USER_FIRST)
		elem_bytes = goal_user_elem_bytes(&g->comm->user_ops, (uint32_t)op, bits);
	for (i = 0; r && i < num3; i++)
		bytes += r[i].bytes;
	if (!is_mem(b1_mem) || !is_mem(b2_mem) || !is_mem(b3_mem))
		rc = -EINVAL;
	else if (g && a && b && r && num1 >= 0 && num2 >= 0 && num3 >= 0 && elem_bytes)
		rc = goal_graph_local(g->graph, (uint32_t)op, (enum goal_type)datatype, bits,
				      bytes / elem_bytes, mems, nums);
	free(a);
	free(b);
	free(r);
	return vertex(rc, "GOAL_LocalOpVec: type, width, operation, or lengths that differ");
}

GOAL_Vertex(GOAL_Calc)(GOAL_Graph g, uint64_t ns, int cpu)
{
	return vertex(g && cpu >= 0 ? goal_graph_calc(g->graph, ns, (uint32_t)cpu) : -EINVAL,
		      "GOAL_Calc: no graph, or a cpu beyond 255");
}

static int requires(GOAL_Graph g, GOAL_Vertex prereq, GOAL_Vertex target, bool start)
{
	int rc = -EINVAL;

	if (g && prereq >= 0 && target >= 0)
		rc = goal_graph_requires(g->graph, (uint32_t)prereq, (uint32_t)target, start);
	return rc ? libgoal_error(libgoal_errno(rc), "GOAL_Requires: no such vertex")
		  : GOAL_SUCCESS;
}

int GOAL_Requires(GOAL_Graph g, GOAL_Vertex prereq, GOAL_Vertex target)
{
	return requires(g, prereq, target, false);
}

int GOAL_RequiresStart(GOAL_Graph g, GOAL_Vertex prereq, GOAL_Vertex target)
{
	return requires(g, prereq, target, true);
}

int GOAL_IsExtensionAvailable(GOAL_ExtensionId ext)
{
	return ext >= GOAL_EXT_COMMUNICATORS && ext <= GOAL_EXT_USER_OPS;
}
