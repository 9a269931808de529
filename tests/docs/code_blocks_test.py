"""How code_blocks.py finds examples, and what it takes them for."""
import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import code_blocks as blocks  # noqa: E402

HEADER = """\
// Router: finds leaders.
//
//   auto router = baton::Router::Start(options);
//   ...
//   router->Stop();
//
// Three forms, none of them code:
//
//   FenceGuard      a server of yours
//   CompareTerm     etcd itself; a compare
//
/// Codes:
///   kNotFound  no such shard
struct Router {
  /// Makes one:
  ///
  ///   if (ready) {
  ///     Go();
  ///   }
  void Make();
};
"""


def document(*lines):
    return list(blocks.in_document("a.md", "\n".join(lines)))


class Headers(unittest.TestCase):
    # Two examples among lists, which are indented as well but hold no statement.
    def test_examples_are_indented_code_between_empty_comment_lines(self):
        found = list(blocks.in_header("a.h", HEADER))
        self.assertEqual([(e.line, e.lines, e.kind) for e in found], [
            (3, ["auto router = baton::Router::Start(options);", "...", "router->Stop();"], "statements"),
            (17, ["if (ready) {", "  Go();", "}"], "statements"),
        ])


class Documents(unittest.TestCase):
    # A block of another language is not looked at; an unclosed one ends with the file.
    def test_examples_are_blocks_of_cpp(self):
        found = document("```sh", "cmake --build build;", "```", "", "```cpp", "int a = 1;", "```",
                         "```cpp", "Go();")
        self.assertEqual([(e.line, e.lines) for e in found], [(6, ["int a = 1;"]), (9, ["Go();"])])

    def test_a_comment_before_a_block_says_what_the_words_do_not(self):
        kind, after = document("<!-- compiled as: declarations -->", "```cpp", "extern int a;", "```",
                               "<!-- compiled after: int a = 0; -->", "```cpp", "++a;", "```")
        self.assertEqual((kind.kind, kind.before), ("declarations", ""))
        self.assertEqual((after.kind, after.before), ("statements", "int a = 0;"))

    def test_a_block_may_be_left_out_with_a_reason_or_because_the_build_compiles_its_file(self):
        self.assertEqual(document("<!-- not compiled: pseudocode -->", "```cpp", "lead forever", "```",
                                  "<!-- examples/orders/service.cc: start stop -->", "```cpp", "x", "```",
                                  "<!-- examples/leader/main.cc -->", "```cpp", "x", "```"), [])

    # No reason, an unknown kind, and C++ by another name, under which nobody would look for it.
    def test_what_breaks_the_rules_is_named_with_its_line(self):
        for lines, place in ((["<!-- not compiled: -->", "```cpp", "x", "```"], "a.md:1: "),
                             (["", "<!-- compiled as: poetry -->", "```cpp", "x", "```"], "a.md:2: "),
                             (["", "", "```c++", "x", "```"], "a.md:3: ")):
            with self.assertRaises(blocks.Wrong) as raised:
                document(*lines)
            self.assertTrue(str(raised.exception).startswith(place), raised.exception)


class Kinds(unittest.TestCase):
    def test_are_seen_by_the_words(self):
        for expected, code in (
                ("statements", "auto a = Go();\nif (a) {\n}"),
                ("statements", "if (Go()) {\n}"),
                ("statements", "#include <vector>\nstd::vector<int> a;"),
                ("statements", "// class, in words only\nGo();"),
                ("declarations", "class A : public B {\n  void Go() override;\n};"),
                ("declarations", "grpc::Status Put(Context* context) {\n  return Go();\n}"),
                ("members", "void Lost(ShardId) override {}"),
                ("members", "grpc::Status Put(Context* context,\n    Request* request) override {\n}"),
                ("file", "#include <vector>\nint main() {\n  return 0;\n}")):
            self.assertEqual(blocks.guess(code.splitlines()), expected, code)


class TranslationUnit(unittest.TestCase):
    # Includes go to the top and leave an empty line, so that later lines keep their numbers.
    def test_keeps_the_lines_of_each_example(self):
        example = blocks.Example("a.md", 7, ["#include <vector>", '#include "a.pb.h"', "...", "Go();"],
                                 before="int a;")
        text = blocks.translation_unit([example])
        self.assertEqual(text.splitlines(), [
            "#include <vector>", '#include "given.h"', "using namespace given;",
            "given::Anything Example0() { int a;", '#line 7 "a.md"', "", "", "", "Go();",
            "return 0; }"])


if __name__ == "__main__":
    unittest.main()
