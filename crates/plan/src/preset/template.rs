//! Templates: the text of a preset, in which parameters are left open.
//!
//! ```toml
//! [[parameter]]
//! name = "rate"
//! values = [{ name = "24", time = "41666667ns" }, { name = "30", time = "33333333ns" }]
//! ```
//!
//! declares a parameter with its permitted values, the default first. In every text of the plan, `{rate}` stands for the name of the
//! chosen value, and `{rate.time}` for its field `time`. A table of a list with `when = { rate = ["24"] }` is part of the plan for
//! these values only.

use std::fmt;

use toml::de::{DeArray, DeTable, DeValue};

use crate::plan::Plan;
use crate::values::Mistakes;

/// What users choose.
pub(super) struct Parameter {
    name: String,
    /// What is permitted; the first is the default.
    values: Vec<Value>,
}

impl Parameter {
    fn read(parameter: &DeValue<'_>) -> Option<Self> {
        let name = parameter.get("name")?.get_ref().as_str()?;
        let values = parameter.get("values")?.get_ref().as_array()?.iter();
        let values = values.filter_map(|value| Value::read(name, value.get_ref().as_table()?)).collect();
        Some(Self { name: name.to_owned(), values })
    }
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values: Vec<&str> = self.values.iter().map(|value| value.name.as_str()).collect();
        write!(f, "{}={}", self.name, values.join("|"))
    }
}

/// A value of a parameter.
pub(super) struct Value {
    name: String,
    /// What users write, such as `rate=30`.
    pub assignment: String,
    /// What is left open in the text, such as `{rate.time}`, and the text that replaces it.
    texts: Vec<(String, String)>,
}

impl Value {
    fn read(parameter: &str, fields: &DeTable<'_>) -> Option<Self> {
        let texts = fields.iter().filter_map(|(field, text)| {
            let open = match field.get_ref().as_ref() {
                "name" => format!("{{{parameter}}}"),
                field => format!("{{{parameter}.{field}}}"),
            };
            Some((open, text.get_ref().as_str()?.to_owned()))
        });
        let name = fields.get("name")?.get_ref().as_str()?;
        let assignment = format!("{parameter}={name}");
        Some(Self { name: name.to_owned(), assignment, texts: texts.collect() })
    }
}

/// The plan of a preset before its parameters have values.
pub(super) struct Template {
    /// In the order of the text.
    pub parameters: Vec<Parameter>,
    text: &'static str,
    table: DeTable<'static>,
}

impl Template {
    pub fn parse(text: &'static str) -> Result<Self, Mistakes> {
        let mut table = Plan::parse_table(text)?;
        let declared = table.remove("parameter");
        let declared =
            declared.iter().filter_map(|list| list.get_ref().as_array()).flat_map(|list| list.iter());
        let parameters = declared.filter_map(|parameter| Parameter::read(parameter.get_ref())).collect();
        Ok(Self { parameters, text, table })
    }

    /// Every combination of values, the defaults first.
    pub fn combinations(&self) -> Vec<Vec<&Value>> {
        self.parameters.iter().fold(vec![Vec::new()], |combinations, parameter| {
            let with = |value| combinations.iter().map(move |chosen| [&chosen[..], &[value]].concat());
            parameter.values.iter().flat_map(with).collect()
        })
    }

    /// The combination with these assignments, such as `rate=30,format=4k`, and the defaults of all other parameters.
    pub fn choose(&self, assignments: &str) -> Result<Vec<&Value>, String> {
        let typed = || assignments.split(',').filter(|assignment| !assignment.is_empty());
        let is_in = |chosen: &[&Value], typed| chosen.iter().any(|value| value.assignment == typed);
        let mut combinations = self.combinations();
        if let Some(found) = combinations.iter().position(|chosen| typed().all(|typed| is_in(chosen, typed)))
        {
            return Ok(combinations.swap_remove(found));
        }
        let wrong = typed().find(|typed| !combinations.iter().any(|chosen| is_in(chosen, typed)));
        let known: Vec<String> = self.parameters.iter().map(Parameter::to_string).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        Err(format!("'{}' is not permitted; its parameters are: {known}", wrong.unwrap_or(assignments)))
    }

    /// The name of the workload in plans and results.
    pub fn workload(&self, chosen: &[&Value]) -> String {
        let load = self.table.get("load").and_then(|load| load.get_ref().get("workload"));
        filled(load.and_then(|name| name.get_ref().as_str()).unwrap_or_default(), chosen)
    }

    pub fn plan(&self, chosen: &[&Value]) -> Result<Plan, Mistakes> {
        let mut table = self.table.clone();
        table.iter_mut().for_each(|(_, value)| fill(value.get_mut(), chosen));
        Plan::from_table(self.text, &table)
    }
}

fn fill(value: &mut DeValue<'static>, chosen: &[&Value]) {
    match value {
        DeValue::String(text) => *text = filled(text, chosen).into(),
        DeValue::Array(items) => {
            let all = std::mem::replace(items, DeArray::new()).into_iter();
            *items = all.filter(|item| applies(item.get_ref(), chosen)).collect();
            items.iter_mut().for_each(|item| fill(item.get_mut(), chosen));
        }
        DeValue::Table(table) => {
            table.remove("when");
            table.iter_mut().for_each(|(_, value)| fill(value.get_mut(), chosen));
        }
        _ => {}
    }
}

fn filled(text: &str, chosen: &[&Value]) -> String {
    let texts = chosen.iter().flat_map(|value| &value.texts);
    texts.fold(text.to_owned(), |filled, (open, text)| filled.replace(open, text))
}

/// True for an item that is part of the plan for these values.
fn applies(item: &DeValue<'_>, chosen: &[&Value]) -> bool {
    let Some(when) = item.get("when").and_then(|when| when.get_ref().as_table()) else { return true };
    when.iter().all(|(parameter, names)| {
        let names = names.get_ref().as_array().into_iter().flat_map(|names| names.iter());
        let mut permitted =
            names.filter_map(|name| Some(format!("{}={}", parameter.get_ref(), name.get_ref().as_str()?)));
        permitted.any(|assignment| chosen.iter().any(|value| value.assignment == assignment))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "[[parameter]]\nname = 'size'\nvalues = [{ name = 'small', bytes = '4KiB' }, { name = 'large', bytes = '1MiB' }]\n\
                        [[parameter]]\nname = 'access'\nvalues = [{ name = 'read' }, { name = 'write' }]\n\
                        [load]\nworkload = '{access}-{size}'\n[workload]\n[[workload.files]]\nsize = '{size.bytes}'\n\
                        [[workload.transactions]]\nwhen = { access = ['read'] }\noperations = ['read']\n\
                        [[workload.transactions]]\nwhen = { access = ['write'], size = ['large'] }\noperations = ['write']\n";

    #[test]
    fn values_fill_the_texts_of_a_plan_and_select_its_tables() {
        let template = Template::parse(TEXT).unwrap();
        let names: Vec<String> =
            template.combinations().iter().map(|chosen| template.workload(chosen)).collect();
        assert_eq!(names, ["read-small", "read-large", "write-small", "write-large"]);
        let plan = |assignments| template.plan(&template.choose(assignments).unwrap()).unwrap().to_toml();
        let expected = |workload, size, transaction| {
            let text = format!(
                "[load]\nworkload = '{workload}'\n[workload]\n[[workload.files]]\nsize = '{size}'\n{transaction}"
            );
            Plan::parse(&text).unwrap().to_toml()
        };
        let [read, write] =
            ["read", "write"].map(|op| format!("[[workload.transactions]]\noperations = ['{op}']\n"));
        assert_eq!(plan(""), expected("read-small", "4KiB", read));
        assert_eq!(plan("access=write,size=large"), expected("write-large", "1MiB", write));
        assert_eq!(plan("access=write"), expected("write-small", "4KiB", String::new()));
    }
}
