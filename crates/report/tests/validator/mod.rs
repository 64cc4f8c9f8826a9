//! A validator of the part of JSON Schema (2020-12) that our schemas use.

use serde_json::{Map, Value as Json};

/// What is wrong with `value`, each with its place; a keyword that is not known is wrong with the schema.
pub fn mistakes(schema: &Json, value: &Json) -> Vec<String> {
    let mut found = Vec::new();
    check(schema, schema, value, "$", &mut found);
    found
}

const SAID_ELSEWHERE: [&str; 5] = ["$schema", "$id", "$defs", "title", "description"];

fn check(root: &Json, schema: &Json, value: &Json, place: &str, found: &mut Vec<String>) {
    let Some(keywords) = schema.as_object() else { return };
    for (keyword, wanted) in keywords {
        match keyword.as_str() {
            "$ref" => {
                let path = wanted.as_str().unwrap_or_default().trim_start_matches('#');
                match root.pointer(path) {
                    Some(there) => check(root, there, value, place, found),
                    None => found.push(format!("{place}: nothing at {wanted}")),
                }
            }
            "type" => {
                let names = names(wanted);
                if !names.iter().any(|name| is_a(name, value)) {
                    found.push(format!("{place}: not {}", names.join(" or ")));
                }
            }
            "enum" => {
                if !wanted.as_array().is_some_and(|known| known.contains(value)) {
                    found.push(format!("{place}: {value} is none of {wanted}"));
                }
            }
            "anyOf" => {
                let kinds = wanted.as_array().map_or(&[][..], Vec::as_slice);
                let fits = |kind: &Json| {
                    let mut wrong = Vec::new();
                    check(root, kind, value, place, &mut wrong);
                    wrong.is_empty()
                };
                if !kinds.iter().any(fits) {
                    found.push(format!("{place}: fits none of {} kinds", kinds.len()));
                }
            }
            "required" => {
                let missing = names(wanted);
                let missing = missing.iter().filter(|name| value.is_object() && value.get(**name).is_none());
                found.extend(missing.map(|name| format!("{place}: '{name}' is missing")));
            }
            "properties" | "additionalProperties" => members(root, keywords, value, place, keyword, found),
            "items" | "prefixItems" | "minItems" | "maxItems" => {
                items(root, (keyword, wanted), value, place, found);
            }
            known if SAID_ELSEWHERE.contains(&known) => {}
            other => found.push(format!("{place}: the keyword {other} is not known here")),
        }
    }
}

/// A text, or a list of texts.
fn names(wanted: &Json) -> Vec<&str> {
    match wanted {
        Json::Array(names) => names.iter().filter_map(Json::as_str).collect(),
        name => name.as_str().into_iter().collect(),
    }
}

fn is_a(name: &str, value: &Json) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        _ => false,
    }
}

fn members(
    root: &Json,
    keywords: &Map<String, Json>,
    value: &Json,
    place: &str,
    keyword: &str,
    found: &mut Vec<String>,
) {
    let known = keywords.get("properties").and_then(Json::as_object);
    for (name, member) in value.as_object().into_iter().flatten() {
        let inside = format!("{place}.{name}");
        match (known.and_then(|known| known.get(name)), keyword) {
            (Some(schema), "properties") => check(root, schema, member, &inside, found),
            (None, "additionalProperties") => match &keywords[keyword] {
                Json::Bool(false) => found.push(format!("{place}: '{name}' is not in the schema")),
                schema => check(root, schema, member, &inside, found),
            },
            _ => {}
        }
    }
}

fn items(root: &Json, (keyword, wanted): (&str, &Json), value: &Json, place: &str, found: &mut Vec<String>) {
    let Some(values) = value.as_array() else { return };
    let limit = wanted.as_u64().unwrap_or(0) as usize;
    match keyword {
        "minItems" if values.len() < limit => found.push(format!("{place}: fewer than {limit} items")),
        "maxItems" if values.len() > limit => found.push(format!("{place}: more than {limit} items")),
        "items" => {
            for (index, item) in values.iter().enumerate() {
                check(root, wanted, item, &format!("{place}[{index}]"), found);
            }
        }
        "prefixItems" => {
            for (index, (item, schema)) in
                values.iter().zip(wanted.as_array().into_iter().flatten()).enumerate()
            {
                check(root, schema, item, &format!("{place}[{index}]"), found);
            }
        }
        _ => {}
    }
}
