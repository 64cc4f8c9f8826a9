//! As much of HTTP/1.1 as reading pages takes: one request per connection, GET and HEAD, every size bounded.
//!
//! RFC 9112 (message syntax), RFC 9110 (methods and status codes).

use std::io::{self, Read, Write};

/// Bytes of a request line with all its headers.
const LARGEST: usize = 8 << 10;

/// A request that may be answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Decoded, with its leading `/`.
    pub path: String,
    /// Decoded, in their order.
    pub query: Vec<(String, String)>,
    /// True when only the headers of the answer are asked for.
    pub head: bool,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Such as `200 OK`.
    pub status: &'static str,
    /// A page.
    pub body: String,
}

impl Answer {
    /// A page.
    pub fn page(body: String) -> Self {
        Self { status: "200 OK", body }
    }

    /// A refusal with a sentence, which is escaped by the caller where it holds what others wrote.
    pub fn refusal(status: &'static str, sentence: &str) -> Self {
        let body = format!(
            "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{status}</title></head>\
             <body><h1>{status}</h1><p>{sentence}</p><p><a href=\"/\">all runs</a></p></body></html>\n"
        );
        Self { status, body }
    }
}

/// Reads a request.
///
/// # Errors
/// The connection's own.
pub fn read(connection: &mut impl Read) -> io::Result<Result<Request, Answer>> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 1024];
    while !bytes.windows(4).any(|four| four == b"\r\n\r\n") {
        let read = connection.read(&mut chunk)?;
        if read == 0 || bytes.len() + read > LARGEST {
            return Ok(Err(Answer::refusal("400 Bad Request", "The request is cut off, or too long.")));
        }
        bytes.extend_from_slice(&chunk[..read]);
    }
    Ok(parse(&bytes))
}

fn parse(bytes: &[u8]) -> Result<Request, Answer> {
    let bad = || Answer::refusal("400 Bad Request", "This is no request that is understood here.");
    let text = std::str::from_utf8(bytes).map_err(|_| bad())?;
    let mut lines = text.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (Some(method), Some(target), Some("HTTP/1.1" | "HTTP/1.0"), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(bad());
    };
    let headers = lines.take_while(|line| !line.is_empty()).filter_map(|line| line.split_once(':'));
    let mut hosts =
        headers.filter(|(name, _)| name.eq_ignore_ascii_case("host")).map(|(_, value)| value.trim());
    // A page from elsewhere whose name was made to lead here must not read the results database.
    if !hosts.next().is_some_and(is_loopback) || hosts.next().is_some() {
        return Err(Answer::refusal(
            "421 Misdirected Request",
            "Only this machine may ask, by a loopback address.",
        ));
    }
    if method != "GET" && method != "HEAD" {
        return Err(Answer::refusal("405 Method Not Allowed", "Runs can be read, not changed."));
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let decoded = |text: &str| decode(text).ok_or_else(bad);
    let pairs = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Ok((decoded(name)?, decoded(value)?))
    });
    Ok(Request { path: decoded(path)?, query: pairs.collect::<Result<_, Answer>>()?, head: method == "HEAD" })
}

fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Percent-encoding undone, `+` as a blank (the form of HTML forms); none where it is malformed or no UTF-8.
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut letters = text.bytes();
    while let Some(letter) = letters.next() {
        bytes.push(match letter {
            b'+' => b' ',
            b'%' => {
                let digits = [letters.next()?, letters.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            letter => letter,
        });
    }
    String::from_utf8(bytes).ok()
}

/// Writes an answer.
pub fn write(connection: &mut impl Write, answer: &Answer, head: bool) -> io::Result<()> {
    write!(
        connection,
        "HTTP/1.1 {}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\
         Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
         X-Frame-Options: DENY\r\nContent-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'unsafe-inline'; img-src data:; form-action 'self'; base-uri 'none'\r\n\r\n",
        answer.status,
        answer.body.len()
    )?;
    if !head {
        connection.write_all(answer.body.as_bytes())?;
    }
    connection.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str) -> Result<Request, &'static str> {
        read(&mut text.as_bytes()).unwrap().map_err(|answer| answer.status)
    }

    #[test]
    fn requests_are_taken_apart() {
        let request =
            asked("GET /report?run=1&run=2&q=a+b%20c HTTP/1.1\r\nHost: 127.0.0.1:81\r\n\r\n").unwrap();
        assert_eq!((request.path.as_str(), request.head), ("/report", false));
        let pairs: Vec<(&str, &str)> = request.query.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        assert_eq!(pairs, [("run", "1"), ("run", "2"), ("q", "a b c")]);
        assert!(asked("HEAD / HTTP/1.1\r\nhost: [::1]:80\r\n\r\n").unwrap().head);
        assert!(asked("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").is_ok());
    }

    #[test]
    fn hostile_requests_are_refused() {
        assert_eq!(asked("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"), Err("421 Misdirected Request"));
        assert_eq!(
            asked("GET / HTTP/1.1\r\nHost: 127.0.0.1.evil.example\r\n\r\n"),
            Err("421 Misdirected Request")
        );
        assert_eq!(asked("GET / HTTP/1.1\r\n\r\n"), Err("421 Misdirected Request"));
        assert_eq!(
            asked("GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n"),
            Err("421 Misdirected Request")
        );
        assert_eq!(asked("POST / HTTP/1.1\r\nHost: localhost\r\n\r\n"), Err("405 Method Not Allowed"));
        let host = "HTTP/1.1\r\nHost: localhost\r\n\r\n";
        for target in ["/%", "/%4", "/%zz", "/%ff", "/a b"] {
            assert_eq!(asked(&format!("GET {target} {host}")), Err("400 Bad Request"), "{target}");
        }
        assert_eq!(asked("GET / HTTP/1.1\r\nHost: loc"), Err("400 Bad Request"), "cut off");
        assert_eq!(asked(&format!("GET /{} {host}", "a".repeat(9000))), Err("400 Bad Request"), "too long");
        assert_eq!(asked("\u{0}\u{1}\u{2}\r\n\r\n"), Err("400 Bad Request"));
    }
}
