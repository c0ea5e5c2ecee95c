/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fuzz targets by name.
 *
 * A target has a function that prepares it, once, and one that runs one input and returns, or
 * aborts at a find. run/entry.c runs them under libFuzzer; replay.c runs the kept inputs in `make
 * test`. tests/fuzz/README.md.
 */
#ifndef WEFT_TESTS_FUZZ_FUZZ_H
#define WEFT_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* A find, unless ok. */
static inline void fuzz_check(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "fuzz: %s\n", what);
	abort();
}

/* frames.c: frames into a NIC, programs of struct rec */
void fuzz_frames_begin(void);
void fuzz_frames(const uint8_t *data, size_t bytes);

/* host.c: commands, requests, doorbells and whole BARs of hostile processes; struct rec */
void fuzz_host_begin(void);
void fuzz_host(const uint8_t *data, size_t bytes);

/* options.c: command lines, configuration files, lists of faults; text */
void fuzz_options_begin(void);
void fuzz_options(const uint8_t *data, size_t bytes);

/* control.c: input to weftd's socket, programs of 16-byte records */
void fuzz_control_begin(void);
void fuzz_control(const uint8_t *data, size_t bytes);

/* ops.c: programs of users' operations */
void fuzz_ops_begin(void);
void fuzz_ops(const uint8_t *data, size_t bytes);

/* files.c: schedules in files; text and binary */
void fuzz_files_begin(void);
void fuzz_files(const uint8_t *data, size_t bytes);

/* gso.c: TCP segments in large frames, to the kernel and from it */
void fuzz_gso_begin(void);
void fuzz_gso(const uint8_t *data, size_t bytes);

/* rsock.c: the wire of rsockets */
void fuzz_rsock_begin(void);
void fuzz_rsock(const uint8_t *data, size_t bytes);

/* answers.c: a hostile weftd beneath libweft */
void fuzz_answers_begin(void);
void fuzz_answers(const uint8_t *data, size_t bytes);

/* serve.c: clients of weft-measure serve, requests of weft-tune */
void fuzz_serve_begin(void);
void fuzz_serve(const uint8_t *data, size_t bytes);

/* pmix.c: values of a PMIx server */
void fuzz_pmix_begin(void);
void fuzz_pmix(const uint8_t *data, size_t bytes);

/* xdp.c: the XDP program beside the firmware */
void fuzz_xdp_begin(void);
void fuzz_xdp(const uint8_t *data, size_t bytes);
/*
 * How often the verdict was this one of enum weft_xdp_count, of all inputs: each frame has one at
 * an address of the NIC's own and one at a shared one.
 */
uint64_t fuzz_xdp_verdicts(uint32_t what);

/*
 * Changes a program of struct rec: libFuzzer's custom mutator of both. Returns the new length, at
 * most max. other: bytes of libFuzzer's own mutations, NULL in tests.
 */
size_t fuzz_mutate_rec(uint8_t *data, size_t bytes, size_t max, unsigned int seed,
		       size_t (*other)(uint8_t *data, size_t bytes, size_t max));

#endif /* WEFT_TESTS_FUZZ_FUZZ_H */
