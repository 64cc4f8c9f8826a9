//! The analysis as JSON, in the schema of docs/schemas.

use sharebench_analysis::Analysis;

/// Renders the analysis as indented JSON.
///
/// # Errors
/// Never in practice: strings, numbers and lists always have a JSON form.
pub fn json(analysis: &Analysis) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(analysis)
}
