"""Ways to start the agents of a fleet on the machines of a cluster.

An agent needs no starter: whatever starts processes and starts them again can run ``irfuzz agent``. What stands here
is for clusters whose own way to run a process is an interface of Python. A starter places agents and starts them
again; programs and findings go to the store, and never through the cluster's own objects, which die with their owner.

``ray_starter`` runs one on each node of a Ray cluster. ``agent_guard`` is the process between a keeper and its agent,
which ends the agent if the keeper dies: otherwise the next keeper would find the agent's folder in use.
"""
