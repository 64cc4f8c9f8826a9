//! The corpora of the fuzz targets `nfs_wire` and `rpcsec` (`fuzz/`), replayed.

mod secured;
mod wire;

fn replay(target: &str, run: fn(&[u8])) -> usize {
    let folder = format!("{}/../../fuzz/corpus/{target}", env!("CARGO_MANIFEST_DIR"));
    let inputs = std::fs::read_dir(folder).unwrap();
    inputs.map(|entry| run(&std::fs::read(entry.unwrap().path()).unwrap())).count()
}

#[test]
fn corpus_of_records() {
    assert!(replay("nfs_wire", wire::run) >= 50);
}

#[test]
fn corpus_of_protected_bodies() {
    assert!(replay("rpcsec", secured::run) >= 3);
}
