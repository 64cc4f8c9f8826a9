//! OPEN, `OPEN_CONFIRM`, `OPEN_DOWNGRADE`, CLOSE, DELEGRETURN (RFC 7530, 16.2, 16.8, 16.16 to 16.19; RFC 8881, 18.16).

use std::time::{Duration, UNIX_EPOCH};

use sharebench_nfs::v4::attribute_types::Ace;
use sharebench_nfs::v4::attributes::SetAttributes as WireSetAttributes;
use sharebench_nfs::v4::bitmap::Bitmap;
use sharebench_nfs::v4::data::{Close, StateId};
use sharebench_nfs::v4::item::{Item, Opaque};
use sharebench_nfs::v4::open::{
    DelegReturn, Delegation, DelegationKind, NOT_WANTED, Open, OpenClaim, OpenConfirm, OpenDowngrade,
    OpenHow, Opened, RESULT_CONFIRM, RESULT_LOCKTYPE_POSIX, RESULT_MAY_NOTIFY_LOCK, ReadDelegation,
    SHARE_BOTH, SHARE_READ, SHARE_WRITE, WANT_DELEGATION_MASK, WANT_NO_DELEGATION,
};
use sharebench_nfs::v4::operation::Operation;
use sharebench_nfs::v4::status::Nfs4Status;
use sharebench_nfs::xdr::{Reader, Writer};

use crate::nfs::handle::FileObject;
use crate::nfs::v4::client_calls::OwnerCall;
use crate::nfs::v4::compound::Compound;
use crate::nfs::v4::errors::{OpError, OpResult, of_name, of_node};
use crate::nfs::v4::names::{change_info, name};
use crate::nfs::v4::set_attributes::volume_change;
use crate::nfs::v4::state::opens::WantedOpen;
use crate::{Attributes, NodeId, SetAttributes, VolumeError};

const FILE_MODE: u32 = 0o644;
/// `time_access` and `time_modify`, where an exclusive create stores its verifier.
const VERIFIER_TIMES: Bitmap = Bitmap::from_numbers(&[47, 53]);
/// Everybody may open a delegated file, as on the server.
const EVERYBODY: Ace<'static> = Ace { kind: 0, flags: 0, rights: 0x1, who: Opaque(b"EVERYONE@") };

/// The file that OPEN opens.
struct OpenedFile {
    attributes: Attributes,
    /// Change numbers of the directory before and after.
    change: (u64, u64),
    created: bool,
    /// The attributes that were set.
    set: Bitmap,
    /// The size that an existing file gets.
    truncate: Option<u64>,
}

impl Compound<'_> {
    /// OPEN.
    pub(super) fn open(&mut self, call: &mut Reader<'_>, out: &mut Writer) -> OpResult {
        let args = Open::get(call)?;
        let client = self.client_of(args.owner.client_id);
        let owner = OwnerCall {
            client,
            owner: args.owner.owner.0,
            of_locks: false,
            operation: Operation::Open,
            sequence: args.sequence,
        };
        self.in_sequence(owner, out, |this, out, owner| {
            let confirmed = this.minor_version > 0 || owner.confirmed;
            this.open_once(&args, client, confirmed, out)
        })
    }

    fn open_once(&mut self, args: &Open<'_>, client: u64, confirmed: bool, out: &mut Writer) -> OpResult {
        let wants = if self.minor_version > 0 { WANT_DELEGATION_MASK | 0x3_0000 } else { 0 };
        let access = args.access & SHARE_BOTH;
        if access == 0 || args.access & !(SHARE_BOTH | wants) != 0 || args.deny & !SHARE_BOTH != 0 {
            return Err(Nfs4Status::Inval.into());
        }
        let reclaims = matches!(args.claim, OpenClaim::Previous(_));
        self.v4().state.check_grace(client, reclaims)?;
        self.client.get_or_insert(client);
        // Before the file is created.
        let charge = self.v4().state.charge_state(client, args.owner.owner.0.len(), Nfs4Status::Nospc)?;
        let directory = match args.claim {
            OpenClaim::Name(_) | OpenClaim::Delegated(_) => Some(self.node()?),
            _ => None,
        };
        // Held until the file is open: another client cannot remove it in between through this server.
        let _lock = directory.map(|directory| self.server.lock(directory));
        let found = self.open_target(args, directory)?;
        let node = found.attributes.node;
        let wanted = WantedOpen {
            client,
            owner: args.owner.owner.0,
            node,
            access,
            deny: args.deny,
            needs_confirmation: !confirmed,
            identity: self.server.handles.persistent_id(node),
        };
        let state = &self.v4().state;
        state.check_share(&wanted)?;
        let changes = access & SHARE_WRITE != 0 || args.deny & SHARE_READ != 0 || found.truncate.is_some();
        if changes && !found.created {
            self.v4().recall_conflicts(&self.server.handles, Some(client), node)?;
        }
        let opened = state.open(&wanted, charge)?;
        if let Some(size) = found.truncate {
            let change = SetAttributes { size: Some(size), ..SetAttributes::default() };
            self.volume().set_attributes(node, &change).map_err(of_node)?;
        }
        let delegation = self.grant_delegation(args, client, node);
        let notifies = if self.minor_version > 0 { RESULT_MAY_NOTIFY_LOCK } else { 0 };
        let confirm = if confirmed { 0 } else { RESULT_CONFIRM };
        Opened {
            state: opened,
            change: change_info(found.change.0, found.change.1),
            flags: RESULT_LOCKTYPE_POSIX | notifies | confirm,
            set: found.set,
            delegation,
        }
        .put(out);
        self.enter(FileObject::Node(node));
        self.current_state = Some(opened);
        Ok(())
    }

    /// Delegates the file for reading if it is opened for reading only and the client does not object.
    fn grant_delegation<'a>(&self, args: &Open<'_>, client: u64, node: NodeId) -> Delegation<'a> {
        let wanted = args.access & WANT_DELEGATION_MASK;
        let reclaimed = matches!(args.claim, OpenClaim::Previous(DelegationKind::Read));
        let possible = self.minor_version > 0
            && args.access & SHARE_BOTH == SHARE_READ
            && wanted != WANT_NO_DELEGATION
            && (reclaimed || matches!(args.claim, OpenClaim::Name(_) | OpenClaim::Handle));
        let granted = possible.then(|| self.v4().state.delegate(client, node)).flatten();
        match granted {
            Some(state) => Delegation::Read(ReadDelegation { state, recall: false, permissions: EVERYBODY }),
            None if self.minor_version > 0 && wanted == WANT_NO_DELEGATION => {
                Delegation::NoneBecause { reason: NOT_WANTED, later: false }
            }
            None => Delegation::None,
        }
    }

    /// The file of a claim, which is created if necessary.
    fn open_target(&self, args: &Open<'_>, directory: Option<NodeId>) -> Result<OpenedFile, OpError> {
        let found = match (&args.claim, directory) {
            (OpenClaim::Name(component), Some(directory)) => {
                self.open_name(directory, name(component.0)?, &args.how)?
            }
            (OpenClaim::Delegated(claim), Some(directory)) => {
                let delegation = self.state(claim.delegation)?;
                let node = self.v4().state.delegated(&delegation, self.caller())?;
                let found = self.open_name(directory, name(claim.name.0)?, &OpenHow::Existing)?;
                if found.attributes.node != node {
                    return Err(Nfs4Status::BadStateid.into());
                }
                found
            }
            (OpenClaim::Previous(_), _) => self.open_current()?,
            (OpenClaim::Handle, _) if self.minor_version > 0 => self.open_current()?,
            (OpenClaim::DelegatedHandle(delegation), _) if self.minor_version > 0 => {
                let delegation = self.state(*delegation)?;
                let found = self.open_current()?;
                if self.v4().state.delegated(&delegation, self.caller())? != found.attributes.node {
                    return Err(Nfs4Status::BadStateid.into());
                }
                found
            }
            _ => return Err(Nfs4Status::Notsupp.into()),
        };
        match (found.attributes.directory, found.attributes.link) {
            (true, _) => Err(Nfs4Status::Isdir.into()),
            (_, true) => Err(Nfs4Status::Symlink.into()),
            _ => Ok(found),
        }
    }

    fn open_current(&self) -> Result<OpenedFile, OpError> {
        let attributes = self.server.attributes_of(FileObject::Node(self.file()?))?;
        let change = (attributes.change, attributes.change);
        Ok(OpenedFile { attributes, change, created: false, set: Bitmap::default(), truncate: None })
    }

    /// Looks a name up, or creates the file.
    fn open_name(&self, directory: NodeId, name: &str, how: &OpenHow<'_>) -> Result<OpenedFile, OpError> {
        let before = self.directory_change(directory)?;
        let mut found = match how {
            OpenHow::Existing => existing(self.volume().lookup(directory, name).map_err(of_name)?),
            OpenHow::Unchecked(set) | OpenHow::Guarded(set) => {
                let guarded = matches!(how, OpenHow::Guarded(_));
                self.create_file(directory, name, set, None, guarded)?
            }
            OpenHow::Exclusive(verifier) => {
                let set = WireSetAttributes::default();
                self.create_file(directory, name, &set, Some(*verifier), true)?
            }
            OpenHow::ExclusiveWith(create) => {
                if self.minor_version == 0 {
                    return Err(Nfs4Status::Badxdr.into());
                }
                if create.attributes.accessed.is_some() || create.attributes.modified.is_some() {
                    return Err(Nfs4Status::Inval.into());
                }
                self.create_file(directory, name, &create.attributes, Some(create.verifier), true)?
            }
        };
        found.change = (before, self.directory_change(directory)?);
        Ok(found)
    }

    fn create_file(
        &self,
        directory: NodeId,
        name: &str,
        set: &WireSetAttributes<'_>,
        verifier: Option<[u8; 8]>,
        guarded: bool,
    ) -> Result<OpenedFile, OpError> {
        let change = volume_change(set)?;
        let volume = self.volume();
        match volume.create(directory, name, change.mode.unwrap_or(FILE_MODE)) {
            Ok(made) => {
                let mut rest = SetAttributes { mode: None, ..change };
                let mut applied = set.mask();
                if let Some(verifier) = verifier {
                    let (accessed, modified) = verifier_times(verifier);
                    rest.accessed = Some(accessed);
                    rest.modified = Some(modified);
                    applied = applied.or(VERIFIER_TIMES);
                }
                let attributes = volume.complete(made, &rest).map_err(of_node)?;
                Ok(OpenedFile { created: true, set: applied, ..existing(attributes) })
            }
            Err(VolumeError::Exists) => {
                let attributes = volume.lookup(directory, name).map_err(of_name)?;
                if let Some(verifier) = verifier {
                    // The same verifier: a create whose reply was lost, perhaps with an earlier start of the server.
                    let times = (attributes.accessed, attributes.modified);
                    let same = attributes.size == 0 && times == verifier_times(verifier);
                    return if same {
                        Ok(OpenedFile { set: set.mask().or(VERIFIER_TIMES), ..existing(attributes) })
                    } else {
                        Err(Nfs4Status::Exist.into())
                    };
                }
                if guarded {
                    return Err(Nfs4Status::Exist.into());
                }
                // An existing file is truncated, or stays as it is (RFC 7530, 16.16.5).
                let truncate =
                    set.size.filter(|size| *size == 0 && !attributes.directory && !attributes.link);
                let set = if truncate.is_some() { Bitmap::from_numbers(&[4]) } else { Bitmap::default() };
                Ok(OpenedFile { set, truncate, ..existing(attributes) })
            }
            Err(error) => Err(of_name(error).into()),
        }
    }

    /// `OPEN_CONFIRM`, minor version 0.
    pub(super) fn confirm_open(&mut self, call: &mut Reader<'_>, out: &mut Writer) -> OpResult {
        let args = OpenConfirm::get(call)?;
        self.file()?;
        self.in_open_sequence(&args.state, Operation::OpenConfirm, args.sequence, out, |this, out, owner| {
            this.v4().state.confirm_open(&args.state, this.caller())?.put(out);
            owner.confirmed = true;
            Ok(())
        })
    }

    /// `OPEN_DOWNGRADE`.
    pub(super) fn downgrade(&mut self, call: &mut Reader<'_>, out: &mut Writer) -> OpResult {
        let args = OpenDowngrade::get(call)?;
        let node = self.file()?;
        let state = self.state(args.state)?;
        self.in_open_sequence(&state, Operation::OpenDowngrade, args.sequence, out, |this, out, _| {
            this.check_file(&state, node)?;
            let access = args.access & !WANT_DELEGATION_MASK;
            let state = this.v4().state.downgrade(&state, this.caller(), access, args.deny)?;
            state.put(out);
            this.current_state = Some(state);
            Ok(())
        })
    }

    /// CLOSE.
    pub(super) fn close(&mut self, call: &mut Reader<'_>, out: &mut Writer) -> OpResult {
        let args = Close::get(call)?;
        let node = self.file()?;
        let state = self.state(args.state)?;
        self.in_open_sequence(&state, Operation::Close, args.sequence, out, |this, out, _| {
            this.check_file(&state, node)?;
            let (mut closed, unlocked) = this.v4().state.close(&state, this.caller())?;
            if this.minor_version > 0 {
                // A state id that is never valid (RFC 8881, 18.2.4).
                closed = StateId { sequence: u32::MAX, other: [0; 12] };
            }
            closed.put(out);
            this.current_state = None;
            if let Some(node) = unlocked {
                this.v4().notify_waiters(&this.server.handles, node);
            }
            Ok(())
        })
    }

    /// Checks that a state belongs to the current file.
    fn check_file(&self, state: &StateId, node: NodeId) -> Result<(), Nfs4Status> {
        let number = self.v4().state.number(state, self.minor_version)?;
        let tables = self.v4().state.lock();
        match tables.states.get(&number) {
            Some(entry) if entry.node == node => Ok(()),
            _ => Err(Nfs4Status::BadStateid),
        }
    }

    /// DELEGRETURN.
    pub(super) fn return_delegation(&mut self, call: &mut Reader<'_>) -> OpResult {
        let args = DelegReturn::get(call)?;
        self.object()?;
        let state = self.state(args.state)?;
        Ok(self.v4().state.return_delegation(&state, self.caller())?)
    }
}

fn existing(attributes: Attributes) -> OpenedFile {
    let change = (attributes.change, attributes.change);
    OpenedFile { attributes, change, created: false, set: Bitmap::default(), truncate: None }
}

/// The times that store the verifier of an exclusive create, so that a repeated one is recognized also after a restart.
fn verifier_times(verifier: [u8; 8]) -> (std::time::SystemTime, std::time::SystemTime) {
    let number = u64::from_be_bytes(verifier);
    // 31 bits each, which every file system stores as seconds.
    let time = |word: u64| UNIX_EPOCH + Duration::from_secs(word & 0x7fff_ffff);
    (time(number >> 32), time(number))
}
