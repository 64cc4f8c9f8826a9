//! End to end and interop tests: our program and its parts against real servers, clients and a browser.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "all of it is tests, which clippy sees by #[test] only"
)]

mod adapters;
mod bad_input;
mod bands;
mod bands_on_disk;
mod browsing;
mod changing_maps;
mod cleanliness;
mod comparing;
mod dashboard;
mod demo;
mod diagnosing;
mod distance;
mod doctor;
mod embedded;
mod every_test;
mod exchange;
mod extreme_integers;
mod facts;
mod gate;
mod gate_on_a_busy_machine;
mod interop_ganesha;
mod interop_smbd;
mod io500;
mod kernel_guest;
mod kernel_guest_bands;
mod kernel_guest_mounts;
mod kernel_guest_ncpfs;
mod kill9;
mod learning;
mod live;
mod load_locks;
mod load_notifications;
mod load_rights;
mod load_watch;
mod loadfiles;
mod loads;
mod locks;
mod lost_server;
mod metadata;
mod metadata_axes;
mod metadata_breaks;
mod metadata_breaks_served;
mod metadata_faults;
mod metadata_interrupted;
mod metadata_wire;
mod nagle;
mod ncp;
mod ncp_bindery;
mod ncp_dos;
mod ncp_ether;
mod ncp_judges;
mod ncp_locks;
mod nfs4;
mod nfs4_servers;
mod nfs_tls;
mod pages;
mod peers;
mod plans;
mod policies;
mod probing;
mod recycle_bins;
mod reports;
mod scale;
mod scale_faults;
mod second_run;
mod series;
mod server_side;
mod site;
mod smb1;
mod smb1_server;
mod smb_channels;
mod smb_clients;
mod smb_leases;
mod smb_listings;
mod smb_mounts;
mod smbtorture;
mod stored;
mod sweep;
