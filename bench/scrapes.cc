// Part (k): what a scrape of /metrics/shards costs a daemon that leads 10,000 shards: the processor
// time of its whole process while it is scraped again and again, divided by the scrapes. It is
// compared with prometheus-cpp and the same series in this process, without HTTP: its families are
// filled, as a collectable must do at each scrape, and written by its serializer.
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>
#include <time.h>

#include <boost/asio/ip/tcp.hpp>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

#include "bench/nodes.h"
#include "bench/parts.h"
#include "bench/process.h"

namespace baton::bench {
namespace {

constexpr std::uint32_t kShards = 10'000;
constexpr int kScrapes = 200;  // for each repeat: about a hundred of the ticks that /proc counts in
constexpr double kAim = 15;    // milliseconds

/// A daemon's HTTP address; empty until its ready file has it.
std::string HttpOf(const std::string& ready_file) {
  std::ifstream file(ready_file);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const std::string name = "\"http\":\"";
  const std::size_t at = text.find(name);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + name.size();
  return text.substr(begin, text.find('"', begin) - begin);
}

std::string Scrape(const std::string& address) {
  const auto colon = address.rfind(':');
  boost::asio::ip::tcp::iostream stream;
  stream.expires_after(std::chrono::seconds(30));
  stream.connect(address.substr(0, colon), address.substr(colon + 1));
  stream << "GET /metrics/shards HTTP/1.0\r\nHost: " << address << "\r\n\r\n" << std::flush;
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  const std::size_t body = text.find("\r\n\r\n");
  if (body == std::string::npos) throw std::runtime_error("no answer to a scrape of " + address);
  return text.substr(body + 4);
}

std::size_t CountSeries(const std::string& text) {
  std::size_t count = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) count += !line.empty() && line[0] != '#';
  return count;
}

std::size_t CountLed(const std::string& text) {
  std::size_t count = 0;
  for (std::size_t at = text.find("\nbaton_shard_leader{"); at != std::string::npos;
       at = text.find("\nbaton_shard_leader{", at + 1)) {
    ++count;
  }
  return count;
}

/// {a="x",b="y"}; our labels hold neither quotes nor backslashes.
std::vector<prometheus::ClientMetric::Label> LabelsOf(const std::string& braces) {
  std::vector<prometheus::ClientMetric::Label> labels;
  for (std::size_t at = 1; at < braces.size() && braces[at - 1] != '}';) {
    const std::size_t quote = braces.find('"', at);
    const std::size_t end = braces.find('"', quote + 1);
    labels.push_back(
        {braces.substr(at, quote - 1 - at), braces.substr(quote + 1, end - quote - 1)});
    at = end + 2;
  }
  return labels;
}

/// The same series as prometheus-cpp has them.
std::vector<prometheus::MetricFamily> FamiliesOf(const std::string& text) {
  std::vector<prometheus::MetricFamily> families;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string mark, kind, name, rest;
    if (line.starts_with("#")) {
      words >> mark >> kind >> name;
      std::getline(words >> std::ws, rest);
      if (kind == "HELP") families.push_back({name, rest, prometheus::MetricType::Gauge, {}});
      if (rest == "counter") families.back().type = prometheus::MetricType::Counter;
      continue;
    }
    const std::size_t brace = line.find('{');
    const std::size_t blank = line.rfind(' ');
    prometheus::ClientMetric metric;
    metric.label = LabelsOf(line.substr(brace, blank - brace));
    const double value = std::strtod(line.c_str() + blank, nullptr);
    metric.gauge.value = value;
    metric.counter.value = value;
    families.back().metric.push_back(std::move(metric));
  }
  return families;
}

double ThreadMilliseconds() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) * 1e3 + static_cast<double>(used.tv_nsec) / 1e6;
}

/// Milliseconds of processor time for each scrape.
double ByTheDaemon(const Subprocess& daemon, const std::string& address) {
  const double before = CpuSeconds(daemon.pid());
  for (int i = 0; i < kScrapes; ++i) Scrape(address);
  return (CpuSeconds(daemon.pid()) - before) * 1e3 / kScrapes;
}

double ByPrometheus(const std::vector<prometheus::MetricFamily>& series, std::size_t expected) {
  constexpr int kTimes = 20;
  const double before = ThreadMilliseconds();
  std::string text;
  for (int i = 0; i < kTimes; ++i) {
    const std::vector<prometheus::MetricFamily> filled = series;
    text = prometheus::TextSerializer().Serialize(filled);
  }
  const double each = (ThreadMilliseconds() - before) / kTimes;
  if (CountSeries(text) != expected) throw std::runtime_error("the two don't say the same");
  return each;
}

}  // namespace

void MeasureScrapes(const Settings& settings, Report& report) {
  const auto etcd = StartEtcd();
  const std::string ready = etcd->folder() + "/ready";
  const auto daemon = StartDaemon({.program = settings.batond,
                                   .endpoint = EndpointOf(*etcd),
                                   .group = "scrapes",
                                   .node = "a",
                                   .shards = kShards,
                                   .expect_nodes = 1,
                                   .settle = "100ms",
                                   .folder = etcd->folder(),
                                   .more = {"--ready-file", ready}});
  const std::chrono::milliseconds pause(20);
  Await(
      "the daemon is ready", [&] { return !HttpOf(ready).empty(); }, pause);
  const std::string address = HttpOf(ready);
  std::string text;
  Await(
      "every shard is on /metrics/shards",
      [&] { return CountLed(text = Scrape(address)) == kShards; }, pause);
  const std::vector<prometheus::MetricFamily> series = FamiliesOf(text);
  const std::size_t expected = CountSeries(text);
  Series ours, theirs;
  for (int i = 0; i < settings.repeat; ++i) {
    ours.Add(ByTheDaemon(*daemon, address));
    theirs.Add(ByPrometheus(series, expected));
  }
  const std::string note = Grouped(expected) + " series, " + Grouped(text.size()) + " bytes";
  report.Add({"k", "a scrape of 10,000 shards: CPU of the whole daemon", "ms", ours, note});
  report.Add({"k", "the same series by prometheus-cpp's families and serializer, without HTTP",
              "ms", theirs, "CPU of one thread"});
  report.Add({"k", "  the daemon / prometheus-cpp", "x", Ratio(ours, theirs)});
  report.Judge({"a scrape of " + Grouped(kShards) + " shards: CPU", "< 15 ms",
                Short(ours.Median()) + " ms", ours.Median() < kAim});
}

}  // namespace baton::bench
