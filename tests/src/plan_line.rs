//! Command lines with fields that only plan files have: `plan:min_sample_time=5ms` next to the options.

use std::fmt::Write as _;

/// Keys of every plan.
const TOP: [&str; 11] = [
    "seed",
    "verify",
    "pre_step_cmd",
    "timeout",
    "link",
    "title",
    "repetitions",
    "precision",
    "time_budget",
    "min_sample_time",
    "slice_time",
];
/// Options of `run` with a value.
const OF_RUN: [&str; 7] =
    ["password-file", "identity", "work-dir", "prometheus", "server-metrics", "db", "report"];
/// Options without a value, and the value in a plan; none for those of `run`.
const SWITCHES: [(&str, Option<&str>); 10] = [
    ("quiet", None),
    ("quick", Some("6")),
    ("json", None),
    ("dashboard", None),
    ("auto", Some("\"full\"")),
    ("shared-file", Some("true")),
    ("filled", Some("true")),
    ("until-stress", Some("true")),
    ("find-knee", Some("true")),
    ("keep-data", Some("true")),
];
/// Keys whose value is one text, whatever it contains.
const TEXTS: [&str; 4] = ["pre_step_cmd", "title", "slo", "think"];

/// The text of a plan, and the words after `run FILE`; none for a line without a word `plan:KEY=VALUE`.
///
/// # Panics
/// If an option has no counterpart in plans.
pub fn plan_of_line(line: &[&str]) -> Option<(String, Vec<String>)> {
    let [command @ ("sweep" | "depth" | "load"), words @ ..] = line else { return None };
    if !words.iter().any(|word| word.starts_with("plan:")) {
        return None;
    }
    let mut top = String::new();
    let mut fields = String::new();
    let mut probes = String::new();
    let mut workload = String::new();
    let mut targets = Vec::new();
    let mut varied = Vec::new();
    let mut rest = Vec::new();
    let mut section = *command;
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let Some(option) = word.strip_prefix("--").or(word.strip_prefix("plan:")) else {
            if *word == "-q" {
                rest.push("--quiet".to_owned());
            } else {
                targets.push((*word).to_owned());
            }
            continue;
        };
        let (name, value) =
            option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
        if let (Some((_, switched)), None) = (SWITCHES.iter().find(|(switch, _)| *switch == name), value) {
            match switched {
                Some(value) if name == "quick" => write_field(&mut top, "repetitions", value),
                None => rest.push((*word).to_owned()),
                Some(value) => write_field(&mut fields, name, value),
            }
            continue;
        }
        let value = value.unwrap_or_else(|| words.next().expect("a value"));
        let key = name.replace('-', "_");
        match name {
            _ if OF_RUN.contains(&name) => rest.extend([format!("--{name}"), value.to_owned()]),
            "preset" => panic!("no field of a plan: --{name}"),
            "vary" => varied.push(value.split_once('=').expect("NAME=VALUE,...")),
            "loadfile" => {
                workload = format!("[workload]\nname = \"replayed\"\nloadfile = {value:?}\n");
            }
            // Its phases have a section of their own.
            "tests" if value == "io500" => section = value,
            "file-sizes" if section == "io500" => {
                write_field(&mut fields, "file_size", &typed("file_size", value));
            }
            "cache-probes" => write_field(&mut probes, "cold", &typed("cold", value)),
            "bypass" => write_field(&mut probes, "bypass", &format!("[{value:?}]")),
            _ => match name.strip_prefix("cache_probes.") {
                Some(key) => write_field(&mut probes, key, &typed(key, value)),
                None if TOP.contains(&key.as_str()) => write_field(&mut top, &key, &typed(&key, value)),
                None => write_field(&mut fields, &key, &typed(&key, value)),
            },
        }
    }
    for (name, values) in varied {
        let all = |target: String| {
            let mark = if target.contains('?') { '&' } else { '?' };
            values.split(',').map(move |value| format!("{target}{mark}{name}={value}")).collect::<Vec<_>>()
        };
        targets = targets.into_iter().flat_map(all).collect();
    }
    let targets: String = targets.iter().map(|word| target(word)).collect();
    if top.contains("pre_step_cmd") {
        rest.push("--allow-pre-step-cmd".to_owned());
    }
    if !probes.is_empty() {
        probes.insert_str(0, "[cache_probes]\n");
    }
    Some((format!("{top}{targets}[{section}]\n{fields}{probes}{workload}"), rest))
}

fn write_field(text: &mut String, key: &str, value: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{} = {value}", key.replace('-', "_"));
}

/// A value as TOML: a list if the option has several values.
fn typed(key: &str, value: &str) -> String {
    let one = |value: &str| {
        let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
        if is_number || ["true", "false"].contains(&value) { value.to_owned() } else { format!("{value:?}") }
    };
    if TEXTS.contains(&key) || !value.contains(',') {
        return one(value);
    }
    format!("[{}]", value.split(',').map(one).collect::<Vec<_>>().join(", "))
}

/// A target: `NAME=URL`, a URL or a path.
fn target(word: &str) -> String {
    let named = word.split_once('=').filter(|(name, _)| !name.contains(['/', ':', '?', '.']));
    let (name, url) = named.map_or((String::new(), word), |(name, url)| (format!("name = {name:?}\n"), url));
    format!("[[target]]\n{name}url = {url:?}\n")
}

#[cfg(test)]
mod tests {
    use super::plan_of_line;

    #[test]
    fn options_and_fields_become_a_plan() {
        let line = "sweep a=./x --quiet --tests read,write plan:min_sample_time=5ms plan:batch=10 --jobs=2 --db y.db";
        let line: Vec<&str> = line.split(' ').collect();
        let (plan, rest) = plan_of_line(&line).expect("a plan");
        assert_eq!(
            plan,
            "min_sample_time = \"5ms\"\n[[target]]\nname = \"a\"\nurl = \"./x\"\n[sweep]\n\
             tests = [\"read\", \"write\"]\nbatch = 10\njobs = 2\n"
        );
        assert_eq!(rest, ["--quiet", "--db", "y.db"]);
        assert_eq!(plan_of_line(&["sweep", "./x"]), None);
    }
}
