/*
 * The load generator: constant requests, answers counted by the length of the first one, or compared with what they must
 * be. After a handshake the requests may be of another protocol: WebSocket frames.
 *
 * It exists because a generator that parses answers costs more than the servers it measures. One thread, one process,
 * pinned by its caller. It is told on standard input when to run, so that the caller can read the server's CPU time
 * exactly before and after, with every connection made and every answer received.
 *
 * main.c      arguments and the dialogue with the caller
 * transport.c sockets, with or without TLS
 * probe.c     the first answer: its length and whether the server closes
 * closed.c    closed loop on kept connections (pipelined or not)
 * churn.c     closed loop, one connection per request
 * open.c      open loop: requests at a constant rate, latency from the intended time
 * histogram.c latencies
 */
#ifndef PORTICO_BENCH_LOAD_H
#define PORTICO_BENCH_LOAD_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a connection does about TLS: nothing; a full handshake each time; resume the slot's last session. */
enum tls_mode { TLS_NONE, TLS_FULL, TLS_RESUME };

struct options {
  int port;
  int connections;     /* slots */
  int pipeline;        /* requests in flight on one connection */
  bool close_each;     /* one connection per request */
  enum tls_mode tls;
  char *requests;      /* `variants` requests of `request_bytes` each, then the first `pipeline` again */
  size_t request_bytes;
  unsigned variants;
  char *answers;       /* what each request must be answered with, byte by byte, or NULL: the first answer's length */
  size_t answers_bytes;
  char *handshake;     /* sent first on each connection, which must be answered with 101; or NULL */
  size_t handshake_bytes;
};

struct connection {
  int fd;
  SSL *ssl;
  SSL_SESSION *session; /* the newest ticket of this slot, kept over connections */
  unsigned slot;
  unsigned opened;      /* connections this slot has made, for the source address */
  unsigned variant;     /* next request to send */
  unsigned asked;       /* first request of those in flight */
  const char *unsent;   /* what the kernel has not taken of them yet */
  size_t unsent_bytes;
  unsigned outstanding; /* answers still to come */
  size_t received;      /* bytes of the answer in progress */
  bool sent;
  uint64_t since_ns;    /* when the request was sent, or (open loop) should have been */
};

struct results {
  uint64_t completed, errors, handshakes, resumed, unfinished, late;
  uint64_t elapsed_ns;
};

enum { READ_BUFFER = 256 * 1024, HISTOGRAM_SLOTS = 64 * 64, MAX_ERRORS = 1000 };
enum { IO_EOF = 0, IO_AGAIN = -1, IO_ERROR = -2 };

struct load {
  struct options options;
  struct connection *slots;
  int epoll;
  size_t answer_bytes;
  bool server_closes;   /* (close_each) the server ends the connection itself */
  struct results results;
  char buffer[READ_BUFFER];
};

/* transport.c. All return bytes (a write perhaps fewer than given), or one of IO_EOF, IO_AGAIN, IO_ERROR. */
void transport_set_up(const struct options *options);
bool transport_open(struct load *load, struct connection *connection, bool blocking);
long transport_write(struct connection *connection, const char *bytes, size_t count);
long transport_read(struct load *load, struct connection *connection, size_t at_most);
void transport_nonblocking(struct connection *connection);
void transport_close(struct load *load, struct connection *connection);

/* probe.c. Both end the process with a message when the server does not answer as it should. */
void probe(struct load *load);
void connect_all(struct load *load);
/* connections that the server has closed since */
unsigned count_closed(struct load *load);

/* closed.c, churn.c, open.c */
void run_closed(struct load *load, uint64_t duration_ns);
void run_churn(struct load *load, uint64_t duration_ns);
void run_open(struct load *load, uint64_t duration_ns, uint64_t rate);
const char *next_requests(struct load *load, struct connection *connection);
/* Counts the answers in `count` bytes just read. False when they are not what was expected. */
bool count_answers(struct load *load, struct connection *connection, size_t count, bool copied);

/* histogram.c: 64 slots to the power of two, so 1.6 % wide */
void histogram_reset(void);
void histogram_add(uint64_t ns);
uint64_t histogram_quantile(double quantile);

uint64_t now_ns(void);
_Noreturn void die(const char *what);

#endif
