"""Mass-property sheets of CAD programs: what they print and what it means."""
