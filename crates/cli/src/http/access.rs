//! Who may read the pages of a listener: browsers of this machine that know its address.

use std::fmt::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{Html, IntoResponse, Redirect, Response};

use super::Hosts;
use crate::exit::Failure;
use crate::system::fill_random;

/// Headers of every answer: browsers store nothing, and pages load nothing from elsewhere.
const HEADERS: [(HeaderName, HeaderValue); 5] = [
    (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(
            "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; \
             connect-src 'self'; form-action 'self'; base-uri 'none'",
        ),
    ),
];

/// The secret of a listener, in the path of each of its addresses.
///
/// Every user of the machine can connect to a loopback address, also those who cannot read the results database. The token
/// is in the path, so that links, forms and reloads keep it. A cookie would be sent to the servers of other users on other
/// ports of the same address.
#[derive(Clone, PartialEq, Eq)]
struct Token(String);

impl Token {
    /// A token of 128 random bits.
    fn new() -> Result<Self, Failure> {
        let mut bytes = [0; 16];
        fill_random(&mut bytes)?;
        let mut text = String::new();
        for byte in bytes {
            // Writing to a String cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        Ok(Self(text))
    }

    /// True if the first component of the path is the token. The time does not depend on where they differ.
    fn is_in(&self, path: &str) -> bool {
        let given = path.split('/').nth(1).unwrap_or_default().as_bytes();
        let differing = given.iter().zip(self.0.as_bytes()).fold(0, |bits, (a, b)| bits | (a ^ b));
        given.len() == self.0.len() && differing == 0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// The rule of who may read the pages of one listener on a loopback address.
///
/// A request needs a loopback name in its `Host` header and the token in its path, which only the owner of the process
/// reads. Every answer, also a refusal, has the headers that keep a browser from storing it and from loading anything
/// from elsewhere. `report --serve` and `--dashboard` use the same rule.
#[derive(Debug, Clone)]
pub struct Access {
    token: Token,
    /// The command or option that prints the address.
    printed_by: &'static str,
}

impl Access {
    /// A new secret for the listener of an option, whose address `printed_by` prints. An address that other machines can
    /// reach is an error.
    pub fn new(option: &str, printed_by: &'static str, address: SocketAddr) -> Result<Self, Failure> {
        if !address.ip().is_loopback() {
            return Err(Failure::usage(format!(
                "{option} {address}: not a loopback address; the pages are for this machine only"
            )));
        }
        Ok(Self { token: Token::new()?, printed_by })
    }

    /// Access with a known token.
    #[cfg(test)]
    pub fn with_token(printed_by: &'static str, token: &str) -> Self {
        Self { token: Token(token.to_owned()), printed_by }
    }

    /// The path of the first page. The routes have it as `/{token}/`, and [`Self::protect`] compares it.
    pub fn path(&self) -> String {
        format!("/{}/", self.token.0)
    }

    /// The routes for those who may read them, with answers to all other requests.
    pub fn protect(self, routes: Router) -> Router {
        routes
            .fallback(|| async { refusal(StatusCode::NOT_FOUND, "There is no such page.") })
            .method_not_allowed_fallback(|| async {
                refusal(StatusCode::METHOD_NOT_ALLOWED, "Runs can be read, not changed.")
            })
            .layer(from_fn_with_state(Arc::new(self), guard))
    }
}

/// Rejects requests of other hosts and those without the token, and adds the headers.
async fn guard(State(access): State<Arc<Access>>, request: Request, next: Next) -> Response {
    let mut response = if !Hosts::Loopback.accept(request.headers()) {
        refusal(StatusCode::MISDIRECTED_REQUEST, "Use a loopback address on this machine.")
    } else if access.token.is_in(request.uri().path()) {
        next.run(request).await
    } else {
        let printed_by = access.printed_by;
        let sentence = format!(
            "Open the whole address that `{printed_by}` printed: its path is the password of these pages."
        );
        refusal(StatusCode::FORBIDDEN, &sentence)
    };
    response.headers_mut().extend(HEADERS);
    response
}

/// Redirects to the same path with a slash: the links of a page are relative, so its address must end with one.
pub async fn with_slash(request: Request) -> Response {
    Redirect::to(&format!("{}/", request.uri().path())).into_response()
}

/// A page with a sentence. The caller escapes text of others in it.
pub fn refusal(status: StatusCode, sentence: &str) -> Response {
    let page = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{status}</title></head>\
         <body><h1>{status}</h1><p>{sentence}</p></body></html>\n"
    );
    (status, Html(page)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_differ() {
        let one = Token::new().unwrap();
        assert!(one.0.len() == 32 && one != Token::new().unwrap());
    }

    #[test]
    fn an_address_that_other_machines_reach_is_rejected() {
        for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:80"] {
            let rejected =
                Access::new("--dashboard", "--dashboard", address.parse().unwrap()).unwrap_err().to_string();
            assert!(rejected.contains("--dashboard") && rejected.contains("loopback"), "{rejected}");
        }
        assert!(Access::new("--dashboard", "--dashboard", "[::1]:0".parse().unwrap()).is_ok());
    }
}
