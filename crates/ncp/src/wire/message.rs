//! Messages to the user that wait on the server: family 0x15 (docs/protocols/ncp.md 1.7).

use super::Pstr;
use super::bytes::message;

message! {
    /// 0x15/0x01: fetches the waiting message, in the older form (docs/protocols/ncp.md 1.7).
    GetMessageOld {}
}

message! {
    /// 0x15/0x0B: fetches the waiting message (docs/protocols/ncp.md 1.7).
    GetMessage {}
}

message! {
    /// Reply to 0x15/0x01 and 0x15/0x0B (docs/protocols/ncp.md 1.7).
    MessageText<'a> {
        /// The text; empty if no message waits.
        text: Pstr<'a> as Pstr<'a>,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Codec;
    use crate::wire::tests::{bytes, hex};

    /// docs/protocols/ncp.md 1.7: from the description alone.
    #[test]
    fn message_reply_is_a_string() {
        assert!(
            bytes::<GetMessage>(&GetMessage {}).is_empty()
                && bytes::<GetMessageOld>(&GetMessageOld {}).is_empty()
        );
        assert_eq!(MessageText::decode(&hex("026869")).unwrap().text.bytes(), b"hi");
    }
}
