// SettingReader: reads the values of batond's settings (flag_table.h), and checks each value by
// itself.
//
// SettingReader notes each error as one line and goes on, so that users see all errors at once. If
// a setting is wrong, the value that a method returns means nothing. File and PemFile wait for the
// file system. One thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "app/common/flag_table.h"
#include "base/placement.h"
#include "http/address.h"

namespace baton::app {

struct Range {
  std::uint32_t least;
  std::uint32_t most;
};

class SettingReader {
 public:
  /// REQUIRES: `settings` outlives this object.
  explicit SettingReader(const Settings& settings) : settings_(settings) {}

  /// Returns one line for each error so far, and forgets these errors.
  std::vector<std::string> TakeErrors() { return std::move(errors_); }
  /// Notes an error of the setting that has this origin (Setting::origin).
  void Wrong(const std::string& origin, const std::string& what) {
    errors_.push_back(origin + ": " + what);
  }

  /// Returns null if the setting is absent. The result is valid as long as the settings live.
  const Setting* Find(const std::string& name) const;

  // Each function below returns the value of a setting. An absent setting is no error: Duration
  // then returns `least`, and each other function returns an empty value, false or 0.

  /// A text. An empty text is an error.
  std::string Text(const std::string& name);
  /// A name that fits kNameRule (base/text_rules.h).
  std::string Name(const std::string& name);
  /// A node's labels, "NAME=VALUE,...". CheckLabels (base/placement.h) says which labels are
  /// allowed. An empty text is an error. A name that is given twice is an error. A comma at the end
  /// is allowed.
  Labels NodeLabels(const std::string& name);
  /// A whole number without a sign. Both ends of the range are allowed.
  std::uint32_t Number(const std::string& name, Range range);
  /// A duration from `least` to `most`, as ParseDuration reads it. Both ends are allowed.
  std::chrono::milliseconds Duration(const std::string& name, std::chrono::milliseconds least,
                                     std::chrono::milliseconds most);
  /// One of the words true, yes, on, 1, false, no, off, 0, in lower case.
  bool Switch(const std::string& name);
  /// An address, as http::ParseAddress reads it.
  http::Address Address(const std::string& name);
  /// The whole content of the file that the setting names. It is an error if the file can't be read
  /// or has more than 1 MiB. An empty file is no error.
  std::string File(const std::string& name);
  /// As File, but a content without "-----BEGIN " is an error. Does not find other errors in a PEM
  /// text; CheckPem (base/pem.h) does.
  std::string PemFile(const std::string& name);

 private:
  const Settings& settings_;
  std::vector<std::string> errors_;
};

}  // namespace baton::app
