//! `--vary`: every value of an option of target URLs makes a target of its own, with the value in its URL.

use std::path::Path;
use std::str::FromStr;

use clap::Args;
use sharebench_model::{OptionValues, SCHEMES, UrlOption, url_options};
use sharebench_plan::{TypedTarget, nearest};
use sharebench_relay::Distance;
use sharebench_target::TargetUrl;

use super::heading;
use crate::exit::Failure;

/// The options of URLs that are measured with several values.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = heading::TARGETS)]
pub struct VaryFlags {
    /// Measure each target with several values of an option of its URL, such as sign=off,required or far=0,20ms/100Mbit.
    /// Targets without the option stay as they are. May be repeated for all combinations; docs/protocols/url-options.md
    /// lists the options.
    #[arg(long, value_name = "NAME=VALUE,...")]
    vary: Vec<Variation>,
}

/// An option of URLs and its values.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Variation {
    name: String,
    values: Vec<String>,
}

impl FromStr for Variation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((name, values)) = text.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            return Err("write NAME=VALUE,..., such as sign=off,required".to_owned());
        };
        let values: Vec<String> = values.split(',').map(|value| value.trim().to_owned()).collect();
        if values.iter().any(String::is_empty) {
            return Err(format!("{name}= has an empty value"));
        }
        match values.iter().enumerate().find(|(index, value)| values[..*index].contains(value)) {
            Some((_, value)) => Err(format!("{value} is listed twice")),
            None => Ok(Self { name: name.trim().to_ascii_lowercase(), values }),
        }
    }
}

impl VaryFlags {
    /// All targets with all combinations of the values. Values of the last option are next to each other.
    pub fn apply(&self, targets: &[TypedTarget]) -> Result<Vec<TypedTarget>, Failure> {
        self.vary.iter().try_fold(targets.to_vec(), |targets, variation| {
            varied(variation, &targets)
                .map_err(|problem| Failure::usage(format!("--vary {}=: {problem}", variation.name)))
        })
    }
}

fn varied(variation: &Variation, targets: &[TypedTarget]) -> Result<Vec<TypedTarget>, String> {
    let name = &variation.name;
    let mut found = Vec::new();
    let mut unused: Vec<&String> = variation.values.iter().collect();
    let mut schemes: Vec<String> = Vec::new();
    for target in targets {
        let url = &target.url;
        let parsed = TargetUrl::parse(url).map_err(|error| error.to_string())?;
        if !schemes.contains(&parsed.scheme) {
            schemes.push(parsed.scheme.clone());
        }
        let Some(option) = option(&parsed.scheme, name) else {
            found.push(target.clone());
            continue;
        };
        if parsed.options.contains_key(name) {
            return Err(format!("'{url}' has {name}= already; leave it out of one of the two"));
        }
        // A value may be one of another protocol: levels of `sign=` are words for SMB and numbers for NCP.
        let values: Vec<&String> =
            variation.values.iter().filter(|value| wrong(option, value).is_none()).collect();
        if values.is_empty() {
            found.push(target.clone());
        }
        for value in values {
            unused.retain(|unused| *unused != value);
            found.push(with_option(target, &parsed, name, value));
        }
    }
    let options: Vec<(&String, &UrlOption)> =
        schemes.iter().filter_map(|scheme| Some((scheme, option(scheme, name)?))).collect();
    if options.is_empty() {
        return Err(unknown(name, &schemes));
    }
    match unused.first() {
        None => Ok(found),
        Some(value) => {
            let why = options.iter().filter_map(|(scheme, option)| {
                Some(format!("{} takes {}", shown(scheme), wrong(option, value)?))
            });
            Err(format!("'{value}' is not a value of this option: {}", why.collect::<Vec<_>>().join("; ")))
        }
    }
}

fn option(scheme: &str, name: &str) -> Option<&'static UrlOption> {
    url_options(scheme).find(|option| option.name == name)
}

/// What an option takes, if the value is wrong. The protocol itself checks texts.
fn wrong(option: &UrlOption, value: &str) -> Option<String> {
    match option.values {
        OptionValues::Choices(words) if words.contains(&value) => None,
        OptionValues::Choices(words) => {
            let meant =
                nearest(value, words).map_or(String::new(), |word| format!(" (did you mean '{word}'?)"));
            Some(format!("{}{meant}", option.values))
        }
        OptionValues::Number { least, most } => {
            let fits = value.parse::<u32>().is_ok_and(|number| (least..=most).contains(&number));
            (!fits).then(|| option.values.to_string())
        }
        OptionValues::Distance => {
            let error = value.parse::<Distance>().err()?;
            Some(format!("{} ({error})", option.values))
        }
        OptionValues::Text(_) => None,
    }
}

/// The error of an option that no target has.
fn unknown(name: &str, schemes: &[String]) -> String {
    let elsewhere: Vec<String> =
        SCHEMES.into_iter().filter(|scheme| option(scheme, name).is_some()).map(shown).collect();
    let listed: Vec<String> = schemes
        .iter()
        .map(|scheme| {
            let names: Vec<&str> = url_options(scheme).map(|option| option.name).collect();
            if names.is_empty() {
                format!("{} has no options", shown(scheme))
            } else {
                format!("{} has {}", shown(scheme), names.join(", "))
            }
        })
        .collect();
    let listed = listed.join("; ");
    if !elsewhere.is_empty() {
        return format!("no target has this option of {}; {listed}", elsewhere.join(" and "));
    }
    let known: Vec<&str> = SCHEMES.into_iter().flat_map(url_options).map(|option| option.name).collect();
    let meant = nearest(name, &known).map_or(String::new(), |name| format!("did you mean {name}=? "));
    format!("URLs have no such option; {meant}{listed}")
}

/// A protocol as users write it.
fn shown(scheme: impl AsRef<str>) -> String {
    match scheme.as_ref() {
        "file" => "a path".to_owned(),
        scheme => format!("{scheme}://"),
    }
}

/// The target with one more option. The text of a URL keeps what was typed, such as percent-encoded names. A default is
/// written too, because results have to show it.
fn with_option(target: &TypedTarget, parsed: &TargetUrl, name: &str, value: &str) -> TypedTarget {
    let url = &target.url;
    if url.contains("://") {
        let separator = if url.contains('?') { '&' } else { '?' };
        return target.with_url(format!("{url}{separator}{name}={value}"));
    }
    // A path has no options; its URL has.
    let path =
        std::path::absolute(&parsed.path).map_or_else(|_| url.clone(), |path| path.display().to_string());
    let path = if cfg!(windows) { path.replace('\\', "/") } else { path };
    let slash = if path.starts_with('/') { "" } else { "/" };
    let path = path.replace('%', "%25").replace('?', "%3F");
    let base = Path::new(url).file_name().map(|name| name.to_string_lossy().into_owned());
    TypedTarget { name: target.name.clone().or(base), url: format!("file://{slash}{path}?{name}={value}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vary(arguments: &[&str], urls: &[&str]) -> Result<Vec<String>, String> {
        let targets: Vec<TypedTarget> =
            urls.iter().map(|url| TypedTarget { name: None, url: (*url).to_owned() }).collect();
        let vary = arguments.iter().map(|text| text.parse()).collect::<Result<Vec<Variation>, _>>()?;
        let targets = VaryFlags { vary }.apply(&targets).map_err(|failure| failure.to_string())?;
        Ok(targets.into_iter().map(|target| target.url).collect())
    }

    #[test]
    fn each_target_with_the_option_is_measured_with_each_value() {
        for (arguments, urls, expected) in [
            (
                &["compound=off,on"][..],
                &["nfs://nas/x?vers=4.1"][..],
                &["nfs://nas/x?vers=4.1&compound=off", "nfs://nas/x?vers=4.1&compound=on"][..],
            ),
            (
                &["channels=1,4", "nconnect=2"],
                &["smb://a@nas/s?sign=off", "nfs://nas/x", "/mnt"],
                &[
                    "smb://a@nas/s?sign=off&channels=1",
                    "smb://a@nas/s?sign=off&channels=4",
                    "nfs://nas/x?nconnect=2",
                    "/mnt",
                ],
            ),
            (
                &["far=0,20ms/100Mbit"],
                &["smb://a@nas/s%20t?sign=off"],
                &["smb://a@nas/s%20t?sign=off&far=0", "smb://a@nas/s%20t?sign=off&far=20ms/100Mbit"],
            ),
            (
                &["sign=off,required,3"],
                &["smb://a@nas/s", "ncp://nas/SYS"],
                &["smb://a@nas/s?sign=off", "smb://a@nas/s?sign=required", "ncp://nas/SYS?sign=3"],
            ),
            (
                &["sec=sys,krb5", "nconnect=1,2"],
                &["nfs://nas/x"],
                &[
                    "nfs://nas/x?sec=sys&nconnect=1",
                    "nfs://nas/x?sec=sys&nconnect=2",
                    "nfs://nas/x?sec=krb5&nconnect=1",
                    "nfs://nas/x?sec=krb5&nconnect=2",
                ],
            ),
            (&["signing=aes-cmac"], &["smb://nas/s"], &["smb://nas/s?signing=aes-cmac"]),
            (&[], &["/mnt/nas"], &["/mnt/nas"]),
        ] {
            assert_eq!(vary(arguments, urls).unwrap(), expected);
        }
    }

    #[cfg(not(windows))]
    #[test]
    fn a_path_gets_a_url_and_keeps_its_name() {
        let target = TypedTarget { name: None, url: "/mnt/a?b".to_owned() };
        let varied = VaryFlags { vary: vec!["direct=0,1".parse().unwrap()] }.apply(&[target]).unwrap();
        let shown: Vec<_> =
            varied.iter().map(|target| (target.name.as_deref(), target.url.as_str())).collect();
        assert_eq!(
            shown,
            [(Some("a?b"), "file:///mnt/a%3Fb?direct=0"), (Some("a?b"), "file:///mnt/a%3Fb?direct=1")]
        );
    }

    #[test]
    fn mistakes_are_named() {
        for (argument, url, words) in [
            (
                "sing=off",
                "smb://nas/x",
                &["--vary sing=", "did you mean sign=?", "smb:// has dialect, sign"][..],
            ),
            ("compound=on", "smb://nas/x", &["--vary compound=", "no target has this option of nfs://"]),
            (
                "far=20ms",
                "/mnt/nas",
                &["no target has this option of smb:// and nfs:// and ncp://", "a path has direct"],
            ),
            ("far=20ms", "null://x", &["null:// has no options"]),
            (
                "sign=of",
                "smb://nas/x",
                &["'of' is not a value", "smb:// takes auto, required and off", "did you mean 'off'?"],
            ),
            ("channels=65", "smb://nas/x", &["'65' is not a value", "smb:// takes 1 to 32"]),
            ("far=20", "nfs://nas/x", &["'20' is not a distance", "20ms/100Mbit"]),
            ("compound=off", "nfs://nas/x?vers=4.2&compound=off", &["compound= already"]),
            ("compound=on,off,on", "nfs://nas/x?vers=4.2", &["on is listed twice"]),
            ("sign", "smb://nas/x", &["write NAME=VALUE"]),
            ("sign=", "smb://nas/x", &["empty value"]),
        ] {
            let error = vary(&[argument], &[url]).unwrap_err();
            assert!(words.iter().all(|word| error.contains(word)), "{argument} {url}: {error}");
        }
    }
}
