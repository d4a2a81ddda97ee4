/*
 * load --port N --requests FILE --request-bytes N [--connections N] [--pipeline N] [--close] [--tls full|resume]
 *      [--handshake FILE] [--answers FILE]
 *
 * Connects, asks each connection once, says {"ready":...}. Then, for each line on standard input:
 *   go MILLISECONDS        closed loop
 *   rate MILLISECONDS N    open loop, N requests a second (kept connections only)
 *   closed                 how many of the kept connections the server has closed
 * and says the results as one line of JSON. Ends at the end of its input.
 */
#include "load.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <time.h>

uint64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

void die(const char *what) {
  fprintf(stderr, "load: %s: ", what);
  perror(NULL);
  exit(1);
}

/* The whole of a file, with room for `more` bytes behind it. */
static char *read_file(const char *path, size_t more, size_t *bytes) {
  FILE *file = fopen(path, "rb");
  struct stat information;
  if (!file || fstat(fileno(file), &information) != 0) die(path);
  *bytes = (size_t)information.st_size;
  char *content = malloc(*bytes + more);
  if (!content || fread(content, 1, *bytes, file) != *bytes) die(path);
  fclose(file);
  return content;
}

/* Requests in a row, the first ones again at the end, so that any `pipeline` of them lie in one piece. */
static void read_requests(struct options *options, const char *path) {
  size_t bytes, more = options->request_bytes * (size_t)options->pipeline;
  options->requests = read_file(path, more, &bytes);
  if (options->request_bytes == 0 || bytes < options->request_bytes) die("no requests");
  options->variants = (unsigned)(bytes / options->request_bytes);
  for (size_t at = 0; at < more; at++) options->requests[bytes + at] = options->requests[at];
}

static void read_options(struct options *options, int count, char **arguments) {
  const char *path = NULL;
  *options = (struct options){.connections = 1, .pipeline = 1};
  for (int index = 1; index < count; index++) {
    const char *name = arguments[index];
    if (strcmp(name, "--close") == 0) {
      options->close_each = true;
      continue;
    }
    const char *value = index + 1 < count ? arguments[++index] : "";
    if (strcmp(name, "--port") == 0) options->port = atoi(value);
    else if (strcmp(name, "--connections") == 0) options->connections = atoi(value);
    else if (strcmp(name, "--pipeline") == 0) options->pipeline = atoi(value);
    else if (strcmp(name, "--requests") == 0) path = value;
    else if (strcmp(name, "--request-bytes") == 0) options->request_bytes = strtoul(value, NULL, 10);
    else if (strcmp(name, "--handshake") == 0) options->handshake = read_file(value, 0, &options->handshake_bytes);
    else if (strcmp(name, "--answers") == 0) options->answers = read_file(value, 0, &options->answers_bytes);
    else if (strcmp(name, "--tls") == 0) options->tls = strcmp(value, "resume") == 0 ? TLS_RESUME : TLS_FULL;
    else die(name);
  }
  if (!path || options->port <= 0 || options->connections <= 0 || options->pipeline <= 0) die("arguments");
  read_requests(options, path);
  bool alone = options->pipeline == 1 && !options->close_each; /* which answers are compared */
  if (options->answers && (!alone || options->answers_bytes % options->variants != 0)) die("answers");
}

static void say_results(const struct load *load) {
  const struct results *results = &load->results;
  printf("{\"completed\":%" PRIu64 ",\"errors\":%" PRIu64 ",\"unfinished\":%" PRIu64 ",\"late\":%" PRIu64
         ",\"handshakes\":%" PRIu64 ",\"resumed\":%" PRIu64 ",\"elapsedNs\":%" PRIu64
         ",\"p50Ns\":%" PRIu64 ",\"p99Ns\":%" PRIu64 ",\"p999Ns\":%" PRIu64 "}\n",
         results->completed, results->errors, results->unfinished, results->late, results->handshakes,
         results->resumed, results->elapsed_ns, histogram_quantile(0.5), histogram_quantile(0.99),
         histogram_quantile(0.999));
}

static void obey(struct load *load, const char *line) {
  uint64_t milliseconds = 0, rate = 0;
  memset(&load->results, 0, sizeof load->results);
  histogram_reset();
  if (strncmp(line, "closed", 6) == 0) {
    printf("{\"closed\":%u}\n", count_closed(load));
  } else if (sscanf(line, "go %" SCNu64, &milliseconds) == 1) {
    if (load->options.close_each) run_churn(load, milliseconds * 1000000);
    else run_closed(load, milliseconds * 1000000);
    say_results(load);
  } else if (sscanf(line, "rate %" SCNu64 " %" SCNu64, &milliseconds, &rate) == 2 && rate > 0) {
    run_open(load, milliseconds * 1000000, rate);
    say_results(load);
  } else {
    die("not a command");
  }
}

int main(int count, char **arguments) {
  static struct load load;
  char line[64];
  setvbuf(stdout, NULL, _IOLBF, 0);
  read_options(&load.options, count, arguments);
  transport_set_up(&load.options);
  load.slots = calloc((size_t)load.options.connections, sizeof *load.slots);
  load.epoll = epoll_create1(EPOLL_CLOEXEC);
  if (!load.slots || load.epoll < 0) die("set-up");
  for (int slot = 0; slot < load.options.connections; slot++) {
    load.slots[slot].fd = -1;
    load.slots[slot].slot = (unsigned)slot;
    load.slots[slot].variant = (unsigned)(slot * 7) % load.options.variants;
  }
  probe(&load);
  if (!load.options.close_each) connect_all(&load);
  printf("{\"ready\":true,\"answerBytes\":%zu,\"serverCloses\":%s}\n", load.answer_bytes,
         load.server_closes ? "true" : "false");
  while (fgets(line, sizeof line, stdin)) obey(&load, line);
  return 0;
}
