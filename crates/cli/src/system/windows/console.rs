//! The console of Windows.

use std::io::{IsTerminal, stderr, stdin, stdout};
use std::os::windows::io::AsRawHandle;

use windows_sys::Win32::Foundation::HANDLE;
use windows_sys::Win32::System::Console::{
    CONSOLE_SCREEN_BUFFER_INFO, ENABLE_VIRTUAL_TERMINAL_PROCESSING, GetConsoleMode,
    GetConsoleScreenBufferInfo, GetNumberOfConsoleInputEvents, INPUT_RECORD, KEY_EVENT, ReadConsoleInputW,
    SetConsoleMode,
};

/// Events of one call.
const EVENTS: usize = 32;

/// Columns and rows of the console on standard output or standard error, if there is one.
pub fn terminal_size() -> Option<(usize, usize)> {
    size_of_console(stdout().as_raw_handle()).or_else(|| size_of_console(stderr().as_raw_handle()))
}

fn size_of_console(handle: HANDLE) -> Option<(usize, usize)> {
    let mut info = CONSOLE_SCREEN_BUFFER_INFO::default();
    // SAFETY: the structure is live; a handle that is not a console is an error.
    let done = unsafe { GetConsoleScreenBufferInfo(handle, &raw mut info) };
    let window = info.srWindow;
    let columns = usize::try_from(i32::from(window.Right) - i32::from(window.Left) + 1).ok()?;
    let rows = usize::try_from(i32::from(window.Bottom) - i32::from(window.Top) + 1).ok()?;
    (done != 0 && columns > 0).then_some((columns, rows))
}

/// Makes the console understand escape sequences, which older ones do on request only.
pub fn prepare_terminal() {
    for handle in [stdout().as_raw_handle(), stderr().as_raw_handle()] {
        let mut mode = 0;
        // SAFETY: the number is live; a handle that is not a console is an error, and then nothing is set.
        unsafe {
            if GetConsoleMode(handle, &raw mut mode) != 0 {
                SetConsoleMode(handle, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
            }
        }
    }
}

/// The keys of the console, as events that need no change of its settings.
pub struct Keys(());

impl Keys {
    /// None if standard input is not a console.
    pub fn read() -> Option<Self> {
        stdin().is_terminal().then_some(Self(()))
    }

    /// The letters that were typed since the last call.
    #[expect(clippy::unused_self, reason = "the value states that there is a console")]
    pub fn typed(&self) -> Vec<u8> {
        let input = stdin();
        let handle = input.as_raw_handle();
        let mut waiting = 0;
        // SAFETY: the number is live.
        let known = unsafe { GetNumberOfConsoleInputEvents(handle, &raw mut waiting) };
        if known == 0 || waiting == 0 {
            return Vec::new();
        }
        let mut events = [INPUT_RECORD::default(); EVENTS];
        let mut read = 0;
        // SAFETY: the buffer has the stated length. Events are waiting, so that the call returns at once.
        let done = unsafe { ReadConsoleInputW(handle, events.as_mut_ptr(), EVENTS as u32, &raw mut read) };
        if done == 0 {
            return Vec::new();
        }
        events.iter().take(read as usize).filter_map(letter).collect()
    }
}

/// The letter of a key that was pressed.
fn letter(event: &INPUT_RECORD) -> Option<u8> {
    if u32::from(event.EventType) != KEY_EVENT {
        return None;
    }
    // SAFETY: the type states which member is valid, and the unit is valid in both of its forms.
    let (down, unit) = unsafe { (event.Event.KeyEvent.bKeyDown, event.Event.KeyEvent.uChar.UnicodeChar) };
    if down == 0 { None } else { u8::try_from(unit).ok().filter(u8::is_ascii) }
}

/// False: [`Keys`] changes no settings.
pub fn restore_keys() -> bool {
    false
}
