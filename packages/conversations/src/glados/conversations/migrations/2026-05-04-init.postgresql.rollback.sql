DROP TABLE conversations_artifacts;
DROP TABLE conversations_rules;
DROP TABLE conversations_search;
DROP TABLE conversations_runs;
DROP TABLE conversations_costs;
DROP TABLE conversations_entries;
DROP TABLE conversations_tags;
DROP TABLE conversations_sessions;
