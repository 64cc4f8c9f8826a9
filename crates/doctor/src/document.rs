//! Findings and proofs as JSON, in a versioned schema.

use serde::Serialize;

use crate::{Finding, Proof};

/// Name and version of the schema. The version changes when a field changes its meaning or is removed.
const SCHEMA: &str = "sharebench.doctor/1";

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    findings: &'a [Finding],
    proofs: &'a [Proof],
}

/// Formats findings and proofs as one JSON document; either may be empty.
pub fn to_json(findings: &[Finding], proofs: &[Proof]) -> String {
    // Serialising plain structs of texts and numbers cannot fail.
    serde_json::to_string_pretty(&Document { schema: SCHEMA, findings, proofs }).unwrap_or_default()
}
