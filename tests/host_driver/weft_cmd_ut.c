/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/weft_cmd.c, weft_dev.c, weft_tools.c over a real socket: a thread plays weftd.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "host_driver/weft_priv.h"
#include "shared_defs/hw_cmd.h"
#include "tests/tmp.h"
#include "tests/ut.h"

/* The server's handling of commands after ATTACH and QUERY_DEVICE. */
enum play {
	PLAY_ANSWER,   /* answers at once */
	PLAY_REVERSED, /* waits for two, then answers the second first */
	PLAY_HANG_UP,  /* closes when one comes */
	PLAY_NOISE,    /* sends a short packet and an answer to no command before the answer */
	PLAY_FDS,      /* answers with more descriptors than any answer has */
	PLAY_STUCK,    /* answers the first, reads on when the test says so */
	PLAY_SIGNALS,  /* sends signals to the detaching process before it ends the connection */
};

struct server {
	char dir[TMP_PATH_BYTES];
	char path[108];
	int listen_fd;
	enum play play;
	int attach_status;
	uint32_t known_flags; /* of ATTACH; 0: all */
	uint32_t flags[4];    /* commands in order of arrival */
	uint32_t num_flags;
	struct hw_cmd last;
	bool saw_shutdown;
	atomic_bool ended; /* the connection, on this side */
	sem_t holds;       /* PLAY_STUCK: it has the first one */
	sem_t go, read_on; /* PLAY_STUCK: it may answer, and read on */
	pthread_t thread, closer;
};

enum {
	FDS_SENT_MAX = 4,
	THREADS = 24, /* about ten packets fill the smallest socket */
	SIGNALS = 10,
	SIGNAL_EVERY_US = 5000,
};

static void send_fds(int fd, const struct hw_cmd_resp *resp, size_t bytes, int fd_out, size_t times)
{
	union {
		char bytes[CMSG_SPACE(FDS_SENT_MAX * sizeof(int))];
		struct cmsghdr align;
	} control = {.bytes = {0}};
	struct iovec iov = {.iov_base = (void *)(uintptr_t)resp, .iov_len = bytes};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	struct cmsghdr *c;

	if (fd_out >= 0) {
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(times * sizeof(int));
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(times * sizeof(int));
		for (size_t i = 0; i < times; i++)
			memcpy(CMSG_DATA(c) + i * sizeof(int), &fd_out, sizeof(int));
	}
	CU_ASSERT_EQUAL(sendmsg(fd, &msg, MSG_NOSIGNAL), (ssize_t)bytes);
}

static void send_resp(int fd, const struct hw_cmd_resp *resp, size_t bytes, int fd_out)
{
	send_fds(fd, resp, bytes, fd_out, 1);
}

static void answer(struct server *s, int fd, const struct hw_cmd *cmd)
{
	struct hw_cmd_resp resp = {.op = cmd->op, .tag = cmd->tag};
	int fds[2] = {-1, -1};

	switch ((int)cmd->op) {
	case HW_CMD_ATTACH:
		resp.status = s->attach_status;
		if (s->known_flags && cmd->u.attach.flags & ~s->known_flags)
			resp.status = EINVAL;
		if (s->num_flags < 4)
			s->flags[s->num_flags++] = cmd->u.attach.flags;
		break;
	case HW_CMD_QUERY_DEVICE:
		resp.u.device.max_wr = 1234;
		resp.u.device.mtu = 1500;
		break;
	case HW_CMD_STATS:
		/* Twenty counters, each with its index as value. */
		for (uint32_t i = cmd->u.obj.cursor; i < 20 && resp.u.stats.count < 9; i++) {
			struct hw_stat *stat = &resp.u.stats.stat[resp.u.stats.count++];

			snprintf(stat->name, sizeof(stat->name), "stat_%u", i);
			stat->value = i;
			resp.u.stats.next = i + 1;
		}
		break;
	case HW_CMD_LIST:
		resp.u.list.count = cmd->u.list.cursor < 2 ? 5 : 0;
		resp.u.list.next = cmd->u.list.cursor + 1;
		for (uint32_t i = 0; i < resp.u.list.count; i++)
			resp.u.list.item[i].id = cmd->u.list.cursor * 10 + i;
		break;
	case HW_CMD_CAPTURE:
		CU_ASSERT_EQUAL(pipe(fds), 0);
		CU_ASSERT_EQUAL(write(fds[1], "pcapng", 6), 6);
		break;
	default:
		resp.status = ENOSYS;
		break;
	}
	if (s->play == PLAY_FDS && cmd->op == HW_CMD_STATS)
		send_fds(fd, &resp, sizeof(resp), fd, FDS_SENT_MAX);
	else
		send_resp(fd, &resp, sizeof(resp), fds[0]);
	for (int i = 0; i < 2; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
	}
}

static void noise(int fd)
{
	struct hw_cmd_resp nobody = {.op = HW_CMD_STATS, .tag = 0x7fffffff, .status = 5};

	send_resp(fd, &nobody, 20, -1);
	send_resp(fd, &nobody, sizeof(nobody), fd);
}

static void serve_one(struct server *s, int fd)
{
	struct hw_cmd held = {.op = 0}, cmd;
	ssize_t n;

	while ((n = recv(fd, &cmd, sizeof(cmd), 0)) == (ssize_t)sizeof(cmd)) {
		bool setup = cmd.op == HW_CMD_ATTACH || cmd.op == HW_CMD_QUERY_DEVICE;

		s->last = cmd;
		if (!setup && s->play == PLAY_HANG_UP)
			break;
		if (!setup && s->play == PLAY_NOISE)
			noise(fd);
		if (!setup && s->play == PLAY_REVERSED && !held.op) {
			held = cmd;
			continue;
		}
		if (!setup && s->play == PLAY_STUCK) {
			s->play = PLAY_ANSWER;
			sem_post(&s->holds);
			sem_wait(&s->go);
			answer(s, fd, &cmd);
			sem_wait(&s->read_on);
			continue;
		}
		answer(s, fd, &cmd);
		if (held.op)
			answer(s, fd, &held);
		held.op = 0;
	}
	s->saw_shutdown = n == 0;
	for (int i = 0; i < SIGNALS && s->play == PLAY_SIGNALS; i++) {
		pthread_kill(s->closer, SIGUSR1);
		usleep(SIGNAL_EVERY_US);
	}
	atomic_store(&s->ended, true);
	close(fd);
}

static void *serve(void *arg)
{
	struct server *s = arg;
	int fd;

	while ((fd = accept(s->listen_fd, NULL, NULL)) >= 0)
		serve_one(s, fd);
	return NULL;
}

static int listen_at(const char *path)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(sun.sun_path, sizeof(sun.sun_path), "%s", path);
	CU_ASSERT_EQUAL_FATAL(bind(fd, (struct sockaddr *)&sun, sizeof(sun)), 0);
	CU_ASSERT_EQUAL_FATAL(listen(fd, 8), 0);
	return fd;
}

static void start(struct server *s, enum play play)
{
	memset(s, 0, sizeof(*s));
	s->play = play;
	CU_ASSERT_PTR_NOT_NULL_FATAL(tmp_folder(s->dir));
	snprintf(s->path, sizeof(s->path), "%s/weft3", s->dir);
	setenv("WEFT_RUN_DIR", s->dir, 1);
	s->listen_fd = listen_at(s->path);
	pthread_create(&s->thread, NULL, serve, s);
}

static void stop(struct server *s)
{
	shutdown(s->listen_fd, SHUT_RDWR);
	pthread_join(s->thread, NULL);
	close(s->listen_fd);
	unlink(s->path);
	CU_ASSERT_EQUAL(rmdir(s->dir), 0);
	unsetenv("WEFT_RUN_DIR");
}

/* Shard requested for a process, and a weftd that does not know such requests. */
static void asks_for_a_shard(void)
{
	struct weft_open_attr attr = {.collectives = true, .shard = -1};
	struct server s;

	start(&s, PLAY_ANSWER);
	/* This server has no BAR, so a granted attach ends here. */
	CU_ASSERT_PTR_NULL(weft_open_device_attr("weft3", &attr));
	CU_ASSERT_EQUAL(errno, EPROTO);
	CU_ASSERT_PTR_NULL(weft_open_device_attr("weft3", NULL));
	CU_ASSERT_TRUE(s.num_flags == 2 && s.flags[0] == (HW_ATTACH_F_COLL | HW_ATTACH_F_MEMORY) &&
		       s.flags[1] == HW_ATTACH_F_MEMORY);
	s.num_flags = 0;
	s.known_flags = HW_ATTACH_F_TOOL;
	CU_ASSERT_PTR_NULL(weft_open_device_attr("weft3", &attr));
	CU_ASSERT_EQUAL(errno, EPROTO);
	CU_ASSERT_TRUE(s.num_flags == 3 && s.flags[0] == (HW_ATTACH_F_COLL | HW_ATTACH_F_MEMORY) &&
		       s.flags[1] == HW_ATTACH_F_COLL && s.flags[2] == 0);
	s.num_flags = 0;
	attr.shard = 3;
	CU_ASSERT_PTR_NULL(weft_open_device_attr("weft3", &attr));
	CU_ASSERT_EQUAL(errno, EINVAL);
	CU_ASSERT_TRUE(s.num_flags == 2 && s.flags[1] == (HW_ATTACH_F_COLL | HW_ATTACH_F_SHARD |
							  3u << HW_ATTACH_SHARD_SHIFT));
	s.num_flags = 0;
	attr.shard = 8;
	CU_ASSERT_PTR_NULL(weft_open_device_attr("weft3", &attr));
	CU_ASSERT_EQUAL(errno, ENXIO);
	CU_ASSERT_EQUAL(s.num_flags, 0);
	stop(&s);
}

static void opens_and_asks(void)
{
	struct weft_device_attr attr;
	struct weft_list_item items[16];
	struct weft_stat stats[64];
	struct weft_context *context;
	struct weft_async_event event;
	struct weft_port_attr port;
	struct server s;
	uint32_t cursor = 0;
	char text[7] = "";
	int fd = -1;

	start(&s, PLAY_ANSWER);
	context = weft_open_tool("weft3");
	CU_ASSERT_PTR_NOT_NULL_FATAL(context);
	CU_ASSERT_STRING_EQUAL(context->name, "weft3");
	CU_ASSERT_EQUAL(weft_query_device(context, &attr), 0);
	CU_ASSERT_EQUAL(attr.max_wr, 1234);
	CU_ASSERT_EQUAL(weft_query_port(context, &port), 0);
	CU_ASSERT_EQUAL(port.mtu_bytes, 1500);
	/* In pieces that do not fit answers of nine. */
	for (uint32_t got = 0; got < 20; got += 4) {
		CU_ASSERT_EQUAL(weft_stats(context, 2, &cursor, stats, 4), 4);
		CU_ASSERT_EQUAL(stats[3].value, got + 3);
		CU_ASSERT_EQUAL(s.last.u.obj.shard, 2);
	}
	CU_ASSERT_STRING_EQUAL(stats[3].name, "stat_19");
	CU_ASSERT_EQUAL(weft_stats(context, 0, &cursor, stats, 4), 0);
	cursor = 0;
	CU_ASSERT_EQUAL(weft_list(context, WEFT_LIST_MRS, 1, &cursor, items, 5), -EINVAL);
	CU_ASSERT_EQUAL(weft_list(context, WEFT_LIST_MRS, 1, &cursor, items, 16), 10);
	CU_ASSERT_EQUAL(items[9].id, 14);
	CU_ASSERT_EQUAL(weft_capture(context, &fd), 0);
	CU_ASSERT_EQUAL(read(fd, text, 6), 6);
	CU_ASSERT_STRING_EQUAL(text, "pcapng");
	close(fd);
	CU_ASSERT_EQUAL(weft_get_async_event(context, &event), -EINVAL);
	CU_ASSERT_PTR_NULL(weft_alloc_pd(context));
	CU_ASSERT_EQUAL(errno, ENOSYS);
	weft_close_device(context);
	stop(&s);
	CU_ASSERT_TRUE(s.saw_shutdown);
}

static void on_signal(int signo)
{
	(void)signo;
}

/* Until weftd has released the process's memory, the process may not reuse it. */
static void signals_while_it_detaches(void)
{
	struct sigaction act = {.sa_handler = on_signal}, before;
	struct weft_context *context;
	struct server s;

	sigaction(SIGUSR1, &act, &before);
	start(&s, PLAY_SIGNALS);
	s.closer = pthread_self();
	context = weft_open_tool("weft3");
	CU_ASSERT_PTR_NOT_NULL_FATAL(context);
	weft_close_device(context);
	CU_ASSERT_TRUE(atomic_load(&s.ended));
	stop(&s);
	sigaction(SIGUSR1, &before, NULL);
}

struct asker {
	struct weft_context *context;
	bool list;
	int rc;
	uint64_t value;
};

static void *ask(void *arg)
{
	struct asker *a = arg;
	struct weft_list_item items[6];
	struct weft_stat stats[1];
	uint32_t cursor = a->list ? 1 : 7;

	if (a->list) {
		a->rc = weft_list(a->context, WEFT_LIST_QPS, 0, &cursor, items, 6);
		a->value = items[0].id;
	} else {
		a->rc = weft_stats(a->context, 0, &cursor, stats, 1);
		a->value = stats[0].value;
	}
	return NULL;
}

/* Two threads' answers come in the other order; each thread gets its own. */
static void answers_out_of_order(void)
{
	struct asker a, b;
	pthread_t ta, tb;
	struct server s;

	start(&s, PLAY_REVERSED);
	a = (struct asker){.context = weft_open_tool("weft3"), .list = true};
	CU_ASSERT_PTR_NOT_NULL_FATAL(a.context);
	b = (struct asker){.context = a.context};
	for (int i = 0; i < 50; i++) {
		pthread_create(&ta, NULL, ask, &a);
		pthread_create(&tb, NULL, ask, &b);
		pthread_join(ta, NULL);
		pthread_join(tb, NULL);
		CU_ASSERT_EQUAL(a.rc, 5);
		CU_ASSERT_EQUAL(a.value, 10);
		CU_ASSERT_EQUAL(b.rc, 1);
		CU_ASSERT_EQUAL(b.value, 7);
	}
	weft_close_device(a.context);
	stop(&s);
}

static void noise_is_ignored(void)
{
	struct weft_stat stats[1];
	struct weft_context *context;
	struct server s;
	uint32_t cursor = 0;

	start(&s, PLAY_NOISE);
	context = weft_open_tool("weft3");
	CU_ASSERT_PTR_NOT_NULL_FATAL(context);
	CU_ASSERT_EQUAL(weft_stats(context, 0, &cursor, stats, 1), 1);
	weft_close_device(context);
	stop(&s);
}

static int num_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* Surplus content of an answer is neither kept nor written out of bounds. */
static void too_many_descriptors(void)
{
	struct weft_stat stats[1];
	struct weft_context *context;
	struct server s;
	uint32_t cursor = 0;
	int before;

	start(&s, PLAY_FDS);
	context = weft_open_tool("weft3");
	CU_ASSERT_PTR_NOT_NULL_FATAL(context);
	before = num_fds();
	CU_ASSERT_EQUAL(weft_stats(context, 0, &cursor, stats, 1), 1);
	CU_ASSERT_EQUAL(num_fds(), before);
	weft_close_device(context);
	stop(&s);
}

/*
 * More threads than commands fit into the socket: the answer to the first one arrives while others
 * wait to send.
 */
static void answers_while_the_socket_is_full(void)
{
	struct asker first, more[THREADS];
	pthread_t thread, threads[THREADS];
	struct timespec until;
	const int least = 1;
	struct server s;

	start(&s, PLAY_STUCK);
	sem_init(&s.holds, 0, 0);
	sem_init(&s.go, 0, 0);
	sem_init(&s.read_on, 0, 0);
	first = (struct asker){.context = weft_open_tool("weft3")};
	CU_ASSERT_PTR_NOT_NULL_FATAL(first.context);
	CU_ASSERT_EQUAL(setsockopt(weft_ctx_of(first.context)->hangup_fd, SOL_SOCKET, SO_SNDBUF,
				   &least, sizeof(least)),
			0);
	pthread_create(&thread, NULL, ask, &first);
	sem_wait(&s.holds);
	for (int i = 0; i < THREADS; i++) {
		more[i] = (struct asker){.context = first.context};
		pthread_create(&threads[i], NULL, ask, &more[i]);
	}
	usleep(100000); /* time for the socket to fill; if it does not, this tests nothing */
	sem_post(&s.go);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 20;
	CU_ASSERT_EQUAL(pthread_timedjoin_np(thread, NULL, &until), 0);
	sem_post(&s.read_on);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		CU_ASSERT_TRUE(more[i].rc == 1 && more[i].value == 7);
	}
	weft_close_device(first.context);
	stop(&s);
}

static void hang_up_in_a_command(void)
{
	struct asker a, b;
	pthread_t ta, tb;
	struct server s;

	start(&s, PLAY_HANG_UP);
	a = (struct asker){.context = weft_open_tool("weft3"), .list = true};
	CU_ASSERT_PTR_NOT_NULL_FATAL(a.context);
	b = (struct asker){.context = a.context};
	pthread_create(&ta, NULL, ask, &a);
	pthread_create(&tb, NULL, ask, &b);
	pthread_join(ta, NULL);
	pthread_join(tb, NULL);
	CU_ASSERT_EQUAL(a.rc, -EIO);
	CU_ASSERT_EQUAL(b.rc, -EIO);
	weft_close_device(a.context);
	stop(&s);
}

static void names_and_errors(void)
{
	struct weft_context *context;
	struct weft_device *list;
	char stale[128], plain[128], other[128], foreign[128], path[200];
	int foreign_fd;
	struct server s;
	int fd;

	start(&s, PLAY_ANSWER);
	CU_ASSERT_PTR_NULL(weft_open_tool("weft9"));
	CU_ASSERT_EQUAL(errno, ENODEV);
	snprintf(stale, sizeof(stale), "%s/weft1", s.dir);
	close(listen_at(stale));
	CU_ASSERT_PTR_NULL(weft_open_tool("weft1"));
	CU_ASSERT_EQUAL(errno, ECONNREFUSED);
	snprintf(plain, sizeof(plain), "%s/weft0", s.dir);
	fd = open(plain, O_CREAT | O_WRONLY, 0600);
	snprintf(other, sizeof(other), "%s/weft10", s.dir);
	/* Neither the dead socket nor the file is a device; weft3 comes before weft10. */
	close(fd);
	fd = listen_at(other);
	/* Another user's: not even connected to. */
	snprintf(foreign, sizeof(foreign), "%s/m.sock", s.dir);
	foreign_fd = listen_at(foreign);
	CU_ASSERT_EQUAL(weft_get_device_list(&list), 2);
	fcntl(foreign_fd, F_SETFL, O_NONBLOCK);
	CU_ASSERT_TRUE(accept(foreign_fd, NULL, NULL) < 0 && errno == EAGAIN);
	close(foreign_fd);
	unlink(foreign);
	CU_ASSERT_STRING_EQUAL(list[0].name, "weft3");
	CU_ASSERT_STRING_EQUAL(list[0].path, s.path);
	CU_ASSERT_STRING_EQUAL(list[1].name, "weft10");
	weft_free_device_list(list);
	/* By default the first, by WEFT_DEVICE, by path. */
	context = weft_open_tool(NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(context);
	CU_ASSERT_STRING_EQUAL(context->name, "weft3");
	weft_close_device(context);
	setenv("WEFT_DEVICE", "weft9", 1);
	CU_ASSERT_PTR_NULL(weft_open_tool(NULL));
	CU_ASSERT_EQUAL(errno, ENODEV);
	unsetenv("WEFT_DEVICE");
	context = weft_open_tool(s.path);
	CU_ASSERT_PTR_NOT_NULL_FATAL(context);
	CU_ASSERT_STRING_EQUAL(context->name, "weft3");
	weft_close_device(context);
	memset(path, 'x', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	CU_ASSERT_PTR_NULL(weft_open_tool(path));
	CU_ASSERT_EQUAL(errno, ENAMETOOLONG);
	s.attach_status = EPROTO;
	CU_ASSERT_PTR_NULL(weft_open_tool("weft3"));
	CU_ASSERT_EQUAL(errno, EPROTO);
	close(fd);
	unlink(stale);
	unlink(plain);
	unlink(other);
	stop(&s);
	setenv("WEFT_RUN_DIR", "/nonexistent", 1);
	CU_ASSERT_EQUAL(weft_get_device_list(&list), 0);
	CU_ASSERT_PTR_NULL(list);
	CU_ASSERT_PTR_NULL(weft_open_device(NULL));
	CU_ASSERT_EQUAL(errno, ENODEV);
	unsetenv("WEFT_RUN_DIR");
}

static void names_of_numbers(void)
{
	CU_ASSERT_STRING_EQUAL(weft_wc_status_str(WEFT_WC_SUCCESS), "SUCCESS");
	CU_ASSERT_STRING_EQUAL(weft_wc_status_str(WEFT_WC_GENERAL_ERR), "GENERAL_ERR");
	CU_ASSERT_STRING_EQUAL(weft_wc_status_str((enum weft_wc_status)22), "UNKNOWN");
	CU_ASSERT_STRING_EQUAL(weft_wc_status_str((enum weft_wc_status) - 1), "UNKNOWN");
	CU_ASSERT_STRING_EQUAL(weft_wc_opcode_str((enum weft_wc_opcode)100), "UNKNOWN");
	CU_ASSERT_STRING_EQUAL(weft_wc_opcode_str(WEFT_WC_RECV), "RECV");
	CU_ASSERT_STRING_EQUAL(weft_vendor_err_str(255), "NIC_GONE");
	CU_ASSERT_STRING_EQUAL(weft_vendor_err_str(254), "UNKNOWN");
	CU_ASSERT_STRING_EQUAL(weft_event_type_str(WEFT_EVENT_DEVICE_FATAL), "DEVICE_FATAL");
	CU_ASSERT_STRING_EQUAL(weft_event_type_str((enum weft_event_type)1), "UNKNOWN");
	CU_ASSERT_STRING_EQUAL(weft_qp_state_str(WEFT_QPS_SQE), "SQE");
	CU_ASSERT_STRING_EQUAL(weft_qp_type_str(WEFT_QPT_RD), "RD");
	CU_ASSERT_STRING_EQUAL(weft_qp_type_str((enum weft_qp_type)5), "UNKNOWN");
	CU_ASSERT_STRING_EQUAL(weft_version(), WEFT_VERSION);
}

UT_MAIN("host_driver/weft_cmd", UT(opens_and_asks), UT(asks_for_a_shard), UT(answers_out_of_order),
	UT(noise_is_ignored), UT(too_many_descriptors), UT(signals_while_it_detaches),
	UT(answers_while_the_socket_is_full), UT(hang_up_in_a_command), UT(names_and_errors),
	UT(names_of_numbers))
