"""Says what a fault depends on, as far as a small program shows it, and which findings have one cause.

Two causes in one group hide a bug, one cause in two groups costs a look: group only if the evidence says so.

Read `cause_grouping` (the `Cause` of a small program, and groups of findings), `fault_removing_edits` (small changes
that make the fault go away), `wrong_dtype_shape_relation` (how a wrong type or shape relates to the right one),
`upstream_cause` (an earlier value of the program that is wrong already).

New evidence is a typed field of `Cause`, filled in one place, with a line in `Cause.explains`. Do not decide by the
name of an operator, and do not run targets here except through the predicate that is passed in.
"""
