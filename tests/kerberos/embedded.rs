//! The embedded SMB server with a keytab: our client, and Samba's smbclient.

use std::sync::Arc;
use std::time::Duration;

use sharebench_doubles::conformance::Suite;
use sharebench_gss::{AcceptorKeys, Identity, SharedCredential};
use sharebench_model::{ErrorClass, Fact};
use sharebench_nfs::NfsTarget;
use sharebench_server::{EmbeddedServers, MemoryVolume, NfsTls, ServeOptions, Volume};
use sharebench_smb::SmbTarget;
use sharebench_target::{ConnectError, Secret, SessionSpec, Target};
use sharebench_tests::program::run;
use sharebench_tests::{Certificates, Need, Realm, Scratch, needs};

use crate::adapters::{block_on, conform, url};
use crate::nfs::VERSION_4;

fn serve(realm: &Realm, accounts: Vec<(String, Secret)>) -> (EmbeddedServers, u16) {
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new(64 << 20));
    let keys = Some(AcceptorKeys::read(&realm.keytab()).unwrap());
    let smb = Some(([127, 0, 0, 1], 0).into());
    let servers =
        EmbeddedServers::start(&volume, &ServeOptions { smb, accounts, keys, ..ServeOptions::default() })
            .unwrap();
    let port = servers.addr("smb").unwrap().port();
    (servers, port)
}

fn tickets(realm: &Realm, user: &str) -> SharedCredential {
    SharedCredential::new(Identity::keytab(&realm.user_keytab(), user))
}

fn target(port: u16, options: &str) -> SmbTarget {
    let text = format!("smb://alice@localhost:{port}/share?{options}");
    SmbTarget::from_url(url(&text), Secret::new(Realm::PASSWORD)).unwrap()
}

fn refusal(target: &SmbTarget) -> ConnectError {
    let spec = SessionSpec { connect_timeout: Duration::from_secs(60), ..SessionSpec::default() };
    block_on(async { target.connect(&spec).await.err().unwrap() })
}

#[test]
fn our_client_conforms_at_our_server_with_a_ticket() {
    needs!(Realm::NEEDS);
    let Some(realm) = Realm::enter("embedded::our_client_conforms_at_our_server_with_a_ticket") else {
        return;
    };
    let (_servers, port) = serve(&realm, Vec::new());
    for options in ["auth=kerberos&sign=required", "auth=kerberos&encrypt=required"] {
        conform(&target(port, options).with_tickets(tickets(&realm, "alice")), &Suite::default());
    }
    let error = refusal(&target(port, "auth=ntlm"));
    assert!(error.to_string().contains("Kerberos only"), "{error}");
}

#[test]
fn a_principal_must_be_an_account_if_there_are_accounts() {
    needs!(Realm::NEEDS);
    let test = "embedded::a_principal_must_be_an_account_if_there_are_accounts";
    let Some(realm) = Realm::enter(test) else { return };
    let (_servers, port) = serve(&realm, vec![("Alice".to_owned(), Secret::new(Realm::PASSWORD))]);
    let facts = |target: &SmbTarget| {
        block_on(async {
            target.connect(&SessionSpec::default()).await.unwrap().facts()[Fact::Login].clone()
        })
    };
    assert_eq!(facts(&target(port, "auth=kerberos").with_tickets(tickets(&realm, "alice"))), "Kerberos");
    assert_eq!(facts(&target(port, "auth=ntlm")), "NTLM");
    let own = run(&["id", "-un"], &[]).unwrap();
    let error = refusal(&target(port, "auth=kerberos").with_tickets(tickets(&realm, own.trim())));
    assert_eq!(error.class, ErrorClass::Refused, "{error}");
}

#[test]
fn smbclient_transfers_files_with_a_ticket() {
    needs!(Realm::NEEDS, [Need::Program("smbclient")]);
    let Some(realm) = Realm::enter("embedded::smbclient_transfers_files_with_a_ticket") else { return };
    let (_servers, port) = serve(&realm, Vec::new());
    realm.log_in(&["alice"]).unwrap();
    let scratch = Scratch::new("smbclient").unwrap();
    let [sent, received] = ["sent", "received"].map(|name| scratch.file(name));
    let content: Vec<u8> = (0..300_000u32).map(|place| (place * 7 % 251) as u8).collect();
    std::fs::write(&sent, &content).unwrap();
    let port = port.to_string();
    let commands = format!("put {sent} file; get file {received}; rm file");
    let cache = format!("--use-krb5-ccache={}", std::env::var("KRB5CCNAME").unwrap());
    for protection in ["sign", "encrypt"] {
        let protection = format!("--client-protection={protection}");
        let line = [
            "smbclient",
            "//files.lab.test/share",
            "-I",
            "127.0.0.1",
            "-p",
            &port,
            "--use-kerberos=required",
            &cache,
            &protection,
            "-c",
            &commands,
        ];
        run(&line, &[]).unwrap();
        assert_eq!(std::fs::read(&received).unwrap(), content);
    }
}

#[test]
fn nfs_conforms_at_our_server_with_each_flavor() {
    needs!(Realm::NEEDS);
    let Some(realm) = Realm::enter("embedded::nfs_conforms_at_our_server_with_each_flavor") else { return };
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new(64 << 20));
    let keys = Some(AcceptorKeys::read(&realm.keytab()).unwrap());
    let nfs = Some(([127, 0, 0, 1], 0).into());
    let servers =
        EmbeddedServers::start(&volume, &ServeOptions { nfs, keys, ..ServeOptions::default() }).unwrap();
    let port = servers.addr("nfs").unwrap().port();
    let target = |options: &str| {
        let mount = if options.contains("vers=4") { String::new() } else { format!("mountport={port}&") };
        let text = format!("nfs://localhost:{port}/share?{mount}{options}");
        NfsTarget::from_url(url(&text)).unwrap().with_tickets(tickets(&realm, "alice"))
    };
    for flavor in ["krb5", "krb5i", "krb5p"] {
        conform(&target(&format!("sec={flavor}&nconnect=2")), &Suite::default());
    }
    for options in VERSION_4 {
        conform(&target(options), &Suite::default());
    }
    let spec = SessionSpec::default();
    let error = block_on(async { target("sec=sys").connect(&spec).await.err().unwrap() });
    assert!(error.to_string().contains("accepts sec=krb5:krb5i:krb5p"), "{error}");
    let error = block_on(async { target("vers=4.1&sec=sys").connect(&spec).await.err().unwrap() });
    assert!(error.to_string().contains("Kerberos only (sec=krb5, krb5i or krb5p"), "{error}");
}

#[test]
fn nfs_conforms_at_our_server_with_kerberos_within_tls() {
    needs!(Realm::NEEDS);
    let Some(realm) = Realm::enter("embedded::nfs_conforms_at_our_server_with_kerberos_within_tls") else {
        return;
    };
    let certificates = Certificates::new().unwrap();
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new(64 << 20));
    let keys = Some(AcceptorKeys::read(&realm.keytab()).unwrap());
    let nfs_tls = Some(NfsTls { tls: certificates.server(Certificates::SERVER, None), required: true });
    let nfs = Some(([127, 0, 0, 1], 0).into());
    let options = ServeOptions { nfs, keys, nfs_tls, ..ServeOptions::default() };
    let servers = EmbeddedServers::start(&volume, &options).unwrap();
    let port = servers.addr("nfs").unwrap().port();
    for options in
        [&format!("mountport={port}&sec=krb5p"), "vers=4.1&sec=krb5i&nconnect=2", "vers=4.2&sec=krb5"]
    {
        let text = format!("nfs://localhost:{port}/share?xprtsec=tls&{options}");
        let target = NfsTarget::from_url(url(&text)).unwrap().with_tickets(tickets(&realm, "alice"));
        conform(&target.with_tls(certificates.client(Certificates::AUTHORITY, None)), &Suite::default());
    }
}
