/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * System call filters as classic BPF programs, with one comparison per call. The kernel runs them
 * once and records the calls that are allowed regardless of arguments, so calls of the fast path
 * cost only a bitmap lookup.
 *
 * An attacker who controls a parser can make only the calls of a core's list: use weftd's
 * descriptors, map non-executable memory, send signals to weftd itself. Opening files, starting
 * programs and tracing processes are not possible.
 *
 * In sanitizer builds a core may also make the calls that reports need: reading files, running a
 * symbolizer.
 *
 * Calls the kernel. seccomp(2), Documentation/userspace-api/seccomp_filter.rst of Linux.
 */
#include "dpdk_app/sandbox.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dpdk_app/wire/wire.h"

#if defined(__x86_64__)
#define SANDBOX_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define SANDBOX_ARCH AUDIT_ARCH_AARCH64
#else
#error "name the architecture of system calls, AUDIT_ARCH_*"
#endif

/* Linux 5.1 to 5.14; the headers of the oldest supported build system define the others. */
#ifndef __NR_memfd_secret
#define __NR_memfd_secret 447
#endif
#ifndef __NR_process_madvise
#define __NR_process_madvise 440
#endif
#ifndef __NR_mount_setattr
#define __NR_mount_setattr 442
#endif

enum {
	SANDBOX_INSNS = 512,
};

struct filter {
	struct sock_filter insn[SANDBOX_INSNS];
	unsigned short n;
};

static void emit(struct filter *f, uint16_t code, uint8_t jt, uint8_t jf, uint32_t k)
{
	if (f->n < SANDBOX_INSNS)
		f->insn[f->n++] = (struct sock_filter){code, jt, jf, k};
}

static void load(struct filter *f, size_t offset)
{
	emit(f, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset);
}

static void answer(struct filter *f, uint32_t what)
{
	emit(f, BPF_RET | BPF_K, 0, 0, what);
}

static void begin(struct filter *f)
{
	f->n = 0;
	load(f, offsetof(struct seccomp_data, arch));
	emit(f, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, SANDBOX_ARCH);
	answer(f, SECCOMP_RET_KILL_PROCESS);
	load(f, offsetof(struct seccomp_data, nr));
#if defined(__x86_64__)
	/* Calls of x32 have this bit set: another table of the same architecture. */
	emit(f, BPF_JMP | BPF_JGE | BPF_K, 0, 1, 0x40000000);
	answer(f, SECCOMP_RET_KILL_PROCESS);
#endif
}

/* Sets the verdict for every call of the list. The call number is already loaded. */
static void rule(struct filter *f, const int *nr, size_t n, uint32_t what)
{
	for (size_t i = 0; i < n; i++) {
		emit(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (uint32_t)nr[i]);
		answer(f, what);
	}
}

static size_t arg_offset(unsigned arg)
{
	return offsetof(struct seccomp_data, args) + arg * sizeof(uint64_t);
}

/*
 * Sets the verdict for a call whose argument has one of these bits in its low word; other calls
 * continue.
 */
static void rule_bits(struct filter *f, int nr, unsigned arg, uint32_t bits, uint32_t what)
{
	emit(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 4, (uint32_t)nr);
	load(f, arg_offset(arg));
	emit(f, BPF_JMP | BPF_JSET | BPF_K, 0, 1, bits);
	answer(f, what);
	load(f, offsetof(struct seccomp_data, nr));
}

/* Sets the verdict for a call whose argument's low word is none of these values. */
static void rule_not(struct filter *f, int nr, unsigned arg, const uint32_t *value, uint8_t n,
		     uint32_t what)
{
	emit(f, BPF_JMP | BPF_JEQ | BPF_K, 0, (uint8_t)(n + 3), (uint32_t)nr);
	load(f, arg_offset(arg));
	for (uint8_t i = 0; i < n; i++)
		emit(f, BPF_JMP | BPF_JEQ | BPF_K, (uint8_t)(n - i), 0, value[i]);
	answer(f, what);
	load(f, offsetof(struct seccomp_data, nr));
}

static int install(const struct filter *f, unsigned long flags)
{
	const struct sock_fprog prog = {f->n, (struct sock_filter *)(uintptr_t)f->insn};

	if (f->n == SANDBOX_INSNS)
		return -E2BIG;
	/*
	 * Without the flag, older kernels disable speculative store bypass for this process. That
	 * costs a tenth of the speed and protects secrets that weftd does not have.
	 */
	return syscall(SYS_seccomp, (unsigned long)SECCOMP_SET_MODE_FILTER,
		       flags | SECCOMP_FILTER_FLAG_SPEC_ALLOW, &prog)
		   ? -errno
		   : 0;
}

/* Async-signal-safe: formats the line manually. */
static void on_forbidden(int signo, siginfo_t *info, void *context)
{
	static const char before[] = "weftd: system call ";
	static const char after[] = " is forbidden here (seccomp): weftd ends. If the call is "
				    "legitimate, use --seccomp off, and please report it\n";
	char line[sizeof(before) + sizeof(after) + 12], digits[12];
	unsigned nr = (unsigned)info->si_syscall;
	size_t used = sizeof(before) - 1, n = 0;

	(void)context;
	memcpy(line, before, used);
	do {
		digits[n++] = (char)('0' + nr % 10);
		nr /= 10;
	} while (nr);
	while (n)
		line[used++] = digits[--n];
	memcpy(line + used, after, sizeof(after) - 1);
	used += sizeof(after) - 1;
	signal(signo, SIG_DFL);
	if (write(STDERR_FILENO, line, used) < 0)
		abort();
	abort();
}

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* Calls that no part of weftd makes at run time. */
static const int sandbox_never[] = {
    __NR_process_vm_readv,
    __NR_process_vm_writev,
    __NR_process_madvise,
    __NR_kcmp,
    __NR_pidfd_getfd,
    __NR_mount,
    __NR_umount2,
    __NR_pivot_root,
    __NR_chroot,
    __NR_open_tree,
    __NR_move_mount,
    __NR_fsopen,
    __NR_fsconfig,
    __NR_fsmount,
    __NR_fspick,
    __NR_mount_setattr,
    __NR_setns,
    __NR_unshare,
    __NR_init_module,
    __NR_finit_module,
    __NR_delete_module,
    __NR_kexec_load,
    __NR_kexec_file_load,
    __NR_reboot,
    __NR_swapon,
    __NR_swapoff,
    __NR_quotactl,
    __NR_acct,
    __NR_settimeofday,
    __NR_clock_settime,
    __NR_adjtimex,
    __NR_clock_adjtime,
    __NR_sethostname,
    __NR_setdomainname,
    __NR_syslog,
    __NR_vhangup,
    __NR_keyctl,
    __NR_add_key,
    __NR_request_key,
    __NR_perf_event_open,
    __NR_userfaultfd,
    __NR_io_uring_setup,
    __NR_io_uring_enter,
    __NR_io_uring_register,
    __NR_name_to_handle_at,
    __NR_open_by_handle_at,
    __NR_personality,
    __NR_memfd_secret,
    __NR_mknodat,
    __NR_setuid,
    __NR_setgid,
    __NR_setreuid,
    __NR_setregid,
    __NR_setresuid,
    __NR_setresgid,
    __NR_setgroups,
    __NR_setfsuid,
    __NR_setfsgid,
#ifdef __NR_mknod
    __NR_mknod,
#endif
#ifdef __NR_iopl
    __NR_iopl,
    __NR_ioperm,
    __NR_modify_ldt,
#endif
};

#ifndef __SANITIZE_ADDRESS__
/* Sanitizer reports start a symbolizer; leak detection traces all threads. */
static const int sandbox_programs[] = {
    __NR_execve, __NR_execveat, __NR_ptrace,
#ifdef __NR_fork
    __NR_fork,   __NR_vfork,
#endif
};
#endif

/* Maps of an XDP program that is loaded. */
static const uint32_t sandbox_bpf[] = {BPF_MAP_LOOKUP_ELEM, BPF_MAP_UPDATE_ELEM,
				       BPF_MAP_DELETE_ELEM, BPF_OBJ_GET_INFO_BY_FD};

int sandbox_process(bool opens)
{
	static const int clone3[] = {__NR_clone3};
	static void *unwinder;
	struct sigaction action = {.sa_sigaction = on_forbidden, .sa_flags = SA_SIGINFO};
	struct filter f;

	sigemptyset(&action.sa_mask);
	if (sigaction(SIGSYS, &action, NULL))
		return -errno;
	/* Thread cancellation at the end needs it, and libraries cannot be loaded later. */
	unwinder = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_GLOBAL);
	(void)unwinder;
	begin(&f);
	rule(&f, sandbox_never, COUNT(sandbox_never), SECCOMP_RET_TRAP);
#ifndef __SANITIZE_ADDRESS__
	rule(&f, sandbox_programs, COUNT(sandbox_programs), SECCOMP_RET_TRAP);
	{
		/* Allows threads, not processes. */
		emit(&f, BPF_JMP | BPF_JEQ | BPF_K, 0, 4, __NR_clone);
		load(&f, arg_offset(0));
		emit(&f, BPF_JMP | BPF_JSET | BPF_K, 1, 0, CLONE_THREAD);
		answer(&f, SECCOMP_RET_TRAP);
		load(&f, offsetof(struct seccomp_data, nr));
	}
	/* Its flags are in memory, which a filter cannot read: libc falls back to clone(). */
	rule(&f, clone3, COUNT(clone3), SECCOMP_RET_ERRNO | ENOSYS);
	rule_bits(&f, __NR_mmap, 2, PROT_EXEC, SECCOMP_RET_TRAP);
#else
	(void)clone3;
#endif
	rule_bits(&f, __NR_mprotect, 2, PROT_EXEC, SECCOMP_RET_TRAP);
	rule_bits(&f, __NR_pkey_mprotect, 2, PROT_EXEC, SECCOMP_RET_TRAP);
	/* Later programs are loaded by the opener, and cores have lists of their own. */
	if (!opens)
		rule_not(&f, __NR_bpf, 0, sandbox_bpf, COUNT(sandbox_bpf), SECCOMP_RET_TRAP);
	answer(&f, SECCOMP_RET_ALLOW);
	return install(&f, SECCOMP_FILTER_FLAG_TSYNC);
}

/* ---- a core */

/* Calls of the fast path come first. */
static const int core_base[] = {
    __NR_sendto,
    __NR_recvfrom,
    __NR_sched_yield,
    __NR_io_submit,
    __NR_io_getevents,
    __NR_write,
    __NR_read,
    __NR_epoll_pwait2,
    __NR_epoll_pwait,
    __NR_epoll_ctl,
    __NR_timerfd_settime,
    __NR_pread64,
    __NR_pwrite64,
    __NR_preadv,
    __NR_pwritev,
    __NR_readv,
    __NR_writev,
    __NR_clock_gettime,
    __NR_getrusage,
    __NR_futex,
    __NR_madvise,
    __NR_mmap,
    __NR_munmap,
    __NR_mremap,
    __NR_mprotect,
    __NR_brk,
    __NR_getrandom,
    __NR_getcpu,
    __NR_getpid,
    __NR_gettid,
    __NR_gettimeofday,
    __NR_nanosleep,
    __NR_clock_nanosleep,
    __NR_ppoll,
    __NR_getsockopt,
    __NR_setsockopt,
    __NR_close,
    __NR_fstat,
    __NR_fcntl,
    __NR_sched_getaffinity,
    __NR_membarrier,
    __NR_rt_sigreturn,
    __NR_rt_sigprocmask,
    __NR_restart_syscall,
    __NR_exit,
    __NR_exit_group,
#ifdef __NR_poll
    __NR_poll,
    __NR_epoll_wait,
    __NR_time,
#endif
};

/* Ports: frames through packet sockets, TCP ports bound in the kernel, device drivers. */
static const int core_wire[] = {
    __NR_sendmsg, __NR_sendmmsg, __NR_recvmsg, __NR_recvmmsg, __NR_bpf,
    __NR_bind,    __NR_dup,      __NR_dup3,    __NR_ioctl,
};

#ifdef __SANITIZE_ADDRESS__
static const int core_report[] = {
    __NR_openat,
    __NR_lseek,
    __NR_readlinkat,
    __NR_newfstatat,
    __NR_clone,
    __NR_clone3,
    __NR_execve,
    __NR_wait4,
    __NR_kill,
    __NR_pipe2,
    __NR_dup3,
    __NR_uname,
    __NR_getuid,
    __NR_getppid,
    __NR_sigaltstack,
    __NR_socket,
    __NR_prctl,
    __NR_ptrace,
    __NR_set_robust_list,
    __NR_set_tid_address,
    __NR_rt_sigaction,
    __NR_getcwd,
    __NR_faccessat,
    __NR_close_range,
#ifdef __NR_open
    __NR_open,
    __NR_readlink,
    __NR_stat,
    __NR_access,
    __NR_pipe,
    __NR_dup2,
    __NR_fork,
    __NR_vfork,
    __NR_arch_prctl,
    __NR_getdents64,
#endif
};
#endif

int sandbox_core(const struct core *core)
{
	/* A fault of weftd itself restores the default action, which ends weftd. */
	static const uint32_t signals[] = {SIGBUS, SIGSEGV, SIGABRT, SIGSYS};
	static const uint32_t families[] = {AF_INET};
	static const uint32_t nothing[] = {0};
	static const int calls[] = {__NR_rt_sigaction, __NR_tgkill, __NR_prlimit64};
	static const int sockets[] = {__NR_socket};
	const uint32_t self = (uint32_t)getpid();
	bool wires = core->num_wires > 0 || core->app->conf.keep_port_rights;
	struct filter f;

	begin(&f);
	rule(&f, core_base, 20, SECCOMP_RET_ALLOW);
	rule_bits(&f, __NR_mmap, 2, PROT_EXEC, SECCOMP_RET_TRAP);
	rule_bits(&f, __NR_mprotect, 2, PROT_EXEC, SECCOMP_RET_TRAP);
	rule(&f, core_base + 20, COUNT(core_base) - 20, SECCOMP_RET_ALLOW);
#ifdef __SANITIZE_ADDRESS__
	rule(&f, core_report, COUNT(core_report), SECCOMP_RET_ALLOW);
#endif
	rule_not(&f, __NR_rt_sigaction, 0, signals, COUNT(signals), SECCOMP_RET_TRAP);
	rule_not(&f, __NR_tgkill, 0, &self, 1, SECCOMP_RET_TRAP);
	/* Only its own limits, and only to read them. */
	rule_not(&f, __NR_prlimit64, 0, nothing, COUNT(nothing), SECCOMP_RET_TRAP);
	rule_not(&f, __NR_prlimit64, 2, nothing, COUNT(nothing), SECCOMP_RET_TRAP);
	rule(&f, calls, COUNT(calls), SECCOMP_RET_ALLOW);
	/*
	 * Any shard of a NIC may reserve a TCP port or join a group, whichever core owns the wire.
	 */
	for (uint32_t i = 0; i < core->num_shards; i++)
		wires = wires || core->shard[i]->nic->conf->wire != CONF_WIRE_SWITCH;
	if (wires) {
		rule_not(&f, __NR_bpf, 0, sandbox_bpf, COUNT(sandbox_bpf), SECCOMP_RET_TRAP);
		rule(&f, core_wire, COUNT(core_wire), SECCOMP_RET_ALLOW);
		rule_not(&f, __NR_socket, 0, families, COUNT(families), SECCOMP_RET_TRAP);
		rule(&f, sockets, COUNT(sockets), SECCOMP_RET_ALLOW);
	}
	answer(&f, SECCOMP_RET_TRAP);
	return install(&f, 0);
}

/* ---- processes that make code: helper.h */

static const int helper_calls[] = {
    __NR_recvfrom,     __NR_sendto,    __NR_mmap,          __NR_munmap,
    __NR_mprotect,     __NR_mremap,    __NR_madvise,       __NR_brk,
    __NR_futex,        __NR_getrandom, __NR_exit,          __NR_exit_group,
    __NR_write,        __NR_fstat,     __NR_clock_gettime, __NR_restart_syscall,
    __NR_rt_sigreturn,
};

static int helper_filter(const int *more, size_t n)
{
	struct filter f;

#ifdef __SANITIZE_ADDRESS__
	/* Reports of sanitizers need more than a helper may. */
	return 0;
#endif
	begin(&f);
	rule(&f, helper_calls, COUNT(helper_calls), SECCOMP_RET_ALLOW);
	rule(&f, more, n, SECCOMP_RET_ALLOW);
	answer(&f, SECCOMP_RET_KILL_PROCESS);
	return install(&f, 0);
}

int sandbox_compiler(void)
{
	return helper_filter(NULL, 0);
}

int sandbox_loader(void)
{
	static const int calls[] = {__NR_recvmsg, __NR_pread64, __NR_newfstatat, __NR_getuid,
				    __NR_close};

	return helper_filter(calls, COUNT(calls));
}
