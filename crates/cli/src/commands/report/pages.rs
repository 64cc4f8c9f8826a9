//! `sharebench report --serve`: the runs of a results database as web pages, for browsers on this machine. Read-only.

use std::fmt::Display;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use sharebench_report::{RunLine, html, runs_page};
use sharebench_results::{RunId, Store, StoreError};

use crate::commands::runs::steps;
use crate::exit::Failure;
use crate::http::Listener;
use crate::http::access::{Access, refusal, with_slash};
use crate::output::print_out;
use crate::run::run_store::{analyse_loaded, load_from};

/// Largest number of runs in one report.
const MAX_RUNS: usize = 8;

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
    let access = Access::new("--serve", "sharebench report --serve", address)?;
    // Report a missing results database now, not to each reader.
    Store::open_read_only(database)?;
    let path = access.path();
    let listener = Listener::start("pages", address, routes(database, access))
        .map_err(|error| Failure::usage(format!("--serve {address}: {error}")))?;
    let address = listener.address();
    print_out(&format!("serving http://{address}{path} (press Ctrl-C to end)\n"))?;
    listener.wait();
    Ok(ExitCode::SUCCESS)
}

fn routes(database: &Path, access: Access) -> Router {
    let pages = Arc::new(Pages { database: database.to_owned(), turn: Mutex::new(()) });
    let routes = Router::new()
        .route("/{token}", get(with_slash))
        .route("/{token}/", get(list))
        .route("/{token}/report", get(report))
        .with_state(pages);
    access.protect(routes)
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
    let Some(ids) = ids.filter(|ids| (1..=MAX_RUNS).contains(&ids.len())) else {
        return refusal(StatusCode::BAD_REQUEST, "Select one to eight runs by their numbers.");
    };
    let made = tokio::task::spawn_blocking(move || {
        let _turn = pages.turn.lock().unwrap_or_else(PoisonError::into_inner);
        page(&pages.database, &ids)
    });
    match made.await {
        Ok(Ok(page)) => Html(page).into_response(),
        Ok(Err(error)) => failed(&error),
        Err(_) => refusal(StatusCode::INTERNAL_SERVER_ERROR, "The report could not be made."),
    }
}

fn page(database: &Path, ids: &[i64]) -> Result<String, StoreError> {
    let store = Store::open_read_only(database)?;
    let runs = ids.iter().map(|id| load_from(&store, RunId(*id))).collect::<Result<Vec<_>, _>>()?;
    let analysis = analyse_loaded(runs)?;
    Ok(html(&analysis))
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

    const TOKEN: &str = "0123456789abcdef";

    fn pages() -> Listener {
        let routes =
            routes(Path::new("/nonexistent/runs.db"), Access::with_token("sharebench report --serve", TOKEN));
        Listener::start("pages", SocketAddr::from(([127, 0, 0, 1], 0)), routes).unwrap()
    }

    fn status(answer: &str) -> &str {
        answer.split(' ').nth(1).unwrap_or_default()
    }

    #[test]
    fn pages_answer_loopback_hosts_only() {
        let listener = pages();
        let ask = |request: &str| exchange(listener.address(), request);
        let path = format!("/{TOKEN}");
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
        let path = format!("/{TOKEN}");
        for wrong in ["/", "/report?run=1", "/0123456789abcdeg/", "/0123456789abcde/", "//", "/?token=x"] {
            let answer = ask(wrong);
            assert_eq!(status(&answer), "403", "{wrong}");
            assert!(answer.contains("sharebench report --serve") && !answer.contains(TOKEN), "{answer}");
        }
        let moved = ask(&path);
        assert!(
            moved.starts_with("HTTP/1.1 303") && moved.contains(&format!("location: {path}/")),
            "{moved}"
        );
        assert_eq!(status(&ask(&format!("{path}/"))), "404", "the database is missing");
    }
}
