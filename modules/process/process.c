#include "process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

/* pairs[i]: {the child's end, ours}; -1 where there is no pipe. */
static void close_pairs(int pairs[3][2], int side) {
  for (int i = 0; i < 3; i++) {
    if (pairs[i][side] >= 0) {
      close(pairs[i][side]);
      pairs[i][side] = -1;
    }
  }
}

/* A pipe whose ends are both above 2, so that dup2 in the child can't overwrite one. */
static int open_pair(int pair[2], int child_reads) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return -1;
  }
  for (int i = 0; i < 2; i++) {
    if (ends[i] > 2) {
      continue;
    }
    int moved = fcntl(ends[i], F_DUPFD_CLOEXEC, 3);
    close(ends[i]);
    ends[i] = moved;
    if (moved < 0) {
      close(ends[1 - i]);
      return -1;
    }
  }
  pair[0] = ends[child_reads ? 0 : 1];
  pair[1] = ends[child_reads ? 1 : 0];
  return fcntl(pair[1], F_SETFL, O_NONBLOCK);
}

static int add_stdio(posix_spawn_file_actions_t *actions, const struct rtl_spawn *spawn,
                     int pairs[3][2]) {
  for (int i = 0; i < 3; i++) {
    int error = 0;
    if (pairs[i][0] >= 0) {
      error = posix_spawn_file_actions_adddup2(actions, pairs[i][0], i);
    } else if (spawn->stdio[i] == RTL_STDIO_NULL) {
      int mode = i == 0 ? O_RDONLY : O_WRONLY;
      error = posix_spawn_file_actions_addopen(actions, i, "/dev/null", mode, 0);
    }
    if (error != 0) {
      return error;
    }
  }
  int error = posix_spawn_file_actions_addclosefrom_np(actions, 3);
  if (error == 0 && spawn->cwd != NULL) {
    error = posix_spawn_file_actions_addchdir_np(actions, spawn->cwd);
  }
  return error;
}

/* The program must not inherit that we ignore SIGPIPE and catch SIGINT. */
static void set_signals(posix_spawnattr_t *attributes, int own_group) {
  sigset_t all, none;
  sigfillset(&all);
  sigemptyset(&none);
  posix_spawnattr_setsigdefault(attributes, &all);
  posix_spawnattr_setsigmask(attributes, &none);
  posix_spawnattr_setpgroup(attributes, 0);
  short flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
  posix_spawnattr_setflags(attributes, (short)(own_group ? flags | POSIX_SPAWN_SETPGROUP : flags));
}

/* Returns an error number. */
static int start(const struct rtl_spawn *spawn, pid_t *pid, int pairs[3][2]) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int error = posix_spawn_file_actions_init(&actions);
  if (error != 0) {
    return error;
  }
  error = posix_spawnattr_init(&attributes);
  if (error == 0) {
    set_signals(&attributes, spawn->own_group);
    error = add_stdio(&actions, spawn, pairs);
    if (error == 0) {
      char *const *envp = spawn->envp != NULL ? spawn->envp : environ;
      error = posix_spawnp(pid, spawn->argv[0], &actions, &attributes, spawn->argv, envp);
    }
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

int rtl_process_spawn(const struct rtl_spawn *spawn, pid_t *pid, int pipes[3]) {
  int pairs[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
  int error = 0;
  for (int i = 0; i < 3 && error == 0; i++) {
    if (spawn->stdio[i] == RTL_STDIO_PIPE && open_pair(pairs[i], i == 0) != 0) {
      error = errno;
    }
  }
  if (error == 0) {
    error = start(spawn, pid, pairs);
  }
  close_pairs(pairs, 0);
  if (error != 0) {
    close_pairs(pairs, 1);
    errno = error;
    return -1;
  }
  for (int i = 0; i < 3; i++) {
    pipes[i] = pairs[i][1];
  }
  return 0;
}

void rtl_process_end(pid_t pid) {
  kill(pid, SIGKILL);
  while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
  }
}

ssize_t rtl_pipe_read(int fd, void *bytes, size_t size) {
  ssize_t got;
  do {
    got = read(fd, bytes, size);
  } while (got < 0 && errno == EINTR);
  return got;
}

ssize_t rtl_pipe_write(int fd, const void *bytes, size_t size) {
  ssize_t put;
  do {
    put = write(fd, bytes, size);
  } while (put < 0 && errno == EINTR);
  return put;
}
