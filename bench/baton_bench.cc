// baton_bench: Baton's figures on a private etcd. See --help and bench/run.sh.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "base/log.h"
#include "bench/application.h"
#include "bench/bare_streams.h"
#include "bench/loading_node.h"
#include "bench/machine.h"
#include "bench/parts.h"
#include "bench/results.h"

namespace baton::bench {
namespace {

struct Part {
  const char* name;
  const char* what;
  void (*measure)(const Settings&, Report&);
};
constexpr Part kParts[] = {
    {"a", "election, against etcd's other ways", MeasureElection},
    {"b", "failover of one of three daemons", MeasureFailover},
    {"c", "what is spent while nothing happens", MeasureSteadyState},
    {"d", "planned handoff of a third of the shards", MeasureHandoff},
    {"e", "Leads()", MeasureLeads},
    {"f", "assignment and plan", MeasureAssignment},
    {"g", "lookups", MeasureLookups},
    {"h", "the death of an application in another process", MeasureSidecar},
    {"i", "1,000 callers of a relay", MeasureFanOut},
    {"j", "redirects", MeasureRedirects},
    {"k", "scrapes of /metrics/shards", MeasureScrapes},
    {"l", "TLS and client certificates", MeasureTls},
    {"m", "the death of one of three nodes, with and without guards", MeasureGuarded},
    {"n", "the death of a node whose shards load slowly, with and without standbys",
     MeasureStandbys},
};

struct Arguments {
  Settings settings;
  std::vector<std::string> only;
  std::string json;
  std::string results;
};

std::vector<std::string> PartNames() {
  std::vector<std::string> names;
  for (const Part& part : kParts) names.push_back(part.name);
  return names;
}

std::string Footer() {
  std::string text = "Parts:";
  for (const Part& part : kParts) text += std::string("\n  ") + part.name + "  " + part.what;
  return text +
         "\nA row: median (least .. greatest). Exit code 1 if a part could not run; a missed "
         "figure is reported, and is no failure.";
}

std::string Content(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void Write(const std::string& path, const std::string& content) {
  if (path.empty()) return;
  std::ofstream file(path);
  file << content;
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path);
}

// A part that can't run counts as a missed demand; the other parts are reported all the same.
bool Measure(const Part& part, const Settings& settings, Report& report) {
  try {
    const ProcessorTime before = ReadProcessorTime();
    part.measure(settings, report);
    const ProcessorTime after = ReadProcessorTime();
    report.Add({part.name, "  processor time stolen by the hypervisor meanwhile", "%",
                Series({100 * (after.stolen - before.stolen) / (after.all - before.all)})});
    return true;
  } catch (const std::runtime_error& error) {
    std::fprintf(stderr, "baton_bench: (%s) %s\n", part.name, error.what());
    report.Judge({std::string("part (") + part.name + "), " + part.what, "carried out",
                  error.what(), false});
    return false;
  }
}

bool Run(const Arguments& arguments) {
  const Machine machine = DescribeMachine();
  std::printf("%s, %ld cores, %s; %s; etcd %s; %s; load %s\n\n", machine.processor.c_str(),
              machine.cores, machine.memory.c_str(), machine.kernel.c_str(), machine.etcd.c_str(),
              machine.compiler.c_str(), Short(machine.load).c_str());
  Report report;
  bool whole = true;
  for (const Part& part : kParts) {
    const auto& only = arguments.only;
    if (!only.empty() && std::find(only.begin(), only.end(), part.name) == only.end()) continue;
    whole = Measure(part, arguments.settings, report) && whole;
  }
  std::printf("\n%s", ToText(report).c_str());
  Write(arguments.json, ToJson(machine, report));
  Write(arguments.results, ToMarkdown(machine, report, arguments.settings.repeat) +
                               HardeningIn(Content(arguments.results)));
  return whole;
}

std::string SelfPath() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

// Builds put the measured programs into the folder of this one.
std::string PathOf(const char* program) {
  return (std::filesystem::path(SelfPath()).parent_path() / program).string();
}

int Main(int argc, char** argv) {
  Arguments arguments;
  Settings& settings = arguments.settings;
  settings.batond = PathOf("batond");
  settings.self = SelfPath();
  settings.go_recipe = PathOf("go_recipe");
  settings.kv_server = PathOf("kv_server");
  std::string sidecar;
  std::string bare_streams;
  std::vector<std::string> loading_node;
  CLI::App app("Baton's figures, on a private etcd that is started and ended for each run.");
  app.footer(Footer());
  app.add_option("--only", arguments.only, "only these parts: a,b,...")
      ->delimiter(',')
      ->check(CLI::IsMember(PartNames()));
  auto* repeat = app.add_option("--repeat", settings.repeat, "how often each figure is taken")
                     ->check(CLI::Range(1, 99))
                     ->capture_default_str();
  app.add_option("--application", sidecar, "measure nothing: be an application of this sidecar");
  app.add_option("--bare-streams", bare_streams,
                 "measure nothing: be a bare server of streams, whose address this file gets");
  app.add_option("--loading-node", loading_node,
                 "measure nothing: be a node whose shards load slowly (bench/loading_node.h)")
      ->expected(kLoadingNodeWords);
  app.add_flag("--quick", settings.quick, "no 100,000 shards, one repeat, a short steady state");
  app.add_option("--json", arguments.json, "also write all values to this file");
  app.add_option("--results", arguments.results, "also write the page (bench/RESULTS.md) there");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& end) {
    return app.exit(end) == 0 ? 0 : 2;
  }
  if (!sidecar.empty()) BeApplication(sidecar);
  if (!bare_streams.empty()) BeBareStreams(bare_streams);
  if (!loading_node.empty()) BeLoadingNode(loading_node);
  if (settings.quick) {
    if (repeat->count() == 0) settings.repeat = 1;
    settings.steady_seconds = 10;
  }
  // Nodes that stop with shards in flight rightly warn of refused claims; the bench hides that.
  log::ConfigureLog({.level = log::Level::kError, .format = log::Format::kText});
  int code = 0;
  try {
    if (!Run(arguments)) code = 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "baton_bench: %s\n", error.what());
    code = 1;
  }
  log::ShutDownLog();
  return code;
}

}  // namespace
}  // namespace baton::bench

int main(int argc, char** argv) { return baton::bench::Main(argc, argv); }
