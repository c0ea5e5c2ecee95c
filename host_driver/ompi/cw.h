/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coll/weft: a component of Open MPI 4.1 that lets the NIC carry out collectives.
 *
 * A module stands before those that Open MPI selected for a communicator. It describes a call as a
 * collective of libgoal (cw_move.c, cw_reduce.c, cw_vary.c, cw_neighbor.c), asks the rules whether
 * the NIC takes it (mc_rules.c), and starts a run (mc_run.c) as a request (cw_req.c). Everything
 * else goes to the module before it, and is counted by reason (mc_count.c), also on communicators
 * that the NIC does not serve. A decision uses only what is equal at all ranks: signatures, counts,
 * operations, not the layout of derived types.
 * docs/openmpi.md.
 */
#ifndef WEFT_CW_H
#define WEFT_CW_H

#include <mpi.h>
#include <ompi_config.h>
#include <ompi/communicator/communicator.h>
#include <ompi/constants.h>
#include <ompi/datatype/ompi_datatype.h>
#include <ompi/mca/coll/base/base.h>
#include <ompi/mca/coll/base/coll_base_util.h>
#include <ompi/mca/coll/coll.h>
#include <ompi/op/op.h>
#include <ompi/request/request.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host_driver/goal/goal.h"
#include "host_driver/goal/goal_coll.h"
#include "host_driver/mpi/mc.h"

/* Pairs that the NIC gets in another form than the program's (cw_pair.c). */
enum cw_pair {
	CW_PAIR_NONE,
	CW_PAIR_DOUBLE_INT,
	CW_PAIR_LONG_INT,
	CW_PAIR_SHORT_INT,
};

/* One rank's call. */
struct cw_call {
	struct mc_call mc;
	enum mc_form form; /* set before the call is described */
	void *list;        /* memory of goal's lists, until there is a request */
	enum cw_pair pair;
	struct mc_side send, recv;
	struct mc_comm *alone; /* of a persistent request, until there is one */
};

/* A module of coll/weft on one communicator. */
struct cw_module {
	mca_coll_base_module_t super;
	ompi_communicator_t *comm; /* once it is enabled */
	int rank;
	struct mc_comm *mc; /* once it is enabled; mc->left: its calls are only counted */
	mca_coll_base_comm_coll_t prev; /* functions and modules before this one */
	bool retains;                   /* the modules of prev */
};
typedef struct cw_module cw_module;
OBJ_CLASS_DECLARATION(cw_module);

/* A request: one call, started once or, if persistent, any number of times. */
struct cw_req {
	/* Open MPI keeps types and operations of the call in what it takes for such a request. */
	ompi_coll_base_nbc_request_t nbc;
	struct cw_req *next; /* in the list of unused ones */
	struct cw_call call;
	struct mc_run run;
	uint32_t refs; /* the program's, and the run's while it is under way; atomic */
};
typedef struct cw_req cw_req;
OBJ_CLASS_DECLARATION(cw_req);

/* The component. Other settings: mc_settings. */
struct cw_component {
	mca_coll_base_component_t super;
	int priority;
	int joined; /* 1: the ranks of MPI_COMM_WORLD use the NIC */
	/* The side of MPI_COMM_WORLD; NULL: the NIC is not used. With one rank it is left. */
	struct mc_comm *world;
};
/* The symbol that Open MPI looks up. */
extern GOAL_API struct cw_component mca_coll_weft_component;

/* ---- modules (cw_module.c) ------------------------------------------------------------------ */

/* comm_query of the component. */
mca_coll_base_module_t *cw_module_query(ompi_communicator_t *comm, int *priority);
/*
 * Decides about a persistent request, and makes its communicator (mc_comm_alone()). All ranks call
 * it. True: the NIC takes the call. False, at all ranks: the call is dropped.
 */
bool cw_module_alone(const struct cw_module *module, struct cw_call *call);

/* ---- calls (cw_call.c) ---------------------------------------------------------------------- */

/* Fills what all collectives share but form; alg AUTO, width 8. */
void cw_call_init(struct cw_call *call, enum mc_coll coll, uint64_t count, int root);
/* Decides, and counts the decision. True: the NIC takes the call. False: it is dropped. */
bool cw_call_taken(const struct cw_module *module, struct cw_call *call);
/* Frees the lists of a call that no request took over. */
void cw_call_drop(struct cw_call *call);
/* The three forms of a call that is taken, and taken over; MPI error codes. */
int cw_call_run(struct cw_module *module, struct cw_call *call);
int cw_call_start(struct cw_module *module, struct cw_call *call, ompi_request_t **request);
int cw_call_prepare(struct cw_module *module, struct cw_call *call, ompi_request_t **request);

/* ---- types and operations (cw_type.c, cw_op.c) ---------------------------------------------- */

uint64_t cw_type_bytes(const ompi_datatype_t *type, int count);
/* Describes a buffer; false: more elements than can be packed. */
bool cw_side_set(struct mc_side *side, const void *buf, int64_t count, ompi_datatype_t *type);
/* Likewise of pairs in the NIC's form. */
bool cw_side_set_pairs(struct mc_side *side, const void *buf, int64_t count, ompi_datatype_t *type,
		       enum cw_pair pair);
/* For as long as a request uses the side; _release() also frees the list of its parts. */
void cw_side_retain(struct mc_side *side);
void cw_side_release(struct mc_side *side);
/* Before a run: makes the packed copy, filled if fill is set. False: no memory. */
bool cw_side_begin(struct mc_side *side, bool fill);
/* After a run: spreads the packed copy if wanted, and frees it. */
void cw_side_end(struct mc_side *side, bool spread);
/* Bytes of a pair in the NIC's form, and both ways between the forms. */
uint32_t cw_pair_bytes(enum cw_pair pair);
void cw_pair_pack(enum cw_pair pair, void *nic, const void *user, int count);
void cw_pair_unpack(enum cw_pair pair, void *user, const void *nic, int count);
/* Sets operation, type and width of libgoal, or the reason why there are none. */
void cw_op_set(struct cw_call *call, const struct cw_module *m, const ompi_op_t *op,
	       const ompi_datatype_t *type);

/* ---- requests (cw_req.c) -------------------------------------------------------------------- */

/* A new request, not started, which takes the call over. NULL: no memory. */
struct cw_req *cw_req_new(struct cw_module *module, struct cw_call *call, bool persistent);
/* Starts it. A failure is the outcome of the request. */
void cw_req_start(struct cw_req *req);
int cw_req_free(ompi_request_t **request);
/* Frees unused requests, and ends the looks at runs. No run is under way. */
void cw_req_end(void);

/* ---- lists of blocks (cw_list.c) ------------------------------------------------------------ */

/* Begins a call's lists (mc_list.c); false: it is left to the rules, or broken. */
bool cw_lists_begin(struct cw_call *call, const struct cw_module *module, struct mc_lists *lists,
		    uint32_t num_sends, uint32_t num_recvs);
/* Makes the call's sides and list of them, and frees the entries. */
void cw_lists_end(struct cw_call *call, struct mc_lists *lists, uint32_t rank);

/* ---- the collectives (cw_move.c, cw_reduce.c, cw_vary.c, cw_neighbor.c) --------------------- */

/* Sets the functions of a module for which there is one before it. */
void cw_move_install(struct cw_module *module);
void cw_reduce_install(struct cw_module *module);
void cw_vary_install(struct cw_module *module);
void cw_neighbor_install(struct cw_module *module);

#define CW_ARGS(...) __VA_ARGS__

/*
 * True: such calls go on, whatever is in them; this one was counted. bytes is evaluated only then,
 * and not for an intercommunicator, on which a rank may leave arguments undefined.
 */
#define CW_LEFT(coll, form, bytes)                                                                 \
	(mc_call_left(coll, form, m->mc) != MC_TAKEN &&                                            \
	 (mc_count(coll, form, mc_call_left(coll, form, m->mc),                                    \
		   mc_comm_is_opaque(m->mc) ? 0 : (bytes)),                                        \
	  true))

/*
 * Defines the three functions of a collective, cw_NAME, cw_iNAME and cw_NAME_init, from
 * describe_NAME(call, module, arguments), which describes the call. bytes: an expression of module
 * m and the parameters, the largest buffer of any rank as far as this rank knows it.
 */
#define CW_DEFINE(name, params, args, bytes)                                                       \
	static int cw_##name(CW_ARGS params, ompi_communicator_t *comm,                            \
			     mca_coll_base_module_t *module)                                       \
	{                                                                                          \
		struct cw_module *m = (struct cw_module *)module;                                  \
		struct cw_call call;                                                               \
                                                                                                   \
		call.form = MC_BLOCKING;                                                           \
		if (!CW_LEFT((enum mc_coll)MC_OF_##name, MC_BLOCKING, bytes)) {                    \
			describe_##name(&call, m, CW_ARGS args);                                   \
			if (cw_call_taken(m, &call))                                               \
				return cw_call_run(m, &call);                                      \
		}                                                                                  \
		return m->prev.coll_##name(CW_ARGS args, comm, m->prev.coll_##name##_module);      \
	}                                                                                          \
	static int cw_i##name(CW_ARGS params, ompi_communicator_t *comm, ompi_request_t **request, \
			      mca_coll_base_module_t *module)                                      \
	{                                                                                          \
		struct cw_module *m = (struct cw_module *)module;                                  \
		struct cw_call call;                                                               \
                                                                                                   \
		call.form = MC_NONBLOCKING;                                                        \
		if (!CW_LEFT((enum mc_coll)MC_OF_##name, MC_NONBLOCKING, bytes)) {                 \
			describe_##name(&call, m, CW_ARGS args);                                   \
			if (cw_call_taken(m, &call))                                               \
				return cw_call_start(m, &call, request);                           \
		}                                                                                  \
		return m->prev.coll_i##name(CW_ARGS args, comm, request,                           \
					    m->prev.coll_i##name##_module);                        \
	}                                                                                          \
	static int cw_##name##_init(CW_ARGS params, ompi_communicator_t *comm,                     \
				    struct ompi_info_t *info, ompi_request_t **request,            \
				    mca_coll_base_module_t *module)                                \
	{                                                                                          \
		struct cw_module *m = (struct cw_module *)module;                                  \
		struct cw_call call;                                                               \
                                                                                                   \
		call.form = MC_NONBLOCKING;                                                        \
		if (!CW_LEFT((enum mc_coll)MC_OF_##name, MC_NONBLOCKING, bytes)) {                 \
			describe_##name(&call, m, CW_ARGS args);                                   \
			if (cw_module_alone(m, &call))                                             \
				return cw_call_prepare(m, &call, request);                         \
		}                                                                                  \
		return m->prev.coll_##name##_init(CW_ARGS args, comm, info, request,               \
						  m->prev.coll_##name##_init_module);              \
	}

/* Puts the functions into the module; each only before a function of another module. */
#define CW_INSTALL(m, name)                                                                        \
	do {                                                                                       \
		(m)->super.coll_##name = (m)->prev.coll_##name ? cw_##name : NULL;                 \
		(m)->super.coll_i##name = (m)->prev.coll_i##name ? cw_i##name : NULL;              \
		(m)->super.coll_##name##_init =                                                    \
		    (m)->prev.coll_##name##_init ? cw_##name##_init : NULL;                        \
	} while (0)

#endif /* WEFT_CW_H */
