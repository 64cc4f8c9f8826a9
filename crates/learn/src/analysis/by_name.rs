//! Opens that only carry a request by name, as SMB needs them for attributes, listings, renames and deletions.

use std::collections::BTreeMap;

use crate::operation::{Action, Observed, Outcome, Protocol};

/// An open that has not been closed yet.
struct Pending {
    index: usize,
    /// Something happened that needs an open file.
    has_data: bool,
    /// Something happened that plans do by name.
    has_names: bool,
    /// It made the file.
    created: bool,
}

/// For each operation whether it is an open or close that only carries requests by name.
pub fn carriers(observed: &Observed) -> Vec<bool> {
    let mut carriers = vec![false; observed.operations.len()];
    let mut open: BTreeMap<(u32, u32), Vec<Pending>> = BTreeMap::new();
    for (index, operation) in observed.operations.iter().enumerate() {
        if matches!(operation.outcome, Outcome::Failed(_) | Outcome::NotFound) {
            continue;
        }
        let user = operation.user;
        match operation.action {
            Action::Open { file: Some(file), created, .. } => {
                let pending = Pending { index, has_data: false, has_names: false, created };
                open.entry((user, file)).or_default().push(pending);
            }
            Action::Close { file } => {
                let Some(opens) = open.get_mut(&(user, file)) else { continue };
                let Some(closed) = opens.pop() else { continue };
                if opens.is_empty() {
                    open.remove(&(user, file));
                }
                let is_directory = observed.files.get(file as usize).is_some_and(|file| file.directory);
                // Other protocols have requests by name: there, an open without data is one whose data a cache has.
                let protocol = observed.users.get(user as usize).map(|user| user.protocol);
                let needs_open = matches!(protocol, Some(Protocol::Smb1 | Protocol::Smb2));
                if !closed.has_data && !closed.created && (closed.has_names && needs_open || is_directory) {
                    for at in [closed.index, index] {
                        if let Some(carrier) = carriers.get_mut(at) {
                            *carrier = true;
                        }
                    }
                }
            }
            Action::Read { file, .. }
            | Action::Write { file, .. }
            | Action::SetSize { file, .. }
            | Action::Flush { file }
            | Action::Lock { file, .. } => {
                for pending in open.get_mut(&(user, file)).into_iter().flatten() {
                    pending.has_data = true;
                }
            }
            Action::Stat { file: Some(file) }
            | Action::List { directory: file, .. }
            | Action::SetAttributes { file }
            | Action::Remove { file: Some(file) }
            | Action::Rename { file: Some(file), .. } => {
                // The newest one carries it.
                if let Some(pending) = open.get_mut(&(user, file)).and_then(|opens| opens.last_mut()) {
                    pending.has_names = true;
                }
            }
            _ => {}
        }
    }
    carriers
}
