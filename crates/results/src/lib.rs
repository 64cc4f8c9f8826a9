//! The results database: one SQLite file of runs, appended step by step, immutable once finished.
//!
//! ```
//! use sharebench_model::{RunEvent, RunHeader, RunOutcome, StepResult};
//! use sharebench_results::{RunReference, RunSink, Store};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let path = std::env::temp_dir().join(format!("sharebench-doc-{}.db", std::process::id()));
//! # let header = RunHeader { title: "demo".into(), started_unix_ms: 0, version: "0".into(),
//! #     plan: String::new(), seed: 1, steps_planned: 0, repeat: None, environment: Default::default(), targets: vec![] };
//! let mut sink = RunSink::new(Store::open(&path)?);
//! sink.record(&RunEvent::Started(Box::new(header)))?;
//! sink.record(&RunEvent::Finished(RunOutcome::Complete))?;
//!
//! let store = Store::open_read_only(&path)?;
//! let last = "last".parse::<RunReference>()?.resolve(&store)?;
//! assert_eq!(store.load(last)?.header.title, "demo");
//! # std::fs::remove_file(path)?;
//! # Ok(())
//! # }
//! ```

mod archive;
mod error;
mod export;
mod gate;
mod owner;
mod reference;
mod rows;
mod schema;
mod sink;
mod store;
mod stored;

pub use archive::StoredHistograms;
pub use error::{Problem, StoreError, WriteError};
pub use export::{Entry, SCHEMA, SpreadsheetText, Steps, StreamedTable, Table, table, write_csv, write_json};
pub use gate::GateRun;
pub use reference::{ReferenceError, RunReference, WhichRun};
pub use sink::RunSink;
pub use store::{RunStream, Store};
pub use stored::{FinishedRun, RunId, RunState, RunSummary, StoredRun};
