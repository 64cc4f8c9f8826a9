//! Round trips of messages with variable parts.

use super::create::CreateRequest;
use super::header::Header;
use super::negotiate::{Context, NegotiateRequest};

fn message(body: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    Header::default().encode(&mut out);
    body(&mut out);
    out
}

#[test]
fn negotiate_keeps_dialects_and_contexts_and_no_prefix_of_it_decodes() {
    let contexts = vec![Context { kind: 1, data: vec![7; 38] }, Context { kind: 2, data: vec![1, 0, 2, 0] }];
    let request =
        NegotiateRequest { dialects: vec![0x0210, 0x0300, 0x0311], contexts, ..NegotiateRequest::default() };
    let bytes = message(|out| request.encode(out));
    assert_eq!(NegotiateRequest::decode(&bytes), Ok(request));
    assert!((0..bytes.len()).all(|len| NegotiateRequest::decode(&bytes[..len]).is_err()));
}

#[test]
fn create_keeps_its_name() {
    let request = CreateRequest { access: 1, share: 7, name: "a\\ü😀".into(), ..CreateRequest::default() };
    let bytes = message(|out| request.encode(out));
    assert_eq!(CreateRequest::decode(&bytes), Ok(request));
}
