//! TLS for servers over rustls, without I/O.
