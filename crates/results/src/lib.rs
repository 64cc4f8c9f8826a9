//! The lab book: one SQLite file of runs.
