//! Maps errors of the client to error classes of the engine.

use std::io::ErrorKind;

use sharebench_model::{ErrorClass, OpError, OpStep};

use crate::client::ClientError;
use crate::wire::Completion;

/// Converts a failed call into an error of the engine.
pub(crate) fn failure(error: &ClientError) -> OpError {
    let (class, step) = match error {
        ClientError::Io { step, source } => (io_class(source.kind()), *step),
        ClientError::Wire { step, .. } | ClientError::BadSignature { step } => (ErrorClass::Protocol, *step),
        ClientError::Refused { step, completion } => (refusal(*completion, step), *step),
        ClientError::ConnectionLost { step } | ClientError::BurstAborted { step } => {
            (ErrorClass::Disconnected, *step)
        }
        ClientError::SignaturesUnavailable { step } | ClientError::ChecksumsUnavailable { step } => {
            (ErrorClass::Refused, *step)
        }
        ClientError::OffsetTooLarge { step, .. } => (ErrorClass::Unsupported, *step),
    };
    let detail = match error {
        ClientError::Io { source, .. } => source.to_string(),
        ClientError::Wire { source, .. } => source.to_string(),
        ClientError::Refused { completion, .. } => completion.to_string(),
        other => other.to_string(),
    };
    OpError::new(class, OpStep::Request(step), detail)
}

/// True when the connection remains usable: the server has answered, or nothing was sent.
pub(crate) const fn is_harmless(error: &ClientError) -> bool {
    matches!(
        error,
        ClientError::Refused { .. }
            | ClientError::OffsetTooLarge { .. }
            | ClientError::SignaturesUnavailable { .. }
            | ClientError::ChecksumsUnavailable { .. }
    )
}

const fn io_class(kind: ErrorKind) -> ErrorClass {
    match kind {
        ErrorKind::TimedOut => ErrorClass::Timeout,
        ErrorKind::InvalidData => ErrorClass::Protocol,
        _ => ErrorClass::Disconnected,
    }
}

fn refusal(completion: Completion, step: &str) -> ErrorClass {
    // The same code means different things for open files and for names.
    let on_file = matches!(step, "read" | "write" | "set size" | "size" | "commit" | "close");
    match completion {
        Completion::Failure if on_file => ErrorClass::Io,
        Completion::Failure | Completion::InvalidPath | Completion::NoSuchVolume => ErrorClass::NotFound,
        Completion::FileExists | Completion::AllNamesExist => ErrorClass::Exists,
        Completion::DirectoryNotEmpty => ErrorClass::NotEmpty,
        Completion::OutOfDiskSpace | Completion::DirectoryFull => ErrorClass::NoSpace,
        Completion::NoWriteRights if on_file => ErrorClass::Refused,
        Completion::NoWriteRights => ErrorClass::ReadOnly,
        Completion::NoOpenRights
        | Completion::NoCreateRights
        | Completion::NoSearchRights
        | Completion::NoDeleteRights
        | Completion::NoRenameRights
        | Completion::NoModifyRights
        | Completion::NoReadRights
        | Completion::SignatureRequired
        | Completion::BadPassword => ErrorClass::Refused,
        Completion::InvalidFileHandle => ErrorClass::Stale,
        Completion::FileInUse
        | Completion::AllFilesInUse
        | Completion::LockWait
        | Completion::IoOnLockedRegion
        | Completion::NoFileHandles
        | Completion::NoConnectionSlot => ErrorClass::Busy,
        Completion::UnknownFunction
        | Completion::InvalidNameSpace
        | Completion::BadFileName
        | Completion::RenameAcrossVolumes => ErrorClass::Unsupported,
        _ => ErrorClass::Io,
    }
}
