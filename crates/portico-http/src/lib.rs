//! HTTP without I/O: request parsing, framing rules, limits and response heads.
