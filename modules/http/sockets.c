#include "http/sockets.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static struct entry {
  curl_socket_t fd;
  int local, remote; /* ports; 0: not connected yet, when last looked at */
} *entries;
static size_t count, capacity;

static int make_room(void) {
  if (count < capacity) {
    return 0;
  }
  size_t more = capacity * 2 + 16;
  struct entry *grown = realloc(entries, more * sizeof *grown);
  if (grown == NULL) {
    return -1;
  }
  entries = grown;
  capacity = more;
  return 0;
}

curl_socket_t rtl_socket_open(void *unused, curlsocktype purpose, struct curl_sockaddr *address) {
  (void)unused;
  (void)purpose;
  if (make_room() != 0) {
    return CURL_SOCKET_BAD;
  }
  int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  if (fd >= 0) {
    entries[count++] = (struct entry){.fd = fd};
  }
  return fd;
}

static void forget(size_t i) {
  entries[i] = entries[--count];
  if (count == 0) {
    free(entries);
    entries = NULL;
    capacity = 0;
  }
}

int rtl_socket_close(void *unused, curl_socket_t fd) {
  (void)unused;
  for (size_t i = 0; i < count; i++) {
    if (entries[i].fd == fd) {
      forget(i);
      break;
    }
  }
  return close(fd);
}

static int port_of(const struct sockaddr_storage *address) {
  /* both kinds have their port at the same place */
  return ntohs(((const struct sockaddr_in *)(const void *)address)->sin_port);
}

static void learn_ports(struct entry *entry) {
  struct sockaddr_storage local = {0}, remote = {0};
  socklen_t local_size = sizeof local, remote_size = sizeof remote;
  if (getpeername(entry->fd, (struct sockaddr *)&remote, &remote_size) == 0 &&
      getsockname(entry->fd, (struct sockaddr *)&local, &local_size) == 0) {
    entry->local = port_of(&local);
    entry->remote = port_of(&remote);
  }
}

curl_socket_t rtl_socket_between(int local_port, int remote_port) {
  for (size_t i = 0; i < count; i++) {
    if (entries[i].local == 0) {
      learn_ports(&entries[i]);
    }
    if (entries[i].local == local_port && entries[i].remote == remote_port) {
      return entries[i].fd;
    }
  }
  return CURL_SOCKET_BAD;
}
