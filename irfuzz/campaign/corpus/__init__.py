"""Chooses what a job runs next: a parent of the corpus, its mutant, and the mutant's inputs.

A draw depends on nothing but the campaign's seed, the job's number, the iteration and the corpus, so that a job can
be repeated. What a draw uses must not depend on the clock; one thing does: with many targets `unmutated_seed_turns`
puts off seeds that take too much of the time.

Read `program_corpus` (the corpus and its weights), `testcase` (one program on its way), `mutation_steering` (which
mutators and edits), `fault_trigger_avoidance` (what is drawn less since it only shows known faults),
`hazard_input_steering` (inputs away from numeric hazards or into them). `seed_folder_maintenance`,
`seed_candidate_check` and `user_given_seed_inputs` say which models are seeds and what is fed to them.

A new influence on draws is a weight that `mutation_steering` asks for; its state is saved as a setting of the job. Do
not run targets here, except for what `seed_candidate_check` needs.
"""
