//! One send for each connection with output, at the end of a turn or of a submission.

use super::Shard;

impl Shard {
    /// Sends for every connection that has output.
    pub(super) fn flush_unsent(&mut self) {
        self.flush(false);
    }

    /// Sends for every connection that has output. With `answers_follow` session tickets wait for the answer to the
    /// request that came with the end of the handshake: one send less for such a connection.
    pub(super) fn flush(&mut self, answers_follow: bool) {
        let mut unsent = self.core.agenda.take_unsent();
        unsent.retain(|&token| {
            let Some(connection) = self.connections.find(token) else {
                return false;
            };
            if answers_follow && connection.holds_tickets() {
                return true;
            }
            if let Err(stop) = connection.flush(&mut self.core) {
                self.end_connection(token, stop);
            }
            false
        });
        // Ending a connection enters none.
        self.core.agenda.keep_unsent(unsent);
    }
}
