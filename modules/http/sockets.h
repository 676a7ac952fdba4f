/* The sockets that libcurl has open, by their ports: in its callbacks libcurl tells no more of a
 * connection than those. */
#ifndef RTL_HTTP_SOCKETS_H
#define RTL_HTTP_SOCKETS_H

#include "http/curl.h"

/* For CURLOPT_OPENSOCKETFUNCTION and CURLOPT_CLOSESOCKETFUNCTION: a socket that children don't
 * inherit, and its end. */
curl_socket_t rtl_socket_open(void *unused, curlsocktype purpose, struct curl_sockaddr *address);
int rtl_socket_close(void *unused, curl_socket_t fd);

/* The connected socket between these ports, or CURL_SOCKET_BAD. */
curl_socket_t rtl_socket_between(int local_port, int remote_port);

#endif
