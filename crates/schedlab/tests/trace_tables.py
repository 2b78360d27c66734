"""Reads the Parquet tables of a trace with pandas, Polars and DuckDB, and says what all three see as JSON.

    python3 -m venv /tmp/pq && /tmp/pq/bin/pip install pyarrow pandas polars duckdb
    /tmp/pq/bin/python crates/schedlab/tests/trace_tables.py DIR…
"""

import json
import pathlib
import sys

import duckdb
import pandas
import polars


def one(sql):
    return duckdb.sql(sql).fetchall()[0][0]


def look(directory):
    found = {"rows": {}}
    for file in sorted(pathlib.Path(directory).glob("*.parquet")):
        rows = [
            len(pandas.read_parquet(file, dtype_backend="pyarrow")),
            polars.read_parquet(file).height,
            one(f"SELECT count(*) FROM '{file}'"),
        ]
        if len(set(rows)) != 1:
            sys.exit(f"{file}: pandas, Polars and DuckDB see {rows} rows")
        found["rows"][file.stem] = rows[0]
    table = {name: f"'{directory}/{name}.parquet'" for name in found["rows"]}
    # Every interval leads back to a thread.
    for name in ("runs", "waits", "sleeps"):
        if one(f"SELECT count(*) FROM {table[name]} ANTI JOIN {table['threads']} USING (thread)"):
            sys.exit(f"{name}: rows without a thread")
    found["events"] = dict(duckdb.sql(f"SELECT event, count(*) FROM {table['events']} GROUP BY event").fetchall())
    found["run_ns"] = one(f"SELECT coalesce(sum(end_ns - start_ns), 0)::BIGINT FROM {table['runs']}")
    of_waits = lambda began: one(
        f"SELECT coalesce(sum(end_ns - start_ns), 0)::BIGINT FROM {table['waits']} "
        f"WHERE censored IS NULL AND began {began} 'preempted'"
    )
    found["wakeup_ns"], found["preempt_ns"] = of_waits("!="), of_waits("=")
    found["censored"] = one(f"SELECT count(*) FROM {table['waits']} WHERE censored IS NOT NULL")
    found["disordered"] = one(
        f"SELECT count(*) FROM (SELECT ts_ns < lag(ts_ns) OVER () AS back FROM {table['events']}) WHERE back"
    )
    return found


def main(*directories):
    print(json.dumps([look(directory) for directory in directories]))


if __name__ == "__main__":
    main(*sys.argv[1:])
