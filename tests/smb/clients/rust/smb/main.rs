//! The crate `smb`: HOST PORT SHARE USER PASSWORD. Its listings of directories often wait for ever, and
//! those of shares are in NDR64 only: neither works at smbd.

use std::env;

use smb::resource::file_util::SetLen;
use smb::{
    Client, ClientConfig, ConnectionConfig, CreateOptions, File, FileAccessMask, FileAttributes,
    FileCreateArgs, FileDispositionInformation, FileRenameInformation, FileStandardInformation, ReadAt,
    UncPath, WriteAt,
};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

#[tokio::main]
async fn main() -> Outcome<()> {
    let [host, port, share, user, password] = env::args().skip(1).collect::<Vec<_>>().try_into().unwrap();
    let mut connection = ConnectionConfig { port: Some(port.parse()?), ..ConnectionConfig::default() };
    // It would look for a key distribution center.
    connection.auth_methods.kerberos = false;
    let client = Client::new(ClientConfig { connection, ..ClientConfig::default() });
    let root = UncPath::new(&host)?.with_share(&share)?;
    client.share_connect(&root, &user, password).await?;

    let path = root.clone().with_path("rust");
    let is_directory = CreateOptions::new().with_directory_file(true);
    let create = FileCreateArgs::make_create_new(FileAttributes::new().with_directory(true), is_directory);
    client.create_file(&path, &create).await?.unwrap_dir().close().await?;
    files(&client, &root).await?;
    let existing = FileCreateArgs::make_open_existing(FileAccessMask::new().with_generic_all(true));
    let directory = client.create_file(&path, &existing).await?.unwrap_dir();
    for name in ["copy", "größe"] {
        let file = open(&client, &root, name).await?;
        file.set_info(FileDispositionInformation::default()).await?;
        file.close().await?;
    }
    directory.set_info(FileDispositionInformation::default()).await?;
    directory.close().await?;
    assert!(client.create_file(&path, &existing).await.is_err(), "it was removed");
    client.close().await?;
    Ok(())
}

/// Content of more than one request, copied on the server, cut and renamed.
async fn files(client: &Client, root: &UncPath) -> Outcome<()> {
    let data: Vec<u8> = (0..300_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let create = FileCreateArgs::make_create_new(FileAttributes::new(), CreateOptions::new());
    let file = client.create_file(&root.clone().with_path(r"rust\file"), &create).await?.unwrap_file();
    write(&file, &data).await?;
    file.flush().await?;
    file.close().await?;
    let file = open(client, root, "file").await?;
    assert!(content(&file, data.len()).await? == data);
    let copy = client.create_file(&root.clone().with_path(r"rust\copy"), &create).await?.unwrap_file();
    copy.srv_copy(&file).await?;
    copy.close().await?;
    // The client remembers the size of when it opened the file.
    let copy = open(client, root, "copy").await?;
    assert!(content(&copy, data.len()).await? == data);
    copy.set_len(10).await?;
    assert_eq!(copy.query_info::<FileStandardInformation>().await?.end_of_file, 10);
    copy.close().await?;
    let replace_if_exists = false.into();
    let name = r"rust\größe".into();
    file.set_info(FileRenameInformation { replace_if_exists, root_directory: 0, file_name: name }).await?;
    file.close().await?;
    Ok(())
}

async fn open(client: &Client, root: &UncPath, name: &str) -> Outcome<File> {
    let access = FileAccessMask::new().with_generic_all(true);
    let path = root.clone().with_path(&format!(r"rust\{name}"));
    Ok(client.create_file(&path, &FileCreateArgs::make_open_existing(access)).await?.unwrap_file())
}

async fn write(file: &File, data: &[u8]) -> Outcome<()> {
    let mut at = 0;
    while at < data.len() {
        at += file.write_at(&data[at..], at as u64).await?;
    }
    Ok(())
}

async fn content(file: &File, bytes: usize) -> Outcome<Vec<u8>> {
    let mut data = vec![0; bytes];
    let mut at = 0;
    while at < bytes {
        let read = file.read_at(&mut data[at..], at as u64).await?;
        assert_ne!(read, 0, "the file ends at {at}");
        at += read;
    }
    Ok(data)
}
