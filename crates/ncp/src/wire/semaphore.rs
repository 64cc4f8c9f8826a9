//! Semaphores (docs/protocols/ncp.md 3.3).

use super::bytes::message;
use super::{Be16, Be32, Pstr, U8};

message! {
    [
        /// 0x20/0: opens a semaphore, which is created if it does not exist; the reply is [`OpenedSemaphore`]
        /// (docs/protocols/ncp.md 3.3).
        OpenSemaphore<'a>,
        /// 0x6F/0: the newer form of [`OpenSemaphore`] (docs/protocols/ncp.md 3.3).
        OpenSemaphoreNew<'a>,
    ] {
        /// Value of a new semaphore, at most 127.
        value: u8 as U8,
        /// Name of the semaphore.
        name: Pstr<'a> as Pstr<'a>,
    }
}

message! {
    /// Reply to 0x20/0 and 0x6F/0 (docs/protocols/ncp.md 3.3).
    OpenedSemaphore {
        /// Handle of the semaphore.
        handle: u32 as Be32,
        /// Number of opens, including this one.
        opens: u8 as U8,
    }
}

message! {
    [
        /// 0x20/1: returns the value of a semaphore; the reply is [`ExaminedSemaphore`] (docs/protocols/ncp.md 3.3).
        ExamineSemaphore,
        /// 0x6F/1: the newer form of [`ExamineSemaphore`] (docs/protocols/ncp.md 3.3).
        ExamineSemaphoreNew,
        /// 0x20/3: increments a semaphore (docs/protocols/ncp.md 3.3).
        SignalSemaphore,
        /// 0x6F/3: the newer form of [`SignalSemaphore`] (docs/protocols/ncp.md 3.3).
        SignalSemaphoreNew,
        /// 0x20/4: closes a semaphore (docs/protocols/ncp.md 3.3).
        CloseSemaphore,
        /// 0x6F/4: the newer form of [`CloseSemaphore`]; the reply is [`ClosedSemaphore`] (docs/protocols/ncp.md 3.3).
        CloseSemaphoreNew,
    ] {
        /// Handle of the semaphore.
        handle: u32 as Be32,
    }
}

message! {
    /// Reply to 0x20/1 and 0x6F/1 (docs/protocols/ncp.md 3.3).
    ExaminedSemaphore {
        /// The value, in two's complement; a negative one is the number of waiting requests.
        value: u8 as U8,
        /// Number of opens.
        opens: u8 as U8,
    }
}

message! {
    /// Reply to 0x6F/4; 0x20/4 has no data (docs/protocols/ncp.md 3.3).
    ClosedSemaphore {
        /// Number of opens that are left.
        opens: u8 as U8,
        /// Number of users that are left. The servers of this crate count each open as a user.
        shares: u8 as U8,
    }
}

message! {
    [
        /// 0x20/2: decrements a semaphore once its value is positive (docs/protocols/ncp.md 3.3).
        WaitOnSemaphore,
        /// 0x6F/2: the newer form of [`WaitOnSemaphore`] (docs/protocols/ncp.md 3.3).
        WaitOnSemaphoreNew,
    ] {
        /// Handle of the semaphore.
        handle: u32 as Be32,
        /// Timeout in ticks of 1/18 s; 0 does not wait.
        timeout: u16 as Be16,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::tests::hex;
    use crate::wire::{Codec, Request};

    fn call<'a>(request: impl Into<Request<'a>>) -> Vec<u8> {
        let mut out = Vec::new();
        request.into().put(&mut out);
        out
    }

    /// docs/protocols/ncp.md 3.3: from the description alone.
    #[test]
    fn semaphore_calls_match_the_document() {
        let name = Pstr::new(b"S").unwrap();
        assert_eq!(call(OpenSemaphore { value: 2, name }), hex("20 00 02 01 53"));
        assert_eq!(call(OpenSemaphoreNew { value: 2, name }), hex("6f 00 02 01 53"));
        assert_eq!(call(ExamineSemaphore { handle: 258 }), hex("20 01 00000102"));
        assert_eq!(call(WaitOnSemaphore { handle: 258, timeout: 18 }), hex("20 02 00000102 0012"));
        assert_eq!(call(SignalSemaphoreNew { handle: 258 }), hex("6f 03 00000102"));
        assert_eq!(call(CloseSemaphoreNew { handle: 258 }), hex("6f 04 00000102"));
        let opened = OpenedSemaphore { handle: 258, opens: 3 };
        assert_eq!(OpenedSemaphore::decode(&hex("00000102 03")), Ok(opened));
        assert_eq!(ExaminedSemaphore::decode(&hex("ff 01")), Ok(ExaminedSemaphore { value: 255, opens: 1 }));
        assert_eq!(ClosedSemaphore::decode(&hex("02 01")), Ok(ClosedSemaphore { opens: 2, shares: 1 }));
    }
}
