//! The working directory of a suite on the target, with one subdirectory per step, and the findings.

use std::cell::{Cell, RefCell};
use std::time::{SystemTime, UNIX_EPOCH};

use sharebench_model::{MetaOp, WireCount};

use super::probe::Probe;
use super::suite::Suite;
use sharebench_target::{LocalBoxFuture, SessionSpec, Target};

pub(super) struct Ground<'t> {
    pub suite: &'t Suite,
    pub target: &'t dyn Target,
    root: String,
    step: Cell<&'static str>,
    findings: RefCell<Vec<String>>,
    notes: RefCell<Vec<String>>,
    counted: Cell<WireCount>,
}

impl<'t> Ground<'t> {
    pub fn new(suite: &'t Suite, target: &'t dyn Target) -> Self {
        let nanos = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        Self {
            suite,
            target,
            root: format!(".sharebench-conformance-{}-{nanos:x}", std::process::id()),
            step: Cell::new("prepare"),
            findings: RefCell::default(),
            notes: RefCell::default(),
            counted: Cell::default(),
        }
    }

    pub fn begin(&self, step: &'static str) {
        self.step.set(step);
    }

    /// A path below this step's own directory; `""` is the directory itself.
    pub fn path(&self, name: &str) -> String {
        let step = self.step.get().replace(' ', "-");
        if name.is_empty() { format!("{}/{step}", self.root) } else { format!("{}/{step}/{name}", self.root) }
    }

    /// Largest record the suite and the target allow, aligned.
    pub fn max_record(&self) -> u32 {
        let max = self.suite.max_record.min(self.target.capabilities().max_record);
        (max / self.suite.alignment * self.suite.alignment).max(1)
    }

    pub fn max_depth(&self) -> u32 {
        self.suite.max_depth.min(self.target.capabilities().max_queue_depth).max(1)
    }

    /// `bytes` rounded up to the suite's alignment.
    pub fn align(&self, bytes: u64) -> u64 {
        bytes.next_multiple_of(u64::from(self.suite.alignment))
    }

    pub fn find(&self, finding: impl Into<String>) {
        self.findings.borrow_mut().push(finding.into());
    }

    pub fn note(&self, note: impl Into<String>) {
        self.notes.borrow_mut().push(format!("{}: {}", self.step.get(), note.into()));
    }

    pub fn take_findings(&self) -> Vec<String> {
        self.findings.take()
    }

    pub fn into_account(self) -> (WireCount, Vec<String>) {
        (self.counted.get(), self.notes.into_inner())
    }

    pub async fn prepare(&self) -> Result<(), String> {
        let mut probe = self.connect(1).await?;
        probe.done(MetaOp::MakeDir { path: self.root.clone() }).await?;
        self.finish(probe).await
    }

    /// A session of `slots` slots that hold the largest record.
    pub async fn connect(&self, slots: u32) -> Result<Probe, String> {
        let spec = SessionSpec { slots, slot_bytes: self.max_record(), ..SessionSpec::default() };
        let session = self.target.connect(&spec).await.map_err(|error| format!("connect: {error}"))?;
        let durable = self.suite.durable_write_requests;
        Ok(Probe::new(session, self.target.capabilities().wire_counted, self.target.caches(), durable))
    }

    /// A session of one slot, with this step's directory made.
    pub async fn enter(&self) -> Result<Probe, String> {
        let mut probe = self.connect(1).await?;
        probe.done(MetaOp::MakeDir { path: self.path("") }).await?;
        Ok(probe)
    }

    /// Compares the session's counts with what was counted here, and closes it.
    pub async fn finish(&self, probe: Probe) -> Result<(), String> {
        let mut counted = self.counted.get();
        counted += probe.counted();
        self.counted.set(counted);
        probe.finish().await
    }

    pub async fn remove_all(&self) -> Result<(), String> {
        let mut probe = self.connect(1).await?;
        remove_tree(&mut probe, self.root.clone()).await?;
        self.finish(probe).await
    }
}

fn remove_tree(probe: &mut Probe, path: String) -> LocalBoxFuture<'_, Result<(), String>> {
    Box::pin(async move {
        for entry in probe.list(&path).await? {
            let below = format!("{path}/{}", entry.name);
            if entry.directory {
                remove_tree(probe, below).await?;
            } else {
                probe.done(MetaOp::Remove { path: below }).await?;
            }
        }
        probe.done(MetaOp::RemoveDir { path }).await
    })
}

/// Makes a test at each of these depths up to `max`; a finding states the depth.
pub(super) async fn at_depths(
    mut depths: Vec<u32>,
    max: u32,
    test: impl AsyncFn(u32) -> Result<(), String>,
) -> Result<(), String> {
    depths.retain(|depth| *depth <= max);
    depths.sort_unstable();
    depths.dedup();
    for depth in depths {
        test(depth).await.map_err(|finding| format!("depth {depth}: {finding}"))?;
    }
    Ok(())
}
