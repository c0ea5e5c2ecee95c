/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The folders that DPDK makes for each of its processes and that one which is killed leaves behind.
 */
#ifndef WEFT_APP_EAL_DIR_H
#define WEFT_APP_EAL_DIR_H

/*
 * Removes, of the folders DIR/dpdk/weftd-*, those whose weftd does not live any more, with the
 * files in them. Returns a descriptor that eal_dir_hold() takes: no other weftd looks until then;
 * -1: nothing could be looked at, which hinders nobody. Before rte_eal_init().
 */
int eal_dir_sweep(const char *dir);

/* Marks the folder at path as one whose weftd lives, for as long as this process does. After
 * rte_eal_init(). */
void eal_dir_hold(int swept, const char *path);

#endif /* WEFT_APP_EAL_DIR_H */
