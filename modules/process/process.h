/* Children and the pipes to them. Functions that return int give 0, or -1 with errno. */
#ifndef RTL_PROCESS_H
#define RTL_PROCESS_H

#include <stddef.h>
#include <sys/types.h>

/* What each of a child's descriptors 0, 1, 2 is. */
enum rtl_stdio { RTL_STDIO_PIPE, RTL_STDIO_NULL, RTL_STDIO_INHERIT };

struct rtl_spawn {
  char *const *argv;        /* borrowed; argv[0] is looked for in PATH */
  char *const *envp;        /* borrowed; NULL: ours */
  const char *cwd;          /* borrowed; NULL: ours */
  enum rtl_stdio stdio[3];
  int own_group;            /* a process group of its own: Ctrl-C at the terminal is not for it */
};

/* Starts a child. It gets default signal dispositions and no descriptor above 2. For each
 * RTL_STDIO_PIPE our end is left in pipes[i] (the caller's, non-blocking, close-on-exec), else -1.
 * On failure nothing is left open. */
int rtl_process_spawn(const struct rtl_spawn *spawn, pid_t *pid, int pipes[3]);

/* Kills with SIGKILL and reaps, blocking for the moment that takes. */
void rtl_process_end(pid_t pid);

/* Reads what is there. Returns the count, 0 at the end, -1 with errno (EAGAIN: nothing yet). */
ssize_t rtl_pipe_read(int fd, void *bytes, size_t size);

/* Writes what fits. Returns the count, -1 with errno (EAGAIN: nothing fits now). */
ssize_t rtl_pipe_write(int fd, const void *bytes, size_t size);

#endif
