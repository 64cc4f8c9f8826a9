//! The corpus of the fuzz target `smb_wire` (`fuzz/`), replayed.

mod wire;

#[test]
fn corpus_of_messages() {
    let folder = format!("{}/../../fuzz/corpus/smb_wire", env!("CARGO_MANIFEST_DIR"));
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        wire::run(&std::fs::read(entry.unwrap().path()).unwrap());
        count += 1;
    }
    assert!(count >= 50, "{count} inputs");
}
