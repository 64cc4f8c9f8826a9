//! Results of other programs in, runs out for other programs.
//!
//! [`import`] reads the text of `IOzone`, mdtest and IO500, the JSON of fio and tables of comma-separated values; all of a file
//! becomes runs, or none of it. [`parquet`], [`xlsx`] and [`iozone_text`] write a run.
//!
//! ```
//! use sharebench_exchange::{Options, import};
//! let table = b"file_mb,record,write\n1,512,293718\n";
//! let map = ["file_size=file_mb:MiB", "record_size=record:B", "rate.write=write:B/s"];
//! let map = map.map(|mapping| mapping.parse().unwrap()).to_vec();
//! let imported = import("old.csv", table, &Options { map, ..Options::default() }).unwrap();
//! assert_eq!(imported.runs[0].steps[0].measure.throughput(), Some(293_718.0));
//! let cut = import("old.csv", b"file_mb,record\n1\n", &Options::default()).unwrap_err();
//! assert_eq!(cut.to_string(), "line 2: 1 fields where the headings are 2");
//! ```

mod cell;
mod csv;
mod error;
mod export;
mod fio;
mod import;
mod io500;
mod iozone;
mod mdtest;
mod quantiles;
mod rate;
mod source;
mod text;

pub use csv::Mapping;
pub use error::ImportError;
pub use export::{ExportError, IozoneText, Sheet, SheetCell, Workbook, iozone_text, parquet, xlsx};
pub use import::{CLOCK_FROM_FACT, Format, Imported, Options, import};
pub use rate::RateUnit;
