/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists of blocks: where Open MPI's types put the elements of each entry.
 *
 * Calls mc_list.c, cw_type.c.
 */
#include "host_driver/ompi/cw.h"

bool cw_lists_begin(struct cw_call *call, const struct cw_module *module, struct mc_lists *lists,
		    uint32_t num_sends, uint32_t num_recvs)
{
	return !mc_lists_left(&call->mc, call->form, module->mc) &&
	       mc_lists_begin(&call->mc, lists, num_sends, num_recvs);
}

static void place(struct mc_entry *e)
{
	const ompi_datatype_t *type = e->part.type;
	ptrdiff_t true_lb, true_extent;

	e->bytes = cw_type_bytes(type, e->part.count);
	if (!e->bytes || !ompi_datatype_is_contiguous_memory_layout(type, e->part.count))
		return;
	(void)ompi_datatype_get_true_extent(type, &true_lb, &true_extent);
	e->at = (char *)e->part.user + true_lb;
}

void cw_lists_end(struct cw_call *call, struct mc_lists *lists, uint32_t rank)
{
	const struct mc_part *first = &lists->sends[0].part;
	uint32_t i;

	for (i = 0; i < lists->num_sends && !lists->one_send; i++)
		place(&lists->sends[i]);
	for (i = 0; i < lists->num_recvs; i++)
		place(&lists->recvs[i]);
	if (lists->one_send && lists->num_sends)
		call->mc.broken = !cw_side_set(&call->send, first->user, first->count, first->type);
	call->list = mc_lists_end(&call->mc, lists, rank, &call->send, &call->recv);
}
