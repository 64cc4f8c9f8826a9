//! Findings and proofs as JSON, in a versioned schema.

use serde::Serialize;

use crate::{Finding, Proof};

/// Name and version of the schema; the version changes when a field changes its meaning or goes away.
const SCHEMA: &str = "sharebench.doctor/1";

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    findings: &'a [Finding],
    proofs: &'a [Proof],
}

/// Both as one JSON document; either may be empty.
pub fn to_json(findings: &[Finding], proofs: &[Proof]) -> String {
    // Plain structs of texts and numbers: this cannot fail.
    serde_json::to_string_pretty(&Document { schema: SCHEMA, findings, proofs }).unwrap_or_default()
}
