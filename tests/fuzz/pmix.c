/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target: what a PMIx server and other ranks put into the values that libgoal gets: numbers of
 * any type, blobs of any length or without memory, keys that are not there, errors.
 *
 * begin() and exchange() of libgoal_pmix.c run over a libpmix that this file plays. A job that they
 * accept has a rank below its size, and the addresses and the key are the blobs' bytes; each value
 * is freed once.
 */
#include <dlfcn.h>
#include <stdlib.h>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/take.h"

static void *fuzz_dlopen(const char *name, int flags);
static void *fuzz_dlsym(void *handle, const char *name);
#define dlopen fuzz_dlopen
#define dlsym  fuzz_dlsym
#include "host_driver/goal/libgoal_pmix.c"
#undef dlopen
#undef dlsym

enum {
	BLOB_MAX = 64,
};

static struct take in;
static uint32_t job_size;

static pmix_value_t *value_new(void)
{
	pmix_value_t *value = calloc(1, sizeof(*value));

	take_check(value != NULL, "no memory");
	return value;
}

static pmix_status_t play_init(pmix_proc_t *proc, pmix_info_t info[], size_t ninfo)
{
	uint8_t what = take_u8(&in);

	(void)info;
	(void)ninfo;
	memset(proc, 0, sizeof(*proc));
	proc->rank = what & 1 ? take_u32(&in) : what >> 1 & 7;
	return what == 0xff ? PMIX_ERR_UNREACH : PMIX_SUCCESS;
}

static pmix_status_t play_finalize(const pmix_info_t info[], size_t ninfo)
{
	(void)info;
	(void)ninfo;
	return PMIX_SUCCESS;
}

static pmix_status_t play_put(pmix_scope_t scope, const pmix_key_t key, pmix_value_t *val)
{
	uint8_t bytes[BLOB_MAX];

	(void)scope;
	(void)key;
	take_check(val->type == PMIX_BYTE_OBJECT && val->data.bo.size <= sizeof(bytes), "a blob");
	memcpy(bytes, val->data.bo.bytes, val->data.bo.size);
	return take_u8(&in) == 0xff ? PMIX_ERR_NOMEM : PMIX_SUCCESS;
}

static pmix_status_t play_commit(void)
{
	return take_u8(&in) == 0xff ? PMIX_ERROR : PMIX_SUCCESS;
}

static pmix_status_t play_fence(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[],
				size_t ninfo)
{
	(void)procs;
	(void)nprocs;
	(void)info;
	(void)ninfo;
	return take_u8(&in) == 0xff ? PMIX_ERR_TIMEOUT : PMIX_SUCCESS;
}

/* A number: of the right type or of another, small or any. */
static void fill_number(pmix_value_t *value, uint8_t what)
{
	uint32_t number = what & 8 ? take_u32(&in) : take_u8(&in) & 15;

	value->type = what & 1 ? PMIX_UINT16 : PMIX_UINT32;
	if (what & 1)
		value->data.uint16 = (uint16_t)number;
	else
		value->data.uint32 = number;
	if (!(what & 0x70))
		value->type = take_u8(&in);
	/* A blob has memory of its own or none: a server does not pass a pointer of any value. */
	if (value->type == PMIX_BYTE_OBJECT)
		memset(&value->data, 0, sizeof(value->data));
}

/* Keys end with the number of the exchange, which their formats have as "%u". */
static bool key_is(const char *key, const char *format)
{
	return !strncmp(key, format, strlen(format) - strlen("%u"));
}

static void fill_blob(pmix_value_t *value, const char *key, uint8_t what)
{
	size_t right = key_is(key, KEY_JOB) ? 2 * sizeof(uint64_t) : sizeof(struct weft_goal_peer);
	size_t bytes = what & 0x70 ? right : take_u8(&in) % BLOB_MAX;

	value->type = what & 15 ? PMIX_BYTE_OBJECT : take_u8(&in);
	if (value->type != PMIX_BYTE_OBJECT)
		return;
	value->data.bo.size = bytes;
	if (take_u8(&in) == 0xff)
		return;
	value->data.bo.bytes = malloc(bytes ? bytes : 1);
	take_check(value->data.bo.bytes != NULL, "no memory");
	take_bytes(&in, value->data.bo.bytes, bytes);
}

static pmix_status_t play_get(const pmix_proc_t *proc, const pmix_key_t key,
			      const pmix_info_t info[], size_t ninfo, pmix_value_t **val)
{
	uint8_t what = take_u8(&in);

	(void)proc;
	(void)info;
	(void)ninfo;
	if (what == 0xff)
		return PMIX_ERR_NOT_FOUND;
	*val = value_new();
	if (key_is(key, KEY_PEER) || key_is(key, KEY_JOB))
		fill_blob(*val, key, what);
	else
		fill_number(*val, what);
	return PMIX_SUCCESS;
}

static const char *play_error(pmix_status_t status)
{
	(void)status;
	return "an error";
}

static void *fuzz_dlopen(const char *name, int flags)
{
	(void)name;
	(void)flags;
	return &in;
}

static void *fuzz_dlsym(void *handle, const char *name)
{
	static const struct {
		const char *name;
		void *at;
	} symbols[] = {
	    {"PMIx_Init", (void *)play_init},
	    {"PMIx_Finalize", (void *)play_finalize},
	    {"PMIx_Put", (void *)play_put},
	    {"PMIx_Commit", (void *)play_commit},
	    {"PMIx_Fence", (void *)play_fence},
	    {"PMIx_Get", (void *)play_get},
	    {"PMIx_Error_string", (void *)play_error},
	};

	(void)handle;
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++)
		if (!strcmp(symbols[i].name, name))
			return symbols[i].at;
	return NULL;
}

void fuzz_pmix_begin(void)
{
	/* Refusals are returned, not reported. */
	setenv("GOAL_ERRORS", "quiet", 1);
}

void fuzz_pmix(const uint8_t *data, size_t bytes)
{
	struct libgoal_launch launch = {.shard = -1};
	struct weft_goal_peer self = {.shard = 1};

	in = (struct take){data, bytes};
	job_size = 0;
	if (libgoal_pmix.begin(&launch) == GOAL_SUCCESS) {
		take_check(launch.rank < launch.size, "a rank beyond the size of its job");
		if (libgoal_pmix.exchange(&launch, &self) == GOAL_SUCCESS)
			take_check(launch.peers != NULL, "a job without addresses");
	}
	libgoal_pmix_end();
	free(launch.peers);
}
