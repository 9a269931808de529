#include "e2e/prometheus.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <boost/json.hpp>

#include "e2e/cluster.h"
#include "http/client.h"

namespace baton::e2e {
namespace {

namespace json = boost::json;

constexpr int kStarts = 5;  // another process may take the port first

/// A port that was free a moment ago; 0 if the system gives none.
std::uint16_t FreePort() {
  const int held = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  const bool bound = bind(held, any, length) == 0 && getsockname(held, any, &length) == 0;
  close(held);
  return bound ? ntohs(address.sin_port) : std::uint16_t{0};
}

/// Writes the file under another name and renames it, because Prometheus watches it.
void Write(const std::string& path, const std::string& content) {
  std::ofstream(path + ".new") << content;
  std::filesystem::rename(path + ".new", path);
}

std::string PercentEncoded(const std::string& text) {
  std::string out;
  for (const char c : text) {
    char code[4];
    std::snprintf(code, sizeof code, "%%%02X", static_cast<unsigned char>(c));
    out += std::isalnum(static_cast<unsigned char>(c)) != 0 ? std::string(1, c) : code;
  }
  return out;
}

/// HTTP/1.0, because Prometheus would chunk the answer otherwise.
std::string Body(std::uint16_t port, const std::string& target) {
  http::Client client(port);
  if (!client.connected() || !client.Send("GET " + target + " HTTP/1.0\r\n\r\n")) return {};
  const std::string response = client.ReceiveAll();
  const auto head = response.find("\r\n\r\n");
  return head == std::string::npos ? "" : response.substr(head + 4);
}

std::pair<double, double> SampleOf(const json::value& pair) {
  return {pair.at(0).to_number<double>(), std::strtod(pair.at(1).as_string().c_str(), nullptr)};
}

constexpr const char* kConfig = R"(global:
  scrape_interval: 500ms
  scrape_timeout: 500ms
scrape_configs:
  - job_name: baton
    file_sd_configs: [{files: [targets.json]}]
  - job_name: baton-shards
    metrics_path: /metrics/shards
    file_sd_configs: [{files: [targets.json]}]
)";

}  // namespace

std::string StoredSeries::label(const std::string& name) const {
  const auto found = labels.find(name);
  return found == labels.end() ? "" : found->second;
}

Prometheus::Prometheus(const std::string& folder) : folder_(folder + "/prometheus") {
  std::filesystem::create_directories(folder_);
  Write(folder_ + "/prometheus.yml", kConfig);
  Write(folder_ + "/targets.json", "[]");
  for (int start = 0; start < kStarts; ++start) {
    if (Begin()) return;
  }
  throw Unmet("Prometheus did not start; see " + folder_ + "/log");
}

bool Prometheus::Begin() {
  port_ = FreePort();
  auto started =
      Subprocess::Start({.arguments = {"prometheus", "--config.file=" + folder_ + "/prometheus.yml",
                                       "--storage.tsdb.path=" + folder_ + "/data",
                                       "--web.listen-address=127.0.0.1:" + std::to_string(port_)},
                         .output_path = folder_ + "/log",
                         .lifetime = ChildLifetime::kDiesWithStartingThread});
  if (!started) throw Unmet(started.error().message + "; Debian's package is prometheus");
  process_ = std::move(started).value();
  return Eventually(kPatience, [&] { return process_->Poll() || Ready(); }) && !process_->Poll();
}

bool Prometheus::Ready() const {
  return Body(port_, "/-/ready").find("Ready") != std::string::npos;
}

void Prometheus::Scrape(const std::map<std::string, std::uint16_t>& nodes) {
  json::array targets;
  for (const auto& [id, port] : nodes) {
    targets.push_back({{"targets", json::array{"127.0.0.1:" + std::to_string(port)}},
                       {"labels", {{"instance", id}, {"port", std::to_string(port)}}}});
  }
  Write(folder_ + "/targets.json", json::serialize(targets));
}

std::vector<StoredSeries> Prometheus::Ask(const std::string& expression) const {
  const std::string body = Body(port_, "/api/v1/query?query=" + PercentEncoded(expression));
  boost::system::error_code failed;
  const json::value document = json::parse(body, failed);
  if (failed || document.at("status") != "success") {
    throw Unmet("Prometheus does not answer " + expression + ": " + body.substr(0, 300));
  }
  std::vector<StoredSeries> all;
  for (const json::value& result : document.at("data").at("result").as_array()) {
    StoredSeries series;
    for (const auto& [name, value] : result.at("metric").as_object()) {
      series.labels[std::string(name)] = std::string(value.as_string());
    }
    if (const auto* value = result.as_object().if_contains("value")) {
      series.samples = {SampleOf(*value)};
    } else {
      for (const json::value& pair : result.at("values").as_array()) {
        series.samples.push_back(SampleOf(pair));
      }
    }
    all.push_back(std::move(series));
  }
  return all;
}

std::vector<StoredSeries> Prometheus::Stored(const std::string& selector) const {
  return Ask(selector + "[1h]");
}

std::vector<StoredSeries> Prometheus::Query(const std::string& expression) const {
  return Ask(expression);
}

double Prometheus::Value(const std::string& expression) const {
  const std::vector<StoredSeries> all = Ask(expression);
  return all.empty() ? 0 : all.front().last();
}

}  // namespace baton::e2e
