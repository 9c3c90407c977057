"""The CAD doctor: which known mistakes of a CAD table explain the logs, and which could not be told."""
