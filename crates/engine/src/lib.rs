//! Motors, phases and recorders: runs a resolved plan against targets.
