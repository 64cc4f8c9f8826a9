//! Values of the options of an `ncp://` URL; each is checked on its own.

use std::ops::RangeInclusive;
use std::time::Duration;

use sharebench_model::units::parse_duration;
use sharebench_target::{TargetUrl, UrlError};

use crate::client::{BurstOptions, MAX_BUFFER};
use crate::security::level::Level;
use crate::wire::TransportKind;

/// The volume, which may be empty, and the directories below it.
pub(crate) fn split_path(url: &TargetUrl) -> Result<(String, Vec<String>), UrlError> {
    let mut names = url.path.split('/').filter(|name| !name.is_empty()).map(str::to_owned);
    let volume = names.next().unwrap_or_default();
    let directory: Vec<String> = names.collect();
    let bad = |name: &String| matches!(name.as_str(), "." | "..") || name.contains(['\\', '\0']);
    if directory.iter().any(bad) || bad(&volume) || volume.contains(':') {
        return Err(
            url.error("the path must not contain '.', '..' or '\\', and the volume must not contain ':'")
        );
    }
    Ok((volume, directory))
}

/// A level from 0 to 3.
pub(crate) fn level(url: &mut TargetUrl, key: &str) -> Result<Option<Level>, UrlError> {
    Ok(url.take_number(key)?.and_then(Level::from_number))
}

/// Packet burst and its parameters, which are errors without it. `usual` is the default of a profile.
pub(crate) fn burst(
    url: &mut TargetUrl,
    transport: TransportKind,
    largest: u32,
    usual: Option<BurstOptions>,
) -> Result<Option<BurstOptions>, UrlError> {
    let on = url.take_switch("burst")?;
    if on == Some(true) && transport == TransportKind::Tcp {
        return Err(url.error("burst=on requires transport=udp, ipx or ether; TCP has its own window"));
    }
    let on = on.unwrap_or(usual.is_some() && transport.is_datagram());
    for key in ["window", "gap", "packet"] {
        if !on && url.options.contains_key(key) {
            return Err(url.error(format!("{key}= requires burst=on")));
        }
    }
    let usual = usual.unwrap_or_default();
    let automatic_window = automatic(url, "window");
    let (window, adapts_window) = match url.take_number_within("window", 1024..=u32::from(MAX_BUFFER))? {
        Some(window) => (window, false),
        None => (usual.window, automatic_window || usual.adapts_window),
    };
    let packet = url.take_number_within("packet", 576..=largest)?.unwrap_or(usual.packet.min(largest));
    let automatic_gap = automatic(url, "gap");
    let (gap, adapts_gap) = match url.take("gap") {
        None => (usual.gap, automatic_gap || usual.adapts_gap),
        Some(text) => match parse_duration(&text) {
            Ok(gap) if (Duration::from_millis(1)..=Duration::from_millis(100)).contains(&gap) => (gap, false),
            _ => return Err(url.error(format!("gap={text}: give auto, or a time from 1ms to 100ms"))),
        },
    };
    Ok(on.then_some(BurstOptions { packet, window, adapts_window, gap, adapts_gap }))
}

/// Takes an option if its value is `auto`.
fn automatic(url: &mut TargetUrl, key: &str) -> bool {
    let is = url.options.get(key).is_some_and(|value| value == "auto");
    if is {
        url.take(key);
    }
    is
}

/// The first retransmission pause.
pub(crate) fn retry(
    url: &mut TargetUrl,
    transport: TransportKind,
    usual: Duration,
) -> Result<Duration, UrlError> {
    const RANGE: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(60);
    match url.take("retry") {
        None => Ok(usual),
        Some(_) if transport == TransportKind::Tcp => {
            Err(url.error("retry= requires transport=udp, ipx or ether; over TCP nothing is retransmitted"))
        }
        Some(text) => match parse_duration(&text) {
            Ok(pause) if RANGE.contains(&pause) => Ok(pause),
            _ => Err(url.error(format!("retry={text}: give a time from 1ms to 60s"))),
        },
    }
}
