// SettingReader: turns batond's settings (flag_table.h) into values, and checks each setting by
// itself.
//
// It notes each error as one line and goes on, so that users see all errors at once. If a setting
// is wrong, the value that a method returns means nothing. File and PemFile read the file that a
// setting names, and wait for the file system meanwhile. One thread at a time.
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

  /// Returns one line for each error so far, and forgets them.
  std::vector<std::string> TakeErrors() { return std::move(errors_); }
  /// Notes an error of the setting that has this origin (Setting::origin).
  void Wrong(const std::string& origin, const std::string& what) {
    errors_.push_back(origin + ": " + what);
  }

  /// Returns null if the setting is absent. The result is valid as long as the settings live.
  const Setting* Find(const std::string& name) const;

  // Each function below returns the value of a setting. An absent setting is no error. For an
  // absent setting, the result is an empty value, false or 0; only Duration returns its argument
  // `least`.

  /// An empty text is an error.
  std::string Text(const std::string& name);
  /// A name that fits kNameRule (base/text_rules.h).
  std::string Name(const std::string& name);
  /// A node's labels, "NAME=VALUE,...". CheckLabels (base/placement.h) says which labels are
  /// allowed. An empty text is an error, and so is a name that is given twice. A comma at the end
  /// is allowed.
  Labels NodeLabels(const std::string& name);
  /// A whole number, without a sign. Both ends of the range are allowed.
  std::uint32_t Number(const std::string& name, Range range);
  /// A duration, as ParseDuration reads it. `least` and `most` are allowed themselves.
  std::chrono::milliseconds Duration(const std::string& name, std::chrono::milliseconds least,
                                     std::chrono::milliseconds most);
  /// One of the words true, yes, on, 1, false, no, off, 0; in lower case.
  bool Switch(const std::string& name);
  /// An address, as http::ParseAddress reads it.
  http::Address Address(const std::string& name);
  /// The whole content of the file that the setting names. It is an error if the file can't be read
  /// or has more than 1 MiB. An empty file is no error.
  std::string File(const std::string& name);
  /// As File, but a content without "-----BEGIN " is an error. To find other errors in a PEM text,
  /// the caller needs CheckPem.
  std::string PemFile(const std::string& name);

 private:
  const Settings& settings_;
  std::vector<std::string> errors_;
};

}  // namespace baton::app
