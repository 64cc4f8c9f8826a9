//! Where a directory is that the server does not have: referrals (RFC 7530, 8.4.3; RFC 8881, 11.3).

use sharebench_client_core::DialError;
use sharebench_model::{ErrorClass, OpError};
use sharebench_target::UrlPart;

use crate::client::v4::requests::Request;
use crate::client::v4::session::Nfs4Session;
use crate::v4::attribute_types::FsLocations;
use crate::v4::bitmap::Bitmap;
use crate::v4::data::FileHandle4;
use crate::v4::item::Opaque;
use crate::v4::names::{FileAttributes, Lookup};
use crate::v4::operation::Operation;

/// `fs_locations`.
const LOCATIONS: Bitmap = Bitmap::from_numbers(&[24]);
/// Maximum number of locations that an error names.
const MAX_NAMED: usize = 4;

/// The locations as `server:/path`.
fn named(locations: &FsLocations<'_>) -> String {
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(char::is_control, "?");
    let mut names = Vec::new();
    for location in locations.locations.iter().take(MAX_NAMED) {
        let path: Vec<String> = location.path.iter().map(|name| shown(name.0)).collect();
        let path = path.join("/");
        let servers = location.servers.iter().take(MAX_NAMED);
        names.extend(servers.map(|server| format!("{}:/{path}", shown(server.0))));
    }
    names.truncate(MAX_NAMED);
    names.join(", ")
}

impl Nfs4Session {
    /// The error of a name that the server refers to another server.
    pub(crate) async fn referral(&mut self, parent: FileHandle4, name: &str, error: OpError) -> DialError {
        let locations = self.locations(parent, name).await.unwrap_or_default();
        let place = if locations.is_empty() { "another server".to_owned() } else { locations };
        let detail = format!("'{name}' is a referral to {place}; give that address ({})", error.detail);
        DialError::new(UrlPart::Path, ErrorClass::Unsupported, detail)
    }

    async fn locations(&mut self, parent: FileHandle4, name: &str) -> Result<String, OpError> {
        let mut results = self
            .request(Request::reading(Operation::Lookup), |compound, _| {
                compound
                    .handle(&parent)
                    .operation(Operation::Lookup, &Lookup { name: Opaque(name.as_bytes()) })
                    .attributes(LOCATIONS);
            })
            .await?;
        results.done(Operation::PutFh)?;
        results.done(Operation::Lookup)?;
        let FileAttributes { attributes } = results.get(Operation::GetAttr)?;
        Ok(attributes.locations.as_ref().map_or_else(String::new, named))
    }
}
