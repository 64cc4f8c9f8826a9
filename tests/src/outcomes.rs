//! Tables of outcomes in the documentation, which a test suite writes and later compares with its observations.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

const BEGIN: &str = "<!-- outcomes: written by the suite, see above -->";
const END: &str = "<!-- end of outcomes -->";

/// A table between two marks of a Markdown file.
#[derive(Debug)]
pub struct Outcomes {
    file: PathBuf,
    header: Vec<&'static str>,
    rows: Vec<Vec<String>>,
    /// Some rows could not be observed here.
    partial: bool,
}

impl Outcomes {
    /// A table of `docs/results/NAME` with these columns, the first `key` of which identify a row.
    pub fn new(name: &str, header: &[&'static str]) -> Self {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/results").join(name);
        Self { file, header: header.to_vec(), rows: Vec::new(), partial: false }
    }

    /// Adds a row that was observed.
    pub fn add(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Records that a row could not be observed on this machine.
    pub fn skip(&mut self) {
        self.partial = true;
    }

    /// Writes the table if `SHAREBENCH_WRITE_TABLES` is set. Otherwise compares: the table must contain exactly the observed
    /// rows, and may contain others only if some were skipped.
    ///
    /// # Errors
    /// A file that cannot be read or written, and every difference.
    pub fn settle(&self) -> io::Result<()> {
        let text = fs::read_to_string(&self.file)?;
        let lost = || io::Error::other(format!("{}: no marks of a table", self.file.display()));
        let (before, rest) = text.split_once(BEGIN).ok_or_else(lost)?;
        let (there, after) = rest.split_once(END).ok_or_else(lost)?;
        if env::var_os("SHAREBENCH_WRITE_TABLES").is_some() {
            if self.partial {
                return Err(io::Error::other("some rows could not be observed: nothing was written"));
            }
            return fs::write(&self.file, format!("{before}{BEGIN}\n{}{END}{after}", self.text()));
        }
        let observed: Vec<String> = self.rows.iter().map(|row| line(row)).collect();
        let written: Vec<&str> = there.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
        let mut differences: Vec<String> = observed
            .iter()
            .filter(|row| !written.contains(&row.as_str()))
            .map(|row| format!("observed: {row}"))
            .collect();
        if !self.partial {
            let gone = written.iter().filter(|row| !observed.iter().any(|line| line == *row));
            differences.extend(gone.map(|row| format!("written:  {row}")));
        }
        if differences.is_empty() {
            return Ok(());
        }
        let all = differences.join("\n");
        Err(io::Error::other(format!("{} does not say what was observed:\n{all}", self.file.display())))
    }

    fn text(&self) -> String {
        let header: Vec<String> = self.header.iter().map(|name| (*name).to_owned()).collect();
        let rule = format!("|{}\n", "---|".repeat(header.len()));
        let rows: String = self.rows.iter().map(|row| line(row) + "\n").collect();
        format!("{}\n{rule}{rows}", line(&header))
    }
}

fn line(cells: &[String]) -> String {
    format!("| {} |", cells.join(" | "))
}
