"""Chooses what a job runs next: a parent of the corpus, its mutant, and the mutant's inputs.

A draw depends on nothing but the campaign's seed, the job's number, the iteration and the corpus, so that a job can
be repeated. What a draw uses must not depend on the clock; one thing does: with many targets `unmutated_seed_turns`
puts off seeds that take too much of the time.

A program is worth its place for the features that it holds: no cheaper one brought them. What it costs is estimated,
for a clock would make campaigns of one seed differ. It is known by a row of the database's index, and read when it is
drawn. What is counted of programs is remembered beside the number of the last one that is counted, so that a job which
goes on reads only newer ones.

Read `program_corpus` (the corpus and its weights), `feature_holders` (who holds what, who leaves, who is favoured),
`feature_count_memory` (what a job remembers), `minimisation` (what `irfuzz corpus minimise` keeps), `testcase` (one
program on its way), `mutation_steering` (which mutators and edits), `fault_trigger_avoidance` (what is drawn less
since it only shows known faults), `hazard_input_steering` (inputs away from numeric hazards or into them).
`seed_folder_maintenance`, `seed_candidate_check` and `user_given_seed_inputs` say which models are seeds and what is
fed to them.

Programs come and go in `Corpus.refresh` alone, at iterations that do not depend on rounds: what is decided between two
of them (`FeatureHolders.news`, `reserve`) is the same however many programs travel together. A new kind of feature
needs a name that no other has, and whoever sees it (`MutantWorth`, `RunWorth`) to add its key to what a program
brings.

A new influence on draws is a weight that `mutation_steering` asks for; its state is saved as a setting of the job. Do
not run targets here, except for what `seed_candidate_check` needs.
"""
