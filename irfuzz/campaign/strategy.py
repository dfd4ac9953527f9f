"""What one kind of campaign does at each step of the loop: differential testing and self-testing are two of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from irfuzz.campaign.corpus.program_corpus import Corpus
from irfuzz.campaign.corpus.testcase import CorpusEntry, Testcase
from irfuzz.choices import Choices
from irfuzz.execute.run_types import Target
from irfuzz.execute.runner import Runner
from irfuzz.ir.program import Program

if TYPE_CHECKING:
    from irfuzz.campaign.job import Job

R = TypeVar("R")
"""What running one program gives."""

V = TypeVar("V")
"""What is wrong with it."""


class Strategy(Protocol[R, V]):
    """The steps of ``loop.fuzz``, which calls them in this order.

    What is made depends on nothing but the campaign's seed, the job's number, the iteration and the corpus, up to what
    other jobs add to it: steps up to ``feed`` draw from the choices that they are given, and from nothing else.

    Attributes:
        corpus: the programs that are worth mutating.
        root: beginning of the seeds of all choices.
        refresh: iterations between two looks at what other jobs have added to the corpus.
        most: programs in a round.
    """

    corpus: Corpus
    root: str
    refresh: int
    most: int

    def __init__(self, job: Job) -> None: ...

    def runner(self) -> Runner:
        """What runs the programs; not open yet."""
        ...

    def begin(self, runner: Runner) -> Sequence[Target]:
        """Take the runner, which is open now; returns the targets that are under test.

        Args:
            runner: what ``runner`` gave, started, with those of its targets that could start.
        """
        ...

    def absorb(self) -> None:
        """Take in what was added to the corpus."""
        ...

    def schedule(self, choices: Choices, iteration: int) -> CorpusEntry:
        """The parent of the next program, or a seed that is to be run as it is.

        Args:
            choices: of this iteration; every draw must come from them.
            iteration: of the job; a job that goes on counts on.
        """
        ...

    def mutate(self, entry: CorpusEntry, parent: Program, choices: Choices, iteration: int) -> Testcase | None:
        """A mutant, or the seed as it is; ``None`` if nothing could be done.

        Args:
            entry: what ``schedule`` gave.
            parent: its program, shared with others, so it must not be edited.
            choices: of this iteration.
            iteration: of the job.
        """
        ...

    def feed(self, testcase: Testcase, choices: Choices) -> Testcase:
        """The same with its inputs, its targets and its bytes.

        Args:
            testcase: what ``mutate`` gave.
            choices: of this iteration.

        Raises:
            Unsupported: no inputs can be made; the iteration is counted as one without.
        """
        ...

    def execute(self, testcases: Sequence[Testcase]) -> Sequence[R]:
        """What running each of them gives.

        Args:
            testcases: of one round, at most ``most``.

        Returns:
            One for each, in the same order. If it raises, each is tried again by itself.
        """
        ...

    def judge(self, testcase: Testcase, runs: R) -> tuple[R, Sequence[V]]:
        """The runs, or more of them if more were needed to be sure, and what is wrong.

        Args:
            testcase: that was run.
            runs: what ``execute`` gave for it. The very same object is to be returned if nothing was added.
        """
        ...

    def keep(self, testcase: Testcase, runs: R) -> None:
        """Add it to the corpus if it shows something new.

        Args:
            testcase: that was judged.
            runs: all of it, as ``judge`` returned them.
        """
        ...

    def triage(self, testcase: Testcase, runs: R, wrong: Sequence[V]) -> None:
        """Let what is new of what is wrong wait, or confirm, reduce and store it.

        Args:
            testcase: that was judged.
            runs: all of it.
            wrong: what ``judge`` said; often nothing.
        """
        ...

    def audit(self, testcase: Testcase) -> None:
        """Now and then compare what is believed of the program with what it computes; never, unless overridden."""

    def work(self) -> None:
        """Look into what waits for triage, as far as there is time; nothing waits, unless overridden."""

    def save(self, *, now: bool = False) -> None:
        """Store what was learnt, now and then or ``now``, to go on from there; nothing is, unless overridden."""

    def end(self) -> None:
        """The job is over.

        Raises:
            UsageError: what it has seen of targets cannot be written.
        """
