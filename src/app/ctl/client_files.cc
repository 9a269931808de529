#include "app/ctl/client_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "access/tokens.h"
#include "base/small_file.h"

namespace baton::app {

Result<PemTexts> ReadClientPems(const ClientTls& tls) {
  PemTexts pems;
  const std::pair<const std::string*, std::string*> files[] = {
      {&tls.ca, &pems.ca}, {&tls.cert, &pems.cert}, {&tls.key, &pems.key}};
  for (const auto& [path, text] : files) {
    if (path->empty()) continue;
    Result<std::string> read = ReadSmallFile(*path);
    if (!read) return read.error();
    if (read->empty()) return Error{ErrorCode::kInvalidArgument, *path + " is empty"};
    *text = std::move(read).value();
  }
  if (const Status checked = CheckPem(pems, "client"); !checked) return checked.error();
  return pems;
}

Result<std::shared_ptr<const GroupCredentials>> CredentialsFor(const ClientTls& tls) {
  if (tls.ca.empty()) {
    return Error{ErrorCode::kInvalidArgument, "--tls-servers needs --tls-ca"};
  }
  if (!tls.name.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 "--tls-name has no effect with --tls-servers; leave one of them out"};
  }
  auto read = GroupCredentials::FromFiles(
      {.ca_file = tls.ca, .servers = tls.servers, .cert_file = tls.cert, .key_file = tls.key});
  if (!read) return Error{ErrorCode::kInvalidArgument, "--tls-servers: " + read.error().message};
  return read;
}

Result<std::string> ReadToken(const std::string& path) {
  const auto refused = [&](const char* why) {
    return Error{ErrorCode::kInvalidArgument, "can't use the token in " + path + ": " + why};
  };
  Result<std::string> read = ReadSmallFile(path);
  if (!read) return read.error();
  struct stat found {};
  constexpr mode_t kTooWide = S_IWGRP | S_IXGRP | S_IRWXO;  // wider than 0640
  if (stat(path.c_str(), &found) == 0 && (found.st_mode & kTooWide) != 0) {
    return refused("every user may read it, or its group may write to it; run chmod 600");
  }
  std::string token = std::move(read).value();
  token.erase(token.find_last_not_of("\r\n") + 1);
  const auto visible = [](char c) { return c > ' ' && c <= '~'; };
  if (token.empty() || token.size() > access::kLongestToken ||
      !std::all_of(token.begin(), token.end(), visible)) {
    return refused("expected one line of up to 4096 visible ASCII characters");
  }
  return token;
}

}  // namespace baton::app
