"""What a repository declares that it needs, as each ecosystem writes it down, and honest where it cannot be read."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.verdict import Refused
from worker.model.conversation import Answer, Failed
from worker.repo.declared.files import KINDS, MOST_BYTES, MOST_NEEDS, Declared, declared, kind_of
from worker.repo.dependencies import MOST_FILES, dependency_files
from worker.repo.symbols import SymbolCache
from worker.repo.tools import ReadTools


def read(tree_of: Any, path: str, text: str | bytes) -> Declared:
    kind = kind_of(path)
    assert kind is not None, path
    return declared(tree_of({path: text.encode() if isinstance(text, str) else text}), path, kind)


def told(file: Declared) -> list[str]:
    return [" ".join(f"{one.name} {one.range}{f' ({one.group})' if one.group else ''}".split()) for one in file.needs]


CASES: dict[str, tuple[str, list[str]]] = {
    "requirements.txt": (
        "# needed\nrequests>=2,<3  # for http\nDjango[argon2]==4.2 ; python_version < '3.12'\nflask \\\n    >=2\n"
        "attrs==23.1 --hash=sha256:abc\n--index-url https://x\npkg @ https://e.com/p.whl\n-e ./lib\nodd name here\n",
        ["requests <3,>=2", "Django ==4.2; python_version < \"3.12\"", "flask >=2", "attrs ==23.1",
         "pkg @ https://e.com/p.whl", "./lib (editable)", "odd name here"],
    ),
    "requirements/dev.in": ("pytest\n", ["pytest"]),
    "pyproject.toml": (
        '[project]\nrequires-python = ">=3.11"\ndependencies = ["httpx<1", "pydantic"]\n'
        '[project.optional-dependencies]\ntest = ["pytest>=8"]\n'
        '[dependency-groups]\nlint = ["ruff", {include-group = "test"}]\n[build-system]\n'
        'requires = ["setuptools>=77"]\n[tool.poetry.dependencies]\npython = "^3.9"\n'
        'lib = {git = "https://e.com/lib", rev = "1"}\nboth = [{version = "1"}, {version = "2"}]\n'
        '[tool.poetry.group.docs.dependencies]\nsphinx = "*"\n',
        ["python >=3.11", "httpx <1", "pydantic", "pytest >=8 (extra test)", "ruff (group lint)",
         "setuptools >=77 (build)", "python ^3.9", "lib git https://e.com/lib", "both 1", "both 2",
         "sphinx * (group docs)"],
    ),
    "setup.cfg": (
        "[options]\npython_requires = >=3.8\ninstall_requires =\n    requests>=2\n    # a remark\n    six # why\n"
        "[options.extras_require]\ntest =\n    pytest\n",
        ["python >=3.8", "requests >=2", "six", "pytest (extra test)"],
    ),
    "setup.py": (
        "import setuptools\nsetuptools.setup(name='x', python_requires='>=3', install_requires=['a>=1', 'b'],\n"
        "  extras_require={'t': ['c']}, tests_require='d')\n",
        ["python >=3", "a >=1", "b", "c (extra t)", "d (test)"],
    ),
    "Pipfile": ('[packages]\nflask = "*"\nlib = {version = "==1"}\n[dev-packages]\npytest = "*"\n',
                ["flask *", "lib ==1", "pytest * (dev)"]),
    "environment.yml": ("dependencies:\n  - python=3.11\n  - conda-forge::numpy >=1.2\n  - pip:\n    - requests>2\n",
                        ["python =3.11", "numpy >=1.2", "requests >2 (pip)"]),
    "web/package.json": (
        '{"dependencies": {"react": "^18.2.0"}, "devDependencies": {"@types/node": "20"}, "engines": {"node": ">=18"}}',
        ["react ^18.2.0", "@types/node 20 (dev)", "node >=18 (engine)"],
    ),
    "go.mod": (
        "module e.com/x\n\ngo 1.22\nrequire e.com/a v1.2.3\nrequire (\n\te.com/b v0.1.0 // indirect\n)\n"
        "replace e.com/a => ../a\nexclude e.com/c v1.0.0\n",
        ["go 1.22 (language)", "e.com/a v1.2.3", "e.com/b v0.1.0 (indirect)", "e.com/a => ../a (replaced)",
         "e.com/c v1.0.0 (excluded)"],
    ),
    "Cargo.toml": (
        '[package]\nrust-version = "1.70"\n[dependencies]\nserde = { version = "1", features = ["derive"] }\n'
        'log = "0.4"\nmine = { path = "../mine" }\nshared = { workspace = true }\n'
        '[dev-dependencies]\ncriterion = "0.5"\n'
        '[target."cfg(unix)".dependencies]\nnix = "0.27"\n[workspace.dependencies]\nshared = "2"\n',
        ["rust 1.70 (language)", "serde 1", "log 0.4", "mine path ../mine", "shared as the workspace says",
         "criterion 0.5 (dev)", "shared 2 (workspace)", "nix 0.27 (target cfg(unix))"],
    ),
    "pom.xml": (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><parent><groupId>org.p</groupId><artifactId>up</artifactId>'
        "<version>3</version></parent><properties><junit.version>5.10</junit.version></properties><dependencies>"
        "<dependency><groupId>org.junit</groupId><artifactId>jupiter</artifactId><version>${junit.version}</version>"
        "<scope>test</scope></dependency><dependency><groupId>a</groupId><artifactId>b</artifactId></dependency>"
        "</dependencies><dependencyManagement><dependencies><dependency><groupId>a</groupId><artifactId>b</artifactId>"
        "<version>${unset}</version></dependency></dependencies></dependencyManagement></project>",
        ["org.p:up 3 (parent)", "a:b ${unset} (managed)", "org.junit:jupiter 5.10 (test)", "a:b"],
    ),
    "app/build.gradle": (
        "plugins { id 'java' \n id 'org.spring' version '3.2' }\ndependencies {\n  implementation 'com.g:guava:32.1'\n"
        "  // implementation 'not:this:1'\n  testImplementation group: 'org.junit', name: 'junit', version: '4.13'\n"
        "  api platform('org.bom:bom:1')\n  runtimeOnly 'a:b'\n}",
        ["com.g:guava 32.1 (implementation)", "org.bom:bom 1 (api)", "a:b (runtimeOnly)",
         "org.junit:junit 4.13 (testImplementation)", "org.spring 3.2 (plugin)"],
    ),
    "build.gradle.kts": ('dependencies {\n  implementation("com.g:guava:32.1")\n}',
                         ["com.g:guava 32.1 (implementation)"]),
    "gradle/libs.versions.toml": (
        '[versions]\nk = "1.9"\n[libraries]\nstd = { module = "org.k:std", version.ref = "k" }\n'
        'two = { group = "g", name = "n", version = "2" }\nthree = "g:m:3"\n'
        '[plugins]\nkt = { id = "org.k", version.ref = "k" }\n',
        ["org.k:std 1.9", "g:n 2", "g:m 3", "org.k 1.9 (plugin)"],
    ),
    "Gemfile": ("gem 'rails', '~> 7.0', '>= 7.0.1'\ngem \"pg\"\n# gem 'no'\ngroup :test do\n  gem('rspec', '3')\nend\n",
                ["rails ~> 7.0, >= 7.0.1", "pg", "rspec 3"]),
    "x.gemspec": ("s.add_dependency 'a', '~> 1'\ns.add_development_dependency(\"b\")\n", ["a ~> 1", "b (development)"]),
    "composer.json": ('{"require": {"php": ">=8", "a/b": "^1"}, "require-dev": {"c/d": "2"}}',
                      ["php >=8", "a/b ^1", "c/d 2 (dev)"]),
    "src/App.csproj": (
        '<Project><ItemGroup><PackageReference Include="A" Version="1.0" /><PackageReference Include="B">'
        "<Version>2</Version></PackageReference></ItemGroup></Project>", ["A 1.0", "B 2"],
    ),
    "poetry.lock": ('[[package]]\nname = "a"\nversion = "1"\n[[package]]\nname = "b"\nversion = "2"\n', ["a 1", "b 2"]),
    "Cargo.lock": ('[[package]]\nname = "serde"\nversion = "1.0.1"\n', ["serde 1.0.1"]),
    "Pipfile.lock": ('{"default": {"a": {"version": "==1"}}, "develop": {"b": {"version": "==2"}}}',
                     ["a 1", "b 2 (dev)"]),
    "package-lock.json": (
        '{"packages": {"": {}, "node_modules/a": {"version": "1"}, '
        '"node_modules/a/node_modules/@s/b": {"version": "2", "dev": true}}}', ["a 1", "@s/b 2 (dev)"],
    ),
    "npm-shrinkwrap.json": ('{"dependencies": {"a": {"version": "1", "dependencies": {"b": {"version": "2"}}}}}',
                            ["a 1", "b 2"]),
    "yarn.lock": (
        '# v1\n"@s/a@^1.0.0", "@s/a@^1.1":\n  version "1.2.3"\n  resolved "x"\nb@~2:\n  version "2.0.0"\n'
        '"c@npm:^3":\n  version: 3.1.0\n', ["@s/a 1.2.3", "b 2.0.0", "c 3.1.0"],
    ),
    "pnpm-lock.yaml": (
        "packages:\n\n  /a@1.0.0:\n    resolution: {}\n  '@s/b@2.0.0(peer@1.0.0)':\n    x: 1\n"
        "  /c/3.0.0_x@1:\n    y: 1\n",
        ["a 1.0.0", "@s/b 2.0.0", "c 3.0.0"],
    ),
    "Gemfile.lock": ("GEM\n  specs:\n    rails (7.0.1)\n      rack (>= 2)\n    rack (2.2.7)\n",
                     ["rails 7.0.1", "rack 2.2.7"]),
    "composer.lock": (
        '{"packages": [{"name": "a/b", "version": "1"}], "packages-dev": [{"name": "c/d", "version": "2"}]}',
        ["a/b 1", "c/d 2 (dev)"],
    ),
    "constraints.txt": ("a==1\n", ["a ==1"]),
    "go.sum": ("e.com/a v1.2.3 h1:abc=\ne.com/a v1.2.3/go.mod h1:def=\n", ["e.com/a v1.2.3"]),
}  # fmt: skip


@pytest.mark.parametrize("path", CASES)
def test_each_kind_of_file_is_read_as_its_ecosystem_writes_it(tree_of: Any, path: str) -> None:
    text, expected = CASES[path]
    file = read(tree_of, path, text)
    assert told(file) == expected
    if file.role == "manifest" and path not in ("app/build.gradle",):
        assert file.unread == ()


def test_every_kind_of_file_has_a_case() -> None:
    tried = [kind_of(path) for path in CASES]
    assert [kind.names.pattern for kind in KINDS if kind not in tried] == []


UNREAD = {
    "setup.py": ("setup(install_requires=read('x'), extras_require={'a': ['b']})", "`install_requires` is computed"),
    "a/setup.py": ("print 'python 2'\n", "could not be read to its end"),
    "pyproject.toml": ('[project]\ndynamic = ["dependencies"]\n', "computed when it is built"),
    "b/pyproject.toml": ("[project\n", "could not be read to its end"),
    "requirements.txt": ("-r more.txt\na\n", "includes more.txt"),
    "package.json": ('{"dependencies": {,}}', "could not be read to its end"),
    "c/package.json": ("[]", "no object"),
    "d/package.json": ("[" * 100_000, "could not be read to its end"),
    "setup.cfg": ("no section", "could not be read to its end"),
    "environment.yml": ("a: [", "could not be read to its end"),
    "pom.xml": ("<project>", "could not be read to its end"),
    "e/pom.xml": ('<!DOCTYPE x [<!ENTITY a "aaa">]><project>&a;</project>', "declares entities"),
    "build.gradle": ("dependencies { implementation libs.guava }", "version catalogue"),
    "Gemfile": ("gemspec\ngem name, version\n", "gemspec"),
    "Pipfile": (b"\0\1", "binary"),
}


@pytest.mark.parametrize("path", UNREAD)
def test_what_cannot_be_read_is_said_and_ends_nothing(tree_of: Any, path: str) -> None:
    text, why = UNREAD[path]
    assert why in " ".join(read(tree_of, path, text).unread)


def test_of_a_file_that_names_too_many_the_first_are_told(tree_of: Any) -> None:
    file = read(tree_of, "go.sum", "".join(f"e.com/{number} v1 h1:x=\n" for number in range(MOST_NEEDS + 1)))
    assert len(file.needs) == MOST_NEEDS and file.unread == (f"only the first {MOST_NEEDS:,} names of it were read",)


def test_a_file_that_is_too_large_is_named_and_not_read(tree_of: Any) -> None:
    file = read(tree_of, "package.json", " " * (MOST_BYTES["manifest"] + 1))
    assert file.needs == () and "1,000,001 bytes" in file.unread[0]


@settings(max_examples=300, deadline=None)
@given(path=st.sampled_from(sorted(CASES)), cut=st.integers(0, 400), noise=st.text(max_size=30), data=st.data())
def test_any_damaged_file_is_read_or_said_to_be_unread(
    tree_of: Any, path: str, cut: int, noise: str, data: st.DataObject
) -> None:
    text = CASES[path][0]
    at = data.draw(st.integers(0, len(text)))
    kind = kind_of(path)
    assert kind is not None
    damaged = (text[:at] + noise + text[at:])[: cut or None].encode("utf-8", "replace")
    file = declared(tree_of({path: damaged}), path, kind)
    assert all(isinstance(one.name, str) and isinstance(one.range, str) for one in file.needs)


FILES = {
    "pyproject.toml": CASES["pyproject.toml"][0].encode(),
    "poetry.lock": b'[[package]]\nname = "HTTPX"\nversion = "0.27.0"\n[[package]]\nname = "httpx-sse"\nversion = "1"\n',
    "web/package.json": b'{"dependencies": {"react": "18"}}',
    "setup.py": b"setup(install_requires=needs())",
    "node_modules/a/package.json": b'{"dependencies": {"not": "told"}}',
    "src/app.py": b"import httpx\n",
}  # fmt: skip


def test_all_files_are_told_with_their_needs_and_locks_by_their_number(snapshot_of: Any) -> None:
    snapshot = snapshot_of(FILES)
    rows = dependency_files(snapshot, snapshot).split("\n")
    assert rows[:3] == ["poetry.lock (Python lock, 2 names)", "  its versions are told for a name",
                        "pyproject.toml (Python manifest, 11 names)"]  # fmt: skip
    assert "  httpx <1" in rows and "  react 18" in rows and "  pytest >=8 (extra test)" in rows
    unread = rows[rows.index("setup.py (Python manifest, 0 names)") + 1]
    assert unread == "  not known: `install_requires` is computed when it is run"
    assert "  not told" not in rows
    (head, *_) = dependency_files(snapshot, snapshot, "web").split("\n")
    assert head == "web/package.json (JavaScript manifest, 1 names)"


def test_a_name_is_told_wherever_it_is_declared_and_locked_the_very_name_first(snapshot_of: Any) -> None:
    snapshot = snapshot_of(FILES)
    assert dependency_files(snapshot, snapshot, name="httpx").split("\n") == [
        "poetry.lock (lock): HTTPX 0.27.0", "pyproject.toml (manifest): httpx <1", "poetry.lock (lock): httpx-sse 1",
        "Not known:", "setup.py: `install_requires` is computed when it is run",
    ]  # fmt: skip
    assert dependency_files(snapshot, snapshot, name="httpx_sse").split("\n")[0] == "poetry.lock (lock): httpx-sse 1"
    assert dependency_files(snapshot, snapshot, "web", "flask") == "No file that was read declares 'flask'."


def test_where_nothing_is_declared_that_is_said(snapshot_of: Any) -> None:
    snapshot = snapshot_of({"a/b.py": b""})
    for path in ("", "a"):
        assert isinstance(dependency_files(snapshot, snapshot, path), Refused)


def test_many_files_and_many_needs_are_bounded_and_counted(snapshot_of: Any) -> None:
    many = {f"p{number:03}/requirements.txt": b"a\n" for number in range(MOST_FILES + 5)}
    long = "\n".join(f"name{number}" for number in range(200)).encode()
    snapshot = snapshot_of({**many, "requirements.txt": long})
    text = dependency_files(snapshot, snapshot)
    assert text.startswith("requirements.txt (Python manifest, 200 names)\n  name0\n")
    assert "  … 120 more; ask for a name" in text
    assert text.endswith("… 6 more files that declare dependencies; narrow by path")


def test_the_tool_hands_on_what_it_is_asked(snapshot_of: Any, tmp_path: Any) -> None:
    _, tool = ReadTools(snapshot_of(FILES), SymbolCache(tmp_path / "symbols.db")).every()["dependency_files"]
    answer = tool({"path": "./web/", "name": "react"})
    assert isinstance(answer, Answer) and answer.text == "web/package.json (manifest): react 18"
    assert isinstance(tool({"path": "src"}), Failed)
    whole = tool({"path": "."})
    assert isinstance(whole, Answer) and "poetry.lock" in whole.text
