"""The daemon and the command line; nothing is imported here, so that `glados --version` stays cheap."""
