// What all verbs of batonctl share: exit codes, output formats, global flags.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "baton/result.h"

namespace baton::app {

/// API: scripts branch on these.
enum class ExitCode : int {
  kDone = 0,
  kFailed = 1,  ///< or unhealthy
  kUsage = 2,
  kUnreachable = 3,
  kNotFound = 4,
  kTimedOut = 5,
  kPrecondition = 6,  ///< the state is not the one the call needs, as where the term moved
  kPartly = 7,
  kInterrupted = 130,
};

ExitCode ExitOf(ErrorCode code);

enum class Format : std::uint8_t { kTable, kWide, kJson, kYaml };

/// Flags that every verb takes.
struct CtlOptions {
  std::string endpoint = "127.0.0.1:7400";
  Format format = Format::kTable;
  bool color = false;
  /// Bounds the whole command; unset: kCallTimeout, for long operations kWorkTimeout.
  std::optional<std::chrono::milliseconds> timeout;

  bool structured() const { return format == Format::kJson || format == Format::kYaml; }
};

inline constexpr std::chrono::seconds kCallTimeout{10};
inline constexpr std::chrono::minutes kWorkTimeout{10};

/// How a change is carried out.
struct ChangeOptions {
  bool dry_run = false;
  bool detach = false;  ///< long ones: return once the wish is written
};

}  // namespace baton::app
