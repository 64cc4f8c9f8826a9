//! The corpora of the fuzz targets `smb_wire` and `spnego` (`fuzz/`), replayed.

mod spnego;
mod wire;

fn replay(target: &str, run: fn(&[u8])) -> usize {
    let folder = format!("{}/../../fuzz/corpus/{target}", env!("CARGO_MANIFEST_DIR"));
    let inputs = std::fs::read_dir(folder).unwrap();
    inputs.map(|entry| run(&std::fs::read(entry.unwrap().path()).unwrap())).count()
}

#[test]
fn corpus_of_messages() {
    assert!(replay("smb_wire", wire::run) >= 50);
}

#[test]
fn corpus_of_login_tokens() {
    assert!(replay("spnego", spnego::run) >= 3);
}
