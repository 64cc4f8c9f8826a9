//! Messages of SMB1 round trip, have the layout of the specification, and never panic.

use proptest::prelude::*;

use super::file::{CreateRequest, ReadRequest, ReadResponse, WRITE_DATA_OFFSET, WriteRequest};
use super::message::{NO_ANDX, NoWords, put_blocks};
use super::signing::Signer;
use super::trans2::{Collected, Found, fs_size, put_request, standard_info};
use super::*;
use crate::wire::{Field, from_utf16};

fn header() -> Header {
    Header { command: command::RENAME, flags2: 0xC805, tid: 3, uid: 4, mid: 5, ..Header::default() }
}

#[test]
fn headers_and_words_round_trip() {
    let mut out = Vec::new();
    header().encode(&mut out);
    let request =
        WriteRequest { andx: NO_ANDX, fid: 7, offset_low: 1, len_high: 1, ..WriteRequest::default() };
    put_blocks(&request, &mut out, |out| out.extend_from_slice(b"abc"));
    assert_eq!((out.len(), WRITE_DATA_OFFSET), (message::HEADER_LEN + 1 + 28 + 2 + 3, 64));
    assert_eq!(Header::decode(&out), Ok(header()));
    let parts = Message::split(&out).unwrap();
    assert_eq!((parts.get::<WriteRequest>(), parts.bytes), (Ok(request), &b"abc"[..]));
    // Words that are fewer than the structure needs are an error.
    assert!(parts.get::<CreateRequest>().is_err());
    assert!((0..out.len()).all(|len| Message::split(&out[..len]).is_err()));
}

#[test]
fn both_names_of_a_rename_start_at_even_offsets() {
    let mut out = Vec::new();
    header().encode(&mut out);
    put_blocks(&path::SearchAttributes { attributes: path::ALL }, &mut out, |out| {
        path::put_name("\\old", 0, out);
        path::put_name("\\new name", 0, out);
    });
    let parts = Message::split(&out).unwrap();
    assert_eq!(path::names(parts.bytes, out.len() - parts.bytes.len()), ["\\old", "\\new name"]);
}

#[test]
fn a_transaction_is_collected_from_several_responses() {
    let mut request = Vec::new();
    header().encode(&mut request);
    put_request(trans2::subcommand::FIND_FIRST2, &trans2::find_first("\\*", 9), b"12345", 100, &mut request);
    let parts = Message::split(&request).unwrap();
    let words: trans2::Request = parts.get().unwrap();
    let parameters = parts.slice(words.parameters_offset.into(), words.parameters.into()).unwrap();
    assert_eq!(from_utf16(&parameters[12..16]), "\\*");
    assert_eq!(parts.slice(words.data_offset.into(), words.data.into()), Ok(&b"12345"[..]));

    let respond = |displacement: u16, text: &[u8]| {
        let mut out = Vec::new();
        header().encode(&mut out);
        let words = trans2::Response {
            total_data: 6,
            data: text.len() as u16,
            data_offset: 55,
            data_displacement: displacement,
            ..trans2::Response::default()
        };
        put_blocks(&words, &mut out, |out| out.extend_from_slice(text));
        out
    };
    let mut collected = Collected::default();
    assert_eq!(collected.add(&Message::split(&respond(0, b"abcd")).unwrap()), Ok(false));
    assert!(collected.clone().add(&Message::split(&respond(0, b"ef")).unwrap()).is_err());
    assert_eq!(collected.add(&Message::split(&respond(4, b"ef")).unwrap()), Ok(true));
    assert_eq!(collected.data, b"abcdef");
}

#[test]
fn lengths_of_large_reads_have_two_halves() {
    let response = ReadResponse { len_low: 2, len_high: 1, ..ReadResponse::default() };
    assert_eq!(response.len(), 65_538);
}

#[test]
fn a_signature_is_valid_for_its_number_and_message_only() {
    let mut signer = Signer::new(&[7; 16]);
    let mut out = Vec::new();
    header().encode(&mut out);
    put_blocks(&NoWords {}, &mut out, |_| {});
    assert_eq!(signer.sign(&mut out), 3);
    let other = Signer::new(&[7; 16]);
    assert!(other.verify(&mut out.clone(), 2) && !other.verify(&mut out.clone(), 3));
    assert!(!Signer::new(&[8; 16]).verify(&mut out.clone(), 2));
    let mut changed = out.clone();
    changed[9] ^= 1;
    assert!(!other.verify(&mut changed, 2));
    assert_eq!(signer.sign(&mut out), 5);
}

proptest! {
    #[test]
    fn garbage_causes_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = Header::decode(&bytes);
        if let Ok(parts) = Message::split(&bytes) {
            let _ = (parts.get::<ReadRequest>(), parts.get::<ReadResponse>(), Collected::default().add(&parts));
            let _ = path::names(parts.bytes, 3);
        }
        let _ = (Found::decode(&bytes, true), standard_info(&bytes), fs_size(&bytes));
        let mut message = bytes;
        let _ = Signer::new(&[1; 16]).verify(&mut message, 0);
        let mut out = Vec::new();
        0u8.put(&mut out);
    }
}
