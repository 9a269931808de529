// The settings for etcd (--etcd...), which batond, baton-guard and `batonctl recover` read in the
// same way. One thread at a time.
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

/// Adds the flags whose names begin with "etcd", and their environment variables, to a program
/// without batond's other flags. Puts the defaults of these flags into `settings` at once; the
/// parsing of `app` puts the values there that the user gives. Two things differ from batond: to
/// give a flag twice is a usage error, even for --etcd; and Setting::origin names the flag even if
/// the environment had the value. REQUIRES: `settings` outlives the parsing.
void AddEtcdFlags(CLI::App& app, Settings& settings);
/// Reads the settings whose names begin with "etcd" into `etcd`, and the files that they name,
/// which blocks as long as the file system does. `reader` notes the errors. These are errors too: a
/// user without a password, a password without a user, an empty password, and a certificate without
/// its key or a key without its certificate. Whether the PEM texts can be used is not checked.
/// REQUIRES (checked): "etcd" and "etcd-prefix" are set (both flags have defaults).
void ReadEtcd(SettingReader& reader, EtcdOptions& etcd);
/// Calls ReadEtcd, for a program without other settings. If any setting is wrong, returns one line
/// for each error. REQUIRES: as ReadEtcd.
std::variant<EtcdOptions, std::vector<std::string>> ReadEtcdOptions(const Settings& settings);

}  // namespace baton::app
