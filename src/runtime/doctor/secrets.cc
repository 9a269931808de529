#include "runtime/doctor/secrets.h"

#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/endpoint.h"
#include "base/timestamp.h"

namespace baton::runtime {
namespace {

constexpr mode_t kWiderThan0640 = S_IWGRP | S_IXGRP | S_IRWXO;
constexpr mode_t kOthersMayWrite = S_IWGRP | S_IWOTH;

/// Those of the files that are there and have one of these rights.
std::vector<std::string> WithRights(mode_t rights, const std::vector<std::string>& files) {
  std::vector<std::string> chosen;
  std::copy_if(files.begin(), files.end(), std::back_inserter(chosen), [&](const auto& path) {
    struct stat found {};
    return !path.empty() && stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode) &&
           (found.st_mode & rights) != 0;
  });
  return chosen;
}

bool IsOnThisHost(const std::string& endpoint) {
  std::string host = endpoint.substr(0, endpoint.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return host == "localhost" || IsLoopbackHost(host);
}

/// Adds a trouble if a certificate is not valid now, or only for a short time.
void AddTrouble(const char* whose, const std::optional<Validity>& certificate,
                std::chrono::system_clock::time_point at, std::vector<std::string>* troubles) {
  if (!certificate) return;
  const auto [from, until] = *certificate;
  if (at > until) {
    troubles->push_back(fmt::format("{} has ended, at {}: renew it", whose, Timestamp(until)));
  } else if (at < from) {
    troubles->push_back(fmt::format("{} is not valid before {}: look at this host's clock", whose,
                                    Timestamp(from)));
  } else if (until <= at + kCertificateNotice) {
    troubles->push_back(fmt::format("{} ends at {}, within {} days: renew it", whose,
                                    Timestamp(until), kCertificateNotice.count()));
  }
}

}  // namespace

SecretsCheckup CheckSecrets(const EtcdOptions& etcd, const SensitiveFiles& files,
                            std::chrono::system_clock::time_point now, const std::string& own_pem) {
  SecretsCheckup found{.any = !etcd.password.empty() || !etcd.key_pem.empty() || !own_pem.empty(),
                       .open_files = WithRights(kWiderThan0640, files.secret),
                       .writable_files = WithRights(kOthersMayWrite, files.trusted),
                       .certificate = ValidityOf(etcd.cert_pem),
                       .own = ValidityOf(own_pem),
                       .at = now};
  const bool tls = !etcd.ca_pem.empty() || !etcd.cert_pem.empty();
  found.password_in_clear =
      !etcd.password.empty() && !tls &&
      !std::all_of(etcd.endpoints.begin(), etcd.endpoints.end(), IsOnThisHost);
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
  for (const std::string& file : found.writable_files) {
    troubles.push_back(
        fmt::format("other users can change {}, and so decide who is trusted: chmod it to 0644 "
                    "or less",
                    file));
  }
  if (found.password_in_clear) {
    troubles.push_back("etcd's password crosses the network without TLS: give --etcd-ca");
  }
  AddTrouble("etcd's client certificate", found.certificate, found.at, &troubles);
  AddTrouble("the ports' certificate", found.own, found.at, &troubles);
  return troubles;
}

Finding JudgeSecrets(const SecretsCheckup& found) {
  const std::vector<std::string> troubles = SecretsTroubles(found);
  if (!troubles.empty()) {
    const bool exposed =
        !found.open_files.empty() || !found.writable_files.empty() || found.password_in_clear;
    return {"secrets", Severity::kWarning, fmt::format("{}", fmt::join(troubles, "; ")),
            exposed ? "see SECURITY.md; change a secret that somebody may have read"
                    : "a node takes a new certificate and key without a restart"};
  }
  std::string well = found.any ? "passwords and keys are out of other users' reach"
                               : "the node has no password and no key";
  if (found.certificate) {
    well += fmt::format("; the certificate ends at {}", Timestamp(found.certificate->until));
  }
  if (found.own) well += fmt::format("; the ports' ends at {}", Timestamp(found.own->until));
  return {"secrets", Severity::kOk, std::move(well), {}};
}

EtcdOptions Renewed(EtcdOptions etcd, const EtcdCredentials& credentials) {
  etcd.password = credentials.password;
  etcd.ca_pem = credentials.ca_pem;
  etcd.cert_pem = credentials.cert_pem;
  etcd.key_pem = credentials.key_pem;
  return etcd;
}

}  // namespace baton::runtime
