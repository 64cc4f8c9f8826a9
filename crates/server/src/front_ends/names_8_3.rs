//! Names of DOS for files with longer names: eight characters and an extension of three.

pub(crate) use sharebench_ncp::server::names::dos_name as short_name;
