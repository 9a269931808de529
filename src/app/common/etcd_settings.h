// The settings for etcd: the flags whose names begin with --etcd. batond, baton-guard and `batonctl
// recover` read them in the same way. One thread at a time.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "app/common/flag_table.h"
#include "app/common/setting_reader.h"
#include "baton/options.h"

namespace CLI {
class App;
}

namespace baton::app {

/// Adds the flags for etcd and their environment variables to `app`, for a program without batond's
/// other flags. Puts the defaults of these flags into `settings` at once. When `app` is parsed, the
/// values that the user gives replace the defaults. Two things differ from batond:
///  - If a flag is given twice, this is a usage error, even for --etcd.
///  - Setting::origin names the flag even if the value came from the environment.
/// REQUIRES (not checked): `settings` outlives the parsing.
void AddEtcdFlags(CLI::App& app, Settings& settings);
/// Checks the settings for etcd, and reads them into `etcd`. Also reads the files that they name,
/// which waits for the file system. `reader` notes the errors. These combinations are errors, too:
///  - a user without a password, or a password without a user;
///  - a user whose password file has no password;
///  - a certificate without its key, or a key without its certificate;
///  - the same endpoint twice, or more than kMaxEndpoints endpoints.
/// A PEM file gets only the check of SettingReader::PemFile. REQUIRES (checked): "etcd" and
/// "etcd-prefix" are set. (Both flags have defaults.)
void ReadEtcd(SettingReader& reader, EtcdOptions& etcd);
/// As ReadEtcd, for a program without other settings. If any setting is wrong, returns one line for
/// each error. REQUIRES: as ReadEtcd.
std::variant<EtcdOptions, std::vector<std::string>> ReadEtcdOptions(const Settings& settings);

}  // namespace baton::app
