/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files that weftd writes by a name from its configuration: the log, captures.
 */
#ifndef WEFT_APP_OWN_FILE_H
#define WEFT_APP_OWN_FILE_H

#include <sys/types.h>

/*
 * Opens a regular file for writing, makes it if it is missing. Its name may be in a folder that
 * others can write: so no link is followed, and neither a file of a user other than root and
 * weftd's is used nor one with a second name. more: O_APPEND, or 0. Returns a descriptor that the
 * caller closes, or -errno.
 */
int own_file_open(const char *path, int more, mode_t mode);

/* Returns why own_file_open() failed, as the end of a sentence about the file. */
const char *own_file_reason(int err);

#endif /* WEFT_APP_OWN_FILE_H */
