// The settings for etcd, which batond, baton-guard and `batonctl recover` read the same way.
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
/// without batond's other flags. Puts their defaults into `settings` at once. `settings` must
/// outlive the parsing.
void AddEtcdFlags(CLI::App& app, Settings& settings);
/// Reads the settings whose names begin with "etcd", with the files that they name. REQUIRES: those
/// that have defaults are there.
void ReadEtcd(SettingReader& reader, EtcdOptions& etcd);
/// The same for a program without other settings. If any is wrong, returns one line for each error.
std::variant<EtcdOptions, std::vector<std::string>> ReadEtcdOptions(const Settings& settings);

}  // namespace baton::app
