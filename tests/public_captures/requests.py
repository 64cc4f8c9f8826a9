"""Requests of a capture as tshark decodes them, grouped like the operations that `sharebench learn` reports."""
import collections
import subprocess
import sys

NFS_PROGRAM = "100003"
# Operations of `learn` that are compared as a sum: only replies, or what files were before, decide between them.
GROUPS = {
    "open": ("open", "create", "make directory", "CREATE"),
    "attributes": ("stat", "space", "GETATTR", "QUERY_INFO"),
    "change": ("set attributes", "set size", "rename", "SET_INFO"),
    "write": ("write", "write (stable)"),
}
# In SMB 1 a search may ask for attributes, and a removal is a change.
GROUPS_OF_SMB1 = {
    "attributes": ("list", "stat", "space", "FIND_FIRST2"),
    "change": ("set attributes", "set size", "rename", "remove", "SET_PATH_INFORMATION"),
    "open": GROUPS["open"],
}
# Nothing that a request alone decides.
NOT_COMPARED = ("connect",)

V3 = {1: "attributes", 2: "change", 3: "look-up", 4: "ACCESS", 5: "READLINK", 6: "read", 7: "write", 8: "open"}
V3 |= {9: "open", 10: "open", 11: "open", 12: "remove", 13: "remove", 14: "change", 15: "LINK", 16: "list"}
V3 |= {17: "list", 18: "attributes", 19: "FSINFO", 20: "PATHCONF", 21: "flush"}
# What a COMPOUND is for; without one of these it is a LOOKUP, an ACCESS or a GETATTR.
V4 = {4: "close", 5: "flush", 6: "open", 11: "LINK", 12: "lock", 13: "LOCKT", 14: "lock", 18: "open", 25: "read"}
V4 |= {26: "list", 27: "READLINK", 28: "remove", 29: "change", 34: "change", 38: "write", 35: "connect", 42: "connect"}
V4_ELSE = [(15, "look-up"), (3, "ACCESS"), (9, "attributes")]
SMB2 = {5: "open", 6: "close", 7: "flush", 8: "read", 9: "write", 10: "lock", 11: "IOCTL", 14: "list"}
SMB2 |= {15: "CHANGE_NOTIFY", 16: "attributes", 17: "change"}
SMB1 = {0x00: "open", 0x01: "change", 0x02: "open", 0x03: "open", 0x04: "close", 0x05: "flush", 0x06: "change"}
SMB1 |= {0x07: "change", 0x08: "attributes", 0x09: "change", 0x0A: "read", 0x0B: "write", 0x10: "attributes"}
SMB1 |= {0x22: "change", 0x23: "attributes", 0x24: "lock", 0x25: "TRANSACTION", 0x2B: "ECHO", 0x2D: "open"}
SMB1 |= {0x2E: "read", 0x2F: "write", 0x80: "attributes", 0x81: "attributes", 0xA0: "NT_TRANSACT", 0xA2: "open"}
SMB1_CHAINS = {0x24, 0x2D, 0x2E, 0x2F, 0x73, 0x74, 0x75, 0xA2}
NO_MORE_COMMANDS = 0xFF
TRANS2 = {0: "open", 1: "attributes", 2: "attributes", 3: "attributes", 5: "attributes", 6: "change", 7: "attributes"}
TRANS2 |= {8: "change", 13: "open"}
NCP = {0x42: "close", 0x47: "attributes", 0x48: "read", 0x49: "write"}
NCP_BY_SUBFUNCTION = {(0x57, 34): "name space", (0x57, 66): "attributes"}
NCP_BY_SUBFUNCTION |= {(0x59, 1): "open", (0x59, 3): "list", (0x59, 6): "attributes", (0x59, 32): "open"}
# The start of a search, which is counted with its first page.
NCP_NOT_COUNTED = {(0x57, 2), (0x59, 2)}


def rows(capture, display_filter, fields, options):
    """One list per packet, with a list of the occurrences of each field."""
    command = ["tshark", *options, "-r", str(capture), "-Y", display_filter, "-T", "fields"]
    for field in fields:
        command += ["-e", field]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        columns = line.split("\t") + [""] * len(fields)
        yield [column.split(",") if column else [] for column in columns[: len(fields)]]


def of_server(server):
    """The packets of one server."""
    return f" && {'ipv6' if ':' in server else 'ip'}.addr == {server}" if server else ""


def nfs(capture, server, options):
    """Calls of NFS 3 and 4. A call that is sent again is the same call."""
    fields = ["udp.stream", "tcp.stream", "rpc.msgtyp", "rpc.xid", "rpc.program", "rpc.procedure"]
    fields += ["nfs.procedure_v3", "nfs.ops.count", "nfs.opcode"]
    calls, replies = {}, {}
    for udp, tcp, kinds, xids, programs, procedures, v3, counts, codes in rows(capture, "nfs" + of_server(server), fields, options):
        if not len(kinds) == len(xids) == len(programs) == len(procedures):
            sys.exit(f"{capture}: tshark does not state program and procedure of each message of a packet")
        codes = iter(map(int, codes))
        counts = iter(map(int, counts))
        for kind, xid, program, procedure in zip(kinds, xids, programs, procedures):
            if program != NFS_PROGRAM:
                continue
            steps = [] if v3 or procedure == "0" else [next(codes, None) for _ in range(next(counts, 0))]
            table = calls if kind == "0" else replies
            table.setdefault(("udp", *udp, "tcp", *tcp, xid), (bool(v3), int(procedure), steps))
    found = collections.Counter()
    for key, (is_v3, procedure, steps) in calls.items():
        if is_v3 or procedure == 0:
            found[V3.get(procedure)] += 1
        else:
            found.update(compound(steps, replies[key][2] if key in replies else None))
    return found


def compound(steps, done):
    """The operations of a COMPOUND. One that failed is what it was for."""
    reached = steps if done is None else done
    found = [V4[code] for code in reached if code in V4]
    rest = steps[len(reached):]
    if not found and rest and reached[-1:] != [15]:
        found = [V4[code] for code in rest if code in V4][:1]
    if found:
        return found
    return [name for code, name in V4_ELSE if code in reached][:1]


def smb2(capture, server, options):
    """Requests of SMB 2 and 3. A SET_INFO that marks a file for removal is a removal, with the close."""
    fields = ["tcp.stream", "smb2.cmd", "smb2.flags.response", "smb2.msg_id", "smb2.nt_status", "smb2.class"]
    fields += ["smb2.file_info.infolevel"]
    requests, removals = {}, set()
    failed = set()
    for streams, commands, are_replies, ids, statuses, classes, levels in rows(capture, "smb2" + of_server(server), fields, options):
        statuses, classes, levels = iter(statuses), iter(classes), iter(levels)
        for command, is_reply, message in zip(commands, are_replies, ids):
            key = (*streams, message)
            kind = next(classes, "") if command in ("16", "17") else ""
            level = next(levels, "") if kind == "0x01" else ""
            if is_reply == "1":
                if next(statuses, "0x00000000") != "0x00000000":
                    failed.add(key)
            else:
                requests.setdefault(key, int(command))
                if command == "17" and level in ("0x0d", "0x40"):
                    removals.add(key)
    counted = [command for key, command in requests.items() if key not in removals or key in failed]
    return collections.Counter(SMB2.get(command) for command in counted)


def smb1(capture, server, options):
    """Commands of SMB 1, also those of chains."""
    found = collections.Counter()
    # Requests and replies have different senders, and are not in the same packet.
    requests = "smb.flags.response == 0" + of_server(server)
    for commands, subcommands in rows(capture, requests, ["smb.cmd", "smb.trans2.cmd"], options):
        commands = iter(int(command, 16) for command in commands)
        subcommands = iter(int(command, 16) for command in subcommands)
        for command in commands:
            while command != NO_MORE_COMMANDS:
                found[SMB1.get(command) or TRANS2.get(next(subcommands) if command == 0x32 else None)] += 1
                command = next(commands) if command in SMB1_CHAINS else NO_MORE_COMMANDS
    return found


def ncp(capture, server, options):
    """Requests of NCP."""
    found = collections.Counter()
    for functions, subfunctions in rows(capture, "ncp.type == 0x2222" + of_server(server), ["ncp.func", "ncp.subfunc"], options):
        function = int(functions[0], 0)
        subfunction = int(subfunctions[0], 0) if subfunctions else 0
        if (function, subfunction) not in NCP_NOT_COUNTED:
            found[NCP.get(function) or NCP_BY_SUBFUNCTION.get((function, subfunction))] += 1
    return found


READERS = {"NFS": nfs, "SMB 2": smb2, "SMB 1": smb1, "NCP": ncp}


def counts(protocol, capture, server, options):
    """Requests by group."""
    found = READERS[protocol](capture, server, options)
    return {name: count for name, count in found.items() if name is not None and name not in NOT_COMPARED and count}


def grouped(protocol, kinds):
    """The operations of a report of `learn` by group."""
    groups = GROUPS_OF_SMB1 if protocol == "SMB 1" else GROUPS
    names = {operation: group for group, operations in groups.items() for operation in operations}
    found = collections.Counter()
    for kind in kinds:
        operation = kind["operation"]
        if kind["size_class"] is None and operation not in NOT_COMPARED and not (protocol == "SMB 2" and operation == "remove"):
            group = "NT_TRANSACT" if operation.startswith("NT_TRANSACT") else names.get(operation, operation)
            found[group] += kind["count"]
    return dict(found)
