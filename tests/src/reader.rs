//! A reader of reports: Chromium driven by Playwright, with the modules that `tests/install-peers` put below `.peers`.

use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, io};

use serde_json::Value;

use crate::need::Need;
use crate::program::find_program;

/// Opens reports and uses their controls.
#[derive(Debug)]
pub struct Reader;

impl Reader {
    /// Requirements of the machine.
    pub const NEEDS: [Need; 4] = [
        Need::Program("chromium"),
        Need::Program("node"),
        Need::NodeModule("playwright-core"),
        Need::NodeModule("axe-core"),
    ];

    /// Opens a report (a file or a URL), draws every chart, selects, clicks, downloads and prints. Returns the
    /// result of `tests/browser/report.mjs`.
    ///
    /// If the environment variable `SHAREBENCH_PICTURES` names a directory, screenshots are stored there as
    /// `NAME-light.png`, `NAME-dark.png` and `NAME-phone.png`.
    pub fn read(page: &str, name: &str) -> io::Result<Value> {
        let pictures = env::var("SHAREBENCH_PICTURES").unwrap_or_default();
        drive("report.mjs", &[page, &pictures, name])
    }

    /// Opens a report in a file, and scrolls, selects and filters without pauses. Returns the long tasks of the page, which
    /// `tests/browser/scroll.mjs` measures.
    pub fn scroll(page: &str) -> io::Result<Value> {
        drive("scroll.mjs", &[page])
    }

    /// Opens a report in a file on a desk, on a phone and in print. Returns where its first screen has what, its height, what
    /// overflows, and the tooltips: the result of `tests/browser/first_screen.mjs`.
    pub fn first_screen(page: &str) -> io::Result<Value> {
        drive("first_screen.mjs", &[page])
    }

    /// Opens the list of runs of `report --serve` and uses its links and forms. Returns the result of
    /// `tests/browser/pages.mjs`.
    pub fn browse(url: &str) -> io::Result<Value> {
        drive("pages.mjs", &[url])
    }

    /// Opens the dashboard of a run by a process, stops the run, and waits until the page is the report. Returns the result of
    /// `tests/browser/dashboard.mjs`, which stores screenshots as [`Self::read`] does.
    pub fn watch(url: &str, run: u32) -> io::Result<Value> {
        let pictures = env::var("SHAREBENCH_PICTURES").unwrap_or_default();
        drive("dashboard.mjs", &[url, &run.to_string(), &pictures])
    }

    /// Opens every page of the site of the documents in a folder, and searches for words. Returns the result of
    /// `tests/browser/site.mjs`.
    pub fn visit(site: &str, words: &str) -> io::Result<Value> {
        drive("site.mjs", &[site, words])
    }
}

/// Runs a script of `tests/browser`, which prints one line of JSON.
fn drive(script: &str, arguments: &[&str]) -> io::Result<Value> {
    let output = Command::new("timeout")
        .args(["--signal=KILL", "480", "node"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("browser").join(script))
        .args(arguments)
        .env("SHAREBENCH_NODE_MODULES", crate::node::modules())
        .env("CHROMIUM", find_program("chromium").unwrap_or_default())
        .stdin(Stdio::null())
        .output()?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if !output.status.success() {
        let said = text(&output.stdout);
        let complained = text(&output.stderr);
        return Err(io::Error::other(format!("{arguments:?}: {said}{complained}")));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
