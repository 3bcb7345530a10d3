"""The reporter `brief`: the fastest points that count, for a chat message. `ixbench report RUN --use reporter.py` runs it as it is."""

from ixbench.api.report import Artifact, OptionsModel, Reporter, format_rate


class BriefOptions(OptionsModel):
    top: int = 10
    """How many points are told."""


class BriefReporter(Reporter[BriefOptions]):
    name = "brief"
    summary = "the fastest points that count, a line each (txt)"
    Options = BriefOptions

    def render(self, runs, options):
        points = [point for run in runs for point in run.points if point.usable]
        points.sort(key=lambda point: point.axis.tok_s_user or 0, reverse=True)
        lines = [f"{point.id}: {format_rate(point.axis.tok_s_user)} tok/s/user, {point.evidence}\n" for point in points]
        return [Artifact(name="brief.txt", content="".join(lines[: options.top]), show=True)]
