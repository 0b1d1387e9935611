"""Runs one call of a function in a job: python3 run.py DIRECTORY. It stands alone: the job's site may have nothing but Python."""

import json
import os
import struct
import sys
import traceback


def main(directory: str) -> None:
    index = int(os.environ.get("SLURM_ARRAY_TASK_ID") or 0)
    os.umask(0o077)
    with open(os.path.join(directory, "in", "calls"), "rb") as f:
        head = json.loads(f.readline())
        if head["python"] != list(sys.version_info[:2]):
            made, here = ".".join(map(str, head["python"])), ".".join(map(str, sys.version_info[:2]))
            sys.exit(f"fsub: the function was sent by Python {made}, and {sys.executable} is Python {here}: functions need the same")
        base = f.tell()
        place = index if head["calls"] > 1 else 0  # each task of an array may run the one call
        f.seek(base + 8 * (place + 1))
        start, end = struct.unpack("<2Q", f.read(16))
        f.seek(base)
        first, first_end = struct.unpack("<2Q", f.read(16))
        blobs = base + 8 * (head["calls"] + 2)
        f.seek(blobs + first)
        function = f.read(first_end - first)
        f.seek(blobs + start)
        call = f.read(end - start)
    sys.path[:0] = [p for p in head["path"] if p not in sys.path]
    sys.path.append(os.path.dirname(os.path.abspath(__file__)))  # cloudpickle, where there is none
    # What Python writes there and renames, another site may be about to take with the directory.
    write, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    import cloudpickle  # type: ignore[import-not-found,import-untyped,unused-ignore]

    sys.dont_write_bytecode = write
    try:
        fn, (args, kwargs) = cloudpickle.loads(function), cloudpickle.loads(call)
        del function, call
        outcome = (True, fn(*args, **kwargs), "")
    except BaseException as err:  # SystemExit, too
        text = "".join(traceback.format_exception(type(err), err, err.__traceback__.tb_next if err.__traceback__ else None))
        outcome = (False, err, text)
    try:
        result = cloudpickle.dumps(outcome)
    except Exception as err:  # it cannot be sent
        what = "the result" if outcome[0] else f"the exception {outcome[1]!r}"
        result = cloudpickle.dumps((False, TypeError(f"{what} cannot be pickled: {err}"), outcome[2]))
        outcome = (False, None, outcome[2])
    out = os.path.join(directory, "out")
    os.makedirs(out, mode=0o700, exist_ok=True)
    name = os.path.join(out, str(index))
    with open(name + ".new", "wb") as f:
        f.write(result)
        f.flush()
        os.fsync(f.fileno())
    os.replace(name + ".new", name)
    if not outcome[0]:
        sys.stderr.write(outcome[2])
        sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1])
