/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PCI network cards as the kernel shows them in sysfs: who drives them, and what an operator has to
 * do before DPDK can. Nothing here needs DPDK, and nothing is changed.
 *
 * Linux, Documentation/ABI/testing/sysfs-bus-pci and Documentation/driver-api/vfio.rst.
 */
#ifndef WEFT_APP_PCI_CARD_H
#define WEFT_APP_PCI_CARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PCI_CARD_SYS "/sys"
#define PCI_CARD_DEV "/dev"

enum {
	PCI_CARD_ADDRESS_CHARS = 13, /* "0000:3b:00.1" */
	PCI_CARD_ADVICE_CHARS = 512,
	PCI_CARD_CLASS_NETWORK = 0x02,
	PCI_CARD_CLASS_BRIDGE = 0x06,
};

struct pci_card {
	char address[PCI_CARD_ADDRESS_CHARS];
	char driver[32];    /* "": none */
	char interface[16]; /* of the kernel; "": none */
	uint16_t vendor, device;
	uint32_t class;                     /* class, subclass, programming interface */
	int group;                          /* IOMMU group, -1: none */
	bool noiommu;                       /* the group protects nothing: vfio without an IOMMU */
	bool virtual;                       /* a virtual function */
	bool bifurcated;                    /* DPDK works beside the kernel's driver */
	bool iommu;                         /* the machine has IOMMU groups */
	char other[PCI_CARD_ADDRESS_CHARS]; /* of the same group and in the way; "": none */
	char other_driver[32];
};

/*
 * Writes an address in full, "3b:00.1" as "0000:3b:00.1" and in lower case. Returns false if text
 * is no address.
 */
bool pci_card_address(const char *text, char address[PCI_CARD_ADDRESS_CHARS]);

/* Reads the attributes of a card in sysfs; sys is PCI_CARD_SYS. Returns 0, -ENOENT or -ENODEV. */
int pci_card_read(const char *sys, const char *address, struct pci_card *card)
    __attribute__((warn_unused_result));

/*
 * Decides whether DPDK can drive the card. Returns true, or false with one line in advice: what is
 * missing and the command that mends it.
 */
bool pci_card_usable(const struct pci_card *card, char advice[PCI_CARD_ADVICE_CHARS]);

/* Returns true if DMA of the card takes physical addresses, which DPDK has of hugepages only. */
bool pci_card_physical(const struct pci_card *card);

/*
 * Tries to open what the card's driver offers to programs; dev is PCI_CARD_DEV. Returns 0; -EBUSY:
 * another program holds the card; -EACCES and others as open(2). advice as above.
 */
int pci_card_try(const char *sys, const char *dev, const struct pci_card *card,
		 char advice[PCI_CARD_ADVICE_CHARS]) __attribute__((warn_unused_result));

/* Returns true if the card's interrupts are messages (MSI, MSI-X) that its driver has enabled. */
bool pci_card_has_msi(const char *sys, const char *address);

/*
 * Keeps other weftds off the card for as long as the descriptor is open. Returns it, or -EBUSY or
 * another -errno.
 */
int pci_card_claim(const char *sys, const char *address) __attribute__((warn_unused_result));

#endif /* WEFT_APP_PCI_CARD_H */
