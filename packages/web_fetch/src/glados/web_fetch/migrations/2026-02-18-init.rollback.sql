DROP TABLE web_fetch_allowed_domains;
