"""Three released packages, each with a real defect that its next release mended; and a model's part in mending it.

The issues, the plans, the edits and the tests in them are ours. Upstream's own later tests decide at the end of a story
whether the defect is gone.
"""

from dataclasses import dataclass
from typing import Any

from tests.fakes.greeting import REVIEW, calls, planning, stepping
from tests.fakes.released import Release

Edit = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Package:
    """`check` shows the defect; `tests` are the files of the later release that show it as well."""

    before: Release
    later: Release
    tests: tuple[str, ...]
    check: str
    paths: tuple[str, ...]
    issue: str
    plan: dict[str, Any]
    sought: str
    steps: tuple[tuple[Edit, ...], ...]

    @property
    def script(self) -> dict[str, Any]:
        """The model's part: it looks, it plans, it carries out each step, and it reads the result."""
        seen = self.plan["evidence"][0]
        looks = calls(("search", {"pattern": self.sought, "mode": "literal"}))
        reads = calls(("read_file", {"path": seen["path"], "start": seen["start"], "end": seen["end"]}))
        submits = calls(("submit_plan", self.plan), when=[self.sought])
        steps = [stepping(number, *edits) for number, edits in enumerate(self.steps, 1)]
        return {"name": self.before.name, "parts": [planning(looks, reads, submits), *steps, REVIEW]}


def replace(path: str, old: str, new: str) -> Edit:
    return ("replace", {"path": path, "old": old, "new": new})


def change(number: int, path: str, intent: str, done_when: str) -> dict[str, Any]:
    return {"id": number, "kind": "change", "path": path, "intent": intent, "done_when": done_when}


def budget(lines: int) -> dict[str, Any]:
    return {"usd": "1.00", "calls": 30, "minutes": 15, "files": 2, "lines": lines}


# -- JavaScript: what a shell would act upon is not all quoted -----------------------------------------------------

SHELL_QUOTE = Package(
    before=Release("shell-quote", "1.6.0", "ff9982eab0622cc7e8a2aea9d1ce8f175a03e9fdf23e4b3d7b17b5d073a64971"),
    later=Release("shell-quote", "1.6.1", "dd4958df767fd1688d042456cec2bb605c6174d37326c88ae41c8013a23974c8"),
    tests=("test/quote.js",),
    check="npm test",
    paths=(),
    issue=(
        "A quoted word can still run a command\n"
        "`quote(['x;id'])` gives `x;id`, and a shell that gets this runs `id`. The same goes for `>`, `<` and braces. "
        "I use the package to pass names that users chose, so this lets them run what they like."
    ),
    sought="return String(s).replace",
    plan={
        "summary": "A word without blanks and quotes is escaped wherever a shell could act upon it.",
        "hypothesis": "The list of characters to escape leaves out the semicolon, angle brackets and others.",
        "evidence": [{"path": "index.js", "start": 18, "end": 18, "shows": "Only the listed characters are escaped."}],
        "acceptance": [
            {"id": 1, "words": "No character that means something to a shell stays bare.", "steps": [1, 2]},
            {"id": 2, "words": "Plain words stay as they are.", "steps": [1, 2], "checks": ["npm test"]},
        ],
        "constraints": ["Words with blanks or quotes are quoted as before.", "Letters of any language stay bare."],
        "risks": ["Somebody may compare the text of a quoted word that holds brackets: it has more backslashes now."],
        "steps": [
            change(1, "index.js", "Escape all but what is known to be harmless.", "A semicolon is escaped."),
            change(2, "test/quote.js", "Expect brackets escaped; try each character.", "It fails without step 1."),
        ],
        "checks": [{"name": "npm test", "expect": "fails_before_passes_after"}],
        "budget": budget(30),
    },
    steps=(
        (
            replace(
                "index.js",
                r"            return String(s).replace(/([\\$`()!#&*|])/g, '\\$1');",
                "            // Whatever is not known to mean nothing to a shell.\n"
                r"            return String(s).replace(/([^\w%+,.\/:=@\u0080-\uffff-])/g, '\\$1');",
            ),
        ),
        (
            replace("test/quote.js", r'"X\\#\\(\\){}\\*\\|][\\!"', r'"X\\#\\(\\)\\{\\}\\*\\|\\]\\[\\!"'),
            replace(
                "test/quote.js",
                "test('quote ops', function (t) {",
                "test('nothing that a shell acts upon stays bare', function (t) {\n"
                "    '!#$&()*;<>?[\\\\]^`{|}~'.split('').forEach(function (c) {\n"
                "        t.equal(quote([ 'x' + c + 'y' ]), 'x\\\\' + c + 'y');\n"
                "    });\n"
                "    t.equal(quote([ 'a/b.c-d_1', 'k=v', 'na\\u00efve' ]), 'a/b.c-d_1 k=v na\\u00efve');\n"
                "    t.end();\n"
                "});\n\n"
                "test('quote ops', function (t) {",
            ),
        ),
    ),
)

# -- Python: the name of an attribute can hold another attribute ---------------------------------------------------

JINJA = Package(
    before=Release("Jinja2", "3.1.2", "31351a702a408a9e7595a8fc6150fc3f43bb6bf7e319770cbc0db9df9437e852"),
    later=Release("Jinja2", "3.1.3", "ac8bd6544d4bb2c9792bf3a159e80bba8fda7f07e81bc3aed565432d5925ba90"),
    tests=("tests/test_filters.py",),
    check="pytest",
    paths=("tests/test_filters.py",),
    issue=(
        "xmlattr lets a key bring in further attributes\n"
        "With `{{ fields|xmlattr }}` and a key such as `title onclick=steal()`, the page gets the attribute `onclick`. "
        "Keys come from a form here. HTML has no attribute with a blank in its name, so I would expect a ValueError: "
        "Spaces are not allowed."
    ),
    sought="def do_xmlattr",
    plan={
        "summary": "xmlattr refuses a key that holds a blank.",
        "hypothesis": "Keys are escaped, and escaping leaves blanks as they are.",
        "evidence": [
            {"path": "src/jinja2/filters.py", "start": 277, "end": 281, "shows": "A key is escaped and that is all."},
            {"path": "tests/test_filters.py", "start": 466, "end": 475, "shows": "No key with a blank is tried."},
        ],
        "acceptance": [
            {"id": 1, "words": "A key with a blank is a ValueError that says so.", "steps": [1, 2]},
            {"id": 2, "words": "Every other key gives what it gave.", "steps": [1, 2], "checks": ["pytest"]},
        ],
        "constraints": ["Values that are none or undefined are left out, whatever their key is."],
        "risks": ["A template that relied on it fails now, which is what the issue asks for."],
        "steps": [
            change(1, "src/jinja2/filters.py", "Refuse such a key.", "A key with a blank is a ValueError."),
            change(2, "tests/test_filters.py", "Try every sort of blank.", "It fails without step 1."),
        ],
        "checks": [
            {"name": "pytest", "paths": ["tests/test_filters.py"], "expect": "fails_before_passes_after"},
        ],
        "budget": budget(40),
    },
    steps=(
        (
            replace(
                "src/jinja2/filters.py",
                """        f'{escape(key)}="{escape(value)}"'\n""",
                """        f'{_attribute_name(key)}="{escape(value)}"'\n""",
            ),
            replace(
                "src/jinja2/filters.py",
                "@pass_eval_context\ndef do_xmlattr(",
                "def _attribute_name(key: str) -> str:\n"
                "    if any(letter.isspace() for letter in str(key)):\n"
                '        raise ValueError(f"Spaces are not allowed in the name of an attribute: {key!r}")\n'
                "    return escape(key)\n\n\n"
                "@pass_eval_context\ndef do_xmlattr(",
            ),
            replace(
                "src/jinja2/filters.py",
                "    if the filter returned something unless the second parameter is false.\n",
                "    if the filter returned something unless the second parameter is false.\n"
                "    A key that holds a space is a ``ValueError``.\n",
            ),
        ),
        (
            replace(
                "tests/test_filters.py",
                "    def test_sort1(self, env):\n",
                '    @pytest.mark.parametrize("blank", [" ", "\\t", "\\n", "\\x0c"])\n'
                "    def test_xmlattr_takes_no_second_attribute(self, env, blank):\n"
                '        fields = {f"title{blank}onclick=steal()": "x"}\n'
                '        with pytest.raises(ValueError, match="not allowed"):\n'
                '            env.from_string("{{ fields|xmlattr }}").render(fields=fields)\n\n'
                "    def test_sort1(self, env):\n",
            ),
        ),
    ),
)

# -- C: a directory that is half done cannot be finished -----------------------------------------------------------

NCOMPRESS = Package(
    before=Release("ncompress", "4.2.4.6", "fb7b6a00060bd4c6e35ba4cc96a5ca7e78c193e6267487dd53376d80e061836b"),
    later=Release("ncompress", "5.0", "96ec931d06ab827fccad377839bfb91955274568392ddecf809e443443aead46"),
    tests=("tests/runtests.sh",),
    check="make check",
    paths=(),
    issue=(
        "uncompress -r fails on a directory that was interrupted\n"
        "I stopped `uncompress -r photos` halfway and started it again. It did the rest, and still ended with status "
        "1 because of the files that were done before. My script takes that for a failure. Then I wanted to try it on "
        "a copy that stays, and saw that there is no `-k` as gzip has it, which leaves the input where it is."
    ),
    sought="no .Z suffix",
    plan={
        "summary": "uncompress -r passes over what is done already, and -k leaves the input where it is.",
        "hypothesis": "Whatever has no .Z suffix is an error, also where only a walk through a directory met it.",
        "evidence": [
            {"path": "compress42.c", "start": 1001, "end": 1008, "shows": "No suffix is an error for every file."},
            {"path": "compress42.c", "start": 1207, "end": 1207, "shows": "The input always goes."},
            {"path": "tests/runtests.sh", "start": 107, "end": 108, "shows": "No directory is half done."},
        ],
        "acceptance": [
            {"id": 1, "words": "A half decompressed directory is finished with status 0.", "steps": [1, 2]},
            {"id": 2, "words": "With -k the input stays.", "steps": [1, 2], "checks": ["make check"]},
        ],
        "constraints": ["A directory in which nothing was left to do is still a status of 1."],
        "risks": ["A file without the suffix that is named on the command line must still be an error."],
        "steps": [
            change(1, "compress42.c", "Pass over it on a walk; add -k.", "uncompress -r goes on; -k keeps the input."),
            change(2, "tests/runtests.sh", "Try both.", "It fails without step 1."),
        ],
        "checks": [{"name": "make check", "expect": "fails_before_passes_after"}],
        "budget": budget(60),
    },
    steps=(
        (
            replace(
                "compress42.c",
                "int\t\t\t\texit_code = -1;",
                "int\t\t\t\tkeep = 0;\t\t\t/* Leave input files where they are\t\t\t\t*/\n"
                "int\t\t\t\twalking = 0;\t\t/* How deep in directories the file was met\t\t*/\n"
                "int\t\t\t\texit_code = -1;",
            ),
            replace(
                "compress42.c",
                "\t\t\t\t\tcase 'h':\n",
                "\t\t\t\t\tcase 'k':\n\t\t\t\t\t\tkeep = 1;\n\t\t\t\t\t\tbreak;\n\n\t\t\t\t\tcase 'h':\n",
            ),
            replace(
                "compress42.c",
                "       -b   Parameter limits",
                "       -k   Leave input files where they are.\\n\\\n       -b   Parameter limits",
            ),
            replace(
                "compress42.c",
                "\t\t\t\t\tif (!has_z_suffix)\n\t\t\t\t\t{\n\t\t\t\t\t\tif (!quiet)\n",
                "\t\t\t\t\tif (!has_z_suffix && walking)\n\t\t\t\t\t{\n"
                "\t\t\t\t\t\t/* Done before, or never compressed: nobody asked for this file by name. */\n"
                "\t\t\t\t\t\tfree(tempname);\n\t\t\t\t\t\treturn;\n\t\t\t\t\t}\n\n"
                "\t\t\t\t\tif (!has_z_suffix)\n\t\t\t\t\t{\n\t\t\t\t\t\tif (!quiet)\n",
            ),
            replace("compress42.c", "\t\t\t\t\tif (unlink(ifname))", "\t\t\t\t\tif (!keep && unlink(ifname))"),
            replace(
                "compress42.c", "\t\t\tcomprexx(nptr);", "\t\t\twalking++;\n\t\t\tcomprexx(nptr);\n\t\t\twalking--;"
            ),
        ),
        (
            replace(
                "tests/runtests.sh",
                ': "### Check various error edge cases"\n',
                ': "### Check that the rest of a directory is decompressed"\n'
                "compress subdir/input\nuncompress -r subdir\n[ ! -e subdir/input.Z ]\n\n"
                ': "### Check that input files can stay"\n'
                "compress -k input\n[ -e input ]\nuncompress -k -f input.Z\n[ -e input.Z ]\nrm input.Z\n\n"
                ': "### Check various error edge cases"\n',
            ),
        ),
    ),
)
