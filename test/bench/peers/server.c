/* The local server of test/bench/aws.lua: answers each request with the file given, as fast as one
 * core can. `server FILE` prints its port and serves until its input ends. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CLIENTS = 4096, ROOM = 16384, AWAKE_US = 3000 };

static char answer[ROOM];
static size_t answer_size;
static char inbox[CLIENTS][ROOM]; /* by descriptor */
static size_t filled[CLIENTS];
static int clients;

static int load(const char *path) {
  static char body[ROOM / 2];
  FILE *file = fopen(path, "rb");
  size_t size = file == NULL ? 0 : fread(body, 1, sizeof body, file);
  int head = snprintf(answer, sizeof answer,
                      "HTTP/1.1 200 OK\r\nContent-Type: text/xml;charset=UTF-8\r\n"
                      "x-amzn-RequestId: 0123\r\nContent-Length: %zu\r\n\r\n", size);
  memcpy(answer + head, body, size);
  answer_size = (size_t)head + size;
  return size > 0 && fclose(file) == 0;
}

/* Bytes of the first whole request in a client's inbox, or 0. */
static size_t whole(const char *text, size_t size) {
  const char *end = memmem(text, size, "\r\n\r\n", 4);
  if (end == NULL) {
    return 0;
  }
  size_t head = (size_t)(end - text) + 4, body = 0;
  for (const char *line = text; line < end; line = memchr(line, '\n', (size_t)(end + 2 - line)) + 1) {
    if (strncasecmp(line, "content-length:", 15) == 0) {
      body = strtoul(line + 15, NULL, 10);
    }
  }
  return size - head >= body ? head + body : 0;
}

static void drop(int fd) {
  filled[fd] = 0;
  clients--;
  close(fd);
}

static void serve(int fd) {
  ssize_t got = read(fd, inbox[fd] + filled[fd], ROOM - 1 - filled[fd]);
  if (got <= 0) {
    if (got == 0 || errno != EAGAIN) {
      drop(fd);
    }
    return;
  }
  filled[fd] += (size_t)got;
  inbox[fd][filled[fd]] = '\0';
  for (size_t size; (size = whole(inbox[fd], filled[fd])) > 0;) {
    filled[fd] -= size;
    memmove(inbox[fd], inbox[fd] + size, filled[fd]);
    if (write(fd, answer, answer_size) != (ssize_t)answer_size) {
      drop(fd);
      return;
    }
  }
}

static void welcome(int epoll, int door) {
  int fd, yes = 1;
  while ((fd = accept4(door, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (fd >= CLIENTS || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
      close(fd);
    } else {
      clients++;
    }
  }
}

static int64_t now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
}

/* To wake a process takes about as long as to answer, in part of the sender's time: for a single
 * client the server stays awake for a while, so that what is measured is the client. */
static int next(int epoll, struct epoll_event *events, int most) {
  int64_t end = now_us() + AWAKE_US;
  int count = 0;
  while (count == 0 && clients == 1 && now_us() < end) {
    count = epoll_wait(epoll, events, most, 0);
  }
  return count != 0 ? count : epoll_wait(epoll, events, most, -1);
}

int main(int argc, char **argv) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof at;
  int door = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), epoll = epoll_create1(0);
  if (argc != 2 || !load(argv[1]) || bind(door, (struct sockaddr *)&at, size) != 0 ||
      listen(door, 1024) != 0 || getsockname(door, (struct sockaddr *)&at, &size) != 0) {
    return 1;
  }
  struct epoll_event events[256] = {{.events = EPOLLIN, .data.fd = door}};
  epoll_ctl(epoll, EPOLL_CTL_ADD, door, events);
  events[0].data.fd = 0;
  epoll_ctl(epoll, EPOLL_CTL_ADD, 0, events);
  printf("%d %d\n", ntohs(at.sin_port), getpid());
  fflush(stdout);
  for (;;) {
    int count = next(epoll, events, 256);
    for (int i = 0; i < count; i++) {
      int fd = events[i].data.fd;
      if (fd == 0) {
        return 0;
      }
      fd == door ? welcome(epoll, door) : serve(fd);
    }
  }
}
