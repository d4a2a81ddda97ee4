//! A client of plain HTTP/1.1.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;

use rustix::net::sockopt::set_socket_linger;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with};

use super::PATIENCE;

pub(crate) struct Client {
    pub(crate) stream: TcpStream,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        Self::of(TcpStream::connect(address).unwrap())
    }

    /// With an address of its own.
    pub(crate) fn connect_from(from: IpAddr, address: SocketAddr) -> Self {
        let (family, kind) = (AddressFamily::INET, SocketType::STREAM);
        let socket = socket_with(family, kind, SocketFlags::CLOEXEC, None).unwrap();
        bind(&socket, &SocketAddr::new(from, 0)).unwrap();
        connect(&socket, &address).unwrap();
        Self::of(TcpStream::from(socket))
    }

    fn of(stream: TcpStream) -> Self {
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Self { stream }
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).unwrap();
    }

    /// As much as the connection takes now.
    pub(crate) fn send_what_fits(&mut self, bytes: &str) {
        self.stream.set_nonblocking(true).unwrap();
        let mut rest = bytes.as_bytes();
        while let Ok(count) = self.stream.write(rest) {
            rest = &rest[count..];
            if rest.is_empty() {
                break;
            }
        }
        self.stream.set_nonblocking(false).unwrap();
    }

    pub(crate) fn get(&mut self, target: &str) {
        self.send(format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n"));
    }

    /// Whether there is something to read.
    pub(crate) fn has_input(&self) -> bool {
        self.stream.set_nonblocking(true).unwrap();
        let found = self.stream.peek(&mut [0]).is_ok();
        self.stream.set_nonblocking(false).unwrap();
        found
    }

    /// Ends the connection at once, both ways.
    pub(crate) fn reset(self) {
        set_socket_linger(&self.stream, Some(Duration::ZERO)).unwrap();
    }

    #[track_caller]
    pub(crate) fn head(&mut self) -> String {
        self.try_head().expect("the connection ended before a head")
    }

    /// `None`: the connection ended before.
    fn try_head(&mut self) -> Option<String> {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            match self.stream.read(&mut byte) {
                Ok(1) => head.push(byte[0]),
                Ok(_) => return None,
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("{error} after {:?}", String::from_utf8_lossy(&head)),
            }
        }
        Some(String::from_utf8(head).unwrap())
    }

    #[track_caller]
    pub(crate) fn answer(&mut self) -> Answer {
        self.try_answer().expect("the connection ended")
    }

    /// `None`: the connection ended before the answer was complete.
    pub(crate) fn try_answer(&mut self) -> Option<Answer> {
        let head = self.try_head()?;
        let mut answer = Answer {
            status: head[9..12].parse().unwrap(),
            head,
            body: Vec::new(),
        };
        if answer.field("transfer-encoding") == Some("chunked") {
            loop {
                let size = usize::from_str_radix(&self.line()?, 16).unwrap();
                let mut chunk = vec![0; size];
                self.stream.read_exact(&mut chunk).ok()?;
                answer.body.extend(chunk);
                if size == 0 {
                    while !self.line()?.is_empty() {}
                    break;
                }
                self.line()?;
            }
        } else if let Some(length) = answer.field("content-length") {
            answer.body = vec![0; length.parse().unwrap()];
            self.stream.read_exact(&mut answer.body).ok()?;
        }
        Some(answer)
    }

    fn line(&mut self) -> Option<String> {
        let mut line = Vec::new();
        let mut byte = [0];
        while !line.ends_with(b"\r\n") {
            self.stream.read_exact(&mut byte).ok()?;
            line.push(byte[0]);
        }
        line.truncate(line.len() - 2);
        Some(String::from_utf8(line).unwrap())
    }

    /// Everything until the connection ends; a reset is an end too.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        let mut all = Vec::new();
        match self.stream.read_to_end(&mut all) {
            Ok(_) => all,
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => all,
            Err(error) => panic!("the connection does not end: {error}"),
        }
    }
}
