//! What all connections of a server share.

use std::sync::Arc;

use super::bindery::Bindery;
use super::login_throttle::LoginThrottle;
use super::open_files::OpenFileTable;
use super::options::Options;
use super::volume::VolumeResult;
use super::waiting_requests::WaitingRequests;
use crate::wire::Completion;
use crate::wire::login::USER;

/// What all connections share.
#[derive(Debug)]
pub struct Shared<V> {
    pub options: Options,
    pub volumes: Vec<(Vec<u8>, V)>,
    pub open_files: Arc<OpenFileTable>,
    pub waiting: Arc<WaitingRequests>,
    pub throttle: LoginThrottle,
    pub bindery: Bindery,
}

impl<V> Shared<V> {
    /// A volume by number.
    pub fn volume(&self, number: u8) -> VolumeResult<&V> {
        self.volumes.get(usize::from(number)).map(|(_, volume)| volume).ok_or(Completion::NoSuchVolume)
    }

    /// Name of a volume; empty if it does not exist.
    pub fn volume_name(&self, number: u8) -> &[u8] {
        self.volumes.get(usize::from(number)).map_or(&[], |(name, _)| name)
    }

    /// Index of a user that may log in.
    pub fn user(&self, name: &[u8]) -> Option<usize> {
        self.bindery.find(USER, name)?.user
    }
}
