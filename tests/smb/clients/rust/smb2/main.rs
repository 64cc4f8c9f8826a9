//! The crate `smb2`: HOST PORT SHARE USER PASSWORD.

use std::cell::Cell;
use std::env;

use smb2::pack::FileTime;
use smb2::{FileTimes, SmbClient, Tree};

type Outcome = Result<(), Box<dyn std::error::Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let [host, port, share, user, password] = env::args().skip(1).collect::<Vec<_>>().try_into().unwrap();
    let mut client = smb2::connect(&format!("{host}:{port}"), &user, &password).await?;
    assert!(client.list_shares().await?.iter().any(|listed| listed.name == share));
    let mut tree = client.connect_share(&share).await?;
    files(&mut client, &mut tree).await?;
    streams_and_times(&mut client, &mut tree).await?;
    changes(&mut client, &mut tree).await?;
    client.delete_directory(&tree, "rust").await?;
    assert_eq!(
        client.list_directory(&mut tree, "").await?.iter().filter(|entry| entry.name == "rust").count(),
        0
    );
    client.disconnect_share(&tree).await?;
    Ok(())
}

/// Content of more than one request, in one compound and in several requests, copied on the server.
async fn files(client: &mut SmbClient, tree: &mut Tree) -> Outcome {
    let data: Vec<u8> = (0..3_000_001_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    client.create_directory(tree, "rust").await?;
    client.write_file_pipelined(tree, "rust/large", &data).await?;
    assert!(client.read_file_pipelined(tree, "rust/large").await? == data);
    client.write_file_compound(tree, "rust/größe?", &data[..5000]).await?;
    assert!(client.read_file_compound(tree, "rust/größe?").await? == data[..5000]);
    assert_eq!(client.server_side_copy_file(tree, "rust/large", "rust/copy").await?, data.len() as u64);
    assert!(client.read_file_pipelined(tree, "rust/copy").await? == data);
    client.rename(tree, "rust/copy", "rust/renamed").await?;
    assert_eq!(client.stat(tree, "rust/renamed").await?.size, data.len() as u64);
    let mut names: Vec<_> =
        client.list_directory(tree, "rust").await?.into_iter().map(|entry| entry.name).collect();
    names.retain(|name| name != "." && name != "..");
    names.sort();
    assert_eq!(names, ["größe?", "large", "renamed"]);
    assert!(client.fs_info(tree).await?.total_bytes > 0);
    for done in client.delete_files(tree, &["rust/größe?", "rust/renamed"]).await {
        done?;
    }
    Ok(())
}

async fn streams_and_times(client: &mut SmbClient, tree: &mut Tree) -> Outcome {
    client.write_stream(tree, "rust/large", "stream", b"named").await?;
    assert_eq!(client.read_stream(tree, "rust/large", "stream").await?, b"named");
    assert_eq!(
        client.list_streams(tree, "rust/large").await?.iter().filter(|found| found.name == "stream").count(),
        1
    );
    client.delete_stream(tree, "rust/large", "stream").await?;
    client.set_xattr(tree, "rust/large", "user.colour", b"blue").await?;
    assert_eq!(client.get_xattr(tree, "rust/large", "user.colour").await?.as_deref(), Some(&b"blue"[..]));
    client.remove_xattr(tree, "rust/large", "user.colour").await?;
    let time = FileTime(130_000_000_000_000_000);
    client.set_times(tree, "rust/large", FileTimes::new().set_modified(time)).await?;
    assert_eq!(client.stat(tree, "rust/large").await?.modified, time);
    Ok(())
}

/// Changes are reported to a watcher of the directory. They are repeated, because smbd begins to watch after it took the request.
async fn changes(client: &mut SmbClient, tree: &mut Tree) -> Outcome {
    let mut watcher = client.watch(tree, "rust", false).await?;
    let reported = Cell::new(false);
    let watch = async {
        let events = watcher.next_events().await;
        reported.set(true);
        events
    };
    let change = async {
        while !reported.get() {
            client.write_file(tree, "rust/watched", b"").await?;
            client.delete_file(tree, "rust/watched").await?;
        }
        smb2::Result::Ok(())
    };
    let (events, changed) = tokio::join!(watch, change);
    changed?;
    assert!(events?.iter().all(|event| event.filename == "watched"));
    watcher.close().await?;
    client.delete_file(tree, "rust/large").await?;
    Ok(())
}
