//! Plan text and flags -> plan as typed -> resolved plan.
