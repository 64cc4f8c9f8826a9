//! A plan as text: what is stored with a run, so that it can be run again.

use std::fmt::{Display, Write};
use std::time::Duration;

use crate::plan::{MetadataAxes, Plan, Sweep, Verify};
use crate::values::{Arrivals, Policies, duration_text};
use crate::workload::TypedWorkload;

impl Plan {
    /// The plan as TOML; [`Plan::parse`] gives the same plan back.
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        let top = [
            ("title", self.title.as_ref().map(quoted)),
            ("seed", self.seed.map(|seed| quoted(format!("{seed:#x}")))),
            ("repetitions", self.repetitions.map(|n| n.to_string())),
            ("precision", self.precision.map(quoted)),
            ("time_budget", self.budget.map(duration)),
            ("min_sample_time", self.min_sample_time.map(duration)),
            ("slice_time", self.slice_time.map(duration)),
            ("verify", self.verify.map(Verify::name).map(quoted)),
            ("timeout", self.timeout.map(duration)),
            ("pre_step_cmd", self.pre_step_cmd.as_ref().map(quoted)),
            ("link", self.link.map(quoted)),
        ];
        fields(&mut text, &top);
        for target in &self.targets {
            text.push_str("\n[[target]]\n");
            fields(&mut text, &[("name", Some(quoted(&target.name))), ("url", Some(quoted(&target.url)))]);
        }
        self.studies(&mut text);
        text
    }

    fn studies(&self, text: &mut String) {
        if let Some(sweep) = &self.sweep {
            text.push_str("\n[sweep]\n");
            let lists = [
                ("auto", sweep.auto.map(quoted)),
                ("file_sizes", sweep.file_sizes.as_deref().map(quoted_list)),
                ("record_sizes", sweep.record_sizes.as_deref().map(quoted_list)),
                ("tests", sweep_tests(sweep)),
                ("depths", sweep.depths.as_deref().map(numbers)),
                ("jobs", sweep.jobs.as_deref().map(numbers)),
                ("shared_file", sweep.shared_file.map(|shared| shared.to_string())),
                ("align", sweep.align.as_deref().map(quoted_list)),
                ("stride", sweep.stride.as_deref().map(numbers)),
                ("read_percent", sweep.read_percent.as_deref().map(numbers)),
                ("stream_buffer", sweep.stream_buffer.map(quoted)),
            ];
            fields(text, &lists);
            metadata_axes(text, &sweep.metadata);
            policies(text, &sweep.policies);
        }
        if let Some(depth) = &self.depth {
            text.push_str("\n[depth]\n");
            let lists = [
                ("file_size", depth.file_size.map(quoted)),
                ("record_sizes", depth.record_sizes.as_deref().map(quoted_list)),
                ("depths", depth.depths.as_deref().map(numbers)),
                ("tests", depth.tests.as_deref().map(quoted_list)),
            ];
            fields(text, &lists);
            policies(text, &depth.policies);
        }
        if let Some(io500) = &self.io500 {
            text.push_str("\n[io500]\n");
            let lines = [
                ("jobs", io500.jobs.map(|n| n.to_string())),
                ("file_size", io500.file_size.map(quoted)),
                ("entries", io500.entries.map(|n| n.to_string())),
            ];
            fields(text, &lines);
        }
        if let Some(load) = &self.load {
            text.push_str("\n[load]\n");
            let lists = [
                ("workload", load.workload.as_ref().map(quoted)),
                ("users", load.users.as_deref().map(numbers)),
                ("users_per_session", load.users_per_session.map(|n| n.to_string())),
                ("arrivals", load.arrivals.map(Arrivals::name).map(quoted)),
                ("rates", load.rates.as_deref().map(numbers)),
                ("think", load.think.as_ref().map(quoted)),
                ("visit", load.visit.map(|n| n.to_string())),
                ("ramp", load.ramp.map(duration)),
                ("warm_up", load.warm_up.map(duration)),
                ("measure", load.measure.map(duration)),
                ("max_extensions", load.max_extensions.map(|n| n.to_string())),
                ("scale", load.scale.map(quoted)),
                ("block", load.block.map(quoted)),
                ("until_stress", load.until_stress.map(|on| on.to_string())),
                ("find_knee", load.find_knee.map(|flag| flag.to_string())),
                ("slo", load.slo.as_ref().map(quoted)),
                ("keep_data", load.keep_data.map(|on| on.to_string())),
                ("keep_users", load.keep_users.map(|on| on.to_string())),
            ];
            fields(text, &lists);
        }
        if let Some(probes) = &self.cache_probes {
            text.push_str("\n[cache_probes]\n");
            let lines = [
                ("cold", probes.cold.map(quoted)),
                ("count", probes.count.map(|n| n.to_string())),
                ("distance", probes.distance.map(quoted)),
                ("server_disk_stat", probes.server_disk_stat.as_ref().map(quoted)),
                ("bypass", probes.bypass.as_deref().map(quoted_list)),
            ];
            fields(text, &lines);
        }
        if let Some(workload) = &self.workload {
            workload_text(text, workload);
        }
    }
}

/// The tests of a sweep, those of records first.
fn sweep_tests(sweep: &Sweep) -> Option<String> {
    let records = sweep.tests.as_deref();
    let metadata = sweep.metadata.tests.as_deref();
    let names = records.unwrap_or_default().iter().map(ToString::to_string);
    let names: Vec<String> =
        names.chain(metadata.unwrap_or_default().iter().map(ToString::to_string)).collect();
    (records.is_some() || metadata.is_some()).then(|| quoted_list(&names))
}

fn metadata_axes(text: &mut String, axes: &MetadataAxes) {
    let lists = [
        ("entries", axes.entries.as_deref().map(numbers)),
        ("layouts", axes.layouts.as_deref().map(quoted_list)),
        ("name_lengths", axes.name_lengths.as_deref().map(numbers)),
        ("entry_sizes", axes.entry_sizes.as_deref().map(quoted_list)),
        ("filled", axes.filled.map(|filled| filled.to_string())),
        ("copy_sizes", axes.copy_sizes.as_deref().map(quoted_list)),
        ("batch", axes.batch.map(|n| n.to_string())),
        ("tree_depth", axes.tree_depth.map(|n| n.to_string())),
        ("tree_fan_out", axes.tree_fan_out.map(|n| n.to_string())),
    ];
    fields(text, &lists);
}

fn workload_text(text: &mut String, workload: &TypedWorkload) {
    text.push_str("\n[workload]\n");
    let top = [
        ("name", workload.name.as_ref().map(quoted)),
        ("source", workload.source.as_ref().map(quoted)),
        ("order", workload.order.map(quoted)),
        ("loadfile", workload.loadfile.as_ref().map(quoted)),
        ("script", workload.script.as_deref().map(lines)),
    ];
    fields(text, &top);
    if let Some(unit) = &workload.unit {
        text.push_str("\n[workload.unit]\n");
        let lines = [
            ("name", unit.name.as_ref().map(quoted)),
            ("transactions", unit.transactions.as_ref().map(quoted)),
            ("objective", unit.objective.map(quoted)),
        ];
        fields(text, &lines);
    }
    for class in &workload.files {
        text.push_str("\n[[workload.files]]\n");
        let lines = [
            ("name", class.name.as_ref().map(quoted)),
            ("count", class.count.map(|n| n.to_string())),
            ("size", class.size.as_ref().map(quoted)),
            ("data", class.data.map(quoted)),
            ("owner", class.owner.map(quoted)),
            ("fan_out", class.fan_out.map(|n| n.to_string())),
            ("depth", class.depth.map(|n| n.to_string())),
        ];
        fields(text, &lines);
    }
    for transaction in &workload.transactions {
        text.push_str("\n[[workload.transactions]]\n");
        let lines = [
            ("name", transaction.name.as_ref().map(quoted)),
            ("weight", transaction.weight.map(|n| n.to_string())),
            ("files", transaction.files.as_ref().map(quoted)),
            ("deadline", transaction.deadline.map(duration)),
            ("operations", transaction.operations.as_deref().map(quoted_list)),
        ];
        fields(text, &lines);
    }
}

fn policies(text: &mut String, policies: &Policies) {
    let lists = [
        ("cache", policies.cache.as_deref().map(quoted_list)),
        ("sync", policies.sync.as_deref().map(quoted_list)),
        ("server_cache", policies.server_cache.as_deref().map(quoted_list)),
        ("displace", policies.displace.map(quoted)),
        ("include", policies.include.as_deref().map(quoted_list)),
    ];
    fields(text, &lists);
}

fn fields(text: &mut String, fields: &[(&str, Option<String>)]) {
    for (name, value) in fields {
        if let Some(value) = value {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{name} = {value}");
        }
    }
}

fn quoted(value: impl Display) -> String {
    let mut text = String::from("\"");
    for c in value.to_string().chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(text, "\\u{:04X}", c as u32);
            }
            c => text.push(c),
        }
    }
    text + "\""
}

/// A text of several lines, as a multi-line TOML string where possible.
fn lines(text: &str) -> String {
    let plain = |c: char| c == '\n' || c == '\t' || !c.is_control();
    if text.contains("'''") || text.ends_with('\'') || !text.chars().all(plain) {
        return quoted(text);
    }
    format!("'''\n{text}'''")
}

fn quoted_list<T: Display>(list: &[T]) -> String {
    format!("[{}]", list.iter().map(quoted).collect::<Vec<_>>().join(", "))
}

fn numbers(list: &[u32]) -> String {
    format!("[{}]", list.iter().map(u32::to_string).collect::<Vec<_>>().join(", "))
}

fn duration(value: Duration) -> String {
    quoted(duration_text(value))
}
