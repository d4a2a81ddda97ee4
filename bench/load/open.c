/*
 * Open loop: requests at a constant rate, whatever the server does. A latency counts from the time at which the
 * request should have been sent, so a stall is seen by all requests that it delayed, not only by the one it hit.
 * Spins: the generator has its core for itself, and a sleep would add its own latency.
 */
#include "load.h"

#include <stdlib.h>
#include <sys/epoll.h>

enum { EVENTS = 256, DRAIN_NS = 2000000000 };

struct idle_ring {
  struct connection **items;
  unsigned size, first, count;
};

static void put_idle(struct idle_ring *ring, struct connection *connection) {
  ring->items[(ring->first + ring->count++) % ring->size] = connection;
}

static struct connection *take_idle(struct idle_ring *ring) {
  struct connection *connection = ring->items[ring->first];
  ring->first = (ring->first + 1) % ring->size;
  ring->count--;
  return connection;
}

static void on_readable(struct load *load, struct connection *connection, struct idle_ring *ring) {
  while (connection->outstanding > 0) {
    long got = transport_read(load, connection, READ_BUFFER);
    if (got == IO_AGAIN) return;
    if (got <= 0 || !count_answers(load, connection, (size_t)got, true)) {
      load->results.errors++;
      connection->outstanding = 0;
      epoll_ctl(load->epoll, EPOLL_CTL_DEL, connection->fd, NULL);
      transport_close(load, connection);
      return;
    }
  }
  histogram_add(now_ns() - connection->since_ns);
  put_idle(ring, connection);
}

void run_open(struct load *load, uint64_t duration_ns, uint64_t rate) {
  struct epoll_event events[EVENTS];
  unsigned slots = (unsigned)load->options.connections;
  struct idle_ring ring = {.items = calloc(slots, sizeof(struct connection *)), .size = slots};
  if (!ring.items) die("out of memory");
  for (unsigned slot = 0; slot < slots; slot++)
    if (load->slots[slot].fd >= 0) put_idle(&ring, &load->slots[slot]);
  uint64_t due = rate * duration_ns / 1000000000, next = 0, start = now_ns(), now = start;
  while (load->results.completed + load->results.errors < due && now - start < duration_ns + DRAIN_NS) {
    while (next < due && ring.count > 0) {
      uint64_t intended = start + next * 1000000000 / rate;
      now = now_ns();
      if (intended > now) break;
      if (now - intended > 1000000) load->results.late++;
      struct connection *connection = take_idle(&ring);
      connection->since_ns = intended;
      connection->outstanding = 1;
      long written = transport_write(connection, next_requests(load, connection), load->options.request_bytes);
      if (written != (long)load->options.request_bytes) die("could not send");
      next++;
    }
    int count = epoll_wait(load->epoll, events, EVENTS, 0);
    now = now_ns();
    for (int index = 0; index < count; index++) on_readable(load, events[index].data.ptr, &ring);
  }
  load->results.unfinished = due - load->results.completed - load->results.errors;
  load->results.elapsed_ns = now_ns() - start;
  free(ring.items);
}
