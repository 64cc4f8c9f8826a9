//! Headless Chromium: opens a page from a file and reports its console messages and requests.

use std::path::Path;
use std::{fs, io};

use serde_json::Value;

use crate::need::Need;
use crate::program::run;
use crate::scratch::Scratch;

/// Result of loading a page.
#[derive(Debug)]
pub struct Page {
    /// The document after its scripts have run, as HTML.
    pub document: String,
    /// Console messages, including uncaught errors.
    pub console: Vec<String>,
    /// URLs that the page requested.
    pub requests: Vec<String>,
}

/// Opens pages.
#[derive(Debug)]
pub struct Browser;

impl Browser {
    /// Requirements of the machine.
    pub const NEEDS: [Need; 1] = [Need::Program("chromium")];

    /// Opens a copy of the file in an otherwise empty directory, so that requests for other files fail.
    pub fn open(html: &Path) -> io::Result<Page> {
        let scratch = Scratch::new("browser")?;
        fs::create_dir(scratch.path().join("page"))?;
        let page = scratch.file("page/page.html");
        let net_log = scratch.file("net.json");
        fs::copy(html, &page)?;
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--no-first-run",
            // The browser itself likes to call home.
            "--host-resolver-rules=MAP * ~NOTFOUND",
            "--enable-logging=stderr",
            "--virtual-time-budget=5000",
            "--dump-dom",
        ];
        let profile = format!("--user-data-dir={}", scratch.file("profile"));
        let log = format!("--log-net-log={net_log}");
        let url = format!("file://{page}");
        let mut line = vec!["timeout", "240", "chromium"];
        line.extend(arguments);
        line.extend([profile.as_str(), &log, &url]);
        let printed = run(&line, &[("HOME", &scratch.file("home"))])?;
        let document =
            printed.find("<!DOCTYPE").or_else(|| printed.find("<html")).map_or("", |at| &printed[at..]);
        let document = document.rfind("</html>").map_or("", |at| &document[..at + "</html>".len()]);
        Ok(Page {
            document: document.to_owned(),
            console: printed.lines().filter_map(console_message).map(str::to_owned).collect(),
            requests: requests(&serde_json::from_slice(&fs::read(net_log)?)?),
        })
    }
}

/// `[..:INFO:CONSOLE:12] "text", source: file:///.. (3)` -> `"text", source: ..`
fn console_message(line: &str) -> Option<&str> {
    line.split_once(":CONSOLE").and_then(|(_, rest)| rest.split_once("] ")).map(|(_, message)| message)
}

/// Returns the requests of the page in Chromium's network log; requests of the browser itself have no origin.
fn requests(log: &Value) -> Vec<String> {
    let start = &log["constants"]["logEventTypes"]["URL_REQUEST_START_JOB"];
    let events = log["events"].as_array().into_iter().flatten();
    events
        .filter(|event| event["type"] == *start && event["params"]["initiator"] != "not an origin")
        .filter_map(|event| event["params"]["url"].as_str().map(str::to_owned))
        .collect()
}
