/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that test and end requests.
 *
 * Only MPICH knows which requests of a list are whose. While runs are under way a call that waits
 * becomes a loop of looks at the runs and of MPICH's call that tests; without any it is MPICH's own
 * call. Calls mw_req.c.
 */
#include "host_driver/mpich/mw.h"

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
	int flag = 0, rc = MPI_SUCCESS;

	if (!mc_run_any())
		return PMPI_Wait(request, status);
	for (uint32_t turn = 0; rc == MPI_SUCCESS && !flag; turn++) {
		mw_req_turn(turn);
		rc = PMPI_Test(request, &flag, status);
	}
	return rc;
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
	int flag = 0, rc = MPI_SUCCESS;

	if (!mc_run_any())
		return PMPI_Waitall(count, requests, statuses);
	for (uint32_t turn = 0; rc == MPI_SUCCESS && !flag; turn++) {
		mw_req_turn(turn);
		rc = PMPI_Testall(count, requests, &flag, statuses);
	}
	return rc;
}

int MPI_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status)
{
	int flag = 0, rc = MPI_SUCCESS;

	if (!mc_run_any())
		return PMPI_Waitany(count, requests, index, status);
	for (uint32_t turn = 0; rc == MPI_SUCCESS && !flag; turn++) {
		mw_req_turn(turn);
		rc = PMPI_Testany(count, requests, index, &flag, status);
	}
	return rc;
}

int MPI_Waitsome(int count, MPI_Request requests[], int *done, int indices[], MPI_Status statuses[])
{
	int rc = MPI_SUCCESS;

	if (!mc_run_any())
		return PMPI_Waitsome(count, requests, done, indices, statuses);
	*done = 0;
	for (uint32_t turn = 0; rc == MPI_SUCCESS && !*done; turn++) {
		mw_req_turn(turn);
		rc = PMPI_Testsome(count, requests, done, indices, statuses);
	}
	return rc;
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
	mc_run_progress();
	return PMPI_Test(request, flag, status);
}

int MPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
	mc_run_progress();
	return PMPI_Testall(count, requests, flag, statuses);
}

int MPI_Testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
	mc_run_progress();
	return PMPI_Testany(count, requests, index, flag, status);
}

int MPI_Testsome(int count, MPI_Request requests[], int *done, int indices[], MPI_Status statuses[])
{
	mc_run_progress();
	return PMPI_Testsome(count, requests, done, indices, statuses);
}

int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
	mc_run_progress();
	return PMPI_Request_get_status(request, flag, status);
}

int MPI_Request_free(MPI_Request *request)
{
	mc_run_progress();
	if (request && mw_persist_free(request))
		return MPI_SUCCESS;
	/* MPICH would take the request's memory while its collective is under way. */
	if (request && *request != MPI_REQUEST_NULL && mw_req_forget(*request)) {
		*request = MPI_REQUEST_NULL;
		return MPI_SUCCESS;
	}
	return PMPI_Request_free(request);
}
