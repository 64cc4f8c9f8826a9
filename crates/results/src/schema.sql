-- The counts, bytes and times of the steps of a run add up to less than 2^63.
CREATE TABLE run (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    title TEXT NOT NULL,
    started_unix_ms INTEGER NOT NULL,
    -- Version of sharebench that measured or imported the run.
    version TEXT NOT NULL,
    plan TEXT NOT NULL,
    -- Decimal, because seeds use all 64 bits.
    seed TEXT NOT NULL,
    steps_planned INTEGER NOT NULL,
    -- Number of recorded steps; null while the run is under way or was interrupted.
    steps_done INTEGER,
    -- JSON: the rule that decides how often cells are measured; null where the number of steps is fixed.
    repeat TEXT,
    -- JSON: facts about the measuring machine, or about the imported file.
    environment TEXT NOT NULL,
    -- JSON; null while the run is under way or was interrupted.
    outcome TEXT,
    -- The process that measures the run. Start time and boot distinguish it from later processes with the same number.
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
    -- Canonical JSON: axes in the order of their names, so that equal text means equal coordinates.
    coordinates TEXT NOT NULL,
    started_unix_ms INTEGER NOT NULL,
    -- Time of the step outside its window, without the turns of other targets.
    unmeasured_ms INTEGER NOT NULL,
    window_ns INTEGER NOT NULL,
    busy_ns INTEGER NOT NULL,
    -- JSON: the time that rates are divided by, or the rate that another program reported.
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
    -- JSON: counts by error class.
    errors TEXT NOT NULL,
    -- Number of times that a small cell was repeated within the step.
    passes INTEGER NOT NULL,
    users_assigned INTEGER NOT NULL,
    users_reported INTEGER NOT NULL,
    -- JSON: contribution of each job of a sweep.
    shares TEXT NOT NULL,
    censored INTEGER NOT NULL,
    -- HdrHistogram V2, nanoseconds.
    response BLOB NOT NULL,
    service BLOB NOT NULL,
    lag BLOB NOT NULL,
    -- JSON: effective sample size of the response times at the usual quantiles; null where it was not estimated.
    response_sample_size TEXT,
    -- JSON: mean response time, think time and size of a transaction that an imported source reports; null where it
    -- reports none of them.
    reported TEXT,
    client_cpu_user_ns INTEGER NOT NULL,
    client_cpu_kernel_ns INTEGER NOT NULL,
    -- JSON: observations about client caches and durability.
    evidence TEXT NOT NULL,
    -- JSON: observations about the server's cache and storage; null where there are none.
    server TEXT,
    -- JSON: figures of the TCP connections; null where there are none.
    tcp TEXT,
    -- JSON: results of a load by transaction, operation and user; null for steps of a sweep.
    load TEXT,
    -- JSON: contribution of each rank of a run under MPI; null for runs of one process.
    ranks TEXT,
    -- JSON: self-checks with their verdicts.
    checks TEXT NOT NULL,
    PRIMARY KEY (run, position)
) STRICT;
