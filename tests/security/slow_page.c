/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory whose pages arrive late or never: a file of a FUSE whose server is the attacker's, mapped
 * and registered as memory that the NIC has not mapped.
 *
 * slow_page SOCKET SECONDS HOLD-MS [PROCESSES | atomic], as root, mounts; then, as another user,
 * attaches to weftd and makes the NIC read from such pages, write to them and carry out atomics
 * there (atomic: these alone) for SECONDS. The server answers each read of a page after HOLD-MS; 0:
 * never. It prints "attacking" and the server's pid once a page is requested and held. The server
 * outlives this process when that is killed, and holds the page. Exit status 77: the kernel allows
 * no such file system here.
 *
 * PROCESSES: attaches that many processes one after the other; each makes the NIC read one page and
 * is killed. Prints the number that were not refused, and the reason of the refusal.
 */
#include <linux/fuse.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>

#include "lib/clock.h"
#include "tests/security/taker.h"

enum {
	NOBODY = 65534,
	PAGE = 4096,
	FILE_PAGES = 16384,
	FAR_PAGES = 256, /* more pages than the kernel reads ahead */
	FILE_NODE = 2,
	OUTSTANDING = 8, /* requests of a kind */
	HELD_MAX = 64,
	SERVER_S = 120, /* the server ends after this time in any case */
};

/* ---- the server */

struct server {
	int fuse, tell; /* tell: receives a byte when a page is held */
	uint64_t hold_ms;
	struct {
		uint64_t unique, due_ms;
		uint32_t bytes;
	} held[HELD_MAX];
	uint32_t num_held;
};

static void reply(const struct server *s, uint64_t unique, int error, const void *data,
		  size_t bytes)
{
	static uint8_t packet[sizeof(struct fuse_out_header) + 65536];
	struct fuse_out_header head = {
	    .len = (uint32_t)(sizeof(head) + bytes), .error = error, .unique = unique};

	memcpy(packet, &head, sizeof(head));
	if (bytes)
		memcpy(packet + sizeof(head), data, bytes);
	/* The kernel no longer knows an interrupted request. */
	if (write(s->fuse, packet, head.len) < 0 && errno != ENOENT)
		_exit(0);
}

static struct fuse_attr attr_of(uint64_t node)
{
	struct fuse_attr attr = {.ino = node, .nlink = 1, .mode = S_IFDIR | 0755, .blksize = PAGE};

	if (node == FILE_NODE) {
		attr.mode = S_IFREG | 0666;
		attr.size = (uint64_t)FILE_PAGES * PAGE;
	}
	return attr;
}

static void hold_read(struct server *s, uint64_t unique, uint32_t bytes)
{
	if (s->num_held == HELD_MAX) {
		reply(s, unique, -EIO, NULL, 0);
		return;
	}
	s->held[s->num_held].unique = unique;
	s->held[s->num_held].due_ms = s->hold_ms ? clock_now_ms() + s->hold_ms : UINT64_MAX;
	s->held[s->num_held++].bytes = bytes;
	if (write(s->tell, "", 1) != 1 && errno != EAGAIN)
		_exit(1);
}

static void serve_one(struct server *s, const struct fuse_in_header *in, const void *arg)
{
	struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = PAGE};
	struct fuse_entry_out entry = {.nodeid = FILE_NODE, .attr = attr_of(FILE_NODE)};
	struct fuse_attr_out attr = {.attr = attr_of(in->nodeid)};
	struct fuse_open_out open = {.fh = 1};

	switch (in->opcode) {
	case FUSE_INIT:
		reply(s, in->unique, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		reply(s, in->unique, 0, &entry, sizeof(entry));
		break;
	case FUSE_GETATTR:
		reply(s, in->unique, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
		reply(s, in->unique, 0, &open, sizeof(open));
		break;
	case FUSE_READ:
		hold_read(s, in->unique, ((const struct fuse_read_in *)arg)->size);
		break;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
		reply(s, in->unique, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		reply(s, in->unique, -ENOSYS, NULL, 0);
	}
}

static void give_due(struct server *s)
{
	static const uint8_t zero[65536];
	uint32_t kept = 0;

	for (uint32_t i = 0; i < s->num_held; i++) {
		if (s->held[i].due_ms <= clock_now_ms())
			reply(s, s->held[i].unique, 0, zero, s->held[i].bytes);
		else
			s->held[kept++] = s->held[i];
	}
	s->num_held = kept;
}

static void serve(struct server *s)
{
	union {
		struct fuse_in_header head;
		uint8_t bytes[65536 + PAGE];
	} packet;
	uint64_t end_ms = clock_now_ms() + SERVER_S * 1000;

	while (clock_now_ms() < end_ms) {
		struct pollfd p = {.fd = s->fuse, .events = POLLIN};
		ssize_t n;

		if (poll(&p, 1, 1) == 1) {
			n = read(s->fuse, &packet, sizeof(packet));
			if (n < 0 && errno == ENODEV)
				break; /* no process has it mounted any more */
			if (n >= (ssize_t)sizeof(packet.head))
				serve_one(s, &packet.head, packet.bytes + sizeof(packet.head));
		}
		give_due(s);
	}
	_exit(0);
}

/*
 * Enters a mount namespace of its own. In a user namespace the attacker could mount as well, but
 * there kernels differ in whether a server gets requests that weftd's user causes.
 */
static void leave_mounts(void)
{
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		_exit(77);
}

static void drop_rights(void)
{
	if (setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY) ||
	    prctl(PR_SET_DUMPABLE, 1))
		die("no other user: %s", strerror(errno));
}

/* Mounts, starts the server, maps the file. *tell is readable once a page is held. */
static uint8_t *slow_memory(uint64_t hold_ms, int *tell, pid_t *server)
{
	struct server s = {.fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC), .hold_ms = hold_ms};
	char options[128];
	int pipe_fd[2], fd;
	uint8_t *mem;

	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other",
		 s.fuse);
	if (s.fuse < 0 || mount("slow_page", "/mnt", "fuse", MS_NOSUID | MS_NODEV, options))
		_exit(77);
	if (pipe(pipe_fd) || fcntl(pipe_fd[1], F_SETFL, O_NONBLOCK))
		die("pipe: %s", strerror(errno));
	*server = fork();
	if (!*server) {
		close(pipe_fd[0]);
		s.tell = pipe_fd[1];
		drop_rights();
		serve(&s);
	}
	close(pipe_fd[1]);
	close(s.fuse);
	*tell = pipe_fd[0];
	drop_rights();
	fd = open("/mnt/slow", O_RDWR | O_CLOEXEC);
	mem = fd < 0 ? MAP_FAILED
		     : mmap(NULL, (size_t)FILE_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE,
			    fd, 0);
	if (mem == MAP_FAILED)
		die("the slow file: %s", strerror(errno));
	close(fd);
	return mem;
}

/* ---- the client */

/*
 * Not by stdio: while weftd waits for a page, the address space of this process is locked, so an
 * allocation would wait as well.
 */
static void tell_attack(pid_t server)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "attacking: server %d\n", (int)server);

	if (write(STDOUT_FILENO, text, (size_t)n) != n)
		_exit(1);
}

/* Requests read a slow page, write one and add to a word of one, in turn. */
static void attack(struct victim *v, uint8_t *slow, uint32_t stag, int tell, pid_t server,
		   bool atomics, uint64_t end_ms)
{
	struct victim sink = *v;
	const uint32_t kinds = 3;
	uint32_t posted = 0, done = 0;
	bool told = false;

	sink.mem = slow;
	sink.stag = stag;
	while (clock_now_ms() < end_ms) {
		struct pollfd p = {.fd = tell, .events = POLLIN};
		uint64_t page = (uint64_t)(posted % FILE_PAGES) * PAGE;

		done = completions(v, done, false);
		if (posted - done < OUTSTANDING) {
			sink.mem = slow + page;
			if (atomics || posted % kinds == 2)
				post(&sink, HW_WQE_FETCH_ADD, (uintptr_t)v->mem, 8, v->stag);
			else if (posted % kinds)
				post(v, HW_WQE_WRITE, (uintptr_t)slow + page, 1024, stag);
			else
				post(&sink, HW_WQE_WRITE, (uintptr_t)v->mem, 1024, v->stag);
			posted++;
		} else {
			usleep(200);
		}
		if (!told && poll(&p, 1, 0) == 1) {
			told = true;
			tell_attack(server);
		}
	}
	if (!told)
		die("no page was asked for");
}

/* ---- copies that outlive their processes */

struct slow {
	uint8_t *mem;
	int tell;
};

/* Registers that many bytes. Returns the STag. */
static uint32_t reg_slow(struct victim *v, uint8_t *slow, uint64_t bytes)
{
	struct hw_cmd cmd = {.op = HW_CMD_REG_MR};
	struct hw_cmd_resp resp;

	cmd.u.reg_mr = (struct hw_cmd_reg_mr){
	    .addr = (uintptr_t)slow,
	    .iova = (uintptr_t)slow,
	    .bytes = bytes,
	    .pd = v->pd,
	    .access = HW_ACCESS_LOCAL_WRITE | HW_ACCESS_REMOTE_WRITE | HW_ACCESS_REMOTE_ATOMIC};
	must(v, &cmd, &resp);
	return resp.u.mr.stag;
}

static struct result leave_copy(uint32_t before, const void *arg)
{
	const struct slow *slow = arg;
	uint8_t *page = slow->mem + (uint64_t)before * FAR_PAGES * PAGE;
	struct result r = {0};
	int sock = connect_or_say(&r), mem;
	struct pollfd p = {.fd = slow->tell, .events = POLLIN};
	struct victim v;
	char byte;

	if (sock < 0)
		return r;
	mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	if (attach_on(&v, sock, mem))
		die("ATTACH");
	close(mem);
	furnish_attached(&v, 1);
	post(&v, HW_WQE_WRITE, (uintptr_t)page, 64, reg_slow(&v, page, PAGE));
	if (poll(&p, 1, ANSWER_MS) != 1 || read(slow->tell, &byte, 1) != 1)
		die("no page was asked for");
	r.taken = 1;
	return r;
}

static void leave_copies(const struct slow *slow, uint32_t processes, pid_t server)
{
	struct result all = {0};

	while (all.taken < processes) {
		pid_t pid;
		struct result r = take_apart(leave_copy, all.taken, slow, &pid);

		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		all.status = r.status;
		all.quota = r.quota;
		if (!r.taken)
			break;
		all.taken++;
	}
	say_result(&all);
	tell_attack(server);
	pause();
}

int main(int argc, char **argv)
{
	struct victim v;
	struct slow slow;
	pid_t server;

	bool atomics = argc == 5 && !strcmp(argv[4], "atomic");

	if (argc != 4 && argc != 5) {
		fprintf(stderr, "slow_page: say SOCKET SECONDS HOLD-MS [PROCESSES | atomic]\n");
		return 2;
	}
	socket_path = argv[1];
	leave_mounts();
	slow.mem = slow_memory(strtoull(argv[3], NULL, 10), &slow.tell, &server);
	if (argc == 5 && !atomics)
		leave_copies(&slow, (uint32_t)strtoul(argv[4], NULL, 10), server);
	furnish(&v, 1);
	attack(&v, slow.mem, reg_slow(&v, slow.mem, (uint64_t)FILE_PAGES * PAGE), slow.tell, server,
	       atomics, clock_now_ms() + strtoull(argv[2], NULL, 10) * 1000);
	/*
	 * The server is root's: it ends when no process has its pages mapped. LeakSanitizer would
	 * wait.
	 */
	_exit(0);
}
