#include "runtime/guard/recent_credentials.h"

#include <algorithm>

namespace baton::runtime {

EtcdCredentials CredentialsOf(const EtcdOptions& options) {
  return {.password = options.password,
          .ca_pem = options.ca_pem,
          .cert_pem = options.cert_pem,
          .key_pem = options.key_pem};
}

EtcdOptions With(EtcdOptions options, const EtcdCredentials& credentials) {
  options.password = credentials.password;
  options.ca_pem = credentials.ca_pem;
  options.cert_pem = credentials.cert_pem;
  options.key_pem = credentials.key_pem;
  return options;
}

bool RecentCredentials::Add(const EtcdCredentials& newest) {
  if (all_.back() == newest) return false;
  std::erase(all_, newest);
  all_.push_back(newest);
  if (all_.size() > kMaxKept) all_.erase(all_.begin());
  return true;
}

std::vector<EtcdCredentials> RecentCredentials::Combinations() const {
  std::vector<EtcdCredentials> combinations;
  for (auto certificates = all_.rbegin(); certificates != all_.rend(); ++certificates) {
    for (auto passwords = all_.rbegin(); passwords != all_.rend(); ++passwords) {
      EtcdCredentials both = *certificates;
      both.password = passwords->password;
      const bool known =
          std::find(combinations.begin(), combinations.end(), both) != combinations.end();
      if (!known) combinations.push_back(std::move(both));
    }
  }
  return combinations;
}

}  // namespace baton::runtime
