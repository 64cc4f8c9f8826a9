//! The arguments and the results of operations, by the number of the operation.

use crate::v4::bitmap::Bitmap;
use crate::v4::client_id::{ClientIdConfirm, Renew, SetClientId};
use crate::v4::data::{Close, Commit, Committed, PutFh, Read, ReadHead, StateId, WriteHead, Written};
use crate::v4::item::Item;
use crate::v4::listing::ReadDir;
use crate::v4::lock::{Lock, LockTest, ReleaseLockOwner, Unlock};
use crate::v4::names::{
    Access, Accessible, Create, Created, FileAttributes, GetAttr, Link, LinkContent, Lookup, Remove, Rename,
    Renamed, SecInfoNoName, SecurityFlavors, SetAttr,
};
use crate::v4::open::{
    ChangeInfo, DelegPurge, DelegReturn, Open, OpenAttr, OpenConfirm, OpenDowngrade, Opened,
};
use crate::v4::operation::Operation;
use crate::v4::session::{
    BackchannelControl, BindConnection, BoundConnection, CreateSession, CreatedSession, DestroyClientId,
    DestroySession, ExchangeId, ExchangedId, FreeStateId, ReclaimComplete, Sequence, Sequenced, TestStateId,
    TestedStateId,
};
use crate::v4::sparse::{Clone4, Copied, Copy, Found, IoAdvise, Offload, OffloadState, Range, Seek};
use crate::xdr::{Reader, XdrError};

/// Defines an enumeration of one message for each operation, by the name of the operation.
macro_rules! by_operation {
    ($(#[$doc:meta])* $name:ident { $($operation:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[expect(missing_docs, reason = "the names are those of the operations, and each message is described itself")]
        #[allow(clippy::large_enum_variant, reason = "one exists at a time, on the stack")]
        pub enum $name<'a> {
            $($operation($type),)*
        }

        impl<'a> $name<'a> {
            /// Decodes what belongs to an operation; none for an operation that has no type here.
            pub fn get(operation: Operation, reader: &mut Reader<'a>) -> Result<Option<Self>, XdrError> {
                Ok(Some(match operation {
                    $(Operation::$operation => Self::$operation(Item::get(reader)?),)*
                    _ => return Ok(None),
                }))
            }
        }
    };
}

by_operation! {
    /// The arguments of an operation. The data of `WRITE` follow it, padded.
    Arguments {
        Access: Access,
        Close: Close,
        Commit: Commit,
        Create: Create<'a>,
        DelegPurge: DelegPurge,
        DelegReturn: DelegReturn,
        GetAttr: GetAttr,
        GetFh: (),
        Link: Link<'a>,
        Lock: Lock<'a>,
        LockT: LockTest<'a>,
        LockU: Unlock,
        Lookup: Lookup<'a>,
        LookupP: (),
        NVerify: FileAttributes<'a>,
        Open: Open<'a>,
        OpenAttr: OpenAttr,
        OpenConfirm: OpenConfirm,
        OpenDowngrade: OpenDowngrade,
        PutFh: PutFh<'a>,
        PutPubFh: (),
        PutRootFh: (),
        Read: Read,
        ReadDir: ReadDir,
        ReadLink: (),
        Remove: Remove<'a>,
        Rename: Rename<'a>,
        Renew: Renew,
        RestoreFh: (),
        SaveFh: (),
        SecInfo: Lookup<'a>,
        SetAttr: SetAttr<'a>,
        SetClientId: SetClientId<'a>,
        SetClientIdConfirm: ClientIdConfirm,
        Verify: FileAttributes<'a>,
        Write: WriteHead,
        ReleaseLockOwner: ReleaseLockOwner<'a>,
        BackchannelCtl: BackchannelControl,
        BindConnToSession: BindConnection,
        ExchangeId: ExchangeId<'a>,
        CreateSession: CreateSession,
        DestroySession: DestroySession,
        FreeStateId: FreeStateId,
        SecInfoNoName: SecInfoNoName,
        Sequence: Sequence,
        TestStateId: TestStateId<'a>,
        DestroyClientId: DestroyClientId,
        ReclaimComplete: ReclaimComplete,
        Allocate: Range,
        Copy: Copy<'a>,
        Deallocate: Range,
        IoAdvise: IoAdvise,
        OffloadCancel: Offload,
        OffloadStatus: Offload,
        ReadPlus: Read,
        Seek: Seek,
        Clone: Clone4,
    }
}

by_operation! {
    /// The result of an operation that succeeded. The data of `READ` follow it, padded; the results of `READDIR` and
    /// `READ_PLUS` are lists: [`super::listing::get_listing`], [`super::sparse::SegmentsHead`].
    OperationResult {
        Access: Accessible,
        Close: StateId,
        Commit: Committed,
        Create: Created,
        DelegPurge: (),
        DelegReturn: (),
        GetAttr: FileAttributes<'a>,
        GetFh: PutFh<'a>,
        Link: ChangeInfo,
        Lock: StateId,
        LockT: (),
        LockU: StateId,
        Lookup: (),
        LookupP: (),
        NVerify: (),
        Open: Opened<'a>,
        OpenAttr: (),
        OpenConfirm: StateId,
        OpenDowngrade: StateId,
        PutFh: (),
        PutPubFh: (),
        PutRootFh: (),
        Read: ReadHead,
        ReadLink: LinkContent<'a>,
        Remove: ChangeInfo,
        Rename: Renamed,
        Renew: (),
        RestoreFh: (),
        SaveFh: (),
        SecInfo: SecurityFlavors<'a>,
        SetAttr: Bitmap,
        SetClientId: ClientIdConfirm,
        SetClientIdConfirm: (),
        Verify: (),
        Write: Written,
        ReleaseLockOwner: (),
        BackchannelCtl: (),
        BindConnToSession: BoundConnection,
        ExchangeId: ExchangedId<'a>,
        CreateSession: CreatedSession,
        DestroySession: (),
        FreeStateId: (),
        SecInfoNoName: SecurityFlavors<'a>,
        Sequence: Sequenced,
        TestStateId: TestedStateId<'a>,
        DestroyClientId: (),
        ReclaimComplete: (),
        Allocate: (),
        Copy: Copied,
        Deallocate: (),
        IoAdvise: Bitmap,
        OffloadCancel: (),
        OffloadStatus: OffloadState,
        Seek: Found,
        Clone: (),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v4::attributes::Attributes;
    use crate::xdr::Writer;

    fn encoded<'a>(item: &impl Item<'a>) -> Writer {
        let mut writer = Writer::default();
        item.put(&mut writer);
        writer
    }

    #[test]
    fn arguments_and_results_are_those_of_their_operation() {
        let read = Read { state: StateId::CURRENT, offset: 1 << 40, count: 7 };
        let call = encoded(&read);
        for (operation, expected) in [
            (Operation::Read, Some(Arguments::Read(read))),
            (Operation::ReadPlus, Some(Arguments::ReadPlus(read))),
            (Operation::SaveFh, Some(Arguments::SaveFh(()))),
            (Operation::LayoutGet, None),
        ] {
            assert_eq!(Arguments::get(operation, &mut Reader::new(call.as_slice())), Ok(expected));
        }
        assert!(Arguments::get(Operation::Read, &mut Reader::new(&call.as_slice()[..27])).is_err());
        let written = ChangeInfo { atomic: true, before: 1, after: 2 };
        let reply = encoded(&written);
        let mut reader = Reader::new(reply.as_slice());
        let result = OperationResult::get(Operation::Remove, &mut reader);
        assert_eq!((result, reader.rest()), (Ok(Some(OperationResult::Remove(written))), &[][..]));
        assert_eq!(OperationResult::get(Operation::ReadDir, &mut reader), Ok(None));
    }

    #[test]
    fn captured_attributes_end_before_one_that_is_not_known() {
        let attributes = Attributes { size: Some(9), xattr_support: Some(true), ..Attributes::default() };
        let mut writer = encoded(&attributes);
        // Bit 80, `sec_label` (RFC 7862, 12.2.4), before the one of `xattr_support`.
        writer.patch(12, 1 << 18 | 1 << 16);
        assert!(Attributes::get(&mut Reader::new(writer.as_slice())).is_err());
        let mut reader = Reader::of_capture(writer.as_slice());
        let leading = Attributes { size: Some(9), ..Attributes::default() };
        assert_eq!((Attributes::get(&mut reader), reader.rest()), (Ok(leading), &[][..]));
    }
}
