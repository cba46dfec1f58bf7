"""What the HTTP API offers, one file a noun."""
