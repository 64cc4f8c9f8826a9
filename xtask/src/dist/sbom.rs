//! The list of dependencies as `CycloneDX` 1.5 (ECMA-424).

use serde_json::{Value, json};

use super::Release;
use super::dependency::Dependency;

/// Returns the document. It has neither serial number nor time, so that it is the same for the same program.
pub fn document(release: &Release, dependencies: &[Dependency]) -> String {
    let components: Vec<Value> = dependencies
        .iter()
        .map(|Dependency { name, version, licence, .. }| {
            let purl = format!("pkg:cargo/{name}@{version}");
            // Old manifests separate alternatives by a slash, which SPDX expressions do not have.
            let licence = licence.replace('/', " OR ");
            json!({
                "type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl,
                "licenses": [{ "expression": licence }],
            })
        })
        .collect();
    let program = json!({
        "type": "application", "bom-ref": "sharebench", "name": "sharebench", "version": release.version,
        "licenses": [{ "expression": "MIT OR Apache-2.0" }],
    });
    let document = json!({
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": { "component": program }, "components": components,
    });
    format!("{document:#}\n")
}
