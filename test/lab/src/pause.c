/* The first process of a pod: holds its namespaces, reaps orphans, ends when asked to. */
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

static void stop(int signal_number) {
  (void)signal_number;
  _exit(0);
}

static void reap(int signal_number) {
  (void)signal_number;
  while (waitpid(-1, NULL, WNOHANG) > 0) {
  }
}

int main(void) {
  struct sigaction stopping = {.sa_handler = stop};
  struct sigaction reaping = {.sa_handler = reap, .sa_flags = SA_NOCLDSTOP};
  sigaction(SIGINT, &stopping, NULL);
  sigaction(SIGTERM, &stopping, NULL);
  sigaction(SIGCHLD, &reaping, NULL);
  for (;;) {
    pause();
  }
}
