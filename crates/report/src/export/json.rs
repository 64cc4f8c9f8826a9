//! The analysis as JSON, in the schema of docs/schemas.

use serde::Serialize;
use sharebench_analysis::Analysis;

/// Identifier of docs/schemas/compare-1.json.
const COMPARE_SCHEMA: &str = "urn:sharebench:schema:compare:1";

/// A document with the identifier of its schema as the first field, so that a reader knows the version.
#[derive(Serialize)]
pub(super) struct Document<'d, D> {
    pub schema: &'static str,
    #[serde(flatten)]
    pub document: &'d D,
}

/// Renders the analysis as indented JSON.
///
/// # Errors
/// Never in practice: strings, numbers and lists always have a JSON form.
pub fn json(analysis: &Analysis) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(&Document { schema: COMPARE_SCHEMA, document: analysis })
}
