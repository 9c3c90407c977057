"""One function for each command, whole."""
