//! Opens that only carry a request by name, as SMB needs them for attributes, listings, renames and deletions.

use std::collections::BTreeMap;

use crate::operation::{Access, Action, Observed, Outcome, Protocol};

/// What an operation is for the analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// What it says.
    Own,
    /// An open or close that only carries requests by name.
    Carrier,
    /// An open that is the request for attributes itself: its reply has them, and nothing follows but the close.
    Attributes,
}

/// An open that has not been closed yet.
struct Pending {
    index: usize,
    /// Something happened that needs an open file.
    has_data: bool,
    /// Something happened that plans do by name.
    has_names: bool,
    /// It made the file.
    created: bool,
    access: Access,
}

/// The role of each operation.
pub fn roles(observed: &Observed) -> Vec<Role> {
    let mut roles = vec![Role::Own; observed.operations.len()];
    let mut open: BTreeMap<(u32, u32), Vec<Pending>> = BTreeMap::new();
    for (index, operation) in observed.operations.iter().enumerate() {
        if matches!(operation.outcome, Outcome::Failed(_) | Outcome::NotFound) {
            continue;
        }
        let user = operation.user;
        match operation.action {
            Action::Open { file: Some(file), created, access } => {
                let pending = Pending { index, has_data: false, has_names: false, created, access };
                open.entry((user, file)).or_default().push(pending);
            }
            Action::Close { file } => {
                let Some(opens) = open.get_mut(&(user, file)) else { continue };
                let Some(closed) = opens.pop() else { continue };
                if opens.is_empty() {
                    open.remove(&(user, file));
                }
                let is_directory = observed.is_directory(file);
                // Other protocols have requests by name: there, an open without data is one whose data a cache has.
                let protocol = observed.users.get(user as usize).map(|user| user.protocol);
                let needs_open = matches!(protocol, Some(Protocol::Smb1 | Protocol::Smb2));
                let asks = closed.access == Access::Attributes && !closed.has_names && !is_directory;
                let carries = closed.has_names && needs_open || is_directory;
                if closed.has_data || closed.created || !(asks || carries) {
                    continue;
                }
                let opening = if asks { Role::Attributes } else { Role::Carrier };
                for (at, role) in [(closed.index, opening), (index, Role::Carrier)] {
                    if let Some(known) = roles.get_mut(at) {
                        *known = role;
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
    roles
}
