/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The soak: draws runs from one seed after another and executes each in a child process until
 * stopped.
 *
 * A child executes one plan and stores its outcome in memory shared with its parent; its output
 * goes through a pipe. A child that is killed by a signal, exits through a sanitizer, or exceeds
 * its processor time counts as failed, like one with a failed check. Each failure is printed with
 * the command that repeats it. Calls sim_play().
 */
#include "lib/clock.h"
#include "lib/json_text.h"
#include "sim_harness/sim_plan.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	SAID_BYTES = 16384, /* kept from the start of a child's output */
	WALL_FACTOR = 4,    /* limit of its other time, as a multiple of the processor time */
	PROGRESS_MS = 500,  /* interval of progress lines on a terminal */
	LOOK_S = 1, /* two looks that are farther apart: this process did not run in between */
	SHOWN_LINES = 12, /* of the output of a run that died */
	MESSAGE_BYTES = 320,
	ORACLE_BYTES = 24,
};

struct job {
	pid_t pid; /* 0: unused */
	int out;   /* the child's output; -1: closed */
	uint64_t seed;
	double begin_s;
	struct sim_soak_age age;
	bool hung;
	struct sim_outcome *outcome; /* shared with the child */
	char said[SAID_BYTES];
	size_t said_bytes;
};

struct soak {
	const struct sim_opts *opts;
	char overrides[SIM_PLAN_TEXT_BYTES];
	uint64_t next_seed;
	double begin_s;
	uint64_t started, runs, failures;
	uint64_t virtual_ns, events, received, matches, drained_max_ns;
	FILE *json; /* NULL: not requested */
	struct sim_tally tally;
	struct job *jobs;
};

/* Set by SIGINT and SIGTERM; nothing else is async-signal-safe here. */
static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
	(void)number;
	interrupted = 1;
}

/* Runs in the child; never returns. */
static void child(const struct soak *soak, struct job *job, int out)
{
	struct rlimit cpu = {soak->opts->hang_seconds, soak->opts->hang_seconds + 1};
	struct rlimit core = {0, 0};
	struct sim_plan plan;

	/*
	 * Ctrl+C is sent to all processes of a terminal: the parent decides whether the child ends.
	 */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setrlimit(RLIMIT_CPU, &cpu);
	setrlimit(RLIMIT_CORE, &core);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	close(out);
	sim_opts_plan(soak->opts, job->seed, &plan);
	(void)sim_play(&plan, NULL, NULL, false, job->outcome);
	exit(0);
}

static bool start(struct soak *soak, struct job *job)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC))
		return false;
	job->seed = soak->next_seed++;
	job->begin_s = clock_now_s();
	job->age = (struct sim_soak_age){.looked_s = job->begin_s};
	job->hung = false;
	job->said_bytes = 0;
	memset(job->outcome, 0, sizeof(*job->outcome));
	fflush(NULL);
	job->pid = fork();
	if (!job->pid) {
		close(fds[0]);
		child(soak, job, fds[1]);
	}
	close(fds[1]);
	if (job->pid < 0) {
		job->pid = 0;
		close(fds[0]);
		return false;
	}
	job->out = fds[0];
	soak->started++;
	return true;
}

/* Reads the child's output. Returns false when the child has closed its end. */
static bool listen_to(struct job *job)
{
	char rest[4096];
	size_t room = sizeof(job->said) - 1 - job->said_bytes;
	ssize_t n =
	    read(job->out, room ? job->said + job->said_bytes : rest, room ? room : sizeof(rest));

	if (n < 0)
		return errno == EINTR;
	if (room)
		job->said_bytes += (size_t)n;
	return n > 0;
}

/*
 * Finds the line of a child's output that contains what, truncated to fit. Returns false if there
 * is none.
 */
static bool find_line(const char *said, const char *what, char *line, size_t bytes)
{
	const char *at = strstr(said, what), *begin = at;

	if (!at)
		return false;
	while (begin > said && begin[-1] != '\n')
		begin--;
	snprintf(line, bytes, "%.*s", (int)strcspn(begin, "\n"), begin);
	return true;
}

/* Describes the failure of a finished run. Returns false if it did not fail. */
static bool verdict(struct soak *soak, const struct job *job, int status, char *oracle,
		    char *message)
{
	const struct sim_outcome *outcome = job->outcome;
	static const char *const marks[][2] = {
	    {"Assertion `", "assertion"},
	    {"ERROR: LeakSanitizer", "leak"},
	    {"Sanitizer", "sanitizer"},
	    {"runtime error:", "sanitizer"},
	};
	size_t i;

	if (outcome->done && outcome->failure[0]) {
		size_t word = strspn(outcome->failure, "abcdefghijklmnopqrstuvwxyz_");

		snprintf(oracle, ORACLE_BYTES, "%.*s",
			 outcome->failure[word] == ':' ? (int)word : 5,
			 outcome->failure[word] == ':' ? outcome->failure : "check");
		snprintf(message, MESSAGE_BYTES, "%s", outcome->failure);
		return true;
	}
	if (outcome->done && WIFEXITED(status) && !WEXITSTATUS(status))
		return false;
	for (i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		if (find_line(job->said, marks[i][0], message, MESSAGE_BYTES)) {
			snprintf(oracle, ORACLE_BYTES, "%s", marks[i][1]);
			return true;
		}
	}
	if (job->hung || (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)) {
		snprintf(oracle, ORACLE_BYTES, "hang");
		snprintf(message, MESSAGE_BYTES, "hang: not done in %" PRIu64 " s",
			 soak->opts->hang_seconds);
		return true;
	}
	snprintf(oracle, ORACLE_BYTES, "crash");
	if (WIFSIGNALED(status))
		snprintf(message, MESSAGE_BYTES, "crash: %s", strsignal(WTERMSIG(status)));
	else
		snprintf(message, MESSAGE_BYTES, "crash: exit status %d", WEXITSTATUS(status));
	return true;
}

/* Prints the first lines of a run's output before it died. */
static void show_said(const struct job *job)
{
	const char *at = job->said;
	int lines;

	for (lines = 0; *at && lines < SHOWN_LINES; lines++) {
		size_t bytes = strcspn(at, "\n");

		printf("    %.*s\n", (int)bytes, at);
		at += bytes + (at[bytes] == '\n');
	}
	if (*at)
		printf("    ...\n");
}

/*
 * Returns the processor time of all finished children, which does not depend on the machine's load.
 */
static double used_s(void)
{
	struct rusage used;

	getrusage(RUSAGE_CHILDREN, &used);
	return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
	       (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

static void failed(struct soak *soak, const struct job *job, const char *oracle,
		   const char *message)
{
	double after_s = clock_now_s() - soak->begin_s;
	char command[2 * SIM_PLAN_TEXT_BYTES];

	snprintf(command, sizeof(command), "%s --seed %" PRIu64 " --random%s", soak->opts->program,
		 job->seed, soak->overrides);
	printf("%sFAILED after %.1f s, run of %.1f s: %s\n  %s\n",
	       isatty(STDOUT_FILENO) ? "\r" : "", after_s, clock_now_s() - job->begin_s, message,
	       command);
	if (!job->outcome->done)
		show_said(job);
	fflush(stdout);
	if (soak->json) {
		fprintf(soak->json,
			"%s\n    {\"seed\": %" PRIu64
			", \"after_s\": %.2f, \"after_cpu_s\": %.2f, \"oracle\": ",
			soak->failures ? "," : "", job->seed, after_s, used_s());
		json_text_string(soak->json, oracle);
		fputs(", \"message\": ", soak->json);
		json_text_string(soak->json, message);
		fputs(", \"command\": ", soak->json);
		json_text_string(soak->json, command);
		fputc('}', soak->json);
	}
	soak->failures++;
}

/* The child has closed its output: it is ending. */
static void end(struct soak *soak, struct job *job)
{
	char oracle[ORACLE_BYTES], message[MESSAGE_BYTES];
	struct sim_plan plan;
	int status = 0;
	bool wrong;

	close(job->out);
	while (waitpid(job->pid, &status, 0) < 0 && errno == EINTR)
		;
	job->pid = 0;
	job->said[job->said_bytes] = '\0';
	soak->runs++;
	soak->virtual_ns += job->outcome->virtual_ns;
	soak->events += job->outcome->events;
	soak->received += job->outcome->received;
	soak->matches += job->outcome->matches;
	if (job->outcome->drained_ns > soak->drained_max_ns)
		soak->drained_max_ns = job->outcome->drained_ns;
	wrong = verdict(soak, job, status, oracle, message);
	if (wrong)
		failed(soak, job, oracle, message);
	if (soak->opts->record) {
		sim_opts_plan(soak->opts, job->seed, &plan);
		sim_tally_add(&soak->tally, plan.workload, wrong);
	}
}

/* Stops a run; it has no result. */
static void abandon(struct job *job)
{
	kill(job->pid, SIGKILL);
	while (waitpid(job->pid, NULL, 0) < 0 && errno == EINTR)
		;
	close(job->out);
	job->pid = 0;
}

static bool over(const struct soak *soak)
{
	const struct sim_opts *opts = soak->opts;

	return interrupted || (opts->failures && soak->failures >= opts->failures) ||
	       (opts->seconds && clock_now_s() - soak->begin_s >= (double)opts->seconds) ||
	       (opts->cpu_seconds && used_s() >= (double)opts->cpu_seconds);
}

static void progress(struct soak *soak, double *next_s)
{
	double now = clock_now_s();

	if (!isatty(STDOUT_FILENO) || now < *next_s)
		return;
	*next_s = now + PROGRESS_MS / 1e3;
	printf("\r%" PRIu64 " runs, %" PRIu64 " failed, %.1f virtual s, %.0f s ", soak->runs,
	       soak->failures, (double)soak->virtual_ns / 1e9, now - soak->begin_s);
	fflush(stdout);
}

double sim_soak_waited_s(pid_t pid)
{
	unsigned long long ran_ns, waited_ns = 0;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (fscanf(file, "%llu %llu", &ran_ns, &waited_ns) != 2)
		waited_ns = 0;
	fclose(file);
	return (double)waited_ns / 1e9;
}

bool sim_soak_is_stopped(pid_t pid)
{
	char path[64], state = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	/* The name of this program has no parenthesis. */
	if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	fclose(file);
	return state == 'T' || state == 't';
}

double sim_soak_look(struct sim_soak_age *age, double now_s, bool stopped)
{
	double passed_s = now_s - age->looked_s;

	age->looked_s = now_s;
	if (!stopped)
		age->s += passed_s < LOOK_S ? passed_s : LOOK_S;
	return age->s;
}

/* True if a run makes no progress. On a busy machine, most of its time may be others'. */
static bool hangs(const struct soak *soak, struct job *job)
{
	double limit_s = (double)soak->opts->hang_seconds * WALL_FACTOR;
	double age_s = sim_soak_look(&job->age, clock_now_s(), sim_soak_is_stopped(job->pid));

	return age_s > limit_s && age_s - sim_soak_waited_s(job->pid) > limit_s;
}

/* Waits until a child has output or some time has passed. */
static void attend(struct soak *soak)
{
	struct pollfd fds[256];
	uint32_t i, n = (uint32_t)soak->opts->jobs;

	for (i = 0; i < n; i++)
		fds[i] = (struct pollfd){soak->jobs[i].pid ? soak->jobs[i].out : -1, POLLIN, 0};
	if (poll(fds, n, PROGRESS_MS / 2) < 0)
		return;
	for (i = 0; i < n; i++) {
		struct job *job = &soak->jobs[i];

		if (!job->pid)
			continue;
		if (fds[i].revents && !listen_to(job)) {
			end(soak, job);
		} else if (!job->hung && hangs(soak, job)) {
			job->hung = true;
			kill(job->pid, SIGKILL);
		}
	}
}

static bool busy(const struct soak *soak)
{
	uint32_t i;

	for (i = 0; i < soak->opts->jobs; i++) {
		if (soak->jobs[i].pid)
			return true;
	}
	return false;
}

/* Runs until stopped or all requested runs have finished. */
static bool run_all(struct soak *soak)
{
	double next_s = 0;
	uint32_t i;

	while (!over(soak)) {
		for (i = 0; i < soak->opts->jobs; i++) {
			if (soak->jobs[i].pid ||
			    (soak->opts->runs && soak->started >= soak->opts->runs))
				continue;
			if (!start(soak, &soak->jobs[i])) {
				fprintf(stderr, "weft-sim: cannot start a process: %s\n",
					strerror(errno));
				return false;
			}
		}
		if (!busy(soak))
			break;
		attend(soak);
		progress(soak, &next_s);
	}
	return true;
}

static void summary(struct soak *soak)
{
	double real_s = clock_now_s() - soak->begin_s;

	printf("%ssoak: %" PRIu64 " runs, %.3f virtual s, %" PRIu64 " events, %" PRIu64
	       " messages received, %" PRIu64 " failed; slowest to drain: %.3f ms\n",
	       isatty(STDOUT_FILENO) ? "\r" : "", soak->runs, (double)soak->virtual_ns / 1e9,
	       soak->events, soak->received, soak->failures, (double)soak->drained_max_ns / 1e6);
	if (soak->matches)
		printf("soak: %" PRIu64 " matches, %.0f in a second of processor time\n",
		       soak->matches, (double)soak->matches / used_s());
	fflush(stdout);
	fprintf(stderr, "weft-sim: %.1f s, %.0f events/s\n", real_s, (double)soak->events / real_s);
	if (soak->json)
		fprintf(soak->json,
			"],\n  \"runs\": %" PRIu64 ", \"failed\": %" PRIu64
			", \"virtual_s\": %.6f, \"events\": %" PRIu64 ", \"matches\": %" PRIu64
			", \"drained_max_ms\": %.3f, \"seconds\": %.2f, \"cpu_seconds\": %.2f}\n",
			soak->runs, soak->failures, (double)soak->virtual_ns / 1e9, soak->events,
			soak->matches, (double)soak->drained_max_ns / 1e6, real_s, used_s());
}

static bool prepare(struct soak *soak)
{
	struct sigaction action = {.sa_handler = on_signal};
	struct sim_outcome *shared;
	uint32_t i;
	int rc = soak->opts->record ? sim_tally_load(&soak->tally, soak->opts->record) : 0;

	if (rc) {
		fprintf(stderr, "weft-sim: cannot read %s\n", soak->opts->record);
		errno = -rc;
		return false;
	}
	soak->next_seed = soak->opts->seed;
	if (!soak->opts->seed_given &&
	    getrandom(&soak->next_seed, sizeof(uint32_t), 0) != sizeof(uint32_t))
		return false;
	shared = mmap(NULL, soak->opts->jobs * sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	soak->jobs = calloc(soak->opts->jobs, sizeof(*soak->jobs));
	if (shared == MAP_FAILED || !soak->jobs)
		return false;
	for (i = 0; i < soak->opts->jobs; i++)
		soak->jobs[i].outcome = &shared[i];
	if (soak->opts->json) {
		soak->json = fopen(soak->opts->json, "we");
		if (!soak->json)
			return false;
		fprintf(soak->json, "{\"first_seed\": %" PRIu64 ",\n  \"failures\": [",
			soak->next_seed);
	}
	sim_opts_format(soak->opts, soak->overrides, sizeof(soak->overrides));
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	return true;
}

int sim_soak(const struct sim_opts *opts)
{
	struct soak soak = {.opts = opts, .begin_s = clock_now_s()};
	uint32_t i;
	bool right;

	right = prepare(&soak);
	if (!right) {
		fprintf(stderr, "weft-sim: cannot begin%s%s: %s\n", opts->json ? ": " : "",
			opts->json ? opts->json : "", strerror(errno));
		return 1;
	}
	printf("soak from seed %" PRIu64 "\n", soak.next_seed);
	right = run_all(&soak);
	for (i = 0; i < opts->jobs; i++) {
		if (soak.jobs[i].pid)
			abandon(&soak.jobs[i]);
	}
	summary(&soak);
	if (soak.json && (ferror(soak.json) | fclose(soak.json))) {
		fprintf(stderr, "weft-sim: cannot write %s\n", opts->json);
		right = false;
	}
	if (opts->record && sim_tally_save(&soak.tally, opts->record)) {
		fprintf(stderr, "weft-sim: cannot write %s\n", opts->record);
		right = false;
	}
	if (opts->record)
		sim_tally_print(&soak.tally);
	munmap(soak.jobs[0].outcome, opts->jobs * sizeof(*soak.jobs[0].outcome));
	free(soak.jobs);
	return right && !soak.failures ? 0 : 1;
}
