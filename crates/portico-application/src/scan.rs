//! Records of a host, looked at before they are believed.

use portico_channel::layout::{event, flushed_flag};
use portico_channel::shared::Broken;

use crate::traffic::Traffic;

/// What was taken from a lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) opened: usize,
    pub(crate) requests: u64,
    /// A record of so many bytes did not fit.
    pub(crate) lacking: Option<usize>,
}

/// The host takes more of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Credit {
    pub(crate) token: u32,
    pub(crate) sequence: u32,
    pub(crate) granted: u64,
}

/// How far a scan came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scanned {
    /// Bytes that are done with.
    pub(crate) used: usize,
    /// Bytes that are left of them for the application.
    pub(crate) kept: usize,
    /// Size of the first record, if it is cut off.
    pub(crate) lacking: Option<usize>,
}

/// Goes through whole records. Listener numbers become 0: to the application there is one listener. Credits are taken
/// out. What a record says of places in itself must be true: JavaScript reads there without looking.
///
/// # Errors
/// A record that no host writes.
pub(crate) fn scan(
    bytes: &mut [u8],
    taken: &mut Taken,
    credits: &mut Vec<Credit>,
    traffic: &mut Traffic,
    mut closed: impl FnMut(u32),
) -> Result<Scanned, Broken> {
    let mut used = 0;
    let mut kept = 0;
    let mut lacking = None;
    while let Some(size) = word(bytes, used).map(to_usize) {
        if size < 12 || size % 4 != 0 {
            return Err(Broken);
        }
        let Some(record) = bytes.get_mut(used..used + size) else {
            lacking = (used == 0).then_some(size);
            break;
        };
        let token = word(record, 8).unwrap_or(0);
        let kind = word(record, 4).unwrap_or(0) & 0xff;
        if !is_within(record, kind) {
            return Err(Broken);
        }
        match kind {
            event::OPEN => {
                taken.opened += 1;
                if let Some(listener) = record.get_mut(12..16) {
                    listener.fill(0);
                }
            }
            event::CLOSED => closed(token),
            event::REQUEST => {
                taken.requests += 1;
                traffic.count_event(kind, token, record);
            }
            event::BODY | event::RAW => traffic.count_event(kind, token, record),
            event::CREDIT => {
                let word = |index: usize| word(record, index * 4).unwrap_or(0);
                credits.push(Credit {
                    token,
                    sequence: word(3),
                    granted: u64::from(word(4)) | u64::from(word(5)) << 32,
                });
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

/// Whether a record has the words of its kind, and its table and pieces lie in it.
fn is_within(record: &[u8], kind: u32) -> bool {
    let piece = |index: usize| {
        let start = word(record, index * 4).map(to_usize);
        let length = word(record, index * 4 + 4).map(to_usize);
        match (start, length) {
            (Some(start), Some(length)) => start
                .checked_add(length)
                .is_some_and(|end| end <= record.len()),
            _ => false,
        }
    };
    let table = |words: usize, count: u32| words * 4 + to_usize(count) * 16 <= record.len();
    match kind {
        event::OPEN => record.len() >= 60,
        event::REQUEST => {
            record.len() >= 44
                && piece(5)
                && piece(7)
                && table(11, word(record, 16).unwrap_or(u32::MAX) >> 16)
        }
        event::BODY | event::RAW => piece(4),
        event::END => table(5, word(record, 16).unwrap_or(u32::MAX) & 0xffff),
        event::CLOSED => record.len() >= 32,
        event::FLUSHED => record.len() >= 20 + 4 * usize::from(is_named(record)),
        event::CREDIT => record.len() >= 24,
        event::CLIENT_ERROR => piece(5),
        event::SECURE => record.len() >= 44 && piece(5) && piece(7),
        event::TIMEOUT => record.len() >= 16,
        _ => true,
    }
}

/// Whether a `FLUSHED` says which request it is about.
fn is_named(record: &[u8]) -> bool {
    word(record, 4).is_some_and(|kind| (kind >> 8) & flushed_flag::NAMED != 0)
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    match bytes.get(at..at + 4) {
        Some(&[a, b, c, d]) => Some(u32::from_le_bytes([a, b, c, d])),
        _ => None,
    }
}

fn to_usize(size: u32) -> usize {
    usize::try_from(size).unwrap_or(usize::MAX)
}
