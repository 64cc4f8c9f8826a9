//! Placeholder of the decoder.

use crate::input::protocols::{Decoder, Ends, Message, Side};
use crate::input::recorder::Recorder;

pub(super) struct Smb2Decoder {
    #[expect(dead_code)]
    ends: Ends,
}

impl Smb2Decoder {
    pub(super) fn new(ends: Ends) -> Self {
        Self { ends }
    }
}

impl Decoder for Smb2Decoder {
    fn message(&mut self, _message: &Message<'_>, _recorder: &mut Recorder) {}
    fn end(&mut self, _recorder: &mut Recorder) {}
}

pub(super) fn sender(_head: &[u8]) -> Option<Side> {
    None
}
