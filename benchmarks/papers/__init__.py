"""The papers on their own ground: the bugs, models and programs that they describe, as benches."""
