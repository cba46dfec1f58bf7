CREATE TABLE web_fetch_allowed_domains (
    domain varchar(255) PRIMARY KEY,
    created_at varchar(255) NOT NULL
);
