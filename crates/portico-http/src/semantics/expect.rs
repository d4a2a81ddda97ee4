//! `Expect` (RFC 9110, section 10.1.1).

/// What a request expects before it sends its body (RFC 9110, section 10.1.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expect {
    /// Nothing; or something in HTTP/1.0, where it must be ignored.
    #[default]
    None,
    /// `100-continue`.
    Continue,
    /// Something else: 417, unless the application knows it.
    Other,
}

/// Whether the value holds `100-continue` as a word of its own, where Node looks for it.
pub(crate) fn expects_continue(value: &[u8]) -> bool {
    const WORD: &[u8] = b"100-continue";
    let is_word = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    value.windows(WORD.len()).enumerate().any(|(at, window)| {
        window.eq_ignore_ascii_case(WORD)
            && !is_word(at.checked_sub(1).and_then(|before| value.get(before)))
            && !is_word(value.get(at + WORD.len()))
    })
}
