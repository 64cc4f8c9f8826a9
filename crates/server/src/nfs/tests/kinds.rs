//! The client adapter where names are links and special files.

use sharebench_model::{ErrorClass, MetaOp, OpError, OpenHow};
use sharebench_target::{SessionSpec, Target, UrlPart, call};

use super::peers::altering_peer;
use super::{run, target_at};

const GETATTR: u32 = 1;
const LOOKUP: u32 = 3;
/// Where the result follows the status: fragment header, header of the reply, status.
const RESULT: usize = 4 + 24 + 4;

/// A server whose names all have the number of a kind (RFC 1813, 2.5.5: `ftype3`), by procedure.
fn peer(procedure: u32, kind: u32) -> u16 {
    altering_peer(move |call, reply| {
        let is_nfs = call[12..16] == 100_003u32.to_be_bytes();
        if is_nfs && call[20..24] == procedure.to_be_bytes() {
            let handle = u32::from_be_bytes(reply[RESULT..RESULT + 4].try_into().unwrap());
            // LOOKUP: the handle and a boolean precede the attributes.
            let before = if procedure == LOOKUP { 8 + handle as usize } else { 0 };
            reply[RESULT + before..RESULT + before + 4].copy_from_slice(&kind.to_be_bytes());
        }
    })
}

const KINDS: [(u32, &str); 5] = [
    (3, "a block device"),
    (4, "a character device"),
    (5, "a symbolic link, which sharebench does not follow"),
    (6, "a socket"),
    (7, "a named pipe"),
];

/// Why a file cannot be opened at a server whose names all have the number of a kind.
fn open_error(kind: u32, path: &str) -> OpError {
    let port = peer(LOOKUP, kind);
    run(async {
        let mut session = target_at(port, "/any").connect(&SessionSpec::default()).await.unwrap();
        let error = call(&mut *session, MetaOp::open(path, OpenHow::Read)).await.unwrap_err();
        session.close().await;
        error
    })
}

#[test]
fn a_link_or_special_file_that_is_opened_is_reported_as_such() {
    for (kind, name) in KINDS {
        let error = open_error(kind, "f");
        assert_eq!(error.class, ErrorClass::Unsupported);
        assert_eq!(error.detail, format!("not a regular file but {name}"));
    }
}

#[test]
fn a_walk_names_what_is_no_directory() {
    for (kind, name) in KINDS {
        let error = open_error(kind, "d/f");
        assert_eq!(error.class, ErrorClass::NotFound);
        assert_eq!(error.detail, format!("'d' is not a directory but {name}"));
    }
}

#[test]
fn a_url_names_what_is_no_directory() {
    for (kind, name) in KINDS {
        let port = peer(GETATTR, kind);
        let error = run(target_at(port, "/any").connect(&SessionSpec::default())).err().unwrap();
        assert_eq!((error.part, error.class), (UrlPart::Path, ErrorClass::NotFound));
        assert!(error.to_string().contains(&format!("'/any' is not a directory but {name}")), "{error}");
    }
}
