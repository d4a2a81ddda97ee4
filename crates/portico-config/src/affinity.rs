//! What ties a client's requests to one process.

/// Requests with the same value go to the same process, as long as it is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Affinity {
    /// The value of a cookie. The name compares exactly.
    Cookie(String),
    /// The value of a header field. The name is in lower case.
    Header(String),
    /// A segment of the path, counted from 1 at the path's beginning.
    Segment(u32),
}
