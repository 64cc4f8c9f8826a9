//! One run of `sharebench diagnose`.

use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;
use sharebench_tests::{KernelGuest, Scratch, Smbd};

use crate::Failure;
use crate::fault::{GuestRun, Planted};
use crate::options::Options;

static BINARY: OnceLock<String> = OnceLock::new();

/// Sets the program, once.
pub fn select(path: &str) -> Result<(), Failure> {
    let found = std::fs::canonicalize(path).map_err(|error| format!("{path}: {error}"))?;
    let _ = BINARY.set(found.display().to_string());
    Ok(())
}

/// The program.
pub fn binary() -> &'static str {
    BINARY.get().map_or("sharebench", String::as_str)
}

/// Diagnoses a planted fault and returns the document.
pub fn diagnose(planted: &Planted, options: &Options) -> Result<Value, Failure> {
    if let Some(guest) = &planted.guest {
        return diagnose_in_guest(guest, &planted.url, options);
    }
    let home = Scratch::new("home")?;
    let line: Vec<&str> = planted.words.iter().map(String::as_str).chain([binary()]).collect();
    let output = Command::new(line[0])
        .args(&line[1..])
        .args(["diagnose", &planted.url, "--json", "--for", &options.time])
        .args(&planted.flags)
        .env("SHAREBENCH_PASSWORD", Smbd::PASSWORD)
        .env("HOME", home.path())
        .envs(planted.env.iter().map(|(name, value)| (*name, value.as_str())))
        .current_dir(home.path())
        .output()?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}: {}", output.status, words.trim()).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The same in a guest, whose files are those of this machine.
fn diagnose_in_guest(guest: &GuestRun, url: &str, options: &Options) -> Result<Value, Failure> {
    let setup = &guest.setup;
    let script = format!(
        "set -e; export HOME=/run/home; mkdir -p $HOME; cd $HOME; {{ {setup}; }} >&2\n\
         \"$BINARY\" diagnose \"$URL\" --json --for \"$FOR\""
    );
    let env = [
        ("BINARY", binary()),
        ("URL", url),
        ("FOR", options.time.as_str()),
        ("SHAREBENCH_PASSWORD", Smbd::PASSWORD),
    ];
    let printed = guest.guest.run(&script, &env, KernelGuest::LONG)?;
    let start = printed.find('{').ok_or_else(|| format!("no document: {printed}"))?;
    let mut documents = serde_json::Deserializer::from_str(&printed[start..]).into_iter();
    Ok(documents.next().ok_or("no document")??)
}
