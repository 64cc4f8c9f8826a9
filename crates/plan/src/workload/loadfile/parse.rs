//! Loadfiles as text: one operation a line, every mistake with its line.

use std::collections::BTreeMap;

use sharebench_model::ErrorClass;
use sharebench_model::units::ByteSize;

use super::names::Names;
use super::start::settle;
use super::status::expected;
use super::{Call, Disposition, Expected, LeftOut, Loadfile, LoadfileLine};
use crate::values::{MAX_FILE, MAX_RECORD, nearest};

/// Maximum number of reported errors: in a text that is not a loadfile, every line is an error.
const MAX_REPORTED: usize = 20;
/// Most bytes of a loadfile: it is kept with the results of a run.
const MAX_BYTES: usize = 64 << 20;
/// A directory is opened (MS-SMB2 2.2.13, `FILE_DIRECTORY_FILE`).
const DIRECTORY_FILE: u64 = 1;
/// Levels of `SET_FILE_INFORMATION` that request deletion (MS-CIFS 2.2.8.4, and MS-FSCC by 1000 + class).
const DISPOSITION_LEVELS: [u64; 2] = [0x102, 1013];

/// Operations and their arguments; the status comes last.
const FORMS: [(&str, &str); 17] = [
    ("NTCreateX", "\"PATH\" OPTIONS DISPOSITION HANDLE"),
    ("Close", "HANDLE"),
    ("Rename", "\"PATH\" \"PATH\""),
    ("Unlink", "\"PATH\" ATTRIBUTES"),
    ("Deltree", "\"PATH\""),
    ("Rmdir", "\"PATH\""),
    ("Mkdir", "\"PATH\""),
    ("QUERY_PATH_INFORMATION", "\"PATH\" LEVEL"),
    ("QUERY_FILE_INFORMATION", "HANDLE LEVEL"),
    ("QUERY_FS_INFORMATION", "LEVEL"),
    ("SET_FILE_INFORMATION", "HANDLE LEVEL"),
    ("FIND_FIRST", "\"MASK\" LEVEL MOST FOUND"),
    ("ReadX", "HANDLE OFFSET BYTES READ"),
    ("WriteX", "HANDLE OFFSET BYTES WRITTEN"),
    ("LockX", "HANDLE OFFSET BYTES"),
    ("UnlockX", "HANDLE OFFSET BYTES"),
    ("Flush", "HANDLE"),
];

/// One thing wrong with a loadfile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LoadfileMistake {
    /// Line of the loadfile, counted from 1; none for what is wrong with all of it.
    pub line: Option<usize>,
    /// What is wrong.
    pub problem: String,
    /// What to write instead.
    pub hint: String,
}

impl Loadfile {
    /// Reads a loadfile; all mistakes at once, the first of them where they are many.
    pub(crate) fn parse(text: &str) -> Result<Self, Vec<LoadfileMistake>> {
        let mut parser = Parser::default();
        let mut mistakes = Vec::new();
        let mut wrong = |line, (problem, hint): Wrong| mistakes.push(LoadfileMistake { line, problem, hint });
        if text.len() > MAX_BYTES {
            let bytes = ByteSize(text.len() as u64);
            let most = ByteSize(MAX_BYTES as u64);
            wrong(None, (format!("{bytes} are more than {most}"), "cut it after a Close".into()));
            return Err(mistakes);
        }
        for (number, line) in (1..).zip(text.lines()) {
            if let Err(problem) = parser.line(number, line.trim()) {
                wrong(Some(number as usize), problem);
            }
        }
        if parser.file.lines.iter().all(|line| line.left_out.is_some()) && mistakes.is_empty() {
            let hint = "write one a line, such as: Mkdir \"\\clients\" NT_STATUS_OK";
            mistakes.push(LoadfileMistake {
                line: None,
                problem: "it contains no operation that can be replayed".into(),
                hint: hint.into(),
            });
        }
        if mistakes.is_empty() {
            let mut file = parser.file;
            file.names = parser.names.all;
            settle(&mut file, &parser.names.parents);
            return Ok(file);
        }
        let more = mistakes.len().saturating_sub(MAX_REPORTED);
        mistakes.truncate(MAX_REPORTED);
        if more > 0 {
            let problem = format!("and {more} mistakes more");
            mistakes.push(LoadfileMistake { line: None, problem, hint: String::new() });
        }
        Err(mistakes)
    }
}

/// Problem and hint.
pub(super) type Wrong = (String, String);

pub(super) fn wrong(problem: impl Into<String>, hint: impl Into<String>) -> Wrong {
    (problem.into(), hint.into())
}

#[derive(Clone, Copy)]
enum Word<'a> {
    Plain(&'a str),
    Quoted(&'a str),
}

#[derive(Default)]
struct Parser {
    file: Loadfile,
    names: Names,
    /// Handles that are open at this line: true for directories.
    open: BTreeMap<u32, bool>,
    last_ns: u64,
}

/// The arguments of an operation.
struct Args<'a> {
    words: &'a [Word<'a>],
    form: &'static str,
}

impl Parser {
    fn line(&mut self, number: u32, text: &str) -> Result<(), Wrong> {
        if text.is_empty() || text.starts_with('#') {
            return Ok(());
        }
        let words = words(text)?;
        let (at_ns, words) = self.stamp(&words)?;
        let Some((Word::Plain(name), rest)) = words.split_first() else {
            return Err(wrong("no operation", "the first word names it, such as ReadX"));
        };
        let Some((name, form)) = FORMS.iter().find(|(known, _)| known == name) else {
            let known = FORMS.map(|(name, _)| name);
            let hint = nearest(name, &known).map_or_else(
                || format!("known are {}", known.join(", ")),
                |near| format!("did you mean '{near}'?"),
            );
            return Err(wrong(format!("'{name}' is no operation"), hint));
        };
        let whole = || format!("write {name} {form} NT_STATUS_OK (or the failure that is expected)");
        let status = match rest.last() {
            Some(Word::Plain(word)) => expected(word),
            _ => None,
        };
        let Some(expected) = status else {
            let last = rest.last().map_or("nothing", |word| match word {
                Word::Plain(text) | Word::Quoted(text) => text,
            });
            return Err(wrong(format!("'{last}' is no status that {name} can end with"), whole()));
        };
        let args = Args { words: &rest[..rest.len() - 1], form };
        if args.words.len() != form.split(' ').count() {
            return Err(wrong(format!("{} words between {name} and the status", args.words.len()), whole()));
        }
        let (call, left_out) = self.call(name, &args, expected)?;
        let kind = if left_out.is_none() { self.kind(name) } else { 0 };
        self.file.lines.push(LoadfileLine { number, at_ns, call, expected, kind, left_out });
        Ok(())
    }

    /// A time stamp in the first column, in seconds, and what follows it.
    fn stamp<'w, 't>(&mut self, words: &'w [Word<'t>]) -> Result<(Option<u64>, &'w [Word<'t>]), Wrong> {
        let Some((Word::Plain(first), rest)) = words.split_first() else { return Ok((None, words)) };
        if !first.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.') {
            return Ok((None, words));
        }
        let seconds = first.parse::<f64>().ok().filter(|seconds| (0.0..1e7).contains(seconds));
        let Some(seconds) = seconds else {
            return Err(wrong(
                format!("'{first}' is no time stamp"),
                "seconds since the beginning, such as 0.125",
            ));
        };
        let at_ns = (seconds * 1e9).round() as u64;
        if at_ns < self.last_ns {
            let last = self.last_ns as f64 / 1e9;
            return Err(wrong(
                format!("time stamp {first} is before {last}"),
                "operations must be in the order of time",
            ));
        }
        self.last_ns = at_ns;
        Ok((Some(at_ns), rest))
    }

    fn kind(&mut self, name: &'static str) -> u16 {
        let kinds = &mut self.file.kinds;
        let known = kinds.iter().position(|kind| *kind == name).unwrap_or_else(|| {
            kinds.push(name);
            kinds.len() - 1
        });
        known as u16
    }

    fn call(
        &mut self,
        name: &str,
        args: &Args<'_>,
        expected: Expected,
    ) -> Result<(Call, Option<LeftOut>), Wrong> {
        let mut left_out = match expected {
            Expected::Failure(ErrorClass::Busy | ErrorClass::Refused | ErrorClass::ReadOnly, _) => {
                Some(LeftOut::Others)
            }
            _ => None,
        };
        let call = match name {
            "NTCreateX" => self.create(args, expected, left_out.is_none())?,
            "Close" => {
                let handle = args.number(0)? as u32;
                match self.open.remove(&handle) {
                    Some(directory) => left_out = left_out.or(directory.then_some(LeftOut::DirectoryHandle)),
                    None => return Err(not_open(handle)),
                }
                Call::Close { handle }
            }
            "Rename" => {
                if let Expected::Failure(ErrorClass::Exists, _) = expected {
                    left_out = left_out.or(Some(LeftOut::Replaces));
                }
                Call::Rename {
                    from: self.names.path(args.quoted(0)?)?,
                    to: self.names.path(args.quoted(1)?)?,
                }
            }
            "Unlink" => Call::Unlink { name: self.names.path(args.quoted(0)?)? },
            "Deltree" => Call::Deltree { name: self.names.path(args.quoted(0)?)? },
            "Rmdir" => Call::Rmdir { name: self.names.path(args.quoted(0)?)? },
            "Mkdir" => Call::Mkdir { name: self.names.path(args.quoted(0)?)? },
            "QUERY_PATH_INFORMATION" => Call::QueryPath { name: self.names.path(args.quoted(0)?)? },
            "QUERY_FS_INFORMATION" => Call::QueryFs,
            "FIND_FIRST" => {
                let mask = args.quoted(0)?;
                let (directory, mask) = mask.rsplit_once(['\\', '/']).unwrap_or(("", mask));
                Call::Find { directory: self.names.path(directory)?, mask: mask.to_owned() }
            }
            _ => return self.on_handle(name, args, left_out),
        };
        args.numbers()?;
        Ok((call, left_out))
    }

    fn create(&mut self, args: &Args<'_>, expected: Expected, performed: bool) -> Result<Call, Wrong> {
        let name = self.names.path(args.quoted(0)?)?;
        let disposition = match args.number(2)? {
            0 | 5 => Disposition::OverwriteIf,
            1 => Disposition::Open,
            2 => Disposition::Create,
            3 => Disposition::OpenIf,
            4 => Disposition::Overwrite,
            other => return Err(wrong(format!("{other} is no disposition"), "they are 0 to 5")),
        };
        let directory = args.number(1)? & DIRECTORY_FILE != 0;
        let handle = args.number(3)? as u32;
        if directory && matches!(disposition, Disposition::Overwrite | Disposition::OverwriteIf) {
            return Err(wrong("a directory is not overwritten", "options 0x1 go with dispositions 1 to 3"));
        }
        if performed && !matches!(expected, Expected::Failure(..)) {
            self.open.insert(handle, directory);
        }
        Ok(Call::Create { name, directory, disposition, handle })
    }

    fn on_handle(
        &mut self,
        name: &str,
        args: &Args<'_>,
        left_out: Option<LeftOut>,
    ) -> Result<(Call, Option<LeftOut>), Wrong> {
        args.numbers()?;
        let handle = args.number(0)? as u32;
        let Some(&directory) = self.open.get(&handle) else { return Err(not_open(handle)) };
        let on_file = !matches!(name, "QUERY_FILE_INFORMATION" | "SET_FILE_INFORMATION");
        if directory && on_file {
            return Err(wrong(format!("{handle} is a directory"), "open a file for it"));
        }
        let call = match name {
            "QUERY_FILE_INFORMATION" => Call::QueryFile { handle },
            "SET_FILE_INFORMATION" => {
                let why = match args.number(1)? {
                    level if DISPOSITION_LEVELS.contains(&level) => Some(LeftOut::DeleteOnClose),
                    _ => directory.then_some(LeftOut::DirectoryHandle),
                };
                return Ok((Call::SetFile { handle }, left_out.or(why)));
            }
            "Flush" => Call::Flush { handle },
            "LockX" | "UnlockX" => {
                let offset = args.number(1)?;
                let bytes = args.number(2)?;
                // The last byte that local systems can lock (off_t).
                if offset.checked_add(bytes).is_none_or(|end| end > i64::MAX as u64) {
                    let hint = "ranges end within 2^63 - 1 bytes";
                    return Err(wrong(format!("a lock of {bytes} bytes at {offset}"), hint));
                }
                let left_out = left_out.or((bytes == 0).then_some(LeftOut::Empty));
                let call = if name == "LockX" {
                    Call::Lock { handle, offset, bytes }
                } else {
                    Call::Unlock { handle, offset, bytes }
                };
                return Ok((call, left_out));
            }
            _ => {
                let offset = args.number(1)?;
                let len = args.number(2)?;
                let moved = args.number(3)?;
                if len > MAX_RECORD || offset.saturating_add(len) > MAX_FILE || moved > len {
                    let hint = format!(
                        "at most {} within {}, and at most the requested bytes are transferred",
                        ByteSize(MAX_RECORD),
                        ByteSize(MAX_FILE)
                    );
                    return Err(wrong(format!("{len} bytes at {offset} with {moved} moved"), hint));
                }
                let left_out = left_out.or((len == 0).then_some(LeftOut::Empty));
                let len = len as u32;
                let want = moved as u32;
                let call = match name {
                    "ReadX" => Call::Read { handle, offset, len, want },
                    _ if want == len => Call::Write { handle, offset, len },
                    _ => {
                        let problem = format!("a write that wrote {want} of {len} bytes");
                        return Err(wrong(problem, "short writes are not replayed"));
                    }
                };
                return Ok((call, left_out));
            }
        };
        Ok((call, left_out))
    }
}

fn not_open(handle: u32) -> Wrong {
    wrong(
        format!("handle {handle} is not open here"),
        "an NTCreateX that succeeds opens it, before this line",
    )
}

impl<'a> Args<'a> {
    fn quoted(&self, index: usize) -> Result<&'a str, Wrong> {
        match self.words.get(index) {
            Some(Word::Quoted(path)) => Ok(path),
            Some(Word::Plain(word)) => {
                Err(wrong(format!("'{word}' is not a path"), "put paths in double quotes"))
            }
            None => Err(wrong("a path is missing", self.form)),
        }
    }

    /// A decimal number or, after 0x, a hexadecimal one. Some recordings write -1 for a missing handle.
    fn number(&self, index: usize) -> Result<u64, Wrong> {
        let Some(Word::Plain(word)) = self.words.get(index) else {
            return Err(wrong("a number is missing", self.form));
        };
        let hex = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X"));
        let read = match hex {
            Some(hex) => u64::from_str_radix(hex, 16).ok(),
            None if *word == "-1" => Some(u64::from(u32::MAX)),
            None => word.parse().ok(),
        };
        read.ok_or_else(|| wrong(format!("'{word}' is no number"), self.form))
    }

    /// Every word that the form does not quote is a number.
    fn numbers(&self) -> Result<(), Wrong> {
        let mut numbers = self.form.split(' ').enumerate().filter(|(_, word)| !word.starts_with('"'));
        numbers.try_for_each(|(index, _)| self.number(index).map(drop))
    }
}

/// Words of a line; those in double quotes may hold blanks.
fn words(mut text: &str) -> Result<Vec<Word<'_>>, Wrong> {
    let mut found = Vec::new();
    loop {
        text = text.trim_start();
        if text.is_empty() {
            return Ok(found);
        }
        if let Some(quoted) = text.strip_prefix('"') {
            let Some((path, rest)) = quoted.split_once('"') else {
                return Err(wrong("a double quote is not closed", "write \"\\clients\\client1\\a.txt\""));
            };
            found.push(Word::Quoted(path));
            text = rest;
        } else {
            let end = text.find(|c: char| c.is_whitespace() || c == '"').unwrap_or(text.len());
            found.push(Word::Plain(&text[..end]));
            text = &text[end..];
        }
    }
}
