//! Names of operations and classes of sizes, as the report has them.

use crate::operation::Action;

/// Upper bounds of the size classes of requests, bytes, with their names.
const SIZES: [(u32, &str); 4] = [
    (4 << 10, "up to 4 KiB"),
    (64 << 10, "up to 64 KiB"),
    (1 << 20, "up to 1 MiB"),
    (u32::MAX, "above 1 MiB"),
];

/// The name of an operation in the report.
pub fn kind(action: &Action) -> &'static str {
    match action {
        Action::Open { created: true, .. } => "create",
        Action::Open { .. } => "open",
        Action::Close { .. } => "close",
        Action::Read { .. } => "read",
        Action::Write { stable: true, .. } => "write (stable)",
        Action::Write { .. } => "write",
        Action::Flush { .. } => "flush",
        Action::Stat { .. } => "stat",
        Action::SetAttributes { .. } => "set attributes",
        Action::SetSize { .. } => "set size",
        Action::Lookup { .. } => "look-up",
        Action::List { .. } => "list",
        Action::MakeDirectory { .. } => "make directory",
        Action::Remove { .. } => "remove",
        Action::Rename { .. } => "rename",
        Action::Lock { .. } => "lock",
        Action::Space => "space",
        Action::Connect => "connect",
        Action::Other(name) => name,
    }
}

/// The size class of a request for data; none for others.
pub fn size_class(action: &Action) -> Option<&'static str> {
    let (Action::Read { asked: bytes, .. } | Action::Write { bytes, .. }) = action else { return None };
    SIZES.iter().find(|(most, _)| bytes <= most).map(|(_, name)| *name)
}
