"""
The benches as commands: `PYTHONPATH=.:tests python -m bench COMMAND`, in the root of the project.
"""

from pathlib import Path
from typing import Annotated

import typer
from bench import calls, cost, growth, instructions, latency, memory, replay_files, soak
from bench.agent_traffic import Profile, synthetic_corpus
from bench.corpus import recorded_corpus
from bench.plot import as_svg
from bench.services import COLLECTORS, YARDSTICKS, toolscore
from bench.verify import verify

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)


@app.command("instructions")
def count(traces: Annotated[int, typer.Option(help="Traces of each synthetic corpus.")] = 40) -> None:
    """
    Instructions per span of every stage, by callgrind.
    """
    corpora = [synthetic_corpus(profile, batch=128, traces=traces) for profile in Profile]
    typer.echo(instructions.report(instructions.count_instructions([*corpora, recorded_corpus(scenarios=1)])))


@app.command("limits")
def measure_limits() -> None:
    """
    Instructions per span of what is counted in CI.
    """
    typer.echo(instructions.report(instructions.count_instructions(instructions.small_corpora())))


Rounds = Annotated[int, typer.Option(help="How often every service is measured.")]
Seconds = Annotated[float, typer.Option(help="How long each measurement lasts.")]
Batches = Annotated[str, typer.Option(help="Spans a request, separated by commas.")]
Profiles = Annotated[str, typer.Option(help="content, lean, or both separated by a comma.")]


@app.command("cost")
def compare_cost(
    rounds: Rounds = 3,
    seconds: Seconds = 3,
    batches: Batches = "1,16,128,512,1024",
    profiles: Profiles = "content,lean",
) -> None:
    """
    CPU per span beside the yardsticks null, parse and forward.
    """
    services = {**YARDSTICKS, "toolscore": toolscore(), "toolscore, pass_through": toolscore({"mode": "pass_through"})}
    for profile in profiles.split(","):
        for batch in batches.split(","):
            corpus = synthetic_corpus(Profile(profile), batch=int(batch))
            typer.echo(cost.report(cost.measure(corpus, services, rounds=rounds, seconds=seconds), list(YARDSTICKS)))


@app.command("peers")
def compare_peers(
    rounds: Rounds = 3, seconds: Seconds = 3, batches: Batches = "128,1024", profiles: Profiles = "content"
) -> None:
    """
    CPU per span beside real Collectors that pass on, group by trace, and sample.
    """
    services = {**COLLECTORS, "toolscore": toolscore(), "toolscore, gzip": toolscore(compression="gzip")}
    for profile in profiles.split(","):
        for batch in batches.split(","):
            corpus = synthetic_corpus(Profile(profile), batch=int(batch))
            measured = cost.measure(corpus, services, rounds=rounds, seconds=seconds)
            typer.echo(cost.report(measured, ["collector", "collector groupbytrace"]))


@app.command("growth")
def draw_growth(
    folder: Path = Path("tests/bench/plots"),
    only: Annotated[str, typer.Option(help="Names of curves, separated by commas; all if empty.")] = "",
) -> None:
    """
    Curves of cost per unit, as SVG pictures in FOLDER.
    """
    folder.mkdir(exist_ok=True)
    for curve in growth.CURVES:
        if only and curve.name not in only.split(","):
            continue
        points = [(size, growth.cpu_us_per_unit(curve, size)) for size in curve.sizes]
        picture = as_svg(f"Cost by {curve.name}", curve.things, f"CPU us per {curve.unit}", points)
        (folder / f"{curve.name.replace(' ', '_')}.svg").write_text(picture)
        typer.echo(f"{curve.name}: " + ", ".join(f"{size:,}: {value:.2f}" for size, value in points))


@app.command("memory")
def measure_memory(spans: int = 400_000, profile: Profile = Profile.LEAN) -> None:
    """
    Memory of held spans, and the pauses of the garbage collector while they are taken.
    """
    typer.echo(memory.hold(profile, spans))


@app.command("verify")
def compare_spans(batches: Batches = "1,128", profiles: Profiles = "content,lean", traces: int = 200) -> None:
    """
    Whether every span that was sent leaves once and unchanged, and every root with a score.
    """
    for profile in profiles.split(","):
        for batch in batches.split(","):
            result = verify(synthetic_corpus(Profile(profile), batch=int(batch), traces=traces), toolscore())
            typer.echo(f"{profile} {batch}: {result}")
            if not result.is_clean:
                raise typer.Exit(1)


@app.command("calls")
def write_calls(file: Path, traces: int = 400) -> None:
    """
    Time to score traces, whose calls are written to FILE for `libraries.py`.
    """
    typer.echo(calls.score_and_write(file, traces=traces))


@app.command("latency")
def compare_latency(rounds: Rounds = 3, seconds: Seconds = 8, profile: Profile = Profile.CONTENT) -> None:
    """
    Acknowledgements and verdicts at 40 % of the load that toolscore carries, beside null.
    """
    services = {
        "null": YARDSTICKS["null"],
        "toolscore": toolscore(),
        "toolscore, batch timeout 10 ms": toolscore(batch_timeout="10ms"),
    }
    corpus = synthetic_corpus(profile, batch=128)
    measured = latency.measure(corpus, services, rated="toolscore", rounds=rounds, seconds=seconds)
    typer.echo(measured.report("null"))


@app.command("replay")
def replay_recordings(
    sizes: Annotated[str, typer.Option(help="Files in MiB, separated by commas.")] = "50,200",
    jobs: Annotated[str, typer.Option(help="Processes, separated by commas.")] = "1,2",
    profile: Profile = Profile.LEAN,
) -> None:
    """
    Spans per second and memory of `toolscore replay`.
    """
    typer.echo(replay_files.HEAD)
    wanted = [int(size) * replay_files.MIB for size in sizes.split(",")]
    for replayed in replay_files.measure(synthetic_corpus(profile, batch=128), wanted, list(map(int, jobs.split(",")))):
        typer.echo(replayed)


@app.command("soak")
def keep_loaded(
    minutes: Annotated[float, typer.Option(help="How long.")] = 20,
    window: Annotated[float, typer.Option(help="Seconds that one line of the table tells of.")] = 120,
    profile: Profile = Profile.CONTENT,
) -> None:
    """
    Memory and losses under lasting load, while the next hop restarts and stands still.
    """
    corpus = synthetic_corpus(profile, batch=128)
    typer.echo(soak.soak(corpus, toolscore(), minutes=minutes, window_s=window, tell=typer.echo))


if __name__ == "__main__":
    app()
