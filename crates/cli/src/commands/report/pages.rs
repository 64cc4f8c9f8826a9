//! `sharebench report --serve`: the runs of a results database as web pages, for browsers on this machine. Read-only.

use std::fmt::{self, Display, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::get;
use rustix::rand::{GetRandomFlags, getrandom};
use sharebench_report::{RunLine, html, html_with_surfaces, runs_page};
use sharebench_results::{RunId, Store, StoreError};

use crate::commands::runs::steps;
use crate::exit::Failure;
use crate::http::{Hosts, Listener};
use crate::output::print_out;
use crate::run::run_store::{analyse_loaded, load_from};

/// Largest number of runs in one report.
const MAX_RUNS: usize = 8;

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
             form-action 'self'; base-uri 'none'",
        ),
    ),
];

/// The secret of a server of pages, in the path of each of its addresses.
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
        if getrandom(&mut bytes, GetRandomFlags::empty()).map_err(std::io::Error::from)? < bytes.len() {
            return Err(std::io::Error::other("getrandom returned fewer bytes than requested").into());
        }
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

/// The pages of one results database.
#[derive(Debug)]
struct Pages {
    database: PathBuf,
    /// Reports need much memory, so only one is made at a time.
    turn: Mutex<()>,
}

type Parameters = Query<Vec<(String, String)>>;

/// Serves until the process ends.
pub fn serve(address: SocketAddr, database: &Path) -> Result<ExitCode, Failure> {
    if !address.ip().is_loopback() {
        return Err(Failure::usage(format!(
            "--serve {address}: not a loopback address; the pages are for this machine only"
        )));
    }
    // Report a missing results database now, not to each reader.
    Store::open_read_only(database)?;
    let token = Token::new()?;
    let listener = Listener::start("pages", address, routes(database, token.clone()))
        .map_err(|error| Failure::usage(format!("--serve {address}: {error}")))?;
    let address = listener.address();
    print_out(&format!("serving http://{address}/{}/ (press Ctrl-C to end)\n", token.0))?;
    listener.wait();
    Ok(ExitCode::SUCCESS)
}

fn routes(database: &Path, token: Token) -> Router {
    let pages = Arc::new(Pages { database: database.to_owned(), turn: Mutex::new(()) });
    // The guard has compared the token.
    Router::new()
        .route("/{token}", get(|request: Request| async move { with_slash(&request) }))
        .route("/{token}/", get(list))
        .route("/{token}/report", get(report))
        .fallback(|| async { refusal(StatusCode::NOT_FOUND, "There is no such page.") })
        .method_not_allowed_fallback(|| async {
            refusal(StatusCode::METHOD_NOT_ALLOWED, "Runs can be read, not changed.")
        })
        .with_state(pages)
        .layer(from_fn_with_state(token, guard))
}

/// Rejects requests of other hosts and those without the token, and adds the headers.
async fn guard(State(token): State<Token>, request: Request, next: Next) -> Response {
    let mut response = if !Hosts::Loopback.accept(request.headers()) {
        refusal(StatusCode::MISDIRECTED_REQUEST, "Use a loopback address on this machine.")
    } else if token.is_in(request.uri().path()) {
        next.run(request).await
    } else {
        refusal(
            StatusCode::FORBIDDEN,
            "Open the whole address that `sharebench report --serve` printed: its path is the password of these pages.",
        )
    };
    response.headers_mut().extend(HEADERS);
    response
}

/// The links of the list are relative, so its address must end with a slash.
fn with_slash(request: &Request) -> Response {
    Redirect::to(&format!("{}/", request.uri().path())).into_response()
}

async fn list(State(pages): State<Arc<Pages>>, Query(parameters): Parameters) -> Response {
    let filter = parameters.iter().find(|(name, _)| name == "q").map_or("", |(_, value)| value.as_str());
    match Store::open_read_only(&pages.database).and_then(|store| lines(&store)) {
        Ok(lines) => Html(runs_page(&pages.database.display().to_string(), &lines, filter)).into_response(),
        Err(error) => failed(&error),
    }
}

async fn report(State(pages): State<Arc<Pages>>, Query(parameters): Parameters) -> Response {
    let ids = parameters.iter().filter(|(name, _)| name == "run");
    let ids: Option<Vec<i64>> = ids.map(|(_, id)| id.parse().ok().filter(|id| *id > 0)).collect();
    let surfaces = parameters.iter().any(|(name, _)| name == "surfaces");
    let Some(ids) = ids.filter(|ids| (1..=MAX_RUNS).contains(&ids.len())) else {
        return refusal(StatusCode::BAD_REQUEST, "Select one to eight runs by their numbers.");
    };
    let made = tokio::task::spawn_blocking(move || {
        let _turn = pages.turn.lock().unwrap_or_else(PoisonError::into_inner);
        page(&pages.database, &ids, surfaces)
    });
    match made.await {
        Ok(Ok(page)) => Html(page).into_response(),
        Ok(Err(error)) => failed(&error),
        Err(_) => refusal(StatusCode::INTERNAL_SERVER_ERROR, "The report could not be made."),
    }
}

fn page(database: &Path, ids: &[i64], surfaces: bool) -> Result<String, StoreError> {
    let store = Store::open_read_only(database)?;
    let runs = ids.iter().map(|id| load_from(&store, RunId(*id))).collect::<Result<Vec<_>, _>>()?;
    let analysis = analyse_loaded(runs)?;
    Ok(if surfaces { html_with_surfaces(&analysis) } else { html(&analysis) })
}

/// A page with a sentence. The caller escapes text of others in it.
fn refusal(status: StatusCode, sentence: &str) -> Response {
    let page = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{status}</title></head>\
         <body><h1>{status}</h1><p>{sentence}</p></body></html>\n"
    );
    (status, Html(page)).into_response()
}

/// An error of the results database, with the name of the file.
fn failed(error: &impl Display) -> Response {
    let is_unsafe = |c: char| c.is_control() || "<>&\"'".contains(c);
    let text: String = error.to_string().chars().map(|c| if is_unsafe(c) { ' ' } else { c }).collect();
    refusal(StatusCode::NOT_FOUND, &text)
}

fn lines(store: &Store) -> Result<Vec<RunLine>, StoreError> {
    let line = |run: sharebench_results::RunSummary| RunLine {
        id: run.id.0,
        steps: steps(&run),
        title: run.title,
        started_unix_ms: run.started_unix_ms,
        state: if run.imported { "imported".to_owned() } else { run.state.to_string() },
        targets: run.targets,
    };
    Ok(store.runs()?.into_iter().map(line).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::tests::exchange;

    fn token() -> Token {
        Token("0123456789abcdef".to_owned())
    }

    fn pages() -> Listener {
        let routes = routes(Path::new("/nonexistent/runs.db"), token());
        Listener::start("pages", SocketAddr::from(([127, 0, 0, 1], 0)), routes).unwrap()
    }

    fn status(answer: &str) -> &str {
        answer.split(' ').nth(1).unwrap_or_default()
    }

    #[test]
    fn pages_answer_loopback_hosts_only() {
        let listener = pages();
        let ask = |request: &str| exchange(listener.address(), request);
        let path = format!("/{}", token().0);
        for host in ["Host: localhost\r\n", "Host: 127.0.0.1:81\r\n", "host: [::1]:80\r\n"] {
            let answer = ask(&format!("GET {path}/other HTTP/1.1\r\n{host}\r\n"));
            assert_eq!(status(&answer), "404", "{host}");
        }
        for host in ["", "Host: evil.example\r\n", "Host: localhost\r\nHost: evil\r\n"] {
            let answer = ask(&format!("GET {path}/other HTTP/1.1\r\n{host}\r\n"));
            assert_eq!(status(&answer), "421", "{host}");
        }
        assert_eq!(status(&ask(&format!("POST {path}/ HTTP/1.1\r\nHost: localhost\r\n\r\n"))), "405");
        let missing = ask(&format!("GET {path}/ HTTP/1.1\r\nHost: localhost\r\n\r\n"));
        assert!(
            missing.starts_with("HTTP/1.1 404") && missing.contains("x-frame-options: DENY"),
            "{missing}"
        );
        for target in ["/report", "/report?run=x", "/report?run=%zz", "/report?run=-1"] {
            let answer = ask(&format!("GET {path}{target} HTTP/1.1\r\nHost: localhost\r\n\r\n"));
            assert_eq!(status(&answer), "400", "{target}");
        }
    }

    #[test]
    fn pages_are_only_below_the_token() {
        let listener = pages();
        let ask = |path: &str| {
            exchange(listener.address(), &format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"))
        };
        let path = format!("/{}", token().0);
        for wrong in ["/", "/report?run=1", "/0123456789abcdeg/", "/0123456789abcde/", "//", "/?token=x"] {
            let answer = ask(wrong);
            assert_eq!(status(&answer), "403", "{wrong}");
            assert!(answer.contains("sharebench report --serve") && !answer.contains(&token().0), "{answer}");
        }
        let moved = ask(&path);
        assert!(
            moved.starts_with("HTTP/1.1 303") && moved.contains(&format!("location: {path}/")),
            "{moved}"
        );
        assert_eq!(status(&ask(&format!("{path}/"))), "404", "the database is missing");
    }

    #[test]
    fn tokens_differ() {
        let one = Token::new().unwrap();
        assert!(one.0.len() == 32 && one != Token::new().unwrap());
    }
}
