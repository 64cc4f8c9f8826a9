//! The corpus of the fuzz target `captures` (`fuzz/`), replayed.

mod captures;

#[test]
fn corpus_of_captures() {
    let folder = format!("{}/../../fuzz/corpus/captures", env!("CARGO_MANIFEST_DIR"));
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        captures::run(&std::fs::read(entry.unwrap().path()).unwrap());
        count += 1;
    }
    assert!(count >= 50, "{count} inputs");
}
