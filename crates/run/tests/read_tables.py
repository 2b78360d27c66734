"""Reads the tables of a sealed run with pandas, Polars and DuckDB, and checks that all three see the same.

    python3 -m venv /tmp/pq && /tmp/pq/bin/pip install pyarrow pandas polars duckdb
    /tmp/pq/bin/python crates/run/tests/read_tables.py out/quickstart

The files are read as they are: no schema, no option. `tests/other_readers.rs` runs it on drawn trials.
"""

import json
import math
import pathlib
import sys

import duckdb
import pandas
import polars


def plain(value):
    """One cell as plain Python, the same whichever reader it came from."""
    if hasattr(value, "item"):
        value = value.item()
    if value is None or value is pandas.NA:
        return None
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value
    return value


def with_pandas(file):
    # pyarrow-backed columns keep null apart from NaN and whole numbers from floats.
    frame = pandas.read_parquet(file, dtype_backend="pyarrow")
    return {name: [plain(v) for v in frame[name].array.__arrow_array__().to_pylist()] for name in frame.columns}


def with_polars(file):
    frame = polars.read_parquet(file)
    return {name: [plain(v) for v in frame[name].to_list()] for name in frame.columns}


def with_duckdb(file):
    answer = duckdb.sql(f"SELECT * FROM '{file}'")
    rows = answer.fetchall()
    return {name: [plain(row[i]) for row in rows] for i, name in enumerate(answer.columns)}


def main(run):
    counts = {}
    for file in sorted(pathlib.Path(run, "tables").glob("*.parquet")):
        seen = with_pandas(file)
        for other in (with_polars, with_duckdb):
            if seen != other(file):
                sys.exit(f"{file}: pandas and {other.__name__.removeprefix('with_')} disagree")
        # The way everybody starts, without asking for types: it must not fail either.
        pandas.read_parquet(file)
        counts[file.stem] = len(seen["trial"])
    if not counts:
        sys.exit(f"{run} has no tables")
    # Every row leads back to a trial, in one statement over all files.
    for name in counts:
        tables = pathlib.Path(run, "tables")
        stray = duckdb.sql(f"SELECT count(*) FROM '{tables}/{name}.parquet' ANTI JOIN '{tables}/trials.parquet' USING (trial)")
        if stray.fetchall()[0][0]:
            sys.exit(f"{name}: rows without a trial")
    print(json.dumps(counts))


if __name__ == "__main__":
    main(*sys.argv[1:])
