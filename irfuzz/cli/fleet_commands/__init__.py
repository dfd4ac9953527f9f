"""The commands of a campaign on many machines, one module each, as those of ``irfuzz/cli/commands`` are."""
