//! Building a COMPOUND and reading its results, operation by operation.

use sharebench_model::OpError;

use crate::client::rpc::replies::undecodable;
use crate::client::v4::slots::Position;
use crate::v4::bitmap::Bitmap;
use crate::v4::compound::{CallHead, CountedItems, ReplyHead};
use crate::v4::data::{FileHandle4, PutFh};
use crate::v4::item::{Item, Opaque};
use crate::v4::names::GetAttr;
use crate::v4::operation::Operation;
use crate::v4::session::{Sequence, Sequenced, SessionId};
use crate::v4::status::Nfs4Status;
use crate::xdr::{Reader, Writer, XdrError};

/// The session, the slot and the number of a call; none in minor version 0 and before a session exists.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sequencing {
    pub(crate) session: SessionId,
    pub(crate) position: Position,
}

/// A COMPOUND that is being encoded. [`Self::end`] completes it.
pub(crate) struct Compound<'w> {
    writer: &'w mut Writer,
    items: CountedItems,
    count: u32,
    /// Number of operations up to the first one that changes something.
    repeatable: Option<u32>,
}

impl<'w> Compound<'w> {
    /// Begins a call; `cache` makes the server keep the reply for a repeated call.
    #[inline]
    pub(crate) fn begin(
        writer: &'w mut Writer,
        minor: u32,
        sequencing: Option<Sequencing>,
        cache: bool,
    ) -> Self {
        CallHead { tag: Opaque(b""), minor_version: minor, count: 0 }.put(writer);
        let items = CountedItems::after_head(writer);
        let mut compound = Self { writer, items, count: 0, repeatable: None };
        if let Some(Sequencing { session, position: Position { slot, sequence, highest } }) = sequencing {
            let arguments = Sequence { session, sequence, slot, highest_slot: highest, cache_reply: cache };
            compound.operation(Operation::Sequence, &arguments);
        }
        compound
    }

    /// Appends an operation.
    #[inline]
    pub(crate) fn operation<'a>(&mut self, operation: Operation, arguments: &impl Item<'a>) -> &mut Self {
        self.items.begin(self.writer, operation);
        arguments.put(self.writer);
        self.count += 1;
        if operation.changes_something() {
            self.repeatable.get_or_insert(self.count);
        }
        self
    }

    /// Appends an operation without arguments.
    pub(crate) fn plain(&mut self, operation: Operation) -> &mut Self {
        self.operation(operation, &())
    }

    /// Appends PUTFH.
    #[inline]
    pub(crate) fn handle(&mut self, handle: &FileHandle4) -> &mut Self {
        self.operation(Operation::PutFh, &PutFh { handle: Opaque(handle.as_bytes()) })
    }

    /// Appends GETATTR.
    pub(crate) fn attributes(&mut self, wanted: Bitmap) -> &mut Self {
        self.operation(Operation::GetAttr, &GetAttr { wanted })
    }

    /// Completes the call.
    #[inline]
    pub(crate) fn end(self) -> Encoded {
        self.items.end(self.writer);
        Encoded { operations: self.count, repeatable: self.repeatable.unwrap_or(self.count) }
    }
}

/// What an encoded COMPOUND contains.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Encoded {
    pub(crate) operations: u32,
    /// The largest number of results with which the call can be repeated after `NFS4ERR_DELAY`, because nothing was changed.
    pub(crate) repeatable: u32,
}

/// The results of a COMPOUND, which are read in the order of its operations.
#[derive(Debug)]
pub(crate) struct Results<'a> {
    reader: Reader<'a>,
}

/// Head of a complete result.
pub(crate) fn reply_head(result: &[u8]) -> Result<ReplyHead<'_>, OpError> {
    ReplyHead::get(&mut Reader::new(result)).map_err(|error| undecodable(error, "COMPOUND"))
}

impl<'a> Results<'a> {
    /// Begins after the head and, if `sequenced`, the result of SEQUENCE.
    pub(crate) fn new(result: &'a [u8], sequenced: bool) -> Result<Self, OpError> {
        let mut reader = Reader::new(result);
        let head = ReplyHead::get(&mut reader).map_err(|error| undecodable(error, "COMPOUND"))?;
        if head.count == 0
            && let Some(status) = Nfs4Status::from_code(head.status)
        {
            return Err(status.failure("COMPOUND"));
        }
        let mut results = Self { reader };
        if sequenced {
            results.get::<Sequenced>(Operation::Sequence)?;
        }
        Ok(results)
    }

    /// Status of the next operation. The result follows, if it has one.
    pub(crate) fn status(&mut self, operation: Operation) -> Result<Option<Nfs4Status>, OpError> {
        let mut get = || -> Result<u32, XdrError> {
            match self.reader.u32()? {
                code if code == operation as u32 => self.reader.u32(),
                value => Err(XdrError::BadValue { field: "operation of a result", value }),
            }
        };
        get().map(Nfs4Status::from_code).map_err(|error| undecodable(error, operation.name()))
    }

    /// Result of the next operation.
    pub(crate) fn get<T: Item<'a>>(&mut self, operation: Operation) -> Result<T, OpError> {
        self.get_with(operation, T::get)
    }

    /// Result of the next operation, decoded by a function.
    pub(crate) fn get_with<T>(
        &mut self,
        operation: Operation,
        get: impl FnOnce(&mut Reader<'a>) -> Result<T, XdrError>,
    ) -> Result<T, OpError> {
        match self.status(operation)? {
            None => get(&mut self.reader).map_err(|error| undecodable(error, operation.name())),
            Some(status) => Err(status.failure(operation.name())),
        }
    }

    /// Success of the next operation, which has no result.
    pub(crate) fn done(&mut self, operation: Operation) -> Result<(), OpError> {
        self.get::<()>(operation)
    }
}
