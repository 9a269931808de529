#include "app/common/etcd_settings.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/check.h"
#include "base/endpoint.h"
#include "base/limits.h"
#include "base/small_file.h"

namespace baton::app {
namespace {

bool IsPrintable(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](unsigned char c) { return c <= ' ' || c == 0x7F; });
}

std::vector<std::string> SplitCommas(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t comma = text.find(',');
    std::string_view part = text.substr(0, comma);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    parts.emplace_back(part);
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

void ReadEndpoints(SettingReader& reader, EtcdOptions& etcd) {
  const Setting& setting = *reader.Find("etcd");
  etcd.endpoints = SplitCommas(setting.text);
  std::set<std::string> seen;
  for (const std::string& endpoint : etcd.endpoints) {
    if (const Status checked = CheckEndpoint(endpoint, kEtcdPort); !checked) {
      const bool tls = endpoint.starts_with("https://");
      reader.Wrong(setting.origin,
                   checked.error().message + (tls ? " (--etcd-ca turns TLS on)" : ""));
    } else if (!seen.insert(endpoint).second) {
      reader.Wrong(setting.origin, fmt::format("\"{}\" is there twice; keep one", endpoint));
    }
  }
  if (etcd.endpoints.size() > kMaxEndpoints) {
    reader.Wrong(setting.origin,
                 fmt::format("too many endpoints; expected at most {}", kMaxEndpoints));
  }
}

void ReadPrefix(SettingReader& reader, EtcdOptions& etcd) {
  const Setting& setting = *reader.Find("etcd-prefix");
  etcd.prefix = setting.text;
  const bool fits = setting.text.size() >= 2 && setting.text.size() <= 512 &&
                    setting.text.front() == '/' && setting.text.back() != '/' &&
                    IsPrintable(setting.text);
  if (!fits) {
    reader.Wrong(
        setting.origin,
        fmt::format(
            "\"{}\" is not a prefix; expected a path such as /baton/v1, without a slash at its end",
            setting.text));
  }
}

void ReadCredentials(SettingReader& reader, EtcdOptions& etcd) {
  const Setting* const user = reader.Find("etcd-user");
  const Setting* const password = reader.Find("etcd-password-file");
  etcd.user = reader.Text("etcd-user");
  etcd.password = WithoutLineEnds(reader.File("etcd-password-file"));
  if (user != nullptr && password == nullptr) {
    reader.Wrong(user->origin, "a user needs a password; give --etcd-password-file too");
  }
  if (password != nullptr && user == nullptr) {
    reader.Wrong(password->origin, "a password needs its user; give --etcd-user too");
  }
  if (password != nullptr && user != nullptr && etcd.password.empty()) {
    reader.Wrong(password->origin, password->text + " holds no password; expected one line");
  }
}

void ReadTls(SettingReader& reader, EtcdOptions& etcd) {
  etcd.ca_pem = reader.PemFile("etcd-ca");
  etcd.cert_pem = reader.PemFile("etcd-cert");
  etcd.key_pem = reader.PemFile("etcd-key");
  const Setting* const cert = reader.Find("etcd-cert");
  const Setting* const key = reader.Find("etcd-key");
  if (cert != nullptr && key == nullptr) {
    reader.Wrong(cert->origin, "a certificate needs its key; give --etcd-key too");
  }
  if (key != nullptr && cert == nullptr) {
    reader.Wrong(key->origin, "a key needs its certificate; give --etcd-cert too");
  }
}

}  // namespace

void AddEtcdFlags(CLI::App& app, Settings& settings) {
  for (const Flag& flag : Flags()) {
    const std::string name = flag.name;
    if (!name.starts_with("etcd")) continue;
    if (flag.fallback != nullptr) settings[name] = {flag.fallback, "--" + name, false};
    app.add_option_function<std::string>(
           "--" + name,
           [&settings, name](const std::string& text) {
             settings[name] = {text, "--" + name};
           },
           flag.help)
        ->envname(EnvironmentName(name))
        ->type_name(flag.value)
        ->default_str(flag.fallback == nullptr ? "" : flag.fallback);
  }
}

void ReadEtcd(SettingReader& reader, EtcdOptions& etcd) {
  BATON_CHECK(reader.Find("etcd") != nullptr && reader.Find("etcd-prefix") != nullptr);
  ReadEndpoints(reader, etcd);
  ReadPrefix(reader, etcd);
  ReadCredentials(reader, etcd);
  ReadTls(reader, etcd);
}

std::variant<EtcdOptions, std::vector<std::string>> ReadEtcdOptions(const Settings& settings) {
  SettingReader reader(settings);
  EtcdOptions etcd;
  ReadEtcd(reader, etcd);
  std::vector<std::string> errors = reader.TakeErrors();
  if (!errors.empty()) return errors;
  return etcd;
}

}  // namespace baton::app
