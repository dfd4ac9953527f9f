"""One way to judge a case: with everything measured that can be, so that every caller gets the same verdicts.

Campaigns, ``irfuzz.check``, ``irfuzz.judge`` and the plug-ins all come here. ``judge`` itself takes its measurements as
arguments, so that it can be asked about recorded runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from irfuzz.execute.run_types import Exit, RunResult, Value
from irfuzz.execute.runner import Runner
from irfuzz.oracle.judge import judge
from irfuzz.oracle.numeric.perturbation import Rerun
from irfuzz.oracle.oracle_table import Oracle
from irfuzz.oracle.runs_to_judge import Distrust, Shadower
from irfuzz.oracle.verdict import Verdict
from irfuzz.oracle.witnesses_and_blame import trusts_all

if TYPE_CHECKING:
    from irfuzz.ir.program import Program


@dataclass(frozen=True, slots=True)
class MeasuringJudge:
    """How cases are judged.

    Attributes:
        runner: runs the program again, on moved inputs and in float64.
        distrust: says whom a known fault makes wrong about a program.
        shadow: runs it in float64; the runner's if omitted.
        quick: likewise, at a lower price.
    """

    runner: Runner
    distrust: Distrust = trusts_all
    shadow: Shadower | None = None
    quick: Shadower | None = None

    def judge(
        self,
        program: Program,
        inputs: Mapping[str, Value],
        results: Sequence[RunResult],
        *,
        invalid: bool = False,
        rerun: Rerun | None = None,
        table: Mapping[str, Oracle] | None = None,
    ) -> list[Verdict]:
        """Who is wrong, with everything measured.

        Args:
            program: what was run.
            inputs: values by graph input name.
            results: one for each target.
            invalid: the program breaks a rule of ONNX on purpose.
            rerun: runs the targets again; the runner's run of those that it has and that went through, if omitted.
            table: oracles by name; all if omitted.
        """
        runner = self.runner
        names = {t.name for t in runner.targets}
        # What did not come back, or gave nothing, will not tell how values move; what was saved cannot run again.
        live = tuple(r.target for r in results if r.exit is Exit.OK and r.target.name in names)

        def again(other: Mapping[str, Value], moved: Program | None = None, /) -> Sequence[RunResult]:
            return runner.run(moved or program, other, live)

        return judge(
            program,
            inputs,
            results,
            rerun=rerun or again,
            shadow=self.shadow or runner.shadow,
            quick=self.quick or runner.quick_shadow,
            expected_invalid=invalid,
            table=table,
            distrust=self.distrust,
        )
