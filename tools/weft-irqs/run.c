/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starts the command and counts until it ends, or for the requested time.
 *
 * Calls irqs.c and out.c. The command waits at a pipe between fork and exec, so that everything is
 * counted; signals come by sigtimedwait(2).
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/clock.h"
#include "tools/weft-irqs/tool.h"

/* The command between fork and its end. */
struct child {
	pid_t pid;  /* 0: there is none */
	int go;     /* a byte here lets it run */
	int result; /* errno of exec; empty after success */
	bool ended;
	int status; /* an exit code as shells give it */
};

/* While counting. */
struct session {
	struct tool *tool;
	struct irqs *irqs;
	struct child child;
	sigset_t signals;
	struct irqs_report
	    *before; /* report at the end of the last interval; NULL: there was none */
	double start_s;
	double next_s; /* end of this interval */
	char message[256];
};

/* Interval of checks that processes still exist. */
static const double LOOK_S = 0.1;

/* ---- the command ---------------------------------------------------------------------------- */

static _Noreturn void child_main(const struct tool *tool, int go, int result,
				 const sigset_t *signals)
{
	int error;
	char byte;

	/* The pipe is closed without a byte when counting could not start. */
	if (read(go, &byte, 1) != 1)
		_exit(TOOL_FAILED);
	sigprocmask(SIG_SETMASK, signals, NULL);
	execvp(tool->command[0], tool->command);
	error = errno;
	if (write(result, &error, sizeof(error)) != sizeof(error))
		_exit(TOOL_FAILED);
	_exit(TOOL_NOT_FOUND);
}

static int child_fork(const struct tool *tool, struct child *child, const sigset_t *before)
{
	int go[2] = {-1, -1}, result[2] = {-1, -1};

	if (pipe2(go, O_CLOEXEC) || pipe2(result, O_CLOEXEC))
		goto failed;
	child->pid = fork();
	if (child->pid < 0)
		goto failed;
	if (child->pid == 0) {
		close(go[1]);
		close(result[0]);
		child_main(tool, go[0], result[1], before);
	}
	close(go[0]);
	close(result[1]);
	child->go = go[1];
	child->result = result[0];
	return 0;

failed:
	fail("cannot start a process: %s", strerror(errno));
	child->pid = 0;
	for (int i = 0; i < 2; i++) {
		if (go[i] >= 0)
			close(go[i]);
		if (result[i] >= 0)
			close(result[i]);
	}
	return TOOL_FAILED;
}

static int status_code(int status)
{
	return WIFSIGNALED(status) ? TOOL_SIGNALLED + WTERMSIG(status) : WEXITSTATUS(status);
}

/*
 * Lets it run and checks that exec succeeds: 0, or the exit code of the program after an error
 * message.
 */
static int child_exec(const struct tool *tool, struct child *child)
{
	int error = 0;
	ssize_t n;

	if (write(child->go, "", 1) != 1)
		return fail("the command's process has gone: %s", strerror(errno));
	do
		n = read(child->result, &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	if (n != sizeof(error))
		return 0;
	fail("cannot run '%s': %s", tool->command[0], strerror(error));
	return error == ENOENT ? TOOL_NOT_FOUND : TOOL_NOT_EXECUTABLE;
}

static void child_close(struct child *child)
{
	if (!child->pid)
		return;
	close(child->go);
	close(child->result);
	if (!child->ended)
		(void)waitpid(child->pid, NULL, 0);
}

/* True if it has just ended. */
static bool child_reap(struct child *child)
{
	int status;

	if (!child->pid || child->ended || waitpid(child->pid, &status, WNOHANG) != child->pid)
		return false;
	child->ended = true;
	child->status = status_code(status);
	return true;
}

/* ---- counting ------------------------------------------------------------------------------- */

static int print_report(const struct session *s, const struct irqs_report *report, double at_s,
			bool last)
{
	struct tool_print print = {
	    .tool = s->tool,
	    .report = report,
	    .at_s = at_s,
	    .last = last,
	    .status = s->child.pid && s->child.ended ? s->child.status : -1,
	};

	return out_print(&print);
}

/* Difference to the previous interval. */
static int end_interval(struct session *s)
{
	struct irqs_report *report, *part;
	double at_s;
	int rc;

	if (irqs_report(s->irqs, &report))
		return fail("%s", s->message);
	at_s = (double)report->time_ns / 1e9;
	part = irqs_report_copy(report);
	if (!part) {
		irqs_report_free(report);
		return fail("out of memory");
	}
	if (s->before)
		irqs_report_since(part, s->before);
	rc = print_report(s, part, at_s, false);
	irqs_report_free(part);
	irqs_report_free(s->before);
	s->before = report;
	while (s->next_s <= clock_now_s())
		s->next_s += s->tool->interval_s;
	return rc;
}

/* The processes of --pid may all have ended, when no others are counted. */
static bool all_gone(const struct session *s)
{
	const struct irqs_options *o = &s->tool->counted;

	if (s->child.pid || o->all || o->num_names)
		return false;
	for (uint32_t i = 0; i < o->num_pids; i++)
		if (!kill(o->pids[i], 0) || errno != ESRCH)
			return false;
	return true;
}

/* Seconds until the next action. */
static double wait_s(const struct session *s)
{
	double now = clock_now_s(), left = LOOK_S;

	if (s->tool->seconds > 0 && s->start_s + s->tool->seconds - now < left)
		left = s->start_s + s->tool->seconds - now;
	if (s->tool->interval_s > 0 && s->next_s - now < left)
		left = s->next_s - now;
	return left > 0 ? left : 0;
}

/*
 * The signal that came within that time; 0: none. *from_kernel: a terminal's, for all of its
 * processes.
 */
static int wait_signal(const struct session *s, double seconds, bool *from_kernel)
{
	struct timespec t = {.tv_sec = (time_t)seconds};
	siginfo_t info;
	int signal;

	t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
	signal = sigtimedwait(&s->signals, &info, &t);
	*from_kernel = signal > 0 && info.si_code == SI_KERNEL;
	return signal > 0 ? signal : 0;
}

/*
 * Waits; returns true if a signal ends the counting. The command gets a terminal's signals by
 * itself, others are forwarded.
 */
static bool wait_ends(struct session *s, double seconds)
{
	bool from_kernel;
	int signal = wait_signal(s, seconds, &from_kernel);

	if (!signal || signal == SIGCHLD)
		return false;
	if (!s->child.pid)
		return true;
	if (!from_kernel)
		(void)kill(s->child.pid, signal);
	return false;
}

/* Runs until the command ends, the time is over, or the user interrupts. */
static int count(struct session *s)
{
	int rc;

	for (;;) {
		if (wait_ends(s, wait_s(s)) || child_reap(&s->child) || all_gone(s))
			return 0;
		if (s->tool->seconds > 0 && clock_now_s() >= s->start_s + s->tool->seconds)
			return 0;
		if (s->tool->interval_s > 0 && clock_now_s() >= s->next_s) {
			rc = end_interval(s);
			if (rc)
				return rc;
		}
	}
}

/* A command that was cut short gets SIGTERM. */
static void end_child(struct session *s)
{
	if (!s->child.pid || s->child.ended)
		return;
	(void)kill(s->child.pid, SIGTERM);
	while (!child_reap(&s->child))
		(void)wait_ends(s, LOOK_S);
}

/* No process was counted: most likely a misspelt name. */
static int check_counted(const struct session *s, const struct irqs_report *report)
{
	if (report->num_rows > IRQS_SLOT_FIRST || s->tool->counted.all)
		return 0;
	return fail("no process called '%s' ran", s->tool->counted.names[0]);
}

static int finish(struct session *s)
{
	struct irqs_report *report;
	int rc;

	if (irqs_report(s->irqs, &report))
		return fail("%s", s->message);
	end_child(s);
	rc = check_counted(s, report);
	if (rc == 0)
		rc = print_report(s, report, (double)report->time_ns / 1e9, true);
	irqs_report_free(report);
	return rc;
}

static int run_session(struct session *s, const sigset_t *before)
{
	int rc;

	if (s->tool->command && child_fork(s->tool, &s->child, before))
		return TOOL_FAILED;
	if (s->child.pid && irqs_add_pid(s->irqs, s->child.pid))
		return fail("%s", s->message);
	if (irqs_start(s->irqs))
		return fail("%s", s->message);
	s->start_s = clock_now_s();
	s->next_s = s->start_s + s->tool->interval_s;
	if (s->child.pid) {
		rc = child_exec(s->tool, &s->child);
		if (rc)
			return rc;
	}
	rc = count(s);
	if (rc == 0)
		rc = finish(s);
	end_child(s);
	return rc || !s->child.pid ? rc : s->child.status;
}

int tool_run(struct tool *tool)
{
	struct session s = {.tool = tool};
	sigset_t before;
	int rc;

	sigemptyset(&s.signals);
	sigaddset(&s.signals, SIGCHLD);
	sigaddset(&s.signals, SIGINT);
	sigaddset(&s.signals, SIGTERM);
	sigaddset(&s.signals, SIGHUP);
	if (irqs_open(&s.irqs, &tool->counted, s.message, sizeof(s.message)))
		return fail("%s", s.message);
	sigprocmask(SIG_BLOCK, &s.signals, &before);
	rc = run_session(&s, &before);
	child_close(&s.child);
	irqs_report_free(s.before);
	irqs_close(s.irqs);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return rc;
}
