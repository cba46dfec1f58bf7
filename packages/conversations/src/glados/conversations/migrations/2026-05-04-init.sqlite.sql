CREATE TABLE conversations_sessions (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    parent_id TEXT,
    title TEXT,
    title_lower TEXT NOT NULL,
    tags TEXT NOT NULL,
    principal TEXT NOT NULL,
    forked_from TEXT,
    tainted INTEGER NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    seq INTEGER NOT NULL,
    head TEXT,
    head_before TEXT,
    indexed INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    reasoning_tokens INTEGER NOT NULL,
    cost REAL NOT NULL,
    unknown_costs INTEGER NOT NULL
);

CREATE INDEX conversations_sessions_parent ON conversations_sessions (parent_id) WHERE parent_id IS NOT NULL;

CREATE TABLE conversations_tags (
    tag TEXT NOT NULL,
    session INTEGER NOT NULL,
    PRIMARY KEY (tag, session)
) WITHOUT ROWID;

CREATE TABLE conversations_entries (
    number INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    seq INTEGER NOT NULL,
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
    session INTEGER NOT NULL,
    model TEXT NOT NULL,
    calls INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    reasoning_tokens INTEGER NOT NULL,
    cost REAL NOT NULL,
    unknown_costs INTEGER NOT NULL,
    PRIMARY KEY (session, model)
) WITHOUT ROWID;

CREATE TABLE conversations_runs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL UNIQUE,
    id TEXT NOT NULL UNIQUE,
    resumable INTEGER NOT NULL,
    resumed INTEGER NOT NULL,
    lease TEXT NOT NULL
);

CREATE VIRTUAL TABLE conversations_search USING fts5(
    text, content='', detail='none', columnsize=0, tokenize='trigram case_sensitive 1'
);

CREATE TABLE conversations_rules (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    session_id TEXT,
    rule TEXT NOT NULL,
    principal TEXT NOT NULL,
    created_at TEXT NOT NULL
);

CREATE TABLE conversations_artifacts (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    session_id TEXT,
    call_id TEXT NOT NULL,
    tool_id TEXT NOT NULL,
    untrusted INTEGER NOT NULL,
    size INTEGER NOT NULL,
    text BLOB NOT NULL
);

CREATE INDEX conversations_artifacts_session ON conversations_artifacts (session_id);
