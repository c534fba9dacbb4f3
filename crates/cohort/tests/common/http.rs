//! One HTTP request at a time.

use std::io::{Read, Write};
use std::net::TcpStream;

/// The head and the body of the answer to a request, by its first line without the version.
pub fn request(port: u16, line: &str) -> (String, String) {
    request_as(port, line, "localhost")
}

/// The same, calling the server by another name.
pub fn request_as(port: u16, line: &str, host: &str) -> (String, String) {
    try_request(port, line, host).unwrap()
}

/// The same, of a server that may not be there or turn us away.
pub fn try_request(port: u16, line: &str, host: &str) -> std::io::Result<(String, String)> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    write!(stream, "{line} HTTP/1.1\r\nHost: {host}\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or(std::io::ErrorKind::UnexpectedEof)?;
    Ok((head.to_owned(), body.to_owned()))
}
