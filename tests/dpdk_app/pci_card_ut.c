/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PCI cards as sysfs shows them: their addresses, who drives them, whether DPDK can, the advice if
 * it cannot, claims, and the list of weftd --list-ports. Each test makes a folder that looks like
 * /sys and /dev.
 *
 * Runs dpdk_app/wire/pci_card.c and list_ports.c.
 */
#include "dpdk_app/wire/pci_card.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dpdk_app/wire/list_ports.h"
#include "tests/tmp.h"
#include "tests/ut.h"

#define CARD  "0000:3b:00.1"
#define OTHER "0000:3b:00.0"

static char root[TMP_PATH_BYTES], sys[80], dev[80];
static char advice[PCI_CARD_ADVICE_CHARS];

static void shell(const char *command)
{
	CU_ASSERT_EQUAL(system(command), 0);
}

static void file(const char *path, const char *text)
{
	char command[512];

	snprintf(command, sizeof(command), "f='%s/%s'; mkdir -p \"${f%%/*}\" && echo '%s' >\"$f\"",
		 root, path, text);
	shell(command);
}

static void folder_link(const char *path, const char *target)
{
	char command[512];

	snprintf(command, sizeof(command),
		 "f='%s/%s'; mkdir -p \"${f%%/*}\" '%s/%s' && ln -sfn '%s/%s' \"$f\"", root, path,
		 root, target, root, target);
	shell(command);
}

static void device(const char *address, const char *class, const char *driver)
{
	char path[256], target[256];

	snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/class", address);
	file(path, class);
	snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/vendor", address);
	file(path, "0x8086");
	snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/device", address);
	file(path, "0x10d3");
	snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/config", address);
	file(path, "");
	if (!*driver)
		return;
	snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/driver", address);
	snprintf(target, sizeof(target), "sys/bus/pci/drivers/%s", driver);
	folder_link(path, target);
}

/* Puts both devices into IOMMU group 17. */
static void group(const char *name)
{
	folder_link("sys/bus/pci/devices/" CARD "/iommu_group", "sys/kernel/iommu_groups/17");
	folder_link("sys/kernel/iommu_groups/17/devices/" CARD, "sys/bus/pci/devices/" CARD);
	folder_link("sys/kernel/iommu_groups/17/devices/" OTHER, "sys/bus/pci/devices/" OTHER);
	file("sys/class/iommu/dmar0/x", "");
	if (*name)
		file("sys/kernel/iommu_groups/17/name", name);
}

static void begin(void)
{
	CU_ASSERT_PTR_NOT_NULL_FATAL(tmp_folder(root));
	snprintf(sys, sizeof(sys), "%s/sys", root);
	snprintf(dev, sizeof(dev), "%s/dev", root);
}

static void end(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	shell(command);
}

static void advises(const struct pci_card *card, const char *part)
{
	CU_ASSERT_FALSE(pci_card_usable(card, advice));
	CU_ASSERT_PTR_NULL(strchr(advice, '\n'));
	CU_ASSERT_PTR_NOT_NULL(strstr(advice, part));
	if (!strstr(advice, part))
		fprintf(stderr, "\"%s\" has no \"%s\"\n", advice, part);
}

static void addresses(void)
{
	static const char *const wrong[] = {"",
					    "3b",
					    "3b:00",
					    "3b:00.8",
					    "3b:20.0",
					    "0000:3b:00.1x",
					    "10000:3b:00.1",
					    "-3b:00.1",
					    " 3b:00.1",
					    "0x3b:00.1",
					    "3b:00.1,a=b",
					    "eth0"};
	char address[PCI_CARD_ADDRESS_CHARS];

	CU_ASSERT_TRUE(pci_card_address("3b:00.1", address));
	CU_ASSERT_STRING_EQUAL(address, CARD);
	CU_ASSERT_TRUE(pci_card_address("0000:3B:00.1", address));
	CU_ASSERT_STRING_EQUAL(address, CARD);
	CU_ASSERT_TRUE(pci_card_address("12ab:ff:1f.7", address));
	CU_ASSERT_STRING_EQUAL(address, "12ab:ff:1f.7");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		CU_ASSERT_FALSE(pci_card_address(wrong[i], address));
		if (pci_card_address(wrong[i], address))
			fprintf(stderr, "\"%s\" counts as an address\n", wrong[i]);
	}
}

static void kernel_has_it(void)
{
	struct pci_card card;

	begin();
	CU_ASSERT_EQUAL(pci_card_read(sys, CARD, &card), -ENOENT);
	device(CARD, "0x020000", "ixgbe");
	file("sys/bus/pci/devices/" CARD "/net/ens1f1/mtu", "1500");
	CU_ASSERT_EQUAL(pci_card_read(sys, "3b:00.1", &card), 0);
	CU_ASSERT_STRING_EQUAL(card.driver, "ixgbe");
	CU_ASSERT_STRING_EQUAL(card.interface, "ens1f1");
	CU_ASSERT_EQUAL(card.group, -1);
	CU_ASSERT_EQUAL(card.vendor, 0x8086);
	CU_ASSERT_EQUAL(card.device, 0x10d3);
	CU_ASSERT_FALSE(card.iommu);
	advises(&card, "the kernel drives it (ixgbe) as ens1f1: use --port ens1f1");
	/* No IOMMU: vfio would refuse. */
	advises(&card, "dpdk-devbind.py -b uio_pci_generic " CARD);
	device(CARD, "0x010000", "");
	CU_ASSERT_EQUAL(pci_card_read(sys, CARD, &card), -ENODEV);
	end();
}

/* A virtio card has its interface below the virtio device. */
static void virtio_interface(void)
{
	struct pci_card card;

	begin();
	device(CARD, "0x020000", "virtio-pci");
	file("sys/bus/pci/devices/" CARD "/virtio3/net/eth7/mtu", "1500");
	CU_ASSERT_EQUAL(pci_card_read(sys, CARD, &card), 0);
	CU_ASSERT_STRING_EQUAL(card.interface, "eth7");
	end();
}

static void no_driver(void)
{
	struct pci_card card;

	begin();
	device(CARD, "0x020000", "");
	device(OTHER, "0x020000", "");
	group("");
	CU_ASSERT_EQUAL(pci_card_read(sys, CARD, &card), 0);
	CU_ASSERT_TRUE(card.iommu);
	CU_ASSERT_EQUAL(card.group, 17);
	advises(&card,
		"no driver is bound to it: modprobe vfio-pci; dpdk-devbind.py -b vfio-pci " CARD);
	end();
}

/* Every device of a group goes to programs, or none; bridges do no harm. */
static void groups(void)
{
	struct pci_card card;

	begin();
	device(CARD, "0x020000", "vfio-pci");
	device(OTHER, "0x010700", "megaraid_sas");
	group("");
	CU_ASSERT_EQUAL(pci_card_read(sys, CARD, &card), 0);
	advises(&card, "IOMMU group 17 also has " OTHER ", which the driver megaraid_sas has");
	device(OTHER, "0x060400", "pcieport");
	CU_ASSERT_EQUAL(pci_card_read(sys, CARD, &card), 0);
	CU_ASSERT_TRUE(pci_card_usable(&card, advice));
	device(OTHER, "0x010700", "vfio-pci");
	CU_ASSERT_EQUAL(pci_card_read(sys, CARD, &card), 0);
	CU_ASSERT_TRUE(pci_card_usable(&card, advice));
	CU_ASSERT_FALSE(pci_card_physical(&card));
	end();
}

static void physical_addresses(void)
{
	struct pci_card card;

	begin();
	device(CARD, "0x020000", "uio_pci_generic");
	CU_ASSERT_EQUAL(pci_card_read(sys, CARD, &card), 0);
	CU_ASSERT_TRUE(pci_card_usable(&card, advice));
	CU_ASSERT_TRUE(pci_card_physical(&card));
	device(CARD, "0x020000", "vfio-pci");
	device(OTHER, "0x020000", "");
	group("vfio-noiommu");
	CU_ASSERT_EQUAL(pci_card_read(sys, CARD, &card), 0);
	CU_ASSERT_TRUE(card.noiommu);
	CU_ASSERT_TRUE(pci_card_physical(&card));
	device(CARD, "0x020000", "mlx5_core");
	CU_ASSERT_EQUAL(pci_card_read(sys, CARD, &card), 0);
	CU_ASSERT_TRUE(card.bifurcated);
	CU_ASSERT_TRUE(pci_card_usable(&card, advice));
	CU_ASSERT_EQUAL(pci_card_try(sys, dev, &card, advice), 0);
	end();
}

static void device_files(void)
{
	struct pci_card card;

	begin();
	device(CARD, "0x020000", "vfio-pci");
	device(OTHER, "0x020000", "");
	CU_ASSERT_EQUAL(pci_card_read(sys, CARD, &card), 0);
	CU_ASSERT_EQUAL(pci_card_try(sys, dev, &card, advice), -ENODEV);
	CU_ASSERT_PTR_NOT_NULL(strstr(advice, "binds it anew"));
	group("");
	CU_ASSERT_EQUAL(pci_card_read(sys, CARD, &card), 0);
	CU_ASSERT_EQUAL(pci_card_try(sys, dev, &card, advice), -ENOENT);
	CU_ASSERT_PTR_NOT_NULL(strstr(advice, "/dev/vfio/17"));
	file("dev/vfio/17", "");
	CU_ASSERT_EQUAL(pci_card_try(sys, dev, &card, advice), 0);
	device(CARD, "0x020000", "uio_pci_generic");
	file("sys/bus/pci/devices/" CARD "/uio/uio4/name", "x");
	CU_ASSERT_EQUAL(pci_card_read(sys, CARD, &card), 0);
	CU_ASSERT_EQUAL(pci_card_try(sys, dev, &card, advice), -ENOENT);
	file("dev/uio4", "");
	CU_ASSERT_EQUAL(pci_card_try(sys, dev, &card, advice), 0);
	CU_ASSERT_FALSE(pci_card_has_msi(sys, CARD));
	file("sys/bus/pci/devices/" CARD "/msi_irqs/33", "msix");
	CU_ASSERT_TRUE(pci_card_has_msi(sys, CARD));
	end();
}

static void claims(void)
{
	int first;

	begin();
	CU_ASSERT_EQUAL(pci_card_claim(sys, CARD), -ENOENT);
	device(CARD, "0x020000", "vfio-pci");
	first = pci_card_claim(sys, CARD);
	CU_ASSERT_TRUE_FATAL(first >= 0);
	CU_ASSERT_EQUAL(pci_card_claim(sys, CARD), -EBUSY);
	close(first);
	first = pci_card_claim(sys, CARD);
	CU_ASSERT_TRUE(first >= 0);
	close(first);
	end();
}

/* Prints the list into text. */
static void list(char *text, size_t bytes)
{
	FILE *f = fmemopen(text, bytes, "w");

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_EQUAL(list_ports(f, sys, dev), 0);
	fclose(f);
}

static void ports(void)
{
	char text[4096];

	begin();
	list(text, sizeof(text));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "--port memif:"));
	file("sys/class/net/lo/mtu", "65536");
	file("sys/class/net/eth0/mtu", "1500");
	file("sys/class/net/eth0/operstate", "up");
	folder_link("sys/class/net/eth0/device/driver", "sys/bus/pci/drivers/e1000e");
	file("sys/class/net/eth1/mtu", "9000");
	file("sys/class/net/eth2/mtu", "1000");
	device("0000:00:01.0", "0x060000", "");
	device(CARD, "0x020000", "uio_pci_generic");
	file("sys/bus/pci/devices/" CARD "/uio/uio4/name", "x");
	file("dev/uio4", "");
	device(OTHER, "0x020000", "ixgbe");
	file("sys/bus/pci/devices/" OTHER "/net/eth1/x", "");
	list(text, sizeof(text));
	CU_ASSERT_PTR_NULL(strstr(text, "lo  "));
	CU_ASSERT_PTR_NOT_NULL(
	    strstr(text, "eth0                 e1000e           MTU 1500   up "));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "AF_PACKET; AF_XDP with --mtu 3072 or less"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "no: ip link set eth2 mtu 1500"));
	CU_ASSERT_PTR_NULL(strstr(text, "00:01.0"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "pci:" CARD "     uio_pci_generic"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "ready; needs hugepages"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "use --port eth1"));
	end();
}

UT_MAIN("dpdk_app/pci_card", UT(addresses), UT(kernel_has_it), UT(virtio_interface), UT(no_driver),
	UT(groups), UT(physical_addresses), UT(device_files), UT(claims), UT(ports))
