//! Where a connection stands, in words: for whoever looks for a request that hangs.

use super::Shard;
use crate::connection::Connection;
use portico_sys::socket;

impl Shard {
    /// What a connection receives and what it has to send, in words. `None`: it has gone.
    pub fn inspect(&mut self, token: u32) -> Option<String> {
        self.connections.find(token).map(|found| inspect(found))
    }
}

fn inspect(connection: &Connection) -> String {
    let transport = &connection.transport;
    let mut facts = vec![
        connection.inspect_protocol(),
        format!("{} bytes to send", transport.queued()),
    ];
    let flags = [
        (
            transport.taken_while_blocked().is_some(),
            "client reads nothing",
        ),
        (transport.is_paused(), "paused"),
        (transport.is_scheduled(), "in work"),
        (transport.is_readable(), "may be readable"),
        (transport.has_peer_ended(), "client has ended its side"),
    ];
    facts.extend(
        flags
            .iter()
            .filter(|(is_so, _)| *is_so)
            .map(|(_, text)| (*text).into()),
    );
    let unread = socket::unread(transport.socket());
    if unread > 0 {
        facts.push(format!("{unread} bytes not read from the socket"));
    }
    facts.join(", ")
}
