//! Records of a host, looked at before they are believed.

use portico_channel::layout::event;
use portico_channel::shared::Broken;
use portico_channel::{Records, record_size, schema};

use crate::traffic::Traffic;

/// What was taken from a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) opened: usize,
    pub(crate) requests: u64,
    /// A record of so many bytes did not fit.
    pub(crate) lacking: Option<usize>,
}

/// How far a scan came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scanned {
    /// Bytes that are done with.
    pub(crate) used: usize,
    /// Bytes that are left of them for the application.
    pub(crate) kept: usize,
    /// Size of the record behind them, if it is cut off.
    pub(crate) lacking: Option<usize>,
}

/// What is over, with a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    /// A connection.
    Connection(u32),
    /// One exchange of a connection, which its client has given up.
    Exchange(u32, u32),
}

/// Goes through whole records. Listener numbers become 0: to the application there is one listener. Credits are taken
/// out. What a record says of places in itself must be true: JavaScript reads there without looking.
///
/// # Errors
/// A record that no host writes.
pub(crate) fn scan(
    bytes: &mut [u8],
    taken: &mut Taken,
    credits: &mut Vec<event::Credit>,
    traffic: &mut Traffic,
    mut over: impl FnMut(Over),
) -> Result<Scanned, Broken> {
    let mut used = 0;
    let mut kept = 0;
    let mut lacking = None;
    while let Some(rest) = bytes.get(used..).filter(|rest| rest.len() >= 4) {
        let size = record_size(rest).ok_or(Broken)?;
        let Some(Ok(record)) = Records::new(rest).next() else {
            lacking = Some(size);
            break;
        };
        if !event::is_sound(record) {
            return Err(Broken);
        }
        traffic.count_event(record);
        match record.kind() {
            event::OPEN => {
                taken.opened += 1;
                let whole = bytes.get_mut(used..used + size).unwrap_or_default();
                schema::rewrite::<event::Open>(whole, |open| open.listener = 0);
            }
            event::CLOSED => over(Over::Connection(record.token())),
            event::RESET => over(Over::Exchange(record.token(), record.sequence())),
            event::REQUEST => taken.requests += 1,
            event::CREDIT => {
                credits.extend(record.read::<event::Credit>().as_deref());
                used += size;
                continue;
            }
            _ => {}
        }
        if kept != used {
            bytes.copy_within(used..used + size, kept);
        }
        used += size;
        kept += size;
    }
    Ok(Scanned {
        used,
        kept,
        lacking,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use portico_channel::EventWriter;
    use portico_channel::token::Division;

    use super::*;

    #[test]
    fn a_record_that_is_cut_off_behind_others_says_how_much_room_it_lacks() {
        let mut memory = [0; 256];
        let mut writer = EventWriter::new(&mut memory);
        writer.tell(0, event::PeerEnd { token: 1 }).unwrap();
        let first = writer.len();
        let tell = |bytes| event::Body {
            token: 1,
            sequence: 1,
            bytes,
        };
        writer.tell_bytes(0, &[7; 100], tell).unwrap();
        let whole = writer.len();
        let mut traffic = Traffic::new(Division::among(1));
        let mut scan_up_to = |end: usize| {
            let mut credits = Vec::new();
            let bytes = memory.get_mut(..end).unwrap();
            let taken = &mut Taken::default();
            scan(bytes, taken, &mut credits, &mut traffic, |_| {}).unwrap()
        };
        let cut = Scanned {
            used: first,
            kept: first,
            lacking: Some(whole - first),
        };
        assert_eq!(scan_up_to(whole - 4), cut);
        assert_eq!(scan_up_to(whole).lacking, None);
    }
}
