/*
 * The floor: what the cells cost over loopback sockets when nothing is done about HTTP. Reads, finds the blank lines,
 * sends a constant. No parsing, no timeouts, requests in one piece: not a server, only a bound.
 *
 * floor PORT ANSWER-FILE BODY-BYTES [close | websocket | pipe FILE]
 *
 * close: ends the connection behind the answer. websocket: behind the answer, echoes masked frames of up to 64 KB.
 * pipe: of the answer only the head, then the file, in chunks of 64 KB that are read and sent one by one.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MOST = 64, MOST_CONNECTIONS = 16384, PART = 1 << 16, LARGEST_ANSWER = 1 << 17 };

/* A connection: what it owes of a request's body, or what has come of a frame. */
struct connection {
  size_t body_left, kept;
  int is_upgraded;
  unsigned char *frames;
};

static struct connection connections[MOST_CONNECTIONS];
static char buffer[PART], answers[(size_t)MOST * LARGEST_ANSWER];
static size_t answer_bytes, body_bytes;

/* Answers the requests in the buffer; a body may go on in the next. */
static void answer(int fd, struct connection *connection, size_t got) {
  size_t requests = 0;
  char *at = buffer, *end = buffer + got;
  if (connection->body_left > 0) {
    size_t part = connection->body_left < got ? connection->body_left : got;
    connection->body_left -= part;
    at += part;
    if (connection->body_left == 0) requests++;
  }
  while (connection->body_left == 0 && (at = memmem(at, (size_t)(end - at), "\r\n\r\n", 4))) {
    at += 4;
    size_t part = (size_t)(end - at) < body_bytes ? (size_t)(end - at) : body_bytes;
    connection->body_left = body_bytes - part;
    at += part;
    if (connection->body_left == 0) requests++;
  }
  if (requests > 0) send(fd, answers, requests * answer_bytes, MSG_NOSIGNAL);
}

/* The head, then the file: each part is read and sent as one chunk. */
static void send_file(int fd, int file) {
  size_t head = (size_t)((char *)memmem(answers, answer_bytes, "\r\n\r\n", 4) - answers) + 4, offset = 0;
  char size[16];
  for (;;) {
    ssize_t got = pread(file, buffer, PART, (off_t)offset);
    if (got <= 0) break;
    struct iovec parts[4] = {{answers, offset == 0 ? head : 0},
                             {size, (size_t)snprintf(size, sizeof size, "%zx\r\n", (size_t)got)},
                             {buffer, (size_t)got},
                             {"\r\n", 2}};
    if (writev(fd, parts, 4) < 0) break;
    offset += (size_t)got;
  }
  send(fd, "0\r\n\r\n", 5, MSG_NOSIGNAL);
}

/* Echoes the frames that are complete, in their place: an unmasked head is four bytes shorter. */
static void echo(int fd, struct connection *connection) {
  unsigned char *at = connection->frames, *end = at + connection->kept;
  while (end - at >= 8) {
    size_t length = at[1] & 127, head = 2;
    if (length == 126) length = (size_t)at[2] << 8 | at[3], head = 4;
    if ((size_t)(end - at) < head + 4 + length) break;
    unsigned char *payload = at + head + 4;
    unsigned mask, word;
    memcpy(&mask, at + head, 4);
    for (size_t index = 0; index + 4 <= length; index += 4) {
      memcpy(&word, payload + index, 4);
      word ^= mask;
      memcpy(payload + index, &word, 4);
    }
    for (size_t index = length & ~(size_t)3; index < length; index++) payload[index] ^= (unsigned char)(mask >> (index & 3) * 8);
    memmove(at + 4, at, head);
    at[5] &= 127;
    send(fd, at + 4, head + length, MSG_NOSIGNAL);
    at = payload + length;
  }
  connection->kept = (size_t)(end - at);
  memmove(connection->frames, at, connection->kept);
}

int main(int count, char **arguments) {
  const char *mode = count > 4 ? arguments[4] : "";
  int is_websocket = !strcmp(mode, "websocket"), file = strcmp(mode, "pipe") ? -1 : open(arguments[5], O_RDONLY);
  FILE *answer_file = fopen(arguments[2], "rb");
  answer_bytes = fread(answers, 1, LARGEST_ANSWER, answer_file), body_bytes = strtoul(arguments[3], NULL, 10);
  for (int index = 1; index < MOST; index++) memcpy(answers + (size_t)index * answer_bytes, answers, answer_bytes);
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
        if (fd < 0) continue;
        if (fd >= MOST_CONNECTIONS) return 1;
        unsigned char *frames = connections[fd].frames;
        if (is_websocket && !frames) frames = malloc(2 * PART);
        connections[fd] = (struct connection){.frames = frames};
        event = (struct epoll_event){.events = EPOLLIN | EPOLLRDHUP, .data.fd = fd};
        if (body_bytes <= PART / 2 && !is_websocket) event.events |= EPOLLET;
        epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event);
        continue;
      }
      struct connection *connection = &connections[fd];
      int is_frames = is_websocket && connection->is_upgraded;
      char *place = is_frames ? (char *)connection->frames + connection->kept : buffer;
      ssize_t got = recv(fd, place, PART, 0);
      if (got <= 0) {
        close(fd);
        continue;
      }
      connection->kept += is_frames ? (size_t)got : 0;
      if (is_frames) echo(fd, connection);
      else if (file >= 0) send_file(fd, file);
      else answer(fd, connection, (size_t)got);
      connection->is_upgraded = 1;
      if (!strcmp(mode, "close")) close(fd);
    }
  }
}
