//! Operating-system calls of the engine, and nothing else.
//!
//! A thin layer over `rustix`: readiness ([`Epoll`]), stream sockets ([`socket`]), one deadline descriptor
//! ([`DeadlineTimer`]), wake-ups between threads ([`Wake`]) and between processes ([`Bell`]), clocks ([`clock`]), descriptors over Unix sockets
//! ([`descriptors`]) and who is at their other end ([`peer_credentials`]), listening sockets ([`listening`],
//! [`inherited`]), files that others could have put in our way ([`files`]), programs that are started with nothing of ours ([`spawn`]). Nothing here blocks but the disk and [`Epoll::wait`]. Errors are [`Errno`], because the engine decides by number.
#![deny(unsafe_code)]

mod address;
mod bell;
pub mod clock;
mod credentials;
mod deadline_timer;
pub mod descriptors;
mod ending;
mod epoll;
pub mod files;
pub mod inherited;
pub mod listening;
pub mod socket;
pub mod spawn;
mod wake;

pub use address::{Address, Family};
pub use bell::{Bell, Ringer, bell};
pub use credentials::{Credentials, peer_credentials};
pub use deadline_timer::DeadlineTimer;
pub use ending::end_process;
pub use epoll::{Epoll, Interest, Ready, ReadyList};
pub use rustix::io::Errno;
pub use wake::Wake;

/// Result of a system call.
pub type Result<T> = std::result::Result<T, Errno>;
