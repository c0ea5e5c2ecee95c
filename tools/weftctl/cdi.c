/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command cdi: a description of the NICs for container engines, as the Container Device
 * Interface (specification 0.5.0) wants it. A device gives a container the run directory, read
 * only, the stand-in libraries, weft-run, and the environment that names them.
 *
 * In a container weft-run and the libraries lie below /opt/weft, as far from each other as on the
 * host, since weft-run finds the libraries by that way. Calls libweft and out.c.
 */
#include "tools/weftctl/ctl.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	CDI_PATH_CHARS = PATH_MAX,
	CDI_ENV_CHARS = 256,
};

#define CDI_KIND    "weft/nic"
#define CDI_RUN_DIR "/run/weft"
#define CDI_PREFIX  "/opt/weft"

/* Libraries on the host, and their place in a container. */
struct cdi_libs {
	char host[CDI_PATH_CHARS];
	char inside[CDI_PATH_CHARS];
	char run[CDI_PATH_CHARS]; /* weft-run on the host; "": there is none beside weftctl */
};

static bool join(char path[CDI_PATH_CHARS], const char *dir, const char *name)
{
	int n = snprintf(path, CDI_PATH_CHARS, "%s/%s", dir, name);

	return n > 0 && n < CDI_PATH_CHARS;
}

/* True if the stand-in for libibverbs is below dir; *host is then dir's own path. */
static bool has_verbs(const char *dir, char host[CDI_PATH_CHARS])
{
	char path[CDI_PATH_CHARS];

	return join(path, dir, "verbs/libibverbs.so.1") && !access(path, R_OK) &&
	       realpath(dir, host);
}

/* The folder of this program: weft-run is in it, the libraries are near it. */
static bool own_dir(char dir[CDI_PATH_CHARS])
{
	ssize_t n = readlink("/proc/self/exe", dir, CDI_PATH_CHARS - 1);
	char *slash;

	if (n <= 0)
		return false;
	dir[n] = '\0';
	slash = strrchr(dir, '/');
	if (slash)
		*slash = '\0';
	return slash != NULL;
}

/* Libraries beside the tree's programs, installed, and of a Debian package. */
static bool find_libs(struct cdi_libs *libs)
{
	static const char *const places[] = {"lib", "lib/weft", "lib/" WEFT_MACHINE "/weft"};
	char dir[CDI_PATH_CHARS], up[CDI_PATH_CHARS], path[CDI_PATH_CHARS];

	if (!own_dir(dir) || !join(up, dir, ".."))
		return false;
	if (!join(libs->run, dir, "weft-run") || access(libs->run, X_OK))
		libs->run[0] = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (join(path, up, places[i]) && has_verbs(path, libs->host))
			return join(libs->inside, CDI_PREFIX, places[i]);
	return false;
}

/* A bind mount, read only; of programs and libraries alone one that may be executed. */
static void add_mount(json_t *mounts, const char *host, const char *inside, bool code)
{
	json_t *options = json_pack("[s, s, s, s]", "rbind", "ro", "nosuid", "nodev");

	if (!code)
		json_array_append_new(options, json_string("noexec"));
	json_array_append_new(mounts, json_pack("{s:s, s:s, s:o}", "hostPath", host,
						"containerPath", inside, "options", options));
}

/* libweft and libgoal, which plug-ins below the folder of libraries look for in the one above it.
 */
static void add_shared(json_t *mounts, const struct cdi_libs *libs)
{
	static const char *const names[] = {"../libweft.so.0", "../libgoal.so.0"};
	char path[CDI_PATH_CHARS], host[CDI_PATH_CHARS], inside[CDI_PATH_CHARS];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *last;

		if (!join(path, libs->host, names[i]) || !realpath(path, host))
			continue;
		snprintf(path, sizeof(path), "%s", libs->inside);
		last = strrchr(path, '/');
		if (last)
			*last = '\0';
		if (join(inside, path, names[i] + strlen("../")))
			add_mount(mounts, host, inside, true);
	}
}

static json_t *common_edits(const char *run_dir, const struct cdi_libs *libs)
{
	json_t *mounts = json_array(), *env = json_array();
	char text[CDI_PATH_CHARS + CDI_ENV_CHARS];

	add_mount(mounts, run_dir, CDI_RUN_DIR, false);
	add_mount(mounts, libs->host, libs->inside, true);
	add_shared(mounts, libs);
	if (libs->run[0])
		add_mount(mounts, libs->run, CDI_PREFIX "/bin/weft-run", true);
	json_array_append_new(env, json_string("WEFT_RUN_DIR=" CDI_RUN_DIR));
	snprintf(text, sizeof(text), "LD_LIBRARY_PATH=%s/verbs", libs->inside);
	json_array_append_new(env, json_string(text));
	return json_pack("{s:o, s:o}", "env", env, "mounts", mounts);
}

/* A device that shows one NIC; name NULL: the device "all". */
static json_t *device_of(const char *name)
{
	char own[CDI_ENV_CHARS], verbs[CDI_ENV_CHARS];

	/* Edits must not be empty. */
	if (!name)
		return json_pack("{s:s, s:{s:[s]}}", "name", "all", "containerEdits", "env",
				 "WEFT_CDI=all");
	snprintf(own, sizeof(own), "WEFT_DEVICE=%s", name);
	snprintf(verbs, sizeof(verbs), "WEFT_VERBS_DEVICE=%s", name);
	return json_pack("{s:s, s:{s:[s, s]}}", "name", name, "containerEdits", "env", own, verbs);
}

/* Writes beside the file and renames: engines read it at any time. */
static int write_file(const char *path, json_t *spec)
{
	char beside[CDI_PATH_CHARS];
	int rc = CTL_OK;

	/* Engines read files that end in .json or .yaml alone. */
	if (snprintf(beside, sizeof(beside), "%s.new", path) >= (int)sizeof(beside))
		rc = fail("%s: %s", path, strerror(ENAMETOOLONG));
	else if (json_dump_file(spec, beside, JSON_INDENT(2)) || rename(beside, path))
		rc = fail("%s: %s", path, strerror(errno));
	if (rc != CTL_OK)
		(void)unlink(beside);
	json_decref(spec);
	return rc;
}

int run_cdi(const struct ctl *ctl)
{
	const char *run_dir = getenv("WEFT_RUN_DIR");
	char path[CDI_PATH_CHARS];
	struct weft_device *list = NULL;
	static struct cdi_libs libs;
	json_t *devices, *spec;
	int num;

	if (!realpath(run_dir && *run_dir ? run_dir : CDI_RUN_DIR, path))
		return fail("%s: %s; start weftd, or give --run-dir",
			    run_dir && *run_dir ? run_dir : CDI_RUN_DIR, strerror(errno));
	if (!find_libs(&libs))
		return fail("the libraries that stand in for libibverbs are not near weftctl; "
			    "install weft-verbs, or call the weftctl beside it");
	num = weft_get_device_list(&list);
	if (num <= 0)
		return fail("no NIC in %s; start weftd, or give --run-dir", path);
	devices = json_array();
	for (int i = 0; i < num; i++)
		if (!ctl->nic || !strcmp(ctl->nic, list[i].name))
			json_array_append_new(devices, device_of(list[i].name));
	weft_free_device_list(list);
	if (!json_array_size(devices)) {
		json_decref(devices);
		return fail("no NIC '%s' in %s; weftctl list names them", ctl->nic, path);
	}
	if (!ctl->nic)
		json_array_append_new(devices, device_of(NULL));
	spec = json_pack("{s:s, s:s, s:o, s:o}", "cdiVersion", "0.5.0", "kind", CDI_KIND, "devices",
			 devices, "containerEdits", common_edits(path, &libs));
	if (!ctl->file || !strcmp(ctl->file, "-"))
		return out_json(spec);
	return write_file(ctl->file, spec);
}
