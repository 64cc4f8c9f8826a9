//! The suite every adapter must pass against every server: content, counts and errors.
