/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The component: settings, and what Open MPI's coll framework calls.
 *
 * Calls cw_module.c for communicators, mc_rules.c and mc_count.c. docs/openmpi.md "Settings".
 */
#include "host_driver/ompi/cw.h"

#include <limits.h>

static int register_vars(void)
{
	mca_base_component_t *c = &mca_coll_weft_component.super.collm_version;

	mca_coll_weft_component.priority = 95;
	(void)mca_base_component_var_register(
	    c, "priority", "Priority of coll/weft; 0 or less: not used", MCA_BASE_VAR_TYPE_INT,
	    NULL, 0, 0, OPAL_INFO_LVL_6, MCA_BASE_VAR_SCOPE_READONLY,
	    &mca_coll_weft_component.priority);
	mc_settings.verbose = 0;
	(void)mca_base_component_var_register(
	    c, "verbose",
	    "1: rank 0 prints at the end which share of calls ran on the NIC; 2: every rank, by "
	    "collective",
	    MCA_BASE_VAR_TYPE_INT, NULL, 0, 0, OPAL_INFO_LVL_4, MCA_BASE_VAR_SCOPE_READONLY,
	    &mc_settings.verbose);
	mc_settings.rules = NULL;
	(void)mca_base_component_var_register(
	    c, "rules", "File with rules: which collectives of which size the NIC takes",
	    MCA_BASE_VAR_TYPE_STRING, NULL, 0, 0, OPAL_INFO_LVL_4, MCA_BASE_VAR_SCOPE_READONLY,
	    &mc_settings.rules);
	mc_settings.max_bytes = 16 << 20;
	(void)mca_base_component_var_register(
	    c, "max_bytes", "Calls with a larger buffer at any rank are handed on",
	    MCA_BASE_VAR_TYPE_SIZE_T, NULL, 0, 0, OPAL_INFO_LVL_6, MCA_BASE_VAR_SCOPE_READONLY,
	    &mc_settings.max_bytes);
	mc_settings.force = 0;
	(void)mca_base_component_var_register(
	    c, "force",
	    "1: all that the NIC can do goes there, 2: nothing, 0: by rules. A program may change "
	    "it (MPI_T) between collectives, at all ranks alike",
	    MCA_BASE_VAR_TYPE_INT, NULL, 0, MCA_BASE_VAR_FLAG_SETTABLE, OPAL_INFO_LVL_6,
	    MCA_BASE_VAR_SCOPE_ALL, &mc_settings.force);
	mca_coll_weft_component.joined = 0;
	(void)mca_base_component_var_register(
	    c, "joined", "1: the ranks of MPI_COMM_WORLD use the NIC; to be read",
	    MCA_BASE_VAR_TYPE_INT, NULL, 0, MCA_BASE_VAR_FLAG_DEFAULT_ONLY, OPAL_INFO_LVL_6,
	    MCA_BASE_VAR_SCOPE_CONSTANT, &mca_coll_weft_component.joined);
	return OMPI_SUCCESS;
}

static int start(void)
{
	mc_settings.who = "coll_weft";
	mc_settings.library = "Open MPI";
	mc_settings.left = "handed on by";
	mc_settings.num_reasons = MC_REASON_ARGUMENT;
	/* Larger buffers cannot be packed (cw_type.c), so that all ranks see the same limit. */
	if (mc_settings.max_bytes > INT_MAX)
		mc_settings.max_bytes = INT_MAX;
	return mc_rules_load() ? OMPI_SUCCESS : OMPI_ERR_NOT_AVAILABLE;
}

static int end(void)
{
	cw_req_end();
	return OMPI_SUCCESS;
}

static int init_query(bool progress_threads, bool mpi_threads)
{
	(void)progress_threads;
	mc_settings.threads = mpi_threads;
	return OMPI_SUCCESS;
}

struct cw_component mca_coll_weft_component = {
    .super = {.collm_version = {MCA_COLL_BASE_VERSION_2_0_0, .mca_component_name = "weft",
				MCA_BASE_MAKE_VERSION(component, 0, 2, 0),
				.mca_open_component = start, .mca_close_component = end,
				.mca_register_component_params = register_vars},
	      .collm_data = {MCA_BASE_METADATA_PARAM_NONE},
	      .collm_init_query = init_query,
	      .collm_comm_query = cw_module_query},
};
