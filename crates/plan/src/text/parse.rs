//! Plan text: TOML read by hand, so that every mistake has its line, its field and a hint.

use std::str::FromStr;
use std::time::Duration;

use sharebench_model::units::parse_duration;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::plan::{Depth, Plan, Verify};
use crate::values::{Mistake, Mistakes, Policies, TypedTarget, nearest, target_url};

impl Plan {
    /// Reads a plan; all mistakes at once. Values are checked against each other by [`Plan::resolve`].
    pub fn parse(text: &str) -> Result<Self, Mistakes> {
        Self::from_table(text, &Self::parse_table(text)?)
    }

    /// The text as TOML.
    pub(crate) fn parse_table(text: &str) -> Result<DeTable<'_>, Mistakes> {
        let table = DeTable::parse(text).map_err(|error| {
            let line = error.span().map(|span| line_of(text, span.start));
            let problem = error.message().to_owned();
            Mistakes(vec![Mistake {
                field: "plan".into(),
                line,
                problem,
                hint: "the file is not valid TOML".into(),
            }])
        })?;
        Ok(table.into_inner())
    }

    /// Reads a plan from the TOML of `text`, to which its mistakes refer.
    pub(crate) fn from_table(text: &str, table: &DeTable<'_>) -> Result<Self, Mistakes> {
        let mut reader = Reader::new(text);
        reader.top(table);
        reader.finish()
    }
}

const TOP: [&str; 18] = [
    "title",
    "seed",
    "repetitions",
    "precision",
    "time_budget",
    "min_sample_time",
    "slice_time",
    "verify",
    "timeout",
    "pre_step_cmd",
    "link",
    "target",
    "sweep",
    "depth",
    "io500",
    "load",
    "cache_probes",
    "workload",
];

pub(crate) struct Reader<'a> {
    text: &'a str,
    plan: Plan,
    mistakes: Mistakes,
}

pub(crate) type Item<'a> = Spanned<DeValue<'a>>;

/// Every field of a section.
pub(crate) type FieldNames = &'static [&'static str];

impl<'a> Reader<'a> {
    /// A reader of the values of this text.
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, plan: Plan::default(), mistakes: Mistakes::default() }
    }

    /// The plan that was read, or all mistakes.
    pub(super) fn finish(self) -> Result<Plan, Mistakes> {
        if self.mistakes.0.is_empty() { Ok(self.plan) } else { Err(self.mistakes) }
    }
}

impl Reader<'_> {
    fn top(&mut self, table: &DeTable<'_>) {
        for (key, value) in table {
            let field = key.get_ref().as_ref();
            self.note_line(field, value);
            match field {
                "title" => self.plan.title = self.string(field, value),
                "seed" => self.plan.seed = self.seed(field, value),
                "repetitions" => self.plan.repetitions = self.count(field, value),
                "precision" => self.plan.precision = self.parsed(field, value),
                "time_budget" => self.plan.budget = self.duration(field, value),
                "min_sample_time" => self.plan.min_sample_time = self.duration(field, value),
                "slice_time" => self.plan.slice_time = self.duration(field, value),
                "timeout" => self.plan.timeout = self.duration(field, value),
                "link" => self.plan.link = self.parsed(field, value),
                "verify" => self.plan.verify = self.verify(field, value),
                "pre_step_cmd" => self.plan.pre_step_cmd = self.string(field, value),
                "target" => self.targets(value),
                "sweep" => self.plan.sweep = self.section(field, value, Self::sweep),
                "depth" => self.plan.depth = self.section(field, value, Self::depth),
                "io500" => self.plan.io500 = self.section(field, value, Self::io500),
                "load" => self.plan.load = self.section(field, value, Self::load),
                "cache_probes" => self.plan.cache_probes = self.section(field, value, Self::cache_probes),
                "workload" => self.plan.workload = self.section(field, value, Self::workload),
                other => self.unknown("", other, key.span().start, &TOP),
            }
        }
    }

    fn targets(&mut self, value: &Item<'_>) {
        let DeValue::Array(items) = value.get_ref() else {
            return self.blame(
                "target",
                value,
                "is not a list of tables",
                "write [[target]] with two brackets",
            );
        };
        let mut typed = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let DeValue::Table(table) = item.get_ref() else {
                self.blame("target", item, "is not a table", "write [[target]] and below it url = \"...\"");
                continue;
            };
            let mut name = None;
            let mut url = None;
            for (key, value) in table {
                let field = format!("target.{index}.{}", key.get_ref());
                self.note_line(&field, value);
                match key.get_ref().as_ref() {
                    "name" => name = self.string(&field, value),
                    "url" => url = self.target_url(&field, value),
                    "password" => self.blame(
                        &field,
                        value,
                        "a password does not belong in a plan",
                        "use SHAREBENCH_PASSWORD or --password-file",
                    ),
                    other => {
                        self.unknown(&format!("target.{index}."), other, key.span().start, &["name", "url"]);
                    }
                }
            }
            let url = url.unwrap_or_default();
            self.plan
                .lines
                .entry(format!("target.{index}.url"))
                .or_insert(line_of(self.text, item.span().start));
            typed.push(TypedTarget { name, url });
        }
        self.plan.targets = Plan::name_targets(&typed);
        // Names of a plan are kept as they are; two equal ones are a mistake that Plan::resolve reports.
        for (target, typed) in self.plan.targets.iter_mut().zip(typed) {
            target.name = typed.name.unwrap_or_else(|| std::mem::take(&mut target.name));
        }
    }

    pub(crate) fn section<T: Default>(
        &mut self,
        field: &str,
        value: &Item<'_>,
        read: fn(&mut Self, &mut T, &str, &Item<'_>) -> FieldNames,
    ) -> Option<T> {
        let DeValue::Table(table) = value.get_ref() else {
            self.blame(field, value, "is not a section", &format!("write [{field}] on a line of its own"));
            return None;
        };
        Some(self.fields(field, table, |reader, section, name, _, value| read(reader, section, name, value)))
    }

    /// Reads every field of a table. `read` gets the section, the name of the field, its name with that of the section, and the
    /// value.
    pub(crate) fn fields<T: Default>(
        &mut self,
        section: &str,
        table: &DeTable<'_>,
        read: impl Fn(&mut Self, &mut T, &str, &str, &Item<'_>) -> FieldNames,
    ) -> T {
        let mut found = T::default();
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            let field = format!("{section}.{name}");
            self.note_line(&field, value);
            let known = read(self, &mut found, name, &field, value);
            if !known.contains(&name) {
                self.unknown(&format!("{section}."), name, key.span().start, known);
            }
        }
        found
    }

    fn depth(&mut self, depth: &mut Depth, name: &str, value: &Item<'_>) -> FieldNames {
        match name {
            "file_size" => depth.file_size = self.parsed("depth.file_size", value),
            "record_sizes" => depth.record_sizes = self.values("depth.record_sizes", value),
            "depths" => depth.depths = self.values("depth.depths", value),
            "tests" => depth.tests = self.tests("depth.tests", value),
            other => self.policies(&mut depth.policies, "depth", other, value),
        }
        &[
            "file_size",
            "record_sizes",
            "depths",
            "tests",
            "cache",
            "sync",
            "server_cache",
            "displace",
            "include",
        ]
    }

    pub(crate) fn policies(&mut self, policies: &mut Policies, section: &str, name: &str, value: &Item<'_>) {
        let field = format!("{section}.{name}");
        match name {
            "cache" => policies.cache = self.items(&field, value),
            "sync" => policies.sync = self.items(&field, value),
            "server_cache" => policies.server_cache = self.items(&field, value),
            "displace" => policies.displace = self.parsed(&field, value),
            "include" => policies.include = self.items(&field, value),
            _ => {}
        }
    }

    pub(crate) fn string(&mut self, field: &str, value: &Item<'_>) -> Option<String> {
        if let DeValue::String(text) = value.get_ref() {
            return Some(text.as_ref().to_owned());
        }
        self.blame(field, value, "is not a text", "write it in quotes");
        None
    }

    pub(super) fn target_url(&mut self, field: &str, value: &Item<'_>) -> Option<String> {
        let typed = self.string(field, value)?;
        target_url(&typed).map_err(|error| self.blame(field, value, &error, "")).ok()
    }

    /// A text, as the type itself reads it.
    pub(crate) fn text<T: FromStr<Err = String>>(&mut self, field: &str, value: &Item<'_>) -> Option<T> {
        let text = self.string(field, value)?;
        text.parse().map_err(|error: String| self.blame(field, value, &error, "")).ok()
    }

    /// A text or a bare number, as the type itself reads it.
    pub(crate) fn parsed<T: FromStr<Err: ToString>>(&mut self, field: &str, value: &Item<'_>) -> Option<T> {
        let text = match value.get_ref() {
            DeValue::String(text) => text.as_ref().to_owned(),
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().replace('_', ""),
            _ => {
                self.blame(field, value, "is neither a number nor a text", "such as 4096 or \"64KiB\"");
                return None;
            }
        };
        text.parse().map_err(|error: T::Err| self.blame(field, value, &error.to_string(), "")).ok()
    }

    pub(crate) fn count(&mut self, field: &str, value: &Item<'_>) -> Option<u32> {
        self.parsed(field, value)
    }

    /// A seed is any 64-bit number; TOML's own integers are signed, so the text form `"0x..."` is the usual one.
    fn seed(&mut self, field: &str, value: &Item<'_>) -> Option<u64> {
        let text = match value.get_ref() {
            DeValue::String(text) => text.as_ref().to_owned(),
            DeValue::Integer(number) => number.as_str().replace('_', ""),
            _ => String::new(),
        };
        let seed = match text.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok(),
            None => text.parse().ok(),
        };
        if seed.is_none() {
            self.blame(field, value, "is not a 64-bit number", "such as 42 or \"0x9e3779b97f4a7c15\"");
        }
        seed
    }

    pub(crate) fn duration(&mut self, field: &str, value: &Item<'_>) -> Option<Duration> {
        let text = self.string(field, value)?;
        parse_duration(&text).map_err(|error| self.blame(field, value, &error.to_string(), "")).ok()
    }

    fn verify(&mut self, field: &str, value: &Item<'_>) -> Option<Verify> {
        let text = self.string(field, value)?;
        let found = Verify::NAMES.iter().find(|(name, _)| *name == text).map(|(_, verify)| *verify);
        if found.is_none() {
            self.blame(field, value, &format!("'{text}' is not a way to verify"), "stamps, full or off");
        }
        found
    }

    pub(crate) fn unknown(&mut self, prefix: &str, name: &str, at: usize, known: &[&str]) {
        let hint = match nearest(name, known) {
            // The keys of all steps, such as `repetitions`, belong to the plan and not to a table.
            _ if !prefix.is_empty() && TOP.contains(&name) => {
                "move it to the top of the plan, above every [table]".to_owned()
            }
            None => format!("known are {}", known.join(", ")),
            Some(near) => format!("did you mean '{near}'?"),
        };
        let line = Some(line_of(self.text, at));
        self.mistakes.0.push(Mistake {
            field: format!("{prefix}{name}"),
            line,
            problem: "unknown field".into(),
            hint,
        });
    }

    pub(crate) fn blame(&mut self, field: &str, value: &Item<'_>, problem: &str, hint: &str) {
        let line = Some(line_of(self.text, value.span().start));
        self.mistakes.0.push(Mistake {
            field: field.into(),
            line,
            problem: problem.into(),
            hint: hint.into(),
        });
    }

    pub(crate) fn note_line(&mut self, field: &str, value: &Item<'_>) {
        self.plan.lines.insert(field.into(), line_of(self.text, value.span().start));
    }
}

fn line_of(text: &str, at: usize) -> usize {
    1 + text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use crate::Plan;

    #[test]
    fn a_resolved_plan_written_and_read_again_is_the_same_plan() {
        let text = "title = 'a \"b\" \\\\ c'\n[[target]]\nurl = 'smb://a@h/s'\n[[target]]\nurl = 'smb://a@i/s'\n[sweep]\n[depth]\n[load]\n";
        let resolved = Plan::parse(text).unwrap().resolve().unwrap();
        assert_eq!(resolved.targets[1].name, "smb (i)");
        let again = Plan::parse(&resolved.typed.to_toml()).unwrap().resolve().unwrap();
        assert_eq!(again.cells, resolved.cells);
        assert_eq!(again.typed.to_toml(), resolved.typed.to_toml());
    }

    #[test]
    fn every_mistake_is_shown_with_its_line() {
        let text = "repetitons = 3\nmin_sample_time = 5\n[[target]]\nurl = '/tmp'\npassword = 'x'\n[sweep]\nrecord_sizes = ['4KiB', 'huge']\ntests = ['raed']\n";
        let mistakes = Plan::parse(text).unwrap_err();
        let lines: Vec<_> = mistakes.0.iter().map(|mistake| mistake.line.unwrap()).collect();
        let shown = mistakes.to_string();
        assert_eq!(mistakes.0.len(), 5, "{shown}");
        assert!([1, 2, 5, 7, 8].iter().all(|line| lines.contains(line)), "{shown}");
        assert!(
            shown.contains("did you mean 'repetitions'?") && shown.contains("did you mean 'read'?"),
            "{shown}"
        );
    }

    #[test]
    fn mistakes_between_fields_are_found_too() {
        let text = "repetitions = 0\n[[target]]\nurl = '/tmp'\n[sweep]\nfile_sizes = ['64KiB', 0]\nrecord_sizes = ['1MiB', '100000']\n[load]\nusers = [0]\nworkload = 'copy-all'\n";
        let shown = Plan::parse(text).unwrap().resolve().unwrap_err().to_string();
        for word in [
            "repetitions: 0",
            "larger than the file size",
            "0B is outside",
            "load.users: 0",
            "line 9: load.workload",
        ] {
            assert!(shown.contains(word), "{word} missing in {shown}");
        }
    }

    #[test]
    fn an_open_load_has_a_step_for_each_number_of_users_and_each_rate() {
        let text = "[[target]]\nurl = '/tmp'\n[load]\nworkload = 'single'\narrivals = 'poisson'\nusers = [8, 16]\nrates = [100, 500]\n";
        let resolved = Plan::parse(text).unwrap().resolve().unwrap();
        let cells: Vec<String> = resolved.loads.iter().map(|load| load.0.to_string()).collect();
        assert_eq!(cells.len(), 4);
        assert_eq!(cells[1], "arrivals=poisson rate=500 users=8 workload=single-read");
        let again = Plan::parse(&resolved.typed.to_toml()).unwrap().resolve().unwrap();
        assert_eq!(again.loads, resolved.loads);
    }

    #[test]
    fn loads_that_are_neither_open_nor_closed_are_refused() {
        let mistakes = |load: &str| {
            let text = format!("[[target]]\nurl = '/tmp'\n[load]\n{load}");
            Plan::parse(&text).and_then(|plan| plan.resolve()).unwrap_err().to_string()
        };
        for (load, said) in [
            ("rates = [100]", "line 4: load.rates: the load is closed"),
            ("arrivals = 'poisson'", "load.rates: poisson arrivals need a rate"),
            ("arrivals = 'constant'\nrates = [0]", "load.rates: 0 is outside 1..1000000"),
            (
                "arrivals = 'constant'\nrates = [5]\nthink = '1s'",
                "line 6: load.think: with constant arrivals",
            ),
            ("arrivals = 'bursts'", "known are closed, constant, poisson and visits"),
            ("think = 'gamma 1s'", "known are constant, exp"),
            ("rate = 5", "did you mean 'rates'?"),
            ("measure = '30s'\nmax_extensions = 4", "line 5: load.max_extensions: 4 is outside 0..3"),
            (
                "measure = '10s'\nmax_extensions = 1",
                "load.max_extensions: the longest window is 20s, and 30s are needed",
            ),
            ("workload = 'single'\nscale = '8KiB'\nblock = '64KiB'", "64KiB is larger than the file"),
            ("keep_users = 'yes'", "line 4: load.keep_users"),
            (
                "keep_users = true\narrivals = 'poisson'\nrates = [5]",
                "line 4: load.keep_users: with poisson arrivals",
            ),
            ("keep_users = true\nuntil_stress = true", "load.keep_users: a search decides on its next step"),
            (
                "keep_users = true\nmeasure = '30s'\nmax_extensions = 1",
                "load.keep_users: a step of the series has one window",
            ),
        ] {
            assert!(mistakes(load).contains(said), "{load}: {}", mistakes(load));
        }
    }

    #[test]
    fn users_stay_logged_on_at_one_target_without_a_command_between_steps() {
        let plan = |before: &str, load: &str| {
            let text = format!("{before}[[target]]\nurl = '/tmp'\n[load]\nusers = [5, 10]\n{load}");
            Plan::parse(&text).and_then(|plan| plan.resolve())
        };
        let kept = plan("", "keep_users = true\n").unwrap();
        assert!(kept.keeps_users() && !plan("", "").unwrap().keeps_users());
        assert!(Plan::parse(&kept.typed.to_toml()).unwrap().resolve().unwrap().keeps_users());
        let second = "[[target]]\nurl = '/b'\n";
        for (before, said) in [
            (second, "load.keep_users: the users of one target would work while another one is measured"),
            ("pre_step_cmd = 'sync'\n", "load.keep_users: pre_step_cmd runs while nobody is logged on"),
        ] {
            let mistakes = plan(before, "keep_users = true\n").unwrap_err().to_string();
            assert!(mistakes.contains(said), "{mistakes}");
            assert!(plan(before, "keep_users = false\n").is_ok());
        }
    }

    #[test]
    fn text_that_is_no_toml_says_where() {
        let mistakes = Plan::parse("title = 'x'\n[sweep\n").unwrap_err();
        assert_eq!(mistakes.0[0].line, Some(2));
    }
}
