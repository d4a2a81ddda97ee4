//! Listeners of a shard, and the TLS contexts that they use.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use portico_sys::socket;
use portico_tls::ServerNames;

use super::{Shard, accepting};
use crate::core::Core;
use crate::listener::Listener;
use crate::{ListenerId, ListenerOptions};

impl Shard {
    /// Listens on a bound socket and accepts. The shard owns the descriptor.
    ///
    /// # Errors
    /// Those of listen(2).
    pub fn listen(
        &mut self,
        fd: OwnedFd,
        backlog: i32,
        options: ListenerOptions,
    ) -> io::Result<ListenerId> {
        socket::prepare(&fd)?;
        socket::listen(&fd, backlog)?;
        self.add_listening(fd, options, Arc::default())
    }

    /// A listener whose socket listens already. `total` counts its connections on all shards.
    ///
    /// # Errors
    /// Those of epoll_ctl(2).
    pub fn add_listening(
        &mut self,
        fd: OwnedFd,
        options: ListenerOptions,
        total: Arc<AtomicU32>,
    ) -> io::Result<ListenerId> {
        let is_unix = socket::is_unix(&fd);
        if !is_unix {
            accepting::set_tcp_options(&fd, &options);
        }
        let id = self.add_listener(Listener::new(Some(fd), options, is_unix, total));
        self.watch_listener(id)?;
        Ok(id)
    }

    /// A listener without a socket: connections come by [`Shard::adopt`].
    pub fn create_listener(&mut self, options: ListenerOptions) -> ListenerId {
        self.add_without_socket(options, Arc::default())
    }

    /// As [`Shard::create_listener`], with a count for all shards.
    pub(crate) fn add_without_socket(
        &mut self,
        options: ListenerOptions,
        total: Arc<AtomicU32>,
    ) -> ListenerId {
        self.add_listener(Listener::new(None, options, false, total))
    }

    /// Takes a connected socket as a new connection of the listener.
    ///
    /// # Errors
    /// `EINVAL` if there is no such listener; those of epoll_ctl(2).
    pub fn adopt(&mut self, listener: ListenerId, fd: OwnedFd) -> io::Result<()> {
        socket::prepare(&fd)?;
        self.core.clock.update();
        self.adopt_socket(listener.0, fd)
    }

    /// Changes settings, for existing connections too.
    pub fn update_listener(&mut self, listener: ListenerId, options: ListenerOptions) {
        if let Some(entry) = self.core.listeners.find(listener.0)
            && let Some(socket) = &entry.socket
            && !entry.is_unix
        {
            accepting::set_tcp_options(socket, &options);
        }
        self.core.listeners.update(listener.0, options);
        self.set_default_context(listener.0);
        self.enter_check(listener.0);
        self.enter_pace_check(listener.0);
        self.enter_deadlines_of(listener.0);
    }

    fn add_listener(&mut self, listener: Listener) -> ListenerId {
        let id = self.core.listeners.add(listener);
        self.set_default_context(id.0);
        id
    }

    fn set_default_context(&mut self, listener: u32) {
        let Core {
            listeners,
            contexts,
            ..
        } = &mut self.core;
        if let Some(listener) = listeners.find_mut(listener)
            && let Some(context) = contexts.find(listener.options.tls)
        {
            listener.set_default_context(context.clone());
        }
    }

    /// Keeps a TLS context. Returns its number, from 1, for [`ListenerOptions::tls`], `SERVER_NAME` and
    /// [`Shard::add_server_name`].
    pub fn add_tls_context(&mut self, context: portico_tls::Context) -> u32 {
        self.core.contexts.add(context)
    }

    /// Forgets a TLS context. Listeners and connections that use it go on.
    pub fn release_tls_context(&mut self, context: u32) {
        self.core.contexts.release(context);
    }

    /// Uses a context of a TLS listener for the server names that match a pattern (`*.example.com` or a name). Later
    /// ones win. Unknown numbers are ignored.
    pub fn add_server_name(&mut self, listener: ListenerId, pattern: &str, context: u32) {
        let Core {
            listeners,
            contexts,
            ..
        } = &mut self.core;
        if let Some(listener) = listeners.find_mut(listener.0)
            && let Some(context) = contexts.find(context)
        {
            listener.add_server_name(pattern, context.clone());
        }
    }

    /// The contexts of a TLS listener by server name; `None` on a plain one. They may change: take them anew then.
    #[must_use]
    pub fn server_names(&self, listener: ListenerId) -> Option<Arc<ServerNames>> {
        self.core.listeners.find(listener.0)?.names.clone()
    }

    /// Whether a listener accepts, or has connections still.
    #[must_use]
    pub fn has_listener(&self, listener: ListenerId) -> bool {
        self.core.listeners.find(listener.0).is_some()
    }

    /// Stops accepting. Its connections live on.
    pub fn close_listener(&mut self, listener: ListenerId) {
        if let Some(socket) = self.core.listeners.close(listener.0) {
            // A descriptor that another process or handle shares stays in the epoll set when it is closed here.
            let _ = self.core.epoll.remove(&socket);
        }
    }

    /// Open connections of a listener.
    #[must_use]
    pub fn connection_count(&self, listener: ListenerId) -> usize {
        self.core
            .listeners
            .find(listener.0)
            .and_then(|listener| usize::try_from(listener.total_connections()).ok())
            .unwrap_or(0)
    }
}
