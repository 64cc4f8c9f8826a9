//! Tickets and security contexts of crate `gss` against MIT's KDC and library.

use std::sync::Arc;

use sharebench_gss::{
    Acceptor, AcceptorKeys, ContextStep, Credential, Encryption, GssError, Identity, Initiator,
    SecurityContext, Service,
};
use sharebench_target::Secret;
use sharebench_tests::{Realm, needs};

const PRINCIPAL: &str = "alice@LAB.TEST";

fn service() -> Service {
    Service::on_host("nfs", "localhost")
}

/// Both sides of an established context.
fn establish(
    credential: &Arc<Credential>,
    keys: &AcceptorKeys,
    service: &Service,
) -> (SecurityContext, SecurityContext) {
    let mut client = Initiator::new(Arc::clone(credential), service);
    let mut server = Acceptor::new(keys.clone());
    let ContextStep::Continue(token) = client.step(&[]).unwrap() else { panic!("authentication is mutual") };
    let ContextStep::Done(answer) = server.step(&token).unwrap() else {
        panic!("Kerberos has one round trip")
    };
    assert_eq!(client.step(&answer).unwrap(), ContextStep::Done(Vec::new()));
    (client.into_context().unwrap(), server.into_context().unwrap())
}

#[test]
fn tickets_come_from_the_cache_a_keytab_and_a_password() {
    needs!(Realm::NEEDS);
    let Some(realm) = Realm::enter("contexts::tickets_come_from_the_cache_a_keytab_and_a_password") else {
        return;
    };
    let missing = Identity::ticket_cache().acquire().unwrap_err();
    assert!(missing.is_missing_ticket(), "{missing}");
    let keys = AcceptorKeys::read(&realm.keytab()).unwrap();
    let by_keytab = Identity::keytab(&realm.user_keytab(), "alice");
    let by_password = Identity::password("alice", Secret::new(Realm::PASSWORD));
    for identity in [by_keytab, by_password] {
        let credential = Arc::new(identity.acquire().unwrap());
        assert_eq!(credential.principal(), PRINCIPAL);
        let (client, server) = establish(&credential, &keys, &service());
        assert_eq!(server.client(), PRINCIPAL);
        assert_eq!(client.session_key().unwrap(), server.session_key().unwrap());
        assert!(!realm.has_ticket(), "the user's cache was changed");
    }
    realm.log_in(&["alice"]).unwrap();
    for identity in [Identity::ticket_cache(), Identity::cached("alice")] {
        let credential = Arc::new(identity.acquire().unwrap());
        assert_eq!(credential.principal(), PRINCIPAL);
        assert!((1..=36_000).contains(&credential.lifetime_s()));
        let (client, _) = establish(&credential, &keys, &service());
        assert!((1..=36_000).contains(&client.lifetime_s().unwrap()));
    }
}

#[test]
fn protection_agrees_with_the_library_in_every_encryption_type() {
    needs!(Realm::NEEDS);
    let Some(realm) = Realm::enter("contexts::protection_agrees_with_the_library_in_every_encryption_type")
    else {
        return;
    };
    let keys = AcceptorKeys::read(&realm.keytab()).unwrap();
    for encryption in Encryption::ALL {
        realm.prefer(encryption.name()).unwrap();
        let credential = Arc::new(Identity::keytab(&realm.user_keytab(), "alice").acquire().unwrap());
        // Each side in turn has its keys taken out of the library, while the other side uses the library.
        for ours_is_client in [true, false] {
            let (client, server) = establish(&credential, &keys, &service());
            let (ours, theirs) = if ours_is_client { (client, server) } else { (server, client) };
            let ours = ours.into_protection().unwrap();
            assert_eq!(ours.encryption(), encryption);
            let message = b"the bytes of a record";
            let mut mic = Vec::new();
            ours.mic(&[&message[..4], &message[4..]], &mut mic);
            theirs.verify_mic(message, &mic).unwrap();
            ours.verify_mic(&[message], &theirs.mic(message).unwrap()).unwrap();
            for len in [0, 1, 15, 16, 17, 5000] {
                let message = vec![0xA5; len];
                assert_eq!(theirs.unwrap(&ours.wrap(&message).unwrap()).unwrap(), message);
                let mut token = theirs.wrap(&message).unwrap();
                let found = ours.unwrap_in_place(&mut token).unwrap();
                assert_eq!(&token[found.place], message);
            }
        }
    }
}

#[test]
fn each_cause_of_a_failed_login_has_its_error() {
    needs!(Realm::NEEDS);
    let Some(realm) = Realm::enter("contexts::each_cause_of_a_failed_login_has_its_error") else { return };
    let wrong = Identity::password("alice", Secret::new("hunter2")).acquire().unwrap_err();
    assert!(matches!(&wrong, GssError::WrongKey { principal, .. } if principal == "alice"), "{wrong:?}");
    let unknown = Identity::password("mallory", Secret::new("hunter2")).acquire().unwrap_err();
    assert!(
        matches!(&unknown, GssError::UnknownPrincipal { principal, .. } if principal == "mallory"),
        "{unknown:?}"
    );
    let realmless = Identity::password("alice@NOWHERE.TEST", Secret::new("hunter2")).acquire().unwrap_err();
    assert!(matches!(realmless, GssError::WrongRealm(_)), "{realmless:?}");
    let keyless = Identity::keytab(&realm.user_keytab(), "mallory").acquire().unwrap_err();
    assert!(
        matches!(keyless, GssError::NotInKeytab { .. } | GssError::UnknownPrincipal { .. }),
        "{keyless:?}"
    );
    let nothing = AcceptorKeys::read(&realm.directory().join("absent")).unwrap_err();
    assert!(matches!(nothing, GssError::NotInKeytab { .. }), "{nothing:?}");

    let credential = Arc::new(Identity::keytab(&realm.user_keytab(), "alice").acquire().unwrap());
    let mut login = Initiator::new(Arc::clone(&credential), &Service::on_host("cifs", "no-such-host"));
    let error = login.step(&[]).unwrap_err();
    assert!(
        matches!(&error, GssError::UnknownService { service, .. } if service == "cifs/no-such-host"),
        "{error:?}"
    );

    let keys = AcceptorKeys::read(&realm.keytab()).unwrap();
    let mut login = Initiator::new(Arc::clone(&credential), &Service::on_host("cifs", "keyless"));
    let ContextStep::Continue(token) = login.step(&[]).unwrap() else { panic!("authentication is mutual") };
    let error = Acceptor::new(keys.clone()).step(&token).unwrap_err();
    assert!(matches!(error, GssError::ServerKey { .. }), "{error:?}");

    let mut login = Initiator::new(credential, &service());
    let ContextStep::Continue(token) = login.step(&[]).unwrap() else { panic!("authentication is mutual") };
    Acceptor::new(keys.clone()).step(&token).unwrap();
    let error = Acceptor::new(keys.clone()).step(&token).unwrap_err();
    assert!(matches!(error, GssError::Replay(_)), "{error:?}");
    let error = Acceptor::new(keys).step(&token[..token.len() - 1]).unwrap_err();
    assert!(matches!(error, GssError::DefectiveToken(_) | GssError::Other(_)), "{error:?}");
    let error = login.step(b"no token at all").unwrap_err();
    assert!(matches!(error, GssError::DefectiveToken(_)), "{error:?}");
}

#[test]
fn tokens_of_other_logins_and_in_another_order_are_rejected() {
    needs!(Realm::NEEDS);
    let Some(realm) = Realm::enter("contexts::tokens_of_other_logins_and_in_another_order_are_rejected")
    else {
        return;
    };
    let keys = AcceptorKeys::read(&realm.keytab()).unwrap();
    let credential = Arc::new(Identity::keytab(&realm.user_keytab(), "alice").acquire().unwrap());
    let begin = || {
        let mut client = Initiator::new(Arc::clone(&credential), &service());
        let ContextStep::Continue(token) = client.step(&[]).unwrap() else {
            panic!("authentication is mutual")
        };
        let mut server = Acceptor::new(keys.clone());
        let ContextStep::Done(answer) = server.step(&token).unwrap() else {
            panic!("Kerberos has one round trip")
        };
        (client, server, token, answer)
    };
    let (mut first, _, first_token, first_answer) = begin();
    let (mut second, _, _, second_answer) = begin();
    // The answers of two logins of one account, exchanged.
    let exchanged = [first.step(&second_answer).unwrap_err(), second.step(&first_answer).unwrap_err()];
    println!("{exchanged:?}");
    // The client's own token as the answer; an answer after the last one; a token to a server that has answered.
    let (mut reflected, _, token, _) = begin();
    println!("{}", reflected.step(&token).unwrap_err());
    let (mut repeated, mut server, _, answer) = begin();
    assert_eq!(repeated.step(&answer).unwrap(), ContextStep::Done(Vec::new()));
    println!("{}", repeated.step(&answer).unwrap_err());
    println!("{}", server.step(&first_token).unwrap_err());
}
