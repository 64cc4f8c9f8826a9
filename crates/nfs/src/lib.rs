//! NFS version 3 in user space.
