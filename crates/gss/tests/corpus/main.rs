//! The corpus of the fuzz target `gss_tokens` (`fuzz/`), replayed.

mod tokens;

#[test]
fn corpus_of_tokens() {
    let folder = format!("{}/../../fuzz/corpus/gss_tokens", env!("CARGO_MANIFEST_DIR"));
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        tokens::run(&std::fs::read(entry.unwrap().path()).unwrap());
        count += 1;
    }
    assert!(count >= 50, "{count} inputs");
}
