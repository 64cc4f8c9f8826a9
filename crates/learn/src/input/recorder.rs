//! Collects what decoders find: operations, users and files, without names.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::{IpAddr, SocketAddr};

use super::connection_users::ConnectionUsers;
use super::keys::Keyring;
use super::message::{Ends, Message};
use super::performed::{Exchange, Performed};
use crate::operation::{File, Observed, Operation, Outcome, Person, Protocol, Unseen};

/// Most operations that are kept: 4 GiB of memory. Later ones are counted as not understood.
const MAX_OPERATIONS: usize = 1 << 26;

/// Most handles and paths together. Beyond them a file keeps its handle, and is no longer found by its name.
const MAX_IDENTITIES: usize = 1 << 26;

/// The operations of all connections of one server or several.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    observed: Observed,
    clients: HashMap<IpAddr, u32>,
    users: HashMap<(u32, u64, Protocol), u32>,
    /// The user of the last request, whose next one is often the next one of all.
    last_user: Option<(IpAddr, u64, Protocol, u32)>,
    /// Numbers of credentials that connections share.
    credentials: HashMap<(u32, u64, Protocol), u32>,
    connection_users: ConnectionUsers,
    /// By the hash of server and handle or path.
    files: HashMap<u64, u32>,
    /// Files that were changed before a length was seen: their first length stays unknown.
    changed: HashSet<u32>,
    /// Operations of each server, but for those of the last one since the one before.
    servers: HashMap<SocketAddr, u64>,
    last_server: Option<(SocketAddr, u64)>,
    /// Keys of encrypted sessions, which connections share.
    keyring: Keyring,
}

impl Recorder {
    /// With these keys for encrypted sessions.
    pub(crate) fn new(keyring: Keyring) -> Self {
        Self { keyring, ..Self::default() }
    }

    /// The keys of encrypted sessions.
    pub(crate) const fn keyring(&mut self) -> &mut Keyring {
        &mut self.keyring
    }

    /// The recorder for what passes between these ends.
    pub(crate) const fn connection(&mut self, ends: Ends) -> Recording<'_> {
        Recording { ends, all: self }
    }

    /// What could not be seen.
    pub(crate) const fn unseen(&mut self) -> &mut Unseen {
        &mut self.observed.unseen
    }

    /// Servers with the numbers of their operations, the busiest first.
    pub(crate) fn servers(&mut self) -> Vec<(SocketAddr, u64)> {
        self.add_last_server();
        let mut servers: Vec<_> = self.servers.iter().map(|(server, count)| (*server, *count)).collect();
        servers.sort_by_key(|(server, count)| (std::cmp::Reverse(*count), *server));
        servers
    }

    fn add_last_server(&mut self) {
        if let Some((server, count)) = self.last_server.take() {
            *self.servers.entry(server).or_default() += count;
        }
    }

    /// Everything, by time.
    pub(crate) fn finish(mut self, duration: u64, started: u64) -> Observed {
        self.observed.operations.sort_by_key(|operation| operation.start);
        self.connection_users.join(&mut self.observed);
        let key_notes = self.keyring.notes();
        Observed { duration, started, key_notes, ..self.observed }
    }
}

/// Records what the messages between a client and a server show: the users of the client, the files of the server, and what
/// the users did with them. Files are known by handles and paths, which are those of the server, whatever the client.
#[derive(Debug)]
pub(crate) struct Recording<'a> {
    pub(crate) ends: Ends,
    all: &'a mut Recorder,
}

impl Recording<'_> {
    /// The user of the client with this identity: the uid of a credential, the number of a session.
    pub(crate) fn user(&mut self, identity: u64, protocol: Protocol) -> u32 {
        let address = self.ends.client.ip();
        if let Some((last, number, spoken, user)) = self.all.last_user
            && (last, number, spoken) == (address, identity, protocol)
        {
            return user;
        }
        let next = self.all.clients.len() as u32;
        let client = *self.all.clients.entry(address).or_insert(next);
        let next = self.all.users.len() as u32;
        let user = *self.all.users.entry((client, identity, protocol)).or_insert(next);
        if user == next {
            self.all.observed.users.push(Person { client, protocol });
        }
        self.all.last_user = Some((address, identity, protocol, user));
        user
    }

    /// The user of the connection with this credential, whom other connections may have too: [`Recorder::finish`] finds out which
    /// connections are those of one user.
    pub(crate) fn connection_user(&mut self, credential: u64, protocol: Protocol) -> u32 {
        let mut hasher = DefaultHasher::new();
        (credential, self.ends.client.port()).hash(&mut hasher);
        let user = self.user(hasher.finish(), protocol);
        let machine = self.all.clients.get(&self.ends.client.ip()).copied().unwrap_or_default();
        let next = self.all.credentials.len() as u32;
        let number = *self.all.credentials.entry((machine, credential, protocol)).or_insert(next);
        self.all.connection_users.add(user, number);
        user
    }

    /// The number of the file with this handle or path.
    pub(crate) fn file(&mut self, identity: &[u8]) -> u32 {
        let key = self.hash(identity);
        let next = self.all.observed.files.len() as u32;
        let file = *self.all.files.entry(key).or_insert(next);
        if file == next {
            self.all.observed.files.push(File::default());
        }
        file
    }

    /// The file that has this handle or path, if it was seen before.
    pub(crate) fn known_file(&self, identity: &[u8]) -> Option<u32> {
        self.all.files.get(&self.hash(identity)).copied()
    }

    /// Notes that a file is known by this name too.
    pub(crate) fn link(&mut self, identity: &[u8], file: u32) {
        if self.all.files.len() < MAX_IDENTITIES {
            let key = self.hash(identity);
            self.all.files.insert(key, file);
        }
    }

    /// Gives a file another handle or path; the one that had it until now is returned, and has none afterwards.
    pub(crate) fn rename(&mut self, from: &[u8], to: &[u8]) -> Option<u32> {
        let file = self.all.files.remove(&self.hash(from))?;
        let key = self.hash(to);
        self.all.files.insert(key, file)
    }

    /// Forgets a handle or path: a file that gets it later is another one.
    pub(crate) fn forget(&mut self, identity: &[u8]) {
        self.all.files.remove(&self.hash(identity));
    }

    fn hash(&self, identity: &[u8]) -> u64 {
        // The same server may be reached at several ports; its files are the same.
        let mut hasher = DefaultHasher::new();
        self.ends.server.ip().hash(&mut hasher);
        identity.hash(&mut hasher);
        hasher.finish()
    }

    /// Notes where a file is and, from its name, its type. The name is not kept.
    pub(crate) fn name(&mut self, file: u32, parent: Option<u32>, name: &[u8]) {
        if let Some(facts) = self.all.observed.files.get_mut(file as usize) {
            facts.parent = parent.or(facts.parent);
            facts.extension = data_type(name).or(facts.extension);
        }
    }

    /// Notes that it is a directory.
    pub(crate) fn directory(&mut self, file: u32) {
        if let Some(facts) = self.all.observed.files.get_mut(file as usize) {
            facts.directory = true;
        }
    }

    /// Notes its length in bytes before its first change; later lengths are ignored.
    pub(crate) fn size(&mut self, file: u32, bytes: u64) {
        if let Some(facts) = self.all.observed.files.get_mut(file as usize)
            && !facts.created
            && !self.all.changed.contains(&file)
        {
            facts.size.get_or_insert(bytes);
        }
    }

    /// Notes that its length may have changed: one that is seen later is not that of its first operation.
    pub(crate) fn changed(&mut self, file: u32) {
        if let Some(facts) = self.all.observed.files.get(file as usize)
            && facts.size.is_none()
            && !facts.created
        {
            self.all.changed.insert(file);
        }
    }

    /// Notes that it was made within the input.
    pub(crate) fn created(&mut self, file: u32) {
        if let Some(facts) = self.all.observed.files.get_mut(file as usize)
            && facts.size.is_none()
        {
            facts.created = true;
        }
    }

    /// Notes what a reply states about a file: the length of a directory is not that of data.
    pub(crate) fn describe(&mut self, file: u32, is_directory: bool, size: Option<u64>) {
        if is_directory {
            self.directory(file);
        } else if let Some(size) = size {
            self.size(file, size);
        }
    }

    /// Adds the operations of a request, in any order.
    pub(crate) fn add(&mut self, exchange: Exchange, performed: Performed) {
        if self.all.last_server.is_none_or(|(server, _)| server != self.ends.server) {
            self.all.add_last_server();
        }
        let observed = &mut self.all.observed;
        let Exchange { user, start, end } = exchange;
        let outcome = performed.outcome;
        let end = end.filter(|_| outcome != Outcome::NoReply);
        for action in performed.actions.into_iter().flatten() {
            if observed.operations.len() >= MAX_OPERATIONS {
                observed.unseen.not_understood += 1;
                continue;
            }
            observed.unseen.without_reply += u64::from(outcome == Outcome::NoReply);
            self.all.last_server.get_or_insert((self.ends.server, 0)).1 += 1;
            observed.operations.push(Operation { user, start, end, action, outcome });
        }
    }

    /// Counts a message that could not be decoded.
    pub(crate) fn not_decoded(&mut self, message: &Message<'_>) {
        let unseen = self.unseen();
        *(if message.is_cut() { &mut unseen.cut } else { &mut unseen.not_understood }) += 1;
    }

    /// What could not be seen.
    pub(crate) const fn unseen(&mut self) -> &mut Unseen {
        self.all.unseen()
    }

    /// The keys of encrypted sessions.
    pub(crate) const fn keyring(&mut self) -> &mut Keyring {
        self.all.keyring()
    }
}

/// The type of data (docs/measure/loads.md) of a file with this name; none if its extension says nothing.
fn data_type(name: &[u8]) -> Option<&'static str> {
    let dot = name.iter().rposition(|byte| *byte == b'.')?;
    let extension = name.get(dot + 1..)?.to_ascii_lowercase();
    Some(match extension.as_slice() {
        b"txt" | b"log" | b"csv" | b"htm" | b"html" | b"xml" | b"json" | b"md" | b"c" | b"h" | b"cpp"
        | b"rs" | b"py" | b"js" | b"ts" | b"java" | b"sh" | b"toml" | b"yaml" | b"yml" | b"ini" | b"conf"
        | b"tex" | b"rtf" | b"eml" | b"sql" => "text",
        b"docx" | b"odt" | b"pdf" | b"epub" => "text-compressed",
        b"bmp" | b"tif" | b"tiff" | b"dpx" | b"raw" | b"dng" | b"psd" | b"wav" | b"ppm" => "image",
        b"jpg" | b"jpeg" | b"png" | b"gif" | b"webp" | b"heic" | b"mp3" | b"mp4" | b"mkv" | b"mov"
        | b"avi" | b"m4a" | b"flac" | b"ogg" => "image-compressed",
        b"exe" | b"dll" | b"so" | b"o" | b"a" | b"obj" | b"lib" | b"bin" | b"img" | b"iso" | b"vmdk"
        | b"vdi" | b"qcow2" | b"vhd" | b"vhdx" | b"class" | b"pyc" => "binary",
        b"zip" | b"gz" | b"xz" | b"zst" | b"bz2" | b"7z" | b"rar" | b"tgz" | b"jar" | b"deb" | b"rpm"
        | b"cab" | b"msi" => "binary-compressed",
        b"db" | b"sqlite" | b"mdb" | b"accdb" | b"dbf" | b"mdf" | b"ldf" | b"xls" | b"doc" | b"ppt"
        | b"pst" | b"ost" | b"ibd" | b"dat" => "data",
        b"xlsx" | b"pptx" | b"ods" | b"parquet" | b"npz" => "data-compressed",
        _ => return None,
    })
}
