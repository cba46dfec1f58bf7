"""The built-in models; each is a module that is imported when it is used."""
