//! The checked options of an `nfs://` URL.

use sharebench_relay::{FAR_OPTION, Far};
use sharebench_target::{TargetUrl, UrlError};

use crate::rpc::{AuthSys, MAX_GROUPS};

const KNOWN: &str = "vers=, mountport=, uid=, gid=, gids=, resvport=, far=";

/// A checked `nfs://` URL.
#[derive(Debug, Clone)]
pub(crate) struct NfsOptions {
    pub(crate) host: String,
    pub(crate) port: Option<u16>,
    pub(crate) mount_port: Option<u16>,
    pub(crate) path: String,
    pub(crate) auth: AuthSys,
    pub(crate) route: Route,
}

/// How connections to the server are opened; by default directly and from any port.
#[derive(Debug, Clone, Default)]
pub(crate) struct Route {
    /// Connect from a port below 1024, as exports without `insecure` require.
    pub(crate) reserved_port: bool,
    pub(crate) far: Far,
}

impl NfsOptions {
    pub(crate) fn from_url(mut url: TargetUrl) -> Result<Self, UrlError> {
        if url.scheme != "nfs" {
            return Err(url.error("not an nfs:// URL"));
        }
        if url.user.is_some() {
            return Err(url.error("NFS has no user names; use uid= and gid="));
        }
        if url.path.split('/').any(|name| name == "." || name == "..") || url.path.contains('\0') {
            return Err(url.error("the path must not contain '.' or '..'"));
        }
        match url.take("vers").as_deref() {
            None | Some("3") => {}
            Some(other) => return Err(url.error(format!("vers={other}: only NFS version 3 is supported"))),
        }
        let mount_port = url.take_number("mountport", 1..=u16::MAX)?;
        let own = own_ids();
        let uid = url.take_number("uid", 0..=u32::MAX)?.unwrap_or(own.0);
        let gid = url.take_number("gid", 0..=u32::MAX)?.unwrap_or(own.1);
        let groups = groups(&mut url)?;
        let reserved_port = url.take_number("resvport", 0..=1u8)? == Some(1);
        let far = Far::new(url.take(FAR_OPTION).as_deref()).map_err(|error| url.error(error.to_string()))?;
        if reserved_port && far.is_simulated() {
            return Err(url.error("resvport=1: the relay of far= connects from any port; use one of the two"));
        }
        url.refuse_leftovers(KNOWN)?;
        Ok(Self {
            host: url.host,
            port: url.port,
            mount_port,
            path: url.path,
            auth: AuthSys { machine: "sharebench".into(), uid, gid, groups },
            route: Route { reserved_port, far },
        })
    }
}

fn groups(url: &mut TargetUrl) -> Result<Vec<u32>, UrlError> {
    let Some(text) = url.take("gids") else { return Ok(Vec::new()) };
    let groups: Result<Vec<u32>, _> = text.split(',').map(str::parse).collect();
    match groups {
        Ok(groups) if groups.len() <= MAX_GROUPS => Ok(groups),
        _ => Err(url.error(format!("gids={text} is not a list of at most {MAX_GROUPS} numbers"))),
    }
}

/// User and group of this process; 0 on a system that does not report them.
fn own_ids() -> (u32, u32) {
    #[cfg(target_os = "linux")]
    if let Ok(own) = std::fs::metadata("/proc/self") {
        use std::os::unix::fs::MetadataExt;
        return (own.uid(), own.gid());
    }
    (0, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(text: &str) -> Result<NfsOptions, UrlError> {
        NfsOptions::from_url(TargetUrl::parse(text).unwrap())
    }

    #[test]
    fn a_url_with_all_options_is_parsed() {
        let text = "nfs://nas:2050/srv/data?vers=3&mountport=999&uid=5&gid=6&gids=7,8&resvport=1";
        let options = options(text).unwrap();
        assert_eq!((options.port, options.mount_port), (Some(2050), Some(999)));
        assert_eq!((options.host.as_str(), options.path.as_str()), ("nas", "/srv/data"));
        assert_eq!((options.auth.uid, options.auth.gid), (5, 6));
        assert_eq!(options.auth.groups, [7, 8]);
        assert!(options.route.reserved_port);
    }

    #[test]
    fn errors_name_the_mistake() {
        for (text, word) in [
            ("smb://nas/x", "nfs://"),
            ("nfs://me@nas/x", "uid="),
            ("nfs://nas/a/../b", ".."),
            ("nfs://nas/x?vers=4.1", "version 3"),
            ("nfs://nas/x?mountport=0", "mountport=0"),
            ("nfs://nas/x?mountport=70000", "65535"),
            ("nfs://nas/x?uid=-1", "uid=-1"),
            ("nfs://nas/x?gids=1,x", "gids"),
            ("nfs://nas/x?resvport=yes", "resvport"),
            ("nfs://nas/x?rsize=1", "rsize"),
            ("nfs://nas/x?far=1h", "longest round trip"),
            ("nfs://nas/x?far=20ms&resvport=1", "one of the two"),
        ] {
            let error = options(text).unwrap_err().to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
