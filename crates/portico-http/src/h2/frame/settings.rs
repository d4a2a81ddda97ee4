//! The entries of SETTINGS (RFC 9113, section 6.5).

/// A setting's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Setting(pub u16);

impl Setting {
    /// Size of the dynamic table that the sender decodes with.
    pub const HEADER_TABLE_SIZE: Self = Self(1);
    /// Whether the sender takes pushed answers.
    pub const ENABLE_PUSH: Self = Self(2);
    /// How many streams the sender lets its peer have open.
    pub const MAX_CONCURRENT_STREAMS: Self = Self(3);
    /// The window that each stream begins with.
    pub const INITIAL_WINDOW_SIZE: Self = Self(4);
    /// The largest payload that the sender takes.
    pub const MAX_FRAME_SIZE: Self = Self(5);
    /// The largest field section that the sender takes.
    pub const MAX_HEADER_LIST_SIZE: Self = Self(6);
    /// Extended CONNECT is understood (RFC 8441).
    pub const ENABLE_CONNECT_PROTOCOL: Self = Self(8);
    /// Priorities of RFC 7540 mean nothing (RFC 9218).
    pub const NO_RFC7540_PRIORITIES: Self = Self(9);
}

/// The entries in the payload of a SETTINGS frame, unknown ones too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettingsEntries<'a> {
    pub(super) payload: &'a [u8],
}

impl<'a> SettingsEntries<'a> {
    /// The entries of a payload. What is no whole entry at its end is left out.
    #[must_use]
    pub fn new(payload: &'a [u8]) -> Self {
        Self { payload }
    }
}

impl Iterator for SettingsEntries<'_> {
    type Item = (Setting, u32);

    fn next(&mut self) -> Option<Self::Item> {
        let (&[i0, i1, v0, v1, v2, v3], rest) = self.payload.split_first_chunk()?;
        self.payload = rest;
        let value = u32::from_be_bytes([v0, v1, v2, v3]);
        Some((Setting(u16::from_be_bytes([i0, i1])), value))
    }
}
