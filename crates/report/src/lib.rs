//! Analysis -> terminal tables, HTML, CSV, JSON.
