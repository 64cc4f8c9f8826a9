//! Attributes, timestamps, rights and share modes of files in a directory.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, SystemTime};

use sharebench_ncp::client::{Access, FilePosition, Modification, block_on};
use sharebench_ncp::security::level::Level;
use sharebench_ncp::wire::directory::{EffectiveRights, GetEffectiveRights};
use sharebench_ncp::wire::dos::{access, attribute};
use sharebench_ncp::wire::{Codec, Completion, DosTime, Pstr};

use super::tests::{LOGIN, options, path, refusal, start, tcp, udp};
use crate::{DirectoryOptions, DirectoryVolume};

#[test]
fn attributes_match_those_of_the_file() {
    let directory = std::env::temp_dir().join(format!("sharebench-ncp-attributes-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let file = directory.join("file");
    std::fs::write(&file, b"content").unwrap();
    let old = SystemTime::UNIX_EPOCH + Duration::from_secs(951_782_400);
    std::fs::File::options().write(true).open(&file).unwrap().set_modified(old).unwrap();
    let server = start(DirectoryVolume::open(&directory, &DirectoryOptions::default()).unwrap(), options());
    block_on(async {
        let mut client = tcp(server.addr(), Level::Never).await;
        client.login(LOGIN).await.unwrap();
        let name = path(&["SHARE", "file"]);
        let info = client.info(&name).await.unwrap();
        assert_eq!((info.modified, info.attributes), (DosTime::from_unix(951_782_400), attribute::ARCHIVE));
        let new = DosTime::from_unix(1_795_225_870);
        let wanted = Modification {
            read_only: Some(true),
            modified: Some(new),
            accessed: Some(new.date),
            ..Modification::default()
        };
        client.modify(&name, &wanted).await.unwrap();
        let info = client.info(&name).await.unwrap();
        assert_eq!((info.modified, info.accessed), (new, new.date));
        assert_eq!(info.attributes, attribute::ARCHIVE | attribute::READ_ONLY);
        let known = std::fs::metadata(&file).unwrap();
        assert_eq!(known.permissions().mode() & 0o222, 0);
        assert_eq!(known.modified().unwrap(), SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_225_870));
        assert_eq!(refusal(client.open(&name, Access::ReadWrite, false).await), Completion::NoWriteRights);
        assert_eq!(refusal(client.delete(&name).await), Completion::AllReadOnly);
        client.open(&name, Access::Read, false).await.unwrap();
        let wanted = Modification { read_only: Some(false), ..Modification::default() };
        client.modify(&name, &wanted).await.unwrap();
        let (source, _) = client.open(&name, Access::ReadWrite, false).await.unwrap();
        let copied = path(&["SHARE", "copied"]);
        let (target, _) = client.open(&copied, Access::CreateNew, false).await.unwrap();
        let at = |file, offset| FilePosition { file, offset };
        assert_eq!(client.copy(at(source, 2), at(target, 1), 100).await.unwrap(), 5);
    });
    drop(server);
    assert_eq!(std::fs::read(directory.join("copied")).unwrap(), b"\0ntent");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o222, 0o200);
    rights_are_those_of_the_volume(&directory);
    std::fs::remove_dir_all(&directory).unwrap();
}

/// All rights, or read rights only on a read-only volume.
fn rights_are_those_of_the_volume(directory: &std::path::Path) {
    for (read_only, expected) in [(false, 0xDF), (true, 0x45)] {
        let of = DirectoryOptions { read_only, ..DirectoryOptions::default() };
        let server = start(DirectoryVolume::open(directory, &of).unwrap(), options());
        block_on(async {
            let mut client = tcp(server.addr(), Level::Never).await;
            client.login(LOGIN).await.unwrap();
            let call = GetEffectiveRights { base: 0, path: Pstr::new(b"SHARE:").unwrap() };
            let rights = EffectiveRights::decode(client.call("rights", &call.into()).await.unwrap()).unwrap();
            assert_eq!(rights.rights, expected);
        });
    }
}

#[test]
fn share_modes_apply_across_transports_until_close() {
    let server = start(super::tests::memory(), options());
    block_on(async {
        let mut one = tcp(server.addr(), Level::Never).await;
        let mut other = udp(server.addr(), Level::Always).await;
        one.login(LOGIN).await.unwrap();
        other.login(LOGIN).await.unwrap();
        let name = path(&["SHARE", "shared"]);
        let upper = path(&["SHARE", "SHARED"]);
        let (file, _) = one.open_denying(&name, Access::CreateNew, access::DENY_WRITE).await.unwrap();
        assert_eq!(refusal(other.open(&upper, Access::ReadWrite, false).await), Completion::FileInUse);
        assert_eq!(refusal(other.open(&upper, Access::Create, false).await), Completion::FileInUse);
        let (read, _) = other.open(&upper, Access::Read, false).await.unwrap();
        let denying = one.open_denying(&name, Access::Read, access::DENY_READ).await;
        assert_eq!(refusal(denying), Completion::FileInUse);
        one.close(file).await.unwrap();
        other.open(&upper, Access::ReadWrite, false).await.unwrap();
        other.close(read).await.unwrap();
    });
}

/// Attributes and creation times outlive the server: a second one over the same directory shows them.
#[test]
fn dos_attributes_and_creation_times_are_stored_with_the_file() {
    let directory = std::env::temp_dir().join(format!("sharebench-ncp-dos-{}", std::process::id()));
    std::fs::create_dir_all(directory.join("inside")).unwrap();
    std::fs::write(directory.join("file"), b"content").unwrap();
    std::fs::set_permissions(directory.join("file"), std::fs::Permissions::from_mode(0o444)).unwrap();
    let kept = attribute::HIDDEN | attribute::RENAME_INHIBIT;
    let created = DosTime::from_unix(951_782_400);
    let of = |name: &str| path(&["SHARE", name]);
    for second in [false, true] {
        let volume = DirectoryVolume::open(&directory, &DirectoryOptions::default()).unwrap();
        let server = start(volume, options());
        block_on(async {
            let mut client = tcp(server.addr(), Level::Never).await;
            client.login(LOGIN).await.unwrap();
            if !second {
                let all = kept | attribute::READ_ONLY;
                let wanted =
                    Modification { attributes: Some(all), created: Some(created), ..Modification::default() };
                client.modify(&of("file"), &wanted).await.unwrap();
                let wanted = Modification { attributes: Some(attribute::HIDDEN), ..Modification::default() };
                client.modify(&of("inside"), &wanted).await.unwrap();
            }
            let info = client.info(&of("file")).await.unwrap();
            let expected = kept | attribute::READ_ONLY | attribute::ARCHIVE;
            assert_eq!((info.attributes, info.created), (expected, created));
            let info = client.info(&of("inside")).await.unwrap();
            assert_eq!(info.attributes, attribute::DIRECTORY | attribute::HIDDEN);
            let mut names = 0;
            client.list(&path(&["SHARE"]), 9, |_, _| names += 1).await.unwrap();
            assert_eq!(names, 2, "searches of this client include hidden entries");
            let wanted = Modification { attributes: Some(kept), ..Modification::default() };
            client.modify(&of("file"), &wanted).await.unwrap();
            assert_eq!(refusal(client.rename(&of("file"), &of("other")).await), Completion::NoRenameRights);
            let wanted =
                Modification { attributes: Some(kept | attribute::READ_ONLY), ..Modification::default() };
            client.modify(&of("file"), &wanted).await.unwrap();
        });
    }
    assert_eq!(std::fs::metadata(directory.join("file")).unwrap().permissions().mode() & 0o222, 0);
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn file_that_another_client_has_open_is_renamed_unless_that_client_denies_writing() {
    let directory = std::env::temp_dir().join(format!("sharebench-ncp-rename-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let served = DirectoryVolume::open(&directory, &DirectoryOptions::default()).unwrap();
    for server in [start(super::tests::memory(), options()), start(served, options())] {
        block_on(async {
            let mut one = tcp(server.addr(), Level::Never).await;
            let mut other = udp(server.addr(), Level::Never).await;
            one.login(LOGIN).await.unwrap();
            other.login(LOGIN).await.unwrap();
            let of = |name: &str| path(&["SHARE", name]);
            let (file, _) = one.open(&of("old"), Access::CreateNew, false).await.unwrap();
            other.rename(&of("old"), &of("new")).await.unwrap();
            one.write(file, 0, b"after").await.unwrap();
            let mut read = [0; 9];
            assert_eq!(one.read(file, 0, &mut read).await.unwrap(), 5);
            one.close(file).await.unwrap();
            assert_eq!(other.entry_info(&of("new")).await.unwrap().size, 5);
            let (file, _) = one.open_denying(&of("new"), Access::Read, access::DENY_WRITE).await.unwrap();
            assert_eq!(refusal(other.rename(&of("new"), &of("newer")).await), Completion::AllFilesInUse);
            one.rename(&of("new"), &of("newer")).await.unwrap();
            one.close(file).await.unwrap();
            other.delete(&of("newer")).await.unwrap();
        });
    }
    std::fs::remove_dir_all(&directory).unwrap();
}
