//! Security descriptors (MS-DTYP 2.4.6) that express a Unix owner, group and mode.

use super::Field;

/// Parts of a descriptor that a client requests (MS-DTYP 2.4.7: `SECURITY_INFORMATION`).
pub mod parts {
    /// The owner.
    pub const OWNER: u32 = 1;
    /// The group.
    pub const GROUP: u32 = 2;
    /// The discretionary access control list.
    pub const DACL: u32 = 4;
}

/// Control flags: the list is present; all parts are in one block.
const DACL_PRESENT: u16 = 0x0004;
const SELF_RELATIVE: u16 = 0x8000;
/// Authority of Unix users and groups, as Samba and NFS servers number them: `S-1-22-1-uid` and `S-1-22-2-gid`.
const UNIX_AUTHORITY: u8 = 22;
const USER: u32 = 1;
const GROUP: u32 = 2;
/// Access that a mode bit gives: the generic rights of files (MS-DTYP 2.4.3).
const READ: u32 = 0x0012_0089;
const WRITE: u32 = 0x0012_0116;
const EXECUTE: u32 = 0x0012_00A0;
/// The owner may delete, and change owner and permissions.
const CONTROL: u32 = 0x000D_0000;

/// Owner, group and mode of a file of a Unix system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnixOwner {
    /// User.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Permission bits.
    pub mode: u32,
}

/// Appends a self-relative descriptor with the requested parts.
pub fn put_descriptor(requested: u32, UnixOwner { uid, gid, mode }: UnixOwner, out: &mut Vec<u8>) {
    let owner = unix_sid(USER, uid);
    let group = unix_sid(GROUP, gid);
    let acl = acl(&owner, &group, mode);
    let mut at = 20u32;
    let mut place = |part: u32, bytes: &[u8]| {
        let offset = if requested & part == 0 { 0 } else { at };
        at += if requested & part == 0 { 0 } else { bytes.len() as u32 };
        offset
    };
    let offsets = [place(parts::OWNER, &owner), place(parts::GROUP, &group), 0, place(parts::DACL, &acl)];
    let control = if requested & parts::DACL == 0 { SELF_RELATIVE } else { SELF_RELATIVE | DACL_PRESENT };
    [1, 0].put(out);
    control.put(out);
    for offset in offsets {
        offset.put(out);
    }
    for (part, bytes) in [(parts::OWNER, owner), (parts::GROUP, group), (parts::DACL, acl)] {
        if requested & part != 0 {
            out.extend_from_slice(&bytes);
        }
    }
}

/// The identifier of a Unix user or group (MS-DTYP 2.4.2).
fn unix_sid(kind: u32, id: u32) -> Vec<u8> {
    let mut sid = vec![1, 2, 0, 0, 0, 0, 0, UNIX_AUTHORITY];
    kind.put(&mut sid);
    id.put(&mut sid);
    sid
}

/// A list that allows owner, group and everybody what their bits of the mode allow (MS-DTYP 2.4.5).
fn acl(owner: &[u8], group: &[u8], mode: u32) -> Vec<u8> {
    /// `S-1-1-0`.
    const EVERYONE: [u8; 12] = [1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0];
    let mut entries = Vec::new();
    for (sid, access) in
        [(owner, CONTROL | of_bits(mode >> 6)), (group, of_bits(mode >> 3)), (&EVERYONE[..], of_bits(mode))]
    {
        // ACCESS_ALLOWED_ACE without flags.
        [0, 0].put(&mut entries);
        (8 + sid.len() as u16).put(&mut entries);
        access.put(&mut entries);
        entries.extend_from_slice(sid);
    }
    let mut acl = Vec::new();
    [2, 0].put(&mut acl);
    (8 + entries.len() as u16).put(&mut acl);
    3u32.put(&mut acl);
    acl.append(&mut entries);
    acl
}

fn of_bits(bits: u32) -> u32 {
    [(4, READ), (2, WRITE), (1, EXECUTE)]
        .iter()
        .filter(|(bit, _)| bits & bit != 0)
        .map(|(_, access)| access)
        .fold(0, |all, access| all | access)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_descriptor_has_the_requested_parts_at_their_offsets() {
        let mut all = Vec::new();
        put_descriptor(
            parts::OWNER | parts::GROUP | parts::DACL,
            UnixOwner { uid: 1000, gid: 100, mode: 0o640 },
            &mut all,
        );
        assert_eq!(all[..4], [1, 0, 4, 0x80]);
        assert_eq!(all[4..20], [20, 0, 0, 0, 36, 0, 0, 0, 0, 0, 0, 0, 52, 0, 0, 0]);
        assert_eq!(all[20..36], [1, 2, 0, 0, 0, 0, 0, 22, 1, 0, 0, 0, 232, 3, 0, 0]);
        assert_eq!(all[52..60], [2, 0, 76, 0, 3, 0, 0, 0]);
        assert_eq!(all.len(), 52 + 76);
        let mut owner = Vec::new();
        put_descriptor(parts::OWNER, UnixOwner { uid: 0, gid: 0, mode: 0o777 }, &mut owner);
        assert_eq!((owner.len(), owner[3], owner[16]), (36, 0x80, 0));
    }
}
