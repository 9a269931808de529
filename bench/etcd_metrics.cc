#include "bench/etcd_metrics.h"

#include <boost/asio/ip/tcp.hpp>

#include <cstdlib>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace baton::bench {

EtcdMetrics::EtcdMetrics(const std::string& endpoint) {
  const auto colon = endpoint.rfind(':');
  boost::asio::ip::tcp::iostream stream;
  stream.expires_after(std::chrono::seconds(10));
  stream.connect(endpoint.substr(0, colon), endpoint.substr(colon + 1));
  stream << "GET /metrics HTTP/1.0\r\nHost: " << endpoint << "\r\n\r\n" << std::flush;
  text_.assign(std::istreambuf_iterator<char>(stream), {});
  if (text_.find("etcd_server_") == std::string::npos) {
    throw std::runtime_error("etcd shows no metrics at " + endpoint);
  }
}

double EtcdMetrics::Sum(const std::string& name, const std::string& label) const {
  double sum = 0;
  std::istringstream lines(text_);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(name, 0) != 0) continue;
    const char after = line[name.size()];
    if (after != ' ' && after != '{') continue;
    if (line.find(label) == std::string::npos) continue;
    sum += std::strtod(line.c_str() + line.rfind(' '), nullptr);
  }
  return sum;
}

}  // namespace baton::bench
