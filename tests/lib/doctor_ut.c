/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Findings about machines that are made of files in a folder. Runs lib/doctor.c and
 * lib/doctor_machine.c.
 */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/doctor.h"
#include "tests/tmp.h"
#include "tests/ut.h"

static char root[TMP_PATH_BYTES];

/* Writes a line into a file below the root, whose folders are made. */
static void put(const char *path, const char *line)
{
	char whole[512];
	FILE *file;

	snprintf(whole, sizeof(whole), "%s%s", root, path);
	for (char *at = strchr(whole + strlen(root) + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		(void)mkdir(whole, 0700);
		*at = '/';
	}
	file = fopen(whole, "we");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	fprintf(file, "%s\n", line);
	fclose(file);
}

static int drop(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st, (void)kind, (void)at;
	return remove(path);
}

static void numbers_of_a_list(void)
{
	CU_ASSERT_TRUE(doctor_in_list("0-3,8", 0));
	CU_ASSERT_TRUE(doctor_in_list("0-3,8", 3));
	CU_ASSERT_TRUE(doctor_in_list("0-3,8", 8));
	CU_ASSERT_FALSE(doctor_in_list("0-3,8", 4));
	CU_ASSERT_FALSE(doctor_in_list("0-3,8", 18));
	CU_ASSERT_FALSE(doctor_in_list("", 0));
}

/* A card of node 1 beside CPUs of both nodes, and one whose node the kernel does not know. */
static void nodes_of_a_card(void)
{
	struct doctor d = {.root = root};

	CU_ASSERT_PTR_NOT_NULL_FATAL(tmp_folder(root));
	put("/sys/class/net/eth1/device/numa_node", "1");
	put("/sys/class/net/eth2/device/numa_node", "-1");
	put("/sys/devices/system/node/node0/cpulist", "0-3");
	put("/sys/devices/system/node/node1/cpulist", "4-7");
	doctor_numa(&d, "weft0", "/sys/class/net/eth1/device", 4);
	doctor_numa(&d, "weft0", "/sys/class/net/eth1/device", 7);
	doctor_numa(&d, "weft0", "/sys/class/net/eth2/device", 0);
	doctor_numa(&d, "weft0", "/sys/class/net/veth/device", 0);
	CU_ASSERT_EQUAL(d.num_findings, 0);
	doctor_numa(&d, "weft0", "/sys/class/net/eth1/device", 3);
	CU_ASSERT_EQUAL_FATAL(d.num_findings, 1);
	CU_ASSERT_EQUAL(d.worst, DOCTOR_NOTE);
	CU_ASSERT_STRING_EQUAL(d.findings[0].subject, "weft0");
	CU_ASSERT_STRING_EQUAL(d.findings[0].finding,
			       "its device is on NUMA node 1, and CPU 3 is on another");
	CU_ASSERT_STRING_EQUAL(d.findings[0].cure, "cores among 4-7, the CPUs of that node");
	doctor_free(&d);
	CU_ASSERT_EQUAL(nftw(root, drop, 8, FTW_DEPTH | FTW_PHYS), 0);
}

/* Offloads that are on matter with an XDP program, and with VLANs of that interface alone. */
static void offloads_of_an_interface(void)
{
	struct doctor d = {.root = root};

	CU_ASSERT_PTR_NOT_NULL_FATAL(tmp_folder(root));
	doctor_offloads(&d, "weft0", "eth1", 0);
	doctor_offloads(&d, "weft0", "eth1", DOCTOR_OFFLOAD_RX_VLAN);
	put("/proc/net/vlan/config",
	    "VLAN Dev name\t | VLAN ID\nName-Type: VLAN_NAME_TYPE_RAW_PLUS_VID_NO_PAD\n"
	    "eth2.7          | 7  | eth2");
	doctor_offloads(&d, "weft0", "eth1", DOCTOR_OFFLOAD_RX_VLAN);
	doctor_offloads(&d, "weft0", "eth2", 0);
	CU_ASSERT_EQUAL(d.num_findings, 0);
	doctor_offloads(&d, "weft1", "eth2", DOCTOR_OFFLOAD_RX_VLAN);
	CU_ASSERT_EQUAL_FATAL(d.num_findings, 1);
	CU_ASSERT_EQUAL(d.worst, DOCTOR_NOTE);
	CU_ASSERT_STRING_EQUAL(
	    d.findings[0].finding,
	    "eth2 takes off the tags of eth2.7, whose frames look like frames of the NIC");
	CU_ASSERT_STRING_EQUAL(d.findings[0].cure, "ethtool -K eth2 rxvlan off");
	doctor_offloads(&d, "weft0", "eth1", DOCTOR_OFFLOAD_LRO);
	CU_ASSERT_EQUAL_FATAL(d.num_findings, 2);
	CU_ASSERT_EQUAL(d.worst, DOCTOR_WARN);
	CU_ASSERT_STRING_EQUAL(d.findings[1].cure, "ethtool -K eth1 lro off");
	doctor_free(&d);
	CU_ASSERT_EQUAL(nftw(root, drop, 8, FTW_DEPTH | FTW_PHYS), 0);
}

/* Returns the finding of the subject, or "". */
static const char *finding_of(const struct doctor *d, const char *subject)
{
	for (uint32_t i = 0; i < d->num_findings; i++)
		if (!strcmp(d->findings[i].subject, subject))
			return d->findings[i].finding;
	return "";
}

static void hugepages_of_a_machine(void)
{
	struct doctor d = {.root = root};

	CU_ASSERT_PTR_NOT_NULL_FATAL(tmp_folder(root));
	doctor_machine(&d);
	CU_ASSERT_STRING_EQUAL(finding_of(&d, "hugepages"), "");
	doctor_free(&d);
	put("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "0");
	put("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "0");
	doctor_machine(&d);
	CU_ASSERT_STRING_EQUAL(finding_of(&d, "hugepages"),
			       "there are none: weftd uses ordinary memory");
	doctor_free(&d);
	put("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "512");
	put("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "100");
	doctor_machine(&d);
	CU_ASSERT_STRING_EQUAL(finding_of(&d, "hugepages"), "100 of 512 of 2 MiB are free");
	doctor_free(&d);
	CU_ASSERT_EQUAL(nftw(root, drop, 8, FTW_DEPTH | FTW_PHYS), 0);
}

UT_MAIN("lib/doctor", UT(offloads_of_an_interface), UT(hugepages_of_a_machine),
	UT(numbers_of_a_list), UT(nodes_of_a_card))
