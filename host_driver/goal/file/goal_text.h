/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GOAL schedules in files: LogGOPSim's text, read and written, and its binary form, read.
 *
 * Called by the tools goal-run and goal-dump. The formats are described in docs/goal-format.md.
 */
#ifndef WEFT_GOAL_TEXT_H
#define WEFT_GOAL_TEXT_H

#include "host_driver/goal/compile/goal_set.h"

#define GOAL_MAX_FILE_BYTES (1ull << 34)

/*
 * Reads the file at path ("-": standard input) in either form: the binary one has a mark in
 * front. Returns 0, -EINVAL (what is wrong in err), -ENOMEM, or the negative errno of reading it
 * (err set as well). set is the caller's to free when 0 is returned.
 */
int goal_file_load(const char *path, struct goal_set *set, struct goal_error *err)
    __attribute__((warn_unused_result));

/*
 * Reads a schedule as text; name is what errors call it. Returns 0, -EINVAL or -ENOMEM with err
 * set. The text need not end with 0; it is not needed afterwards.
 */
int goal_text_read(const char *text, size_t bytes, const char *name, struct goal_set *set,
		   struct goal_error *err) __attribute__((warn_unused_result));

/*
 * Writes set in the strict form of the grammar, labels l1, l2, ... in each rank. Reading it
 * again gives an equal set. Returns 0, -ENOMEM or the negative errno of writing; the stream is
 * flushed.
 */
int goal_text_write(const struct goal_set *set, FILE *out) __attribute__((warn_unused_result));

/* Whether these bytes begin as LogGOPSim's binary form does. */
bool goal_bin_is(const void *data, size_t bytes);

/* Reads LogGOPSim's binary form. As goal_text_read(). */
int goal_bin_read(const void *data, size_t bytes, const char *name, struct goal_set *set,
		  struct goal_error *err) __attribute__((warn_unused_result));

#endif /* WEFT_GOAL_TEXT_H */
