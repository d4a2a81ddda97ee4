/*
 * The floor: what HTTP over loopback sockets costs when nothing is done about HTTP. Reads, finds the blank lines, sends
 * a constant. No parsing, no partial requests, no timeouts: not a server, only a bound.
 *
 * floor PORT ANSWER-FILE BODY-BYTES [close]
 */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST = 64 };

int main(int count, char **arguments) {
  static char buffer[1 << 16], answers[MOST << 17];
  FILE *file = fopen(arguments[2], "rb");
  size_t length = fread(answers, 1, 1 << 17, file), body = strtoul(arguments[3], NULL, 10);
  for (int index = 1; index < MOST; index++) memcpy(answers + (size_t)index * length, answers, length);
  int yes = 1, much = 4 << 20, listener = socket(AF_INET, SOCK_STREAM, 0), poll = epoll_create1(0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(arguments[1])),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  setsockopt(listener, SOL_SOCKET, SO_SNDBUF, &much, sizeof much); /* so that a long answer goes in one send */
  setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 511)) return 1;
  struct epoll_event event = {.events = EPOLLIN, .data.fd = listener}, events[256];
  epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event);
  for (;;) {
    int ready = epoll_wait(poll, events, 256, -1);
    for (int index = 0; index < ready; index++) {
      int fd = events[index].data.fd;
      if (fd == listener) {
        fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
        event = (struct epoll_event){.events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data.fd = fd};
        epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event);
        continue;
      }
      ssize_t got = recv(fd, buffer, sizeof buffer, 0);
      if (got <= 0) {
        close(fd);
        continue;
      }
      size_t requests = 0;
      for (char *at = buffer, *end = buffer + got; (at = memmem(at, (size_t)(end - at), "\r\n\r\n", 4));
           at = at + 4 + body > end ? end : at + 4 + body)
        requests++;
      send(fd, answers, requests * length, MSG_NOSIGNAL);
      if (count > 4) close(fd);
    }
  }
}
