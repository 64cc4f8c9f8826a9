//! Operations that read: GETATTR, ACCESS, VERIFY, READLINK, SECINFO, and those on handles (RFC 7530, 16).

use sharebench_nfs::v4::data::PutFh;
use sharebench_nfs::v4::item::{Item, Opaque};
use sharebench_nfs::v4::list::List;
use sharebench_nfs::v4::names::{
    ACCESS_DELETE, ACCESS_EXECUTE, ACCESS_EXTEND, ACCESS_LOOKUP, ACCESS_MODIFY, ACCESS_READ, Access,
    Accessible, FileAttributes, GetAttr, GssMechanism, LinkContent, Lookup, SecInfoNoName, SecurityFlavor,
    SecurityFlavors,
};
use sharebench_nfs::v4::status::Nfs4Status;
use sharebench_nfs::xdr::{Reader, Writer};

use crate::VolumeError;
use crate::nfs::handle::FileObject;
use crate::nfs::v4::attributes::{Described, supported};
use crate::nfs::v4::compound::Compound;
use crate::nfs::v4::errors::{OpResult, of_node};

/// Rights on a file besides executing it.
const FILE_RIGHTS: u32 = ACCESS_READ | ACCESS_MODIFY | ACCESS_EXTEND;
/// Rights on a directory.
const DIRECTORY_RIGHTS: u32 = ACCESS_READ | ACCESS_LOOKUP | ACCESS_MODIFY | ACCESS_EXTEND | ACCESS_DELETE;
/// `AUTH_SYS` and `AUTH_NONE`.
const FLAVORS: [SecurityFlavor<'static>; 2] = [SecurityFlavor::Rpc(1), SecurityFlavor::Rpc(0)];
/// Kerberos with signed headers, with signatures of everything, and with encryption (RFC 2203, 5.2.2).
const KERBEROS: [SecurityFlavor<'static>; 3] = [kerberos(1), kerberos(2), kerberos(3)];
/// `rdattr_error`, `time_access_set` and `time_modify_set`, which cannot be compared.
const INCOMPARABLE: [u32; 3] = [11, 48, 54];

/// Kerberos 5 (RFC 1964, 1) with a service of `RPCSEC_GSS`.
const fn kerberos(service: u32) -> SecurityFlavor<'static> {
    const MECHANISM: &[u8] = b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02";
    SecurityFlavor::Gss(GssMechanism { oid: Opaque(MECHANISM), quality: 0, service })
}

impl Compound<'_> {
    /// PUTFH.
    #[inline]
    pub(super) fn put_handle(&mut self, call: &mut Reader<'_>) -> OpResult {
        let args = PutFh::get(call)?;
        let object = match self.server.handles.find(args.handle.0) {
            Ok(object) => object,
            Err(VolumeError::Stale) => self.removed_file(args.handle.0).ok_or(Nfs4Status::Stale)?,
            Err(_) => return Err(Nfs4Status::Badhandle.into()),
        };
        self.enter(object);
        Ok(())
    }

    /// The file of a handle that was removed while it is open: a client still has to close it.
    #[cold]
    fn removed_file(&self, handle: &[u8]) -> Option<FileObject> {
        let identity = self.server.handles.identity_of(handle)?;
        self.v4().state.open_file(&identity).map(FileObject::Node)
    }

    /// PUTROOTFH and PUTPUBFH.
    pub(super) fn put_root(&mut self) {
        self.enter(self.v4().pseudo.root());
    }

    /// GETFH.
    pub(super) fn get_handle(&mut self, out: &mut Writer) -> OpResult {
        let object = self.object()?;
        self.server.handles.put_object(out, object);
        Ok(())
    }

    /// SAVEFH.
    pub(super) fn save(&mut self) -> OpResult {
        self.saved = Some(self.object()?);
        self.saved_state = self.current_state;
        Ok(())
    }

    /// RESTOREFH.
    pub(super) fn restore(&mut self) -> OpResult {
        self.current = Some(self.saved.ok_or(Nfs4Status::Restorefh)?);
        self.current_state = self.saved_state;
        Ok(())
    }

    /// GETATTR.
    pub(super) fn get_attributes(&mut self, call: &mut Reader<'_>, out: &mut Writer) -> OpResult {
        let args = GetAttr::get(call)?;
        let object = self.object()?;
        // Attributes that can only be set.
        if args.wanted.contains(48) || args.wanted.contains(54) {
            return Err(Nfs4Status::Inval.into());
        }
        let attributes = self.server.attributes_of(object)?;
        let space = self.server.space_for(args.wanted)?;
        let described = Described { attributes: &attributes, object, space };
        self.server.put_wanted(out, self.minor_version, args.wanted, &described);
        Ok(())
    }

    /// VERIFY, or NVERIFY if the attributes must differ.
    pub(super) fn verify(&mut self, call: &mut Reader<'_>, equal: bool) -> OpResult {
        let object = self.object()?;
        let mut claimed_reader = *call;
        let args = FileAttributes::get(call)?;
        let wanted = args.attributes.mask();
        if INCOMPARABLE.iter().any(|number| wanted.contains(*number)) {
            return Err(Nfs4Status::Inval.into());
        }
        if !wanted.without(supported(self.minor_version)).is_empty() {
            return Err(Nfs4Status::Attrnotsupp.into());
        }
        let claimed = claimed_reader.take(claimed_reader.rest().len() - call.rest().len())?;
        let attributes = self.server.attributes_of(object)?;
        let space = self.server.space_for(wanted)?;
        let mut actual = Writer::default();
        let described = Described { attributes: &attributes, object, space };
        self.server.put_wanted(&mut actual, self.minor_version, wanted, &described);
        match (actual.as_slice() == claimed, equal) {
            (true, true) | (false, false) => Ok(()),
            (true, false) => Err(Nfs4Status::Same.into()),
            (false, true) => Err(Nfs4Status::NotSame.into()),
        }
    }

    /// ACCESS: grants every right that applies to the kind of the object, as NFSv3 does.
    pub(super) fn access(&mut self, call: &mut Reader<'_>, out: &mut Writer) -> OpResult {
        let args = Access::get(call)?;
        if args.wanted & !0x1ff != 0 {
            return Err(Nfs4Status::Inval.into());
        }
        let object = self.object()?;
        let attributes = self.server.attributes_of(object)?;
        let run = if attributes.mode & 0o111 == 0 { 0 } else { ACCESS_EXECUTE };
        let (known, granted) = match object {
            FileObject::Pseudo(_) => (DIRECTORY_RIGHTS, ACCESS_READ | ACCESS_LOOKUP),
            FileObject::Node(_) if attributes.directory => (DIRECTORY_RIGHTS, DIRECTORY_RIGHTS),
            FileObject::Node(_) => (FILE_RIGHTS | ACCESS_EXECUTE, FILE_RIGHTS | run),
        };
        Accessible { supported: args.wanted & known, granted: args.wanted & granted }.put(out);
        Ok(())
    }

    /// READLINK.
    pub(super) fn read_link(&mut self, out: &mut Writer) -> OpResult {
        let wrong = |minor| if minor == 0 { Nfs4Status::Inval } else { Nfs4Status::WrongType };
        let FileObject::Node(node) = self.object()? else { return Err(wrong(self.minor_version).into()) };
        if !self.server.attributes_of(FileObject::Node(node))?.link {
            return Err(wrong(self.minor_version).into());
        }
        let target = self.volume().read_link(node).map_err(of_node)?;
        LinkContent { content: Opaque(&target) }.put(out);
        Ok(())
    }

    /// SECINFO: the flavors are the same everywhere. It consumes the current handle from minor version 1 on.
    pub(super) fn security(&mut self, call: &mut Reader<'_>, out: &mut Writer) -> OpResult {
        let args = Lookup::get(call)?;
        let directory = self.object()?;
        self.find(directory, args.name.0)?;
        self.put_flavors(out);
        Ok(())
    }

    /// `SECINFO_NO_NAME`.
    pub(super) fn security_of_current(&mut self, call: &mut Reader<'_>, out: &mut Writer) -> OpResult {
        let args = SecInfoNoName::get(call)?;
        let object = self.object()?;
        match args.style {
            0 => {}
            1 => {
                self.parent(object)?;
            }
            _ => return Err(Nfs4Status::Inval.into()),
        }
        self.put_flavors(out);
        Ok(())
    }

    fn put_flavors(&mut self, out: &mut Writer) {
        let flavors: &[SecurityFlavor<'_>] = if self.server.gss.is_some() { &KERBEROS } else { &FLAVORS };
        SecurityFlavors { flavors: List::new(flavors) }.put(out);
        if self.minor_version > 0 {
            self.current = None;
            self.current_state = None;
        }
    }
}
