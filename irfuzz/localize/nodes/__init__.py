"""Finds the nodes, and the parameters of nodes, at which two targets begin to differ.

A node is blamed if it differs alone, fed with the values that it had on the other target. A map of hidden states only
ranks nodes, and counts if reading the states changed no output.

Read ``node_search`` (what is looked for, in which order, within its time), ``single_node_replay`` with
``subprogram_extraction`` (each node alone), ``control_flow_unrolling`` (bodies and functions written out first),
``localization_map`` (CRADLE), then ``causal_testing``, ``parameter_variants`` and ``responsible_parameters`` (AUDEE).

A new way of finding nodes is called by ``node_search`` and stops at its clock. Do not edit the user's program; work
on clones.
"""
