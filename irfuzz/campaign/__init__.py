"""Seeds, targets and a time enter, findings leave: the only place that wires everything."""
