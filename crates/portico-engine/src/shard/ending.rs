//! The end of connections.

use portico_channel::layout::{close_idle_flag, destroy_flag};
use portico_sys::{Interest, socket};

use super::Shard;
use super::turn::LINGERING;
use crate::agenda::PendingEvent;
use crate::connection::Connection;
use crate::limits::LINGER_MS;
use crate::listener::Listener;
use crate::stop::Stop;

impl Shard {
    /// Ends a connection; `CLOSED` follows if the application knows it.
    pub(super) fn end_connection(&mut self, token: u32, stop: Stop) {
        let Some(mut connection) = self.connections.remove(token) else {
            return;
        };
        connection.each_waiting(|sequence, _| self.core.agenda.cancel(token, sequence));
        if stop == Stop::Close(0) {
            connection.transport.send_close_notify(&mut self.core);
        }
        let errno = match stop {
            Stop::Close(errno) => errno,
            Stop::Linger | Stop::NeedSpace(_) | Stop::Preface => 0,
        };
        let listener = connection.transport.listener();
        self.core.own_requests.remove(&token);
        let is_last = self.core.listeners.connection_gone(listener);
        if !connection.transport.is_referenced() {
            self.core.unreferenced -= 1;
        }
        if connection.transport.is_announced() {
            while let Some((sequence, count)) = connection.transport.take_acked() {
                self.core.agenda.tell(PendingEvent::Flushed {
                    token,
                    sequence,
                    count,
                });
            }
            let (bytes_read, bytes_written) = connection.transport.traffic();
            self.core.agenda.tell(PendingEvent::Closed {
                token,
                errno,
                bytes_read,
                bytes_written,
            });
        } else {
            self.connections.release(token);
            if is_last {
                self.core.agenda.tell(PendingEvent::Drained { listener });
            }
        }
        if stop == Stop::Linger {
            self.linger(*connection);
        }
    }

    /// Ends our side and keeps the socket until the peer ends its own.
    fn linger(&mut self, connection: Connection) {
        let socket = connection.transport.into_socket();
        if socket::end(&socket).is_err() {
            return;
        }
        let now_ms = self.core.clock.now_ms();
        let Some(index) = self.lingering.enter(socket, now_ms) else {
            return;
        };
        let key = LINGERING | u64::try_from(index).unwrap_or(0);
        let watched = self.lingering.socket(index).map(|socket| {
            // Entering it anew reports at once what is there already.
            let _ = self.core.epoll.remove(socket);
            self.core.epoll.add(socket, key, Interest::Connection)
        });
        match watched {
            Some(Ok(())) => self.core.timers.enter(now_ms + LINGER_MS, key),
            _ => self.lingering.close(index),
        }
    }

    /// `DESTROY`: what the kernel takes at once is still sent, as with Node, whose writes reach the kernel before.
    pub(super) fn destroy(&mut self, token: u32, flags: u32) {
        let Some(connection) = self.connections.find(token) else {
            return;
        };
        let reset = flags & destroy_flag::RESET != 0;
        if !reset {
            connection.send_goaway(&mut self.core);
            let _ = connection.flush_last(&mut self.core);
        }
        if flags & (destroy_flag::LINGER | destroy_flag::RESET) == destroy_flag::LINGER
            && !connection.has_output()
        {
            connection.transport.send_close_notify(&mut self.core);
            return self.end_connection(token, Stop::Linger);
        }
        // What is still in the kernel resets the connection without our doing.
        if reset || flags & destroy_flag::UNREAD != 0 && !connection.is_receiving() {
            connection.transport.reset_on_close();
        }
        self.end_connection(token, Stop::Close(0));
    }

    /// `CLOSE_ALL`.
    pub(super) fn close_all_connections(&mut self, listener: u32) {
        for token in self.tokens(listener, Connection::is_http) {
            self.destroy(token, 0);
        }
    }

    /// `CLOSE_IDLE`. An answer that waits for the end of the turn, or for a peer that reads slowly, is still sent.
    ///
    /// Connections of HTTP/2 are told so, and end when their peers have understood; of a listener that is closed all of them,
    /// behind the streams that they have.
    pub(super) fn close_idle_connections(&mut self, listener: u32, flags: u32) {
        let entry = self.core.listeners.find(listener);
        let is_closed = entry.is_some_and(Listener::is_closed);
        let is_wanted =
            |connection: &Connection| connection.is_h2() && (is_closed || connection.is_idle());
        for token in self.tokens(listener, is_wanted) {
            if let Some(connection) = self.connections.find(token) {
                connection.retire(&mut self.core);
            }
        }
        let is_wanted = |connection: &Connection| {
            if connection.is_h2() {
                return false;
            }
            let is_idle = connection.is_idle()
                || flags & close_idle_flag::SILENT != 0 && connection.is_silent();
            is_idle && (flags & close_idle_flag::UNSENT != 0 || !connection.has_output())
        };
        for token in self.tokens(listener, is_wanted) {
            let Some(connection) = self.connections.find(token) else {
                continue;
            };
            let _ = connection.flush(&mut self.core);
            if connection.has_output() {
                connection.shutdown(&mut self.core, true);
            } else {
                self.end_connection(token, Stop::Close(0));
            }
        }
    }

    /// Lets the clients of HTTP/2 finish: each is told to open no more streams, and its connection ends behind those that
    /// it has.
    pub fn retire_connections(&mut self) {
        self.core.clock.update();
        let Self {
            core, connections, ..
        } = self;
        for connection in connections.iter_mut() {
            connection.retire(core);
        }
        self.flush_unsent();
    }

    /// The connections of a listener that meet a condition.
    fn tokens(&mut self, listener: u32, is_wanted: impl Fn(&Connection) -> bool) -> Vec<u32> {
        self.connections
            .iter_mut()
            .filter(|connection| {
                connection.transport.listener() == listener && is_wanted(connection)
            })
            .map(|connection| connection.transport.token())
            .collect()
    }
}
