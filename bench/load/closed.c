/* Closed loop on kept connections: a connection asks again as soon as its last answer is whole. */
#include "load.h"

#include <string.h>
#include <sys/epoll.h>

enum { EVENTS = 256, DRAIN_NS = 2000000000 };

const char *next_requests(struct load *load, struct connection *connection) {
  connection->asked = connection->variant;
  const char *bytes = load->options.requests + (size_t)connection->variant * load->options.request_bytes;
  connection->variant = (connection->variant + (unsigned)load->options.pipeline) % load->options.variants;
  return bytes;
}

bool count_answers(struct load *load, struct connection *connection, size_t count, bool copied) {
  if (load->options.answers) {
    const char *expected = load->options.answers + connection->asked * load->answer_bytes + connection->received;
    if (count > load->answer_bytes - connection->received || memcmp(load->buffer, expected, count) != 0) return false;
  } else if (copied && connection->received == 0 && count >= 12 && memcmp(load->buffer, "HTTP/1.1 200", 12) != 0) {
    return false;
  }
  connection->received += count;
  while (connection->received >= load->answer_bytes && connection->outstanding > 0) {
    connection->received -= load->answer_bytes;
    connection->outstanding--;
    load->results.completed++;
  }
  return connection->outstanding > 0 || connection->received == 0;
}

/* Sends what the kernel takes of the requests; the rest when it has room, which `waits` says that it was asked for. */
static bool send_on(struct load *load, struct connection *connection, bool waits) {
  long written = transport_write(connection, connection->unsent, connection->unsent_bytes);
  if (written <= 0 && written != IO_AGAIN) return false;
  if (written > 0) {
    connection->unsent += written;
    connection->unsent_bytes -= (size_t)written;
  }
  if (waits == (connection->unsent_bytes > 0)) return true;
  struct epoll_event interest = {.events = waits ? EPOLLIN : EPOLLIN | EPOLLOUT, .data.ptr = connection};
  return epoll_ctl(load->epoll, EPOLL_CTL_MOD, connection->fd, &interest) == 0;
}

static bool ask(struct load *load, struct connection *connection) {
  connection->since_ns = now_ns();
  connection->outstanding = (unsigned)load->options.pipeline;
  connection->unsent = next_requests(load, connection);
  connection->unsent_bytes = load->options.request_bytes * (size_t)load->options.pipeline;
  return send_on(load, connection, false);
}

/* A lost connection is an error and is not made again: the caller discards a slice with errors. */
static void lose(struct load *load, struct connection *connection, int *busy) {
  load->results.errors++;
  if (connection->outstanding > 0) (*busy)--;
  connection->outstanding = 0;
  epoll_ctl(load->epoll, EPOLL_CTL_DEL, connection->fd, NULL);
  transport_close(load, connection);
}

static void on_ready(struct load *load, struct connection *connection, bool stopping, int *busy) {
  long got;
  if (connection->unsent_bytes > 0 && !send_on(load, connection, true)) {
    lose(load, connection, busy);
    return;
  }
  bool copied = connection->ssl || load->answer_bytes <= 4096;
  do {
    got = transport_read(load, connection, READ_BUFFER);
    if (got == IO_AGAIN) return;
    if (got <= 0 || connection->outstanding == 0 || !count_answers(load, connection, (size_t)got, copied)) {
      lose(load, connection, busy);
      return;
    }
  } while (connection->outstanding > 0 && connection->ssl);
  if (connection->outstanding > 0) return;
  histogram_add(now_ns() - connection->since_ns);
  if (stopping) {
    (*busy)--;
  } else if (!ask(load, connection)) {
    lose(load, connection, busy);
  }
}

void run_closed(struct load *load, uint64_t duration_ns) {
  struct epoll_event events[EVENTS];
  uint64_t start = now_ns(), now = start;
  int busy = 0;
  for (int slot = 0; slot < load->options.connections; slot++) {
    struct connection *connection = &load->slots[slot];
    if (connection->fd < 0) continue;
    busy++;
    if (!ask(load, connection)) lose(load, connection, &busy);
  }
  while (busy > 0 && now - start < duration_ns + DRAIN_NS && load->results.errors < MAX_ERRORS) {
    int count = epoll_wait(load->epoll, events, EVENTS, 100);
    now = now_ns();
    for (int index = 0; index < count; index++)
      on_ready(load, events[index].data.ptr, now - start >= duration_ns, &busy);
  }
  load->results.unfinished = (uint64_t)(busy > 0 ? busy : 0);
  load->results.elapsed_ns = now_ns() - start;
}
