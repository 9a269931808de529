#include "bench/results.h"

#include <boost/json.hpp>

#include <cstddef>
#include <iterator>
#include <sstream>

#include "base/check.h"

namespace baton::bench {
namespace {

namespace json = boost::json;

json::object MachineObject(const Machine& machine) {
  return {{"processor", machine.processor}, {"cores", machine.cores},
          {"memory", machine.memory},       {"kernel", machine.kernel},
          {"etcd", machine.etcd},           {"compiler", machine.compiler},
          {"date", machine.date},           {"load", machine.load}};
}

json::object RowObject(const Row& row) {
  json::array values;
  for (const double value : row.values.values()) values.emplace_back(value);
  return {{"part", row.part},
          {"what", row.what},
          {"unit", row.unit},
          {"median", row.values.Median()},
          {"values", std::move(values)},
          {"note", row.note}};
}

const char* Verdict(const Demand& demand) { return demand.passed ? "pass" : "MISS"; }

constexpr const char* kHeadings[] = {
    "(a) Election",
    "(b) Failover after kill -9 of one of three daemons",
    "(c) Nothing happens",
    "(d) Planned handoff",
    "(e) Leads()",
    "(f) Assignment and plan",
    "(g) Lookups",
    "(h) SIGKILL of an application in another process",
    "(i) 1,000 callers follow one relay",
    "(j) Redirects",
    "(k) Scrapes",
    "(l) TLS and client certificates",
    "(m) SIGKILL of one of three nodes, with and without guards",
    "(n) SIGKILL of a node whose shards load slowly, with and without standbys",
};

const char* Heading(const std::string& part) {
  const auto index = static_cast<std::size_t>(part.front() - 'a');
  BATON_CHECK(index < std::size(kHeadings));
  return kHeadings[index];
}

}  // namespace

std::string ToJson(const Machine& machine, const Report& report) {
  json::array rows;
  for (const Row& row : report.rows()) rows.push_back(RowObject(row));
  json::array demands;
  for (const Demand& demand : report.demands()) {
    demands.push_back(json::object{{"what", demand.what},
                                   {"figure", demand.figure},
                                   {"measured", demand.measured},
                                   {"passed", demand.passed}});
  }
  const json::object all{{"machine", MachineObject(machine)},
                         {"rows", std::move(rows)},
                         {"must_hold", std::move(demands)}};
  return json::serialize(all) + "\n";
}

std::string ToMarkdown(const Machine& machine, const Report& report, int repeat) {
  std::ostringstream page;
  page << "# Figures\n\nWritten by `bench/run.sh --results bench/RESULTS.md`. Medians of " << repeat
       << "; least and greatest beside them.\nContenders of one row's ratio ran against the same "
          "etcd, in alternating order.\n\n"
       << "| machine | |\n| --- | --- |\n"
       << "| processor | " << machine.processor << ", " << machine.cores << " cores |\n"
       << "| memory | " << machine.memory << " |\n"
       << "| kernel | " << machine.kernel << " |\n"
       << "| etcd | " << machine.etcd << ", one member, with fsync, on the same machine |\n"
       << "| compiler | " << machine.compiler << " |\n"
       << "| date | " << machine.date << ", load before the run " << Short(machine.load) << " |\n\n"
       << "## Must hold\n\n| what | figure | measured | |\n| --- | --- | --- | --- |\n";
  for (const Demand& demand : report.demands()) {
    page << "| " << demand.what << " | " << demand.figure << " | " << demand.measured << " | "
         << Verdict(demand) << " |\n";
  }
  std::string part;
  for (const Row& row : report.rows()) {
    if (row.part != part) {
      part = row.part;
      page << "\n## " << Heading(part)
           << "\n\n| what | median | least | greatest | unit | |\n"
              "| --- | --- | --- | --- | --- | --- |\n";
    }
    page << "| " << row.what << " | " << Short(row.values.Median()) << " | "
         << Short(row.values.Least()) << " | " << Short(row.values.Greatest()) << " | " << row.unit
         << " | " << row.note << " |\n";
  }
  return page.str();
}

std::string HardeningIn(const std::string& page) {
  const std::size_t begin = page.find("\n## Hardening flags\n");
  return begin == std::string::npos ? "" : page.substr(begin);
}

std::string ToText(const Report& report) {
  std::ostringstream text;
  for (const Demand& demand : report.demands()) {
    text << Verdict(demand) << "  " << demand.what << ": " << demand.measured << " (must be "
         << demand.figure << ")\n";
  }
  return text.str();
}

}  // namespace baton::bench
