"""What a flight table of the official size costs to load and to ask.

    python benchmarks/flights.py [--rows 3827361] [--folder DIR] [--json FILE]

Writes a synthetic database whose flight table has as many rows, routes and dates as the official one, and measures,
each in a process of its own: the first load, from CSV; a later load, from the columns that the first one left behind;
look-ups; and the same with pandas, the way the official tools do it. Peak memory is that of the whole process.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from datetime import date, timedelta
from pathlib import Path

OFFICIAL_ROWS = 3_827_361
CITIES, ROUTES, DAYS = 312, 5_800, 181
ASKED = 2_000


def write(folder: Path, rows: int, seed: int = 0) -> None:
    """A miniature database with a flight table of `rows` rows under it, the same for the same seed."""
    import numpy as np
    from starlab.seeds import derive
    from starlab.travel.miniature import MiniatureSpec, generate
    from starlab.travel.schema import FLIGHTS

    generate(seed, "benchmark", MiniatureSpec(states=2, cities_per_state=2, dates=2)).save(folder)
    rng = np.random.default_rng(derive("benchmark flights", seed))
    days = [(date(2022, 1, 1) + timedelta(days=day)).isoformat() for day in range(DAYS)]
    minutes = [f"{minute // 60:02d}:{minute % 60:02d}" for minute in range(24 * 60)]
    pairs = rng.choice(CITIES * (CITIES - 1), ROUTES, replace=False)
    starts, ends = pairs // (CITIES - 1), pairs % (CITIES - 1)
    ends += ends >= starts
    miles = rng.integers(60, 4000, ROUTES)
    with (folder / "clean_Flights_2022.csv").open("w") as handle:
        handle.write(",".join(column.header for column in FLIGHTS.columns) + "\n")
        for first in range(0, rows, 100_000):
            size = min(100_000, rows - first)
            route, day = rng.integers(0, ROUTES, size), rng.integers(0, DAYS, size)
            leave, flown = rng.integers(0, 24 * 60, size), 20 + miles[route] // 8
            columns = (
                range(first, first + size), rng.integers(20, 1500, size).tolist(), leave.tolist(),
                ((leave + flown) % (24 * 60)).tolist(), flown.tolist(), day.tolist(), starts[route].tolist(),
                ends[route].tolist(), miles[route].tolist(),
            )  # fmt: skip
            handle.writelines(
                f"F{number:07d},{price},{minutes[out]},{minutes[back]},{long // 60} hours {long % 60} minutes,"
                f"{days[on]},City {start:03d},City {end:03d},{mile}.0\n"
                for number, price, out, back, long, on, start, end, mile in zip(*columns, strict=True)
            )


def measure(folder: Path) -> dict[str, float]:
    """Load the database, then ask for flights: once each, and again."""
    from starlab.travel.database import Database

    begun = time.perf_counter()
    world = Database.load(folder)
    loaded = time.perf_counter()
    sample = world.flights[:: len(world.flights) // ASKED]
    asked = [(flight.origin, flight.destination, flight.date) for flight in sample]
    seconds = []
    for _ in range(2):
        started = time.perf_counter()
        found = sum(len(world.flights_on(*key)) for key in asked)
        seconds.append(time.perf_counter() - started)
    return {
        "load_seconds": loaded - begun,
        "lookup_first_microseconds": seconds[0] / len(asked) * 1e6,
        "lookup_again_microseconds": seconds[1] / len(asked) * 1e6,
        "rows_a_lookup": found / len(asked),
    }


def measure_pandas(folder: Path) -> dict[str, float]:
    """The official way: one frame, three filters for every question."""
    import pandas

    begun = time.perf_counter()
    frame = pandas.read_csv(folder / "clean_Flights_2022.csv").dropna()
    loaded = time.perf_counter()
    asked = frame.iloc[:: len(frame) // 5][["OriginCityName", "DestCityName", "FlightDate"]].values.tolist()
    sampled = time.perf_counter()
    found = 0
    for origin, destination, day in asked:
        part = frame[frame["OriginCityName"] == origin]
        part = part[part["DestCityName"] == destination]
        found += len(part[part["FlightDate"] == day])
    return {
        "load_seconds": loaded - begun,
        "lookup_first_microseconds": (time.perf_counter() - sampled) / len(asked) * 1e6,
        "rows_a_lookup": found / len(asked),
    }


PARTS = {"csv": measure, "columns": measure, "pandas": measure_pandas}


def alone(part: str, folder: Path) -> dict[str, float]:
    """Run one part in a process of its own."""
    words = [sys.executable, __file__, "--folder", str(folder), "--part", part]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=OFFICIAL_ROWS)
    parser.add_argument("--folder", type=Path, help="where to keep the table (default: a temporary folder)")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--part", choices=("write", *PARTS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part == "write":
        write(options.folder, options.rows)
    elif options.part:
        result = PARTS[options.part](options.folder)
        result["peak_gib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(json.dumps(result))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            report(options.folder or Path(temporary), options.rows, options.json)


def report(folder: Path, rows: int, path: Path | None) -> None:
    """Write the table, measure every part, print them side by side."""
    words = [sys.executable, __file__, "--folder", str(folder), "--rows", str(rows), "--part", "write"]
    subprocess.run(words, check=True)
    results = {part: alone(part, folder) for part in PARTS}
    names = list(dict.fromkeys(name for result in results.values() for name in result))
    print(f"{rows:,} flights".ljust(28) + "".join(f"{part:>12}" for part in results))
    for name in names:
        cells = (f"{result[name]:12.4g}" if name in result else " " * 12 for result in results.values())
        print(name.ljust(28) + "".join(cells))
    if path:
        path.write_text(json.dumps({"rows": rows, **results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
