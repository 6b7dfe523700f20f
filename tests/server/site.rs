//! A server that serves metrics, and what a browser would ask of it.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

use crate::harness::Server;

/// A server that serves metrics on a free port.
pub struct Site {
    pub server: Server,
    pub port: u16,
}

/// An answer: its status, its head in lower case, its body.
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Site {
    pub fn start(directory: &Path, arguments: &[&str]) -> Self {
        let fixed = ["--metrics-bind", "127.0.0.1:0", "--save", "0"];
        Self::of(Server::start(directory, &[&fixed, arguments].concat()))
    }

    pub fn of(server: Server) -> Self {
        let behind = server.ready.split(r#" metrics="127.0.0.1:"#).nth(1);
        let digits = behind.and_then(|text| text.split('"').next());
        let port = digits.and_then(|digits| digits.parse().ok());
        let port = port.unwrap_or_else(|| panic!("no port in {:?}", server.ready));
        Self { server, port }
    }

    pub fn connect(&self) -> TcpStream {
        TcpStream::connect(("127.0.0.1", self.port)).expect("connects")
    }

    /// What comes back until the server closes.
    pub fn raw(&self, request: &[u8]) -> String {
        let mut stream = self.connect();
        stream.write_all(request).expect("sends");
        let mut answer = Vec::new();
        // A server that gives up on a request may reset the connection behind its answer.
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    pub fn ask(&self, method: &str, path: &str, headers: &[&str]) -> Answer {
        let mut request = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        for header in headers {
            request += &format!("{header}\r\n");
        }
        request += "\r\n";
        let answer = self.raw(request.as_bytes());
        let (head, body) = answer.split_once("\r\n\r\n").expect(&answer);
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        Answer {
            status: status.expect(head),
            head: head.to_lowercase(),
            body: body.to_owned(),
        }
    }

    pub fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &["Host: 127.0.0.1"])
    }

    /// All numbers, each under its name with its labels.
    pub fn numbers(&self) -> BTreeMap<String, f64> {
        let page = self.get("/metrics");
        assert_eq!(page.status, 200, "{}", page.body);
        let samples = page.body.lines().filter(|line| !line.starts_with('#'));
        samples
            .map(|line| {
                let (name, value) = line.rsplit_once(' ').expect(line);
                (name.to_owned(), value.parse().expect(line))
            })
            .collect()
    }
}
