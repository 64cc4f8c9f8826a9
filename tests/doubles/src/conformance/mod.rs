//! The suite every adapter must pass against every server: content, counts and errors.
//!
//! ```no_run
//! # async fn example(target: &dyn sharebench_target::Target) {
//! use sharebench_doubles::conformance::Suite;
//! let summary = Suite::default().run(target).await.unwrap_or_else(|failures| panic!("{failures}"));
//! assert!(summary.notes.is_empty(), "{:?}", summary.notes);
//! # }
//! ```

mod caching;
mod calls;
mod changes;
mod data;
mod depth;
mod entry_changes;
mod ground;
mod locks;
mod mapping;
mod names;
mod pattern;
mod policies;
mod probe;
mod ranges;
mod sharing;
mod sizes;
mod suite;
mod trees;

use std::fmt;

use sharebench_model::{MetaOp, MetaYield, WireCount};

use ground::Ground;
use sharebench_target::{LocalBoxFuture, SessionSpec, Target, call};
pub use suite::Suite;

/// What a passed suite did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// Names of the steps that passed.
    pub passed: Vec<&'static str>,
    /// Operations' requests, bytes written (`payload_sent`) and read (`payload_received`) by all sessions.
    pub counted: WireCount,
    /// What the target declined to do, legitimately.
    pub notes: Vec<String>,
}

/// Every finding of a failed suite, each with the step's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Failures(pub Vec<String>);

impl fmt::Display for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} conformance findings:", self.0.len())?;
        self.0.iter().try_for_each(|finding| write!(f, "\n  {finding}"))
    }
}

type StepFn = for<'a> fn(&'a Ground<'a>) -> LocalBoxFuture<'a, Result<(), String>>;

const STEPS: &[(&str, StepFn)] = &[
    ("facts", |ground| Box::pin(sharing::facts(ground))),
    ("open and create", |ground| Box::pin(names::open_and_create(ground))),
    ("record sizes", |ground| Box::pin(data::record_sizes(ground))),
    ("end of file", |ground| Box::pin(data::end_of_file(ground))),
    ("beyond 4 GiB", |ground| Box::pin(sizes::beyond_4_gib(ground))),
    ("overwrite", |ground| Box::pin(data::overwrite(ground))),
    ("set size", |ground| Box::pin(sizes::set_size(ground))),
    ("flush and durable write", |ground| Box::pin(data::flush_and_durable(ground))),
    ("queue depth", |ground| Box::pin(depth::queue_depth(ground))),
    ("calls in flight", |ground| Box::pin(calls::calls_in_flight(ground))),
    ("list", |ground| Box::pin(trees::list(ground))),
    ("nested directories", |ground| Box::pin(trees::nested(ground))),
    ("remove", |ground| Box::pin(trees::remove(ground))),
    ("rename", |ground| Box::pin(names::rename(ground))),
    ("stat", |ground| Box::pin(names::stat(ground))),
    ("link", |ground| Box::pin(entry_changes::link(ground))),
    ("set modified", |ground| Box::pin(entry_changes::set_modified(ground))),
    ("ranges", |ground| Box::pin(ranges::ranges(ground))),
    ("locks", |ground| Box::pin(locks::locks(ground))),
    ("share modes", |ground| Box::pin(locks::share_modes(ground))),
    ("notifications", |ground| Box::pin(changes::notifications(ground))),
    ("semaphores", |ground| Box::pin(locks::semaphores(ground))),
    ("rights to cache", |ground| Box::pin(caching::caching(ground))),
    ("space", |ground| Box::pin(sharing::space(ground))),
    ("names", |ground| Box::pin(names::unusual(ground))),
    ("close", |ground| Box::pin(sharing::close(ground))),
    ("drop cache", |ground| Box::pin(sharing::drop_cache(ground))),
    ("mapping", |ground| Box::pin(mapping::mapping(ground))),
    ("policies", |ground| Box::pin(policies::policies(ground))),
    ("two sessions", |ground| Box::pin(sharing::two_sessions(ground))),
];

impl Suite {
    /// The steps' names, in order.
    pub fn step_names() -> impl Iterator<Item = &'static str> {
        STEPS.iter().map(|(name, _)| *name)
    }

    /// Runs every step in a directory of its own below the target's and removes it afterwards.
    /// Must run inside a current-thread tokio runtime with timers.
    pub async fn run(&self, target: &dyn Target) -> Result<Summary, Failures> {
        let mut failures = Vec::new();
        let before = match list_root(target).await {
            Ok(names) => names,
            Err(finding) => return Err(Failures(vec![format!("connect: {finding}")])),
        };
        let ground = Ground::new(self, target);
        if let Err(finding) = ground.prepare().await {
            failures.push(format!("prepare: {finding}"));
        }
        let mut passed = Vec::new();
        for (name, step) in STEPS.iter().filter(|(name, _)| !self.skip.contains(name)) {
            ground.begin(name);
            let ended = tokio::time::timeout(self.deadline, step(&ground)).await;
            let ended = ended.unwrap_or_else(|_| Err(format!("no end within {:?}", self.deadline)));
            let mut findings = ground.take_findings();
            findings.extend(ended.err());
            if findings.is_empty() {
                passed.push(*name);
            }
            failures.extend(findings.into_iter().map(|finding| format!("{name}: {finding}")));
        }
        self.leave_nothing(&ground, &before, &mut failures).await;
        if failures.is_empty() {
            let (counted, notes) = ground.into_account();
            return Ok(Summary { passed, counted, notes });
        }
        Err(Failures(failures))
    }

    async fn leave_nothing(&self, ground: &Ground<'_>, before: &[String], failures: &mut Vec<String>) {
        let removal = tokio::time::timeout(self.deadline, ground.remove_all()).await;
        match removal {
            Ok(Ok(())) => {}
            Ok(Err(finding)) => failures.push(format!("cleanup: {finding}")),
            Err(_) => failures.push(format!("cleanup: no end within {:?}", self.deadline)),
        }
        match list_root(ground.target).await {
            Ok(after) if after == before => {}
            Ok(after) => failures.push(format!("cleanup: {before:?} became {after:?}")),
            Err(finding) => failures.push(format!("cleanup: {finding}")),
        }
    }
}

async fn list_root(target: &dyn Target) -> Result<Vec<String>, String> {
    let spec = SessionSpec::default();
    let slot_bytes = spec.slot_bytes.min(target.capabilities().max_record);
    let spec = SessionSpec { slot_bytes, ..spec };
    let mut session = target.connect(&spec).await.map_err(|error| error.to_string())?;
    let listed = call(&mut *session, MetaOp::List { path: String::new() }).await;
    session.close().await;
    match listed.map_err(|error| error.to_string())? {
        MetaYield::Entries(entries) => {
            let mut names: Vec<_> = entries.into_iter().map(|entry| entry.name).collect();
            names.sort();
            Ok(names)
        }
        other => Err(format!("List of the root returned {other:?}")),
    }
}

#[cfg(test)]
mod tests;
