/* Before the run: the first answer says how long answers are; then all connections are made, each asked once. */
#include "load.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>

enum { PROBE_SECONDS = 10, CLOSE_WAIT_MS = 300, LONGEST_ANSWER = 4 * 1024 * 1024 };

/* Length of the answer that starts at `bytes`, or 0 while it is not whole. */
static size_t whole_answer(const char *bytes, size_t count) {
  const char *blank = memmem(bytes, count, "\r\n\r\n", 4);
  if (!blank) return 0;
  size_t head = (size_t)(blank - bytes) + 4;
  for (const char *line = bytes; line < blank; line = (const char *)memchr(line, '\n', count) + 1) {
    if (strncasecmp(line, "content-length:", 15) == 0) {
      size_t body = strtoul(line + 15, NULL, 10);
      return count >= head + body ? head + body : 0;
    }
    if (strncasecmp(line, "transfer-encoding:", 18) == 0) {
      const char *last = memmem(blank, count - head + 4, "\r\n0\r\n\r\n", 7);
      return last ? (size_t)(last - bytes) + 7 : 0;
    }
  }
  die("an answer without Content-Length or Transfer-Encoding");
}

static void set_timeout(int fd) {
  struct timeval limit = {.tv_sec = PROBE_SECONDS};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

/* Changes the protocol: sends the handshake and takes the head of its answer, behind which the server is silent. */
static void shake_hands(struct load *load, struct connection *connection) {
  char head[4096];
  size_t count = 0;
  if (transport_write(connection, load->options.handshake, load->options.handshake_bytes) <= 0)
    die("the handshake could not be sent");
  while (count < 4 || memcmp(head + count - 4, "\r\n\r\n", 4) != 0) {
    if (count == sizeof head || transport_read(load, connection, 1) != 1) die("the handshake got no whole answer");
    head[count++] = load->buffer[0];
  }
  if (strncmp(head, "HTTP/1.1 101", 12) != 0) die("the handshake was not answered with 101");
}

void probe(struct load *load) {
  struct connection *connection = &load->slots[0];
  if (load->options.answers) {
    load->answer_bytes = load->options.answers_bytes / load->options.variants;
    return;
  }
  load->answer_bytes = SIZE_MAX;
  if (!transport_open(load, connection, true)) die("the probe could not connect");
  set_timeout(connection->fd);
  if (transport_write(connection, next_requests(load, connection), load->options.request_bytes) <= 0)
    die("the probe could not send");
  size_t count = 0, length = 0;
  static char answer[LONGEST_ANSWER];
  while (length == 0) {
    size_t room = sizeof answer - 1 - count;
    long got = transport_read(load, connection, room < READ_BUFFER ? room : READ_BUFFER);
    if (got <= 0) die("the probe got no whole answer");
    memcpy(answer + count, load->buffer, (size_t)got);
    count += (size_t)got;
    length = whole_answer(answer, count);
  }
  if (strncmp(answer, "HTTP/1.1 200", 12) != 0) die("the probe was not answered with 200");
  if (count != length) die("the probe got more than one answer");
  struct pollfd wait = {.fd = connection->fd, .events = POLLIN};
  if (load->options.close_each) {
    transport_nonblocking(connection);
    load->server_closes = false;
    long got = transport_read(load, connection, 1);
    for (int waits = 0; got == IO_AGAIN && waits < 3; waits++) {
      poll(&wait, 1, CLOSE_WAIT_MS);
      got = transport_read(load, connection, 1);
    }
    load->server_closes = got == IO_EOF;
  }
  transport_close(load, connection);
  load->answer_bytes = length;
}

/* One request on each, blocking: a connection that was never used costs less than a used one. */
void connect_all(struct load *load) {
  for (int slot = 0; slot < load->options.connections; slot++) {
    struct connection *connection = &load->slots[slot];
    if (!transport_open(load, connection, true)) die("could not connect");
    set_timeout(connection->fd);
    if (load->options.handshake) shake_hands(load, connection);
    if (transport_write(connection, next_requests(load, connection), load->options.request_bytes) <= 0)
      die("could not send");
    connection->outstanding = 1;
    while (connection->outstanding > 0) {
      /* one by one, a server that leaves Nagle's algorithm on would make us wait 40 ms for each */
      int yes = 1;
      setsockopt(connection->fd, IPPROTO_TCP, TCP_QUICKACK, &yes, sizeof yes);
      long got = transport_read(load, connection, READ_BUFFER);
      if (got <= 0 || !count_answers(load, connection, (size_t)got, false)) die("a first request was not answered");
    }
    transport_nonblocking(connection);
    struct epoll_event interest = {.events = EPOLLIN, .data.ptr = connection};
    if (epoll_ctl(load->epoll, EPOLL_CTL_ADD, connection->fd, &interest) != 0) die("epoll_ctl");
  }
}

unsigned count_closed(struct load *load) {
  unsigned closed = 0;
  for (int slot = 0; slot < load->options.connections; slot++) {
    char byte;
    if (load->slots[slot].fd >= 0 && recv(load->slots[slot].fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0) closed++;
  }
  return closed;
}
