//! Vocabulary of sharebench. No I/O, no clocks, no protocols.
//!
//! A run is a series of steps; a step has [`Coordinates`] and a [`Measure`]. Everything the
//! engine learns leaves it as a [`RunEvent`].
//!
//! ```
//! use sharebench_model::{Coordinates, Value, axis};
//! let cell = Coordinates::new()
//!     .with(axis::TEST, Value::text("read"))
//!     .with(axis::RECORD_SIZE, Value::Bytes(64 << 10));
//! assert_eq!(cell.to_string(), "record_size=64KiB test=read");
//! ```

mod cache_right;
mod check;
mod coordinates;
mod event;
mod evidence;
mod facts;
mod histogram;
mod io500;
mod load_detail;
mod load_unit;
mod measure;
mod name_change;
mod op;
mod op_error;
mod op_step;
mod policy;
mod precision;
mod random;
mod rank_share;
mod resting;
mod run;
mod server_evidence;
mod session_op;
mod sparse;
mod spreadsheet;
mod sweep;
mod tcp;
mod timeline;
mod traffic;
pub mod units;
mod url_option;
mod url_secrets;

pub use cache_right::CacheRight;
pub use check::{Check, CheckText, Verdict};
pub use coordinates::{Coordinates, Value, axis};
pub use event::RunEvent;
pub use evidence::{Evidence, PolicyCount, Residency};
pub use facts::{COMMIT_ON_CLOSE, Fact, FactClass, IDENTITY_MOUNT_OPTIONS, NO_CLIENT_CACHE, TargetFacts};
pub use histogram::{Histogram, HistogramError};
pub use io500::Io500Phase;
pub use load_detail::{
    Fairness, LoadCounts, LoadDetail, ObjectiveReport, Part, ServerLoad, SetCheck, SplitBlocks,
};
pub use load_unit::{LoadUnit, UnitObjective};
pub use measure::{
    CLIENT_CACHED_FROM, CpuTime, JobShare, Measure, RateBase, ReportedFigures, ResponseSampleSize,
};
pub use name_change::{ChangeKind, NameChange};
pub use op::{
    DataOp, Entry, FileRef, ListedPage, MetaOp, MetaReply, MetaYield, OpenHow, Reply, Slot, Space, Stability,
    Stat,
};
pub use op_error::{ErrorClass, OpError};
pub use op_step::OpStep;
pub use policy::{CachePolicy, IoPolicy, SyncPolicy};
pub use precision::{CellPrecision, PrecisionReport, RepeatRule, Round, Standing};
pub use random::{Random, mix};
pub use rank_share::RankShare;
pub use resting::HistogramArchive;
pub use run::{
    Facts, IMPORTED, ORIGIN_FACT, RunHeader, RunOutcome, StepError, StepResult, TargetIdentity, USERS_STAY,
};
pub use server_evidence::{ProbeTimes, ServerEvidence, WhileProbed};
pub use session_op::SessionOp;
pub use sparse::{Absent, Sparse};
pub use spreadsheet::{spreadsheet_text, spreadsheet_text_read};
pub use sweep::{
    Access, Declaration, Direction, EntryChange, EntryState, FileData, MetadataGroup, MetadataTest,
    NameCache, Pattern, Requirement, Start, Succession, Test,
};
pub use tcp::{TcpCounts, TcpReading};
pub use timeline::{Outage, Timeline};
pub use traffic::{IoBytes, WireCount};
pub use url_option::{OptionValues, SCHEMES, UrlOption, url_options};
pub use url_secrets::without_secrets;
