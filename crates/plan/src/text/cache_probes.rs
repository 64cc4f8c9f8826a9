//! The section `[cache_probes]` of plan text.

use super::parse::{FieldNames, Item, Reader};
use crate::values::CacheProbes;

impl Reader<'_> {
    pub(crate) fn cache_probes(
        &mut self,
        probes: &mut CacheProbes,
        name: &str,
        value: &Item<'_>,
    ) -> FieldNames {
        match name {
            "cold" => probes.cold = self.parsed("cache_probes.cold", value),
            "count" => probes.count = self.count("cache_probes.count", value),
            "distance" => probes.distance = self.parsed("cache_probes.distance", value),
            "server_disk_stat" => {
                probes.server_disk_stat = self.string("cache_probes.server_disk_stat", value);
            }
            "bypass" => probes.bypass = self.items("cache_probes.bypass", value),
            _ => {}
        }
        &["cold", "count", "distance", "server_disk_stat", "bypass"]
    }
}
