//! SMB 2.0.2 to 3.1.1 in user space.
