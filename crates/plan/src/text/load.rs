//! Users in plan text: the sections `[load]` and `[workload]`.

use std::str::FromStr;

use toml::de::{DeTable, DeValue};

use super::parse::{FieldNames, Item, Reader};
use crate::plan::Load;
use crate::workload::{FileClass, TypedTransaction, TypedUnit, TypedWorkload};

const FILES: [&str; 7] = ["name", "count", "size", "data", "owner", "fan_out", "depth"];
const UNIT: [&str; 3] = ["name", "transactions", "objective"];
const TRANSACTIONS: [&str; 5] = ["name", "weight", "files", "deadline", "operations"];

impl Reader<'_> {
    pub(crate) fn load(&mut self, load: &mut Load, name: &str, value: &Item<'_>) -> FieldNames {
        match name {
            "workload" => load.workload = self.string("load.workload", value),
            "users" => load.users = self.values("load.users", value),
            "users_per_session" => {
                load.users_per_session = self.count("load.users_per_session", value);
            }
            "arrivals" => load.arrivals = self.text("load.arrivals", value),
            "rates" => load.rates = self.values("load.rates", value),
            "think" => load.think = self.text("load.think", value),
            "visit" => load.visit = self.count("load.visit", value),
            "ramp" => load.ramp = self.duration("load.ramp", value),
            "warm_up" => load.warm_up = self.duration("load.warm_up", value),
            "measure" => load.measure = self.duration("load.measure", value),
            "max_extensions" => load.max_extensions = self.count("load.max_extensions", value),
            "scale" => load.scale = self.parsed("load.scale", value),
            "block" => load.block = self.parsed("load.block", value),
            "until_stress" => load.until_stress = self.flag("load.until_stress", value),
            "find_knee" => load.find_knee = self.flag("load.find_knee", value),
            "slo" => load.slo = self.text("load.slo", value),
            "keep_data" => load.keep_data = self.flag("load.keep_data", value),
            "keep_users" => load.keep_users = self.flag("load.keep_users", value),
            _ => {}
        }
        &[
            "workload",
            "users",
            "users_per_session",
            "arrivals",
            "rates",
            "think",
            "visit",
            "ramp",
            "warm_up",
            "measure",
            "max_extensions",
            "scale",
            "block",
            "until_stress",
            "find_knee",
            "slo",
            "keep_data",
            "keep_users",
        ]
    }

    pub(crate) fn workload(
        &mut self,
        workload: &mut TypedWorkload,
        name: &str,
        value: &Item<'_>,
    ) -> FieldNames {
        match name {
            "name" => workload.name = self.string("workload.name", value),
            "source" => workload.source = self.string("workload.source", value),
            "order" => workload.order = self.text("workload.order", value),
            "loadfile" => workload.loadfile = self.string("workload.loadfile", value),
            "script" => workload.script = self.string("workload.script", value),
            "unit" => workload.unit = self.section("workload.unit", value, Self::unit),
            "files" => {
                for (index, table) in self.tables("workload.files", value) {
                    let class = self.file_class(index, table);
                    workload.files.push(class);
                }
            }
            "transactions" => {
                for (index, table) in self.tables("workload.transactions", value) {
                    let transaction = self.transaction(index, table);
                    workload.transactions.push(transaction);
                }
            }
            _ => {}
        }
        &["name", "source", "unit", "order", "loadfile", "script", "files", "transactions"]
    }

    fn unit(&mut self, unit: &mut TypedUnit, name: &str, value: &Item<'_>) -> FieldNames {
        match name {
            "name" => unit.name = self.string("workload.unit.name", value),
            "transactions" => unit.transactions = self.string("workload.unit.transactions", value),
            "objective" => unit.objective = self.text("workload.unit.objective", value),
            _ => {}
        }
        &UNIT
    }

    /// The tables of a list; what is none is blamed.
    fn tables<'v>(&mut self, field: &str, value: &'v Item<'v>) -> Vec<(usize, &'v DeTable<'v>)> {
        let hint = format!("write [[{field}]] with two brackets on a line of its own");
        let DeValue::Array(items) = value.get_ref() else {
            self.blame(field, value, "is not a list of tables", &hint);
            return Vec::new();
        };
        let mut found = Vec::new();
        for (index, item) in items.iter().enumerate() {
            self.note_line(&format!("{field}.{index}"), item);
            match item.get_ref() {
                DeValue::Table(table) => found.push((index, table)),
                _ => self.blame(field, item, "is not a table", &hint),
            }
        }
        found
    }

    fn file_class(&mut self, index: usize, table: &DeTable<'_>) -> FileClass {
        let section = format!("workload.files.{index}");
        self.fields(&section, table, |reader, class: &mut FileClass, name, field, value| {
            match name {
                "name" => class.name = reader.string(field, value),
                "count" => class.count = reader.count(field, value),
                "size" => class.size = reader.parsed(field, value),
                "data" => class.data = reader.text(field, value),
                "owner" => class.owner = reader.text(field, value),
                "fan_out" => class.fan_out = reader.count(field, value),
                "depth" => class.depth = reader.count(field, value),
                _ => {}
            }
            &FILES
        })
    }

    fn transaction(&mut self, index: usize, table: &DeTable<'_>) -> TypedTransaction {
        let section = format!("workload.transactions.{index}");
        self.fields(&section, table, |reader, transaction: &mut TypedTransaction, name, field, value| {
            match name {
                "name" => transaction.name = reader.string(field, value),
                "weight" => transaction.weight = reader.count(field, value),
                "files" => transaction.files = reader.string(field, value),
                "deadline" => transaction.deadline = reader.duration(field, value),
                "operations" => transaction.operations = reader.texts(field, value),
                _ => {}
            }
            &TRANSACTIONS
        })
    }

    /// A list of texts, each as the type itself reads it.
    fn texts<T: FromStr<Err = String>>(&mut self, field: &str, value: &Item<'_>) -> Option<Vec<T>> {
        let DeValue::Array(items) = value.get_ref() else {
            self.blame(field, value, "is not a list", "write it in brackets, such as [\"open\", \"close\"]");
            return None;
        };
        Some(items.iter().filter_map(|item| self.text(field, item)).collect())
    }
}
