/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weftd --check; see check.h.
 *
 * Opens no port, claims nothing and creates no file. Calls lib/doctor.h, eal_cpus(), runner_cpus(),
 * pci_card.c and wire_netdev_query().
 */
#include "dpdk_app/check.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/capability.h>
#include <linux/ethtool.h>
#include <net/if.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dpdk_app/eal.h"
#include "dpdk_app/runner.h"
#include "dpdk_app/wire/pci_card.h"
#include "dpdk_app/wire/wire.h"
#include "lib/doctor.h"

enum {
	CHECK_CPUS = CONF_MAX_CORES * 16,
	CHECK_WRONG = 2,
};

struct check {
	struct doctor doctor;
	const struct conf *conf;
};

static void nic_name(const struct conf *conf, uint32_t index, char name[16])
{
	snprintf(name, 16, "%s%u", conf->name, (uint8_t)index);
}

static bool has_capability(int capability)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}};

	if (syscall(SYS_capget, &header, data))
		return false;
	return data[capability / 32].effective >> (capability % 32) & 1;
}

/* ---- CPUs */

/* Threads that work in the place of processes (runner.h), where the configuration has them. */
static void check_runners(struct check *c, int poller)
{
	int cpu[RUNNER_CPUS + 1];
	uint32_t num = runner_cpus(c->conf, true, cpu);
	struct rlimit limit = {0};

	if (!num) {
		doctor_add(&c->doctor, DOCTOR_OK, "cores", NULL,
			   "none are named: weftd polls on CPU %d", poller);
		return;
	}
	doctor_add(&c->doctor, DOCTOR_OK, "cores", NULL,
		   "none are named: weftd works on the CPU of the program that rings, %u CPUs, and "
		   "polls on CPU %d",
		   num, poller);
	if (!has_capability(CAP_SYS_NICE) &&
	    (getrlimit(RLIMIT_RTPRIO, &limit) || limit.rlim_cur < 1))
		doctor_add(&c->doctor, DOCTOR_NOTE, "priority",
			   "start it as root, by weftd.service, or with ulimit -r 2",
			   "weftd may not raise the priority of its threads: requests wait for "
			   "programs that compute on all CPUs");
}

static void check_cores(struct check *c)
{
	const struct conf *conf = c->conf;
	int cpu[CHECK_CPUS];
	uint32_t num = eal_cpus(cpu, CHECK_CPUS);
	char subject[32];

	for (uint32_t i = 0; i < conf->num_cores; i++) {
		bool there = false;

		for (uint32_t k = 0; k < num; k++)
			there |= cpu[k] == conf->core[i].cpu;
		snprintf(subject, sizeof(subject), "CPU %d", conf->core[i].cpu);
		if (!there)
			doctor_add(&c->doctor, DOCTOR_FAIL, subject,
				   "name another in cores, or widen taskset or the cpuset",
				   "it does not exist or is not permitted to this process");
		else
			doctor_cpu(&c->doctor, subject, (unsigned long)conf->core[i].cpu);
	}
	if (!conf->num_cores && num)
		check_runners(c, cpu[num - 1]);
}

/* ---- names, the user */

/* Looks whether another weftd holds the lock of a name. */
static void check_name(struct check *c, uint32_t index)
{
	char path[CONF_PATH_CHARS + 32], name[16];
	int fd;

	nic_name(c->conf, index, name);
	snprintf(path, sizeof(path), "%s/%s.lock", c->conf->run_dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return;
	if (flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK)
		doctor_add(&c->doctor, DOCTOR_WARN, name,
			   "end it first, or choose another name or run-dir",
			   "a weftd runs with this name in %s", c->conf->run_dir);
	close(fd);
}

static void check_run_dir(struct check *c)
{
	const char *dir = c->conf->run_dir;
	char copy[CONF_PATH_CHARS];
	struct stat st;

	if (!stat(dir, &st)) {
		if (!S_ISDIR(st.st_mode))
			doctor_add(&c->doctor, DOCTOR_FAIL, "run-dir", "name a directory",
				   "%s is none", dir);
		else if (st.st_mode & (S_IWGRP | S_IWOTH) && !(st.st_mode & S_ISVTX))
			doctor_add(&c->doctor, DOCTOR_FAIL, "run-dir",
				   "chmod go-w it, or choose another run-dir",
				   "%s is writable by other users", dir);
		else if (access(dir, W_OK))
			doctor_add(&c->doctor, DOCTOR_FAIL, "run-dir",
				   "be root, or choose a run-dir of your own", "%s: %s", dir,
				   strerror(errno));
		return;
	}
	snprintf(copy, sizeof(copy), "%s", dir);
	if (access(dirname(copy), W_OK))
		doctor_add(&c->doctor, DOCTOR_FAIL, "run-dir",
			   "be root, or choose a run-dir that can be created", "%s: %s", dir,
			   strerror(errno));
}

static void check_user(struct check *c)
{
	if (*c->conf->user && !getpwnam(c->conf->user))
		doctor_add(&c->doctor, DOCTOR_FAIL, "user", "useradd, or another user",
			   "there is no user %s", c->conf->user);
	if (!geteuid() && !*c->conf->user && !getpwnam("weft"))
		doctor_add(&c->doctor, DOCTOR_NOTE, "user", "systemd-sysusers, after make install",
			   "there is no user weft: weftd would run as root");
}

/* ---- ports */

/* Compares the NUMA nodes of a port's device and of the CPUs that are named. */
static void check_numa(struct check *c, const char *subject, const char *device)
{
	for (uint32_t i = 0; i < c->conf->num_cores; i++)
		doctor_numa(&c->doctor, subject, device, (unsigned long)c->conf->core[i].cpu);
}

static void check_offloads(struct check *c, const char *subject, const char *device)
{
	uint32_t flags = wire_netdev_flags(device);

	doctor_offloads(&c->doctor, subject, device,
			(flags & ETH_FLAG_LRO ? DOCTOR_OFFLOAD_LRO : 0) |
			    (flags & ETH_FLAG_RXVLAN ? DOCTOR_OFFLOAD_RX_VLAN : 0));
}

static void check_netdev(struct check *c, const char *subject, const struct conf_nic *nic)
{
	uint32_t want = c->conf->mtu, mtu = 0;
	uint8_t mac[6];
	int ifindex, err;
	char state[32], cure[160], device[64];

	err = wire_netdev_query(nic->device, &mtu, mac, &ifindex);
	if (err) {
		doctor_add(&c->doctor, DOCTOR_FAIL, subject,
			   "weftd --list-ports, ip link; the name may be another's namespace's",
			   "interface %s: %s", nic->device, strerror(-err));
		return;
	}
	snprintf(cure, sizeof(cure), "ip link set %s mtu %u", nic->device, want);
	if (want > mtu)
		doctor_add(&c->doctor, DOCTOR_FAIL, subject, cure,
			   "the MTU of %s is %u, and mtu = %u is configured", nic->device, mtu,
			   want);
	else
		doctor_add(&c->doctor, DOCTOR_OK, subject, NULL, "interface %s, MTU %u",
			   nic->device, want ? want : mtu);
	snprintf(device, sizeof(device), "/sys/class/net/%s/device", nic->device);
	check_numa(c, subject, device);
	check_offloads(c, subject, nic->device);
	snprintf(cure, sizeof(cure), "ip link set %s up; then the cable and the switch",
		 nic->device);
	if (doctor_line(&c->doctor, state, sizeof(state), "/sys/class/net/%s/operstate",
			nic->device) &&
	    !strcmp(state, "down"))
		doctor_add(&c->doctor, DOCTOR_WARN, subject, cure, "the link of %s is down",
			   nic->device);
	if (!has_capability(CAP_NET_RAW) || !has_capability(CAP_NET_ADMIN))
		doctor_add(&c->doctor, DOCTOR_FAIL, subject,
			   "run it as root, or by weftd.service, which gives it what it needs",
			   "opening an interface needs CAP_NET_RAW and CAP_NET_ADMIN");
}

static void check_card(struct check *c, const char *subject, const struct conf_nic *nic)
{
	char advice[PCI_CARD_ADVICE_CHARS] = "";
	struct pci_card card;
	char device[64];

	snprintf(device, sizeof(device), "/sys/bus/pci/devices/%.32s", nic->device);
	check_numa(c, subject, device);
	if (pci_card_read(PCI_CARD_SYS, nic->device, &card))
		doctor_add(&c->doctor, DOCTOR_FAIL, subject, "weftd --list-ports shows cards",
			   "no network card has the address %s", nic->device);
	else if (!pci_card_usable(&card, advice))
		doctor_add(&c->doctor, DOCTOR_FAIL, subject, advice, "card %s cannot be used yet",
			   nic->device);
	else
		doctor_add(&c->doctor, DOCTOR_OK, subject, NULL, "card %s", nic->device);
}

static void check_memif(struct check *c, const char *subject, const struct conf_nic *nic)
{
	char copy[CONF_DEVICE_CHARS];
	struct stat st;

	snprintf(copy, sizeof(copy), "%s", nic->device);
	if (stat(dirname(copy), &st))
		doctor_add(&c->doctor, nic->memif_server ? DOCTOR_FAIL : DOCTOR_WARN, subject,
			   "make it, or name another path", "the directory of %s: %s", nic->device,
			   strerror(errno));
	else
		doctor_add(&c->doctor, DOCTOR_OK, subject, NULL, "memif %s, %s", nic->device,
			   nic->memif_server ? "server" : "client");
}

static void check_tap(struct check *c, const char *subject)
{
	if (access("/dev/net/tun", R_OK | W_OK))
		doctor_add(&c->doctor, DOCTOR_FAIL, subject,
			   "modprobe tun; in a unit DeviceAllow=/dev/net/tun rw",
			   "/dev/net/tun: %s", strerror(errno));
	else
		doctor_add(&c->doctor, DOCTOR_OK, subject, NULL, "a tap can be made");
}

static void check_nic(struct check *c, uint32_t index)
{
	const struct conf_nic *nic = &c->conf->nic[index];
	char name[16];

	nic_name(c->conf, index, name);
	check_name(c, index);
	switch (nic->wire) {
	case CONF_WIRE_SWITCH:
		break;
	case CONF_WIRE_NETDEV:
		check_netdev(c, name, nic);
		break;
	case CONF_WIRE_MEMIF:
		check_memif(c, name, nic);
		break;
	case CONF_WIRE_PCI:
		check_card(c, name, nic);
		break;
	case CONF_WIRE_TAP:
		check_tap(c, name);
		break;
	case CONF_WIRE_NONE:
		break;
	}
}

static void check_conf(struct check *c)
{
	check_cores(c);
	check_run_dir(c);
	check_user(c);
	for (uint32_t i = 0; i < c->conf->num_nics; i++)
		check_nic(c, i);
	doctor_add(&c->doctor, DOCTOR_OK, "configuration", NULL,
		   "%u NICs, %u of them on the switch", c->conf->num_nics,
		   c->conf->num_switch_nics);
}

bool check_requested(int argc, char **argv, struct conf *conf)
{
	for (int i = 1; i < argc; i++) {
		conf->check |= !strcmp(argv[i], "--check");
		conf->json |= !strcmp(argv[i], "--json");
	}
	return conf->check;
}

int check_run(const struct conf *conf, const char *error)
{
	struct check c = {.doctor = {.root = ""}, .conf = conf};
	int status;

	doctor_machine(&c.doctor);
	if (*error)
		doctor_add(&c.doctor, DOCTOR_FAIL, "configuration",
			   "weftd --help explains every word", "%s", error);
	else
		check_conf(&c);
	doctor_print(&c.doctor, conf->json, stdout);
	status = c.doctor.worst == DOCTOR_FAIL;
	doctor_free(&c.doctor);
	if (fflush(stdout))
		status = 1;
	return *error ? CHECK_WRONG : status;
}
