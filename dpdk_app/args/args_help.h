/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The text of --help: introduction, options, closing lines.
 */
#ifndef WEFT_APP_ARGS_HELP_H
#define WEFT_APP_ARGS_HELP_H

void help_before(void);
/* Prints an option. value: its placeholder; NULL: none. help: lines separated by \n. */
void help_option(const char *word, const char *value, const char *help);
void help_after(void);

#endif /* WEFT_APP_ARGS_HELP_H */
