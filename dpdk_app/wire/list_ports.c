/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The list of weftd --list-ports. A card is "ready", or "no" with the command that makes it ready.
 * Nothing is opened for longer than to see whether it can be, and nothing is changed.
 *
 * Calls pci_card.c and sysfs; needs neither DPDK nor rights.
 */
#include "dpdk_app/wire/list_ports.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dpdk_app/wire/pci_card.h"
#include "dpdk_app/wire/wire.h"
#include "shared_defs/hw_limits.h"

enum {
	LIST_PATH_CHARS = 512,
};

/* Reads the first word of an interface's file; "": there is none. */
static void net_word(const char *sys, const char *name, const char *file, char *word, size_t bytes)
{
	char path[LIST_PATH_CHARS];
	FILE *f;

	*word = '\0';
	snprintf(path, sizeof(path), "%s/class/net/%s/%s", sys, name, file);
	f = fopen(path, "re");
	if (!f)
		return;
	if (fgets(word, (int)bytes, f))
		word[strcspn(word, " \n")] = '\0';
	else
		*word = '\0';
	fclose(f);
}

static void net_driver(const char *sys, const char *name, char *driver, size_t bytes)
{
	char path[LIST_PATH_CHARS], target[LIST_PATH_CHARS];
	const char *last;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/class/net/%s/device/driver", sys, name);
	n = readlink(path, target, sizeof(target) - 1);
	target[n > 0 ? n : 0] = '\0';
	last = strrchr(target, '/');
	snprintf(driver, bytes, "%.*s", (int)bytes - 1, n > 0 && last ? last + 1 : "virtual");
}

static void list_interface(FILE *f, const char *sys, const char *name)
{
	char driver[32], word[32];
	unsigned long mtu;

	net_driver(sys, name, driver, sizeof(driver));
	net_word(sys, name, "mtu", word, sizeof(word));
	mtu = strtoul(word, NULL, 10);
	net_word(sys, name, "operstate", word, sizeof(word));
	fprintf(f, "%-20s %-16s MTU %-6lu %-8s ", name, driver, mtu, word);
	if (mtu < HW_MIN_MTU)
		fprintf(f, "no: ip link set %s mtu 1500\n", name);
	else if (mtu > WIRE_XDP_MAX_MTU)
		fprintf(f, "AF_PACKET; AF_XDP with --mtu %d or less\n", WIRE_XDP_MAX_MTU);
	else
		fprintf(f, "AF_XDP, else AF_PACKET\n");
}

static void list_card(FILE *f, const char *sys, const char *dev, const char *address)
{
	char advice[PCI_CARD_ADVICE_CHARS], group[32] = "no IOMMU group";
	struct pci_card card;
	bool ready;

	if (pci_card_read(sys, address, &card))
		return;
	ready = pci_card_usable(&card, advice) && !pci_card_try(sys, dev, &card, advice);
	if (card.noiommu)
		snprintf(group, sizeof(group), "noiommu %d", card.group);
	else if (card.group >= 0)
		snprintf(group, sizeof(group), "IOMMU group %d", card.group);
	fprintf(f, "pci:%-16s %-16s %04x:%04x  %s%s  %s", card.address,
		*card.driver ? card.driver : "no driver", card.vendor, card.device, group,
		card.virtual ? ", virtual function" : "", ready ? "ready" : "no");
	if (ready && pci_card_physical(&card))
		fprintf(f, "; needs hugepages, since DMA is not translated");
	if (ready && card.bifurcated)
		fprintf(f, "; the kernel keeps %s", card.interface);
	fprintf(f, "\n");
	if (!ready)
		fprintf(f, "    %s\n", advice);
}

static int list_wanted(const struct dirent *entry)
{
	return entry->d_name[0] != '.' && strcmp(entry->d_name, "lo") != 0;
}

/* Calls list_card() or list_interface() for the entries of a folder, in order. */
static int list_folder(FILE *f, const char *sys, const char *dev, const char *folder)
{
	struct dirent **entries = NULL;
	char path[LIST_PATH_CHARS];
	int n;

	snprintf(path, sizeof(path), "%s/%s", sys, folder);
	n = scandir(path, &entries, list_wanted, alphasort);
	/* A machine without the bus has no cards. */
	if (n < 0)
		return errno == ENOENT ? 0 : -errno;
	for (int i = 0; i < n; i++) {
		if (dev)
			list_card(f, sys, dev, entries[i]->d_name);
		else
			list_interface(f, sys, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return 0;
}

int list_ports(FILE *f, const char *sys, const char *dev)
{
	int err;

	fprintf(f, "interfaces of the kernel, which goes on using them: --port NAME\n");
	err = list_folder(f, sys, NULL, "class/net");
	fprintf(f, "PCI cards, driven by DPDK alone: --port pci:ADDRESS\n");
	if (!err)
		err = list_folder(f, sys, dev, "bus/pci/devices");
	fprintf(f, "made by weftd: --nics N (switch), --port memif:PATH[,server], --port "
		   "tap:NAME\n");
	return err;
}
