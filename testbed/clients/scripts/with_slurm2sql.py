# slurm2sql: all of sacct's fields that it knows, steps too, in a table of SQLite, with what it works out of them.
import sqlite3
from importlib.metadata import version as number

import slurm2sql

from show import command, shown, until, version

version("slurm2sql", number("slurm2sql"))


def submit(*args):
    return command("sbatch", "--parsable", "-p", "main", "-t", "5", "-o", "/dev/null", *args).strip().partition(";")[0]


good = submit("--mem", "100M", "-c", "2", "--wrap", "sleep 2")
bad = submit("--mem", "200M", "--wrap", "exit 3")
array = submit("--mem", "100M", "--array", "1-2", "--wrap", "true")


def rows(sql, *args):
    db = sqlite3.connect(":memory:")
    slurm2sql.slurm2sql(db, sacct_filter=["-j", ",".join([good, bad, array]), "-S", "now-10minutes"])
    return db.execute(sql, args).fetchall()


until(lambda: len(rows("SELECT * FROM slurm WHERE JobIDonly IS NOT NULL AND JobStep IS NULL AND State IN ('COMPLETED', 'FAILED')")) == 4, "all have ended")
shown("jobs")
[(state, cpus, mem, limit)] = rows("SELECT State, NCPUS, ReqMem, TimeLimit FROM slurm WHERE JobID = ?", good)
assert (state, cpus, mem, limit) == ("COMPLETED", 2, 100 * 1024**2, 300), (state, cpus, mem, limit)
[(state, code)] = rows("SELECT State, ExitCode FROM slurm WHERE JobID = ?", bad)
assert state == "FAILED" and code == 3, (state, code)
shown("fields")
assert sorted(rows("SELECT JobIDonly, ArrayTaskID FROM slurm WHERE ArrayTaskID IS NOT NULL AND JobStep IS NULL")) == [(int(array), 1), (int(array), 2)]
shown("array")
until(lambda: rows("SELECT 1 FROM slurm WHERE JobID = ?", good + ".batch"), "the batch step is there")
shown("steps")
