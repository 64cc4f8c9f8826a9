//! Findings and proofs as JSON, in a versioned schema.

use serde::Serialize;

use crate::{Examination, Finding, Proof};

/// Name and version of the schema. The version changes when a field changes its meaning or is removed.
const SCHEMA: &str = "sharebench.doctor/1";

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    findings: Vec<&'a Finding>,
    smallest_difference: Option<f64>,
    proofs: &'a [Proof],
}

/// Formats an examination and proofs, of which there may be none, as one JSON document.
pub fn to_json(examination: &Examination, proofs: &[Proof]) -> String {
    let findings = examination.findings().collect();
    let smallest_difference = examination.smallest_difference;
    let document = Document { schema: SCHEMA, findings, smallest_difference, proofs };
    // Serialising plain structs of texts and numbers cannot fail.
    serde_json::to_string_pretty(&document).unwrap_or_default()
}
