//! Passwords, keys and tickets appear in no file and in nothing that is printed.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use sharebench_gss::AcceptorKeys;
use sharebench_server::{EmbeddedServers, MemoryVolume, ServeOptions, Volume};
use sharebench_tests::{Realm, Sharebench, needs};

/// The keys of a keytab: entries of a length, a principal, four numbers and a key (MIT's format 0x0502).
fn keys(keytab: &[u8]) -> Vec<Vec<u8>> {
    let mut keys = Vec::new();
    let mut rest = &keytab[2..];
    while let Some((len, entry)) = rest.split_first_chunk() {
        let (entry, after) = entry.split_at(u32::from_be_bytes(*len) as usize);
        // The key is the last part, after its own length, perhaps followed by a version of four bytes.
        let key =
            [16, 32].into_iter().flat_map(|len| [0, 4].map(|tail| (len, tail))).find_map(|(len, tail)| {
                let at = entry.len().checked_sub(len + tail)?;
                (entry.get(at - 2..at)? == (len as u16).to_be_bytes()).then(|| entry[at..at + len].to_vec())
            });
        keys.extend(key);
        rest = after;
    }
    keys
}

fn holds(bytes: &[u8], secret: &[u8]) -> bool {
    bytes.windows(secret.len()).any(|window| window == secret)
}

/// Searches every file below a directory; how many there were.
fn search(directory: &Path, secrets: &[Vec<u8>]) -> usize {
    let mut count = 0;
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            count += search(&path, secrets);
        } else {
            let bytes = fs::read(&path).unwrap();
            assert!(!secrets.iter().any(|secret| holds(&bytes, secret)), "a secret is in {}", path.display());
            count += 1;
        }
    }
    count
}

#[test]
fn no_password_key_or_ticket_is_written_or_printed() {
    needs!(Realm::NEEDS);
    let Some(realm) = Realm::enter("secrets::no_password_key_or_ticket_is_written_or_printed") else {
        return;
    };
    let sharebench = Sharebench::new().unwrap();
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new(64 << 20));
    let acceptor = Some(AcceptorKeys::read(&realm.keytab()).unwrap());
    let any = Some(([127, 0, 0, 1], 0).into());
    let options = ServeOptions { smb: any, nfs: any, keys: acceptor, ..ServeOptions::default() };
    let servers = EmbeddedServers::start(&volume, &options).unwrap();
    let [smb, nfs] = ["smb", "nfs"].map(|protocol| servers.addr(protocol).unwrap().port());
    realm.log_in(&["alice"]).unwrap();

    let mut secrets = vec![Realm::PASSWORD.as_bytes().to_vec()];
    for keytab in [realm.keytab(), realm.user_keytab()] {
        secrets.extend(keys(&fs::read(keytab).unwrap()));
    }
    assert!(secrets.len() > 8, "keys of services and users");
    // The end of the cache is the encrypted part of the ticket-granting ticket.
    let cache = fs::read(realm.directory().join("tickets")).unwrap();
    secrets.push(cache[cache.len() - 64..cache.len() - 16].to_vec());

    let mut variables = realm.environment();
    variables.push(("SHAREBENCH_PASSWORD", Realm::PASSWORD.to_owned()));
    let variables: Vec<(&str, &str)> =
        variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let keytab = realm.user_keytab().display().to_string();
    let urls = [
        format!("smb://localhost:{smb}/share?auth=kerberos"),
        format!("nfs://localhost:{nfs}/share?vers=4.1&sec=krb5p"),
    ];
    let wrong = format!("nfs://localhost:{nfs}/share?vers=4.1&sec=krb5p&spn=nfs/no-such-host");
    let by_ticket = vec!["sweep", &urls[0], &urls[1], "--report", "run.html"];
    let identity = sharebench.identity("who.toml", &[("keytab", &keytab), ("principal", "alice")]).unwrap();
    let by_key = vec!["sweep", &urls[0], &urls[1], "--identity", &identity];
    for (line, code) in [(by_ticket, 0), (by_key, 0), (vec!["sweep", &wrong], 3)] {
        let cell = ["--file-sizes=64KiB", "--record-sizes=8KiB", "--tests=write,read", "--repetitions=1"];
        let ended = sharebench.run_with(&[&line[..], &cell].concat(), &variables).unwrap();
        assert_eq!(ended.code, Some(code), "{}", ended.text());
        assert!(!secrets.iter().any(|secret| holds(ended.text().as_bytes(), secret)), "a secret is printed");
    }
    for format in ["csv", "json"] {
        let _ = sharebench.run(&["export", "1", "--format", format, "-o", format]).unwrap().expect_success();
    }
    let searched = search(sharebench.home(), &secrets);
    assert!(searched >= 4, "{searched} files");
}
