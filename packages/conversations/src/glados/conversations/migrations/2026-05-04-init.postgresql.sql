CREATE TABLE conversations_sessions (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    parent_id TEXT,
    title TEXT,
    title_lower TEXT NOT NULL,
    tags TEXT NOT NULL,
    principal TEXT NOT NULL,
    forked_from TEXT,
    tainted BIGINT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    seq BIGINT NOT NULL,
    head TEXT,
    head_before TEXT,
    indexed BIGINT NOT NULL,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cached_tokens BIGINT NOT NULL,
    reasoning_tokens BIGINT NOT NULL,
    cost DOUBLE PRECISION NOT NULL,
    unknown_costs BIGINT NOT NULL
);

CREATE INDEX conversations_sessions_parent ON conversations_sessions (parent_id) WHERE parent_id IS NOT NULL;

CREATE TABLE conversations_tags (
    tag TEXT NOT NULL,
    session BIGINT NOT NULL,
    PRIMARY KEY (tag, session)
);

CREATE TABLE conversations_entries (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    id TEXT NOT NULL,
    parent_id TEXT,
    kind TEXT NOT NULL,
    payload TEXT NOT NULL,
    created_at TEXT NOT NULL,
    run_id TEXT,
    principal TEXT NOT NULL,
    extra TEXT
);

CREATE UNIQUE INDEX conversations_entries_seq ON conversations_entries (session, seq);

CREATE TABLE conversations_costs (
    session BIGINT NOT NULL,
    model TEXT NOT NULL,
    calls BIGINT NOT NULL,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cached_tokens BIGINT NOT NULL,
    reasoning_tokens BIGINT NOT NULL,
    cost DOUBLE PRECISION NOT NULL,
    unknown_costs BIGINT NOT NULL,
    PRIMARY KEY (session, model)
);

CREATE TABLE conversations_runs (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session BIGINT NOT NULL UNIQUE,
    id TEXT NOT NULL UNIQUE,
    resumable BIGINT NOT NULL,
    resumed BIGINT NOT NULL,
    lease TEXT NOT NULL
);

CREATE TABLE conversations_search (
    number BIGINT PRIMARY KEY,
    grams TSVECTOR NOT NULL
);

CREATE INDEX conversations_search_grams ON conversations_search USING gin (grams);

CREATE TABLE conversations_rules (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    session_id TEXT,
    rule TEXT NOT NULL,
    principal TEXT NOT NULL,
    created_at TEXT NOT NULL
);

CREATE TABLE conversations_artifacts (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    session_id TEXT,
    call_id TEXT NOT NULL,
    tool_id TEXT NOT NULL,
    untrusted BIGINT NOT NULL,
    size BIGINT NOT NULL,
    text BYTEA NOT NULL
);

CREATE INDEX conversations_artifacts_session ON conversations_artifacts (session_id);
