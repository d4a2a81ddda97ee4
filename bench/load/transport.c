/* Sockets, with or without TLS. TLS is pinned to one version, cipher and group, so that all servers do the same work. */
#include "load.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

static SSL_CTX *context;
static enum tls_mode mode;
static struct sockaddr_in server;

/* TLS 1.3 tickets come after the handshake. The newest is what the slot's next connection offers. */
static int keep_session(SSL *ssl, SSL_SESSION *session) {
  struct connection *connection = SSL_get_app_data(ssl);
  if (connection->session) SSL_SESSION_free(connection->session);
  connection->session = session;
  return 1;
}

void transport_set_up(const struct options *options) {
  server = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)options->port)};
  server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  mode = options->tls;
  if (mode == TLS_NONE) return;
  context = SSL_CTX_new(TLS_client_method());
  if (!context || !SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) ||
      !SSL_CTX_set_ciphersuites(context, "TLS_AES_256_GCM_SHA384") || !SSL_CTX_set1_groups_list(context, "X25519") ||
      SSL_CTX_set_alpn_protos(context, (const unsigned char *)"\x08http/1.1", 9) != 0)
    die("TLS set-up");
  SSL_CTX_set_verify(context, SSL_VERIFY_NONE, NULL); /* saves the generator's time; changes nothing for the server */
  SSL_CTX_set_read_ahead(context, 1);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  if (mode == TLS_RESUME) {
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(context, keep_session);
  }
}

/* Connections per request would use up the ports of one source address; loopback has many addresses. */
static bool bind_source(const struct connection *connection) {
  struct sockaddr_in source = {.sin_family = AF_INET};
  source.sin_addr.s_addr = htonl(0x7f000101u + (connection->slot + connection->opened) % 50);
  int yes = 1;
  return setsockopt(connection->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &yes, sizeof yes) == 0 &&
         bind(connection->fd, (struct sockaddr *)&source, sizeof source) == 0;
}

/*
 * Offers a copy: OpenSSL marks a session as not resumable when its connection ends in a way it doesn't like, and not
 * every server sends a new ticket on a resumed connection.
 */
static bool offer_session(struct connection *connection) {
  SSL_SESSION *copy = SSL_SESSION_dup(connection->session);
  bool offered = copy && SSL_set_session(connection->ssl, copy);
  SSL_SESSION_free(copy);
  return offered;
}

static bool start_tls(struct load *load, struct connection *connection) {
  connection->ssl = SSL_new(context);
  if (!connection->ssl || !SSL_set_fd(connection->ssl, connection->fd)) return false;
  SSL_set_app_data(connection->ssl, connection);
  SSL_set_tlsext_host_name(connection->ssl, "localhost");
  SSL_set_connect_state(connection->ssl);
  if (mode == TLS_RESUME && connection->session && !offer_session(connection)) return false;
  load->results.handshakes++;
  return true;
}

bool transport_open(struct load *load, struct connection *connection, bool blocking) {
  connection->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | (blocking ? 0 : SOCK_NONBLOCK), 0);
  if (connection->fd < 0) return false;
  int yes = 1;
  setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  connection->received = 0;
  connection->outstanding = 0;
  connection->sent = false;
  if (load->options.close_each && !bind_source(connection)) return false;
  connection->opened++;
  if (connect(connection->fd, (struct sockaddr *)&server, sizeof server) != 0 && errno != EINPROGRESS) return false;
  return mode == TLS_NONE || start_tls(load, connection);
}

void transport_nonblocking(struct connection *connection) {
  if (fcntl(connection->fd, F_SETFL, O_NONBLOCK) != 0) die("fcntl");
}

static long tls_result(SSL *ssl, int result) {
  if (result > 0) return result;
  int error = SSL_get_error(ssl, result);
  ERR_clear_error();
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return IO_AGAIN;
  /* a server that ends without close_notify is an end, too: what counts is whether the answer was whole */
  if (error == SSL_ERROR_ZERO_RETURN || SSL_is_init_finished(ssl)) return IO_EOF;
  return IO_ERROR;
}

/* Writes what the kernel takes; with TLS all or nothing, and this makes the handshake as well. */
long transport_write(struct connection *connection, const char *bytes, size_t count) {
  if (connection->ssl) {
    ERR_clear_error();
    long written = tls_result(connection->ssl, SSL_write(connection->ssl, bytes, (int)count));
    return written > 0 && (size_t)written < count ? IO_ERROR : written;
  }
  ssize_t written = send(connection->fd, bytes, count, MSG_NOSIGNAL);
  if (written >= 0) return written;
  return errno == EAGAIN || errno == ENOTCONN ? IO_AGAIN : IO_ERROR;
}

/*
 * Reads at most `at_most` bytes into the load's buffer. Long answers without TLS are dropped in the kernel instead
 * (MSG_TRUNC, see tcp(7)): copying them is the generator's cost, not the server's. Unless they are compared.
 */
long transport_read(struct load *load, struct connection *connection, size_t at_most) {
  if (connection->ssl) {
    ERR_clear_error();
    return tls_result(connection->ssl, SSL_read(connection->ssl, load->buffer, (int)at_most));
  }
  bool drop = load->answer_bytes > 4096 && load->answer_bytes != SIZE_MAX && !load->options.answers;
  ssize_t count = recv(connection->fd, load->buffer, at_most, drop ? MSG_TRUNC : 0);
  if (count >= 0) return count;
  return errno == EAGAIN ? IO_AGAIN : IO_ERROR;
}

void transport_close(struct load *load, struct connection *connection) {
  if (connection->ssl) {
    if (SSL_is_init_finished(connection->ssl) && SSL_session_reused(connection->ssl)) load->results.resumed++;
    /* the newest ticket is the connection's own session: without this it could not be resumed */
    SSL_set_shutdown(connection->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(connection->ssl);
    connection->ssl = NULL;
  }
  if (connection->fd >= 0) close(connection->fd);
  connection->fd = -1;
}
