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

/// Adds the flags for etcd, and their environment variables, to a program that does not have
/// batond's other flags. Puts the defaults of these flags into `settings` at once. When `app` is
/// parsed, the values that the user gives are put there, and replace the defaults. Two things
/// differ from batond:
///  - A flag that is given twice is a usage error, also --etcd.
///  - Setting::origin names the flag even if the value came from the environment.
/// REQUIRES (not checked): `settings` outlives the parsing.
void AddEtcdFlags(CLI::App& app, Settings& settings);
/// Reads the settings for etcd into `etcd`. Also reads the files that these settings name, and
/// waits for the file system meanwhile. `reader` notes the errors. These combinations are errors,
/// too:
///  - a user without a password, or a password without a user;
///  - a user with an empty password;
///  - a certificate without its key, or a key without its certificate;
///  - the same endpoint twice, or more than kMaxEndpoints endpoints.
/// Of a PEM file, only SettingReader::PemFile's check is made. REQUIRES (checked): "etcd" and
/// "etcd-prefix" are set. (Both flags have defaults.)
void ReadEtcd(SettingReader& reader, EtcdOptions& etcd);
/// Calls ReadEtcd with a reader of its own, for a program without other settings. If any setting is
/// wrong, returns one line for each error. REQUIRES: as ReadEtcd.
std::variant<EtcdOptions, std::vector<std::string>> ReadEtcdOptions(const Settings& settings);

}  // namespace baton::app
