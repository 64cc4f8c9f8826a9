//! Our SMB client with Kerberos against Samba's smbd.

use sharebench_doubles::conformance::Suite;
use sharebench_gss::{Identity, SharedCredential};
use sharebench_model::{ErrorClass, Fact};
use sharebench_smb::SmbTarget;
use sharebench_target::{Secret, UrlPart};
use sharebench_tests::{Realm, Smbd, SmbdOptions, needs};

use crate::adapters::{conform, url};
use crate::connect;

/// smbd with the keys of the realm's services.
fn smbd(realm: &Realm, options: SmbdOptions) -> Smbd {
    Smbd::start(&SmbdOptions { keytab: Some(realm.keytab()), ..options }).unwrap()
}

/// The URL of a share by the name that the realm knows.
fn named(smbd: &Smbd, options: &str) -> String {
    smbd.url("", options).replace("127.0.0.1", "localhost")
}

fn target(text: &str, password: &str) -> SmbTarget {
    SmbTarget::from_url(url(text), Secret::new(password)).unwrap()
}

#[test]
fn smb_conforms_at_smbd_with_keys_from_kerberos() {
    needs!(Realm::NEEDS, Smbd::NEEDS);
    let Some(realm) = Realm::enter("smb::smb_conforms_at_smbd_with_keys_from_kerberos") else { return };
    let server = smbd(&realm, SmbdOptions::default());
    let keytab = Identity::keytab(&realm.user_keytab(), server.user());
    let tickets = SharedCredential::new(keytab);
    for (options, signing, encryption) in [
        ("dialect=2.1&sign=required", "HMAC-SHA256", "off"),
        ("dialect=3.0.2&sign=required", "AES-CMAC", "off"),
        ("dialect=3.0.2&encrypt=required", "off", "AES-128-CCM"),
        ("dialect=3.1.1&sign=required", "AES-GMAC", "off"),
        ("dialect=3.1.1&encrypt=required", "off", "AES-128-GCM"),
    ] {
        let text = named(&server, &format!("auth=kerberos&{options}"));
        let target = target(&text, "").with_tickets(tickets.clone());
        let facts = connect(&target).unwrap();
        let found = [&facts[Fact::Login], &facts[Fact::Signing], &facts[Fact::Encryption]];
        assert_eq!(found, ["Kerberos", signing, encryption]);
        conform(&target, &Suite::default());
    }
    // Keys for AES-256 have the whole session key as their base, which NTLM never shows.
    let long = smbd(&realm, SmbdOptions { cipher: Some("AES-256-GCM"), ..SmbdOptions::default() });
    let target = target(&named(&long, "auth=kerberos&encrypt=required"), "").with_tickets(tickets);
    assert_eq!(connect(&target).unwrap()[Fact::Encryption], "AES-256-GCM");
}

#[test]
fn a_password_a_ticket_and_no_ticket_choose_the_mechanism() {
    needs!(Realm::NEEDS, Smbd::NEEDS);
    let Some(realm) = Realm::enter("smb::a_password_a_ticket_and_no_ticket_choose_the_mechanism") else {
        return;
    };
    let server = smbd(&realm, SmbdOptions::default());
    let mechanism = |options: &str| {
        connect(&target(&named(&server, options), Smbd::PASSWORD)).unwrap()[Fact::Login].clone()
    };
    assert_eq!(mechanism("auth=kerberos"), "Kerberos", "the realm has the same password");
    assert_eq!(mechanism(""), "NTLM", "a password without a ticket");
    realm.log_in(&[server.user()]).unwrap();
    assert_eq!(mechanism(""), "Kerberos", "a ticket is preferred");
    assert_eq!(mechanism("auth=ntlm"), "NTLM");
    let facts = connect(&target(&server.url("", "spn=cifs/localhost"), Smbd::PASSWORD)).unwrap();
    assert_eq!(facts[Fact::Login], "Kerberos", "spn= names the service of an address");
    realm.log_in(&["alice"]).unwrap();
    assert_eq!(mechanism(""), "NTLM", "the ticket belongs to another user");
}

#[test]
fn a_server_that_chooses_ntlm_is_rejected_where_kerberos_is_requested() {
    needs!(Realm::NEEDS, Smbd::NEEDS);
    let test = "smb::a_server_that_chooses_ntlm_is_rejected_where_kerberos_is_requested";
    let Some(realm) = Realm::enter(test) else { return };
    let server = Smbd::start(&SmbdOptions::default()).unwrap();
    let tickets = SharedCredential::new(Identity::keytab(&realm.user_keytab(), server.user()));
    let target = target(&named(&server, "auth=kerberos"), Smbd::PASSWORD).with_tickets(tickets);
    let error = connect(&target).unwrap_err();
    assert_eq!(error.part, UrlPart::Credentials, "{error}");
    assert!(
        matches!(error.class, ErrorClass::Refused | ErrorClass::Protocol | ErrorClass::Unsupported),
        "{error}"
    );
    println!("{error}");
}
