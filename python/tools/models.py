"""Writes src/fsub_client/models.py from the daemon's OpenAPI document: python3 models.py < openapi.json > models.py.

A field that is left out of an answer has its zero value, or None where the document names no default. Unknown fields are kept in `extra`."""

import json
import keyword
import sys
import textwrap

ROOTS = ["Caller", "Event", "Explanation", "JobCount", "JobLine", "JobRecord", "Log", "Site", "SubmitResponse"]
RAW = {"SbatchSpec"}  # left as a mapping: its fields are sbatch's options
BASES = {"Explanation": "Explained"}
SIMPLE = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
ZERO = {"str": '""', "int": "0", "float": "0.0", "bool": "False"}


def kinds(schema):
    t = schema.get("type")
    return t if isinstance(t, list) else [t]


def read(schema):
    """The Python type of a schema, and what reads it: "" for what JSON has already."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return ("Mapping[str, Any]", "") if name in RAW else (name, name + ".from_json")
    kind = kinds(schema)[0]
    if kind == "array":
        of, reader = read(schema["items"])
        return f"List[{of}]", reader and f"many({reader})"
    if kind == "object" and "additionalProperties" in schema and isinstance(schema["additionalProperties"], dict):
        of, reader = read(schema["additionalProperties"])
        return f"Mapping[str, {of}]", reader and f"each({reader})"
    if schema.get("format") == "date-time":
        return "datetime", "when"
    if kind == "integer" and "nanoseconds" in schema.get("description", ""):
        return "timedelta", "span"
    return SIMPLE.get(kind, "Any"), ""


def references(schema):
    """The schemas that one names, in order."""
    if isinstance(schema, dict):
        if "$ref" in schema:
            yield schema["$ref"].rsplit("/", 1)[1]
        for value in schema.values():
            yield from references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from references(value)


def closure(schemas):
    found, todo = set(), list(ROOTS)
    while todo:
        name = todo.pop()
        if name not in found and name not in RAW:
            found.add(name)
            todo += references(schemas[name])
    return sorted(found)


def comment(text, indent):
    return "".join(indent + "# " + line + "\n" for line in textwrap.wrap(" ".join(text.split()), 112))


def main():
    schemas = json.load(sys.stdin)["components"]["schemas"]
    names = closure(schemas)
    out = [
        '"""The daemon\'s answers. Written by tools/models.py from its OpenAPI document: do not edit."""\n\n'
        "from __future__ import annotations\n\n"
        "from dataclasses import dataclass, field\n"
        "from datetime import datetime, timedelta\n"
        "from typing import Any, List, Mapping, Optional\n\n"
        "from ._explained import Explained\n"
        "from ._model import Model, each, many, span, when\n"
    ]
    tail = []
    for name in names:
        schema = schemas[name]
        out.append(f"\n\n@dataclass(frozen=True)\nclass {name}({BASES.get(name, 'Model')}):\n")
        doc = " ".join(schema.get("description", "").split()) or f"{name} of the daemon's answers."
        body = textwrap.fill(doc.replace("\\", "\\\\"), 112, initial_indent='    """', subsequent_indent="    ")
        out.append(body + '"""\n\n')
        readers, renamed = [], []
        required = set(schema.get("required", []))
        for field_name, s in sorted(schema["properties"].items(), key=lambda f: (f[0] not in required, f[0])):
            attribute = field_name + "_" if keyword.iskeyword(field_name) or field_name == "extra" else field_name
            attribute = attribute.replace("-", "_")
            of, reader = read(s)
            if s.get("description") and "$ref" not in s:
                out.append(comment(s["description"], "    "))
            has_zero = of in ZERO and (field_name in required or "default" in s)
            out.append(f"    {attribute}: {of} = {ZERO[of]}\n" if has_zero else f"    {attribute}: Optional[{of}] = None\n")
            if reader:
                readers.append(f'"{attribute}": {reader}')
            if attribute != field_name:
                renamed.append(f'"{field_name}": "{attribute}"')
        out.append("    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)\n")
        if readers:
            tail.append(f"{name}._readers = {{{', '.join(readers)}}}\n")
        if renamed:
            tail.append(f"{name}._names = {{{', '.join(renamed)}}}\n")
    text = "".join(out) + "\n\n" + "".join(tail)
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
