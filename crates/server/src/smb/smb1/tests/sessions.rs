//! Logins of this project's client: with and without signatures, and those that fail.

use sharebench_doubles::conformance::Suite;
use sharebench_model::{ErrorClass, Fact};
use sharebench_smb::SmbTarget;
use sharebench_target::{ConnectError, Secret, SessionSpec, Target, TargetUrl, UrlPart};

use super::*;
use crate::{Protection, ServeError};

const PASSWORD: &str = "open-Sesame-42";

fn with_accounts(volume: Arc<dyn Volume>, protection: Protection) -> SmbServer {
    let accounts = vec![("alice".to_owned(), Secret::new(PASSWORD))];
    let options = SmbServerOptions { smb1: true, accounts, protection, ..SmbServerOptions::default() };
    SmbServer::start("127.0.0.1:0".parse().unwrap(), volume, options).unwrap()
}

fn target(server: &SmbServer, options: &str, password: &str) -> SmbTarget {
    let url = format!("smb://alice@{}/share?dialect=nt1{options}", server.addr());
    SmbTarget::from_url(TargetUrl::parse(&url).unwrap(), Secret::new(password)).unwrap()
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn signing(target: &SmbTarget) -> Result<String, ConnectError> {
    block_on(async {
        let session = target.connect(&SessionSpec::default()).await?;
        let signing = session.facts()[Fact::Signing].clone();
        session.close().await;
        Ok(signing)
    })
}

#[test]
fn the_client_conforms_signed_and_unsigned_on_volumes_that_block_and_that_do_not() {
    for blocks in [false, true] {
        for (protection, options, expected) in [
            (Protection::Optional, "", "off"),
            (Protection::Optional, "&sign=required", "MD5"),
            (Protection::Signed, "", "MD5"),
        ] {
            let memory = MemoryVolume::new(256 << 20);
            let volume: Arc<dyn Volume> = if blocks {
                Arc::new(DeviceVolume::new(memory, DeviceOptions::default()))
            } else {
                Arc::new(memory)
            };
            let server = with_accounts(volume, protection);
            let target = target(&server, options, PASSWORD);
            assert_eq!(signing(&target).unwrap(), expected);
            let suite = Suite { max_record: 64 << 10, secret: Some(PASSWORD.to_owned()), ..Suite::default() };
            block_on(suite.run(&target)).unwrap_or_else(|failures| panic!("{failures}"));
        }
    }
}

#[test]
fn wrong_passwords_and_clients_that_never_sign_are_rejected() {
    let server = with_accounts(Arc::new(MemoryVolume::new(1 << 20)), Protection::Signed);
    let error = signing(&target(&server, "", "wrong")).unwrap_err();
    assert_eq!((error.part, error.class), (UrlPart::Credentials, ErrorClass::Refused), "{error}");
    let error = signing(&target(&server, "&sign=off", PASSWORD)).unwrap_err();
    assert_eq!((error.part, error.class), (UrlPart::Option("sign"), ErrorClass::Refused), "{error}");
    assert!(signing(&target(&server, "", PASSWORD)).is_ok());
}

#[test]
fn smb1_is_served_on_loopback_without_required_encryption_only() {
    let start = |addr: &str, protection| {
        let accounts = vec![("alice".to_owned(), Secret::new(PASSWORD))];
        let options = SmbServerOptions { smb1: true, accounts, protection, ..SmbServerOptions::default() };
        SmbServer::start(addr.parse().unwrap(), Arc::new(MemoryVolume::new(1 << 20)), options).err().unwrap()
    };
    let exposed = start("0.0.0.0:0", Protection::Optional);
    assert!(
        matches!(exposed, ServeError::Smb1Exposed { .. }) && exposed.to_string().contains("--smb1"),
        "{exposed}"
    );
    assert!(matches!(start("127.0.0.1:0", Protection::Encrypted), ServeError::Options { .. }));
}
