"""The script texts of installed libraries, by SHA1.

Nothing of a library's text is in this repository: the packages are installed (tests/libraries/install) and their files
searched for string literals that hold Lua. A text is taken for what its SHA1 says it is, so a way of reading a literal
that is wrong finds nothing rather than something else.
"""
import ast
import hashlib
import os
import pathlib
import re

JS_LITERAL = re.compile(r'`((?:\\.|[^`\\])*)`|"((?:\\.|[^"\\\n])*)"|\'((?:\\.|[^\'\\\n])*)\'', re.S)
PHP_HEREDOC = re.compile(r"<<<'?(\w+)'?\n(.*?)\n([ \t]*)\1\b", re.S)
PHP_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
PHP_LITERAL = re.compile(r'"((?:\\.|[^"\\])*)"|\'((?:\\.|[^\'\\])*)\'', re.S)
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\n": ""}


def unescape(text):
    return re.sub(r"\\(.)", lambda found: ESCAPES.get(found[1], found[1]), text, flags=re.S)


def in_python(text):
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def in_javascript(text):
    for found in JS_LITERAL.finditer(text):
        yield unescape(next(group for group in found.groups() if group is not None))


def in_php(text):
    for _, body, indent in PHP_HEREDOC.findall(text):
        yield re.sub(f"^{indent}", "", body, flags=re.M)
    for found in PHP_LITERAL.finditer(PHP_COMMENT.sub("", text)):
        yield next(group for group in found.groups() if group is not None)


LITERALS = {".py": in_python, ".js": in_javascript, ".cjs": in_javascript, ".mjs": in_javascript, ".php": in_php, ".lua": lambda text: [text]}


def ways_to_send(text):
    """As it stands, and with the white space before each line off, as some libraries send theirs."""
    yield text
    yield re.sub(r"^\s+", "", text, flags=re.M).strip()


def find(*roots):
    """Every Lua text under these folders as {sha1: (text as bytes, {paths})}."""
    found = {}
    for root in roots:
        for folder, _, files in os.walk(root):
            for path in (pathlib.Path(folder, file) for file in files):
                if path.suffix not in LITERALS:
                    continue
                source = path.read_bytes().decode("utf-8", "replace")
                if "redis." not in source:
                    continue
                for literal in LITERALS[path.suffix](source):
                    if re.search(r"\bredis\.p?call\b", literal) and re.search(r"\b(KEYS|ARGV)\b", literal):
                        for text in map(str.encode, ways_to_send(literal)):
                            found.setdefault(hashlib.sha1(text).hexdigest(), (text, set()))[1].add(str(path))
    return found
