// v9u-smb2: HOST PORT SHARE USER PASSWORD.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { promisify } from "node:util";

const SMB2 = createRequire(`${process.cwd()}/`)("v9u-smb2");
const [host, port, share, username, password] = process.argv.slice(2);
const client = new SMB2({ share: `\\\\${host}\\${share}`, domain: "", username, password, port: Number(port) });
const call = (name, ...parameters) => promisify(client[name].bind(client))(...parameters);

const data = Buffer.alloc(300_000, "0123456789");
await call("mkdir", "node");
await call("writeFile", "node\\file.bin", data);
assert.deepEqual(await call("readFile", "node\\file.bin"), data);
assert.deepEqual(await call("readdir", "node"), ["file.bin"]);
assert.equal(await call("exists", "node\\none"), false);
await call("rename", "node\\file.bin", "node\\renamed.bin");
await call("rename", "node", "other");
await call("unlink", "other\\renamed.bin");
await call("rmdir", "other");
client.disconnect?.();
