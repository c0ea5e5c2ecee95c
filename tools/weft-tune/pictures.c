/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the pictures' files and runs gnuplot; see pictures.h.
 */
#include "tools/weft-tune/pictures.h"
#include "tools/weft-tune/record_file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* By enum hw_coalesce_param: rx-usecs, rx-frames, tx-usecs, tx-frames, and these with -irq. */
const double paper_latency[TUNE_P + 1] = {71.3273936, 0.9170643,  0.0148644, -0.1213577, -0.0057134,
					  0.0092267,  -0.0138306, 0.0003548, -0.0199030};
const double paper_bandwidth[TUNE_P + 1] = {1.370e+02, -4.591e-02, -2.168e-01,
					    5.595e-03, -5.291e-03, -1.064e-03,
					    1.056e-02, 3.660e-03,  -6.843e-04};

static const char *const names[PICTURES] = {
    [PICTURE_SCATTER] = "scatter",
    [PICTURE_COEFFICIENTS] = "coefficients",
    [PICTURE_GENERATIONS_LATENCY] = "generations-latency",
    [PICTURE_GENERATIONS_BANDWIDTH] = "generations-bandwidth",
    [PICTURE_GENERATIONS_OTHER] = "generations",
    [PICTURE_OPTIMA] = "optima",
    [PICTURE_FINALS] = "finals",
    [PICTURE_PARETO] = "pareto",
    [PICTURE_PROGRESS] = "progress",
};

const char *picture_name(enum picture picture)
{
	return names[picture];
}

const char *picture_axis(unsigned int metric)
{
	static const char *const axes[TUNE_NUM_METRICS] = {
	    [TUNE_lat_us] = "latency, us",
	    [TUNE_lat_p99_us] = "99th percentile of latency, us",
	    [TUNE_bw_1m] = "bandwidth of 1 MB, MB/s",
	    [TUNE_bw_10m] = "bandwidth of 10 MB, MB/s",
	    [TUNE_irqs_per_s] = "interrupts a second",
	    [TUNE_irqs_per_msg] = "interrupts a message",
	    [TUNE_overlap] = "share of time left to computing",
	    [TUNE_cpu_us_per_msg] = "processor time a message, us",
	    [TUNE_wakeups_per_msg] = "wake-ups a message",
	    [TUNE_switches_per_msg] = "context switches a message",
	    [TUNE_softirqs_per_msg] = "softirqs a message",
	};

	return axes[metric] ? axes[metric] : tune_metric_name(metric);
}

const struct tune_verdict *picture_sample(const struct tune_analysis *a)
{
	for (size_t i = 0; i < a->num_verdicts; i++)
		if (a->verdicts[i].method == TUNE_RANDOM || a->verdicts[i].method == TUNE_LINEAR)
			return &a->verdicts[i];
	return NULL;
}

void picture_range(double low, double high, char text[64])
{
	double room = (high - low) * 0.06;

	if (!(room > 0))
		room = fabs(low) * 0.05 + 1e-9;
	snprintf(text, 64, "[%g:%g]", low >= 0 && low - room < 0 ? 0 : low - room, high + room);
}

static FILE *open_file(const char *dir, const char *name, const char *suffix)
{
	char path[TUNE_PATH_CHARS + 64];

	snprintf(path, sizeof(path), "%s/%s.%s", dir, name, suffix);
	return fopen(path, "we");
}

static void unlink_file(const char *dir, const char *name, const char *suffix)
{
	char path[TUNE_PATH_CHARS + 64];

	snprintf(path, sizeof(path), "%s/%s.%s", dir, name, suffix);
	unlink(path);
}

static bool write_one(const struct tune_analysis *a, enum picture picture, struct pic *pic)
{
	switch (picture) {
	case PICTURE_SCATTER:
		return picture_scatter(a, pic);
	case PICTURE_COEFFICIENTS:
		return picture_coefficients(a, pic);
	case PICTURE_GENERATIONS_LATENCY:
		return picture_generations(a, pic, TUNE_LATENCY);
	case PICTURE_GENERATIONS_BANDWIDTH:
		return picture_generations(a, pic, TUNE_BANDWIDTH);
	case PICTURE_GENERATIONS_OTHER:
		return picture_generations(a, pic, -1);
	case PICTURE_OPTIMA:
		return picture_optima(a, pic);
	case PICTURE_FINALS:
		return picture_finals(a, pic);
	case PICTURE_PARETO:
		return picture_pareto(a, pic);
	case PICTURE_PROGRESS:
		return picture_progress(a, pic);
	case PICTURES:
		break;
	}
	return false;
}

extern char **environ;

/* gnuplot -e SETUP NAME.gp in dir. Its exit status; 127: there is none; -1: it could not be run. */
static int gnuplot(const char *dir, const char *setup, const char *name)
{
	char script[64];
	char *argv[] = {"gnuplot", "-e", (char *)(uintptr_t)setup, script, NULL};
	posix_spawn_file_actions_t actions;
	int status, rc;
	pid_t pid;

	snprintf(script, sizeof(script), "%s.gp", name);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addchdir_np(&actions, dir);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "gnuplot.log",
					 O_WRONLY | O_CREAT | O_APPEND, 0666);
	rc = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (rc)
		return rc == ENOENT ? 127 : -1;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The same lines for the SVG and, with more pixels, the PNG. */
static int draw_one(const char *dir, const struct pic *pic, char *note)
{
	char setup[256];
	int rc;

	snprintf(setup, sizeof(setup),
		 "set terminal svg size %u,%u dynamic font 'sans-serif,13' background rgb 'white'; "
		 "set output '%s.svg'",
		 pic->width, pic->height, pic->name);
	rc = gnuplot(dir, setup, pic->name);
	if (!rc) {
		snprintf(setup, sizeof(setup),
			 "set terminal pngcairo size %u,%u font 'sans-serif,13' fontscale 1.2 "
			 "linewidth 1.3 background rgb 'white'; set output '%s.png'",
			 pic->width * 3 / 2, pic->height * 3 / 2, pic->name);
		rc = gnuplot(dir, setup, pic->name);
	}
	if (rc == 127)
		snprintf(note, TUNE_ERROR_CHARS,
			 "no pictures: gnuplot is missing (Debian: gnuplot-nox); weft-tune report "
			 "draws them later");
	else if (rc)
		snprintf(note, TUNE_ERROR_CHARS,
			 "picture %s: gnuplot failed, pictures/gnuplot.log tells why", pic->name);
	return rc;
}

/* What every script begins with. */
static void begin(struct pic *pic)
{
	fprintf(pic->gp,
		"# %s: gnuplot -e \"set terminal svg size %u,%u; set output '%s.svg'\" %s.gp\n"
		"set encoding utf8\n"
		"set datafile separator '\\t'\n"
		"set datafile missing 'nan'\n"
		"set border 3 lc rgb '#555555'\n"
		"set tics nomirror out scale 0.5 textcolor rgb '#333333'\n"
		"set grid lc rgb '#e4e4e4' lt 1 lw 0.7\n",
		pic->name, 800u, 600u, pic->name, pic->name);
}

static int try_picture(const struct tune_analysis *a, const char *dir, enum picture picture,
		       bool *can_draw, uint32_t *drawn, char *note, char *error)
{
	struct pic pic = {.name = names[picture], .width = 800, .height = 600};
	bool some, bad;

	pic.tsv = open_file(dir, pic.name, "tsv");
	pic.gp = open_file(dir, pic.name, "gp");
	if (!pic.tsv || !pic.gp) {
		if (pic.tsv)
			fclose(pic.tsv);
		return tune_fail(error, -errno, "%s/%s: cannot be written: %s", dir, pic.name,
				 strerror(errno));
	}
	begin(&pic);
	some = write_one(a, picture, &pic);
	bad = ferror(pic.tsv) || ferror(pic.gp);
	bad = fclose(pic.tsv) || bad;
	bad = fclose(pic.gp) || bad;
	if (bad)
		return tune_fail(error, -EIO, "%s/%s: cannot be written", dir, pic.name);
	if (!some) {
		static const char *const files[] = {"tsv", "gp", "svg", "png"};

		for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
			unlink_file(dir, pic.name, files[i]);
		return 0;
	}
	if (*can_draw) {
		int rc = draw_one(dir, &pic, note);

		*can_draw = rc != 127;
		*drawn |= rc ? 0 : UINT32_C(1) << picture;
	}
	return 0;
}

int pictures_draw(const struct tune_analysis *a, const char *dir, uint32_t *drawn,
		  char note[TUNE_ERROR_CHARS], char *error)
{
	char path[TUNE_PATH_CHARS], log[TUNE_PATH_CHARS + 32];
	bool can_draw = true;
	struct stat st;
	int rc = tune_path(path, dir, "pictures", error);

	*drawn = 0;
	note[0] = '\0';
	if (!rc && mkdir(path, 0777) && errno != EEXIST)
		rc = tune_fail(error, -errno, "%s: cannot be made: %s", path, strerror(errno));
	if (rc)
		return rc;
	snprintf(log, sizeof(log), "%s/gnuplot.log", path);
	unlink(log);
	for (int i = 0; i < PICTURES && !rc; i++)
		rc = try_picture(a, path, (enum picture)i, &can_draw, drawn, note, error);
	if (!stat(log, &st) && !st.st_size)
		unlink(log);
	return rc;
}
