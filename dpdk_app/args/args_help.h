/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The text of --help: the lines around the options, and the options.
 */
#ifndef WEFT_APP_ARGS_HELP_H
#define WEFT_APP_ARGS_HELP_H

void help_before(void);
/* value: as it is named there, NULL: the option takes none. help: lines, with \n between. */
void help_option(const char *word, const char *value, const char *help);
void help_after(void);

#endif /* WEFT_APP_ARGS_HELP_H */
