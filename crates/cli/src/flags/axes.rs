//! The options that measure each target several times: every value of an axis is a target of its own, with the value in its URL.

use clap::builder::{PossibleValuesParser, StringValueParser, TypedValueParser, ValueParser};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use sharebench_model::{AXES, Axis, OptionValues};
use sharebench_plan::TypedTarget;
use sharebench_relay::Distance;
use sharebench_target::TargetUrl;

use super::{heading, security};
use crate::exit::Failure;

/// The axes that are given, with their values.
#[derive(Debug, Clone, Default)]
pub struct AxisFlags(Vec<(&'static Axis, Vec<String>)>);

impl AxisFlags {
    /// All targets with all values of each axis, with the values of a target next to each other.
    pub fn apply(&self, targets: &[TypedTarget]) -> Result<Vec<TypedTarget>, Failure> {
        // Levels first, so that the values of the other axes are next to each other at each level.
        let (levels, others): (Vec<_>, Vec<_>) = self.0.iter().partition(|(axis, _)| axis.has_levels);
        let mut given = levels.into_iter().chain(others);
        given.try_fold(targets.to_vec(), |targets, (axis, values)| with_values(axis, values, &targets))
    }
}

fn with_values(axis: &Axis, values: &[String], targets: &[TypedTarget]) -> Result<Vec<TypedTarget>, Failure> {
    let flag = axis.flag;
    let usage = |problem: String| Err(Failure::usage(format!("--{flag}{problem}")));
    if let Some((_, value)) =
        values.iter().enumerate().find(|(index, value)| values[..*index].contains(value))
    {
        return usage(format!(": {value} is listed twice"));
    }
    let mut found = Vec::new();
    let mut unused: Vec<&String> = values.iter().collect();
    for target in targets {
        let url = &target.url;
        let parsed = TargetUrl::parse(url)?;
        let before = found.len();
        for value in values {
            let Some(options) = options(axis, &parsed, value) else { continue };
            let mut names = options.split('&').filter_map(|option| Some(option.split_once('=')?.0));
            if let Some(name) = names.find(|name| parsed.options.contains_key(*name)) {
                return usage(format!(" with '{url}': the URL has {name}= already"));
            }
            unused.retain(|unused| *unused != value);
            // The text of the URL keeps what was typed, such as percent-encoded names. A default is written too, because
            // the axis has to show it.
            let separator = if url.contains('?') { '&' } else { '?' };
            found.push(target.with_url(format!("{url}{separator}{options}")));
        }
        if found.len() == before {
            return usage(format!(" with '{url}': {}", axis.other_targets));
        }
    }
    match unused.first() {
        Some(value) => usage(format!(" {value}: no target has this level")),
        None => Ok(found),
    }
}

/// What a value adds to the options of a URL; none if the target has no such option or level.
fn options(axis: &Axis, url: &TargetUrl, value: &str) -> Option<String> {
    if axis.has_levels {
        return security::options(&url.scheme, value);
    }
    let option = axis.option(&url.scheme)?;
    if let Some((needed, values)) = axis.needs
        && !url.options.get(needed).is_some_and(|value| values.contains(&value.as_str()))
    {
        return None;
    }
    Some(format!("{}={value}", option.name))
}

/// The option of the command line; each occurrence parses to a list of values.
fn argument(axis: &'static Axis) -> Arg {
    let argument = Arg::new(axis.flag)
        .long(axis.flag)
        .value_name(axis.value_name)
        .help(axis.help)
        .hide_possible_values(true)
        .help_heading(heading::TARGETS);
    let each = |value: String| vec![value];
    let parser: ValueParser = match axis.values() {
        _ if axis.has_levels => return argument.value_parser(security::levels),
        Some(OptionValues::Distance) => return argument.value_parser(distances),
        Some(OptionValues::Choices(words)) => PossibleValuesParser::new(words).map(each).into(),
        Some(OptionValues::Number { least, most }) => {
            let numbers = value_parser!(u32).range(i64::from(least)..=i64::from(most));
            numbers.map(move |number| each(number.to_string())).into()
        }
        Some(OptionValues::Text(_)) | None => StringValueParser::new().map(each).into(),
    };
    argument.action(ArgAction::Append).value_delimiter(',').value_parser(parser)
}

fn distances(text: &str) -> Result<Vec<String>, String> {
    let distances = Distance::list(text).map_err(|error| error.to_string())?;
    Ok(distances.iter().map(Distance::to_string).collect())
}

impl clap::Args for AxisFlags {
    fn augment_args(command: Command) -> Command {
        AXES.into_iter().fold(command, |command, axis| command.arg(argument(axis)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for AxisFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |axis: &'static Axis| {
            Some((axis, matches.get_many::<Vec<String>>(axis.flag)?.flatten().cloned().collect()))
        };
        Ok(Self(AXES.into_iter().filter_map(given).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args, FromArgMatches};

    use super::*;

    fn axis(arguments: &[&str], urls: &[&str]) -> Result<Vec<String>, String> {
        let targets: Vec<TypedTarget> =
            urls.iter().map(|url| TypedTarget { name: None, url: (*url).to_owned() }).collect();
        let command = AxisFlags::augment_args(Command::new("sweep").no_binary_name(true));
        let matches = command.try_get_matches_from(arguments).map_err(|error| error.to_string())?;
        let flags = AxisFlags::from_arg_matches(&matches).unwrap();
        let targets = flags.apply(&targets).map_err(|failure| failure.to_string())?;
        Ok(targets.into_iter().map(|target| target.url).collect())
    }

    #[test]
    fn each_target_is_measured_with_each_value() {
        for (arguments, urls, expected) in [
            (
                &["--compound=off,on"][..],
                &["nfs://nas/x?vers=4.1"][..],
                &["nfs://nas/x?vers=4.1&compound=off", "nfs://nas/x?vers=4.1&compound=on"][..],
            ),
            (
                &["--connections=1,4"],
                &["smb://a@nas/s?sign=off", "nfs://nas/x", "ncp://nas/SYS"],
                &[
                    "smb://a@nas/s?sign=off&channels=1",
                    "smb://a@nas/s?sign=off&channels=4",
                    "nfs://nas/x?nconnect=1",
                    "nfs://nas/x?nconnect=4",
                    "ncp://nas/SYS?connections=1",
                    "ncp://nas/SYS?connections=4",
                ],
            ),
            (
                &["--leases=none,rwh"],
                &["smb://a@nas/s"],
                &["smb://a@nas/s?lease=none", "smb://a@nas/s?lease=rwh"],
            ),
            (&["--leases=dir"], &["smb://nas/s?sign=off"], &["smb://nas/s?sign=off&lease=dir"]),
            (
                &["--far=0,20ms,100Mbit"],
                &["smb://a@nas/s%20t?sign=off", "nfs://nas/x"],
                &[
                    "smb://a@nas/s%20t?sign=off&far=0",
                    "smb://a@nas/s%20t?sign=off&far=20ms,100Mbit",
                    "nfs://nas/x?far=0",
                    "nfs://nas/x?far=20ms,100Mbit",
                ],
            ),
            (
                &["--security=none,sign:aes-cmac,encrypt,sys,krb5p,tls"],
                &["smb://a@nas/s", "nfs://nas/x?vers=3"],
                &[
                    "smb://a@nas/s?sign=off&encrypt=off",
                    "smb://a@nas/s?sign=required&encrypt=off&signing=aes-cmac",
                    "smb://a@nas/s?sign=auto&encrypt=required",
                    "nfs://nas/x?vers=3&sec=sys",
                    "nfs://nas/x?vers=3&sec=krb5p",
                    "nfs://nas/x?vers=3&sec=sys&xprtsec=tls",
                ],
            ),
            (&["--security=0,3"], &["ncp://nas/SYS"], &["ncp://nas/SYS?sign=0", "ncp://nas/SYS?sign=3"]),
            (
                &["--far=1ms", "--security=sys", "--connections=2", "--connections=3"],
                &["nfs://nas/x"],
                &["nfs://nas/x?sec=sys&far=1ms&nconnect=2", "nfs://nas/x?sec=sys&far=1ms&nconnect=3"],
            ),
            (&[], &["/mnt/nas"], &["/mnt/nas"]),
        ] {
            assert_eq!(axis(arguments, urls).unwrap(), expected);
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (argument, url, word) in [
            ("--compound=on", "smb://nas/x", "only nfs://"),
            ("--compound=on", "nfs://nas/x", "vers=4.1 or vers=4.2"),
            ("--compound=on", "nfs://nas/x?vers=4.2&compound=off", "compound= already"),
            ("--compound=on,on", "nfs://nas/x?vers=4.2", "listed twice"),
            ("--compound=on,off,on", "nfs://nas/x?vers=4.2", "listed twice"),
            ("--compound=yes", "nfs://nas/x?vers=4.2", "[possible values: off, on]"),
            ("--connections=2", "/mnt/nas", "only targets over a protocol"),
            ("--connections=2", "null://x", "smb://, nfs:// and ncp://"),
            ("--connections=2", "smb://nas/x?channels=4", "channels= already"),
            ("--connections=2,1,2", "smb://nas/x", "2 is listed twice"),
            ("--connections=65", "smb://nas/x", "65 is not in 1..=64"),
            ("--leases=r", "nfs://nas/x", "only smb:// has leases"),
            ("--leases=r", "/mnt/nas", "only smb:// has leases"),
            ("--leases=r", "smb://nas/x?lease=rh", "lease= already"),
            ("--leases=r,rh,r", "smb://nas/x", "r is listed twice"),
            ("--far=20ms", "/mnt/nas", "smb://"),
            ("--far=20ms", "null://x", "smb://"),
            ("--far=20ms", "nfs://nas/x?far=1ms", "already"),
            ("--far=1ms,1ms", "nfs://nas/x", "twice"),
            ("--security=ssl", "smb://nas/x", "'ssl' is no security level"),
            ("--security=tls", "smb://nas/x", "no level is of this protocol"),
            ("--security=tls", "nfs://nas/x?xprtsec=mtls", "has xprtsec= already"),
            ("--security=none:aes", "smb://nas/x", "no security level"),
            ("--security=sign,sign", "smb://nas/x", "listed twice"),
            ("--security=sign", "/mnt/nas", "no level is of this protocol"),
            ("--security=none,krb5", "smb://nas/x", "--security krb5: no target"),
            ("--security=sign", "smb://nas/x?encrypt=auto", "has encrypt= already"),
        ] {
            let error = axis(&[argument], &[url]).unwrap_err();
            assert!(error.contains(word), "{argument} {url}: {error}");
        }
    }
}
