//! The corpora of the fuzz targets `nfs_wire` and `rpcsec` (`fuzz/`), replayed.

mod rpcsec;
mod wire;

/// Runs every input of a corpus; how many there are.
fn replay(target: &str, run: fn(&[u8])) -> std::io::Result<usize> {
    let folder = format!("{}/../../fuzz/corpus/{target}", env!("CARGO_MANIFEST_DIR"));
    let mut count = 0;
    for entry in std::fs::read_dir(folder)? {
        run(&std::fs::read(entry?.path())?);
        count += 1;
    }
    Ok(count)
}

#[test]
fn corpus_of_records() {
    assert!(replay("nfs_wire", wire::run).unwrap() >= 50);
}

#[test]
fn corpus_of_protected_bodies() {
    assert!(replay("rpcsec", rpcsec::run).unwrap() >= 3);
}
