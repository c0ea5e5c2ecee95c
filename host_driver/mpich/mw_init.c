/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Begin and end of an MPI program. Calls mw_comm.c, mw_req.c, mw_persist.c.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#include "host_driver/mpich/mw.h"

/* Another MPI library has other handles: its programs would not survive the first call. */
__attribute__((constructor)) static void check_library(void)
{
	if (!dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world"))
		return;
	fprintf(stderr, "libweft-mpich.so: this program uses Open MPI, which has coll/weft: run it "
			"without weft-run --mpi\n");
	_exit(2);
}

int MPI_Init(int *argc, char ***argv)
{
	int rc = PMPI_Init(argc, argv);

	if (rc == MPI_SUCCESS)
		mw_comm_join();
	return rc;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	int rc = PMPI_Init_thread(argc, argv, required, provided);

	if (rc == MPI_SUCCESS) {
		mc_settings.threads = *provided == MPI_THREAD_MULTIPLE;
		mw_comm_join();
	}
	return rc;
}

int MPI_Finalize(void)
{
	/* Requests that the program freed may still be under way. */
	mw_req_drain();
	mw_persist_end();
	mw_comm_leave();
	return PMPI_Finalize();
}
