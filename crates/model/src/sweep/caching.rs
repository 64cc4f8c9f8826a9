//! Tests of the rights to cache a file: leases of SMB, delegations of NFSv4.

use super::declaration::{Declaration, Requirement, Succession};
use super::metadata_group::MetadataGroup;
use super::metadata_test::MetadataTest;

const fn caching(test: MetadataTest, name: &'static str, about: &'static str) -> Declaration {
    Declaration::new(test, name, MetadataGroup::Locks, about)
}

pub(super) const LEASE_GRANT: Declaration = Declaration {
    operation: Some("an open with a request for a lease, and its close"),
    requirement: Some(Requirement::Leases),
    ..caching(
        MetadataTest::LeaseGrant,
        "lease-grant",
        "Opens a file with a request for a lease on reads, writes and the handle, and closes it; an operation is both.",
    )
};

pub(super) const LEASE_BREAK: Declaration = Declaration {
    operation: Some("an open of a file whose lease another session gives back first"),
    requirement: Some(Requirement::WriteLeases),
    second_session: true,
    // A job opens the file with the session that holds the lease, and closes it with both.
    succession: Succession::Interrupted,
    ..caching(
        MetadataTest::LeaseBreak,
        "lease-break",
        "Opens a file on which another session holds a lease, which the server breaks; an operation is that open.",
    )
};

pub(super) const DELEGATION_GRANT: Declaration = Declaration {
    operation: Some("an open with the wish for a delegation, the return of the delegation and the close"),
    requirement: Some(Requirement::Delegations),
    ..caching(
        MetadataTest::DelegationGrant,
        "delegation-grant",
        "Opens a file with the wish for a delegation, returns it and closes the file; an operation is all of it.",
    )
};

pub(super) const DELEGATION_RECALL: Declaration = Declaration {
    operation: Some("an open of a file whose delegation another session returns first"),
    requirement: Some(Requirement::Delegations),
    second_session: true,
    // A job opens the file with the session that holds the delegation, and closes it with both.
    succession: Succession::Interrupted,
    ..caching(
        MetadataTest::DelegationRecall,
        "delegation-recall",
        "Opens a file of which another session holds a delegation, which the server recalls; an operation is that open.",
    )
};
