"""What people see of a fleet beyond its status, and what they say of its findings.

``fleet_site`` writes pages from the store, ``finding_labels`` lets what a person says of a finding reach every agent's
folder.
"""
