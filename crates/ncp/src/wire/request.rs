//! The table of calls: which function code is which message, and what it is about.

#![allow(clippy::wildcard_imports, reason = "the table names every call there is")]

use super::bindery::*;
use super::directory::*;
use super::file::*;
use super::find::*;
use super::large::*;
use super::lock::*;
use super::login::*;
use super::message::*;
use super::name_space::*;
use super::name_space_search::*;
use super::negotiate::*;
use super::semaphore::*;
use super::server_info::*;
use super::volume::*;
use super::{Codec, Function, Reader, WireError};

macro_rules! calls {
    ($(
        $(#[$doc:meta])*
        $family:ident($calls:ident $(<$of:lifetime>)?) {
            $($code:literal $(/ $sub:literal)? => $name:ident $(<$life:lifetime>)?,)*
        }
    )*) => {
        /// A call, the part of a request after its header, by what it is about.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Request<'a> {
            $($(#[$doc])* $family($calls $(<$of>)?),)*
            /// A call that has no message type here, with its data.
            Unknown(Function, &'a [u8]),
        }

        impl<'a> Request<'a> {
            /// The function of the call.
            pub const fn function(&self) -> Function {
                match self {
                    $($(Self::$family($calls::$name(_)) => calls!(@function $code $(/ $sub)?),)*)*
                    Self::Unknown(function, _) => *function,
                }
            }

            /// Appends the call.
            pub fn put(&self, out: &mut Vec<u8>) {
                self.function().frame(out, |out| match self {
                    $($(Self::$family($calls::$name(message)) => $name::put(message, out),)*)*
                    Self::Unknown(_, data) => out.extend_from_slice(data),
                });
            }

            /// Parses a call, the part of a request after its header. Trailing bytes are ignored, because they may be
            /// padding or a signature.
            pub fn decode(body: &'a [u8]) -> Result<Self, WireError> {
                let (function, data) = Function::split(body)?;
                let mut reader = Reader::new(data);
                Ok(match (function.code, function.sub) {
                    $($(calls!(@pattern $code $(/ $sub)?) => Self::from($name::get(&mut reader)?),)*)*
                    _ => Self::Unknown(function, data),
                })
            }
        }

        $(
            $(#[$doc])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
            #[expect(missing_docs, reason = "each call is described with its message")]
            pub enum $calls $(<$of>)? {
                $($name($name $(<$life>)?),)*
            }

            $(impl<'a> From<$name $(<$life>)?> for Request<'a> {
                fn from(message: $name $(<$life>)?) -> Self {
                    Self::$family($calls::$name(message))
                }
            })*
        )*
    };
    (@function $code:literal) => { Function::plain($code) };
    (@function $code:literal / $sub:literal) => { Function::sub($code, $sub) };
    (@pattern $code:literal) => { ($code, None) };
    (@pattern $code:literal / $sub:literal) => { ($code, Some($sub)) };
}

calls! {
    /// Negotiation, the server, logins and tasks.
    Connection(ConnectionCall<'a>) {
        0x21 => NegotiateBuffer,
        0x61 => PacketSize,
        0x65 => OfferBurst,
        0x17 / 0x11 => GetServerInfo,
        0x14 => GetDateAndTime,
        0x15 / 0x01 => GetMessageOld,
        0x15 / 0x0B => GetMessage,
        0x17 / 0x17 => GetLoginKey,
        0x17 / 0x18 => KeyedLogin<'a>,
        0x17 / 0x14 => ClearLogin<'a>,
        0x18 => EndOfTask,
        0x19 => Logout,
    }

    /// The bindery and the users of connections.
    Bindery(BinderyCall<'a>) {
        0x17 / 0x35 => GetObjectId<'a>,
        0x17 / 0x36 => GetObjectName,
        0x17 / 0x37 => ScanObject<'a>,
        0x17 / 0x3C => ScanProperty<'a>,
        0x17 / 0x3D => ReadProperty<'a>,
        0x17 / 0x43 => IsObjectInSet<'a>,
        0x17 / 0x46 => GetAccessLevel,
        0x17 / 0x15 => GetObjectConnectionsOld<'a>,
        0x17 / 0x1B => GetObjectConnections<'a>,
        0x17 / 0x16 => GetConnectionUserOld,
        0x17 / 0x1C => GetConnectionUser,
        0x17 / 0x13 => GetConnectionAddressOld,
        0x17 / 0x1A => GetConnectionAddress,
    }

    /// Volumes by number or name.
    Volume(VolumeCall<'a>) {
        0x12 => GetVolumeInfo,
        0x16 / 0x05 => GetVolumeNumber<'a>,
        0x16 / 0x06 => GetVolumeName,
        0x16 / 0x2C => GetVolumeUsage,
    }

    /// Directory handles, and directories by a classic path.
    Directory(DirectoryCall<'a>) {
        0x16 / 0x00 => SetHandle<'a>,
        0x16 / 0x01 => GetHandlePath,
        0x16 / 0x03 => GetEffectiveRights<'a>,
        0x16 / 0x0A => MakeDirectory<'a>,
        0x16 / 0x0B => RemoveDirectory<'a>,
        0x16 / 0x0F => RenameDirectory<'a>,
        0x16 / 0x12 => AllocatePermanent<'a>,
        0x16 / 0x13 => AllocateTemporary<'a>,
        0x16 / 0x16 => AllocateSpecial<'a>,
        0x16 / 0x14 => FreeHandle,
        0x16 / 0x15 => GetVolumeInfoOfHandle,
        0x16 / 0x2D => GetDirectorySpace,
    }

    /// Files by a classic path, and classic searches.
    Path(PathCall<'a>) {
        0x3E => BeginSearch<'a>,
        0x3F => ContinueSearch<'a>,
        0x40 => SearchFile<'a>,
        0x43 => CreateFile<'a>,
        0x44 => EraseFile<'a>,
        0x45 => RenameFile<'a>,
        0x46 => SetFileAttributes<'a>,
        0x4C => OpenFile<'a>,
        0x4D => CreateNewFile<'a>,
        0x54 => OpenOrCreateFile<'a>,
    }

    /// Open files.
    File(FileCall<'a>) {
        0x3B => CommitFile,
        0x3D => CommitFileOld,
        0x42 => CloseFile,
        0x47 => GetFileSize,
        0x48 => ReadFile,
        0x49 => WriteFile<'a>,
        0x4A => CopyFile,
        0x4B => SetFileTime,
        0x57 / 64 => ReadLarge,
        0x57 / 65 => WriteLarge<'a>,
        0x57 / 66 => GetLargeSize,
        0x57 / 70 => CopyLarge,
        0x57 / 72 => ReadLong,
        0x57 / 73 => WriteLong<'a>,
    }

    /// Locks on byte ranges.
    Lock(LockCall) {
        0x1A => LockRecord,
        0x1B => LockRecordSet,
        0x1C => ReleaseRecord,
        0x1D => ReleaseRecordSet,
        0x1E => ClearRecord,
        0x1F => ClearRecordSet,
        0x6D => LockRecordNew,
        0x6E => LockRecordSetNew,
        0x57 / 67 => LockLarge,
        0x57 / 68 => ReleaseLarge,
        0x57 / 69 => ClearLarge,
    }

    /// Semaphores.
    Semaphore(SemaphoreCall<'a>) {
        0x20 / 0 => OpenSemaphore<'a>,
        0x20 / 1 => ExamineSemaphore,
        0x20 / 2 => WaitOnSemaphore,
        0x20 / 3 => SignalSemaphore,
        0x20 / 4 => CloseSemaphore,
        0x6F / 0 => OpenSemaphoreNew<'a>,
        0x6F / 1 => ExamineSemaphoreNew,
        0x6F / 2 => WaitOnSemaphoreNew,
        0x6F / 3 => SignalSemaphoreNew,
        0x6F / 4 => CloseSemaphoreNew,
    }

    /// Files and directories by a path in a name space.
    NameSpace(NameSpaceCall<'a>) {
        0x57 / 1 => OpenCreate<'a>,
        0x57 / 2 => InitSearch<'a>,
        0x57 / 3 => SearchNext<'a>,
        0x57 / 4 => Rename<'a>,
        0x57 / 5 => ScanTrustees<'a>,
        0x57 / 6 => ObtainInfo<'a>,
        0x57 / 7 => ModifyInfo<'a>,
        0x57 / 8 => Delete<'a>,
        0x57 / 12 => AllocateHandle<'a>,
        0x57 / 20 => SearchSet<'a>,
        0x57 / 22 => GetDirectoryBase<'a>,
        0x57 / 24 => GetNameSpaces,
        0x57 / 28 => GetFullPath<'a>,
        0x57 / 29 => GetEntryRights<'a>,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::tests::hex;
    use crate::wire::{FileHandle, Pstr};

    fn bytes(request: &Request<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        request.put(&mut out);
        out
    }

    /// docs/protocols/ncp.md 1.2; mars-server-ipx-in-udp-with-burst.pcap, frames 25 and 59.
    #[test]
    fn call_is_framed_like_its_family() {
        let name = Pstr::new(b"SYS").unwrap();
        assert_eq!(bytes(&GetVolumeNumber { name }.into()), hex("160005 05 03535953"));
        let file = FileHandle([0, 0, 1, 0, 0, 0]);
        let commit = Request::from(CommitFile { file });
        assert_eq!(bytes(&commit), hex("3b 00 000001000000"));
        assert_eq!(Request::decode(&hex("3b 00 000001000000")), Ok(commit));
    }

    /// linux-kernel-client-udp-tcp.pcap, frame 18: the directory services of newer servers.
    #[test]
    fn unknown_call_keeps_function_and_data() {
        let wire = hex("6801000000");
        let request = Request::decode(&wire).unwrap();
        assert_eq!(request, Request::Unknown(Function::sub(0x68, 1), &[0, 0, 0]));
        assert_eq!(bytes(&request), hex("6801000000"));
    }

    #[test]
    fn data_ends_where_the_length_field_says() {
        let wire = hex("170002 17 00 ffff");
        let request = Request::decode(&wire).unwrap();
        assert_eq!(request, Request::from(GetLoginKey {}));
        assert!(Request::decode(&hex("160003 05 0353 5953")).is_err());
    }
}
