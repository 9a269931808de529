#include "app/daemon/credential_files.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "app/common/config_file.h"
#include "app/common/etcd_settings.h"
#include "base/log.h"

namespace baton::app {
namespace {

// A pipe gives its content only once, at the start.
bool IsPipe(const std::string& path) {
  std::error_code error;
  const auto type = std::filesystem::status(path, error).type();
  return type == std::filesystem::file_type::fifo || type == std::filesystem::file_type::character;
}

}  // namespace

CredentialFiles::CredentialFiles(CredentialPaths paths, EtcdCredentials used)
    : paths_(std::move(paths)), used_(std::move(used)) {}

void CredentialFiles::Look(const Use& use) {
  const Result<EtcdCredentials> read = Read();
  const bool changed = read.ok() && read.value() != used_;
  const Status done = !read.ok() ? Status(read.error()) : changed ? use(read.value()) : Ok();
  if (done.ok()) {
    if (changed) {
      log::Info("etcd's password or certificates have changed in their files");
      used_ = read.value();
    }
    trouble_.clear();
    said_ = false;
    return;
  }
  const std::string& trouble = done.error().message;
  if (std::exchange(trouble_, trouble) != trouble) {
    said_ = false;
  } else if (!std::exchange(said_, true)) {
    log::Warn("etcd's password or certificates are left as they were", {{"error", trouble}});
  }
}

Result<EtcdCredentials> CredentialFiles::Read() const {
  EtcdCredentials credentials = used_;
  const std::pair<const std::string*, std::string*> files[] = {
      {&paths_.password, &credentials.password},
      {&paths_.ca, &credentials.ca_pem},
      {&paths_.cert, &credentials.cert_pem},
      {&paths_.key, &credentials.key_pem}};
  for (const auto& [path, content] : files) {
    if (path->empty() || IsPipe(*path)) continue;
    Result<std::string> read = ReadSmallFile(*path);
    if (!read) return read.error();
    *content = std::move(read).value();
    if (content == &credentials.password) *content = PasswordIn(std::move(*content));
    if (!content->empty()) continue;
    return Error{ErrorCode::kInvalidArgument, *path + " is empty"};
  }
  return credentials;
}

}  // namespace baton::app
