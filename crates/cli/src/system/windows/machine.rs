//! Name and properties of this machine.

use std::ffi::{CStr, c_char};

use windows_sys::Wdk::System::SystemServices::RtlGetVersion;
use windows_sys::Win32::System::LibraryLoader::{GetModuleHandleA, GetProcAddress};
use windows_sys::Win32::System::SystemInformation::{
    ComputerNameDnsHostname, GetComputerNameExW, GlobalMemoryStatusEx, MEMORYSTATUSEX, OSVERSIONINFOW,
};

use crate::system::MachineFacts;

/// Longest name of a machine in UTF-16 units, with its end.
const MAX_NAME: usize = 256;

/// Name of this machine in the network.
pub fn host_name() -> String {
    let mut name = [0_u16; MAX_NAME];
    let mut len = MAX_NAME as u32;
    // SAFETY: the buffer has the stated length, and the call writes at most that.
    let done = unsafe { GetComputerNameExW(ComputerNameDnsHostname, name.as_mut_ptr(), &raw mut len) };
    if done == 0 {
        return "unknown".to_owned();
    }
    String::from_utf16_lossy(name.get(..len as usize).unwrap_or_default())
}

/// Facts about this machine.
pub fn machine_facts() -> MachineFacts {
    MachineFacts {
        kernel: version(),
        cpu: std::env::var("PROCESSOR_IDENTIFIER").ok(),
        memory: memory(),
        load_average: None,
    }
}

/// The version of Windows. Under Wine, which only reports one, its own version comes first: results there are not those
/// of Windows.
fn version() -> Option<String> {
    let mut version =
        OSVERSIONINFOW { dwOSVersionInfoSize: size_of::<OSVERSIONINFOW>() as u32, ..Default::default() };
    // SAFETY: the structure states its own length, which is all that the call writes.
    let status = unsafe { RtlGetVersion(&raw mut version) };
    let OSVERSIONINFOW { dwMajorVersion: major, dwMinorVersion: minor, dwBuildNumber: build, .. } = version;
    let windows = (status == 0).then(|| format!("Windows {major}.{minor}.{build}"))?;
    Some(match wine() {
        Some(wine) => format!("Wine {wine} as {windows}"),
        None => windows,
    })
}

/// The version of Wine, if this process runs there.
fn wine() -> Option<String> {
    // SAFETY: both names are terminated. The library is always loaded, and its handle needs no release.
    let function = unsafe {
        GetProcAddress(GetModuleHandleA(c"ntdll.dll".as_ptr().cast()), c"wine_get_version".as_ptr().cast())
    }?;
    // SAFETY: only Wine exports this name, and there it takes nothing and returns a terminated text that stays.
    let text = unsafe {
        let function: unsafe extern "C" fn() -> *const c_char = std::mem::transmute(function);
        CStr::from_ptr(function())
    };
    Some(text.to_string_lossy().into_owned())
}

fn memory() -> Option<String> {
    let mut status = MEMORYSTATUSEX { dwLength: size_of::<MEMORYSTATUSEX>() as u32, ..Default::default() };
    // SAFETY: the structure states its own length, which is all that the call writes.
    let done = unsafe { GlobalMemoryStatusEx(&raw mut status) };
    (done != 0).then(|| format!("{} kB", status.ullTotalPhys / 1024))
}
