//! `report --images`: charts as files. A headless browser draws them with the code of the HTML report.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, io};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sharebench_analysis::Analysis;
use sharebench_report::{IMAGES_BETWEEN, images_page};

use crate::exit::Failure;
use crate::files;
use crate::run::environment::new_seed;
use crate::system::is_root;

/// Browsers in the order of preference.
const BROWSERS: [&str; 5] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
/// Longest time that the browser may take.
const BROWSER_TIMEOUT: Duration = Duration::from_secs(180);

/// Writes every chart of an analysis as SVG and PNG; returns the number of files.
pub fn write(analysis: &Analysis, directory: &Path, browser: Option<&Path>) -> Result<usize, Failure> {
    let browser = match browser {
        Some(named) => named.to_owned(),
        None => find().ok_or_else(|| {
            Failure::usage(format!(
                "--images: needs Chromium to draw the charts, and none of {} is in PATH; install one \
                 (Debian: apt-get install chromium) or give --browser",
                BROWSERS.join(", ")
            ))
        })?,
    };
    let at = |path: &Path, error: &io::Error| Failure::usage(format!("--images {}: {error}", path.display()));
    fs::create_dir_all(directory).map_err(|error| at(directory, &error))?;
    let scratch = Scratch::new().map_err(|error| Failure::Internal(error.into()))?;
    let page = scratch.0.join("charts.html");
    fs::write(&page, images_page(analysis)).map_err(|error| at(&page, &error))?;
    let document = draw(&browser, &page, &scratch.0)?;
    let failed = || Failure::usage(format!("--images: {} returned no pictures", browser.display()));
    let (from, to) = IMAGES_BETWEEN;
    let text = document.split_once(from).and_then(|(_, rest)| rest.split_once(to)).ok_or_else(failed)?.0;
    let mut written = 0;
    for line in text.lines().filter(|line| !line.is_empty()) {
        let mut words = line.splitn(3, ' ');
        let (Some(name), Some(extension @ ("svg" | "png")), Some(data)) =
            (words.next(), words.next(), words.next())
        else {
            return Err(failed());
        };
        let bytes = STANDARD.decode(data).map_err(|_| failed())?;
        // The page makes names of letters, digits, dots, hyphens and underscores. Do not rely on it: the browser is another program.
        let name: String =
            name.chars().map(|c| if c.is_alphanumeric() || "._-".contains(c) { c } else { '-' }).collect();
        let path = directory.join(format!("{:02}-{name}.{extension}", written / 2 + 1));
        files::write(&path, &bytes).map_err(|error| at(&path, &error))?;
        written += 1;
    }
    Ok(written)
}

fn find() -> Option<PathBuf> {
    let search = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&search).collect();
    BROWSERS
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|path| path.is_file())
}

/// Lets the browser draw the page; returns the final document.
fn draw(browser: &Path, page: &Path, scratch: &Path) -> Result<String, Failure> {
    let failed =
        |why: &dyn std::fmt::Display| Failure::usage(format!("--images: {}: {why}", browser.display()));
    // A file, because a full pipe would block the browser.
    let printed = scratch.join("document");
    let output = fs::File::create(&printed).map_err(|error| failed(&error))?;
    let root = is_root();
    let mut command = Command::new(browser);
    command
        .args([
            "--headless=new",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-sync",
        ])
        .args(["--disable-background-networking", "--disable-component-update", "--hide-scrollbars"])
        // The page loads nothing from the network; keep the browser from doing it.
        .args(["--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=20000", "--dump-dom"])
        .args(root.then_some("--no-sandbox"))
        .arg(format!("--user-data-dir={}", scratch.join("profile").display()))
        .arg(format!("file://{}", page.display()))
        .env("HOME", scratch)
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| failed(&error))?;
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().map_err(|error| failed(&error))? {
            break status;
        }
        if started.elapsed() > BROWSER_TIMEOUT {
            let _ = child.kill();
            let _ = child.wait();
            return Err(failed(&format!("no result after {} s", BROWSER_TIMEOUT.as_secs())));
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    if !status.success() {
        return Err(failed(&status));
    }
    fs::read_to_string(&printed).map_err(|error| failed(&error))
}

/// A temporary directory, removed with its content when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> io::Result<Self> {
        let path = std::env::temp_dir().join(format!("sharebench-images-{:016x}", new_seed()));
        fs::create_dir(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A process of the browser may still write. What it leaves is in the temporary directory of the system.
        let _ = fs::remove_dir_all(&self.0);
    }
}
