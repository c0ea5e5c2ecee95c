#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A fake PMIx that records its callers, for one rank. libGOAL finalizes PMIx in GOAL_Finalize() and
# not before, since MPI in the same process needs it as long; at the exit of a process that never
# finalizes; not in children; and not where there was no server. With MPI, where mpirun and mpicc
# are installed, either library may be initialized first.

. tests/int/lib.sh

cat >"$WEFT_TMP/pmix.c" <<'C'
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* PMIx's own inline functions ask for no more than these. */
static char store[4][512];
static size_t bytes[4];

static void note(const char *what)
{
	FILE *f = fopen(getenv("PMIX_LOG"), "a");

	fprintf(f, "%s\n", what);
	fclose(f);
}

pmix_status_t PMIx_Init(pmix_proc_t *proc, pmix_info_t info[], size_t n)
{
	note("init");
	if (getenv("PMIX_DOWN"))
		return PMIX_ERR_UNREACH;
	strcpy(proc->nspace, "test");
	proc->rank = 0;
	return PMIX_SUCCESS;
}

pmix_status_t PMIx_Finalize(const pmix_info_t info[], size_t n)
{
	note("finalize");
	return PMIX_SUCCESS;
}

static int place(const char *key)
{
	/* The number of the exchange follows. */
	return !strcmp(key, "weft.goal.peer.0") ? 0 : !strcmp(key, "weft.goal.key.0") ? 1 : 2;
}

pmix_status_t PMIx_Put(pmix_scope_t scope, const pmix_key_t key, pmix_value_t *value)
{
	bytes[place(key)] = value->data.bo.size;
	memcpy(store[place(key)], value->data.bo.bytes, value->data.bo.size);
	return PMIX_SUCCESS;
}

pmix_status_t PMIx_Commit(void)
{
	return PMIX_SUCCESS;
}

pmix_status_t PMIx_Fence(const pmix_proc_t procs[], size_t n, const pmix_info_t info[], size_t m)
{
	return PMIX_SUCCESS;
}

pmix_status_t PMIx_Get(const pmix_proc_t *proc, const pmix_key_t key, const pmix_info_t info[], size_t n,
		       pmix_value_t **value)
{
	int at = place(key);

	*value = calloc(1, sizeof(**value));
	(*value)->type = PMIX_UINT32;
	(*value)->data.uint32 = !strcmp(key, PMIX_JOB_SIZE);
	if (at == 2)
		return PMIX_SUCCESS;
	(*value)->type = PMIX_BYTE_OBJECT;
	(*value)->data.bo.size = bytes[at];
	(*value)->data.bo.bytes = memcpy(malloc(bytes[at]), store[at], bytes[at]);
	return PMIX_SUCCESS;
}

const char *PMIx_Error_string(pmix_status_t status)
{
	return "no server";
}
C
# shellcheck disable=SC2046 # words
gcc -shared -fPIC -o "$WEFT_TMP/libpmix.so.2" "$WEFT_TMP/pmix.c" $(pkg-config --cflags pmix) || die 'the PMIx of this test does not compile'

cat >"$WEFT_TMP/leave.c" <<'C'
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host_driver/goal/goal.h"

int main(int argc, char **argv)
{
	FILE *f;

	if (GOAL_Init() != GOAL_SUCCESS)
		return fprintf(stderr, "%s\n", GOAL_LastErrorDetail()), 1;
	f = fopen(argv[2], "a");
	fprintf(f, "initialised\n");
	fclose(f);
	if (fork() == 0)
		return 0;
	wait(NULL);
	if (!strcmp(argv[1], "well") && GOAL_Finalize() != GOAL_SUCCESS)
		return 2;
	f = fopen(argv[2], "a");
	fprintf(f, "ends\n");
	fclose(f);
	return 0;
}
C
lib=$(cd "$WEFT_BIN/../lib" && pwd)
flags=("-fsanitize=address,undefined" -I. -L "$lib" "-Wl,-rpath,$lib" -lgoal -lweft -pthread)
gcc -o "$WEFT_TMP/leave" "$WEFT_TMP/leave.c" "${flags[@]}" || die 'a program does not compile'
# Children exit without calling libGOAL, and launchers' libraries leak.
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0"

weftd_start weftd --nics 2

# leaves NAME HOW WORD...: prints the calls that PMIx received, in one line
leaves()
{
	local name=$1 how=$2
	shift 2
	: >"$WEFT_TMP/$name.log"
	spawn "$name" env LD_LIBRARY_PATH="$WEFT_TMP" PMIX_RANK=0 PMIX_NAMESPACE=test PMIX_LOG="$WEFT_TMP/$name.log" \
		WEFT_DEVICE=weft0 "$@" "$WEFT_TMP/leave" "$how" "$WEFT_TMP/$name.log"
}

leaves well well
expect_ok well
[ "$(paste -sd' ' "$WEFT_TMP/well.log")" = 'init initialised finalize ends' ] || die "PMIx heard $(paste -sd' ' "$WEFT_TMP/well.log")"
leaves silent silently
expect_ok silent
[ "$(paste -sd' ' "$WEFT_TMP/silent.log")" = 'init initialised ends finalize' ] || die "PMIx heard $(paste -sd' ' "$WEFT_TMP/silent.log")"
leaves down well PMIX_DOWN=1
expect_fail down 'PMIX_RANK is set, but no PMIx server answers \(no server\).*mpirun'
[ "$(paste -sd' ' "$WEFT_TMP/down.log")" = init ] || die "PMIx heard $(paste -sd' ' "$WEFT_TMP/down.log")"

if ! command -v mpirun >/dev/null || ! command -v mpicc >/dev/null; then
	say 'mpirun or mpicc is not installed: not tried with MPI'
	exit 0
fi
cat >"$WEFT_TMP/both.c" <<'C'
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "host_driver/goal/goal.h"
#include "host_driver/goal/goal_coll.h"

/* both FIRST LAST: which library is initialised first, and which is finalized last */
int main(int argc, char **argv)
{
	int mpi_first = !strcmp(argv[1], "mpi"), mpi_last = !strcmp(argv[2], "mpi"), one = 1, sum, size;
	GOAL_Schedule s;

	if (mpi_first)
		MPI_Init(&argc, &argv);
	if (GOAL_Init() != GOAL_SUCCESS)
		return fprintf(stderr, "GOAL_Init: %s\n", GOAL_LastErrorDetail()), 1;
	if (!mpi_first)
		MPI_Init(&argc, &argv);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	s = GOAL_BarrierSchedule(GOAL_CommWorld(), GOAL_ALG_AUTO);
	if (GOAL_Wait(GOAL_Run(s)) != GOAL_SUCCESS || GOAL_FreeSchedule(s) != GOAL_SUCCESS)
		return 2;
	MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (!mpi_last)
		MPI_Finalize();
	if (GOAL_GroupSize() != size || sum != size || GOAL_Finalize() != GOAL_SUCCESS)
		return 3;
	if (mpi_last)
		MPI_Finalize();
	return printf("all right\n") < 0;
}
C
mpicc -o "$WEFT_TMP/both" "$WEFT_TMP/both.c" "${flags[@]}" || die 'an MPI program does not compile'
for first in goal mpi; do
	for last in goal mpi; do
		spawn "$first.$last" mpirun --allow-run-as-root --oversubscribe -n 2 "$WEFT_TMP/both" $first $last
		expect_ok "$first.$last"
		[ "$(grep -c 'all right' "$WEFT_TMP/$first.$last.out")" -eq 2 ] || die "$first.$last: not two ranks"
	done
done
