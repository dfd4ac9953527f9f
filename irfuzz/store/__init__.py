"""Keeps programs and findings in a database.

A campaign may end at any moment, also by ``kill -9``, and several processes write at once. So all that has to last is
in one SQLite file, and each method of ``Database`` is one transaction. Weights are another matter: a seed may have
many of them, and its mutants share nearly all, so large tensors are kept once, as files named by their SHA-256 beside
the database (docs/campaigns.md).

What every file relies on:

* After a method returns, no death of a process loses what it wrote. A blob is written beside its place and renamed, so
  it is there whole or not at all.
* A program is stored once, by its digest, and a finding once, by its signature; another occurrence is counted.
* A number of a program is never given twice. A program that leaves is gone for whoever asks from then on, and its row
  is removed when every job has asked (``CorpusIndex.leave``).
* Tables have a schema version, and a database of another version is refused with a message that names both.
* A program with less than 1 MiB of weights is stored compressed; of a mutant the bytes that stand in its seed just so
  are left out, and so seeds never leave. Of a larger one its row holds a compressed model that names blobs by digest.
* A mutant brings at most 8 KiB of new weights along; of the others only the digests are kept, because its edits make
  them again.
* Nothing is pickled.
* Rows hold bytes and text. What the JSON of a finding means is known to ``irfuzz/findings/codec.py`` alone.

The way through the files:

* ``database_schema`` has the tables, and ``database`` every question that is asked of them, but for those of
  ``waiting_rows``: disagreements that nobody has looked into.
* ``corpus_index`` has what jobs know of programs without reading them, and how programs leave.
* ``fault_marks`` has by what faults that were looked into are recognised, and findings of other agents of a fleet.
* ``taken_programs`` takes in what other agents of a fleet have made, and says what is this campaign's own.
* ``locked_database_wait`` waits while another process holds a lock.
* ``blob_store`` keeps bytes under their digest: ``Blobs`` is the protocol, ``FolderBlobs`` a folder.
* ``stored_program_encoding`` decides how a seed or a mutant is written, and reads it again; ``model_compression``
  leaves out what a mutant has in common with its seed, and ``blob_collection`` removes what nothing names any more.
  ``bounded_decompression`` unpacks what is compressed, up to a size.
* ``shared_weight_serialization`` writes a program whose weights are named by digest; ``model_blob_packing`` does it
  with serialised models and writes folders that link to blobs; ``tensor_to_blob_replacement`` does it for a stream of
  mutants.
* ``npz_tensors`` writes named values as one npz file, with a manifest for what numpy cannot hold.

To add a column, change ``database_schema``, raise ``SCHEMA`` (older folders are refused then, so prefer a setting, a
key with a text in the table ``setting``), and add the method to ``Database`` as one transaction. A new table needs no
new ``SCHEMA``: older folders get it, empty, when they are opened. Each method has a test in
``tests/store/test_database.py``, which also kills a writing process. To keep blobs elsewhere than in a folder, write a
class with the methods of ``Blobs``.

Do not open the database from outside ``Database``, and do not keep a connection across calls. Do not parse large
weights to store them: they are bytes of a mapped file. Do not write into a finding's folder here; ``irfuzz/report``
does.
"""
