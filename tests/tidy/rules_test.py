#!/usr/bin/env python3
"""Each rule finds what it is there to find, in a small tree made for it, and lets the good pass."""
import contextlib
import datetime
import io
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import rules  # noqa: E402
import source  # noqa: E402


class RulesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="baton-tidy-")
        self.addCleanup(folder.cleanup)
        self.root = folder.name

    def write(self, path, text, mode=0o644):
        absolute = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(absolute), exist_ok=True)
        with open(absolute, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(absolute, mode)

    def places(self, rule):
        """Where the rule finds something: "path:line"."""
        found = rule(self.root, source.text_files(self.root))
        return [":".join(finding.split(":")[:2]) for finding in found]

    def test_layering_forbids_looking_up_and_sideways(self):
        self.write("src/core/a.cc", '#include "core/a.h"\n#include "base/b.h"\n#include "etcd/c.h"\n')
        self.write("src/etcd/b.cc", '#include "baton/types.h"\n#include "core/a.h"\n')
        self.write("src/runtime/c.cc", '#include "core/a.h"\n#include "http/d.h"\n')
        self.write("src/fencing/d.cc", '#include "runtime/a.h"\n#include "routing/d.h"\n')
        self.write("src/app/e.cc", '#include "http/a.h"\n#include "e.h"\n')
        self.assertEqual(self.places(rules.layering),
                         ["src/app/e.cc:2", "src/core/a.cc:3", "src/etcd/b.cc:2",
                          "src/fencing/d.cc:2", "src/runtime/c.cc:2"])

    def test_layering_knows_the_folders_in_folders(self):
        self.write("src/etcd/a.cc", '#include "etcd/b.h"\n#include "etcd/grpc/c.h"\n#include "etcd/etcd.pb.h"\n')
        self.write("src/routing/client/a.cc", '#include "routing/b.h"\n#include "routing/server/c.h"\n')
        self.write("src/runtime/admin/a.cc", '#include "runtime/b.h"\n#include "etcd/grpc/c.h"\n')
        self.write("src/app/daemon/a.cc", '#include "app/common/b.h"\n#include "lab/c.h"\n#include "app/ctl/c.h"\n')
        self.assertEqual(self.places(rules.layering),
                         ["src/app/daemon/a.cc:2", "src/app/daemon/a.cc:3", "src/etcd/a.cc:2",
                          "src/routing/client/a.cc:2"])

    def test_public_headers_need_only_the_standard_library_and_our_own(self):
        self.write("include/baton/a.h", '#include <vector>\n#include "baton/b.h"\n'
                   '#include <grpcpp/grpcpp.h>\n#include "base/c.h"\n#include "baton/grpc.h"\n'
                   '#include "baton/v1/routing.pb.h"\n')
        self.write("include/baton/grpc.h", "#include <grpcpp/grpcpp.h>\n")
        self.assertEqual(self.places(rules.public_headers),
                         [f"include/baton/a.h:{line}" for line in (3, 4, 5, 6)])

    def test_core_knows_no_effects(self):
        self.write("src/core/a.cc", "#include <vector>\n#include <mutex>\n#include <grpc/grpc.h>\n"
                   "auto a = std::chrono::steady_clock::now();\n// now() in words: ::now()\n"
                   "double share = 0;\nint b = rand();\nTimePoint time(int);\n")
        self.write("src/base/b.cc", "#include <mutex>\ndouble b;\n")
        self.assertEqual(self.places(rules.pure_core),
                         [f"src/core/a.cc:{line}" for line in (2, 3, 4, 6, 7, 8)])

    def test_long_files_are_found(self):
        self.write("src/a.cc", "int a;\n" * rules.MAX_FILE_LINES)
        self.write("src/b.cc", "int a;\n" * (rules.MAX_FILE_LINES + 1))
        self.assertEqual(self.places(rules.file_length), [f"src/b.cc:{rules.MAX_FILE_LINES + 1}"])

    def test_long_functions_are_found_and_long_types_are_not(self):
        body = "  Call();\n"
        self.write("src/a.cc", "namespace baton {\nclass Wide {\n" + "  int a_;\n" * 150 + "};\n"
                   "void Fits() {\n" + body * (rules.MAX_FUNCTION_LINES - 2) + "}\n"
                   "Wide::Wide(int a)\n    : a_{a} {\n" + body * rules.MAX_FUNCTION_LINES + "}\n"
                   "}  // namespace baton\n")
        self.write("src/b.cc", "// {\nchar c = '{'; auto s = R\"({{)\";\nint n = 1'000;\n"
                   "TEST(A, B) {\n  for (;;) {\n" + body * rules.MAX_FUNCTION_LINES + "  }\n}\n")
        first = 2 + 150 + 1 + rules.MAX_FUNCTION_LINES + 2
        self.assertEqual(self.places(rules.function_length), [f"src/a.cc:{first}", "src/b.cc:4"])

    def test_a_source_has_the_header_of_its_name(self):
        self.write("src/a/beside.h", "int a;\n")
        self.write("include/baton/public.h", "int a;\n")
        for path in ("src/a/beside.cc", "src/a/public.cc", "src/b/beside.cc", "src/b/alone.cc", "tests/alone.cc"):
            self.write(path, "int b;\n")
        self.write("src/program.cc", "int main() {}\n")
        self.assertEqual(self.places(rules.one_source), ["src/b/alone.cc:1", "src/b/beside.cc:1"])

    def test_leftovers_are_found(self):
        self.write("src/a.cc", "int a;  // TO" + "DO: later\nint mktemp_XXXXXX;\n")
        self.write("b.sh", "# FIX" + "ME\n")
        self.assertEqual(self.places(rules.leftovers), ["b.sh:1", "src/a.cc:1"])

    def test_sleeps_are_found_in_code_but_not_in_words(self):
        self.write("tests/a.cc", "// no usleep(1) here\nstd::this_thread::sleep_for(1s);\n")
        self.write("bench/b.cc", "std::this_thread::sleep_for(1s);\n")
        self.assertEqual(self.places(rules.no_sleeps), ["tests/a.cc:2"])

    def test_machine_paths_are_found(self):
        self.write("src/a.cc", "// see /home/someone/notes\n// https://example.org/home/page\n"
                   "// /usr/bin/etcd, $HOME/work/x\n")
        self.assertEqual(self.places(rules.machine_paths), ["src/a.cc:1"])

    def test_scripts_are_executable_and_readable(self):
        self.write("a.sh", "#!/bin/sh\necho good\n", 0o755)
        self.write("b.sh", "#!/bin/sh\necho good\n")
        self.write("c.sh", "#!/usr/bin/env bash\nif then\n", 0o755)
        self.assertEqual(self.places(rules.scripts), ["b.sh:1", "c.sh:1"])

    def test_documents_point_to_what_exists(self):
        self.write("src/ARCHITECTURE.md", "[up](../README.md) [web](https://example.org/x)\n")
        self.write("README.md", "Run `tests/run.sh --quick`, see [it](src/ARCHITECTURE.md#flow).\n"
                   "`shards/<shard>` and `src/ARCHITECTURE.md`\n[gone](src/GONE.md)\n")
        self.assertEqual(self.places(rules.documents), ["README.md:1", "README.md:3"])

    def test_links_reach_headings(self):
        self.write("README.md", "## What it's `not`\n[a](#what-its-not) [b](docs/a.md#how-long)\n"
                   "[c](#gone)\n[d](docs/a.md#comment) [e](docs/gone.md#x)\n")
        self.write("docs/a.md", "# How long?\n[up](../README.md#what-its-not)\n```sh\n# comment\n```\n")
        self.assertEqual(self.places(rules.links_to_headings), ["README.md:3", "README.md:4"])

    def test_tests_that_are_named_are_there(self):
        self.write("tests/a_test.cc", "TEST(Kv, Works) {}\nTEST_F(LockTest, Holds) {}\n")
        text = "`Kv.Works`, `LockTest.*`\n`Kv.Fails` and `Other.*`\n`std.Other`\n"
        self.write("README.md", text)
        self.write("docs/a.md", text)
        self.assertEqual(self.places(rules.named_tests), ["README.md:2"] * 2 + ["docs/a.md:2"] * 2)

    def test_code_is_shown_as_the_file_has_it(self):
        self.write("examples/a.cc", "int main() {\n  // [call]\n  Call();\n  // [deep]\n\n  End();\n"
                   "  // [/deep]\n  // [/call]\n}\n")
        good = ("<!-- examples/a.cc: call -->\n```cpp\nCall();\n\nEnd();\n```\n"
                "<!-- examples/a.cc: deep deep -->\n```cpp\nEnd();\n\nEnd();\n```\n"
                "<!-- examples/a.cc -->\n```cpp\nint main() {\n  Call();\n\n  End();\n}\n```\n")
        self.write("README.md", good + "```cpp\nint from_nowhere;\n```\n```sh\nls\n```\n")
        self.write("docs/a.md", good + "<!-- examples/a.cc: gone -->\n```cpp\n```\n"
                   "<!-- examples/b.cc -->\n```cpp\n```\n```cpp\nint a;\n```\n")
        self.write("docs/b.md", "<!-- examples/a.cc: call -->\n```cpp\nCall();\nEnd();\n```\n")
        self.assertEqual(self.places(rules.code_shown),
                         ["README.md:21", "docs/a.md:21", "docs/a.md:24", "docs/b.md:1"])

    def test_the_first_documents_stay_short(self):
        self.write("README.md", "line\n" * 201)
        self.write("src/ARCHITECTURE.md", "line\n" * 150)
        self.assertEqual(self.places(rules.document_length), ["README.md:201"])

    def test_the_reference_lists_what_is_declared_and_nothing_else(self):
        self.write("src/http/handler.cc", 'constexpr std::string_view kPaths =\n    "/ /livez "\n    "/v1/x?a=";\n')
        self.write("src/base/types.cc", 'case Reason::kA: return "a";\ncase ShardState::kB: return "b";\n')
        self.write("src/app/ctl/ctl.h", "enum class ExitCode : int {\n  kDone = 0,\n};\n")
        self.write("src/http/status_json.cc", 'return {{"shard", 1}};\ntext += "\\"routes\\":[";\n')
        self.write("src/runtime/metrics/a.cc", 'out.Gauge("baton_a", "A.");\n')
        table = "\n| name | meaning |\n| --- | --- |\n"
        tables = (f"# Reference\n## Metrics{table}| `baton_a{{result}}` | a |\n"
                  f"## HTTP{table}| `/`, `/livez` | a |\n| `/v1/x[?a=A]` | a |\n"
                  f"## Reasons{table}| `a` | a |\n## States of a shard{table}| `b` | a |\n"
                  f"## Exit codes of batonctl{table}| `0` | a |\n## JSON{table}| `shard`, `routes` | a |\n")
        self.write("docs/reference.md", tables)
        self.assertEqual(self.places(rules.reference), [])
        self.write("docs/reference.md", tables.replace("`/livez`", "`/alive`").replace("| `a` | a |\n", ""))
        self.assertEqual(self.places(rules.reference),
                         ["docs/reference.md:1", "docs/reference.md:9", "docs/reference.md:1"])

    def test_lines_that_are_quoted_are_printed(self):
        self.write("src/a.cc", 'Say("shard " + Number(s) + ": acquired exceeded "\n    "its bound");  // "a comment"\n'
                   'out.Counter("baton_late_total",\n            "Callbacks that came "\n            "late.");\n')
        self.write("docs/troubleshooting.md", "## By line\n| line | meaning |\n| --- | --- |\n"
                   "| `shard 7: acquired exceeded its bound` | a |\n| `a comment` | a |\n"
                   "| `... its 7` | a |\n| `that came late` | a |\n## Else\n| `nothing of it is printed` | a |\n")
        self.assertEqual(self.places(rules.quoted_lines),
                         ["docs/troubleshooting.md:5", "docs/troubleshooting.md:6", "docs/troubleshooting.md:7"])

    def test_top_level_holds_what_it_should(self):
        for name in ("README.md", "notes.txt", "build-old/x", "mine/CMakeCache.txt"):
            self.write(name, "text\n")
        self.assertEqual(self.places(rules.top_level), ["notes.txt:1"])

    def test_continuous_integration_runs_what_readme_shows(self):
        self.write("README.md", "```sh\nmake\n```\n\n```sh\nexamples/quickstart.sh    # --yes: asks nothing\n"
                   "tests/run.sh # as tests/other.sh\n```\n")
        runs = '#!/bin/sh\n# Not tests/run.sh yet.\n"$root/examples/quickstart.sh" --yes || echo "tests/run.sh"\n'
        self.write(".ci/run", runs + '"$root/tests/run.sh" --all | cat\n')
        self.assertEqual(self.places(rules.readme_commands), [])
        self.write(".ci/run", runs)
        self.assertEqual(self.places(rules.readme_commands), [".ci/run:1"])
        self.write(".ci/run", '"$root/tests/run.sh"\n' + runs)
        self.assertEqual(self.places(rules.readme_commands), [".ci/run:1"])
        self.write("README.md", "```sh\ntests/run.sh\n```\n")
        self.assertEqual(self.places(rules.readme_commands), ["README.md:1"])

    def test_a_private_dialect_is_found_in_words_and_not_in_code(self):
        self.write("src/a.cc", "// Whoever leads is told.\nint whoever;\n// If a node leads, it acts.\n")
        self.write("docs/a.md", "All but for one.\n```\nwhoever\n```\n`anew`\n")
        self.write("tests/corpus/a.md", "anew\n")
        self.write("src/b.cc", 'Say("the node was told");\nAssign("begun-anew");\n')
        self.write("tests/b.cc", 'Expect("the node was told");\n')
        self.assertEqual(self.places(rules.wording), ["docs/a.md:1", "src/a.cc:1", "src/a.cc:1", "src/b.cc:1"])

    def test_where_is_rare(self):
        self.write("docs/a.md", "Say it plainly where it counts.\n" * 100)
        self.write("docs/b.md", "Say it plainly if it counts.\n" * 100)
        self.assertEqual(self.places(rules.wording), ["docs/a.md:1", ".:1"])

    def test_comments_start_with_their_subject(self):
        self.write("src/a.cc", "// What leads.\nint a;  // Who leads.\n// It is followed.\n// Such a node leads.\n"
                   "//\n// Such a node leads.\n// What? Whole words only. // not What\n")
        self.write("include/baton/a.h", "int a;  ///< What leads.\nchar b[] = \"# What leads\";\n")
        self.write("proto/a.proto", "// Who leads.\n")
        self.write("src/page/a.js", "/** Who leads. */\n")
        self.write("src/CMakeLists.txt", "# What is built.\n")
        self.write("docs/a.md", "# What leads\n")
        self.write("tests/a.cc", "// What leads.\n")
        self.assertEqual(self.places(rules.comment_starts),
                         ["include/baton/a.h:1", "proto/a.proto:1", "src/CMakeLists.txt:1", "src/a.cc:1", "src/a.cc:2",
                          "src/a.cc:6", "src/page/a.js:1"])

    def test_servers_and_channels_without_limits_are_found(self):
        self.write("src/a.cc", "grpc::ServerBuilder builder;\nSetServerLimits(builder);\n")
        self.write("src/b.cc", "grpc::ServerBuilder builder;\nauto c = grpc::CreateCustomChannel(a, b, d);\n")
        self.write("examples/c.cc", "grpc::ServerBuilder builder;\nbaton::LimitServer(builder);\n")
        self.write("tests/d.cc", "grpc::ServerBuilder builder;\n")
        self.write("src/e.cc", "// No LimitChannel: these are the caller's own.\ngrpc::CreateChannel(a, b);\n")
        self.assertEqual(self.places(rules.grpc_limits), ["src/b.cc:1", "src/b.cc:2"])

    def known_faults(self, table, page="CVE-2026-0001 and CVE-2026-00002\n", today=datetime.date(2026, 11, 25)):
        """The findings' places, and what is printed."""
        self.write("tests/support/cves.md", table)
        self.write("SECURITY.md", page)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            places = self.places(lambda root, files: rules.known_faults(root, files, today))
        return places, printed.getvalue()

    def test_known_faults_are_the_same_in_both_places(self):
        rows = "| fault |\n| --- |\n| CVE-2026-0001: a |\n"
        table = "As of 2026-11-25, in words.\n## gRPC\n" + rows + "## etcd\n| CVE-2026-00002 |\n| CVE-2026-0004 |\n"
        self.assertEqual(self.known_faults(table), ([], ""))
        self.assertEqual(self.known_faults(table, "CVE-2026-0001\nCVE-2026-0002\nCVE-2026-00002\n")[0],
                         ["SECURITY.md:2"])
        self.assertEqual(self.known_faults(table, "CVE-2026-00002\n")[0], ["tests/support/cves.md:5"])
        named_in_words = table.replace("| CVE-2026-00002 |", "CVE-2026-00002")
        self.assertEqual(self.known_faults(named_in_words)[0], ["SECURITY.md:1"])
        self.assertEqual(self.known_faults(table.replace("## gRPC", "## RPC"))[0], ["tests/support/cves.md:1"])
        os.remove(os.path.join(self.root, "tests/support/cves.md"))
        self.assertEqual(self.places(rules.known_faults), ["tests/support/cves.md:1"])

    def test_known_faults_have_a_date_that_may_grow_old(self):
        rows = "## gRPC\n| CVE-2026-0001 |\n| CVE-2026-00002 |\n"
        for words in ("", "As of November 2026\n", "As of 2026-11-31\n", "It was as of 2026-11-25\n"):
            self.assertEqual(self.known_faults(words + rows), (["tests/support/cves.md:1"], ""), words)
        dated = "# Faults\n\nAs of 2026-11-25, in words.\n" + rows
        ninety = datetime.date(2026, 11, 25) + datetime.timedelta(days=90)
        self.assertEqual(self.known_faults(dated, today=ninety), ([], ""))
        places, printed = self.known_faults(dated, today=ninety + datetime.timedelta(days=1))
        self.assertEqual((places, printed.count("\n")), ([], 1))
        self.assertIn("91 days ago", printed)

    def test_every_rule_is_run_and_has_a_test_that_makes_it_fail(self):
        here = os.path.dirname(os.path.realpath(__file__))
        with open(os.path.join(here, "rules_test.py"), encoding="utf-8") as file:
            tests = file.read()
        with open(os.path.join(here, "CMakeLists.txt"), encoding="utf-8") as file:
            registered = file.read().split()
        for rule in rules.RULES:
            self.assertIn(f"self.places(rules.{rule.__name__})", tests)
            self.assertIn(rule.__name__, [word.strip("()") for word in registered])


if __name__ == "__main__":
    unittest.main()
