/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cards as sysfs shows them, and the advice that follows from it. See pci_card.h.
 *
 * Calls the kernel's files. A vfio group is usable if every device in it is bound to vfio-pci or to
 * no driver; bridges of the kernel do no harm. Linux, Documentation/driver-api/vfio.rst.
 */
#include "dpdk_app/wire/pci_card.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum {
	PCI_PATH_CHARS = 512,
};

bool pci_card_address(const char *text, char address[PCI_CARD_ADDRESS_CHARS])
{
	unsigned domain = 0, bus, device, function;
	int end = 0;

	if (sscanf(text, "%4x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &end) != 4 ||
	    text[end]) {
		domain = 0;
		end = 0;
		if (sscanf(text, "%2x:%2x.%1x%n", &bus, &device, &function, &end) != 3 || text[end])
			return false;
	}
	if (strspn(text, "0123456789abcdefABCDEF:.") != strlen(text) || device > 0x1f ||
	    function > 7)
		return false;
	snprintf(address, PCI_CARD_ADDRESS_CHARS, "%04x:%02x:%02x.%x", domain & 0xffff, bus & 0xff,
		 device & 0x1f, function & 7);
	return true;
}

static void pci_path(const char *sys, const char *address, const char *file,
		     char path[PCI_PATH_CHARS])
{
	snprintf(path, PCI_PATH_CHARS, "%s/bus/pci/devices/%s%s%s", sys, address, *file ? "/" : "",
		 file);
}

static uint32_t pci_number(const char *sys, const char *address, const char *file)
{
	char path[PCI_PATH_CHARS];
	unsigned value = 0;
	FILE *f;

	pci_path(sys, address, file, path);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%x", &value) != 1)
		value = 0;
	fclose(f);
	return value;
}

/* Stores the last part of what a link of the device points at; "": there is no such link. */
static void pci_link(const char *sys, const char *address, const char *file, char *name,
		     size_t bytes)
{
	char path[PCI_PATH_CHARS], target[PCI_PATH_CHARS];
	const char *last;
	ssize_t n;

	*name = '\0';
	pci_path(sys, address, file, path);
	n = readlink(path, target, sizeof(target) - 1);
	if (n <= 0)
		return;
	target[n] = '\0';
	last = strrchr(target, '/');
	snprintf(name, bytes, "%.*s", (int)bytes - 1, last ? last + 1 : target);
}

static bool pci_exists(const char *sys, const char *address, const char *file)
{
	char path[PCI_PATH_CHARS];

	pci_path(sys, address, file, path);
	return !access(path, F_OK);
}

/* Stores the first entry of a folder; false: there is none. */
static bool pci_first(const char *path, char *name, size_t bytes)
{
	const struct dirent *entry;
	DIR *dir = opendir(path);
	bool found = false;

	while (dir && !found && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, bytes, "%.*s", (int)bytes - 1, entry->d_name);
		found = true;
	}
	if (dir)
		closedir(dir);
	return found;
}

/* The interface of the kernel; a virtio card has it one level below. */
static void pci_interface(const char *sys, struct pci_card *card)
{
	char path[PCI_PATH_CHARS];
	const struct dirent *entry;
	DIR *dir;

	pci_path(sys, card->address, "net", path);
	if (pci_first(path, card->interface, sizeof(card->interface)))
		return;
	pci_path(sys, card->address, "", path);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		char file[64];

		if (strncmp(entry->d_name, "virtio", 6))
			continue;
		snprintf(file, sizeof(file), "%.32s/net", entry->d_name);
		pci_path(sys, card->address, file, path);
		if (pci_first(path, card->interface, sizeof(card->interface)))
			break;
	}
	if (dir)
		closedir(dir);
}

static bool pci_is_vfio(const char *driver)
{
	return !strcmp(driver, "vfio-pci") || strstr(driver, "vfio") != NULL;
}

static bool pci_is_uio(const char *driver)
{
	return !strcmp(driver, "uio_pci_generic") || !strcmp(driver, "igb_uio");
}

/* Finds a device of the group whose driver makes the group unusable. */
static void pci_group_others(const char *sys, struct pci_card *card)
{
	char path[PCI_PATH_CHARS];
	const struct dirent *entry;
	DIR *dir;

	pci_path(sys, card->address, "iommu_group/devices", path);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)) && !*card->other) {
		char driver[32];

		if (entry->d_name[0] == '.' || !strcmp(entry->d_name, card->address))
			continue;
		pci_link(sys, entry->d_name, "driver", driver, sizeof(driver));
		if (!*driver || pci_is_vfio(driver) || !strcmp(driver, "pci-stub") ||
		    pci_number(sys, entry->d_name, "class") >> 16 == PCI_CARD_CLASS_BRIDGE)
			continue;
		snprintf(card->other, sizeof(card->other), "%.12s", entry->d_name);
		snprintf(card->other_driver, sizeof(card->other_driver), "%s", driver);
	}
	if (dir)
		closedir(dir);
}

static void pci_iommu(const char *sys, struct pci_card *card)
{
	char path[PCI_PATH_CHARS], name[64];
	FILE *f;

	pci_link(sys, card->address, "iommu_group", name, sizeof(name));
	card->group = *name ? atoi(name) : -1;
	pci_path(sys, card->address, "iommu_group/name", path);
	f = fopen(path, "re");
	if (f) {
		if (fgets(name, sizeof(name), f))
			card->noiommu = !strncmp(name, "vfio-noiommu", 12);
		fclose(f);
	}
	snprintf(path, sizeof(path), "%s/class/iommu", sys);
	card->iommu = pci_first(path, name, sizeof(name));
	pci_group_others(sys, card);
}

int pci_card_read(const char *sys, const char *address, struct pci_card *card)
{
	static const char *const bifurcated[] = {"mlx4_core", "mlx5_core"};

	*card = (struct pci_card){.group = -1};
	if (!pci_card_address(address, card->address))
		return -ENOENT;
	if (!pci_exists(sys, card->address, ""))
		return -ENOENT;
	card->class = pci_number(sys, card->address, "class");
	card->vendor = (uint16_t)pci_number(sys, card->address, "vendor");
	card->device = (uint16_t)pci_number(sys, card->address, "device");
	if (card->class >> 16 != PCI_CARD_CLASS_NETWORK)
		return -ENODEV;
	card->virtual = pci_exists(sys, card->address, "physfn");
	pci_link(sys, card->address, "driver", card->driver, sizeof(card->driver));
	for (size_t i = 0; i < sizeof(bifurcated) / sizeof(bifurcated[0]); i++)
		card->bifurcated |= !strcmp(card->driver, bifurcated[i]);
	pci_interface(sys, card);
	pci_iommu(sys, card);
	return 0;
}

bool pci_card_physical(const struct pci_card *card)
{
	return pci_is_uio(card->driver) || (pci_is_vfio(card->driver) && card->noiommu);
}

/*
 * The commands that give the card to a driver for programs. Without an IOMMU that is
 * uio_pci_generic, which every distribution has; vfio without one is mostly left out of kernels.
 */
static void pci_how(const struct pci_card *card, const char *why, char *advice)
{
	if (card->iommu)
		snprintf(advice, PCI_CARD_ADVICE_CHARS,
			 "%s: modprobe vfio-pci; dpdk-devbind.py -b vfio-pci %s", why,
			 card->address);
	else
		snprintf(
		    advice, PCI_CARD_ADVICE_CHARS,
		    "%s: modprobe uio_pci_generic; dpdk-devbind.py -b uio_pci_generic %s; or "
		    "vfio-pci, if the kernel is started with intel_iommu=on (the card can then "
		    "reach weftd's memory alone)",
		    why, card->address);
}

bool pci_card_usable(const struct pci_card *card, char advice[PCI_CARD_ADVICE_CHARS])
{
	char why[160];

	*advice = '\0';
	if (card->bifurcated || pci_is_uio(card->driver))
		return true;
	if (!*card->driver) {
		pci_how(card, "no driver is bound to it", advice);
		return false;
	}
	if (!pci_is_vfio(card->driver)) {
		if (*card->interface)
			snprintf(why, sizeof(why),
				 "the kernel drives it (%s) as %s: use --port %s, or take it from "
				 "the kernel",
				 card->driver, card->interface, card->interface);
		else
			snprintf(why, sizeof(why), "the driver %s has it", card->driver);
		pci_how(card, why, advice);
		return false;
	}
	if (!*card->other)
		return true;
	snprintf(advice, PCI_CARD_ADVICE_CHARS,
		 "IOMMU group %d also has %s, which the driver %s has, and a group is given away "
		 "whole: dpdk-devbind.py -b vfio-pci %s, or -u %s",
		 card->group, card->other, card->other_driver, card->other, card->other);
	return false;
}

/* The file of the card's driver in /dev; "" if it has none. */
static void pci_node(const char *sys, const char *dev, const struct pci_card *card, char *path,
		     size_t bytes)
{
	char folder[PCI_PATH_CHARS], name[32];

	*path = '\0';
	if (pci_is_vfio(card->driver) && card->group >= 0) {
		snprintf(path, bytes, "%s/vfio/%s%d", dev, card->noiommu ? "noiommu-" : "",
			 card->group);
	} else if (pci_is_uio(card->driver)) {
		pci_path(sys, card->address, "uio", folder);
		if (pci_first(folder, name, sizeof(name)))
			snprintf(path, bytes, "%s/%s", dev, name);
	}
}

int pci_card_try(const char *sys, const char *dev, const struct pci_card *card,
		 char advice[PCI_CARD_ADVICE_CHARS])
{
	char path[PCI_PATH_CHARS];
	int fd, err;

	*advice = '\0';
	if (card->bifurcated)
		return 0;
	pci_node(sys, dev, card, path, sizeof(path));
	if (!*path) {
		snprintf(advice, PCI_CARD_ADVICE_CHARS,
			 "the driver %s offers no device to programs; dpdk-devbind.py -b vfio-pci "
			 "%s binds it anew",
			 card->driver, card->address);
		return -ENODEV;
	}
	/* Closing a uio device takes the right to do DMA from a program that has it open. */
	fd = pci_is_uio(card->driver) ? access(path, R_OK | W_OK) : open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0) {
		if (!pci_is_uio(card->driver))
			close(fd);
		return 0;
	}
	err = -errno;
	if (err == -EBUSY)
		snprintf(advice, PCI_CARD_ADVICE_CHARS,
			 "another program has it open: fuser -v %.200s names it", path);
	else if (err == -EACCES)
		snprintf(advice, PCI_CARD_ADVICE_CHARS,
			 "%.200s is not for this user: a udev rule gives it a group of weftd's",
			 path);
	else if (err == -EPERM)
		snprintf(advice, PCI_CARD_ADVICE_CHARS,
			 "%.200s needs CAP_SYS_RAWIO, since there is no IOMMU: start weftd as root "
			 "with --user root",
			 path);
	else
		snprintf(advice, PCI_CARD_ADVICE_CHARS, "%.200s: %s", path, strerror(-err));
	return err;
}

bool pci_card_has_msi(const char *sys, const char *address)
{
	char path[PCI_PATH_CHARS], name[32];

	pci_path(sys, address, "msi_irqs", path);
	return pci_first(path, name, sizeof(name));
}

int pci_card_claim(const char *sys, const char *address)
{
	char path[PCI_PATH_CHARS];
	int fd, err;

	pci_path(sys, address, "config", path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (!flock(fd, LOCK_EX | LOCK_NB))
		return fd;
	err = errno == EWOULDBLOCK ? -EBUSY : -errno;
	close(fd);
	return err;
}
