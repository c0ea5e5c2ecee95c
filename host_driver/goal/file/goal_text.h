/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GOAL schedules in files: reads and writes LogGOPSim's text form, and reads its binary form.
 *
 * docs/goal-format.md describes the formats.
 */
#ifndef WEFT_GOAL_TEXT_H
#define WEFT_GOAL_TEXT_H

#include "host_driver/goal/compile/goal_set.h"

#define GOAL_MAX_FILE_BYTES (1ull << 34)

/*
 * Reads the file at path ("-": standard input). The binary form is recognised by its magic number.
 * Returns 0, -EINVAL (err describes the error), -ENOMEM, or the negative errno of a failed read
 * (err set as well). On success the caller frees set.
 */
int goal_file_load(const char *path, struct goal_set *set, struct goal_error *err)
    __attribute__((warn_unused_result));

/*
 * Reads a schedule as text. name identifies the source in error messages. Returns 0, -EINVAL or
 * -ENOMEM with err set. The text need not end with a 0 byte, and is not referenced after return.
 */
int goal_text_read(const char *text, size_t bytes, const char *name, struct goal_set *set,
		   struct goal_error *err) __attribute__((warn_unused_result));

/*
 * Writes set in the strict form of the grammar, with labels l1, l2, ... in each rank. Reading the
 * output gives an equal set. Flushes the stream. Returns 0, -ENOMEM or the negative errno of a
 * failed write.
 */
int goal_text_write(const struct goal_set *set, FILE *out) __attribute__((warn_unused_result));

/* Returns true if the bytes begin with the magic number of LogGOPSim's binary form. */
bool goal_bin_is(const void *data, size_t bytes);

/* Reads LogGOPSim's binary form. Arguments and results as for goal_text_read(). */
int goal_bin_read(const void *data, size_t bytes, const char *name, struct goal_set *set,
		  struct goal_error *err) __attribute__((warn_unused_result));

#endif /* WEFT_GOAL_TEXT_H */
