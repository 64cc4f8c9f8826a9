//! Replays the corpus of the fuzz targets (`fuzz/`).
mod client;
mod server;
mod wire;

fn replay(name: &str, least: usize, run: fn(&[u8])) {
    let folder = format!("{}/../../fuzz/corpus/{name}", env!("CARGO_MANIFEST_DIR"));
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        run(&std::fs::read(entry.unwrap().path()).unwrap());
        count += 1;
    }
    assert!(count >= least, "{count} inputs");
}

#[test]
fn packets_of_every_kind() {
    replay("wire", 100, wire::run);
}

#[test]
fn packets_to_the_server() {
    replay("server", 100, server::run);
}

#[test]
fn replies_to_the_client() {
    replay("client", 100, client::run);
}
