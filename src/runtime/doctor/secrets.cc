#include "runtime/doctor/secrets.h"

#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace baton::runtime {
namespace {

// Wider than 0640.
constexpr mode_t kTooWide = S_IWGRP | S_IXGRP | S_IRWXO;

bool IsOpen(const std::string& path) {
  struct stat found {};
  return !path.empty() && stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode) &&
         (found.st_mode & kTooWide) != 0;
}

bool IsLoopback(std::string_view endpoint) {
  return endpoint.starts_with("127.") || endpoint.starts_with("[::1]:") ||
         endpoint.starts_with("localhost:");
}

}  // namespace

SecretsCheckup CheckSecrets(const EtcdOptions& etcd, const std::vector<std::string>& files) {
  SecretsCheckup found{.any = !etcd.password.empty() || !etcd.key_pem.empty()};
  std::copy_if(files.begin(), files.end(), std::back_inserter(found.open_files), IsOpen);
  found.password_in_clear = !etcd.password.empty() && etcd.ca_pem.empty() &&
                            !std::all_of(etcd.endpoints.begin(), etcd.endpoints.end(), IsLoopback);
  return found;
}

std::vector<std::string> SecretsTroubles(const SecretsCheckup& found) {
  std::vector<std::string> troubles;
  for (const std::string& file : found.open_files) {
    troubles.push_back(
        fmt::format("other users can read or change {}, a secret: chmod it to 0640 "
                    "or less (in Kubernetes: defaultMode)",
                    file));
  }
  if (found.password_in_clear) {
    troubles.push_back("etcd's password crosses the network without TLS: give --etcd-ca");
  }
  return troubles;
}

Finding JudgeSecrets(const SecretsCheckup& found) {
  const std::vector<std::string> troubles = SecretsTroubles(found);
  if (!troubles.empty()) {
    return {"secrets", Severity::kWarning, fmt::format("{}", fmt::join(troubles, "; ")),
            "see SECURITY.md; change a secret that somebody may have read"};
  }
  return {"secrets",
          Severity::kOk,
          found.any ? "etcd's password and key are out of other users' reach"
                    : "the node has no password and no key",
          {}};
}

}  // namespace baton::runtime
