-- Integers that are 64-bit unsigned in the program keep their bits: values from 2^63 up read negative here.
CREATE TABLE run (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    title TEXT NOT NULL,
    started_unix_ms INTEGER NOT NULL,
    version TEXT NOT NULL,
    plan TEXT NOT NULL,
    -- Decimal, because seeds use all 64 bits.
    seed TEXT NOT NULL,
    steps_planned INTEGER NOT NULL,
    environment TEXT NOT NULL,
    -- JSON; null while the run is under way or was interrupted.
    outcome TEXT,
    -- The process that measures it, told from later ones with the same number.
    owner_pid INTEGER NOT NULL,
    owner_started INTEGER NOT NULL,
    owner_boot TEXT NOT NULL
) STRICT;

CREATE TABLE target (
    run INTEGER NOT NULL REFERENCES run (id),
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    url TEXT NOT NULL,
    -- JSON; null until the target was reached.
    facts TEXT,
    PRIMARY KEY (run, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE step (
    run INTEGER NOT NULL REFERENCES run (id),
    position INTEGER NOT NULL,
    target INTEGER NOT NULL,
    repetition INTEGER NOT NULL,
    -- Canonical JSON: axes in the order of their names, so that equal text is equal coordinates.
    coordinates TEXT NOT NULL,
    started_unix_ms INTEGER NOT NULL,
    window_ns INTEGER NOT NULL,
    busy_ns INTEGER NOT NULL,
    rate_base TEXT NOT NULL,
    operations INTEGER NOT NULL,
    transactions INTEGER NOT NULL,
    bytes_read INTEGER NOT NULL,
    bytes_written INTEGER NOT NULL,
    bytes_verified INTEGER NOT NULL,
    -- The five wire columns are null together where nothing was counted on a wire.
    wire_requests INTEGER,
    wire_bytes_sent INTEGER,
    wire_bytes_received INTEGER,
    wire_payload_sent INTEGER,
    wire_payload_received INTEGER,
    errors TEXT NOT NULL,
    users_assigned INTEGER NOT NULL,
    users_reported INTEGER NOT NULL,
    censored INTEGER NOT NULL,
    -- HdrHistogram V2, nanoseconds.
    response BLOB NOT NULL,
    service BLOB NOT NULL,
    lag BLOB NOT NULL,
    client_cpu_user_ns INTEGER NOT NULL,
    client_cpu_kernel_ns INTEGER NOT NULL,
    checks TEXT NOT NULL,
    PRIMARY KEY (run, position)
) STRICT;
