//! Access control lists that say what a mode says (RFC 7530, 6.4).

use sharebench_nfs::v4::attribute_types::{Ace, MAX_ACES};
use sharebench_nfs::v4::item::Opaque;
use sharebench_nfs::v4::list::List;
use sharebench_nfs::v4::status::Nfs4Status;

/// `ACL4_SUPPORT_ALLOW_ACL | ACL4_SUPPORT_DENY_ACL`.
pub(super) const SUPPORT: u32 = 3;
/// Entries of a list.
pub(super) const ENTRIES: usize = 5;

const ALLOW: u32 = 0;
const DENY: u32 = 1;
/// `ACE4_READ_DATA`.
const READ: u32 = 0x1;
/// `ACE4_WRITE_DATA | ACE4_APPEND_DATA`.
const WRITE: u32 = 0x2 | 0x4;
/// `ACE4_EXECUTE`.
const EXECUTE: u32 = 0x20;
/// `ACE4_READ_ATTRIBUTES | ACE4_READ_ACL | ACE4_SYNCHRONIZE`, which everybody has.
const ALWAYS: u32 = 0x80 | 0x2_0000 | 0x10_0000;
/// `ACE4_WRITE_ATTRIBUTES | ACE4_WRITE_ACL`, which the owner has.
const OF_OWNER: u32 = 0x100 | 0x4_0000;
/// `ACE4_IDENTIFIER_GROUP`.
const IDENTIFIER_GROUP: u32 = 0x40;

const OWNER: &[u8] = b"OWNER@";
const GROUP: &[u8] = b"GROUP@";
const EVERYONE: &[u8] = b"EVERYONE@";

/// The rights of three bits of a mode.
fn rights(bits: u32) -> u32 {
    let right = |bit: u32, rights: u32| if bits & bit == 0 { 0 } else { rights };
    right(4, READ) | right(2, WRITE) | right(1, EXECUTE)
}

/// The list of a mode. The denials come first, so that nobody gets a right of a larger class that the own class lacks.
pub(super) fn of_mode(mode: u32) -> [Ace<'static>; ENTRIES] {
    let [owner, group, other] = [6, 3, 0].map(|shift| rights(mode >> shift));
    let ace = |kind, flags, rights, who| Ace { kind, flags, rights, who: Opaque(who) };
    [
        ace(DENY, 0, (group | other) & !owner, OWNER),
        ace(ALLOW, 0, owner | ALWAYS | OF_OWNER, OWNER),
        ace(DENY, IDENTIFIER_GROUP, other & !group, GROUP),
        ace(ALLOW, IDENTIFIER_GROUP, group | ALWAYS, GROUP),
        ace(ALLOW, 0, other | ALWAYS, EVERYONE),
    ]
}

/// The permission bits that a list means: an error for entries of other users than the three classes.
pub(super) fn to_mode(entries: &List<'_, Ace<'_>, MAX_ACES>) -> Result<u32, Nfs4Status> {
    // Rights that are decided, and those of them that are allowed, of owner, group and others.
    let mut classes = [(0, 0); 3];
    for entry in entries.iter() {
        let concerned = match entry.who.0 {
            OWNER => [true, false, false],
            GROUP => [false, true, false],
            EVERYONE => [true, true, true],
            _ => return Err(Nfs4Status::Attrnotsupp),
        };
        if entry.kind > DENY {
            return Err(Nfs4Status::Attrnotsupp);
        }
        for ((decided, allowed), _) in classes.iter_mut().zip(concerned).filter(|(_, concerned)| *concerned) {
            let new = entry.rights & !*decided;
            *decided |= new;
            *allowed |= if entry.kind == ALLOW { new } else { 0 };
        }
    }
    let bits = |allowed: u32| {
        let bit = |rights: u32, bit: u32| if allowed & rights == rights { bit } else { 0 };
        bit(READ, 4) | bit(WRITE, 2) | bit(EXECUTE, 1)
    };
    Ok(classes.into_iter().fold(0, |mode, (_, allowed)| mode << 3 | bits(allowed)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_survives_the_round_trip() {
        for mode in 0..0o1000 {
            let entries = of_mode(mode);
            assert_eq!(to_mode(&List::new(&entries)), Ok(mode), "{mode:o}");
        }
    }

    #[test]
    fn entries_of_other_users_are_rejected() {
        let entry = Ace { kind: ALLOW, flags: 0, rights: READ, who: Opaque(b"1000") };
        assert_eq!(to_mode(&List::new(&[entry])), Err(Nfs4Status::Attrnotsupp));
    }
}
