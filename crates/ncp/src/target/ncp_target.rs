//! A volume of an NCP server as a target.

use std::time::Duration;

use sharebench_model::{ErrorClass, Fact, IoPolicy, TargetFacts};
use sharebench_target::{
    CallDepth, Capabilities, ConnectError, Connecting, LocalBoxFuture, PhaseObserver, PolicyRefusal,
    PolicyTerms, Secret, Session, SessionSpec, Target, TargetUrl, UrlError, UrlPart,
};

use crate::target::offers::explain;
use crate::target::options::NcpOptions;
use crate::target::policy::check_policy;
use crate::target::setup::open_session;

/// The largest record that is split into several requests.
const MAX_SPLIT: u32 = 16 << 20;

/// A directory of a volume: `ncp://user@host[:port]/VOLUME/dir?option=value`.
///
/// The port defaults to 524, the user to GUEST. docs/protocols/url-options.md lists the options.
#[derive(Debug, Clone)]
pub struct NcpTarget {
    url: String,
    options: NcpOptions,
}

impl NcpTarget {
    /// Checks a URL; an unknown option is an error.
    pub fn from_url(url: TargetUrl, password: Secret) -> Result<Self, UrlError> {
        Ok(Self { url: url.to_string(), options: NcpOptions::from_url(url, password)? })
    }

    fn failure(&self, part: UrlPart, class: ErrorClass, detail: String) -> ConnectError {
        let error = ConnectError { url: self.url.clone(), part, class, detail };
        error.with_source_of(&self.options.password)
    }
}

impl Target for NcpTarget {
    fn url(&self) -> String {
        self.url.clone()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            protocol: "ncp",
            max_queue_depth: self.options.max_connections(),
            max_record: if self.options.splits { MAX_SPLIT } else { self.options.max_record() },
            wire_counted: true,
            drop_cache: self.options.cache.is_some(),
            mapping: false,
            blocking: false,
        }
    }

    fn shared_queue_depth(&self) -> u32 {
        self.options.connections.unwrap_or(1)
    }

    fn call_depth(&self) -> CallDepth {
        CallDepth::one("NCP has one request in flight per connection, and a file belongs to its connection")
    }

    fn descriptors(&self) -> u32 {
        self.shared_queue_depth() * (1 + self.options.tcp.far.descriptors())
    }

    fn final_facts(&self) -> TargetFacts {
        let mut facts = TargetFacts::new();
        self.options.totals.get().put(&mut facts);
        facts.extend(self.options.short_names.stated().map(|names| (Fact::ShortNames, names)));
        facts
    }

    fn caches(&self) -> bool {
        self.options.cache.is_some()
    }

    fn policy(&self, wanted: IoPolicy) -> Result<PolicyTerms, PolicyRefusal> {
        check_policy(wanted, self.options.cache.is_some())
    }

    fn connect<'a>(&'a self, spec: &'a SessionSpec) -> Connecting<'a> {
        self.connect_observed(spec, &drop)
    }

    fn connect_observed<'a>(&'a self, spec: &'a SessionSpec, reached: PhaseObserver<'a>) -> Connecting<'a> {
        Box::pin(async move {
            let most = self.options.max_connections();
            if spec.slots > most {
                let detail = format!(
                    "queue depth {}: NCP has one outstanding request per connection, and this target has connections={most}",
                    spec.slots
                );
                return Err(self.failure(UrlPart::Option("connections"), ErrorClass::Unsupported, detail));
            }
            match open_session(&self.options, spec, reached).await {
                Ok(session) => Ok(Box::new(session) as Box<dyn Session>),
                Err(error) => Err(self.failure(error.part, error.class, error.detail)),
            }
        })
    }

    fn explain(&self, error: ConnectError, limit: Duration) -> LocalBoxFuture<'_, ConnectError> {
        Box::pin(explain(&self.options, error, limit))
    }
}
