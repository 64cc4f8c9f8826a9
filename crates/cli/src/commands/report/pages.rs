//! `sharebench report --serve`: the runs of a results database as web pages, for browsers on this machine. Read-only.

use std::fmt::Display;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use sharebench_report::{RunLine, html, html_with_surfaces, runs_page};
use sharebench_results::{RunId, Store, StoreError, StoredRun};

use crate::commands::runs::steps;
use crate::exit::Failure;
use crate::http::Listener;
use crate::output::print_out;
use crate::run::run_store::analysis;

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
    let listener = Listener::start("pages", address, routes(database))
        .map_err(|error| Failure::usage(format!("--serve {address}: {error}")))?;
    print_out(&format!("serving http://{}/ (press Ctrl-C to end)\n", listener.address()))?;
    listener.wait();
    Ok(ExitCode::SUCCESS)
}

fn routes(database: &Path) -> Router {
    let pages = Arc::new(Pages { database: database.to_owned(), turn: Mutex::new(()) });
    Router::new()
        .route("/", get(list))
        .route("/report", get(report))
        .fallback(|| async { refusal(StatusCode::NOT_FOUND, "There is no such page.") })
        .method_not_allowed_fallback(|| async {
            refusal(StatusCode::METHOD_NOT_ALLOWED, "Runs can be read, not changed.")
        })
        .with_state(pages)
        .layer(from_fn(guard))
}

/// Rejects requests of other hosts and adds the headers. A web page of another host whose name resolves to a loopback
/// address (DNS rebinding) sends that name, so it cannot read the results database.
async fn guard(request: Request, next: Next) -> Response {
    let mut response = if is_for_loopback(request.headers()) {
        next.run(request).await
    } else {
        refusal(StatusCode::MISDIRECTED_REQUEST, "Use a loopback address on this machine.")
    };
    response.headers_mut().extend(HEADERS);
    response
}

/// True if there is exactly one Host header and it contains a loopback name.
fn is_for_loopback(headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = hosts.next().and_then(|host| host.to_str().ok());
    host.is_some_and(is_loopback) && hosts.next().is_none()
}

fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
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
    let runs = ids.iter().map(|id| store.load(RunId(*id))).collect::<Result<Vec<StoredRun>, _>>()?;
    let analysis = analysis(runs);
    Ok(if surfaces { html_with_surfaces(&analysis) } else { html(&analysis) })
}

/// A page with a sentence. The caller escapes text of others in it.
fn refusal(status: StatusCode, sentence: &str) -> Response {
    let page = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{status}</title></head>\
         <body><h1>{status}</h1><p>{sentence}</p><p><a href=\"/\">all runs</a></p></body></html>\n"
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

    #[test]
    fn pages_answer_loopback_hosts_only() {
        let routes = routes(Path::new("/nonexistent/runs.db"));
        let listener = Listener::start("pages", SocketAddr::from(([127, 0, 0, 1], 0)), routes).unwrap();
        let status = |request: &str| {
            exchange(listener.address(), request).split(' ').nth(1).unwrap_or_default().to_owned()
        };
        let get = |host: &str| status(&format!("GET /other HTTP/1.1\r\n{host}\r\n"));
        for host in ["Host: localhost\r\n", "Host: 127.0.0.1:81\r\n", "host: [::1]:80\r\n"] {
            assert_eq!(get(host), "404", "{host}");
        }
        for host in [
            "",
            "Host: evil.example\r\n",
            "Host: 127.0.0.1.evil.example\r\n",
            "Host: localhost\r\nHost: evil\r\n",
        ] {
            assert_eq!(get(host), "421", "{host}");
        }
        assert_eq!(status("POST / HTTP/1.1\r\nHost: localhost\r\n\r\n"), "405");
        let missing = exchange(listener.address(), "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assert!(
            missing.starts_with("HTTP/1.1 404") && missing.contains("x-frame-options: DENY"),
            "{missing}"
        );
        for target in ["/report", "/report?run=x", "/report?run=%zz", "/report?run=-1"] {
            assert_eq!(
                status(&format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n")),
                "400",
                "{target}"
            );
        }
    }
}
