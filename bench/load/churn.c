/*
 * Closed loop, one connection per request: connect, (handshake,) ask, read the answer, wait for the server to close.
 * A server that leaves the connection open although it was asked to close is closed from here.
 */
#include "load.h"

#include <sys/epoll.h>

enum { EVENTS = 256, DRAIN_NS = 2000000000 };

static void start(struct load *load, struct connection *connection);

static void finish(struct load *load, struct connection *connection, bool good, bool stopping, int *busy) {
  if (good) {
    load->results.completed++;
    histogram_add(now_ns() - connection->since_ns);
  } else {
    load->results.errors++;
  }
  transport_close(load, connection);
  if (stopping || load->results.errors >= MAX_ERRORS) (*busy)--;
  else start(load, connection);
}

/* Sends the request, when the connection and its handshake allow. False: broken. */
static bool try_send(struct load *load, struct connection *connection) {
  const char *bytes = load->options.requests + (size_t)connection->variant * load->options.request_bytes;
  long written = transport_write(connection, bytes, load->options.request_bytes);
  if (written == IO_AGAIN) return true;
  connection->sent = written == (long)load->options.request_bytes;
  connection->outstanding = 1;
  connection->variant = (connection->variant + 1) % load->options.variants;
  return connection->sent;
}

static void start(struct load *load, struct connection *connection) {
  connection->since_ns = now_ns();
  if (!transport_open(load, connection, false)) die("could not open a connection");
  bool alive = try_send(load, connection);
  /* without TLS, loopback has usually connected by now, and room to write is of no interest any more */
  struct epoll_event interest = {.events = EPOLLIN | EPOLLET, .data.ptr = connection};
  if (!connection->sent) interest.events |= EPOLLOUT;
  (void)alive; /* a broken connection shows as an event */
  if (epoll_ctl(load->epoll, EPOLL_CTL_ADD, connection->fd, &interest) != 0) die("epoll_ctl");
}

static void on_event(struct load *load, struct connection *connection, bool stopping, int *busy) {
  if (!connection->sent) {
    if (!try_send(load, connection)) {
      finish(load, connection, false, stopping, busy);
      return;
    }
    if (!connection->sent) return;
  }
  for (;;) {
    long got = transport_read(load, connection, READ_BUFFER);
    if (got == IO_AGAIN) return;
    if (got > 0) {
      connection->received += (size_t)got;
      if (connection->received < load->answer_bytes || load->server_closes) continue;
    }
    finish(load, connection, connection->received == load->answer_bytes, stopping, busy);
    return;
  }
}

void run_churn(struct load *load, uint64_t duration_ns) {
  struct epoll_event events[EVENTS];
  uint64_t begin = now_ns(), now = begin;
  int busy = load->options.connections;
  for (int slot = 0; slot < load->options.connections; slot++) start(load, &load->slots[slot]);
  while (busy > 0 && now - begin < duration_ns + DRAIN_NS) {
    int count = epoll_wait(load->epoll, events, EVENTS, 100);
    now = now_ns();
    for (int index = 0; index < count; index++)
      on_event(load, events[index].data.ptr, now - begin >= duration_ns, &busy);
  }
  load->results.unfinished = (uint64_t)(busy > 0 ? busy : 0);
  load->results.elapsed_ns = now_ns() - begin;
  for (int slot = 0; slot < load->options.connections; slot++)
    if (load->slots[slot].fd >= 0) transport_close(load, &load->slots[slot]);
}
