//! NFS: at NFS-Ganesha and the server of the Linux kernel, and other clients at the embedded server.

pub mod ganesha;
pub mod tls;
pub mod v4_clients;
pub mod v4_servers;
