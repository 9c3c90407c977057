"""The commands: arguments and printing, nothing else."""
