/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names, messages and the clock; see bench.h.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tools/weft-bench/bench.h"

static const char *const mode_names[BENCH_MODES] = {
    [BENCH_LAT] = "lat",       [BENCH_BW] = "bw",           [BENCH_RATE] = "rate",
    [BENCH_FILE] = "file",     [BENCH_COUNTER] = "counter", [BENCH_MEM] = "mem",
    [BENCH_CREATE] = "create", [BENCH_STAGES] = "stages",   [BENCH_LADDER] = "ladder",
    [BENCH_REG] = "reg",       [BENCH_SRQ] = "srq",         [BENCH_MPI3] = "mpi3",
    [BENCH_TAG] = "tag",       [BENCH_GROW] = "grow",
};

static const char *const op_names[BENCH_OPS] = {
    [BENCH_SEND] = "send",     [BENCH_WRITE] = "write", [BENCH_READ] = "read",
    [BENCH_ATOMIC] = "atomic", [BENCH_CAS] = "cas",     [BENCH_PUT] = "put",
};

static int find(const char *const *names, int count, const char *name)
{
	int i;

	for (i = 0; i < count; i++)
		if (!strcmp(names[i], name))
			return i;
	return -1;
}

const char *bench_mode_str(enum bench_mode mode)
{
	return mode_names[mode];
}

const char *bench_op_str(enum bench_op op)
{
	return op_names[op];
}

static const struct {
	const char *name;
	enum weft_qp_type type;
	enum weft_qp_transport transport;
} qp_names[] = {
    {"rd", WEFT_QPT_RD, WEFT_QP_TRANSPORT_RD},      {"ud", WEFT_QPT_UD, WEFT_QP_TRANSPORT_RD},
    {"rc", WEFT_QPT_RC, WEFT_QP_TRANSPORT_RD},      {"rc-esp", WEFT_QPT_RC, WEFT_QP_TRANSPORT_ESP},
    {"rc-tcp", WEFT_QPT_RC, WEFT_QP_TRANSPORT_TCP},
};
enum {
	QP_NAMES = sizeof(qp_names) / sizeof(qp_names[0]),
};

const char *bench_qp_str(const struct opts *o)
{
	uint32_t i;

	for (i = QP_NAMES - 1; i; i--)
		if (qp_names[i].type == o->qp && qp_names[i].transport == o->transport)
			break;
	return qp_names[i].name;
}

int bench_mode_parse(const char *name)
{
	return find(mode_names, BENCH_MODES, name);
}

int bench_op_parse(const char *name)
{
	return find(op_names, BENCH_OPS, name);
}

bool bench_qp_set(struct opts *o, const char *name)
{
	uint32_t i;

	for (i = 0; i < QP_NAMES; i++) {
		if (strcmp(qp_names[i].name, name))
			continue;
		o->qp = qp_names[i].type;
		o->transport = qp_names[i].transport;
		return true;
	}
	return false;
}

int fail(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "weft-bench: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return -1;
}
