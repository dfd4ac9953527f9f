"""Real models: what `irfuzz check` and `irfuzz fuzz` say of the files that packages ship and that the usual tools make.

python -m benchmarks.real_models.fetch --cache FOLDER       download or make the models
python -m benchmarks.real_models.expected --cache FOLDER    what the runtimes say without irfuzz, on sensible inputs
python -m benchmarks.real_models.run --cache FOLDER         what irfuzz says, and docs/real-models.md
"""
