//! `report --serve`: the runs of a results database in the browser, for whoever sits at this machine. Nothing is changed.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use sharebench_report::{RunLine, html, html_with_surfaces, runs_page};
use sharebench_results::{RunId, Store, StoredRun};

use crate::commands::runs::steps;
use crate::exit::Failure;
use crate::http::{self, Answer, Request};
use crate::output::print_out;
use crate::run::run_store::analysis;

/// Connections that are answered at once; more are refused.
const MAX_CONNECTIONS: usize = 16;
/// Runs of one report.
const MAX_RUNS: usize = 8;
/// A browser says at once what it wants.
const PATIENCE: Duration = Duration::from_secs(5);

/// Serves until the process is ended.
pub fn serve(address: SocketAddr, database: &Path) -> Result<ExitCode, Failure> {
    if !address.ip().is_loopback() {
        return Err(Failure::usage(format!(
            "--serve {address}: not a loopback address; the results database is shown on this machine alone"
        )));
    }
    // Whether there is a results database at all is better said now than to each reader.
    Store::open_read_only(database)?;
    let refused = |error: io::Error| Failure::usage(format!("--serve {address}: {error}"));
    let listener = TcpListener::bind(address).map_err(refused)?;
    let address = listener.local_addr().map_err(refused)?;
    print_out(&format!("serving http://{address}/ (Ctrl-C ends it)\n"))?;
    let (under_way, one_at_a_time) = (AtomicUsize::new(0), Mutex::new(()));
    std::thread::scope(|scope| {
        for connection in listener.incoming().filter_map(Result::ok) {
            if under_way.fetch_add(1, Ordering::Relaxed) >= MAX_CONNECTIONS {
                under_way.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            let (under_way, one_at_a_time) = (&under_way, &one_at_a_time);
            scope.spawn(move || {
                // A reader that went away is no news.
                let _ = converse(connection, database, one_at_a_time);
                under_way.fetch_sub(1, Ordering::Relaxed);
            });
        }
    });
    Ok(ExitCode::SUCCESS)
}

fn converse(mut connection: TcpStream, store: &Path, one_at_a_time: &Mutex<()>) -> io::Result<()> {
    connection.set_read_timeout(Some(PATIENCE))?;
    connection.set_write_timeout(Some(PATIENCE))?;
    match http::read(&mut connection)? {
        Ok(request) => {
            let answer = {
                // Reports take memory: one is made after the other.
                let _turn = one_at_a_time.lock();
                answer(&request, store)
            };
            http::write(&mut connection, &answer, request.head)
        }
        Err(refusal) => http::write(&mut connection, &refusal, false),
    }
}

fn answer(request: &Request, path: &Path) -> Answer {
    let of = |name: &'static str| {
        request.query.iter().filter(move |(n, _)| n == name).map(|(_, value)| value.as_str())
    };
    let store = match Store::open_read_only(path) {
        Ok(store) => store,
        Err(error) => return failed(&error),
    };
    match request.path.as_str() {
        "/" => match lines(&store) {
            Ok(lines) => {
                Answer::page(runs_page(&path.display().to_string(), &lines, of("q").next().unwrap_or("")))
            }
            Err(error) => failed(&error),
        },
        "/report" => {
            let ids: Option<Vec<i64>> = of("run").map(|id| id.parse().ok().filter(|id| *id > 0)).collect();
            match ids {
                Some(ids) if (1..=MAX_RUNS).contains(&ids.len()) => {
                    report(&store, &ids, of("surfaces").next().is_some())
                }
                _ => Answer::refusal("400 Bad Request", "Choose one to eight runs by their numbers."),
            }
        }
        _ => Answer::refusal("404 Not Found", "There is no such page."),
    }
}

/// A failure of the store, which names the file and what is wrong.
fn failed(error: &dyn std::fmt::Display) -> Answer {
    let text: String = error
        .to_string()
        .chars()
        .map(|c| if c.is_control() || "<>&\"'".contains(c) { ' ' } else { c })
        .collect();
    Answer::refusal("404 Not Found", &text)
}

fn report(store: &Store, ids: &[i64], surfaces: bool) -> Answer {
    let runs: Result<Vec<StoredRun>, _> = ids.iter().map(|id| store.load(RunId(*id))).collect();
    match runs {
        Ok(runs) if surfaces => Answer::page(html_with_surfaces(&analysis(&runs))),
        Ok(runs) => Answer::page(html(&analysis(&runs))),
        Err(error) => failed(&error),
    }
}

fn lines(store: &Store) -> Result<Vec<RunLine>, sharebench_results::StoreError> {
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
