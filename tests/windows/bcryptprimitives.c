/* A stand-in for bcryptprimitives.dll, from which Rust's standard library takes random bytes (ProcessPrng) and which
 * Wine 8.0 lacks. It is made for the tests only; Windows has its own. */
#include <windows.h>
#include <ntsecapi.h>

__declspec(dllexport) BOOL WINAPI ProcessPrng(BYTE *bytes, SIZE_T count)
{
    return RtlGenRandom(bytes, (ULONG)count);
}
